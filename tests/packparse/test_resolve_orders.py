"""Every delta of a pack: in any order and depth; cycles, missing bases, duplicates."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from packparse import checks, codes
from packparse.objectformat import FORMATS
from packparse.options import Options
from tests.support import packs
from tests.support.families import (
    TEXT,
    Family,
    M,
    N,
    Work,
    binary,
    caterpillar,
    errors,
    ids,
    label,
    line,
    numbers,
    only_error,
    star,
    verified,
)
from tests.support.packs import Handle, PackBuilder, copy, delta, insert
from tests.support.reports import with_limits

# --- honest orders --------------------------------------------------------------------------------

SHAPES = {
    "a chain by offset": lambda fmt: Family(line(40), fmt=fmt).write_all(),
    "a chain by id": lambda fmt: Family(line(40), fmt=fmt).write_all(by_id=True),
    "a chain by id, each base later in the pack": lambda fmt: Family(line(40), fmt=fmt).write_all(
        backwards=True
    ),
    "a star by offset": lambda fmt: Family(star(40), fmt=fmt).write_all(),
    "a star by id around a late base": lambda fmt: Family(star(40), fmt=fmt).write_all(
        backwards=True
    ),
    "a caterpillar": lambda fmt: Family(caterpillar(20), fmt=fmt).write_all(),
    "a binary tree backwards": lambda fmt: Family(binary(6), fmt=fmt).write_all(backwards=True),
}


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", SHAPES)
def test_every_order_of_deltas_gives_the_same_objects(name: str, fmt: str) -> None:
    options = Options(object_format=FORMATS[fmt])
    verifier = verified(SHAPES[name](fmt), options)
    count = len(verifier.table)
    assert verifier.report.findings.sorted() == []
    expected = [packs.outside("blob", label(n)[1], fmt) for n in range(count)]
    assert verifier.table.sorted_ids() == ids(expected)
    assert verifier.report.rebuilt_bytes == (count - 1) * N
    assert verifier.report.copied_bytes == (count - 1) * (N - 12)
    assert verifier.report.counts["deltas"] == count - 1
    assert verifier.report.counts["blobs"] == count


@pytest.mark.parametrize("fmt", FORMATS)
def test_the_honest_example_with_every_kind_of_entry_is_accepted(fmt: str) -> None:
    example = packs.small_honest(fmt)
    verifier = verified(example.pack, Options(object_format=FORMATS[fmt]))
    assert verifier.report.findings.sorted() == []
    assert verifier.table.sorted_ids() == ids(example.handles)
    # An id reference on the result of an offset delta.
    assert verifier.report.delta_depth == 2


@pytest.mark.parametrize("kind", ["commit", "tree", "blob", "tag"])
@pytest.mark.parametrize("by_id", [False, True])
def test_a_delta_is_of_the_kind_of_its_base(kind: str, by_id: bool) -> None:
    pack = PackBuilder()
    blob = pack.add("blob", TEXT)
    tree = pack.add("tree", packs.tree_bytes([(b"100644", b"name", blob.oid)]))
    commit = pack.add("commit", packs.commit_bytes(tree.oid))
    tag = pack.add("tag", packs.tag_bytes(commit.oid))
    base = {"commit": commit, "tree": tree, "blob": blob, "tag": tag}[kind]
    at = base.data.index(b"name") if kind == "tree" else len(base.data)
    change, _result = packs.edit(base.data, at, 0, b"more")
    handle = (pack.add_ref if by_id else pack.add_ofs)(base, change)
    verifier = verified(pack.build())
    assert verifier.report.findings.sorted() == []
    assert verifier.table.oid(4) == handle.oid
    counts = verifier.report.counts
    assert {name: counts[f"{name}s"] for name in packs.KIND_NUMBERS} == {
        "commit": 1,
        "tree": 1,
        "blob": 1,
        "tag": 1,
        kind: 2,
    }


def test_long_and_large_deltas_are_rebuilt() -> None:
    size = 2 * M + 5
    rng = random.Random(4)
    base, new = rng.randbytes(size), rng.randbytes(size)
    pack = PackBuilder()
    whole = pack.add("blob", base)
    pack.add_ofs(whole, delta(size, size, insert(new)), new)
    pack.add_ofs(whole, delta(size, 2 * size, copy(0, size) * 2), base * 2)
    verifier = verified(pack.build())
    assert verifier.report.accepted
    assert verifier.table.sorted_ids() == ids(pack.handles)


# --- depth ----------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_a_chain_of_a_hundred_thousand_is_a_matter_of_a_limit() -> None:
    deep = 100_000
    example = packs.chain(deep)
    raised = verified(example.pack, with_limits(delta_depth=deep, objects=2 * deep))
    assert raised.report.accepted
    assert raised.report.delta_depth == deep
    assert raised.table.sorted_ids() == ids(example.handles)
    default = verified(example.pack, with_limits(objects=2 * deep)).report
    finding = only_error(default)
    assert finding.code is codes.DELTA_TOO_DEEP
    assert default.klass == 4
    assert finding.offset == example.handles[257].offset
    assert finding.limit is not None
    assert finding.limit.as_dict() == {"name": "delta_depth", "value": 256, "seen": 257}
    assert default.delta_depth == 256
    assert default.findings.count(checks.LINKS_NOT_CHECKED) == 1


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("over", [0, 1])
def test_depth_is_counted_alike_by_offset_and_by_id(backwards: bool, over: int) -> None:
    family = Family(line(30 + over))
    report = verified(family.write_all(backwards=backwards), with_limits(delta_depth=30)).report
    too_deep = [(codes.DELTA_TOO_DEEP, family.written[31].offset)] if over else []
    assert errors(report) == too_deep
    assert report.klass == (4 if over else 0)
    assert report.delta_depth == 30


def test_what_is_not_too_deep_is_rebuilt_beside_what_is() -> None:
    family = Family([*line(6), 0, 7, 3, 6])
    verifier = verified(family.write_all(), with_limits(delta_depth=5))
    assert errors(verifier.report) == [(codes.DELTA_TOO_DEEP, family.written[6].offset)]
    known = [n for n in range(len(verifier.table)) if verifier.table.is_resolved(n)]
    assert known == [0, 1, 2, 3, 4, 5, 7, 8, 9]


# --- cycles and missing bases ---------------------------------------------------------------------


def rewrite(base: Handle, target: Handle) -> bytes:
    """Return a delta on `base` that gives `target`, taking nothing from it."""
    return delta(len(base.data), len(target.data), insert(target.data))


ONE, TWO, THREE = (packs.outside("blob", b"object number %d" % n) for n in (1, 2, 3))


@pytest.mark.parametrize(
    "cycle", [[ONE], [ONE, TWO], [ONE, TWO, THREE]], ids=["itself", "two", "three"]
)
def test_a_cycle_ends_as_missing_bases(cycle: list[Handle]) -> None:
    pack = PackBuilder()
    for base, target in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        pack.add_ref(base, rewrite(base, target), target.data)
    report = verified(pack.build()).report
    assert report.klass == 5
    found = [f for f in report.findings.sorted() if f.severity == "error"]
    assert [(f.code, f.offset, f.oid) for f in found] == [
        (codes.MISSING_DELTA_BASE, handle.offset, base.oid)
        for handle, base in zip(pack.handles, cycle, strict=True)
    ]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (0, 2, 1), (2, 1, 0)])
def test_a_cycle_that_a_whole_copy_resolves_is_resolved(order: tuple[int, ...]) -> None:
    pack = PackBuilder()
    writers = [
        lambda: pack.add_ref(ONE, rewrite(ONE, TWO), TWO.data),
        lambda: pack.add_ref(TWO, rewrite(TWO, ONE), ONE.data),
        lambda: pack.add("blob", ONE.data),
    ]
    for number in order:
        writers[number]()
    verifier = verified(pack.build())
    assert verifier.table.unresolved == 0
    # The one remaining fault is that an object comes twice.
    last = max(handle.offset for handle in pack.handles if handle.oid == ONE.oid)
    assert errors(verifier.report) == [(codes.DUPLICATE_OBJECT, last)]


def test_a_missing_base_is_named_with_the_entries_that_wait_for_it() -> None:
    base = packs.outside("blob", TEXT)
    pack = PackBuilder()
    pack.add("blob", b"unrelated")
    direct = pack.add_ref(base, label(1)[0], label(1)[1])
    below = pack.add_ofs(direct, label(2)[0])
    pack.add("blob", b"unrelated too")
    deeper = pack.add_ofs(below, label(3)[0])
    again = pack.add_ref(base, label(4)[0], label(4)[1])
    report = verified(pack.build()).report
    finding = only_error(report)
    assert (finding.code, finding.code.klass) == (codes.MISSING_DELTA_BASE, 5)
    assert (finding.oid, finding.offset) == (base.oid, direct.offset)
    # How many wait, then where they are.
    count, *listed = numbers(finding.message.replace(base.hex, ""))
    waiting = [direct, below, deeper, again]
    assert sorted(listed) == [handle.offset for handle in waiting]
    assert count == 4
    assert report.klass == 5
    assert report.findings.count(checks.LINKS_NOT_CHECKED) == 1


def test_each_missing_base_is_named_once() -> None:
    bases = [packs.outside("blob", TEXT + bytes([n])) for n in range(3)]
    pack = PackBuilder()
    for number, base in enumerate([*bases, *bases]):
        pack.add_ref(base, delta(N + 1, 12, insert(b"%012d" % number)))
    found = [f for f in verified(pack.build()).report.findings.sorted() if f.severity == "error"]
    assert [f.oid for f in found] == [base.oid for base in bases]
    assert all(numbers(f.message.replace((f.oid or b"").hex(), ""))[0] == 2 for f in found)


def test_a_long_list_of_waiting_entries_is_cut() -> None:
    base = packs.outside("blob", TEXT)
    pack = PackBuilder()
    for number in range(5_000):
        pack.add_ref(base, label(number)[0], label(number)[1])
    finding = only_error(verified(pack.build()).report)
    count, *listed, more = numbers(finding.message.replace(base.hex, ""))
    assert (count, len(listed), more) == (5_000, 20, 4_980)
    assert len(finding.message) < 500


PLACES: dict[str, Callable[[Handle, Handle, int], int]] = {
    "its own start": lambda _one, _two, _at: 0,
    "the header of the pack": lambda _one, _two, at: at - 8,
    "the start of the file": lambda _one, _two, at: at,
    "before the file": lambda _one, _two, at: at + 100,
    "one byte into an entry": lambda one, _two, at: at - one.offset - 1,
    "the deflate stream of an entry": lambda _one, two, at: at - two.body,
    "the last byte of an entry": lambda one, _two, at: at - one.end + 1,
    "far before the file": lambda _one, _two, _at: 1 << 50,
}


@pytest.mark.parametrize("name", PLACES)
def test_an_offset_base_that_is_no_earlier_entry_is_refused(name: str) -> None:
    pack = PackBuilder()
    one = pack.add("blob", TEXT)
    two = pack.add("blob", TEXT.upper())
    bad = pack.add_ofs(PLACES[name](one, two, pack.offset), label(1)[0])
    good = pack.add_ofs(one, label(2)[0])
    pack.add_ref(packs.outside("blob", b"nowhere"), label(3)[0])
    verifier = verified(pack.build())
    assert errors(verifier.report) == [(codes.DELTA_BAD_BASE_OFFSET, bad.offset)]
    assert verifier.report.klass == 1
    assert verifier.table.oid(3) == good.oid


def test_damage_outranks_the_bases_that_are_missing_because_of_it() -> None:
    family = Family([0, 0, 1])
    family.write(0)
    bad = family.pack.add_ofs(family.written[0], delta(N, N, copy(1, N)))
    family.pack.add_ref(family.wanted[1], label(2)[0], label(2)[1])
    report = verified(family.pack.build()).report
    assert errors(report) == [(codes.DELTA_COPY_OUT_OF_RANGE, bad.offset)]
    assert report.klass == 1


def test_every_bad_delta_is_reported_and_the_others_are_rebuilt() -> None:
    family = Family(star(3))
    whole = family.write(0)
    bad = [
        family.pack.add_ofs(whole, delta(N + 1, N, copy(0, N))),
        family.pack.add_ofs(whole, delta(N, N, b"\0")),
        family.pack.add_ref(whole, delta(N, N, copy(0, N, drop=1))),
    ]
    for number in (1, 2, 3):
        family.write(number)
    verifier = verified(family.pack.build())
    expected = [
        codes.DELTA_BASE_SIZE_MISMATCH,
        codes.DELTA_RESERVED_OPCODE,
        codes.DELTA_TRUNCATED,
    ]
    offsets = [handle.offset for handle in bad]
    assert errors(verifier.report) == list(zip(expected, offsets, strict=True))
    assert verifier.table.unresolved == 3


# --- duplicates -----------------------------------------------------------------------------------


def doubled(pack: PackBuilder, name: str) -> list[Handle]:
    """Write one object more than once and return its entries."""
    base = pack.add("blob", TEXT)
    change, content = label(1)
    writers: dict[str, list[Callable[[], Handle]]] = {
        "whole": [lambda: pack.add("blob", content)],
        "offset": [lambda: pack.add_ofs(base, change)],
        "id": [lambda: pack.add_ref(base, change)],
    }
    handles = []
    for part in name.split(", then "):
        handles += [write() for write in writers[part]]
        pack.add("blob", b"between %d" % len(pack.handles))
    return handles


@pytest.mark.parametrize(
    "name",
    [
        "whole, then whole",
        "whole, then offset",
        "whole, then id",
        "offset, then whole",
        "id, then whole",
        "offset, then offset",
        "offset, then id",
        "id, then id, then id",
    ],
)
@pytest.mark.parametrize("rules", ["candidate", "git"])
def test_an_object_that_comes_twice_is_refused_where_it_comes_again(name: str, rules: str) -> None:
    pack = PackBuilder()
    first, *again = doubled(pack, name)
    report = verified(pack.build(), Options(rules=rules)).report
    assert errors(report) == [(codes.DUPLICATE_OBJECT, handle.offset) for handle in again]
    assert all(f.oid == first.oid for f in report.findings.sorted())
    assert report.klass == 1


def test_a_delta_that_gives_its_own_base_is_a_duplicate() -> None:
    pack = PackBuilder()
    base = pack.add("blob", TEXT)
    same = pack.add_ofs(base, delta(N, N, copy(0, N)))
    assert errors(verified(pack.build()).report) == [(codes.DUPLICATE_OBJECT, same.offset)]


def test_the_same_bytes_as_two_kinds_are_two_objects() -> None:
    pack = PackBuilder()
    pack.add("blob", b"")
    pack.add("tree", b"")
    assert verified(pack.build()).report.accepted


def test_references_on_an_object_that_comes_twice_are_rebuilt_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pack = PackBuilder()
    late = [pack.add_ref(packs.outside("blob", TEXT), *label(n)) for n in range(1, 6)]
    pack.add("blob", TEXT)
    again = pack.add("blob", TEXT)
    work = Work(monkeypatch)
    verifier = verified(pack.build())
    assert errors(verifier.report) == [(codes.DUPLICATE_OBJECT, again.offset)]
    assert work.rebuilt == len(late)
