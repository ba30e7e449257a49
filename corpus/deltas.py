"""Deltas: their sizes, instructions and bases."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from corpus.deflate import stored
from corpus.model import Case, bad, good
from corpus.writer import FILE, TEXT, File, Kit, Obj, copy, delta, insert, size_header

__all__ = ["PLAIN", "cases"]

PLAIN = "delta-offset"
N = len(TEXT)
MOST = delta(N, N - 1, copy(0, N - 1))


def _on(kit: Kit, change: bytes, base: bytes = TEXT, size: int | None = None) -> File:
    """A blob and an offset delta on it."""
    pack = kit.pack()
    blob = kit.blob(base)
    pack.ofs(pack.add(blob), change, blob, size=size)
    return pack.file()


def _second(base: bytes = TEXT) -> int:
    return 12 + len(size_header(3, len(base))) + len(stored(base))


def edit(base: bytes, label: bytes) -> bytes:
    """A delta that puts ``label`` in the place of as many first bytes."""
    size = len(base)
    return delta(size, size, insert(label), copy(len(label), size - len(label)))


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject."""
    yield good(PLAIN, _on(kit, MOST), "PD1, PD2, PD4", both=True)
    yield from _odd(kit)
    yield from _instructions(kit)
    yield from _sizes(kit)
    yield from _distances(kit)
    yield from _bases(kit)
    yield from _chains(kit)
    yield from _emptied(kit)


def _odd(kit: Kit) -> Iterator[Case]:
    big = bytes(range(256)) * 260
    length = len(big)
    table = {
        "inserts-only": (delta(N, 300, insert(b"x" * 300)), TEXT),
        "a-copy-with-all-its-bytes": (delta(N, N - 1, copy(0, N - 1, mask=0x7F)), TEXT),
        "copies-backwards": (delta(N, 100, copy(50, 50), copy(0, 50)), TEXT),
        "64-kib-as-no-bytes": (delta(length, 0x10000, copy(7, 0x10000)), big),
        "a-base-of-no-bytes": (delta(0, 3, insert(b"abc")), b""),
        "sizes-with-a-spare-byte": (delta(N, N - 1, copy(0, N - 1), pad=1), TEXT),
        "an-empty-blob-from-four-bytes": (delta(20_000, 0), bytes(20_000)),
        "the-last-byte-of-the-base": (delta(N, 1, copy(N - 1, 1)), TEXT),
    }
    for name, (change, base) in table.items():
        yield good(f"delta-{name}", _on(kit, change, base), "PD2, PD6, case 31")


def _instructions(kit: Kit) -> Iterator[Case]:
    range_, full, cut, zero = (
        "deltaCopyOutOfRange", "deltaResultSizeMismatch", "deltaTruncated", "deltaReservedOpcode",
    )  # fmt: skip
    far = "PD2, CVE-2018-10887"
    table = {
        "copy-one-byte-past-the-base": (range_, "PD2", N, (copy(1, N),)),
        "copy-behind-the-base": (range_, "PD2", 4, (copy(N, 4),)),
        "copy-from-2-gib": (range_, far, 4, (copy(1 << 31, 4),)),
        "copy-from-the-last-offset": (range_, far, 4, (copy(0xFFFF_FFFF, 4),)),
        "copy-of-16-mib": (range_, "PD2", N - 1, (copy(0, 0xFFFFFF),)),
        "copy-of-no-size": (range_, "PD2, case 26", N - 1, (copy(0, 0, mask=1),)),
        "opcode-0-alone": (zero, "PD3, case 29", 4, (b"\0\0",)),
        "opcode-0-first": (zero, "PD3, case 29", N - 1, (b"\0", copy(0, N - 1))),
        "opcode-0-last": (zero, "PD3, case 29", N - 1, (copy(0, N - 1), b"\0")),
        "result-one-byte-short": (full, "PD4, case 26", N - 1, (copy(0, N - 2),)),
        "result-one-byte-long": (full, "PD4, case 26", N - 1, (copy(0, N),)),
        "copies-too-many-together": (full, "PD4, case 26", N - 1, (copy(0, N - 1), copy(0, 9))),
        "insert-after-the-end": (full, "PD4, case 26", N - 1, (copy(0, N - 1), insert(b"x"))),
        "no-instruction": (full, "PD4", 300, ()),
        "copy-without-its-size": (cut, "PD5, CVE-2018-10888", N - 1, (copy(0, N - 1, drop=1),)),
        "copy-without-operands": (cut, "PD5, CVE-2018-10888, case 29", N - 1, (b"\xff",)),
        "copy-without-its-last-offset": (cut, "PD5, CVE-2018-10888", 9, (b"\x8f\0\0\0",)),
        "insert-cut-short": (cut, "PD5, case 29", 9, (insert(b"abc", length=9),)),
        "insert-without-a-byte": (cut, "PD5, case 29", N - 1, (copy(0, N - 2), b"\x01")),
    }
    for name, (code, origin, size, instructions) in table.items():
        file = _on(kit, delta(N, size, *instructions))
        yield bad(f"delta-{name}", file, code, PLAIN, origin, at=_second())


