"""Write objects, deltas, packs and bundles byte by byte, honest or not.

It shares no code with packparse. A ``Kit`` writes in one object format; each lie is a keyword of
the call that tells it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from corpus.deflate import stored

__all__ = [
    "DIR", "EXE", "FILE", "IDENT", "LINK", "NUMBERS", "OFS", "REF", "SUB", "TEXT", "File", "Kit",
    "Obj", "Pack", "copy", "delta", "insert", "number", "offset_distance", "size_header",
]  # fmt: skip

IDENT = b"A U Thor <author@example.com> 1700000000 +0000"
TEXT = b"some text that is long enough to rest a delta on\n" * 4
FILE = b"100644"
EXE = b"100755"
LINK = b"120000"
DIR = b"40000"
SUB = b"160000"
NUMBERS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
OFS = 6
REF = 7
_MAX_COPY = 0xFFFFFF
# A bomb must not go off here: larger results of deltas stay unknown.
_MOST_REPLAYED = 1 << 20


# --- numbers and deltas -------------------------------------------------------------------------


def number(value: int, pad: int = 0) -> bytes:
    """A number in base 128, lowest part first, with ``pad`` spare bytes at its end."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    if pad:
        out[-1] |= 0x80
        out += b"\x80" * (pad - 1) + b"\0"
    return bytes(out)


def size_header(kind: int, size: int, pad: int = 0) -> bytes:
    """The header of an entry: its type number (0 to 7) and its size."""
    first = kind << 4 | size & 0x0F
    rest = size >> 4
    if not rest and not pad:
        return bytes([first])
    return bytes([first | 0x80]) + number(rest, pad if rest else pad - 1)


def offset_distance(distance: int) -> bytes:
    """How far before an offset delta its base begins; each number has one spelling."""
    out = [distance & 0x7F]
    while distance := distance >> 7:
        distance -= 1
        out.append(distance & 0x7F | 0x80)
    return bytes(reversed(out))


def copy(at: int, size: int, *, mask: int | None = None, drop: int = 0) -> bytes:
    """A copy instruction; ``mask`` says which operand bytes are written, ``drop`` cuts some off."""
    operands = at.to_bytes(4, "little") + (size % (_MAX_COPY + 1)).to_bytes(3, "little")
    if mask is None:
        # 64 KiB is the one size that is written as no bytes at all.
        said = operands[:4] if size == 0x10000 else operands
        mask = sum(1 << bit for bit, byte in enumerate(said) if byte)
    picked = bytes(byte for bit, byte in enumerate(operands) if mask >> bit & 1)
    return bytes([0x80 | mask]) + picked[: len(picked) - drop]


def insert(data: bytes, *, length: int | None = None) -> bytes:
    """Insert instructions of ``data``; ``length`` makes it one that lies."""
    if length is not None:
        return bytes([length]) + data
    pieces = [data[at : at + 127] for at in range(0, len(data), 127)]
    return b"".join(bytes([len(piece)]) + piece for piece in pieces)


def delta(base_size: int, size: int, *instructions: bytes, pad: int = 0) -> bytes:
    """A delta: the size of its base, that of its result, and the instructions."""
    return number(base_size, pad) + number(size, pad) + b"".join(instructions)


def _replay(change: bytes, base: bytes) -> bytes | None:
    """What an honest delta makes of its base; None for every other delta."""
    try:
        base_size, at = _number_at(change, 0)
        size, at = _number_at(change, at)
        out = bytearray()
        while at < len(change) and len(out) <= size <= _MOST_REPLAYED:
            piece, at = _step(change, at, base)
            out += piece
    except (IndexError, ValueError):
        return None
    return bytes(out) if base_size == len(base) and len(out) == size else None


