"""Packs made by hand: deltas, and objects that come twice. Name to writer."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable

from tests.differential.hostile_container import ALL, FILE, MOST, TEXT, N, Writer, raw_entry, tree
from tests.support import packs
from tests.support.packs import (
    Handle,
    PackBuilder,
    commit_bytes,
    copy,
    delta,
    insert,
    outside,
    tag_bytes,
    varint_size,
)

# --- deltas -------------------------------------------------------------------------------------


def on_text(delta_bytes: bytes, base: bytes = TEXT) -> Writer:
    """Write a blob and an offset delta on it."""

    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        pack.add_ofs(pack.add("blob", base), delta_bytes)
        return pack.build()

    return write


def _ops(*instructions: bytes, size: int = N - 1) -> Writer:
    return on_text(delta(N, size, *instructions))


def _distance(distance: Callable[[Handle, int], int]) -> Writer:
    """Write an offset delta whose distance is worked out from its base and its own place."""

    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        pack.add("blob", b"first")
        base = pack.add("blob", TEXT)
        pack.add_ofs(distance(base, pack.offset), MOST)
        return pack.build()

    return write


def _hidden_base(fmt: str) -> bytes:
    # A whole valid entry inside the stored block of another one.
    entry = varint_size(3, N) + zlib.compress(TEXT)
    pack = PackBuilder(fmt)
    outer = pack.add("blob", entry, deflate=packs.stored(entry))
    pack.add_ofs(pack.offset - outer.body - 7, MOST)
    return pack.build()


def _ref(base: Callable[[str], bytes], kind: str = "blob") -> Writer:
    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        pack.add("blob", TEXT)
        pack.add_ref(base(fmt), MOST, kind=kind)
        return pack.build()

    return write


def _ring(length: int, *, closed_by_whole: bool = False) -> Writer:
    """Write reference deltas of which each rests on the next, and the last one on the first."""

    def write(fmt: str) -> bytes:
        texts = [b"%06d" % number + TEXT for number in range(length)]
        ring = [outside("blob", text, fmt) for text in texts]
        pack = PackBuilder(fmt)
        for mine, base in zip(ring, ring[1:] + ring[:1], strict=True):
            pack.add_ref(base.oid, packs.edit(base.data, 0, 6, mine.data[:6])[0])
        if closed_by_whole:
            pack.add("blob", texts[0])
        return pack.build()

    return write


def _self_made(fmt: str) -> bytes:
    pack = PackBuilder(fmt)
    pack.add_ref(packs.oid("blob", TEXT, fmt), delta(N, N, ALL))
    return pack.build()


def _ring_of_both(fmt: str) -> bytes:
    # A reference delta on the result of the offset delta that rests on it.
    first, second = (outside("blob", label + TEXT, fmt) for label in (b"a", b"b"))
    pack = PackBuilder(fmt)
    lower = pack.add_ref(second.oid, packs.edit(second.data, 0, 1, b"a")[0])
    pack.add_ofs(lower, packs.edit(first.data, 0, 1, b"b")[0])
    return pack.build()


def _waiting_chain(fmt: str) -> bytes:
    # Only the first one has no base; the others cannot be made for that reason.
    pack = PackBuilder(fmt)
    last = pack.add_ref(b"\x11" * packs.oid_length(fmt), MOST)
    for _ in range(3):
        last = pack.add_ofs(last, MOST)
    return pack.build()


def _on_a_broken_delta(fmt: str) -> bytes:
    pack = PackBuilder(fmt)
    base = pack.add("blob", TEXT)
    broken = pack.add_ofs(base, delta(N, N - 1, copy(0, N)))
    pack.add_ofs(broken, delta(N - 1, 5, copy(0, 5)))
    return pack.build()


def emptied(kind: str) -> Writer:
    """Write a large object of a kind and the shortest delta on it that git reads: to nothing."""

    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        blob = pack.add("blob", b"x")
        root = tree(*((FILE, b"%04d" % number, blob.oid) for number in range(600)))
        root_oid = pack.add("tree", root).oid
        message = b"long\n" * 4_000
        contents = {"commit": commit_bytes(root_oid, message=message), "tree": root}
        contents["tag"] = tag_bytes(root_oid, b"tree", message=message)
        base = pack.handles[-1] if kind == "tree" else pack.add(kind, contents[kind])
        pack.add_ofs(base, delta(len(base.data), 0))
        return pack.build()

    return write


def _declared(size: int) -> Writer:
    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        pack.add_ofs(pack.add("blob", TEXT), MOST, declared_size=size)
        return pack.build()

    return write


DELTAS: dict[str, Writer] = {
    # PD1
    "a base one byte longer than it is": on_text(delta(N + 1, N - 1, copy(0, N - 1))),
    "a base one byte shorter than it is": on_text(delta(N - 1, N - 2, copy(0, N - 2))),
    "a base of no bytes": on_text(delta(0, 3, insert(b"abc"))),
    "a base of a tebibyte": on_text(delta(1 << 40, N - 1, copy(0, N - 1))),
    # PD2
    "a copy one byte past the base": _ops(copy(1, N), size=N),
    "a copy of one byte after the base": _ops(copy(N, 1), size=1),
    "a copy from far behind the base": _ops(copy(0xFFFF_FFFF, 1), size=1),
    "a copy of 16 MiB": _ops(copy(0, 0xFFFFFF)),
    "a copy without a size, which means 64 KiB": _ops(copy(0, 0, mask=0)),
    "such a copy before the result is full": _ops(copy(0, 0, mask=0), copy(0, N - 1)),
    "such a copy after the result is full": _ops(copy(0, N - 1), copy(0, 0, mask=0)),
    "a copy of 16 MiB from a far offset, after it": _ops(copy(0, N - 1), copy(1 << 24, 1 << 23)),
    # PD3
    "opcode 0 alone": _ops(b"\0", size=4),
    "opcode 0 first": _ops(b"\0", copy(0, N - 1)),
    "opcode 0 last": _ops(copy(0, N - 1), b"\0"),
    # PD4
    "a result one byte short": _ops(copy(0, N - 2)),
    "a result one byte long": _ops(copy(0, N)),
    "two copies that fit alone and not together": _ops(copy(0, N - 1), copy(0, 1)),
    "an insert after the result is full": _ops(copy(0, N - 1), insert(b"x")),
    "no instruction for a result of bytes": on_text(delta(N, 300)),
    "a result of a tebibyte": _ops(ALL, size=1 << 40),
    # PD5
    "a copy without its size byte": _ops(copy(0, N - 1, drop=1)),
    "a copy without any operand": _ops(b"\xff"),
    "a copy without its last offset byte": _ops(b"\x8f\0\0\0"),
    "an insert cut short": _ops(insert(b"abc", opcode=9), size=9),
    "an insert without a byte": _ops(copy(0, N - 2), b"\x01"),
    # PD6
    "a delta of no bytes": on_text(b""),
    "a delta of one byte": on_text(b"\x05", b"12345"),
    "a delta of two bytes that makes nothing": on_text(delta(5, 0), b"12345"),
    "a delta of three bytes that makes nothing": on_text(delta(200, 0), TEXT[:200]),
    "a size of the base that never ends": on_text(b"\x85\x80\x80\x80", b"12345"),
    # The entry's own size
    "one byte more declared of the delta": _declared(len(MOST) + 1),
    "one byte less declared of the delta": _declared(len(MOST) - 1),
    # PD12
    "distance 0": _distance(lambda _base, _own: 0),
    "a distance to the pack's header": _distance(lambda _base, own: own),
    "a distance to the first byte after the signature": _distance(lambda _base, own: own - 4),
    "a distance to before the pack": _distance(lambda _base, own: own + 5),
    "a distance into the base's header": _distance(lambda base, own: own - base.offset - 1),
    "a distance into the base's stream": _distance(lambda base, own: own - base.offset - 5),
    "a distance of one": _distance(lambda _base, _own: 1),
    "a distance past 64 bits": raw_entry(b"\x64" + b"\xff" * 12 + b"\x7f", zlib.compress(MOST)),
    "a base hidden in another entry": _hidden_base,
    # PD13, PD14
    "a base that is nowhere": _ref(lambda fmt: b"\x11" * packs.oid_length(fmt)),
    "a base that would be a tree of the same bytes": _ref(lambda f: packs.oid("tree", TEXT, f)),
    "a base that is the empty tree git knows": _ref(lambda fmt: packs.oid("tree", b"", fmt)),
    "a base of zeros": _ref(lambda fmt: bytes(packs.oid_length(fmt))),
    "a delta that is its own base": _self_made,
    "a ring of two": _ring(2),
    "a ring of fifty": _ring(50),
    "a ring of both kinds of delta": _ring_of_both,
    "a ring that a whole object resolves (case 34)": _ring(2, closed_by_whole=True),
    "a chain that waits for its first base": _waiting_chain,
    "a good delta on a bad one": _on_a_broken_delta,
    "an empty commit from four bytes (case 31)": emptied("commit"),
    "an empty tag from four bytes (case 31)": emptied("tag"),
}


def _reversed_chain(length: int) -> Writer:
    def write(fmt: str) -> bytes:
        texts = [b"%06d" % number + TEXT for number in range(length)]
        pack = PackBuilder(fmt)
        for mine, base in itertools.pairwise(reversed(texts)):
            base_oid = packs.oid("blob", base, fmt)
            pack.add_ref(base_oid, packs.edit(base, 0, 6, mine[:6])[0])
        pack.add("blob", texts[0])
        return pack.build()

    # Each rests on the one after it, so that nothing can be made before the last entry is read.
    return write


def _of_each_kind(fmt: str) -> bytes:
    pack = PackBuilder(fmt)
    blobs = [pack.add("blob", b"%d" % number) for number in range(3)]
    root = pack.add("tree", tree(*((FILE, b"%d" % n, b.oid) for n, b in enumerate(blobs))))
    entry = len(root.data) // 3
    pack.add_ofs(root, delta(3 * entry, entry, copy(entry, entry)))
    commit = pack.add("commit", commit_bytes(root.oid))
    pack.add_ofs(commit, packs.edit(commit.data, len(commit.data), 0, b"and more\n")[0])
    tag = pack.add("tag", tag_bytes(commit.oid))
    pack.add_ref(tag, packs.edit(tag.data, len(tag.data), 0, b"and more\n")[0])
    return pack.build()


def _mixed_chain(fmt: str) -> bytes:
    # ref on ofs on ref on ofs, each after its base
    pack = PackBuilder(fmt)
    last = pack.add("blob", TEXT)
    for number in range(6):
        add = pack.add_ref if number % 2 else pack.add_ofs
        last = add(last, packs.edit(last.data, 0, 4, b"%04d" % number)[0])
    return pack.build()


def _many_on_one(fmt: str) -> bytes:
    pack = PackBuilder(fmt)
    base = pack.add("blob", TEXT)
    for number in range(60):
        add = pack.add_ref if number % 2 else pack.add_ofs
        add(base, packs.edit(TEXT, 9 * number, 4, b"%04d" % number)[0])
    return pack.build()


BIG = bytes(range(256)) * 700

ODD_DELTAS: dict[str, Writer] = {
    "a chain of references in reverse order (case 13)": _reversed_chain(60),
    "a chain of both kinds of delta": _mixed_chain,
    "sixty deltas on one base": _many_on_one,
    "deltas of commits, trees and tags": _of_each_kind,
    "an empty tree from four bytes (case 31)": emptied("tree"),
    "an empty blob from four bytes (case 31)": on_text(delta(20_000, 0), bytes(20_000)),
    "inserts only": _ops(insert(b"x" * 300), size=300),
    "one byte from the end of the base": _ops(copy(N - 1, 1), size=1),
    "copies backwards": _ops(copy(100, 50), copy(50, 50), copy(0, 50), size=150),
    "a copy with all its bytes spelled": _ops(copy(0, N - 1, mask=0x7F)),
    "a base of no bytes and one insert": on_text(delta(0, 3, insert(b"abc")), b""),
    "64 KiB as no size bytes": on_text(delta(len(BIG), 0x10000, copy(7, 0x10000)), BIG),
    "64 KiB as three zeros": on_text(delta(len(BIG), 0x10000, copy(7, 0, mask=0x71)), BIG),
    "64 KiB as three bytes": on_text(delta(len(BIG), 0x10000, copy(7, 0x10000, mask=0x71)), BIG),
    "a copy of more than 64 KiB": on_text(delta(len(BIG), 0x20000, copy(9, 0x20000)), BIG),
    "sizes with a spare byte": on_text(delta(N, N - 1, copy(0, N - 1), base_pad=1, result_pad=1)),
    "sizes with spare bytes up to 64 bits": on_text(
        delta(N, N - 1, copy(0, N - 1), base_pad=8, result_pad=8)
    ),
}

# --- duplicates ---------------------------------------------------------------------------------


def _twice(kind: str, content: bytes | None = None, times: int = 2) -> Writer:
    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        given = a_closed_object(pack, kind) if content is None else content
        for _ in range(times):
            pack.add(kind, given)
        return pack.build()

    return write


def a_closed_object(pack: PackBuilder, kind: str) -> bytes:
    """Return the content of an object of a kind, after adding what it links to."""
    if kind == "blob":
        return TEXT
    blob = pack.add("blob", b"in the tree")
    root = tree((FILE, b"f", blob.oid))
    if kind == "tree":
        return root
    commit = commit_bytes(pack.add("tree", root).oid)
    return commit if kind == "commit" else tag_bytes(pack.add("commit", commit).oid)


def _whole_and_delta(fmt: str) -> bytes:
    pack = PackBuilder(fmt)
    base = pack.add("blob", TEXT)
    pack.add("blob", TEXT[:-1])
    pack.add_ofs(base, MOST)
    return pack.build()


def _delta_and_whole(fmt: str) -> bytes:
    pack = PackBuilder(fmt)
    base = pack.add("blob", TEXT)
    pack.add_ref(base, MOST)
    pack.add("blob", TEXT[:-1])
    return pack.build()


def _same_delta_twice(fmt: str) -> bytes:
    pack = PackBuilder(fmt)
    base = pack.add("blob", TEXT)
    pack.add_ofs(base, MOST)
    pack.add_ref(base, MOST)
    return pack.build()


DUPLICATES: dict[str, Writer] = {
    "a blob twice": _twice("blob"),
    "an empty blob twice": _twice("blob", b""),
    "a tree twice": _twice("tree"),
    "the empty tree twice": _twice("tree", b""),
    "a commit twice": _twice("commit"),
    "a tag twice": _twice("tag"),
    "a blob five times": _twice("blob", times=5),
    "a blob whole, then as a delta": _whole_and_delta,
    "a blob as a delta, then whole": _delta_and_whole,
    "the same blob from two deltas": _same_delta_twice,
    "a delta that copies its whole base": on_text(delta(N, N, ALL)),
}
