"""PackStream: sizes of entries against limits, and oddities that only some rules mind."""

from __future__ import annotations

import hashlib
import random
import tracemalloc
import zlib

import pytest

from packparse import codes
from packparse.codes import Code
from packparse.entry import OFS_DELTA, REF_DELTA
from packparse.inflate import longest_stream
from packparse.limits import Limits
from packparse.stream import PackStream
from tests.support import packs
from tests.support.feeding import (
    run_stream,
    stream_in_all_cuts,
)
from tests.support.packs import PackBuilder
from tests.support.streams import CASES, PADDING_ALLOWED, TEXT, Maker, N, every_case, formats

# --- sizes against limits (PC5, PC9, PI3, PI4) --------------------------------------------------


@pytest.mark.parametrize("kind", ["commit", "tree", "blob", "tag"])
def test_object_bytes_allows_its_own_value_and_not_one_more(kind: str) -> None:
    pack = PackBuilder()
    pack.add(kind, bytes(1000))
    data = pack.build()
    assert stream_in_all_cuts(data, limits=Limits(changes={"object_bytes": 1000})).accepted
    outcome = stream_in_all_cuts(data, limits=Limits(changes={"object_bytes": 999}))
    assert (outcome.code, outcome.offset) == (codes.OBJECT_TOO_LARGE.name, 12)
    assert outcome.refusal is not None
    assert outcome.refusal.limit == ("object_bytes", 999, 1000)
    assert f"a {kind} " in outcome.refusal.message
    assert outcome.entries == ()


@pytest.mark.parametrize("ofs", [True, False], ids=["OFS_DELTA", "REF_DELTA"])
def test_half_of_rebuilt_object_bytes_holds_for_the_delta_itself(ofs: bool) -> None:
    pack = PackBuilder()
    base = pack.add("blob", TEXT)
    delta = packs.edit(TEXT, 0, 0, bytes(3000))[0]
    handle = (pack.add_ofs if ofs else pack.add_ref)(base, delta)
    data = pack.build()
    allowed = Limits(changes={"rebuilt_object_bytes": 2 * len(delta), "object_bytes": N})
    assert stream_in_all_cuts(data, limits=allowed).accepted
    refused = Limits(changes={"rebuilt_object_bytes": 2 * len(delta) - 1})
    outcome = stream_in_all_cuts(data, limits=refused)
    assert (outcome.code, outcome.offset) == (
        codes.REBUILT_OBJECT_TOO_LARGE.name,
        handle.offset,
    )
    assert outcome.found == 1


def test_inflated_bytes_counts_all_entries_as_declared() -> None:
    pack = PackBuilder()
    pack.add("blob", bytes(1000))
    base = pack.add("blob", bytes(500))
    delta = packs.delta(500, 1, packs.copy(0, 1))
    last = pack.add_ofs(base, delta)
    data, total = pack.build(), 1500 + len(delta)
    allowed = stream_in_all_cuts(data, limits=Limits(changes={"inflated_bytes": total}))
    assert allowed.accepted
    assert allowed.inflated == total
    outcome = stream_in_all_cuts(data, limits=Limits(changes={"inflated_bytes": total - 1}))
    assert (outcome.code, outcome.offset) == (codes.INFLATED_TOO_MUCH.name, last.offset)
    assert outcome.refusal is not None
    assert outcome.refusal.limit == ("inflated_bytes", total - 1, total)
    assert outcome.found == 2


