"""Packs for PackStream: what is refused at which offset, each with its honest neighbour."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass

import pytest

from packparse import codes
from packparse.codes import Code
from packparse.entry import BLOB, OFS_DELTA
from packparse.inflate import longest_stream
from packparse.objectformat import FORMATS
from tests.support import packs
from tests.support.packs import PackBuilder

TEXT = b"some text to be compressed, " * 30
N = len(TEXT)
LONG = random.Random(11).randbytes(9000) + bytes(21_000)
PADDING_ALLOWED = 4 << 10

formats = pytest.mark.parametrize("fmt", FORMATS)
versions = pytest.mark.parametrize("version", [2, 3], ids=["v2", "v3"])


@dataclass(frozen=True)
class Case:
    """A pack that is refused at ``offset`` for one thing, and one without that thing."""

    code: Code
    offset: int
    hostile: bytes
    honest: bytes
    notes: tuple[str, ...] = ()  # codes that the neighbour is noted for


class Maker:
    """Makes packs of one format and version: an honest blob first, then the entry in question."""

    def __init__(self, fmt: str, version: int) -> None:
        self.fmt = fmt
        self.version = version
        self.width = packs.oid_length(fmt)

    def builder(self) -> PackBuilder:
        pack = PackBuilder(self.fmt, self.version)
        pack.add("blob", TEXT)
        return pack

    @property
    def second(self) -> int:
        """The offset of the entry in question."""
        return self.builder().offset

    def pack(
        self,
        deflate: bytes | None = None,
        *,
        data: bytes = TEXT + b"2",
        size: int | None = None,
        pad: int = 0,
        kind: str | int = "blob",
    ) -> bytes:
        pack = self.builder()
        pack.add(kind, data, deflate=deflate, declared_size=size, header_pad=pad)
        return pack.build()

    def entry(self, code: Code, hostile: bytes, honest: bytes, *notes: str) -> Case:
        return Case(code, self.second, hostile, honest, notes)

    def resealed(self, pack: bytes, version_mask: int) -> bytes:
        """Return the pack with these bits of its version changed and the checksum made right."""
        return packs.reseal(packs.flip(pack, 7, version_mask), self.fmt)

    def raw_entry(self, data: bytes) -> bytes:
        """Return a pack whose second entry is these bytes."""
        pack = self.builder()
        pack.raw(data)
        return pack.build(count=2)


def container_cases(make: Maker) -> dict[str, Case]:
    two = make.builder()
    two.add("blob", b"two")
    honest = two.build()
    end = len(honest) - make.width
    return {
        "PA1 magic": Case(codes.BAD_SIGNATURE, 0, two.build(magic=b"PUCK"), honest),
        "PA1 magic in lower case": Case(codes.BAD_SIGNATURE, 0, two.build(magic=b"pack"), honest),
        "PA1 version 4": Case(
            codes.BAD_PACK_VERSION, 4, make.resealed(honest, make.version ^ 4), honest
        ),
        "PA1 version 0": Case(
            codes.BAD_PACK_VERSION, 4, make.resealed(honest, make.version), honest
        ),
        "PA1 version in the other byte order": Case(
            codes.BAD_PACK_VERSION, 4, honest[:4] + honest[4:8][::-1] + honest[8:], honest
        ),
        "PA2 count one too high": Case(codes.OBJECT_COUNT_MISMATCH, 8, two.build(count=3), honest),
        "PA2 count one too low": Case(codes.OBJECT_COUNT_MISMATCH, 8, two.build(count=1), honest),
        "PA2 count of 0 for two": Case(codes.OBJECT_COUNT_MISMATCH, 8, two.build(count=0), honest),
        "case 40 count far too high": Case(
            codes.OBJECT_COUNT_MISMATCH, 8, two.build(count=99_999), honest
        ),
        "PA2 ends after the header": Case(codes.TRUNCATED, 12, honest[:12], honest),
        "PA2 ends inside the header": Case(codes.TRUNCATED, 0, honest[:11], honest),
        "PA2 ends inside the signature": Case(codes.TRUNCATED, 0, honest[:3], honest),
        "PA2 no input at all": Case(codes.TRUNCATED, 0, b"", honest),
        "PA2 ends before the checksum": Case(codes.TRUNCATED, end, honest[:end], honest),
        "PA2 ends inside the checksum": Case(codes.TRUNCATED, end, honest[:-1], honest),
        "PC11 ends inside an entry": Case(codes.TRUNCATED, make.second, honest[: end - 1], honest),
        "PC11 ends after one byte of an entry": Case(
            codes.TRUNCATED, make.second, honest[: make.second + 1], honest
        ),
        "PA5 checksum of zeros": Case(
            codes.PACK_CHECKSUM_MISMATCH, end, two.build(trailer=bytes(make.width)), honest
        ),
        "PA5 last bit of the checksum": Case(
            codes.PACK_CHECKSUM_MISMATCH, end, packs.flip(honest, -1), honest
        ),
        "PA5 one bit of the claimed version": Case(
            codes.PACK_CHECKSUM_MISMATCH, end, packs.flip(honest, 7, 1), honest
        ),
        "PA6 case 38 one byte more": Case(
            codes.TRAILING_BYTES, len(honest), honest + b"\0", honest
        ),
        "PA6 case 38 a line feed more": Case(
            codes.TRAILING_BYTES, len(honest), honest + b"\n", honest
        ),
        "PA6 case 38 a second pack": Case(
            codes.TRAILING_BYTES, len(honest), honest + honest, honest
        ),
        "PA6 case 38 the checksum twice": Case(
            codes.TRAILING_BYTES, len(honest), honest + honest[end:], honest
        ),
        "PA5 bytes between the last entry and the checksum": Case(
            codes.PACK_CHECKSUM_MISMATCH, end, honest[:end] + b"gap" + honest[end:], honest
        ),
    }  # fmt: skip


def header_cases(make: Maker) -> dict[str, Case]:
    honest = make.pack()
    wide = (1 << 64) - 1
    distance = make.second - packs.HEADER_LENGTH
    delta = packs.delta(N, 1, packs.insert(b"x"))
    header, content = packs.varint_size(OFS_DELTA, len(delta)), zlib.compress(delta)
    return {
        "PC1 case 14 a size of 2 to the 64": make.entry(
            codes.VARINT_OVERFLOW, make.pack(size=wide + 1), honest
        ),
        "PC1 case 14 a size in eleven bytes": make.entry(
            codes.VARINT_OVERFLOW, make.pack(data=b"abc", pad=10), make.pack(data=b"abc", pad=9),
            "nonCanonicalVarint",
        ),
        "PC1 a distance of 2 to the 64": make.entry(
            codes.VARINT_OVERFLOW, make.raw_entry(header + packs.ofs_varint(wide + 1) + content),
            make.raw_entry(header + packs.ofs_varint(distance) + content),
        ),
        "PC3 case 32 type 0": make.entry(codes.UNKNOWN_ENTRY_TYPE, make.pack(kind=0), honest),
        "PC3 case 32 type 5": make.entry(codes.UNKNOWN_ENTRY_TYPE, make.pack(kind=5), honest),
        "PC3 bytes of zero between entries": make.entry(
            codes.UNKNOWN_ENTRY_TYPE, _gap(make, bytes(3)), _gap(make, b"")
        ),
        "PC6 case 41 bytes between entries": make.entry(
            codes.BAD_DEFLATE, _gap(make, b"\x33gap"), _gap(make, b"")
        ),
    }  # fmt: skip


def _gap(make: Maker, gap: bytes) -> bytes:
    pack = make.builder()
    pack.raw(gap)
    pack.add("blob", b"after the gap" * 10)
    return pack.build()


def deflate_cases(make: Maker) -> dict[str, Case]:
    data = TEXT + b"2"
    honest = make.pack()
    size_wrong, damaged = codes.INFLATED_SIZE_MISMATCH, codes.BAD_DEFLATE
    bound = longest_stream(len(data)) + PADDING_ALLOWED
    base = len(packs.padded(data, 0))
    blocks = (bound - base) // 5
    return {
        "PC4 case 11 declares one byte more": make.entry(
            size_wrong, make.pack(size=len(data) + 1), honest
        ),
        "PC4 case 11 declares one byte less": make.entry(
            size_wrong, make.pack(size=len(data) - 1), honest
        ),
        "PC4 case 11 declares 32 bytes and holds 8": make.entry(
            size_wrong, make.pack(data=b"8 bytes!", size=32), make.pack(data=b"8 bytes!")
        ),
        "PC4 declares 0 bytes and holds one": make.entry(
            size_wrong, make.pack(data=b"x", size=0), make.pack(data=b"")
        ),
        "PC4 declares one byte and holds none": make.entry(
            size_wrong, make.pack(data=b"", size=1), make.pack(data=b"")
        ),
        "PC4 a commit declares one byte more": make.entry(
            size_wrong, make.pack(kind="commit", size=len(data) + 1), make.pack(kind="commit")
        ),
        "PC5 a bomb of 1 MiB for 6 bytes": make.entry(
            size_wrong, make.pack(packs.bomb(1 << 20), size=6),
            make.pack(packs.bomb(6), data=bytes(6)),
        ),
        "PC6 case 41 wrong Adler-32": make.entry(
            damaged, make.pack(packs.bad_adler(data)), make.pack(zlib.compress(data))
        ),
        "PC6 case 41 no Adler-32": make.entry(
            damaged, make.pack(packs.missing_adler(data)), make.pack(packs.several_flushes(data))
        ),
        "PC6 case 41 raw deflate": make.entry(
            damaged, make.pack(packs.raw_deflate(data)), make.pack(packs.stored(data))
        ),
        "PC6 case 41 gzip wrapper": make.entry(
            damaged, make.pack(packs.gzip_wrapped(data)), make.pack(zlib.compress(data, 9))
        ),
        "PC7 preset dictionary": make.entry(
            codes.PRESET_DICTIONARY, make.pack(packs.with_dictionary(data)), honest
        ),
        "PC8 one block past the padding bound": make.entry(
            codes.PADDED_DEFLATE, make.pack(packs.padded(data, blocks + 1)),
            make.pack(packs.padded(data, blocks)),
        ),
        "PC8 50 KB of empty blocks for 6 bytes": make.entry(
            codes.PADDED_DEFLATE, make.pack(packs.padded(b"6bytes", 10_000), data=b"6bytes"),
            make.pack(packs.padded(b"6bytes", 3), data=b"6bytes"),
        ),
    }  # fmt: skip


def delta_entry_cases(make: Maker) -> dict[str, Case]:
    """Return what an entry that holds a delta has in common with one that holds an object."""

    def pack(size: int | None = None, deflate: bytes | None = None, *, ofs: bool = True) -> bytes:
        build = make.builder()
        base = build.handles[0]
        add = build.add_ofs if ofs else build.add_ref
        add(base, packs.edit(TEXT, 5, 5, b"new")[0], declared_size=size, deflate=deflate)
        return build.build()

    delta = packs.edit(TEXT, 5, 5, b"new")[0]
    cases: dict[str, Case] = {}
    for name, ofs in (("OFS_DELTA", True), ("REF_DELTA", False)):
        honest = pack(ofs=ofs)
        end = len(honest) - make.width
        after = len(honest) - make.width - len(zlib.compress(delta))
        cases |= {
            f"PC4 {name} declares one byte more": make.entry(
                codes.INFLATED_SIZE_MISMATCH, pack(len(delta) + 1, ofs=ofs), honest
            ),
            f"PC4 {name} declares one byte less": make.entry(
                codes.INFLATED_SIZE_MISMATCH, pack(len(delta) - 1, ofs=ofs), honest
            ),
            f"PC6 {name} with a wrong Adler-32": make.entry(
                codes.BAD_DEFLATE, pack(deflate=packs.bad_adler(delta), ofs=ofs), honest
            ),
            f"PC7 {name} with a preset dictionary": make.entry(
                codes.PRESET_DICTIONARY, pack(deflate=packs.with_dictionary(delta), ofs=ofs), honest
            ),
            f"PC11 {name} that ends before its stream": make.entry(
                codes.TRUNCATED, honest[:after], honest
            ),
            f"PC11 {name} that ends inside its base": make.entry(
                codes.TRUNCATED, honest[: after - 1], honest
            ),
            f"PA2 {name} and then no checksum": Case(codes.TRUNCATED, end, honest[:end], honest),
        }
    return cases


def long_cases(make: Maker) -> dict[str, Case]:
    """Return entries that do not go the fast way even when fed whole."""
    honest = make.pack(data=LONG)
    cut = zlib.compress(LONG)[:5000]
    return {
        "PC4 a long entry declares one byte more": make.entry(
            codes.INFLATED_SIZE_MISMATCH, make.pack(data=LONG, size=len(LONG) + 1), honest
        ),
        "PC4 a long entry declares one byte less": make.entry(
            codes.INFLATED_SIZE_MISMATCH, make.pack(data=LONG, size=len(LONG) - 1), honest
        ),
        "PC6 a long entry with a wrong Adler-32": make.entry(
            codes.BAD_DEFLATE, make.pack(packs.bad_adler(LONG), data=LONG), honest
        ),
        "PC7 a long entry with a preset dictionary": make.entry(
            codes.PRESET_DICTIONARY, make.pack(packs.with_dictionary(LONG), data=LONG), honest
        ),
        "PC11 a long entry that is cut": make.entry(
            codes.TRUNCATED, honest[: make.second] + packs.varint_size(BLOB, len(LONG)) + cut,
            honest,
        ),
    }  # fmt: skip


def all_cases(fmt: str, version: int) -> dict[str, Case]:
    make = Maker(fmt, version)
    cases = container_cases(make) | header_cases(make) | deflate_cases(make)
    return cases | delta_entry_cases(make) | long_cases(make)


CASES = {(fmt, v): all_cases(fmt, v) for fmt in FORMATS for v in (2, 3)}
every_case = pytest.mark.parametrize("name", CASES["sha1", 2])
