"""The container of a pack: signature, version, count, checksum, and what follows them."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.model import Case, bad, good
from corpus.writer import TEXT, File, Kit, Pack

__all__ = ["PLAIN", "cases"]

PLAIN = "container-two-blobs"
_OTHER = {"sha1": "sha256", "sha256": "sha1"}


def _two(kit: Kit, version: int = 2) -> Pack:
    pack = kit.pack(version)
    pack.add(kit.blob(TEXT))
    pack.add(kit.blob(b"one"))
    return pack


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject."""
    whole = _two(kit).file()
    empty = ("emptyPack",)
    yield good(PLAIN, whole, "PA1, PA5", both=True)
    yield good("container-version-3", _two(kit, 3).file(), "PA1, CVE-2026-109349, case 67")
    yield good("container-empty", kit.pack().file(), "PA7", notes=empty)
    yield good("container-empty-version-3", kit.pack(3).file(), "PA7, case 67", notes=empty)
    yield from _cuts(kit, whole)
    yield from _heads(kit, whole)
    yield from _counts(kit)
    yield from _checksums(kit, whole)
    yield from _surplus(kit, whole)


def _cuts(kit: Kit, whole: File) -> Iterator[Case]:
    data = whole.data
    second = whole.offsets[kit.blob(b"one").oid]
    short = "truncated"
    # Two entries take 18 bytes and the checksum 20: less is known from the length alone.
    few = "implausibleObjectCount"
    table = {
        "no-bytes": (data[:0], short, 0),
        "half-a-signature": (data[:2], short, 0),
        "no-count": (data[:8], short, 0),
        "header-without-its-last-byte": (data[:11], short, 0),
        "header-alone": (data[:12], short, 12),
        "inside-an-entry": (data[:33], few, 8),
        "inside-the-second-entry": (data[: second + 9], short, second),
        "inside-the-checksum": (data[:-1], short, len(data) - kit.width),
        "25-bytes-short": (data[:-25], short, second),
    }
    for name, (cut, code, at) in table.items():
        yield bad(f"container-cut-{name}", cut, code, PLAIN, "PA2, PC11, case 2, A10", at=at)
    between, inside = (data[:keep] + kit.digest(data[:keep]) for keep in (second, second + 9))
    name = "container-cut-between-entries-and-sealed"
    yield bad(name, between, "objectCountMismatch", PLAIN, "PA2, A10", at=8, both=True)
    name = "container-cut-inside-an-entry-and-sealed"
    yield bad(name, inside, "badDeflate", PLAIN, "PA2, PC11", at=second, both=True)


def _heads(kit: Kit, whole: File) -> Iterator[Case]:
    signatures = {"another": b"PUCK", "in-lower-case": b"pack", "of-a-bundle": b"# v2", "none": b""}
    for name, magic in signatures.items():
        file = _two(kit).file(magic=magic)
        yield bad(f"container-signature-{name}", file, "badSignature", PLAIN, "PA1", at=0)
    for version in (0, 1, 4, 2 << 24, 0xFFFF_FFFF):
        file = _two(kit, version).file()
        name = f"container-version-{version:x}"
        yield bad(name, file, "badPackVersion", PLAIN, "PA1, CVE-2026-109349", at=4)
    other = _two(Kit(_OTHER[kit.fmt])).file().data
    # A longer checksum is not that of the bytes before its end; a shorter one ends inside.
    code = "packChecksumMismatch" if kit.fmt == "sha1" else "truncated"
    at = len(whole.data) - kit.width
    yield bad("container-other-object-format", other, code, PLAIN, "PA8, case 83", at=at, both=True)


def _counts(kit: Kit) -> Iterator[Case]:
    most, few = "tooManyObjects", "implausibleObjectCount"
    table = {
        "one-more": (3, "objectCountMismatch", "PA2, case 40"),
        "one-less": (1, "objectCountMismatch", "PA2, case 40"),
        "none": (0, "objectCountMismatch", "PA2, case 40"),
        "a-thousand": (1_000, few, "PA4, case 40"),
        "a-hundred-thousand": (100_000, few, "PA3, PA4, case 40"),
        "half-a-billion": (0x2000_0000, most, "PA3, PI2, A8, case 18"),
        "all-that-can-be-said": (0xFFFF_FFFF, most, "PA3, PI2, A8, CVE-2026-33762, GHSA-jhf3"),
    }
    for name, (count, code, origin) in table.items():
        file = _two(kit).file(count=count)
        yield bad(
            f"container-count-{name}",
            file,
            code,
            PLAIN,
            origin,
            at=8,
            both=name in {"one-more", "a-thousand"},
            notes=() if count else ("emptyPack",),
        )
    yield bad(
        "container-count-within-a-high-limit",
        _two(kit).file(count=0xFFFF_FFF0),
        few,
        PLAIN,
        "PA3, PA4, GHSA-w5pp",
        at=8,
        arguments=("--limit", "objects=4294967280"),
    )


def _checksums(kit: Kit, whole: File) -> Iterator[Case]:
    data = whole.data
    end = len(data) - kit.width
    second = whole.offsets[kit.blob(b"one").oid]

    def flip(at: int, bits: int = 1) -> bytes:
        return data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]

    wrong = "packChecksumMismatch"
    origin = "PA5, CVE-2026-25934, isomorphic-git#2288"
    table = {
        "checksum-missing": (data[:end], "truncated", end),
        "checksum-of-zeros": (data[:end] + bytes(kit.width), wrong, end),
        "checksum-with-a-bit-flipped": (flip(-1), wrong, end),
        "bit-flipped-in-content": (flip(40), "badDeflate", 12),
        "bit-flipped-in-an-adler-32": (flip(end - 1), "badDeflate", second),
        "bit-flipped-in-an-entry-header": (flip(12), "inflatedSizeMismatch", 12),
    }
    for name, (damaged, code, at) in table.items():
        both = name == "checksum-with-a-bit-flipped"
        yield bad(f"container-{name}", damaged, code, PLAIN, origin, at=at, both=both)
    typed = flip(12, 0x10)
    name = "container-bit-flipped-in-a-type"
    yield bad(name, typed, wrong, PLAIN, origin, at=end, also="badTree")


def _surplus(kit: Kit, whole: File) -> Iterator[Case]:
    data = whole.data
    table = {
        "one-byte": b"x",
        "line-end": b"\n",
        "zeros": bytes(4096),
        "second-pack": data,
        "checksum-again": data[-kit.width :],
        "bundle": b"# v2 git bundle\n",
    }
    for name, more in table.items():
        at, both = len(data), name == "one-byte"
        file = data + more
        origin = "PA6, case 38, A10"
        yield bad(
            f"container-trailing-{name}", file, "trailingBytes", PLAIN, origin, at=at, both=both
        )
    gaps = {"zeros": (b"\0\0\0", "unknownEntryType"), "text": (b"hidden here", "badDeflate")}
    for name, (stuff, code) in gaps.items():
        pack = kit.pack()
        pack.add(kit.blob(b"one"))
        at = pack.raw(stuff)
        pack.add(kit.blob(TEXT))
        origin = "PA13, case 41"
        yield bad(f"container-gap-of-{name}", pack.file(), code, PLAIN, origin, at=at)
    pack = _two(kit)
    pack.raw(bytes(40))
    name = "container-gap-before-the-checksum"
    yield bad(name, pack.file(), "objectCountMismatch", PLAIN, "PA13", at=8, both=True)