@pytest.mark.parametrize("size", [1 << 40, (1 << 64) - 1], ids=["1 TiB", "2^64-1"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4, OFS_DELTA, REF_DELTA])
def test_pc5_a_huge_declared_size_is_refused_before_anything_is_inflated(
    kind: int, size: int
) -> None:
    pack = PackBuilder()
    base = pack.add("blob", TEXT)
    name = {6: packs.ofs_varint(pack.offset - base.offset), 7: base.oid}.get(kind, b"")
    offset = pack.raw(packs.varint_size(kind, size) + name + packs.bomb(1 << 22))
    data = pack.build(count=2)
    tracemalloc.start()
    outcome = run_stream(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    delta = kind in {OFS_DELTA, REF_DELTA}
    code = codes.REBUILT_OBJECT_TOO_LARGE if delta else codes.OBJECT_TOO_LARGE
    assert (outcome.code, outcome.offset) == (code.name, offset)
    assert outcome.inflated == N
    assert peak < 1 << 20
    assert stream_in_all_cuts(data) == outcome


@pytest.mark.parametrize("kind", ["commit", "tree", "blob", "tag"])
def test_a_size_within_the_limit_that_is_not_there_allocates_nothing(kind: str) -> None:
    pack = PackBuilder()
    pack.add(kind, b"tiny", declared_size=100 << 20)
    tracemalloc.start()
    outcome = run_stream(pack.build())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert outcome.code == codes.INFLATED_SIZE_MISMATCH.name
    assert peak < 1 << 20


def test_pc10_a_long_blob_goes_through_in_fixed_memory() -> None:
    size = 48 << 20
    pack = PackBuilder()
    deflate = packs.bomb(size)
    pack.add("blob", b"", declared_size=size, deflate=deflate)
    data = pack.build()
    parser = PackStream(Limits())
    tracemalloc.start()
    (entry,) = parser.feed(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    parser.close()
    assert entry.data is None
    assert entry.oid == hashlib.sha1(b"blob %d\0" % size + bytes(size)).digest()
    assert peak < 2 << 20


@pytest.mark.parametrize(
    ("kind", "code"),
    [(3, codes.OBJECT_TOO_LARGE), (6, codes.REBUILT_OBJECT_TOO_LARGE)],
    ids=["blob", "delta"],
)
def test_the_first_byte_past_a_limit_in_the_middle_of_a_pack_names_its_entry(
    kind: int, code: Code
) -> None:
    pack = PackBuilder()
    handles = [pack.add("blob", bytes([n]) * 100) for n in range(20)]
    head = packs.varint_size(kind, 101) + (packs.ofs_varint(1) if kind == 6 else b"")
    offset = pack.raw(head + zlib.compress(bytes(101)))
    limits = Limits(changes={"object_bytes": 100, "rebuilt_object_bytes": 100})
    outcome = stream_in_all_cuts(pack.build(count=21), limits=limits)
    assert (outcome.code, outcome.offset) == (code.name, offset)
    assert [entry.oid for entry in outcome.entries] == [handle.oid for handle in handles]


# --- oddities under both rule sets (PC2, PC8) ---------------------------------------------------


@pytest.mark.parametrize("pad", [1, 2, 8])
def test_pc2_case_14_a_padded_size_is_noted_in_a_candidate_and_nothing_to_git(pad: int) -> None:
    pack = PackBuilder()
    base = pack.add("blob", b"abc")
    odd = pack.add("blob", b"xyz", header_pad=pad)
    delta = packs.delta(3, 4, packs.copy(0, 3), packs.insert(b"!"))
    odd_delta = pack.add_ofs(odd, delta, header_pad=pad)
    pack.add_ref(base, delta)
    data = pack.build()
    candidate = stream_in_all_cuts(data)
    assert candidate.accepted
    noted = [(note.code, note.severity, note.offset) for note in candidate.notes]
    assert noted == [
        ("nonCanonicalVarint", "note", odd.offset),
        ("nonCanonicalVarint", "note", odd_delta.offset),
    ]
    git = stream_in_all_cuts(data, rules="git")
    assert git.accepted
    assert git.notes == ()
    assert git.entries == candidate.entries


def test_pc2_a_pack_without_padding_is_not_noted() -> None:
    assert stream_in_all_cuts(packs.small_honest_pack()).notes == ()


@formats
@pytest.mark.parametrize("size", [6, 300, 20_000])
@pytest.mark.heavy
def test_pc8_a_padded_stream_is_refused_in_a_candidate_and_nothing_to_git(
    fmt: str, size: int
) -> None:
    data = random.Random(size).randbytes(size)
    bound = longest_stream(size) + PADDING_ALLOWED
    blocks = (bound - len(packs.padded(data, 0))) // 5
    inside, past = (
        Maker(fmt, 2).pack(packs.padded(data, n), data=data) for n in (blocks, blocks + 1)
    )
    for rules in ("candidate", "git"):
        assert stream_in_all_cuts(inside, fmt=fmt, rules=rules).accepted
    refused = stream_in_all_cuts(past, fmt=fmt)
    assert (refused.code, refused.offset) == (codes.PADDED_DEFLATE.name, Maker(fmt, 2).second)
    git = stream_in_all_cuts(past, fmt=fmt, rules="git")
    assert git.accepted
    assert git.notes == ()
    assert git.entries[1].oid == packs.oid("blob", data, fmt)


@every_case
def test_git_rules_refuse_the_same_packs_but_for_padding(name: str) -> None:
    case = CASES["sha1", 2][name]
    outcome = stream_in_all_cuts(case.hostile, rules="git")
    expected = None if case.code is codes.PADDED_DEFLATE else case.code.name
    assert outcome.code == expected
    assert stream_in_all_cuts(case.honest, rules="git").accepted
