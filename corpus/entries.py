"""Headers of entries and their deflate streams."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from corpus.deflate import EMPTY_BLOCK, HEADER, adler, block, blocks, run, stored
from corpus.model import Case, bad, good
from corpus.writer import TEXT, File, Kit, offset_distance, size_header

__all__ = ["cases"]

PLAIN = "entry-plain"
N = len(TEXT)
_WRAPS = "git before 2.55 drops the high bits"
FIRST = b"first of two\n" * 4


def _entry(kit: Kit, *parts: bytes) -> File:
    """A blob, then one entry of exactly these bytes."""
    pack = kit.pack()
    pack.add(kit.blob(FIRST))
    pack.raw(b"".join(parts), entries=1)
    return pack.file()


def _second(kit: Kit) -> int:
    pack = kit.pack()
    return pack.add(kit.blob(FIRST)) + len(size_header(3, len(FIRST)) + stored(FIRST))


def _blob(kit: Kit, stream: bytes, size: int = N, pad: int = 0) -> File:
    return _entry(kit, size_header(3, size, pad), stream)


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject."""
    yield good(PLAIN, _blob(kit, stored(TEXT)), "PC3, PC4, case 41", both=True)
    yield from _odd(kit)
    yield from _headers(kit)
    yield from _sizes(kit)
    yield from _streams(kit)
    yield from _padding(kit)


def _odd(kit: Kit) -> Iterator[Case]:
    bytewise = b"".join(block(TEXT[at : at + 1], last=False) for at in range(N))
    many = HEADER + bytewise + block(b"") + adler(TEXT)
    small = b"\x08\x1d" + blocks(TEXT) + adler(TEXT)
    table = {
        "an-empty-blob": _blob(kit, stored(b""), 0),
        "one-block-a-byte": _blob(kit, many),
        "one-empty-block": _blob(kit, HEADER + EMPTY_BLOCK + blocks(TEXT) + adler(TEXT)),
        "a-hundred-empty-blocks": _blob(
            kit, HEADER + EMPTY_BLOCK * 100 + blocks(TEXT) + adler(TEXT)
        ),
        "fixed-codes": _blob(kit, run(65, 1000), 1000),
        "a-window-of-256-bytes": _blob(kit, small),
    }
    for name, file in table.items():
        yield good(f"entry-{name}", file, "case 41")
    spare = ("nonCanonicalVarint",)
    pads = {
        "one-spare-byte": _entry(kit, b"\xb3\x00", stored(b"abc")),
        "one-spare-byte-in-a-larger-size": _blob(kit, stored(TEXT), pad=1),
        "spare-bytes-up-to-64-bits": _blob(kit, stored(TEXT), pad=7),
    }
    for name, file in pads.items():
        yield good(f"entry-size-with-{name}", file, "PC2, case 14", notes=spare)


def _headers(kit: Kit) -> Iterator[Case]:
    at = _second(kit)
    deltas = {
        "an-offset-delta-and-the-end": b"\x64",
        "a-reference-delta-and-half-of-its-base": b"\x74" + b"\x11" * 7,
        "a-size-and-no-stream": size_header(3, N),
        "a-size-that-goes-on": b"\xb3",
    }
    for number in (0, 5):
        file = _entry(kit, size_header(number, N), stored(TEXT))
        origin = "PC3, case 32"
        name = f"entry-type-{number}"
        yield bad(name, file, "unknownEntryType", PLAIN, origin, at=at, both=True)
    for name, parts in deltas.items():
        # The checksum of the pack is read as more of the entry, whatever it says.
        file = _entry(kit, parts)
        cut = File(file.data[: -kit.width])
        yield bad(f"entry-cut-after-{name}", cut, "truncated", PLAIN, "PC11, case 29", at=at)
    overflow = {
        "size-of-65-bits": size_header(3, N, pad=8)[:-1] + b"\x10",
        "size-in-eleven-bytes": size_header(3, N, pad=9),
        "size-that-never-ends": b"\xb3" + b"\x80" * 200,
        "size-of-all-ones": b"\xbf" + b"\xff" * 12 + b"\x7f",
    }
    for name, head in overflow.items():
        file = _entry(kit, head, stored(TEXT))
        origin = "PC1, CVE-2026-82254, case 14"
        code = "varintOverflow"
        differs = "" if "never" in name or "ones" in name else _WRAPS
        yield bad(f"entry-{name}", file, code, PLAIN, origin, at=at, parity=differs)
    far = _entry(kit, b"\x64", b"\xff" * 12 + b"\x7f", stored(b"\1\1\1x"))
    name = "entry-distance-past-64-bits"
    yield bad(name, far, "varintOverflow", PLAIN, "PD12", at=at)
    near = _entry(kit, size_header(6, 4), offset_distance(1 << 40), stored(b"\1\1\1x"))
    name = "entry-distance-to-before-the-file"
    yield bad(name, near, "deltaBadBaseOffset", PLAIN, "PD12", at=at)


