"""Small honest packs with a byte changed, and random objects: git and we come to one verdict.

Everything is made from fixed seeds, so a failure names a pack that can be made again.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.differential.compare import differences, ours
from tests.differential.hostile_container import raw_entry, tree
from tests.support import packs
from tests.support.packs import PackBuilder, commit_bytes, copy, delta, insert, tag_bytes

# How many parts a series is cut into, so that several workers can share it.
PARTS = 8
TRAILER = 20

Labelled = Iterator[tuple[str, bytes]]


def part(packs_made: Labelled, number: int) -> Labelled:
    """Give every PARTS-th of a series."""
    return (made for index, made in enumerate(packs_made) if index % PARTS == number)


def agree(empty: dict[str, Path], series: Labelled) -> None:
    """Check that the two verdicts on every pack agree."""
    found = differences(empty["sha1"], series)
    assert not found, "\n".join(f"{label}: {what}" for label, what in found.items())


# --- one byte changed ---------------------------------------------------------------------------


def tiny() -> PackBuilder:
    """Return a pack of a few hundred bytes with every kind of entry and closed links."""
    pack = PackBuilder()
    late = packs.outside("blob", b"the late base of a delta\n")
    early = pack.add_ref(late, packs.edit(late.data, 4, 4, b"EARLY")[0])
    blob = pack.add("blob", late.data)
    by_offset = pack.add_ofs(early, packs.edit(early.data, 0, 3, b"A")[0])
    files = [(b"100644", name, h.oid) for name, h in ((b"a", early), (b"b", blob))]
    root = pack.add("tree", tree(*files))
    top = pack.add("tree", tree((b"100755", b"c", by_offset.oid), (b"40000", b"d", root.oid)))
    commit = pack.add("commit", commit_bytes(top.oid))
    pack.add("tag", tag_bytes(commit.oid))
    return pack


def flipped() -> Labelled:
    """Give the tiny pack with one random bit flipped at each offset."""
    rng = random.Random(1)
    pack = tiny().build()
    for at in range(len(pack)):
        mask = 1 << rng.randrange(8)
        yield f"offset {at}, mask {mask:#x}", packs.flip(pack, at, mask)


def resealed() -> Labelled:
    """Give the same with the right checksum; the checksum itself stays as it is."""
    return ((label, packs.reseal(pack)) for label, pack in list(flipped())[:-TRAILER])


def flipped_headers() -> Labelled:
    """Give the tiny pack with each bit flipped of each entry's header and zlib header, resealed."""
    builder = tiny()
    pack = builder.build()
    for handle in builder.handles:
        # Of the id of a base, which is long, one byte speaks for all.
        last = min(handle.body, handle.offset + 3)
        for at in {*range(handle.offset, last), handle.body, handle.body + 1}:
            for bit in range(8):
                changed = packs.reseal(packs.flip(pack, at, 1 << bit))
                yield f"offset {at}, bit {bit}", changed


@pytest.mark.parametrize("number", range(PARTS))
def test_a_bit_flipped_and_resealed(empty: dict[str, Path], number: int) -> None:
    agree(empty, part(resealed(), number))


@pytest.mark.parametrize("number", range(PARTS))
def test_a_bit_flipped_in_the_head_of_an_entry(empty: dict[str, Path], number: int) -> None:
    agree(empty, part(flipped_headers(), number))


def test_a_bit_flipped_and_not_resealed(empty: dict[str, Path]) -> None:
    agree(empty, part(flipped(), 0))
    # The checksum lets nothing through, so that git need not be asked about each.
    assert [label for label, pack in flipped() if ours(pack).accepted] == []


# --- deltas -------------------------------------------------------------------------------------

BASE = b"".join(b"%03d a line of the base\n" % number for number in range(30))
SMALL_ALPHABET = b"\x00\x01\x02\x05\x7f\x80\x81\x90\x91\x93\xb0\xb3\xff"


def random_delta(rng: random.Random) -> bytes:
    """Return a delta that is right by itself."""
    ops, size = [], 0
    for _ in range(rng.randrange(1, 7)):
        if rng.random() < 0.6:
            at = rng.randrange(len(BASE))
            length = rng.randrange(1, len(BASE) - at + 1)
            # Spelled with more bytes than needed now and then.
            mask = 0x33 if rng.random() < 0.3 else None
            ops.append(copy(at, length, mask=mask))
        else:
            length = rng.randrange(1, 20)
            ops.append(insert(rng.randbytes(length)))
        size += length
    return delta(len(BASE), size, *ops)


