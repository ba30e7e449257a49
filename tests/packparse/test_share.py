"""Families of deltas are shared: each process gets about as much, and nothing else changes."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from packparse import share
from packparse.chains import Chains
from packparse.codes import RULES
from packparse.entry import BLOB, OFS_DELTA, TREE, Entry
from packparse.limits import Limits
from packparse.objectformat import SHA1
from packparse.options import Options
from packparse.share import runs
from packparse.table import EntryTable
from tests.support import jobs, packs
from tests.support.aside import aside
from tests.support.jobs import copied, summary, told, verified
from tests.support.packs import PackBuilder, copy, delta, insert

together = pytest.mark.parametrize("number", [2, 4], ids="{} jobs".format)
TEXT = b"some text that deltas are made against, " * 5
N = len(TEXT)

if TYPE_CHECKING:
    from packparse.workers import Worker

eagerly = pytest.mark.usefixtures("eager")


# --- who gets what ------------------------------------------------------------------------------


def table_of(families: list[int], kind: int = BLOB, size: int = 1_000) -> EntryTable:
    """Roots of this kind and size, each with so many deltas in a row."""
    table = EntryTable(SHA1)
    entries, at = [], 12
    for deltas in families:
        base: int | None = None
        for number in range(deltas + 1):
            kinds = (OFS_DELTA, 50) if number else (kind, size)
            oid = None if number else bytes(20)
            entries.append(Entry(at, at + 10, *kinds, 0, oid, base, None))
            base, at = at, at + 10
    table.extend(entries)
    return table


def roots_of(table: EntryTable) -> array[int]:
    return array("I", (n for n, kind in enumerate(table.kinds) if kind != OFS_DELTA))


@pytest.mark.parametrize("number", [1, 2, 3, 8])
def test_all_roots_are_given_once_and_in_their_order(number: int) -> None:
    table = table_of([3, 0, 50, 1, 1, 7, 20, 0, 4])
    roots = roots_of(table)
    given = runs(table, roots, Chains(table).weigh(roots), number)
    assert len(given) <= number
    assert all(given)
    assert [root for run in given for root in run] == list(roots_of(table))


def test_each_process_gets_about_as_much() -> None:
    rng = random.Random(5)
    families = [rng.choice((1, 2, 5, 40)) for _ in range(400)]
    table = table_of(families)
    roots = roots_of(table)
    weights = Chains(table).weigh(roots)
    assert list(weights) == families
    deltas = dict(zip(roots, families, strict=True))
    shares = [sum(deltas[root] for root in run) for run in runs(table, roots, weights, 4)]
    assert max(shares) < 1.3 * min(shares)


def test_large_trees_count_for_more_than_small_blobs() -> None:
    table = table_of([10] * 20 + [10] * 20)
    for root in list(roots_of(table))[20:]:
        table.kinds[root] = TREE
        table.sizes[root] = 50_000
    small, large = runs(table, roots_of(table), array("I", [10]) * 40, 2)
    assert len(small) > 1.5 * len(large)


def test_no_roots_are_shared_by_nobody() -> None:
    assert [list(run) for run in runs(EntryTable(SHA1), array("I"), array("I"), 3)] == [[]]


def test_nobody_waits_for_one_large_family() -> None:
    table = table_of([5_000, 1, 1])
    roots = roots_of(table)
    given = runs(table, roots, Chains(table).weigh(roots), 4)
    assert list(given[0]) == [0]


# --- the whole of it ----------------------------------------------------------------------------


def families(fmt: str = "sha1", *, by_id: bool = False, trees: bool = False) -> PackBuilder:
    """A dozen families, each a chain with branches."""
    pack = PackBuilder(fmt)
    width = packs.oid_length(fmt)
    for family in range(12):
        entries = [
            (b"100644", b"f%02d-%d" % (n, family), bytes(width - 1) + b"x") for n in range(9)
        ]
        data = packs.tree_bytes(entries) if trees else b"%04d" % family + TEXT
        last = pack.add("tree" if trees else "blob", data)
        for number in range(5):
            end = len(last.data)
            mark = b"%03d/%02d/" % (number, family)
            change = delta(end, end, copy(0, end - 7), insert(mark))
            last = (pack.add_ref if by_id else pack.add_ofs)(last, change)
    return pack


def cases() -> Iterator[tuple[str, bytes]]:
    yield "by offset", families().build()
    yield "by id", families(by_id=True).build()
    yield "trees", families(trees=True).build()
    for name, place in (("the first", 1), ("a middle", 31), ("the last", 71)):
        pack = PackBuilder()
        for number, handle in enumerate(families().handles):
            if number == place:
                pack.add_ofs(pack.handles[-1], delta(N + 4, 9, copy(N, 9)))
            elif number % 6:
                end = len(handle.data)
                change = delta(end, end, copy(0, end - 7), insert(handle.data[-7:]))
                base = pack.handles[-1] if number != place + 1 else pack.handles[-2]
                pack.add_ofs(base, change)
            else:
                pack.add("blob", handle.data)
        yield f"{name} delta is bad", pack.build()
    pack = families()
    pack.add_ref(bytes(range(20)), delta(N, 1, copy(0, 1)))
    yield "a base that is nowhere", pack.build()
    twice = families()
    for handle in (twice.handles[3], twice.handles[60]):
        twice.add("blob", handle.data)
        end = len(handle.data)
        twice.add_ref(handle, delta(end, end, copy(0, end - 2), insert(b"zz")))
    yield "deltas on objects that come twice", twice.build()
    # A delta that is tried in vain on the first object of an id, which lies too deep.
    deep = families()
    last = deep.handles[0]
    for number in range(256 - 5):
        end = len(last.data)
        change = delta(end, end, copy(0, end - 4), insert(b"%04d" % number))
        last = deep.add_ofs(last if number else deep.handles[5], change)
    copied_again = families().handles
    for handle in copied_again[40:]:
        deep.add("blob", b"other " + handle.data)
    deep.add("blob", last.data)
    deep.add_ref(last, delta(len(last.data), 4, insert(b"deep")))
    yield "a delta on an object that comes twice, at different depths", deep.build()
    odd = families(trees=True)
    for odd_name in (b".git", b"a/b", b".git"):
        entries = [(b"100644", odd_name, b"y" * 20), (b"100664", b"z", b"y" * 20)]
        tree = packs.tree_bytes(entries)
        first = odd.add("tree", tree)
        end = len(tree)
        odd.add_ofs(first, delta(end, end, copy(0, end - 1), insert(b"w")))
    yield "trees with odd names", odd.build()


CASES = dict(cases())
# As they stand in the families by offset.
DELTAS = [
    delta(N + 4, N + 4, copy(0, N - 3), insert(b"%03d/%02d/" % (number, family)))
    for family in range(12)
    for number in range(5)
]


@eagerly
@together
@pytest.mark.parametrize("budget", [0, 1 << 20], ids=["no memory", "memory"])
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("name", CASES)
def test_the_report_is_that_of_one_process(name: str, rules: str, budget: int, number: int) -> None:
    options = Options(rules=rules, cache_budget=budget)
    pack = CASES[name]
    alone = summary(verified(pack, Options(rules=rules), jobs=1))
    about = (pack, "sha1", rules, "candidate")
    assert aside(jobs.outcome, *about, jobs=number, budget=budget) == alone
    assert summary(copied(pack, options, jobs=number)) == alone


@eagerly
@eagerly
@together
@pytest.mark.parametrize("less", [0, 1], ids=["just within", "one too many"])
@pytest.mark.parametrize("name", ["rebuilt_bytes", "copied_bytes", "delta_bytes"])
def test_a_limit_on_all_together_is_passed_at_the_same_place(
    name: str, less: int, number: int
) -> None:
    pack = CASES["by offset"]
    report = verified(pack, jobs=1).report
    totals = {
        "rebuilt_bytes": report.rebuilt_bytes,
        "copied_bytes": report.copied_bytes,
        "delta_bytes": sum(len(change) for change in DELTAS),
    }
    options = Options(limits=Limits(changes={name: totals[name] - less}))
    alone = told(verified(pack, options, jobs=1).report)
    assert (alone["class"] == 4) is bool(less)
    assert told(verified(pack, options, jobs=number).report) == alone


@together
def test_a_thin_pack_is_shared_as_well(number: int) -> None:
    pack = families()
    given = packs.outside("blob", b"outside" + TEXT)
    end = len(given.data)
    pack.add_ref(given, delta(end, end, copy(0, end - 2), insert(b"zz")))

    def read_base(oid: bytes) -> tuple[int, bytes] | None:
        return (BLOB, given.data) if oid == given.oid else None

    options = Options(read_base=read_base)
    alone = verified(pack.build(), options, jobs=1)
    assert not alone.table.unresolved
    assert told(verified(pack.build(), options, jobs=number).report) == told(alone.report)


@eagerly
def test_runs_are_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above would pass as well if every worker gave up."""
    taken: list[bool] = []
    take_over = share.SharedFamilies._take_over  # noqa: SLF001 - what cannot be seen from outside

    def noted(self: share.SharedFamilies, worker: Worker) -> bool:
        good = take_over(self, worker)
        taken.append(good)
        return good

    monkeypatch.setattr(share.SharedFamilies, "_take_over", noted)
    for name in ("by offset", "by id", "trees", "trees with odd names"):
        verified(CASES[name], jobs=3)
        assert taken == [True, True], name
        taken.clear()


@eagerly
def test_too_many_oddities_are_left_to_the_main_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packparse.examine._MOST_NOTED", 1)
    pack = CASES["trees with odd names"]
    alone = told(verified(pack, jobs=1).report)
    assert told(verified(pack, jobs=3).report) == alone
    assert told(copied(pack, jobs=3).report) == alone


@eagerly
def test_a_worker_that_dies_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share.SharedFamilies, "_send", lambda *_args: jobs.die())
    report = verified(CASES["by offset"], jobs=2).report
    assert [f.code.name for f in report.findings.sorted()] == ["workerFailed"]
    assert report.klass == 6
