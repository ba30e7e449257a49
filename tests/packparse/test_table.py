"""The columns of a pack's entries and the index of ids, against plain models."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packparse.entry import BLOB, COMMIT, OFS_DELTA, REF_DELTA, TREE, Entry
from packparse.limits import Limits
from packparse.objectformat import FORMATS, SHA1, SHA256, ObjectFormat
from packparse.options import Options
from packparse.stream import PackStream
from packparse.table import NO_ENTRY, EntryTable, IdIndex, split_ids
from packparse.verify import Verifier
from tests.support import packs

quick = settings(derandomize=True, database=None, deadline=None, max_examples=100)


def append(table: EntryTable, *entries: Entry) -> bool:
    """Add entries; whether each offset delta among them has an earlier entry as its base."""
    return not table.extend(entries)


def test_the_columns_hold_what_was_appended() -> None:
    table = EntryTable(SHA1)
    wanted = b"\x07" * 20
    assert append(table, Entry(12, 30, TREE, 5, 77, b"\x01" * 20, None, b"tree!"))
    assert append(table, Entry(30, 40, OFS_DELTA, 9, 78, None, 12, None))
    assert append(table, Entry(40, 75, REF_DELTA, 8, 79, None, wanted, None))
    assert len(table) == 3
    assert list(table.offsets) == [12, 30, 40]
    assert list(table.kinds) == [TREE, OFS_DELTA, REF_DELTA]
    assert list(table.crcs) == [77, 78, 79]
    # Of a delta it is that of its instructions, until the object is known.
    assert list(table.sizes) == [5, 9, 8]
    assert [table.span(n) for n in range(3)] == [(12, 18), (30, 10), (40, 35)]
    assert [table.oid(n) for n in range(3)] == [b"\x01" * 20, bytes(20), bytes(20)]
    assert table.bases[0] == NO_ENTRY
    assert table.bases[1] == 0
    assert table.base_id(2) == wanted
    assert (table.deltas, table.unresolved) == (2, 2)
    assert [table.is_resolved(n) for n in range(3)] == [True, False, False]


def test_resolving_a_delta_gives_it_the_kind_and_id_of_its_object() -> None:
    table = EntryTable(SHA256)
    append(table, Entry(12, 30, COMMIT, 5, 0, b"\x01" * 32, None, b"12345"))
    append(table, Entry(30, 40, OFS_DELTA, 9, 0, None, 12, None))
    table.resolve(1, COMMIT, b"\x02" * 32, 0, 700)
    assert table.is_resolved(1)
    assert list(table.sizes) == [5, 700]
    assert table.bases[1] == 0
    assert table.unresolved == 0
    assert table.deltas == 1
    assert table.oid(1) == b"\x02" * 32
    assert table.oid(0) == b"\x01" * 32
    assert table.count(COMMIT) == 2
    assert table.count(BLOB) == 0
    assert table.sorted_ids() == [b"\x01" * 32, b"\x02" * 32]


@pytest.mark.parametrize(
    ("base", "found"),
    [
        pytest.param(12, True, id="the first entry"),
        pytest.param(30, True, id="the entry before"),
        pytest.param(0, False, id="the header of the pack"),
        pytest.param(11, False, id="one byte before an entry"),
        pytest.param(13, False, id="one byte into an entry"),
        pytest.param(39, False, id="the last byte of an entry"),
        pytest.param(-5, False, id="before the file"),
        pytest.param(40, False, id="itself"),
        pytest.param(1 << 60, False, id="far behind"),
    ],
)
def test_an_offset_base_must_be_the_start_of_an_earlier_entry(base: int, found: bool) -> None:
    table = EntryTable(SHA1)
    append(table, Entry(12, 30, BLOB, 1, 0, b"\x01" * 20, None, b"x"))
    append(table, Entry(30, 40, BLOB, 1, 0, b"\x02" * 20, None, b"y"))
    assert append(table, Entry(40, 50, OFS_DELTA, 4, 0, None, base, None)) is found
    assert (table.bases[2] != NO_ENTRY) is found
    assert not table.is_resolved(2)


@pytest.mark.parametrize("fmt", FORMATS)
def test_the_table_of_a_real_pack_names_every_whole_object(fmt: str) -> None:
    example = packs.small_honest(fmt)
    stream = PackStream(Limits(), FORMATS[fmt])
    table = EntryTable(FORMATS[fmt])
    appended = [append(table, entry) for entry in stream.feed(example.pack)]
    assert appended == [True] * len(example.handles)
    assert list(table.offsets) == [handle.offset for handle in example.handles]
    spans = [(handle.offset, handle.end - handle.offset) for handle in example.handles]
    assert [table.span(n) for n in range(len(table))] == spans
    whole = [n for n in range(len(table)) if table.is_resolved(n)]
    assert [table.oid(n) for n in whole] == [example.handles[n].oid for n in whole]
    assert table.deltas == len(table) - len(whole) == 3


LARGEST = 0xFFFF_FFFF


@pytest.mark.parametrize("size", [0, 1, LARGEST - 1, LARGEST, LARGEST + 1, 1 << 63])
def test_a_size_is_kept_in_32_bits_and_a_larger_one_as_the_largest(size: int) -> None:
    table = EntryTable(SHA1)
    table.extend(
        [
            Entry(12, 30, BLOB, size, 0, b"\x01" * 20, None, None),
            Entry(30, 40, BLOB, 7, 0, b"\x02" * 20, None, None),
            Entry(40, 50, OFS_DELTA, 4, 0, None, 12, None),
        ]
    )
    table.resolve(2, BLOB, b"\x03" * 20, 0, size)
    kept = min(size, LARGEST)
    assert list(table.sizes) == [kept, 7, kept]


@pytest.mark.parametrize("fmt", FORMATS)
def test_sizes_are_those_of_the_objects_once_deltas_are_rebuilt(fmt: str) -> None:
    example = packs.small_honest(fmt)
    verifier = Verifier(Options(object_format=FORMATS[fmt]))
    verifier.feed(example.pack)
    verifier.finish(lambda at, length: example.pack[at : at + length])
    assert list(verifier.table.sizes) == [len(handle.data) for handle in example.handles]


@pytest.mark.parametrize("count", [0, 1, 8_191, 8_192, 8_193, 20_000])
def test_pieces_give_all_ids_and_kinds_in_order(count: int) -> None:
    table = EntryTable(SHA1)
    kinds = [(COMMIT, TREE, BLOB)[n % 3] for n in range(count)]
    ids = [n.to_bytes(20, "big") for n in range(count)]
    table.extend([Entry(n, n + 1, kinds[n], 1, 0, ids[n], None, None) for n in range(count)])
    pieces = list(table.pieces())
    assert [oid for some, _kinds in pieces for oid in some] == ids
    assert [kind for _ids, some in pieces for kind in some] == kinds
    assert all(len(some) == len(others) <= 8_192 for some, others in pieces)


def test_an_entry_costs_less_than_sixty_bytes() -> None:
    count = 20_000
    entries = [Entry(n, n + 1, BLOB, 1, 0, b"\x01" * 20, None, b"x") for n in range(count)]
    tracemalloc.start()
    table = EntryTable(SHA1)
    for entry in entries:
        append(table, entry)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    # Arrays keep an eighth in reserve while they grow.
    assert used / count <= 54 * 9 / 8 + 1


def test_a_batch_is_taken_like_its_entries_one_by_one() -> None:
    entries = [
        Entry(12, 20, BLOB, 1, 5, b"\x01" * 20, None, b"x"),
        Entry(20, 30, OFS_DELTA, 4, 6, None, 12, None),
        Entry(30, 40, REF_DELTA, 4, 7, None, b"\x09" * 20, None),
        Entry(40, 50, OFS_DELTA, 4, 8, None, 20, None),
        Entry(50, 60, OFS_DELTA, 4, 9, None, 21, None),
        Entry(60, 70, OFS_DELTA, 4, 9, None, 60, None),
        Entry(70, 80, OFS_DELTA, 4, 9, None, 80, None),
        Entry(80, 90, REF_DELTA, 4, 7, None, b"\x08" * 20, None),
        Entry(90, 99, BLOB, 1, 5, b"\x02" * 20, None, b"y"),
    ]
    whole, single = EntryTable(SHA1), EntryTable(SHA1)
    bad = whole.extend(entries)
    assert bad == [4, 5, 6]
    assert [n for n, entry in enumerate(entries) if single.extend([entry])] == bad
    assert single.extend([]) == []
    for table in (whole, single):
        assert table.bases.tolist() == [
            NO_ENTRY, 0, 0, 1, NO_ENTRY, NO_ENTRY, NO_ENTRY, 1, NO_ENTRY,
        ]  # fmt: skip
        assert bytes(table.waiting) == b"\x09" * 20 + b"\x08" * 20
        assert (table.deltas, table.unresolved, table.end) == (7, 7, 99)
    assert (whole.ids, whole.kinds, whole.crcs) == (single.ids, single.kinds, single.crcs)
    assert whole.sizes == single.sizes


def test_a_table_without_entries_answers() -> None:
    table = EntryTable(SHA1)
    assert (len(table), table.sorted_ids(), table.count(BLOB)) == (0, [], 0)
    index = IdIndex(table.ids, 20)
    assert len(index) == 0
    assert index.first(b"\x01" * 20) is None
    assert list(index.repeated()) == []


# --- ids ------------------------------------------------------------------------------------------

# Few distinct ids that share first and last bytes, so that repeats and near misses are common.
ALPHABET = st.sampled_from([0, 1, 0x7F, 0x80, 0xFF])


@st.composite
def runs_of_ids(draw: st.DrawFn) -> tuple[ObjectFormat, list[bytes]]:
    object_format = draw(st.sampled_from([SHA1, SHA256]))
    few = st.builds(
        lambda head, tail: bytes([head]) + bytes(object_format.width - 2) + bytes([tail]),
        ALPHABET,
        ALPHABET,
    )
    any_id = st.binary(min_size=object_format.width, max_size=object_format.width)
    return object_format, draw(st.lists(few | any_id, max_size=25))


@quick
@given(runs_of_ids(), st.data())
def test_the_index_finds_what_a_plain_search_finds(
    run: tuple[ObjectFormat, list[bytes]], data: st.DataObject
) -> None:
    object_format, ids = run
    index = IdIndex(b"".join(ids), object_format.width)
    assert len(index) == len(ids)
    strange = data.draw(st.binary(min_size=object_format.width, max_size=object_format.width))
    for oid in [*ids, strange, bytes(object_format.width), b"\xff" * object_format.width]:
        places = [at for at, other in enumerate(ids) if other == oid]
        assert list(index.find(oid)) == places
        assert index.first(oid) == (places[0] if places else None)
    repeated = [at for at, oid in enumerate(ids) if oid in ids[:at]]
    assert sorted(index.repeated()) == repeated


@quick
@given(runs_of_ids())
def test_packed_ids_split_into_what_was_packed(run: tuple[ObjectFormat, list[bytes]]) -> None:
    object_format, ids = run
    packed = b"".join(ids)
    for buffer in (packed, bytearray(packed), memoryview(packed)):
        assert list(split_ids(buffer, object_format.width)) == ids


@quick
@given(runs_of_ids())
def test_sorted_ids_are_all_ids_in_order(run: tuple[ObjectFormat, list[bytes]]) -> None:
    object_format, ids = run
    table = EntryTable(object_format)
    for number, oid in enumerate(ids):
        append(table, Entry(12 + number, 13 + number, BLOB, 1, 0, oid, None, b"x"))
    assert table.sorted_ids() == sorted(ids)