def _sizes(kit: Kit) -> Iterator[Case]:
    wrong, cut, long = "deltaBaseSizeMismatch", "deltaTruncated", "varintOverflow"
    large = "rebuiltObjectTooLarge"
    table = {
        "base-one-byte-longer": (wrong, "PD1, case 28", delta(N + 1, N - 1, copy(0, N - 1))),
        "base-one-byte-shorter": (wrong, "PD1, case 28", delta(N - 1, N - 2, copy(0, N - 2))),
        "base-of-no-bytes": (wrong, "PD1", delta(0, 3, insert(b"abc"))),
        "base-of-a-tebibyte": (wrong, "PD1, PD7", delta(1 << 40, N - 1, copy(0, N - 1))),
        "result-of-a-tebibyte": (large, "PD7, A9, case 18", delta(N, 1 << 40, copy(0, N))),
        "result-of-64-bits": (large, "PD7, CVE-2026-82254", delta(N, (1 << 64) - 1, copy(0, N))),
        "of-no-bytes": (cut, "PD6, CVE-2026-82254", b""),
        "of-one-byte": (cut, "PD6, CVE-2026-82254", b"\x05"),
        "of-two-bytes": (cut, "PD6, case 31", b"\x05\x00"),
        "of-three-bytes": (cut, "PD6, case 31", delta(200, 0)),
        "size-of-the-base-without-end": (cut, "PD5, CVE-2026-82254", b"\x85\x80\x80\x80"),
    }
    for name, (code, origin, change) in table.items():
        file = _on(kit, change)
        yield bad(f"delta-{name}", file, code, PLAIN, origin, at=_second())
    spare = _on(kit, delta(N, N - 1, copy(0, N - 1), pad=9))
    differs = "git takes spare bytes of zero past 64 bits"
    name = "delta-sizes-past-64-bits"
    yield bad(name, spare, long, PLAIN, "PC1, PD1", at=_second(), parity=differs)
    for name, size in (("more", len(MOST) + 1), ("fewer", len(MOST) - 1)):
        file = _on(kit, MOST, size=size)
        code = "inflatedSizeMismatch"
        yield bad(f"delta-one-byte-{name}-declared", file, code, PLAIN, "PC4, PD5", at=_second())


