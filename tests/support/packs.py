"""Write Git packs byte by byte, honest or malformed, without importing the code under test.

Every builder produces what git itself would accept; each lie is an explicit keyword, so a test
shows at the call site which single rule it breaks.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

KIND_NUMBERS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
KIND_NAMES = {number: name for name, number in KIND_NUMBERS.items()}
OFS_DELTA = 6
REF_DELTA = 7
HEADER_LENGTH = 12
IDENT = b"A U Thor <author@example.com> 1700000000 +0000"
MAX_COPY = 0xFFFFFF
# A bomb must not go off in the test process: larger delta results stay unknown to the builder.
MAX_REPLAY = 16 * 1024 * 1024


# --- object ids and numbers ---------------------------------------------------------------------


def oid(kind: str, data: bytes, fmt: str = "sha1") -> bytes:
    """Return the raw object id of `data` taken as an object of type `kind`."""
    return hashlib.new(fmt, b"%s %d\0" % (kind.encode(), len(data)) + data).digest()


def oid_length(fmt: str = "sha1") -> int:
    """Return the length of a raw object id of hash `fmt`, 20 or 32."""
    return hashlib.new(fmt).digest_size


def varint_size(kind_number: int, size: int, *, pad: int = 0) -> bytes:
    """Return an entry header for a type number 0-7 and a size.

    `pad` adds that many continuation bytes which carry no bits: same value, overlong spelling.
    """
    first = kind_number << 4 | size & 0x0F
    rest = size >> 4
    if not rest and not pad:
        return bytes([first])
    tail = delta_varint(rest, pad=pad if rest else pad - 1)
    return bytes([first | 0x80]) + tail


def ofs_varint(distance: int) -> bytes:
    """Return the OFS_DELTA spelling of a distance >= 0; every number has exactly one spelling."""
    out = [distance & 0x7F]
    while distance := distance >> 7:
        distance -= 1
        out.append(distance & 0x7F | 0x80)
    return bytes(reversed(out))


def delta_varint(n: int, pad: int = 0) -> bytes:
    """Return the little-endian base-128 spelling of `n`, with `pad` empty bytes at its end."""
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    if pad:
        out[-1] |= 0x80
        out += b"\x80" * (pad - 1) + b"\0"
    return bytes(out)


# --- deltas -------------------------------------------------------------------------------------


def copy(
    offset: int, size: int, *, mask: int | None = None, opcode: int | None = None, drop: int = 0
) -> bytes:
    """Return one copy instruction.

    `mask` says which of the 4 offset and 3 size bytes are written (default: those that are not
    zero), `opcode` replaces the instruction byte, `drop` cuts operand bytes off the end. Size 0
    cannot be said (readers take it as 0x10000), so it needs an explicit `mask`.
    """
    if mask is None and not 1 <= size <= MAX_COPY:
        message = f"copy size {size} has no honest spelling"
        raise ValueError(message)
    operands = offset.to_bytes(4, "little") + (size % (MAX_COPY + 1)).to_bytes(3, "little")
    if mask is None:
        # 0x10000 is the one size written as "no size bytes at all".
        written = operands[:4] if size == 0x10000 else operands
        mask = sum(1 << i for i, byte in enumerate(written) if byte)
    picked = bytes(byte for i, byte in enumerate(operands) if mask >> i & 1)
    return bytes([0x80 | mask if opcode is None else opcode]) + picked[: len(picked) - drop]


def insert(data: bytes, *, opcode: int | None = None) -> bytes:
    """Return insert instructions for `data`, 127 bytes each; `opcode` forces one lying length."""
    if opcode is not None:
        return bytes([opcode]) + data
    pieces = (data[at : at + 127] for at in range(0, len(data), 127))
    return b"".join(bytes([len(piece)]) + piece for piece in pieces)


def delta(
    base_size: int, result_size: int, *ops: bytes, base_pad: int = 0, result_pad: int = 0
) -> bytes:
    """Return a delta: the two declared sizes (padded on request), then the instructions."""
    sizes = delta_varint(base_size, base_pad) + delta_varint(result_size, result_pad)
    return sizes + b"".join(ops)


def edit(base: bytes, at: int, cut: int, new: bytes) -> tuple[bytes, bytes]:
    """Return (delta, result) of replacing `cut` bytes of `base` at `at` by `new`."""
    result = base[:at] + new + base[at + cut :]
    spans = ((0, at), (at + cut, len(base) - at - cut))
    head, tail = (copy(start, size) if size else b"" for start, size in spans)
    return delta(len(base), len(result), head, insert(new), tail), result


def replay(delta_bytes: bytes, base: bytes) -> bytes | None:
    """Return the result of an honest delta up to MAX_REPLAY bytes, None for every other delta."""
    try:
        return _replay(delta_bytes, base)
    except (IndexError, ValueError):
        return None


def _replay(delta_bytes: bytes, base: bytes) -> bytes:
    base_size, at = _read_varint(delta_bytes, 0)
    result_size, at = _read_varint(delta_bytes, at)
    if base_size != len(base) or result_size > MAX_REPLAY:
        raise ValueError
    out = bytearray()
    while at < len(delta_bytes):
        piece, at = _step(delta_bytes, at, base)
        out += piece
        if len(out) > result_size:
            raise ValueError
    if len(out) != result_size:
        raise ValueError
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _step(data: bytes, at: int, base: bytes) -> tuple[bytes, int]:
    code = data[at]
    at += 1
    start, size, source = at, code, data
    if code & 0x80:
        operands = bytearray(7)
        for bit in range(7):
            if code >> bit & 1:
                operands[bit] = data[at]
                at += 1
        start = int.from_bytes(operands[:4], "little")
        size = int.from_bytes(operands[4:], "little") or 0x10000
        source = base
    else:
        at += code
    if not code or start + size > len(source):
        raise ValueError
    return source[start : start + size], at


# --- deflate streams ----------------------------------------------------------------------------


def stored(data: bytes) -> bytes:
    """Return a zlib stream of stored (level 0) blocks."""
    return zlib.compress(data, 0)


def padded(data: bytes, blocks: int) -> bytes:
    """Return a valid zlib stream with `blocks` empty stored blocks (5 bytes each) before data."""
    return b"\x78\x9c" + b"\0\0\0\xff\xff" * blocks + raw_deflate(data) + _adler(data)


def with_dictionary(data: bytes, dictionary: bytes = b"preset dictionary") -> bytes:
    """Return a zlib stream that needs a preset dictionary (FDICT), which Git never has."""
    stream = zlib.compressobj(zdict=dictionary)
    return stream.compress(data) + stream.flush()


def bad_adler(data: bytes) -> bytes:
    """Return a zlib stream whose last checksum byte is wrong."""
    stream = zlib.compress(data)
    return stream[:-1] + bytes([stream[-1] ^ 0xFF])


def missing_adler(data: bytes) -> bytes:
    """Return a zlib stream without its four checksum bytes."""
    return zlib.compress(data)[:-4]


def raw_deflate(data: bytes) -> bytes:
    """Return deflate blocks without the zlib header and checksum."""
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


def gzip_wrapped(data: bytes) -> bytes:
    """Return the data as a gzip member instead of a zlib stream."""
    stream = zlib.compressobj(wbits=31)
    return stream.compress(data) + stream.flush()


def several_flushes(data: bytes, pieces: int = 4) -> bytes:
    """Return a valid zlib stream that is flushed after each of `pieces` parts of the data."""
    stream = zlib.compressobj()
    width = max(1, -(-len(data) // pieces))
    out = b""
    for at in range(0, max(1, len(data)), width):
        mode = zlib.Z_FULL_FLUSH if at // width % 2 else zlib.Z_SYNC_FLUSH
        out += stream.compress(data[at : at + width]) + stream.flush(mode)
    return out + stream.flush()


def bomb(size: int) -> bytes:
    """Return a zlib stream of `size` zero bytes, made without ever holding them."""
    stream = zlib.compressobj(9)
    chunk = bytes(min(size, 1 << 20))
    out = bytearray()
    left = size
    while left:
        step = min(left, len(chunk))
        out += stream.compress(chunk[:step])
        left -= step
    return bytes(out + stream.flush())


def _adler(data: bytes) -> bytes:
    return zlib.adler32(data).to_bytes(4, "big")


# --- objects ------------------------------------------------------------------------------------


def tree_bytes(entries: Iterable[tuple[bytes, bytes, bytes]], *, ordered: bool = True) -> bytes:
    """Return a tree of (mode, name, raw oid); `ordered=False` keeps the order as given."""
    listed = sorted(entries, key=_tree_key) if ordered else list(entries)
    return b"".join(mode + b" " + name + b"\0" + target for mode, name, target in listed)


def _tree_key(entry: tuple[bytes, bytes, bytes]) -> bytes:
    mode, name, _ = entry
    return name + b"/" if mode.lstrip(b"0") == b"40000" else name


def commit_bytes(
    tree: bytes | None,
    parents: Sequence[bytes] = (),
    *,
    message: bytes = b"message\n",
    author: bytes | None = IDENT,
    committer: bytes | None = IDENT,
    extra: bytes = b"",
    separator: bytes = b"\n",
) -> bytes:
    """Return a commit.

    Raw ids (20 or 32 bytes) become hex; an id of any other length is written as it stands. None
    leaves a line out; `extra` is raw header text after the committer; `separator` is the empty
    line before the message.
    """
    fields = [(b"tree", tree), *((b"parent", parent) for parent in parents)]
    lines = [_line(name, value and _hex(value)) for name, value in fields]
    lines += [_line(b"author", author), _line(b"committer", committer)]
    return b"".join(lines) + extra + separator + message


def tag_bytes(
    target: bytes | None,
    kind: bytes | None = b"commit",
    name: bytes | None = b"v1",
    *,
    tagger: bytes | None = IDENT,
    message: bytes = b"message\n",
    extra: bytes = b"",
    separator: bytes = b"\n",
) -> bytes:
    """Return an annotated tag; ids, None, `extra` and `separator` as in commit_bytes."""
    fields = [(b"object", target and _hex(target)), (b"type", kind), (b"tag", name)]
    lines = [_line(field, value) for field, value in [*fields, (b"tagger", tagger)]]
    return b"".join(lines) + extra + separator + message


def _hex(value: bytes) -> bytes:
    return value.hex().encode() if len(value) in {20, 32} else value


def _line(name: bytes, value: bytes | None) -> bytes:
    return b"" if value is None else name + b" " + value + b"\n"


# --- packs --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Handle:
    """An entry of a pack under construction, or an object outside of it (offset -1).

    `data` and `oid` are empty when the builder cannot know the object, such as the result of a
    malformed delta. The entry spans offset..end, its deflate stream body..end.
    """

    offset: int
    oid: bytes
    data: bytes
    kind: str = "blob"
    body: int = -1
    end: int = -1

    @property
    def hex(self) -> str:
        """The object id as lower-case hex."""
        return self.oid.hex()


def outside(kind: str, data: bytes, fmt: str = "sha1") -> Handle:
    """Return a handle of an object that is not in the pack yet, or never will be."""
    return Handle(-1, oid(kind, data, fmt), data, kind)


class PackBuilder:
    """Collect entries in file order; `build` adds header and trailer."""

    def __init__(self, fmt: str = "sha1", version: int = 2) -> None:
        """Take the hash name of ids and trailer and the version number of the header."""
        self.fmt = fmt
        self.version = version
        self.handles: list[Handle] = []
        self._body = bytearray()
        self._by_oid: dict[bytes, Handle] = {}

    @property
    def offset(self) -> int:
        """The file offset at which the next entry starts."""
        return HEADER_LENGTH + len(self._body)

    def add(
        self,
        kind: str | int,
        data: bytes,
        *,
        declared_size: int | None = None,
        level: int = 6,
        deflate: bytes | None = None,
        header_pad: int = 0,
    ) -> Handle:
        """Append a whole object; an int as `kind` is written as that type number.

        `declared_size` lies in the entry header, `deflate` replaces the whole stream.
        """
        number = kind if isinstance(kind, int) else KIND_NUMBERS[kind]
        name = KIND_NAMES.get(number, "")
        size = len(data) if declared_size is None else declared_size
        head = varint_size(number, size, pad=header_pad)
        stream = zlib.compress(data, level) if deflate is None else deflate
        return self._append(head, stream, name, data if name else None)

    def add_ofs(
        self,
        base: Handle | int,
        delta_bytes: bytes,
        result: bytes | None = None,
        *,
        kind: str | None = None,
        declared_size: int | None = None,
        deflate: bytes | None = None,
        header_pad: int = 0,
    ) -> Handle:
        """Append an OFS_DELTA against an entry, or at a raw distance given as an int.

        `result` and `kind` are worked out from the base when they are not given.
        """
        distance = base if isinstance(base, int) else self.offset - base.offset
        known = None if isinstance(base, int) else base
        size = len(delta_bytes) if declared_size is None else declared_size
        head = varint_size(OFS_DELTA, size, pad=header_pad) + ofs_varint(distance)
        stream = zlib.compress(delta_bytes) if deflate is None else deflate
        return self._append(head, stream, *_result(known, delta_bytes, result, kind))

    def add_ref(
        self,
        base: Handle | bytes,
        delta_bytes: bytes,
        result: bytes | None = None,
        *,
        kind: str | None = None,
        declared_size: int | None = None,
        deflate: bytes | None = None,
        header_pad: int = 0,
    ) -> Handle:
        """Append a REF_DELTA against a raw base id or a handle, in the pack or `outside` of it."""
        base_oid = base if isinstance(base, bytes) else base.oid
        known = self._by_oid.get(base) if isinstance(base, bytes) else base
        size = len(delta_bytes) if declared_size is None else declared_size
        head = varint_size(REF_DELTA, size, pad=header_pad) + base_oid
        stream = zlib.compress(delta_bytes) if deflate is None else deflate
        return self._append(head, stream, *_result(known, delta_bytes, result, kind))

    def raw(self, data: bytes) -> int:
        """Append bytes that count as no entry; return the offset at which they start."""
        start = self.offset
        self._body += data
        return start

    def build(
        self,
        *,
        count: int | None = None,
        trailer: bytes | None = None,
        trailing: bytes = b"",
        magic: bytes = b"PACK",
    ) -> bytes:
        """Return the pack file; each keyword replaces one true value by the given one."""
        entries = len(self.handles) if count is None else count
        header = magic + self.version.to_bytes(4, "big") + entries.to_bytes(4, "big")
        content = header + self._body
        if trailer is None:
            trailer = hashlib.new(self.fmt, content).digest()
        return content + trailer + trailing

    def _append(self, head: bytes, stream: bytes, kind: str, data: bytes | None) -> Handle:
        start = self.offset
        self._body += head + stream
        name = b"" if data is None else oid(kind, data, self.fmt)
        handle = Handle(start, name, data or b"", kind, start + len(head), self.offset)
        self.handles.append(handle)
        if name:
            self._by_oid.setdefault(name, handle)
        return handle


def _result(
    base: Handle | None, delta_bytes: bytes, result: bytes | None, kind: str | None
) -> tuple[str, bytes | None]:
    """Return the kind and, when it can be known, the content of a delta's result."""
    if kind is None:
        kind = base.kind if base else "blob"
    if result is None and base and base.oid:
        result = replay(delta_bytes, base.data)
    return kind, result


