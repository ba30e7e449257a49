"""Loose objects: one zlib stream a file, which holds the header of the object and its content.

Source: gitformat-loose and object-file.c of git. The same checks and promises as for a pack, whose
whole objects these could be: the steps of verify.py that a folder has are 1, 3, 4 and 8 to 14. A
damaged file loses one object, and the others are looked at all the same.

Sans-IO: the caller's ``read(oid, feed)`` gives the file of an object to ``feed``, in pieces of any
length, as often as it is asked.
"""

from __future__ import annotations

from packparse import checks, codes, late
from packparse.entry import BLOB, KIND_NAMES, KIND_NUMBERS, Entry
from packparse.errors import PackError
from packparse.escape import shorten
from packparse.inflate import Inflate, longest_stream
from packparse.inspection import Inspection
from packparse.objectformat import SHA1, SHA256, ObjectFormat
from packparse.signs import LONGEST_POINTER, POINTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    import hashlib
    from collections.abc import Callable, Mapping
    from typing import NamedTuple

    from packparse.options import Options
    from packparse.report import Report
    from packparse.table import EntryTable

    # Gives the bytes of an object's file, by raw id, to the function.
    Read = Callable[[bytes, Callable[[bytes], None]], None]
    # Told the kind and the size that a header declares; may raise PackError.
    Declared = Callable[[int, int], None]

    class LooseObject(NamedTuple):
        """A whole loose object: its kind, size, raw id, and its content where that was kept."""

        kind: int
        size: int
        oid: bytes
        data: bytearray | None

else:
    from collections import namedtuple

    LooseObject = namedtuple("LooseObject", "kind size oid data")

__all__ = [
    "LooseObject", "LooseReader", "LooseStream", "LooseVerifier", "file_path", "read_header",
]  # fmt: skip

# git gives a header 32 bytes; a kind and a size of 64 bits take 28.
_LONGEST_HEADER = 32
_HEADER = late.pattern(rb"(commit|tree|blob|tag) (0|[1-9][0-9]{0,19})\0")
# Damaged files after which a folder is not read on: finding out what is wrong with one may take
# some 10 ms.
_MOST_LOST = 100
# What a column of sizes can hold.
_LARGEST = 0xFFFF_FFFF


def read_header(head: bytes) -> tuple[int, int]:
    """Kind and size in the header of a loose object, given up to its NUL.

    Raises PackError (looseHeader).
    """
    match = _HEADER.fullmatch(head)
    if match is None:
        raise _bad_header(head)
    return KIND_NUMBERS[match[1]], int(match[2])


def _bad_header(head: bytes) -> PackError:
    message = f"the header is not a kind, a space, a size and a NUL: {shorten(head)}"
    return PackError(checks.LOOSE_HEADER, message)


class _Content:
    """What comes out of a stream: first the header, then the content, which is hashed."""

    __slots__ = ("_declared", "_format", "_keep_blobs", "data", "kind", "sha", "size")

    def __init__(
        self, object_format: ObjectFormat, declared: Declared, *, keep_blobs: bool
    ) -> None:
        self.kind = 0
        self.size = 0
        self.data: bytearray | None = None
        self.sha: hashlib._Hash  # set with the header
        self._format = object_format
        self._declared = declared
        self._keep_blobs = keep_blobs

    def begin(self, head: bytes) -> int:
        """Take the header; return the size of the content."""
        self.kind, self.size = read_header(head)
        self._declared(self.kind, self.size)
        self.sha = self._format.new(head)
        # Other blobs go through the hash alone.
        if self.kind != BLOB or self._keep_blobs or self.size < LONGEST_POINTER:
            self.data = bytearray()
        return self.size

    def add(self, piece: bytes) -> None:
        self.sha.update(piece)
        if self.data is not None:
            self.data += piece