def changed(rng: random.Random, data: bytes, alphabet: bytes) -> bytes:
    """Return data with one small edit."""
    at = rng.randrange(len(data) + 1)
    byte = bytes([rng.choice(alphabet)])
    edits = (
        lambda: data[:at] + byte + data[at + 1 :],
        lambda: data[:at] + byte + data[at:],
        lambda: data[:at] + data[at + 1 :],
        lambda: (
            data[:at] + bytes(b ^ 1 << rng.randrange(8) for b in data[at : at + 1]) + data[at + 1 :]
        ),
        lambda: data[:at],
        lambda: data[:at] + data[at - 3 : at] + data[at:],
    )
    return rng.choice(edits)()


def random_deltas() -> Labelled:
    """Give a pack for each delta: right ones and ones with an edit."""
    rng = random.Random(2)
    for number in range(240):
        made = random_delta(rng)
        if number % 4:
            made = changed(rng, made, SMALL_ALPHABET)
        pack = PackBuilder()
        base = pack.add("blob", BASE)
        if number % 2:
            pack.add_ofs(base, made)
        else:
            pack.add_ref(base, made)
        yield f"delta {number}, {made.hex()}", pack.build()


@pytest.mark.parametrize("number", range(PARTS))
def test_random_deltas(empty: dict[str, Path], number: int) -> None:
    agree(empty, part(random_deltas(), number))


# --- deflate streams ----------------------------------------------------------------------------

MOST_INFLATED = 1 << 16


def random_streams() -> Labelled:
    """Give a pack for each damaged deflate stream, with the size and checksum it really has."""
    rng = random.Random(3)
    for number in range(240):
        strategy = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY)[number % 3]
        maker = zlib.compressobj(9, zlib.DEFLATED, -15, 9, strategy)
        stream = maker.compress(BASE[: rng.randrange(1, 200)]) + maker.flush()
        for _ in range(rng.randrange(1, 3)):
            stream = packs.flip(stream, rng.randrange(len(stream)), 1 << rng.randrange(8))
        content = inflated(stream)
        sealed = b"\x78\x9c" + stream + zlib.adler32(content).to_bytes(4)
        pack = raw_entry(packs.varint_size(3, len(content)), sealed)("sha1")
        yield f"stream {number}, {stream.hex()}", pack


def inflated(stream: bytes) -> bytes:
    """Return what a raw deflate stream gives up to its end or its first error."""
    machine = zlib.decompressobj(-15)
    content = b""
    try:
        for at in range(len(stream)):
            content += machine.decompress(stream[at : at + 1], MOST_INFLATED)
    except zlib.error:
        pass
    return content


@pytest.mark.parametrize("number", range(PARTS))
def test_random_deflate_streams(empty: dict[str, Path], number: int) -> None:
    agree(empty, part(random_streams(), number))


# --- commits, trees and tags --------------------------------------------------------------------

ALPHABETS = {
    "commit": b"0123456789abcdefABCDEF \n\0<>+-g",
    "tree": b"01234567 \0/.\xffabg",
    "tag": b"0123456789abcdefABCDEF \n\0<>+-g",
}


def closed() -> tuple[PackBuilder, dict[str, bytes]]:
    """Return a pack of a few objects, and for each kind an object that links to them."""
    pack = PackBuilder()
    blobs = [pack.add("blob", b"%d" % number) for number in range(3)]
    inner = pack.add("tree", tree((b"100644", b"x", blobs[0].oid)))
    first = pack.add("commit", commit_bytes(inner.oid))
    second = pack.add("commit", commit_bytes(inner.oid, message=b"second\n"))
    entries = [
        (b"100644", b"a", blobs[0].oid),
        (b"100755", b"b", blobs[1].oid),
        (b"120000", b"c", blobs[2].oid),
        (b"40000", b"d", inner.oid),
        (b"160000", b"e", b"\x11" * 20),
    ]
    return pack, {
        "commit": commit_bytes(inner.oid, [first.oid, second.oid]),
        "tree": tree(*entries),
        "tag": tag_bytes(first.oid),
    }