def _distances(kit: Kit) -> Iterator[Case]:
    plain = "delta-on-the-second-entry"
    blob = kit.blob()

    def at_distance(distance: int | None) -> tuple[File, int]:
        pack = kit.pack()
        pack.add(kit.blob(b"first"))
        base = pack.add(blob)
        own = pack.offset
        if distance is not None and distance < 0:
            # Counted back from the beginning of the base.
            distance += own - base
        pack.ofs(base, MOST, blob, distance=distance)
        return pack.file(), own

    own = at_distance(None)[1]
    yield good(plain, at_distance(None)[0], "PD12")
    table = {
        "0": (0, "PD12, case 12, dulwich 1.2.9"),
        "1": (1, "PD12, case 12"),
        "to-the-signature": (own, "PD12, case 12, go-git#2163"),
        "to-the-count": (own - 8, "PD12, case 12"),
        "to-before-the-pack": (own + 5, "PD12, case 12"),
        "into-the-header-of-the-base": (-1, "PD12, case 12"),
        "three-bytes-into-the-base": (-3, "PD12, case 12, CVE-2026-82254"),
        "into-the-checksum-of-the-base": (2, "PD12, case 12"),
    }
    for name, (distance, origin) in table.items():
        file, at = at_distance(distance)
        code = "deltaBadBaseOffset"
        yield bad(f"delta-distance-{name}", file, code, plain, origin, at=at)
    # A whole valid entry lies in the stored block of another one.
    inner = size_header(3, N) + stored(TEXT)
    pack = kit.pack()
    outer = pack.add(kit.blob(inner))
    hidden = outer + len(size_header(3, len(inner))) + 7
    at = pack.offset
    pack.ofs(hidden, MOST, blob)
    name = "delta-base-hidden-in-another-entry"
    yield bad(name, pack.file(), "deltaBadBaseOffset", plain, "PD12, PA13, case 12", at=at)


def _bases(kit: Kit) -> Iterator[Case]:
    plain = "delta-reference"
    blob = kit.blob()
    pack = kit.pack()
    pack.add(blob)
    pack.ref(blob, MOST)
    yield good(plain, pack.file(), "PD12, case 13", both=True)
    bases = {
        "nowhere": kit.absent,
        "of-zeros": bytes(kit.width),
        "a-tree-of-the-same-bytes": kit.obj("tree", TEXT).oid,
        "the-empty-tree": kit.tree().oid,
    }
    for name, oid in bases.items():
        pack = kit.pack()
        pack.add(blob)
        at = pack.offset
        pack.ref(oid, MOST)
        both = name == "nowhere"
        origin = "PD14, PD15, case 37"
        file = pack.file()
        yield bad(f"delta-base-{name}", file, "missingDeltaBase", plain, origin, at=at, both=both)
    # 174 bytes that promise a large object on a base that is elsewhere.
    pack = kit.pack()
    pack.ref(kit.absent, delta(1 << 20, 1 << 40, copy(0, 1 << 20)))
    name = "delta-thin-and-huge"
    origin = "PD7, CVE-2026-47734"
    yield bad(name, pack.file(), "missingDeltaBase", plain, origin, at=12)
    pack = kit.pack()
    pack.add(blob)
    at = pack.offset
    made = kit.blob(TEXT[:-1])
    pack.ref(made.oid, delta(N - 1, N - 1, copy(0, N - 1)))
    name = "delta-is-its-own-base"
    yield bad(name, pack.file(), "missingDeltaBase", plain, "PD13, dulwich#1326", at=at)
    broken = kit.pack()
    base = broken.add(blob)
    at = broken.offset
    broken.ofs(base, delta(N, N - 1, copy(0, N)))
    broken.ofs(at, delta(N - 1, 5, copy(0, 5)))
    name = "delta-good-on-a-bad-one"
    yield bad(name, broken.file(), "deltaResultSizeMismatch", PLAIN, "PD4, PD14", at=at)


def _ring(kit: Kit, length: int, *, whole: bool = False) -> File:
    """Reference deltas, each on the next and the last on the first; ``whole`` adds the first."""
    made = [kit.blob(b"%06d" % number + TEXT) for number in range(length)]
    pack = kit.pack()
    for mine, base in zip(made, made[1:] + made[:1], strict=True):
        pack.ref(base, edit(base.data, mine.data[:6]))
    if whole:
        pack.add(made[0])
    return pack.file()


def _line(kit: Kit, length: int, *, turned: bool) -> File:
    """Reference deltas, each on the one before it, or ``turned`` around."""
    made = [kit.blob(b"%06d" % number + TEXT) for number in range(length)]
    pack = kit.pack()
    if not turned:
        pack.add(made[0])
    pairs = list(itertools.pairwise(made))
    for base, mine in reversed(pairs) if turned else pairs:
        pack.ref(base, edit(base.data, mine.data[:6]))
    if turned:
        pack.add(made[0])
    return pack.file()