def _number_at(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def _step(change: bytes, at: int, base: bytes) -> tuple[bytes, int]:
    code = change[at]
    at += 1
    start, size, source, after = at, code, change, at + code
    if code & 0x80:
        operands = bytearray(7)
        for bit in range(7):
            if code >> bit & 1:
                operands[bit] = change[at]
                at += 1
        start = int.from_bytes(operands[:4], "little")
        size = int.from_bytes(operands[4:], "little") or 0x10000
        source, after = base, at
    if not code or start + size > len(source):
        raise ValueError
    return source[start : start + size], after


# --- objects ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Obj:
    """An object: its type, content and raw id."""

    kind: str
    data: bytes
    oid: bytes

    @property
    def hex(self) -> str:
        """The id as text."""
        return self.oid.hex()


@dataclass(frozen=True, slots=True)
class File:
    """A pack or bundle, and at which offset the entry of each object (by raw id) begins."""

    data: bytes
    offsets: dict[bytes, int] = field(default_factory=dict)


class Kit:
    """Writes objects, packs and bundles of one object format."""

    def __init__(self, fmt: str = "sha1") -> None:
        """Take the name of the hash."""
        self.fmt = fmt
        self.width = hashlib.new(fmt).digest_size
        self.absent = b"\x11" * self.width
        self.suffix = "" if fmt == "sha1" else f"-{fmt}"

    def digest(self, data: bytes) -> bytes:
        """The hash of ``data``."""
        return hashlib.new(self.fmt, data).digest()

    def obj(self, kind: str, data: bytes) -> Obj:
        """An object of any content."""
        head = b"%s %d\0" % (kind.encode(), len(data))
        return Obj(kind, data, self.digest(head + data))

    def blob(self, data: bytes = TEXT) -> Obj:
        """A blob."""
        return self.obj("blob", data)

    def tree(self, *entries: tuple[bytes, bytes, Obj | bytes], ordered: bool = True) -> Obj:
        """A tree of (mode, name, object or raw id); with ``ordered`` off in the order given."""
        listed = sorted(entries, key=_tree_key) if ordered else entries
        return self.obj(
            "tree",
            b"".join(mode + b" " + name + b"\0" + _oid(to) for mode, name, to in listed),
        )

    def commit(
        self,
        root: Obj | bytes | None,
        *parents: Obj | bytes,
        message: bytes = b"A message\n",
        author: bytes | None = IDENT,
        committer: bytes | None = IDENT,
        extra: bytes = b"",
        gap: bytes = b"\n",
    ) -> Obj:
        """A commit; None leaves a line out, bytes of any other length than an id stand as given.

        ``extra`` is header text after the committer, ``gap`` what comes before the message.
        """
        fields: list[tuple[bytes, bytes | None]] = [(b"tree", self._named(root))]
        fields += [(b"parent", self.hex(parent)) for parent in parents]
        fields += [(b"author", author), (b"committer", committer)]
        return self.obj("commit", _lines(fields) + extra + gap + message)

    def tag(
        self,
        target: Obj | bytes | None,
        kind: bytes | None = b"commit",
        name: bytes | None = b"v1",
        *,
        tagger: bytes | None = IDENT,
        message: bytes = b"A message\n",
        extra: bytes = b"",
        gap: bytes = b"\n",
    ) -> Obj:
        """An annotated tag, with the keywords of a commit."""
        fields = [(b"object", self._named(target)), (b"type", kind)]
        fields += [(b"tag", name), (b"tagger", tagger)]
        return self.obj("tag", _lines(fields) + extra + gap + message)

    def _named(self, value: Obj | bytes | None) -> bytes | None:
        return None if value is None else self.hex(value)

    def hex(self, value: Obj | bytes) -> bytes:
        """The id of an object as text, or bytes that are no id as they are."""
        raw = _oid(value)
        return raw.hex().encode() if len(raw) == self.width else raw

    def pack(self, version: int = 2) -> Pack:
        """An empty pack."""
        return Pack(self, version)

    def packed(self, *objects: Obj) -> File:
        """A pack of whole objects in this order."""
        pack = self.pack()
        for item in objects:
            pack.add(item)
        return pack.file()

    def bundle(
        self,
        pack: File | bytes,
        refs: Iterable[tuple[Obj | bytes, bytes]],
        prerequisites: Sequence[Obj | bytes] = (),
        *,
        version: int | None = None,
        capabilities: Sequence[bytes] = (),
    ) -> File:
        """A bundle; SHA-256 and capabilities ask for version 3 of the header."""
        lines = list(capabilities)
        if self.fmt != "sha1" and not any(b"object-format" in line for line in lines):
            lines.insert(0, b"object-format=" + self.fmt.encode())
        number_of = version or (3 if lines else 2)
        head = b"# v%d git bundle\n" % number_of
        head += b"".join(b"@%s\n" % line for line in lines)
        head += b"".join(b"-%s A message\n" % self.hex(oid) for oid in prerequisites)
        head += b"".join(b"%s %s\n" % (self.hex(oid), name) for oid, name in refs)
        return self.headed(head + b"\n", pack)

    @staticmethod
    def headed(head: bytes, pack: File | bytes) -> File:
        """Header text, then a pack; offsets count from the beginning of the text."""
        if isinstance(pack, bytes):
            return File(head + pack)
        offsets = {oid: at + len(head) for oid, at in pack.offsets.items()}
        return File(head + pack.data, offsets)


def _tree_key(entry: tuple[bytes, bytes, Obj | bytes]) -> bytes:
    mode, name, _ = entry
    return name + b"/" if mode.lstrip(b"0") == DIR else name


def _oid(value: Obj | bytes) -> bytes:
    return value.oid if isinstance(value, Obj) else value


def _lines(fields: Iterable[tuple[bytes, bytes | None]]) -> bytes:
    return b"".join(b"%s %s\n" % (name, text) for name, text in fields if text is not None)


# --- packs --------------------------------------------------------------------------------------


class Pack:
    """Collects entries in the order of the file; ``file`` adds header and checksum."""

    def __init__(self, kit: Kit, version: int = 2) -> None:
        """Take the format's kit and the version that the header says."""
        self.kit = kit
        self.version = version
        self.count = 0
        self._body = bytearray()
        self._offsets: dict[bytes, int] = {}

    @property
    def offset(self) -> int:
        """Where the next entry begins."""
        return 12 + len(self._body)

    def add(
        self,
        item: Obj,
        *,
        kind: int | None = None,
        size: int | None = None,
        stream: bytes | None = None,
        pad: int = 0,
    ) -> int:
        """Add a whole object and return its offset; ``kind`` and ``size`` lie in its header."""
        number_of = NUMBERS[item.kind] if kind is None else kind
        head = size_header(number_of, len(item.data) if size is None else size, pad)
        return self._entry(head, stored(item.data) if stream is None else stream, item)

    def ofs(
        self,
        base: int,
        change: bytes,
        on: Obj | None = None,
        *,
        distance: int | None = None,
        size: int | None = None,
    ) -> Obj | None:
        """Add a delta on the entry at offset ``base``; return what it makes of ``on``."""
        away = self.offset - base if distance is None else distance
        head = size_header(OFS, len(change) if size is None else size) + offset_distance(away)
        return self._delta(head, change, on)

    def ref(self, base: Obj | bytes, change: bytes, on: Obj | None = None) -> Obj | None:
        """Add a delta on an object by its id; return what it makes of the base."""
        known = base if isinstance(base, Obj) else on
        return self._delta(size_header(REF, len(change)) + _oid(base), change, known)

    def raw(self, data: bytes, *, entries: int = 0) -> int:
        """Add bytes as they are, that count as so many entries; return their offset."""
        start = self.offset
        self._body += data
        self.count += entries
        return start

    def file(
        self,
        *,
        count: int | None = None,
        magic: bytes = b"PACK",
        trailer: bytes | None = None,
        trailing: bytes = b"",
    ) -> File:
        """The pack; each keyword replaces one true value."""
        number_of = self.count if count is None else count
        head = magic + self.version.to_bytes(4, "big") + number_of.to_bytes(4, "big")
        content = head + self._body
        end = self.kit.digest(content) if trailer is None else trailer
        return File(content + end + trailing, dict(self._offsets))

    def _delta(self, head: bytes, change: bytes, on: Obj | None) -> Obj | None:
        made = None if on is None else _replay(change, on.data)
        item = None if on is None or made is None else self.kit.obj(on.kind, made)
        self._entry(head, stored(change), item)
        return item

    def _entry(self, head: bytes, stream: bytes, item: Obj | None) -> int:
        start = self.offset
        self._body += head + stream
        self.count += 1
        if item is not None:
            self._offsets.setdefault(item.oid, start)
        return start