def random_objects(kind: str) -> Labelled:
    """Give a pack for each object of a kind with one or two edits, beside all it linked to."""
    rng = random.Random(4)
    for number in range(120):
        pack, contents = closed()
        content = contents[kind]
        for _ in range(rng.randrange(1, 3)):
            content = changed(rng, content, ALPHABETS[kind])
        pack.add(kind, content)
        yield f"{kind} {number}, {content!r}", pack.build()


@pytest.mark.parametrize("number", range(PARTS))
@pytest.mark.parametrize("kind", ALPHABETS)
def test_random_objects(empty: dict[str, Path], kind: str, number: int) -> None:
    agree(empty, part(random_objects(kind), number))


# --- trees that are deltas ----------------------------------------------------------------------

Entry = tuple[bytes, bytes, bytes]
MODES = (b"100644", b"100755", b"120000", b"40000", b"160000")


def edited(rng: random.Random, entries: list[Entry], ids: list[bytes]) -> list[Entry]:
    """Return the entries with one of them changed, left out or put in; names stay in order."""
    at = rng.randrange(len(entries))
    mode, name, oid = entries[at]
    new: list[list[Entry]] = [
        [],
        [(mode, name, rng.choice(ids))],
        [(rng.choice(MODES), name, oid)],
        [(mode, name + b"x", oid)],
        [(mode, name, oid), (mode, name + b"-", rng.choice(ids))],
    ]
    return entries[:at] + rng.choice(new) + entries[at + 1 :]


def as_delta(rng: random.Random, base: bytes, result: bytes) -> bytes:
    """Return a delta that copies a beginning and an end that both have, wherever these stop."""
    most = min(len(base), len(result))
    head = next((n for n in range(most) if base[n] != result[n]), most)
    head = max(0, head - rng.choice((0, 0, 1, 5, 40)))
    tail = next((n for n in range(most - head) if base[-n - 1] != result[-n - 1]), most - head)
    tail = max(0, tail - rng.choice((0, 0, 1, 5, 40)))
    ops = [copy(0, head)] if head else []
    ops.append(insert(result[head : len(result) - tail]))
    if tail > 20 and rng.random() < 0.3:
        ops.append(copy(len(base) - tail, 9))
        tail -= 9
    ops += [copy(len(base) - tail, tail)] if tail else []
    return delta(len(base), len(result), *ops)


def random_tree_deltas() -> Labelled:
    """Give packs of a tree and two deltas of it, one on the other, which change single entries."""
    rng = random.Random(5)
    for number in range(200):
        pack = PackBuilder()
        blobs = [pack.add("blob", b"%d" % n).oid for n in range(4)]
        inner = pack.add("tree", tree((b"100644", b"x", blobs[0]))).oid
        # Files and folders by turns, so that runs of one kind of link begin and end everywhere.
        entries = [
            (b"40000", b"%02d" % n, inner) if n % 3 == 1 else (b"100644", b"%02d" % n, blobs[n % 4])
            for n in range(9)
        ]
        ids = [*blobs, *blobs, inner] if number % 2 else [*blobs, inner, b"\x11" * 20]
        last = pack.add("tree", tree(*entries))
        for _ in range(2):
            entries = edited(rng, entries, ids)
            result = tree(*entries)
            if number % 5 == 0:
                result = changed(rng, result, ALPHABETS["tree"])
            add = pack.add_ref if rng.random() < 0.3 else pack.add_ofs
            last = add(last, as_delta(rng, last.data, result), result)
        yield f"tree deltas {number}, {entries}", pack.build()


@pytest.mark.parametrize("number", range(PARTS))
def test_random_deltas_of_trees(empty: dict[str, Path], number: int) -> None:
    agree(empty, part(random_tree_deltas(), number))


# --- the series themselves ----------------------------------------------------------------------

SERIES: dict[str, Callable[[], Labelled]] = {
    "bits, resealed": resealed,
    "deltas": random_deltas,
    "deflate streams": random_streams,
    "commits": lambda: random_objects("commit"),
    "trees": lambda: random_objects("tree"),
    "tags": lambda: random_objects("tag"),
    "deltas of trees": random_tree_deltas,
}


@pytest.mark.parametrize("name", SERIES)
def test_a_series_holds_good_and_bad_packs(name: str) -> None:
    # Were all of them refused, the two verdicts would agree for no good reason.
    verdicts = [ours(pack).accepted for _, pack in SERIES[name]()]
    assert 0 < sum(verdicts) < len(verdicts)
