"""The packed links: who links to what, found backwards, and every target seen once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packparse.entry import BLOB, COMMIT, TAG, TREE
from packparse.graph import LinkColumn, LinkTable
from packparse.table import split_ids

quick = settings(derandomize=True, database=None, deadline=None, max_examples=200)

Row = tuple[int, list[bytes]]

# Ids of few bytes, so that one stands at places that are no link's beginning.
ids = st.lists(st.sampled_from(b"\0\1"), min_size=20, max_size=20).map(bytes)
PLAIN = [bytes([n]) * 20 for n in range(8)]
ROLLED = [bytes(range(n, n + 20)) for n in range(4)]
any_id = st.sampled_from(PLAIN + ROLLED) | ids


def targets(runs: list[memoryview], width: int) -> set[bytes]:
    return {oid for run in runs for oid in split_ids(run, width)}


@quick
@given(st.lists(st.tuples(st.integers(0, 9), st.lists(any_id, min_size=1, max_size=6))), any_id)
def test_sources_are_those_of_a_plain_search(rows: list[Row], stranger: bytes) -> None:
    column = LinkColumn(20)
    for source, row in rows:
        column.add(source, b"".join(row))
    assert len(column) == sum(len(row) for _, row in rows)
    for oid in {stranger, *(oid for _, row in rows for oid in row)}:
        expected = [source for source, row in rows for other in row if other == oid]
        assert list(column.sources_of(oid)) == expected
    assert targets(list(column.distinct_runs()), 20) == {oid for _, row in rows for oid in row}


def test_an_id_across_two_links_is_not_found() -> None:
    column = LinkColumn(20)
    column.add(3, bytes(10) + b"x" * 20 + bytes(10))
    assert list(column.sources_of(b"x" * 20)) == []
    column.add(4, b"x" * 20)
    assert list(column.sources_of(b"x" * 20)) == [4]


@quick
@given(st.lists(any_id, min_size=1, max_size=5), st.data())
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
    for oid in everything:
        expected = [n for n, row in enumerate(rows) for other in row if other == oid]
        assert list(column.sources_of(oid)) == expected


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
    assert list(table.columns[TREE].sources_of(a)) == [0]
    assert list(table.columns[BLOB].sources_of(a)) == [1]
    assert list(table.columns[TAG].sources_of(a)) == []


def test_a_link_costs_its_id() -> None:
    column = LinkColumn(20)
    column.add(7, b"".join(n.to_bytes(20, "big") for n in range(10_000)))
    assert len(column.ids) == 200_000
    assert len(column.sources) == len(column.ends) == 1
    assert list(column.sources_of((9_999).to_bytes(20, "big"))) == [7]
