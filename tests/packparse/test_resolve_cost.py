"""Deltas within memory, work and limits, whatever their families look like."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from packparse import codes
from packparse.codes import Code
from packparse.limits import Limits
from packparse.options import Options
from packparse.report import Report
from packparse.resolve import CACHE_BUDGET
from packparse.verify import Verifier
from tests.support import packs
from tests.support.families import (
    BUDGETS,
    TEXT,
    Family,
    K,
    M,
    N,
    Work,
    binary,
    caterpillar,
    errors,
    ids,
    label,
    line,
    only_error,
    star,
    tangled,
    verified,
)
from tests.support.packs import PackBuilder, delta, insert
from tests.support.reports import with_limits

# --- memory and work ------------------------------------------------------------------------------


FAMILIES: dict[str, Callable[[], Family]] = {
    "a chain": lambda: Family(line(60)),
    "a star": lambda: Family(star(60)),
    "a caterpillar": lambda: Family(caterpillar(40)),
    "a binary tree": lambda: Family(binary(7)),
    "a caterpillar of kilobytes": lambda: Family(caterpillar(40), 5 * K),
}


def summary(verifier: Verifier) -> dict[str, object]:
    report = verifier.report
    return {
        "ids": verifier.table.sorted_ids(),
        "kinds": bytes(verifier.table.kinds),
        "counts": report.counts,
        "findings": [(f.code, f.offset, f.oid, f.message) for f in report.findings.sorted()],
        "depth": report.delta_depth,
        "rebuilt": report.rebuilt_bytes,
        "copied": report.copied_bytes,
        "class": report.klass,
    }


def same_for_every_budget(pack: bytes, limits: Limits | None = None) -> dict[str, object]:
    options = (Options(cache_budget=budget, limits=limits) for budget in (*BUDGETS, 40 * K))
    first, *others = [summary(verified(pack, option)) for option in options]
    assert all(other == first for other in others)
    return first


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_no_budget_changes_the_report(name: str, backwards: bool) -> None:
    family = FAMILIES[name]()
    found = same_for_every_budget(family.write_all(backwards=backwards))
    assert found["class"] == 0
    assert found["ids"] == ids(family.wanted)


@pytest.mark.parametrize("seed", range(15))
def test_no_budget_changes_the_report_on_a_tangled_family(seed: int) -> None:
    family = tangled(80, seed)
    found = same_for_every_budget(family.pack.build())
    assert found["class"] == 0
    assert found["ids"] == ids(family.wanted)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "changes",
    [{"delta_depth": 4}, {"rebuilt_bytes": 5_000}, {"copied_bytes": 5_000}],
    ids=lambda changes: next(iter(changes)),
)
def test_no_budget_changes_a_refusal(seed: int, changes: dict[str, int]) -> None:
    found = same_for_every_budget(tangled(80, seed).pack.build(), Limits(changes=changes))
    assert found["class"] == 4


@pytest.mark.parametrize("name", FAMILIES)
def test_with_room_each_delta_is_run_once_and_each_entry_read_once(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    family = FAMILIES[name]()
    pack = family.write_all()
    work = Work(monkeypatch)
    assert verified(pack).report.accepted
    assert work.rebuilt == len(family.parents) - 1
    # The deltas are kept from the first pass; the root of the family is read again.
    assert work.read == [0]


def test_without_room_deltas_are_read_again_but_run_once_where_no_base_is_needed_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    family = Family(line(50))
    pack = family.write_all()
    work = Work(monkeypatch)
    assert verified(pack, Options(cache_budget=0)).report.accepted
    assert work.rebuilt == 50
    assert sorted(work.read) == list(range(51))


def test_without_room_bases_are_let_go_and_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # By id it is not known beforehand which delta has the others below it.
    family = Family(caterpillar(40))
    pack = family.write_all(by_id=True)
    work = Work(monkeypatch)
    assert verified(pack, Options(cache_budget=0)).report.accepted
    none = work.rebuilt
    assert none > 5 * 80
    assert work.read.count(0) > 1
    work.rebuilt = 0
    # With room for ten bases most of the way back is there.
    assert verified(pack, Options(cache_budget=2 * 10 * N)).report.accepted
    assert 80 < work.rebuilt < none / 3


# Spine deltas, each link of which carries a leaf: by offset, by id, and mixed; and how often each
# object is built at most. By offset the spine is known to be the largest family and comes last, so
# no base waits. By id that shows too late: bases wait, and past the budget are built again.
COMBS: dict[str, tuple[Callable[[int], bool], bool, int]] = {
    "by offset": (lambda _: False, False, 1),
    "by id": (lambda _: True, False, 5),
    "by id, each base later in the pack": (lambda _: True, True, 5),
    "the spine by offset, the leaves by id": (lambda n: n % 2 == 0, False, 1),
    "the spine by id, the leaves by offset": (lambda n: n % 2 == 1, False, 5),
}


@pytest.mark.parametrize("name", COMBS)
@pytest.mark.parametrize("leaf_first", [False, True])
def test_a_comb_of_large_objects_is_built_a_few_times_at_most(
    monkeypatch: pytest.MonkeyPatch, name: str, leaf_first: bool
) -> None:
    depth, size, room = 200, 16 * K, 8
    by_id, backwards, times = COMBS[name]
    parents = caterpillar(depth)
    # Members come in pairs: the next of the spine (odd), then the leaf (even), or the reverse.
    family = Family(parents, size)
    order = list(range(len(parents)))
    if leaf_first:
        order = [0, *(n for at in range(1, len(parents), 2) for n in (at + 1, at))]
    for number in reversed(order) if backwards else order:
        family.write(number, by_id=by_id(number))
    pack = family.pack.build()
    work = Work(monkeypatch)
    # Half of the budget holds what is rebuilt.
    verifier = verified(pack, Options(cache_budget=2 * room * size))
    assert verifier.report.accepted
    assert verifier.report.delta_depth == depth
    assert verifier.table.sorted_ids() == ids(family.wanted)
    assert work.rebuilt <= times * (len(parents) - 1)


def test_a_base_that_has_served_all_its_deltas_takes_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A long chain below the first member, which is wanted once more at the very end.
    family = Family([*line(60), 1])
    pack = family.write_all()
    work = Work(monkeypatch)
    assert verified(pack, Options(cache_budget=2 * 3 * N)).report.accepted
    assert work.rebuilt == 61


@pytest.mark.parametrize("budget", [0, 4 * M, 16 * M, 32 * M])
def test_memory_is_the_budget_and_three_objects(budget: int) -> None:
    size = 1 * M
    family = Family(caterpillar(24), size)
    pack = family.write_all()
    verifier = Verifier(Options(cache_budget=budget), length=len(pack))
    verifier.feed(pack)
    tracemalloc.start()
    verifier.finish(lambda offset, length: pack[offset : offset + length])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert verifier.report.accepted
    assert verifier.report.delta_depth == 24
    # Half of the budget is for deltas, which are tiny here. A growing result has some reserve.
    assert peak < budget // 2 + 3 * size + size // 2


def test_ten_thousand_references_in_reverse_order_take_linear_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 10_000
    family = Family(line(count), 40)
    pack = family.write_all(backwards=True)
    work = Work(monkeypatch)
    verifier = verified(pack, with_limits(delta_depth=count))
    assert verifier.report.accepted
    assert verifier.report.delta_depth == count
    assert work.rebuilt == count
    assert len(work.read) == 1
    assert work.found <= 4 * count


def test_a_wide_star_takes_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    family = Family(star(5_000), 40)
    pack = family.write_all(backwards=True)
    work = Work(monkeypatch)
    assert verified(pack, Options(cache_budget=0)).report.accepted
    assert work.rebuilt == 5_000
    assert sorted(work.read) == list(range(5_001))


# --- limits on all deltas together ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "code", "total"),
    [
        ("rebuilt_bytes", codes.REBUILT_TOO_MUCH, 20 * N),
        ("copied_bytes", codes.COPIED_TOO_MUCH, 20 * (N - 12)),
    ],
)
@pytest.mark.parametrize("shape", [line, star], ids=["chain", "star"])
def test_all_deltas_together_are_counted_against_a_limit(
    name: str, code: Code, total: int, shape: Callable[[int], list[int]]
) -> None:
    family = Family(shape(20))
    pack = family.write_all()
    exact = verified(pack, with_limits(**{name: total})).report
    assert exact.accepted
    report = verified(pack, with_limits(**{name: total - 1})).report
    finding = only_error(report)
    assert (finding.code, finding.offset) == (code, family.written[20].offset)
    assert report.findings.count(code) == 1
    assert finding.limit is not None
    assert finding.limit.as_dict() == {"name": name, "value": total - 1, "seen": total}
    assert f"--limit {name}=" in finding.message
    assert report.klass == 4


def test_work_stops_at_a_limit_on_all_deltas(monkeypatch: pytest.MonkeyPatch) -> None:
    pack = Family(star(100)).write_all()
    work = Work(monkeypatch)
    verified(pack, with_limits(rebuilt_bytes=10 * N))
    assert work.rebuilt == 10


@pytest.mark.parametrize("over", [0, 1])
def test_one_rebuilt_object_has_a_limit(over: int) -> None:
    pack = PackBuilder()
    base = pack.add("blob", TEXT)
    large = pack.add_ofs(base, packs.growing_delta(N, 5 * N + over))
    small = pack.add_ofs(base, label(1)[0])
    verifier = verified(pack.build(), with_limits(rebuilt_object_bytes=5 * N))
    wanted = [(codes.REBUILT_OBJECT_TOO_LARGE, large.offset)] if over else []
    assert errors(verifier.report) == wanted
    assert verifier.report.klass == (4 if over else 0)
    assert verifier.table.oid(2) == small.oid


def test_a_bomb_is_refused_before_it_goes_off() -> None:
    pack = packs.delta_bomb(512 * M)
    verified(pack)  # what is loaded late is loaded now
    tracemalloc.start()
    report = verified(pack).report
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [code for code, _ in errors(report)] == [codes.REBUILT_OBJECT_TOO_LARGE]
    assert peak < 3 * 64 * M


# --- limits on work that is done again ------------------------------------------------------------


def test_bases_that_are_made_again_have_a_limit() -> None:
    family = Family(caterpillar(20))
    pack = family.write_all(by_id=True)

    def run(most: int, budget: int) -> Report:
        limits = Limits(changes={"restored_bytes": most})
        return verified(pack, Options(limits=limits, cache_budget=budget)).report

    # The way back needs the objects 18, 17, ... 0 deep, each made again from the root.
    total = sum(range(1, 20)) * N
    assert run(0, CACHE_BUDGET).accepted
    assert run(total, 0).accepted
    report = run(total - 1, 0)
    finding = only_error(report)
    assert finding.code is codes.RESTORED_TOO_MUCH
    assert report.klass == 4
    assert finding.limit is not None
    assert finding.limit.as_dict() == {
        "name": "restored_bytes",
        "value": total - 1,
        "seen": total,
    }
    assert finding.offset in {handle.offset for handle in family.pack.handles}


def test_instructions_have_a_limit_however_often_they_are_run() -> None:
    family = Family(caterpillar(20))
    pack = family.write_all(by_id=True)
    once = sum(len(label(number)[0]) for number in range(1, 41))

    def run(most: int, budget: int = CACHE_BUDGET) -> Report:
        limits = Limits(changes={"delta_bytes": most})
        return verified(pack, Options(limits=limits, cache_budget=budget)).report

    assert run(once).accepted
    report = run(once - 1)
    finding = only_error(report)
    assert (finding.code, report.klass) == (codes.DELTAS_TOO_LONG, 4)
    assert finding.limit is not None
    assert finding.limit.as_dict() == {"name": "delta_bytes", "value": once - 1, "seen": once}
    assert only_error(run(once, 0)).code is codes.DELTAS_TOO_LONG


def test_a_base_over_the_limit_of_rebuilt_objects_loses_its_deltas_and_no_others() -> None:
    pack = PackBuilder()
    large = pack.add("blob", TEXT + TEXT)
    pack.add_ofs(large, delta(2 * N, 12, insert(b"x" * 12)))
    small = pack.add("blob", TEXT)
    made = pack.add_ofs(small, label(1)[0])
    verifier = verified(pack.build(), with_limits(rebuilt_object_bytes=2 * N - 1))
    finding = only_error(verifier.report)
    assert (finding.code, finding.offset) == (codes.REBUILT_OBJECT_TOO_LARGE, large.offset)
    assert finding.oid == large.oid
    assert verifier.report.klass == 4
    assert verifier.table.oid(3) == made.oid
    assert verified(pack.build(), with_limits(rebuilt_object_bytes=2 * N)).report.accepted
