"""Who rests on whom: families of offset deltas, and reference deltas that wait for an id."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from packparse.chains import Chains
from packparse.entry import BLOB, OFS_DELTA, REF_DELTA, Entry
from packparse.objectformat import SHA1, SHA256, ObjectFormat
from packparse.table import NO_ENTRY, OUTSIDE, EntryTable

# How an entry is stored: None for a whole object, an entry's number or a raw id for a delta.
Base = int | bytes | None


def name(number: int, width: int = 20) -> bytes:
    return number.to_bytes(width, "big")


def table_of(bases: Sequence[Base], object_format: ObjectFormat = SHA1) -> EntryTable:
    """Return a table of entries of ten bytes each, from offset 12 on; whole ones are named."""
    table = EntryTable(object_format)
    for number, base in enumerate(bases):
        start = 12 + 10 * number
        kind = BLOB if base is None else OFS_DELTA if isinstance(base, int) else REF_DELTA
        oid = name(number, table.width) if base is None else None
        at = 12 + 10 * base if isinstance(base, int) else base
        table.extend([Entry(start, start + 10, kind, 1, 0, oid, at, None)])
    return table


def kids(chains: Chains, number: int, oid: bytes) -> list[int]:
    """Return the deltas that rest on an object, in the order in which they are served."""
    found = []
    kid = chains.first_kid(number, oid)
    while kid != NO_ENTRY:
        found.append(kid)
        kid = chains.following[kid]
    return found


def test_offset_deltas_are_listed_below_their_base_in_the_order_of_the_pack() -> None:
    chains = Chains(table_of([None, 0, 0, 0, None, 0, 4]))
    listed = [kids(chains, number, name(100 + number)) for number in range(7)]
    assert listed == [[1, 2, 3, 5], [], [], [], [6], [], []]


@pytest.mark.parametrize(
    ("bases", "last"),
    [
        ([None, 0, 0, 1, 0], 1),
        ([None, 0, 0, 2, 0], 2),
        ([None, 0, 0, 0, 3], 3),
        ([None, 0, 0, 1, 2, 4], 2),
        ([None, 0, 0, 1, 1, 2, 5], 2),
        ([None, 0, 1, 2, 0, 4, 0], 1),
        ([None, 0, 0, 1, 1, 1, 2, 6], 1),
    ],
    ids=repr,
)
def test_the_delta_with_most_below_it_is_served_last(bases: list[Base], last: int) -> None:
    # Then its base need not be kept while all that is below it is rebuilt.
    listed = kids(Chains(table_of(bases)), 0, name(0))
    assert listed[-1] == last
    assert sorted(listed) == [number for number, base in enumerate(bases) if base == 0]


def test_reference_deltas_come_before_offset_deltas() -> None:
    chains = Chains(table_of([None, 0, name(0), 0, 3, name(0)]))
    assert kids(chains, 0, name(0)) == [2, 5, 1, 3]


def test_nothing_in_the_pack_rests_on_the_outside_by_offset() -> None:
    assert kids(Chains(table_of([None, 0])), OUTSIDE, name(0)) == []


@pytest.mark.parametrize("object_format", [SHA1, SHA256], ids=str)
def test_reference_deltas_wait_for_their_id_and_are_given_out_once(
    object_format: ObjectFormat,
) -> None:
    width = object_format.width
    wanted, other = name(7, width), name(8, width)
    chains = Chains(table_of([wanted, None, other, wanted, 1], object_format))
    assert chains.still_waiting() == {wanted: [0, 3], other: [2]}
    assert kids(chains, OUTSIDE, name(9, width)) == []
    assert kids(chains, OUTSIDE, wanted) == [0, 3]
    assert kids(chains, OUTSIDE, wanted) == []
    assert chains.still_waiting() == {other: [2]}


def test_the_first_object_of_an_id_takes_what_waits_for_it() -> None:
    # Entries 0 and 1 are the same object.
    chains = Chains(table_of([None, None, name(7), 1, name(7), 0]))
    assert sorted(kids(chains, 0, name(7))) == [2, 4, 5]
    assert kids(chains, 1, name(7)) == [3]
    assert chains.still_waiting() == {}


def test_kids_are_offset_deltas_and_those_that_wait_for_the_id() -> None:
    chains = Chains(table_of([None, name(0), 0, name(0), 2, 0]))
    assert sorted(kids(chains, 0, name(0))) == [1, 2, 3, 5]
    assert kids(chains, 2, name(99)) == [4]


def test_below_lists_a_family_and_leaves_others_out() -> None:
    chains = Chains(table_of([name(99), 0, 0, 1, None, 4]))
    assert sorted(chains.below([0])) == [0, 1, 2, 3]
    assert sorted(chains.below([0, 4])) == [0, 1, 2, 3, 4, 5]


def test_below_follows_a_chain_of_any_depth() -> None:
    deep = 50_000
    bases: list[Base] = [name(1 << 40), *range(deep)]
    assert list(Chains(table_of(bases)).below([0])) == list(range(deep + 1))


def test_an_offset_delta_whose_base_is_no_entry_rests_on_nothing() -> None:
    table = EntryTable(SHA1)
    assert table.extend([Entry(12, 20, BLOB, 1, 0, name(0), None, None)]) == []
    assert table.extend([Entry(20, 30, OFS_DELTA, 1, 0, None, 13, None)]) == [1]
    chains = Chains(table)
    assert kids(chains, 0, name(0)) == []
    assert chains.still_waiting() == {}
