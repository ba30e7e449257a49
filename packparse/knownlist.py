"""The seeded set as a list: which objects the other side was given, one id a line.

A line is ``OID`` or ``OID TYPE`` with a type of commit, tree, blob or tag; empty lines and lines
that begin with # are left out, and a carriage return at the end of a line does not count. The ids
are spelt as git prints them: all digits, in lower case. So these commands make a list::

    git rev-list --objects --no-object-names BASE
    git cat-file --batch-all-objects --batch-check='%(objectname) %(objecttype)'

What ``git rev-list --objects`` prints is refused: after the id comes a path there, and one may be
called "commit". Its line for a tree without a name is an id and a space, so a list of that kind is
refused even where every path looks like a type.

The list comes from the trusted side: whatever is wrong in it is wrong use, with the line's number.
"""

from __future__ import annotations

import re
from array import array
from binascii import unhexlify
from bisect import bisect_right

from packparse.entry import KIND_NAMES, KIND_NUMBERS
from packparse.errors import MisuseError
from packparse.escape import shorten
from packparse.objectformat import FORMATS, SHA1, ObjectFormat
from packparse.table import IdIndex

__all__ = ["KnownList"]

# Only a comment can be longer than an id and a type.
_LONGEST = 64 << 10
# Lines are taken apart in pieces of this size, so that few of them are Python objects at one time.
_PIECE = 256 << 10
_KINDS = {b"": 0, **KIND_NUMBERS}
_HELP = (
    "a line is OID or OID TYPE, as of git cat-file --batch-all-objects "
    "--batch-check='%(objectname) %(objecttype)' or of git rev-list --objects --no-object-names"
)


class KnownList:
    """A list of known objects, pushed in pieces of any length.

    After :meth:`close`, :meth:`kind` answers for single ids; it fits ``Options.known``. All
    methods raise MisuseError: for a line that cannot be read, an id with two types, or a call out
    of turn. Memory: a raw id and five bytes for each object, eight for each line without one.
    """

    def __init__(self, object_format: ObjectFormat = SHA1) -> None:
        self.object_format = object_format
        self._width = object_format.width
        self._line = re.compile(
            rb"^([0-9a-f]{%d})(?: (commit|tree|blob|tag))?\r?$" % (2 * self._width), re.MULTILINE
        )
        self._ids = bytearray()
        self._kinds = bytearray()
        # How many ids came before each line that has none: so a place in _ids leads to its line.
        self._skipped = array("Q")
        self._rest = b""
        self._index: IdIndex | None = None
        self._repeats = 0

    def __len__(self) -> int:
        """How many different objects are listed."""
        return len(self._kinds) - self._repeats

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the list."""
        if self._index is not None:
            message = "feed: the list is closed"
            raise MisuseError(message)
        for at in range(0, len(data), _PIECE):
            piece = self._rest + data[at : at + _PIECE]
            end = piece.rfind(b"\n") + 1
            self._rest = piece[end:]
            if end:
                self._take(piece[:end])
            if len(self._rest) > _LONGEST:
                raise self._bad_line(self._rest)

    def close(self) -> None:
        """Say that the list is over."""
        if self._index is not None:
            return
        if self._rest:
            self.feed(b"\n")
        index = IdIndex(self._ids, self._width)
        for position in index.repeated():
            self._repeats += 1
            self._merge(next(index.find(self._id(position))), position)
        self._index = index

    def kind(self, oid: bytes) -> int | None:
        """The kind of a listed object, 0 where the list does not say it; None if it is not listed.

        ``oid`` is a raw id; one of the other object format is never listed.
        """
        if self._index is None:
            message = "kind: the list is not closed"
            raise MisuseError(message)
        position = self._index.first(oid)
        return None if position is None else self._kinds[position]

    def _take(self, lines: bytes) -> None:
        """Take whole lines: all at once where each has an id, which is four times as quick."""
        found = self._line.findall(lines)
        if len(found) == lines.count(b"\n"):
            ids, kinds = zip(*found, strict=True)
            self._ids += unhexlify(b"".join(ids))
            self._kinds += bytes([_KINDS[kind] for kind in kinds])
            return
        for line in lines[:-1].split(b"\n"):
            match = self._line.fullmatch(line)
            if match is not None:
                self._ids += unhexlify(match[1])
                self._kinds.append(_KINDS[match[2] or b""])
            elif line[:1] == b"#" or line in {b"", b"\r"}:
                self._skipped.append(len(self._kinds))
            else:
                raise self._bad_line(line)

    def _merge(self, first: int, again: int) -> None:
        """Let what one line says of an id go for all its lines."""
        kinds = self._kinds
        if kinds[first] and kinds[again] and kinds[first] != kinds[again]:
            message = (
                f"line {self._number(again)}: {self._id(again).hex()} is listed as a "
                f"{KIND_NAMES[kinds[again]]}, and as a {KIND_NAMES[kinds[first]]} before"
            )
            raise MisuseError(message)
        kinds[first] = kinds[first] or kinds[again]

    def _id(self, position: int) -> bytes:
        return bytes(self._ids[position * self._width : (position + 1) * self._width])

    def _number(self, position: int) -> int:
        return position + bisect_right(self._skipped, position) + 1

    def _bad_line(self, line: bytes) -> MisuseError:
        digits, _, rest = line.removesuffix(b"\r").partition(b" ")
        number = len(self._kinds) + len(self._skipped) + 1
        other = next(f for f in FORMATS.values() if f is not self.object_format)
        if re.fullmatch(rb"[0-9a-f]{%d}" % (2 * other.width), digits):
            reason = f"an id of {other.name}, the list is read as one of {self.object_format.name}"
        elif re.fullmatch(rb"[0-9a-f]{%d}" % (2 * self._width), digits):
            reason = f"after the id comes no type: {shorten(rest) or 'nothing'}; {_HELP}"
        else:
            reason = f"no id of {self.object_format.name}: {shorten(line)}; {_HELP}"
        return MisuseError(f"line {number}: {reason}")