def reseal(pack: bytes, fmt: str = "sha1") -> bytes:
    """Return a pack whose trailer is recomputed after its bytes were changed."""
    content = pack[: -oid_length(fmt)]
    return content + hashlib.new(fmt, content).digest()


def flip(data: bytes, at: int, mask: int = 0x01) -> bytes:
    """Return the data with the bits of `mask` flipped in one byte (negative counts from end)."""
    out = bytearray(data)
    out[at] ^= mask
    return bytes(out)


# --- ready-made examples ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Example:
    """A pack with closed history: its bytes, its entries, and the ids a bundle would name."""

    pack: bytes
    handles: tuple[Handle, ...]
    commit: Handle
    tag: Handle | None = None


def small_honest(fmt: str = "sha1", *, tagged: bool = True, base: bytes | None = None) -> Example:
    """Return a closed history that uses every entry type and every legal base order.

    Order: a ref delta before its base, whole blob, ofs delta, ref delta on that ofs result, the
    late base, subtree, root tree, root commit, child commit, tag. Only the tag reaches everything;
    without it (`tagged`) the child commit does. `base` is the raw id of a parent for the root
    commit, which makes a history that is closed but for that commit.
    """
    pack = PackBuilder(fmt)
    text = b"".join(b"line %d of the first file\n" % n for n in range(20))
    late = outside("blob", text.replace(b"first", b"last"), fmt)
    early = pack.add_ref(late, edit(late.data, 30, 8, b"ref delta before its base\n")[0])
    whole = pack.add("blob", text)
    by_offset = pack.add_ofs(whole, edit(text, 100, 3, b"ofs delta")[0])
    on_offset = pack.add_ref(by_offset, edit(by_offset.data, 0, 5, b"ref on ofs ")[0])
    whole_late = pack.add("blob", late.data)
    inner = _tree_of(pack, [(b"early", early), (b"late", whole_late)])
    files = [(b"a", whole), (b"b", by_offset), (b"c", on_offset), (b"dir", inner)]
    parents = [] if base is None else [base]
    first = pack.add("commit", commit_bytes(inner.oid, parents, message=b"first\n"))
    root = _tree_of(pack, files)
    second = pack.add("commit", commit_bytes(root.oid, [first.oid], message=b"second\n"))
    tag = pack.add("tag", tag_bytes(second.oid)) if tagged else None
    return Example(pack.build(), tuple(pack.handles), second, tag)


