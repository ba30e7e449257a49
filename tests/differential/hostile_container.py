"""Packs made by hand: the container, headers of entries and deflate streams. Name to writer."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable

from tests.support import packs
from tests.support.packs import (
    PackBuilder,
    copy,
    delta,
    varint_size,
)

Writer = Callable[[str], bytes]

TEXT = b"some text to be compressed, " * 30
N = len(TEXT)
ALL = copy(0, N)
# The result is another object than the base, so that it is no duplicate.
MOST = delta(N, N - 1, copy(0, N - 1))
FILE = b"100644"
FOLDER = b"40000"
OTHER = {"sha1": "sha256", "sha256": "sha1"}


def tree(*entries: tuple[bytes, bytes, bytes]) -> bytes:
    """Return a tree of (mode, name, raw id) in the order given."""
    return packs.tree_bytes(entries, ordered=False)


def two_blobs(fmt: str, version: int = 2) -> PackBuilder:
    """Return the builder of a pack of two blobs."""
    pack = PackBuilder(fmt, version)
    pack.add("blob", b"one")
    pack.add("blob", TEXT)
    return pack


def seal(content: bytes, fmt: str) -> bytes:
    """Return a pack's header and entries with their checksum."""
    return content + hashlib.new(fmt, content).digest()


# --- the container ------------------------------------------------------------------------------


def _cut(keep: int) -> Writer:
    return lambda fmt: two_blobs(fmt).build()[:keep]


def _cut_and_sealed(keep: int) -> Writer:
    return lambda fmt: seal(two_blobs(fmt).build()[:keep], fmt)


def _between_entries(fmt: str) -> bytes:
    pack = two_blobs(fmt)
    return seal(pack.build()[: pack.handles[1].offset], fmt)


def _count(count: int) -> Writer:
    return lambda fmt: two_blobs(fmt).build(count=count)


def of_version(number: int) -> Writer:
    return lambda fmt: two_blobs(fmt, number).build()


def _trailing(data: bytes) -> Writer:
    return lambda fmt: two_blobs(fmt).build(trailing=data)


def _second_pack(fmt: str) -> bytes:
    return two_blobs(fmt).build() * 2


def _trailer_twice(fmt: str) -> bytes:
    pack = two_blobs(fmt).build()
    return pack + pack[-packs.oid_length(fmt) :]


def _bytes_between(fmt: str) -> bytes:
    pack = PackBuilder(fmt)
    pack.add("blob", b"one")
    pack.raw(b"\0\0\0")
    pack.add("blob", b"two")
    return pack.build()


def _entry_too_many(fmt: str) -> bytes:
    pack = two_blobs(fmt)
    pack.raw(b"\x33" + zlib.compress(b"abc"))
    return pack.build()


CONTAINER: dict[str, Writer] = {
    "no bytes at all": _cut(0),
    "half of the signature": _cut(2),
    "a header without its count": _cut(8),
    "a header without its last byte": _cut(11),
    "a header and nothing else": _cut(12),
    "a header and its checksum, with objects claimed": _cut_and_sealed(12),
    "a cut inside an entry": _cut(20),
    "a cut inside an entry, sealed": _cut_and_sealed(20),
    "a cut between entries, sealed": _between_entries,
    "a cut inside the checksum": lambda fmt: two_blobs(fmt).build()[:-1],
    "another signature": lambda fmt: two_blobs(fmt).build(magic=b"PUCK"),
    "a lower case signature": lambda fmt: two_blobs(fmt).build(magic=b"pack"),
    "version 0": of_version(0),
    "version 1": of_version(1),
    "version 4": of_version(4),
    "version 2 in the other byte order": of_version(2 << 24),
    "one object more claimed than there is": _count(3),
    "one object less claimed than there is": _count(1),
    "no object claimed and two there": _count(0),
    "a thousand objects claimed and two there": _count(1_000),
    "all the objects claimed that a header can say": _count(0xFFFF_FFFF),
    "bytes between two entries": _bytes_between,
    "an entry after the claimed ones": _entry_too_many,
    "no checksum": lambda fmt: two_blobs(fmt).build(trailer=b""),
    "a checksum of zeros": lambda fmt: two_blobs(fmt).build(trailer=bytes(packs.oid_length(fmt))),
    "a pack of the other object format": lambda fmt: two_blobs(OTHER[fmt]).build(),
    "one byte after the end": _trailing(b"x"),
    "a line end after the end": _trailing(b"\n"),
    "a mebibyte of zeros after the end": _trailing(bytes(1 << 20)),
    "a second pack after the end": _second_pack,
    "the checksum twice": _trailer_twice,
}

# --- entry headers and deflate streams ----------------------------------------------------------


def raw_entry(*parts: bytes) -> Writer:
    """Write a blob, then one entry of exactly these bytes."""

    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        pack.add("blob", b"first")
        pack.raw(b"".join(parts))
        return pack.build(count=2)

    return write


def _blob(stream: bytes, size: int = N) -> Writer:
    return raw_entry(varint_size(3, size), stream)


def _typed(number: int) -> Writer:
    return raw_entry(varint_size(number, N), zlib.compress(TEXT))