class _Inflate(Inflate):
    """An inflater that learns from the first bytes of the content how many are to come."""

    __slots__ = ("_content", "_prefix")

    def __init__(self, content: _Content, *, padding_allowed: bool) -> None:
        super().__init__(_LONGEST_HEADER, content.add, padding_allowed=padding_allowed)
        self._content = content
        # None once the header is over.
        self._prefix: bytes | None = b""

    def _room(self) -> int:
        if self._prefix is None:
            return super()._room()
        return _LONGEST_HEADER - len(self._prefix)

    def _keep(self, content: bytes) -> None:
        if self._prefix is not None:
            head = self._prefix + content
            end = head.find(0) + 1
            if not end and len(head) < _LONGEST_HEADER:
                self._prefix = head
                return
            # As it is, it is refused where there is no NUL.
            self.size = self._content.begin(head[:end] if end else head)
            longer = longest_stream(end + self.size) - longest_stream(_LONGEST_HEADER)
            self._most += max(0, longer)
            self._prefix = None
            content = head[end:]
        super()._keep(content)

    def _finish(self) -> None:
        if self._prefix is not None:
            raise _bad_header(self._prefix)
        super()._finish()


class LooseStream:
    """One loose object, fed in pieces of any length.

    ``declared`` is told the kind and the size once these are known, before any more is inflated,
    and may refuse. Blobs are kept with ``keep_blobs`` alone, or where they may be a pointer of LFS.
    Refusals are PackError without an offset: looseHeader, trailingBytes, truncated, and those of
    an entry's stream.
    """

    def __init__(
        self,
        object_format: ObjectFormat,
        declared: Declared,
        *,
        keep_blobs: bool = False,
        padding_allowed: bool = False,
    ) -> None:
        # None of these leads back here: where a file is refused, its content goes at once.
        self._content = _Content(object_format, declared, keep_blobs=keep_blobs)
        self._inflate = _Inflate(self._content, padding_allowed=padding_allowed)

    @property
    def consumed(self) -> int:
        """How many bytes of the file were taken."""
        return self._inflate.consumed

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the file."""
        used = 0 if self._inflate.done else self._inflate.feed(piece, 0)
        if used < len(piece):
            raise PackError(codes.TRAILING_BYTES, "bytes follow the compressed stream")

    def close(self) -> LooseObject:
        """Say that no bytes follow; return the object."""
        if not self._inflate.done:
            what = "ends in its compressed stream" if self.consumed else "is empty"
            raise PackError(codes.TRUNCATED, f"the file {what}")
        content = self._content
        return LooseObject(content.kind, content.size, content.sha.digest(), content.data)


class LooseReader:
    """Second looks at loose objects: the file again, which must hold the same object.

    It serves as an ObjectReader does. ``work`` counts the bytes that were made. Raises PackError
    (inputChanged).
    """

    def __init__(self, table: EntryTable, read: Read) -> None:
        self.work = 0
        self._table = table
        self._read = read

    def lost(self, number: int) -> PackError:
        """The refusal of a file that is another one now."""
        message = f"{file_path(self._table.oid(number))} does not hold the object of the first pass"
        return PackError(codes.INPUT_CHANGED, message)

    def read(self, number: int) -> bytearray:
        """The content of an entry's object."""
        table = self._table

        def declared(kind: int, size: int) -> None:
            # Before anything is kept of what may have become a bomb.
            if kind != table.kinds[number] or min(size, _LARGEST) != table.sizes[number]:
                raise self.lost(number)

        oid = table.oid(number)
        stream = LooseStream(table.object_format, declared, keep_blobs=True, padding_allowed=True)
        try:
            self._read(oid, stream.feed)
            found = stream.close()
        except PackError as error:
            if error.code.klass == codes.ENVIRONMENT:
                raise
            raise self.lost(number) from None
        if found.oid != oid or found.data is None:
            raise self.lost(number)
        self.work += found.size
        return found.data