def small_honest_pack(fmt: str = "sha1") -> bytes:
    """Return the bytes of `small_honest`."""
    return small_honest(fmt).pack


def blob_pack(*blobs: bytes, fmt: str = "sha1") -> bytes:
    """Return a pack of whole blobs and nothing that names them."""
    pack = PackBuilder(fmt)
    for blob in blobs:
        pack.add("blob", blob)
    return pack.build()


def chain(depth: int, fmt: str = "sha1") -> Example:
    """Return a blob and a chain of `depth` ofs deltas on it, all named by one commit's tree."""
    pack = PackBuilder(fmt)
    body = b"the same text in every link of the chain\n"
    width = 12
    step = delta(width + len(body), width + len(body), insert(b"%011d\n" % 0), copy(12, len(body)))
    links = [pack.add("blob", b"%011d\n" % 0 + body)]
    for number in range(1, depth + 1):
        # Each link has the same size, so that a deep chain costs linear and not quadratic work.
        label = b"%011d\n" % number
        ops = step.replace(b"%011d\n" % 0, label)
        links.append(pack.add_ofs(links[-1], ops, label + body))
    # Folders of 100 keep every tree small; the subject here is the chain.
    shards = [links[at : at + 100] for at in range(0, len(links), 100)]
    folders = [_tree_of(pack, [(b"%02d" % i, link) for i, link in enumerate(s)]) for s in shards]
    root = _tree_of(pack, [(b"%04d" % i, folder) for i, folder in enumerate(folders)])
    commit = pack.add("commit", commit_bytes(root.oid))
    return Example(pack.build(), tuple(pack.handles), commit)