def _chains(kit: Kit) -> Iterator[Case]:
    plain = "delta-chain-of-references"
    yield good(plain, _line(kit, 5, turned=False), "PD11, case 13")
    yield good("delta-chain-in-reverse", _line(kit, 5, turned=True), "PD18, case 13, libgit2#7268")
    yield good("delta-chain-of-both-kinds", _mixed(kit), "PD11, case 13, gitoxide#1025")
    yield good("delta-of-each-kind-of-object", _of_each(kit), "PD1, case 17, dulwich#2312")
    lost = "missingDeltaBase"
    yield bad("delta-ring-of-two", _ring(kit, 2), lost, plain, "PD13, case 34", at=12, both=True)
    yield bad("delta-ring-of-twenty", _ring(kit, 20), lost, plain, "PD13, case 34", at=12)
    twice = _ring(kit, 2, whole=True)
    name = "delta-ring-and-one-of-it-whole"
    at = twice.data.rindex(stored(b"000000" + TEXT)) - 2
    yield bad(name, twice, "duplicateObject", plain, "PA12, PD13, case 34", at=at)
    texts = [kit.blob(label + TEXT) for label in (b"a", b"b")]
    pack = kit.pack()
    pack.ref(texts[1], edit(texts[1].data, b"a"))
    pack.ofs(12, edit(texts[0].data, b"b"), texts[0])
    name = "delta-ring-of-both-kinds"
    yield bad(name, pack.file(), lost, plain, "PD13, case 34", at=12)
    pack = kit.pack()
    pack.ref(kit.absent, MOST)
    for _ in range(3):
        pack.ofs(12, MOST)
    name = "delta-chain-that-waits-for-its-base"
    yield bad(name, pack.file(), lost, plain, "PD14, case 37", at=12)


def _mixed(kit: Kit) -> File:
    pack = kit.pack()
    last = kit.blob()
    at = pack.add(last)
    for number in range(6):
        change = edit(last.data, b"%04d" % number)
        here = pack.offset
        made = pack.ref(last, change) if number % 2 else pack.ofs(at, change, last)
        last, at = made or last, here
    return pack.file()


def _of_each(kit: Kit) -> File:
    blob = kit.blob()
    root = kit.tree((FILE, b"a", blob), (FILE, b"b", blob))
    commit = kit.commit(root)
    tag = kit.tag(commit)
    half = len(root.data) // 2
    pack = kit.pack()
    pack.add(blob)
    pack.ofs(pack.add(root), delta(2 * half, half, copy(half, half)), root)
    pack.ofs(pack.add(commit), _longer(commit), commit)
    pack.add(tag)
    pack.ref(tag, _longer(tag))
    return pack.file()


def _longer(item: Obj) -> bytes:
    size = len(item.data)
    return delta(size, size + 9, copy(0, size), insert(b"and more\n"))


def _emptied(kit: Kit) -> Iterator[Case]:
    """The shortest delta that git reads, on an object of more than 16 KiB: it makes nothing."""
    blob = kit.blob(b"x")
    root = kit.tree((FILE, b"x", blob))
    wide = kit.tree(*((FILE, b"%04d" % number, blob) for number in range(550)))
    long = b"long\n" * 3_400
    plain = "delta-an-empty-tree-from-four-bytes"
    table = {
        "tree": (wide, ""),
        "commit": (kit.commit(root, message=long), "missingTree"),
        "tag": (kit.tag(root, b"tree", message=long), "missingObject"),
    }
    for kind, (item, code) in table.items():
        pack = kit.pack()
        pack.add(blob)
        pack.add(root)
        base = pack.add(item)
        at = pack.offset
        pack.ofs(base, delta(len(item.data), 0), item)
        file = pack.file()
        if code:
            name = f"delta-an-empty-{kind}-from-four-bytes"
            yield bad(name, file, code, plain, "PD6, case 31", at=at)
        else:
            yield good(plain, file, "PD6, case 31")