def _zlib_header(head: bytes) -> bytes:
    return head + zlib.compress(TEXT)[2:]


def _blocks(*blocks: bytes, of: bytes = TEXT) -> bytes:
    return b"\x78\x9c" + b"".join(blocks) + zlib.adler32(of).to_bytes(4)


def stored_block(data: bytes, *, last: bool, length: int | None = None) -> bytes:
    """Return one stored block of a deflate stream; `length` lies in its complement only."""
    size = len(data).to_bytes(2, "little")
    claimed = len(data) if length is None else length
    return bytes([last]) + size + (claimed ^ 0xFFFF).to_bytes(2, "little") + data


def _strategy(strategy: int) -> bytes:
    stream = zlib.compressobj(9, zlib.DEFLATED, 15, 9, strategy)
    return stream.compress(TEXT) + stream.flush()


def _small_window() -> bytes:
    stream = zlib.compressobj(9, zlib.DEFLATED, 9)
    return stream.compress(TEXT) + stream.flush()


# A fixed block: length 3 (code 0000001), distance 1 (code 00000), before any byte was made.
_TOO_FAR_BACK = b"\x78\x9c\x03\x02\x00" + b"\0" * 8

ENTRIES: dict[str, Writer] = {
    "entry type 0": _typed(0),
    "entry type 5": _typed(5),
    "a type byte that promises more and ends": raw_entry(b"\xb3"),
    "a size that never ends": raw_entry(b"\xb3" + b"\x80" * 6),
    "an offset delta without its distance": raw_entry(b"\x64"),
    "a reference delta without half of its base": raw_entry(b"\x74" + b"\x11" * 7),
    "one byte more declared": _blob(zlib.compress(TEXT), N + 1),
    "one byte less declared": _blob(zlib.compress(TEXT), N - 1),
    "no bytes declared and some there": _blob(zlib.compress(TEXT), 0),
    "some bytes declared and none there": _blob(zlib.compress(b""), 1),
    "a tebibyte declared": _blob(zlib.compress(TEXT), 1 << 40),
    "a size with its highest bit": _blob(zlib.compress(TEXT), 1 << 59),
    "a wrong Adler-32": _blob(packs.bad_adler(TEXT)),
    "no Adler-32": _blob(packs.missing_adler(TEXT)),
    "half an Adler-32": _blob(zlib.compress(TEXT)[:-2]),
    "no stream": _blob(b""),
    "half a stream": _blob(zlib.compress(TEXT)[:10]),
    "raw deflate": _blob(packs.raw_deflate(TEXT)),
    "gzip": _blob(packs.gzip_wrapped(TEXT)),
    "plain bytes": _blob(TEXT),
    "a preset dictionary": _blob(packs.with_dictionary(TEXT)),
    "compression method 7": _blob(_zlib_header(b"\x77\x85")),
    "a window over 32 KiB": _blob(_zlib_header(b"\x88\x1c")),
    "a wrong check of the zlib header": _blob(_zlib_header(b"\x78\x9d")),
    "the reserved kind of block": _blob(_blocks(b"\x07")),
    "a stored block that contradicts itself": _blob(
        _blocks(stored_block(TEXT, last=True, length=N - 1))
    ),
    "a stored block that ends too early": _blob(_blocks(stored_block(TEXT, last=True)[:-30])),
    "no last block": _blob(_blocks(stored_block(TEXT, last=False))),
    "a copy from before the start": _blob(_TOO_FAR_BACK, 3),
    "two streams in one entry": _blob(zlib.compress(TEXT[:90]) + zlib.compress(TEXT[90:])),
}

ODD_ENTRIES: dict[str, Writer] = {
    "an empty blob": _blob(zlib.compress(b""), 0),
    "stored blocks": _blob(packs.stored(TEXT)),
    "many small stored blocks": _blob(
        _blocks(
            *(stored_block(TEXT[at : at + 1], last=False) for at in range(N)),
            stored_block(b"", last=True),
        )
    ),
    "one empty block": _blob(packs.padded(TEXT, 1)),
    "a hundred empty blocks": _blob(packs.padded(TEXT, 100)),
    "an empty blob with empty blocks": _blob(packs.padded(b"", 50), 0),
    "several flushes": _blob(packs.several_flushes(TEXT)),
    "a flush at the end": _blob(packs.several_flushes(TEXT, 1)),
    "fixed codes": _blob(_strategy(zlib.Z_FIXED)),
    "Huffman codes alone": _blob(_strategy(zlib.Z_HUFFMAN_ONLY)),
    "run lengths": _blob(_strategy(zlib.Z_RLE)),
    "a window of 512 bytes": _blob(_small_window()),
    "a zlib header that says 256 bytes": _blob(_zlib_header(b"\x08\x1d")),
    "a size with one spare byte (case 14)": raw_entry(b"\xb3\x00", zlib.compress(b"abc")),
    "a larger size with one spare byte": raw_entry(varint_size(3, N, pad=1), zlib.compress(TEXT)),
    "a size with spare bytes up to 64 bits": raw_entry(
        varint_size(3, N, pad=7), zlib.compress(TEXT)
    ),
}