def chain_pack(depth: int, fmt: str = "sha1") -> bytes:
    """Return the bytes of `chain`."""
    return chain(depth, fmt).pack


def delta_bomb(result_size: int, fmt: str = "sha1") -> bytes:
    """Return a pack of some hundred bytes whose last ofs delta honestly gives `result_size`."""
    pack = PackBuilder(fmt)
    size = min(1024, result_size)
    handle = pack.add("blob", b"x" * size)
    while size < result_size:
        grown = min(size * 16, result_size)
        handle = pack.add_ofs(handle, growing_delta(size, grown))
        size = grown
    return pack.build()


def growing_delta(base_size: int, result_size: int) -> bytes:
    """Return a delta that repeats its base until the result has exactly `result_size` bytes."""
    step = min(base_size, MAX_COPY)
    full, left = divmod(result_size, step)
    return delta(base_size, result_size, copy(0, step) * full, copy(0, left) if left else b"")


def many_objects_header(count: int, fmt: str = "sha1") -> bytes:
    """Return a pack of one small blob whose header promises `count` objects; trailer is right."""
    pack = PackBuilder(fmt)
    pack.add("blob", b"alone\n")
    return pack.build(count=count)


def _tree_of(pack: PackBuilder, files: Iterable[tuple[bytes, Handle]]) -> Handle:
    modes = {"tree": b"40000", "blob": b"100644"}
    return pack.add("tree", tree_bytes((modes[h.kind], name, h.oid) for name, h in files))
