"""Second looks at entries: the bytes of the first pass, or a refusal; and whole objects again."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable

import pytest

from packparse import codes
from packparse.errors import PackError
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from packparse.reader import EntryReader, ObjectReader
from packparse.stream import PackStream
from packparse.table import EntryTable
from packparse.verify import Verifier
from tests.support import packs
from tests.support.packs import PackBuilder, delta, insert

ReadAt = Callable[[int, int], bytes]

SMALL = b"a small blob\n"
# Longer than one piece of the second look, before and after compression.
LARGE = random.Random(3).randbytes(700_000)


def reading(pack: bytes) -> ReadAt:
    return lambda offset, length: pack[offset : offset + length]


def counted(read_at: ReadAt) -> ReadAt:
    """Return a reader that ends a test which would go round for ever."""
    left = 10_000

    def read(offset: int, length: int) -> bytes:
        nonlocal left
        left -= 1
        assert left, "the reader goes round in a cycle"
        return read_at(offset, length)

    return read


def table_of(pack: bytes, fmt: str = "sha1") -> EntryTable:
    """Return the table after a first pass over the pack."""
    table = EntryTable(FORMATS[fmt])
    assert table.extend(list(PackStream(Limits(), FORMATS[fmt]).feed(pack))) == []
    return table


def mixed(fmt: str) -> tuple[bytes, list[bytes]]:
    """Return a pack with every kind of entry header, and what each entry inflates to."""
    pack = PackBuilder(fmt)
    small = pack.add("blob", SMALL)
    large = pack.add("blob", LARGE, header_pad=3)
    empty = pack.add("blob", b"")
    long_delta = delta(len(LARGE), len(LARGE), insert(bytes(reversed(LARGE))))
    deltas = [delta(len(SMALL), 5, insert(b"abcde")), delta(0, 1, insert(b"x")), long_delta]
    pack.add_ofs(small, deltas[0])
    pack.add_ref(empty, deltas[1])
    pack.add_ofs(large, deltas[2])
    return pack.build(), [SMALL, LARGE, b"", *deltas]


@pytest.mark.parametrize("fmt", FORMATS)
def test_entries_are_read_as_they_were(fmt: str) -> None:
    pack, contents = mixed(fmt)
    reader = EntryReader(table_of(pack, fmt), reading(pack))
    for number in [*range(len(contents)), *reversed(range(len(contents)))]:
        assert reader.read(number) == contents[number]


@pytest.mark.parametrize(
    "stream",
    [packs.stored, packs.several_flushes, lambda data: packs.padded(data, 200)],
    ids=["stored", "flushed", "padded"],
)
@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "large"])
def test_odd_streams_are_read_as_well(data: bytes, stream: Callable[[bytes], bytes]) -> None:
    pack = PackBuilder()
    pack.add("blob", data, deflate=stream(data))
    built = pack.build()
    assert EntryReader(table_of(built), reading(built)).read(0) == data


def test_no_byte_outside_of_the_entry_is_asked_for() -> None:
    pack, contents = mixed("sha1")
    table = table_of(pack)
    asked: list[tuple[int, int]] = []

    def read_at(offset: int, length: int) -> bytes:
        asked.append((offset, length))
        return pack[offset : offset + length]

    reader = EntryReader(table, read_at)
    for number in range(len(contents)):
        asked.clear()
        reader.read(number)
        start, length = table.span(number)
        assert asked[0][0] == start
        assert all(start <= at and at + size <= start + length for at, size in asked)
        # What is longer than one piece is read twice: the CRC comes before the first inflated byte.
        again = max(0, length - asked[0][1])
        assert sum(size for _, size in asked) == length + again


@pytest.mark.parametrize("given", [b"", b"\xff" * 60, b"\xf0"], ids=repr)
def test_a_header_that_changed_is_refused_whatever_is_asked_of_it(given: bytes) -> None:
    base = packs.outside("blob", SMALL)
    pack = PackBuilder()
    pack.add_ref(base, delta(len(SMALL), 5, insert(b"abcde")))
    data = pack.build()
    honest = EntryReader(table_of(data), reading(data))
    changed = EntryReader(table_of(data), lambda *_: given)
    assert (honest.reference(0), honest.size(0)) == (base.oid, 8)
    for ask in (changed.reference, changed.size, changed.read):
        with pytest.raises(PackError) as caught:
            ask(0)
        assert (caught.value.code, caught.value.offset) == (codes.INPUT_CHANGED, 12)


def other_stream(entry: bytes, data: bytes) -> bytes:
    """The same content with the same header, from another compressor."""
    return entry[:1] + zlib.compress(data, 9)[: len(entry) - 1]


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "a flipped bit in the header": lambda e: packs.flip(e, 0, 0x10),
    "a flipped size": lambda e: packs.flip(e, 0, 0x01),
    "a flipped bit in the stream": lambda e: packs.flip(e, len(e) // 2),
    "a flipped checksum": lambda e: packs.flip(e, -1),
    "nothing at all": lambda _: b"",
    "one byte less": lambda e: e[:-1],
    "half of it": lambda e: e[: len(e) // 2],
    "one byte": lambda e: e[:1],
    "zeros": lambda e: bytes(len(e)),
    "a header that does not end": lambda e: b"\xff" * len(e),
    "an offset delta": lambda e: b"\xe5\x80" + e[2:],
    "a reference delta without its id": lambda e: b"\x75" * min(5, len(e)),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("number", range(6))
def test_other_bytes_than_in_the_first_pass_are_refused(name: str, number: int) -> None:
    pack, _contents = mixed("sha1")
    table = table_of(pack)
    start, length = table.span(number)
    changed = CHANGES[name](pack[start : start + length])

    def read_at(offset: int, size: int) -> bytes:
        return changed[offset - start : offset - start + size]

    with pytest.raises(PackError) as caught:
        EntryReader(table, read_at).read(number)
    assert caught.value.code is codes.INPUT_CHANGED
    assert caught.value.code.klass == 6
    assert caught.value.offset == start


def test_the_same_content_from_another_compressor_is_a_change_too() -> None:
    text = b"some text, some text, some more text" * 9
    one, two = (PackBuilder() for _ in range(2))
    one.add("blob", text, deflate=packs.stored(text))
    # Flush blocks make the other stream exactly as long.
    gap = len(packs.stored(text)) - len(zlib.compress(text))
    filler = packs.padded(text, gap // 5)
    two.add("blob", text, deflate=filler)
    table = table_of(one.build())
    with pytest.raises(PackError) as caught:
        EntryReader(table, reading(two.build())).read(0)
    assert caught.value.code is codes.INPUT_CHANGED


def test_a_change_late_in_a_long_entry_is_refused() -> None:
    pack, _contents = mixed("sha1")
    table = table_of(pack)
    start, length = table.span(1)
    assert length > 600_000
    changed = packs.flip(pack, start + length - 5)
    with pytest.raises(PackError) as caught:
        EntryReader(table, reading(changed)).read(1)
    assert caught.value.code is codes.INPUT_CHANGED


def changing(pack: bytes, other: bytes, looks: int) -> ReadAt:
    """Return a reader of a pack that becomes another one when an entry is begun again."""
    seen: list[int] = []

    def read(offset: int, length: int) -> bytes:
        seen.append(offset)
        return (pack if len(seen) <= looks else other)[offset : offset + length]

    return read


@pytest.mark.parametrize("how", ["cut short", "another stream", "zeros"])
@pytest.mark.parametrize("looks", [1, 2, 3, 4])
def test_a_change_while_a_long_entry_is_read_is_refused(how: str, looks: int) -> None:
    # Three looks for the checksum; what is inflated after them must be the same bytes.
    one, two = PackBuilder(), PackBuilder()
    for pack, data in ((one, LARGE), (two, LARGE[:-1] + b"!")):
        pack.add("blob", data, level=0)
    honest, other = one.build(), two.build()
    assert len(honest) == len(other)
    changed = {
        "cut short": honest[:300_000],
        "another stream": other,
        "zeros": honest[:300_000] + bytes(len(honest) - 300_000),
    }[how]
    reader = EntryReader(table_of(honest), changing(honest, changed, looks))
    with pytest.raises(PackError) as caught:
        reader.read(0)
    assert (caught.value.code, caught.value.offset) == (codes.INPUT_CHANGED, 12)


# --- whole objects --------------------------------------------------------------------------------


def resolved(pack: bytes, fmt: str = "sha1", options: Options | None = None) -> EntryTable:
    verifier = Verifier(options or Options(object_format=FORMATS[fmt]))
    verifier.feed(pack)
    verifier.finish(reading(pack))
    assert verifier.table.unresolved == 0
    return verifier.table


@pytest.mark.parametrize("fmt", FORMATS)
def test_every_object_is_rebuilt_from_its_chain(fmt: str) -> None:
    example = packs.small_honest(fmt)
    table = resolved(example.pack, fmt)
    objects = ObjectReader(table, reading(example.pack), lambda _: None)
    for number, handle in enumerate(example.handles):
        assert objects.read(number) == handle.data


def thin() -> tuple[bytes, packs.Handle, list[packs.Handle]]:
    pack = PackBuilder()
    base = packs.outside("blob", b"an object that the other side has\n")
    first = pack.add_ref(base, packs.edit(base.data, 0, 2, b"one")[0])
    second = pack.add_ofs(first, packs.edit(first.data, 4, 2, b"two")[0])
    return pack.build(), base, [first, second]


def test_a_base_outside_of_the_pack_is_asked_for() -> None:
    pack, base, handles = thin()
    table = resolved(pack, options=Options(read_base=lambda _: (3, base.data)))
    objects = ObjectReader(table, reading(pack), {base.oid: base.data}.get)
    assert [objects.read(number) for number in (0, 1)] == [handle.data for handle in handles]
    nothing = ObjectReader(table, reading(pack), lambda _: None)
    assert [nothing.read(number) for number in (0, 1)] == [None, None]


def test_a_deep_chain_is_rebuilt_without_recursion() -> None:
    example = packs.chain(3_000)
    options = Options(limits=Limits(changes={"delta_depth": 3_000}))
    table = resolved(example.pack, options=options)
    objects = ObjectReader(table, reading(example.pack), lambda _: None)
    assert objects.read(3_000) == example.handles[3_000].data


@pytest.mark.parametrize("whole_first", [False, True])
def test_a_cycle_that_a_whole_copy_resolves_does_not_keep_the_reader(whole_first: bool) -> None:
    # By id, each of the two deltas rests on the other; found first, the whole copy ends it.
    one, two = packs.outside("blob", b"one of two"), packs.outside("blob", b"the other one")
    pack = PackBuilder()
    if whole_first:
        pack.add("blob", one.data)
    pack.add_ref(two, delta(len(two.data), len(one.data), insert(one.data)), one.data)
    pack.add_ref(one, delta(len(one.data), len(two.data), insert(two.data)), two.data)
    if not whole_first:
        pack.add("blob", one.data)
    built = pack.build()
    table = resolved(built)
    objects = ObjectReader(table, counted(reading(built)), lambda _: None)
    for number in range(len(table)):
        content = objects.read(number)
        assert content is None or packs.oid("blob", bytes(content)) == table.oid(number)


@pytest.mark.parametrize("given", [b"", b"\xff", b"\x70", b"\xff" * 50, bytes(50), b"\x60\x01\x00"])
def test_a_file_that_changed_gives_a_refusal_and_nothing_else(given: bytes) -> None:
    example = packs.small_honest()
    table = resolved(example.pack)
    read_at = counted(lambda _at, _length: given)
    objects = ObjectReader(table, read_at, lambda _: None)
    for number in range(len(table)):
        with pytest.raises(PackError) as caught:
            objects.read(number)
        assert caught.value.code is codes.INPUT_CHANGED


def test_the_bytes_that_are_made_are_counted() -> None:
    example = packs.chain(3)
    size = len(example.handles[0].data)
    table = resolved(example.pack)
    objects = ObjectReader(table, reading(example.pack), lambda _: None)
    step = len(EntryReader(table, reading(example.pack)).read(3))
    made = []
    for number in (0, 0, 2, 3, 1):
        before = objects.work
        objects.read(number)
        made.append(objects.work - before)
    # The base counts as well, and so do the bytes of a delta, many times over. What stands alone is
    # read again, what stands on a chain is kept.
    one = size + 128 * step
    assert made == [size, size, size + 2 * one, one, 0]


def test_of_a_long_chain_little_is_kept() -> None:
    example = packs.chain(100)
    size = len(example.handles[0].data)
    table = resolved(example.pack)
    objects = ObjectReader(table, reading(example.pack), lambda _: None, room=10 * (size + 200))
    for number in [*range(101), *range(100, -1, -1)]:
        assert objects.read(number) == example.handles[number].data
        assert len(objects._kept) <= 10  # noqa: SLF001 - the bound itself


def test_large_objects_are_not_kept() -> None:
    pack = PackBuilder()
    blob = pack.add("blob", bytes(2 << 20))
    change, _ = packs.edit(blob.data, 5, 1, b"x")
    pack.add_ofs(blob, change)
    built = pack.build()
    objects = ObjectReader(resolved(built), reading(built), lambda _: None)
    for _ in range(3):
        before = objects.work
        objects.read(1)
        assert objects.work - before > 4 << 20


def test_an_object_whose_base_is_gone_is_lost_at_its_entry() -> None:
    pack, base, handles = thin()
    table = resolved(pack, options=Options(read_base=lambda _: (3, base.data)))
    objects = ObjectReader(table, reading(pack), lambda _: None)
    assert objects.read(1) is None
    error = objects.lost(1)
    assert (error.code, error.offset) == (codes.CORRUPT_BASE_OBJECT, handles[1].offset)
    assert error.code.klass == 6