def _sizes(kit: Kit) -> Iterator[Case]:
    at = _second(kit)
    wrong, large = "inflatedSizeMismatch", "objectTooLarge"
    table = {
        "one-byte-too-many": (stored(TEXT), N + 1, wrong, "PC4, case 11"),
        "one-byte-too-few": (stored(TEXT), N - 1, wrong, "PC4, case 11"),
        "none-for-some": (stored(TEXT), 0, wrong, "PC4"),
        "some-for-none": (stored(b""), 1, wrong, "PC4, go-git#2294"),
        "32-for-8": (stored(b"8 bytes."), 32, wrong, "PC4, case 11, go-git#2294"),
        "6-for-a-mebibyte": (run(65, 1 << 20), 6, wrong, "PC5, PI3, dulwich 1.2.9"),
        "a-tebibyte": (stored(TEXT), 1 << 40, large, "PI3, A9, CVE-2026-82254"),
        "the-highest-bit": (stored(TEXT), 1 << 63, large, "PI3, A9, PC1"),
    }
    for name, (stream, size, code, origin) in table.items():
        file = _blob(kit, stream, size)
        both = name in {"one-byte-too-many", "a-tebibyte"}
        yield bad(f"entry-declares-{name}", file, code, PLAIN, origin, at=at, both=both)


def _streams(kit: Kit) -> Iterator[Case]:
    at = _second(kit)
    body, end = blocks(TEXT), adler(TEXT)
    halves = stored(TEXT[:90]) + stored(TEXT[90:])
    table = {
        "adler-32-wrong": HEADER + body + adler(TEXT + b"x"),
        "adler-32-of-zeros": HEADER + body + bytes(4),
        "raw-deflate": body + bytes(16),
        "gzip": b"\x1f\x8b\x08" + bytes(6) + b"\xff" + body + bytes(8),
        "plain-bytes": TEXT,
        "compression-method-7": b"\x77\x85" + body + end,
        "window-over-32-kib": b"\x88\x1c" + body + end,
        "zlib-header-check-wrong": b"\x78\x02" + body + end,
        "reserved-kind-of-block": HEADER + b"\x07" + end,
        "length-and-complement-differ": HEADER + block(TEXT, length=N - 1) + end,
        "no-last-block": HEADER + block(TEXT, last=False) + end + b"\xff" * 8,
        "copy-from-before-the-start": HEADER + b"\x03\x02\x00" + bytes(8),
    }
    for name, stream in table.items():
        file = _blob(kit, stream, 3 if name.startswith("copy") else N)
        both = name == "adler-32-wrong"
        yield bad(f"entry-{name}", file, "badDeflate", PLAIN, "PC6, case 41", at=at, both=both)
    short = {
        "no-adler-32": HEADER + body,
        "half-an-adler-32": HEADER + body + end[:2],
        "half-a-stream": (HEADER + body)[:60],
        "a-zlib-header-alone": HEADER,
    }
    for name, stream in short.items():
        cut = File(_blob(kit, stream).data[: -kit.width])
        origin = "PC6, PC11, libgit2#7346, case 41"
        yield bad(f"entry-cut-{name}", cut, "truncated", PLAIN, origin, at=at)
    two = _blob(kit, halves)
    name = "entry-two-streams"
    yield bad(name, two, "inflatedSizeMismatch", PLAIN, "PC4, case 41", at=at)
    dictionary = b"\x78\x20" + zlib.adler32(b"dictionary").to_bytes(4, "big") + body + end
    yield bad(
        "entry-preset-dictionary",
        _blob(kit, dictionary),
        "presetDictionary",
        PLAIN,
        "PC7, git FDICT abort",
        at=at,
        both=True,
    )


def _padding(kit: Kit) -> Iterator[Case]:
    at = _second(kit)
    plenty = "entry-a-hundred-empty-blocks"
    before = HEADER + EMPTY_BLOCK * 1_000 + blocks(TEXT) + adler(TEXT)
    name = "entry-a-thousand-empty-blocks"
    yield bad(name, _blob(kit, before), "paddedDeflate", plenty, "PC8", at=at)
    after = HEADER + block(TEXT, last=False) + EMPTY_BLOCK * 1_000 + block(b"") + adler(TEXT)
    name = "entry-a-thousand-empty-blocks-behind-the-content"
    yield bad(name, _blob(kit, after), "paddedDeflate", plenty, "PC8", at=at)
