"""The packed links: who links to what, found backwards, by row, and every target in a batch."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packparse import graph
from packparse.entry import BLOB, COMMIT, TAG, TREE
from packparse.graph import LinkColumn, LinkTable
from packparse.table import NO_ENTRY, split_ids

quick = settings(derandomize=True, database=None, deadline=None, max_examples=200)

Row = tuple[int, list[bytes]]

# Ids of few bytes, so that one stands at places that are no link's beginning.
ids = st.lists(st.sampled_from(b"\0\1"), min_size=20, max_size=20).map(bytes)
PLAIN = [bytes([n]) * 20 for n in range(8)]
ROLLED = [bytes(range(n, n + 20)) for n in range(4)]
any_id = st.sampled_from(PLAIN + ROLLED) | ids


def targets(runs: list[memoryview], width: int) -> set[bytes]:
    return {oid for run in runs for oid in split_ids(run, width)}


def filled(rows: list[Row]) -> LinkColumn:
    column = LinkColumn(20)
    for source, row in rows:
        column.add(source, b"".join(row))
    return column


def by_search(rows: list[Row], wanted: set[bytes]) -> list[tuple[int, bytes]]:
    return [(source, oid) for source, row in rows for oid in row if oid in wanted]


some_rows = st.lists(st.tuples(st.integers(0, 9), st.lists(any_id, min_size=1, max_size=6)))


@quick
@given(some_rows, any_id, st.data())
@pytest.mark.heavy
def test_links_are_those_of_a_plain_search(
    rows: list[Row], stranger: bytes, data: st.DataObject
) -> None:
    column = filled(rows)
    everything = {oid for _, row in rows for oid in row}
    assert len(column) == sum(len(row) for _, row in rows)
    assert list(column.links_to(set())) == []
    for oid in {stranger, *everything}:
        assert list(column.links_to({oid})) == by_search(rows, {oid})
    wanted = data.draw(st.sets(st.sampled_from([stranger, *sorted(everything)])))
    assert list(column.links_to(wanted)) == by_search(rows, wanted)
    assert targets(list(column.distinct_runs()), 20) == everything


def test_an_id_across_two_links_is_not_found() -> None:
    column = LinkColumn(20)
    column.add(3, bytes(10) + b"x" * 20 + bytes(10))
    assert list(column.links_to({b"x" * 20})) == []
    column.add(4, b"x" * 20)
    assert list(column.links_to({b"x" * 20})) == [(4, b"x" * 20)]


@pytest.mark.parametrize("piece", [1, 2, 3, 7])
def test_no_link_is_lost_between_two_pieces_of_a_search(
    monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(graph, "_PIECE", piece)
    rows = [(n, [PLAIN[(n + m) % 8] for m in range(n % 4 + 1)]) for n in range(20)]
    column = filled(rows)
    for wanted in ({PLAIN[0]}, {PLAIN[3], PLAIN[5]}, set(PLAIN)):
        assert list(column.links_to(wanted)) == by_search(rows, wanted)
    for most in (1, 3, 100):
        batches = list(column.batches(most))
        assert set().union(*batches) == set(PLAIN)


@quick
@given(st.lists(any_id, min_size=1, max_size=5), st.data())
@pytest.mark.heavy
def test_no_target_is_lost_in_rows_that_are_made_from_others(
    first: list[bytes], data: st.DataObject
) -> None:
    column = LinkColumn(20)
    column.add(0, b"".join(first))
    rows = [first]
    for source in range(1, data.draw(st.integers(1, 6))):
        row = list(data.draw(st.sampled_from(rows)))
        if data.draw(st.booleans()):
            row = data.draw(st.lists(any_id, min_size=1, max_size=5))
            column.add(source, b"".join(row))
        else:
            fresh = []
            for place in data.draw(st.sets(st.integers(0, len(row) - 1))):
                row[place] = data.draw(any_id)
                fresh.append(row[place])
            column.add(source, b"".join(row), b"".join(fresh))
        rows.append(row)
    everything = {oid for row in rows for oid in row}
    assert targets(list(column.distinct_runs()), 20) == everything
    assert list(column.links_to(everything)) == by_search(list(enumerate(rows)), everything)
    for most in (1, 3, 1_000):
        assert set().union(*column.batches(most)) == everything
    for number, row in enumerate(rows):
        assert column.row(number) == b"".join(row)


# --- batches ------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1_000, 8_192, 50_000])
def test_batches_hold_every_target_and_not_much_more_than_was_asked_for(most: int) -> None:
    column = LinkColumn(20)
    count = 30_000
    for source in range(10):
        first = source * count // 10
        row = b"".join(n.to_bytes(20, "big") for n in range(first, first + count // 10))
        column.add(source, row)
    batches = list(column.batches(most))
    assert set().union(*batches) == {n.to_bytes(20, "big") for n in range(count)}
    # Whole pieces are taken, so that a batch passes the mark by one of them at most.
    assert all(len(batch) < most + graph._PIECE for batch in batches)  # noqa: SLF001 - its bound
    assert len(batches) <= count // most + 2


def test_a_target_that_is_named_again_and_again_takes_no_place_in_a_batch() -> None:
    column = LinkColumn(20)
    for source in range(50):
        column.add(source, PLAIN[1] * 1_000)
    assert [batch for batch in column.batches(10) if batch] == [{PLAIN[1]}]


def test_a_column_without_links_has_one_empty_batch_and_no_rows() -> None:
    column = LinkColumn(32)
    assert list(column.batches(10)) == [set()]
    assert list(column.links_to({bytes(32)})) == []
    assert column.rows(3).tolist() == [NO_ENTRY] * 3


# --- rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [20, 32])
def test_a_row_has_the_targets_of_one_entry(width: int) -> None:
    a, b, c = (bytes([n]) * width for n in (1, 2, 3))
    column = LinkColumn(width)
    column.add(4, a + b)
    column.add(1, c)
    column.add(6, b + b + a)
    numbers = column.rows(8)
    assert numbers.tolist() == [NO_ENTRY, 1, NO_ENTRY, NO_ENTRY, 0, NO_ENTRY, 2, NO_ENTRY]
    rows = {source: split_ids(column.row(numbers[source]), width) for source in (1, 4, 6)}
    assert rows == {4: (a, b), 1: (c,), 6: (b, b, a)}
    assert numbers.itemsize == 4


def test_an_exchanged_id_is_kept_twice_only_where_few_were_exchanged() -> None:
    column = LinkColumn(20)
    first = [n.to_bytes(20, "big") for n in range(16)]
    column.add(0, b"".join(first))
    for source, count in ((1, 2), (2, 3)):
        new = [b"\xff" + bytes([source, n]) + bytes(17) for n in range(count)]
        column.add(source, b"".join(new + first[count:]), b"".join(new))
    # An eighth of sixteen is two.
    assert list(column.derived) == [0, 1, 0]
    assert len(column.exchanged) == 2 * 20


# --- all links of a pack --------------------------------------------------------------------------


@pytest.mark.parametrize("width", [20, 32])
def test_the_kind_of_a_link_is_its_column(width: int) -> None:
    table = LinkTable(width)
    a, b, c = (bytes([n]) * width for n in (1, 2, 3))
    table.add(TREE, 0, a)
    table.add(COMMIT, 0, b + c)
    table.add(BLOB, 1, a)
    table.add(TAG, 2, b"")
    assert table.total == 4
    assert {kind: len(column) for kind, column in table.columns.items()} == {
        COMMIT: 2,
        TREE: 1,
        BLOB: 1,
        TAG: 0,
    }
    assert list(table.columns[TREE].links_to({a})) == [(0, a)]
    assert list(table.columns[BLOB].links_to({a, b})) == [(1, a)]
    assert list(table.columns[TAG].links_to({a})) == []


def test_a_link_costs_its_id() -> None:
    column = LinkColumn(20)
    column.add(7, b"".join(n.to_bytes(20, "big") for n in range(10_000)))
    assert len(column.ids) == 200_000
    assert len(column.sources) == len(column.ends) == 1
    last = (9_999).to_bytes(20, "big")
    assert list(column.links_to({last})) == [(7, last)]