class LooseVerifier(Inspection):
    """Verifies the loose objects of one folder; never raises for what the bytes are.

    Call ``count`` for each entry that is met, ``unexpected`` for what is no object, ``begin``, then
    ``take`` for the ids of all objects in rising order, and ``finish``. Findings have no offset:
    those of a file say its path in the folder.
    """

    def __init__(self, options: Options, read: Read, *, name: str = "-") -> None:
        super().__init__(options, name)
        self._read = read
        self._padding_allowed = not self._findings.raises(codes.PADDED_DEFLATE)
        self._entries = 0
        self._lost = 0
        self._inflated = 0
        self._fed = 0

    # Steps 1 and 3

    def count(self) -> None:
        """Count one more entry, be it an object or not. Raises PackError (tooManyObjects)."""
        self._entries += 1
        if self._entries > self._limits.objects:
            raise self._limits.passed("objects", self._entries, "the folder has at least")

    def unexpected(self, path: bytes, what: str) -> None:
        """Report an entry that is no object, by its path in the folder."""
        message = f"{shorten(path)} is {what}"
        self._findings.add(checks.UNEXPECTED_FILE, message, detail=path)

    def choose(self, counts: Mapping[ObjectFormat, int]) -> ObjectFormat:
        """The object format of a folder that has so many names of each; most names decide.

        Raises PackError (objectFormatMismatch).
        """
        asked = self.options.object_format
        found = SHA256 if counts[SHA256] > counts[SHA1] else SHA1
        if asked is not None and asked is not found and counts[found]:
            message = f"the objects have names of {found.name}, {asked.name} was asked for"
            raise PackError(codes.OBJECT_FORMAT_MISMATCH, message)
        if counts[found]:
            self._prepare(found)
        else:
            self._findings.add(codes.EMPTY_PACK, "the folder holds no object")
        self.report.kind, self.report.object_format = "loose objects", self._format.name
        return self._format

    def begin(self, length: int) -> None:
        """Say how many bytes all files have together. Raises PackError (packTooLarge)."""
        self.report.bytes = length
        if length > self._limits.pack_bytes:
            raise self._limits.passed("pack_bytes", length, "all files together have")

    # Step 4

    def take(self, oid: bytes) -> None:
        """Verify the file of the next object, and look into the object."""
        if self.refused:
            return
        stream = LooseStream(self._format, self._declared, padding_allowed=self._padding_allowed)
        try:
            self._read(oid, stream.feed)
            found = stream.close()
            if found.oid != oid:
                message = f"the content hashes to {found.oid.hex()}"
                raise PackError(checks.LOOSE_ID_MISMATCH, message, oid=found.oid)  # noqa: TRY301 - one handler for a lost object
        except PackError as error:
            self._lose(oid, error)
        else:
            self._add(found)
        self._fed += stream.consumed
        self._progress("reading", self._fed, self.report.bytes)

    def _declared(self, kind: int, size: int) -> None:
        limits = self._limits
        if size > limits.object_bytes:
            raise limits.passed("object_bytes", size, f"a {KIND_NAMES[kind]} declares")
        self._inflated += size
        if self._inflated > limits.inflated_bytes:
            raise limits.passed("inflated_bytes", self._inflated, "the objects so far declare")

    def _lose(self, oid: bytes, error: PackError) -> None:
        """Report a file whose object is not known; go on unless that is in vain."""
        self._lost += 1
        message = f"{file_path(oid)}: {error.message}"
        self._findings.add(error.code, message, oid=error.oid, limit=error.limit)
        if error.code is codes.INFLATED_TOO_MUCH or error.code.klass == codes.ENVIRONMENT:
            self.refused = True
        elif self._lost == _MOST_LOST:
            self.refused = True
            message = f"not checked, and no more files read after {_MOST_LOST} damaged ones"
            self._findings.add(checks.LINKS_NOT_CHECKED, message)

    def _add(self, found: LooseObject) -> None:
        kind, size, oid, data = found
        number = len(self.table)
        # In place of an offset, which a report of a folder does not have, the number itself.
        self.table.extend([Entry(number, number + 1, kind, size, 0, oid, None, data)])
        if data is None or (kind == BLOB and not data.startswith(POINTER)):
            return
        try:
            self._examine(number, kind, data)
        except PackError as error:
            self.refuse(error)

    # Steps 8 to 14

    def finish(self) -> Report:
        """Say that all files were taken; the files may be read once more."""
        if not self.refused:
            try:
                self._check_whole(LooseReader(self.table, self._read), self._lost)
            except PackError as error:
                self.refuse(error)
        self._fill_report()
        return self.report

    def _fill_report(self) -> None:
        super()._fill_report()
        self.report.inflated_bytes = self._inflated
        for finding in self._findings.sorted():
            finding.offset = None


def file_path(oid: bytes) -> str:
    """Where git keeps an object in a folder of objects."""
    name = oid.hex()
    return f"{name[:2]}/{name[2:]}"
