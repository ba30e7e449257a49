"""The entries of a pack in memory: compact arrays, about 55 bytes an entry with a SHA-1 id.

A Python object for each entry would take ten times that, and a set of a million ids alone takes
93 MiB. So every column is one array, and an entry is its number in the order of the pack.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from struct import unpack

from packparse.entry import OFS_DELTA, REF_DELTA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packparse.entry import Entry
    from packparse.objectformat import ObjectFormat
    from packparse.workers import Worker

__all__ = ["NO_ENTRY", "OUTSIDE", "EntryTable", "IdIndex", "split_ids"]

# In a column of entry numbers: no entry, and an object that is not in the pack.
NO_ENTRY = 0xFFFF_FFFF
OUTSIDE = 0xFFFF_FFFE
_PIECE = 1 << 13
# What a column of sizes can hold.
_LARGEST = 0xFFFF_FFFF


def split_ids(packed: bytes | bytearray | memoryview, width: int) -> tuple[bytes, ...]:
    """The raw ids that lie back to back in ``packed``, one bytes object each."""
    return unpack(f"{width}s" * (len(packed) // width), packed)


class EntryTable:
    """All entries of one pack in the order of their offsets.

    Columns: ``offsets`` in the file · ``kinds``: the entry's own kind until a delta is rebuilt,
    then the kind of the object · ``sizes`` in bytes of an object once it is known, at most 32 bits
    of it · ``crcs`` of the entry's bytes · ``ids`` packed, zeros until known
    · ``bases``: the number of a delta's base, or OUTSIDE; for a reference delta that is not
    resolved its number in ``waiting``, which holds the ids of these bases, packed.
    """

    def __init__(self, object_format: ObjectFormat) -> None:
        self.object_format = object_format
        self.width = object_format.width
        self.offsets = array("Q")
        self.kinds = bytearray()
        self.sizes = array("I")
        self.crcs = array("I")
        self.ids = bytearray()
        self.bases = array("I")
        self.waiting = bytearray()
        self.end = 0
        self.deltas = 0
        self.unresolved = 0
        self._no_id = bytes(self.width)

    def __len__(self) -> int:
        return len(self.kinds)

    def extend(self, entries: Sequence[Entry]) -> list[int]:
        """Add the next entries; return the offset deltas among them whose base is no earlier entry.

        A whole batch at once: that is three times as quick as one entry at a time.
        """
        if not entries:
            return []
        first = len(self)
        offsets, ends, kinds, sizes, crcs, oids, bases, _data = zip(*entries, strict=True)
        self.offsets.extend(offsets)
        self.kinds += bytes(kinds)
        if max(sizes) > _LARGEST:
            sizes = tuple(min(size, _LARGEST) for size in sizes)
        self.sizes.extend(sizes)
        self.crcs.extend(crcs)
        no_id = self._no_id
        self.ids += b"".join([oid or no_id for oid in oids])
        self.end = ends[-1]
        numbers = [
            NO_ENTRY if base is None else self._base_number(base, number)
            for number, base in enumerate(bases, first)
        ]
        self.bases.extend(numbers)
        deltas = len(bases) - bases.count(None)
        self.deltas += deltas
        self.unresolved += deltas
        if deltas == len(numbers) - numbers.count(NO_ENTRY):
            return []
        return [
            number
            for number, base in enumerate(bases, first)
            if base is not None and self.bases[number] == NO_ENTRY
        ]

    def columns(self) -> list[bytearray | array[int]]:
        """All columns, to be sent; the bases come last."""
        arrays = self.offsets, self.sizes, self.crcs
        return [*arrays, self.kinds, self.ids, self.waiting, self.bases]

    def take_over(self, worker: Worker, end: int, deltas: int) -> None:
        """Put the columns of another table behind these; its entries end at offset ``end``.

        ``deltas`` counts those among them. Bases that are OUTSIDE the other table are the caller's
        to fill in.
        """
        first, waiting = len(self), len(self.waiting) // self.width
        for column in self.columns()[:-1]:
            worker.column(column)
        bases = array("I")
        worker.column(bases)
        self.bases.extend(
            base if base >= OUTSIDE else base + (waiting if kind == REF_DELTA else first)
            for base, kind in zip(bases, self.kinds[first:], strict=True)
        )
        self.end = end
        self.deltas += deltas
        self.unresolved += deltas

    def number_at(self, offset: int) -> int | None:
        """The number of the entry that begins at ``offset``; None if none does."""
        found = bisect_left(self.offsets, offset)
        return found if found < len(self) and self.offsets[found] == offset else None

    def _base_number(self, base: int | bytes, number: int) -> int:
        if isinstance(base, bytes):
            self.waiting += base
            return len(self.waiting) // self.width - 1
        found = bisect_left(self.offsets, base, 0, number)
        return found if found < number and self.offsets[found] == base else NO_ENTRY

    def resolve(self, number: int, kind: int, oid: bytes, base: int, size: int) -> None:
        """Say what the delta ``number`` turned out to be, and on which entry it rests."""
        self.kinds[number] = kind
        self.sizes[number] = min(size, _LARGEST)
        self.bases[number] = base
        self.ids[number * self.width : (number + 1) * self.width] = oid
        self.unresolved -= 1

    def is_resolved(self, number: int) -> bool:
        """Whether the entry's object is known."""
        return self.kinds[number] not in (OFS_DELTA, REF_DELTA)

    def oid(self, number: int) -> bytes:
        """The raw id of an entry; zeros where it is not known."""
        return bytes(self.ids[number * self.width : (number + 1) * self.width])

    def base_id(self, number: int) -> bytes:
        """The raw id of the base of a reference delta that is not resolved."""
        at = self.bases[number] * self.width
        return bytes(self.waiting[at : at + self.width])

    def span(self, number: int) -> tuple[int, int]:
        """Offset and length of the bytes of an entry in the file."""
        offset = self.offsets[number]
        after = number + 1
        end = self.offsets[after] if after < len(self.offsets) else self.end
        return offset, end - offset

    def pieces(self) -> Iterator[tuple[tuple[bytes, ...], bytearray]]:
        """The ids and kinds of all entries, a batch at a time."""
        width = self.width
        view = memoryview(self.ids)
        for at in range(0, len(self), _PIECE):
            ids = split_ids(view[at * width : (at + _PIECE) * width], width)
            yield ids, self.kinds[at : at + _PIECE]

    def count(self, kind: int) -> int:
        """How many entries have this kind."""
        return self.kinds.count(kind)

    def sorted_ids(self) -> list[bytes]:
        """The raw ids of all objects, sorted, as ``git show-index`` lists them."""
        return sorted(split_ids(self.ids, self.width))


class IdIndex:
    """Positions in a run of packed ids, found by id. Four bytes an id, and few more to build."""

    def __init__(self, ids: bytes | bytearray, width: int) -> None:
        self._ids = ids
        self._width = width
        self._order, self._fanout, self._distinct = _order(ids, width)

    def __len__(self) -> int:
        return len(self._order)

    def _id(self, position: int) -> bytes:
        at = position * self._width
        return bytes(self._ids[at : at + self._width])

    def find(self, oid: bytes) -> Iterator[int]:
        """All positions at which ``oid`` stands, in rising order."""
        first, last = self._fanout[oid[0]], self._fanout[oid[0] + 1]
        low = bisect_left(self._order, oid, first, last, key=self._id)
        high = bisect_right(self._order, oid, low, last, key=self._id)
        return iter(self._order[low:high])

    def first(self, oid: bytes) -> int | None:
        """The first position at which ``oid`` stands, or None."""
        last = self._fanout[oid[0] + 1]
        at = bisect_left(self._order, oid, self._fanout[oid[0]], last, key=self._id)
        if at == last or self._id(self._order[at]) != oid:
            return None
        return self._order[at]

    def repeated(self) -> Iterator[int]:
        """Every position whose id stands at an earlier one as well."""
        if self._distinct:
            return
        ids = self._ids
        width = self._width
        before = b""
        for position in self._order:
            at = position * width
            oid = bytes(ids[at : at + width])
            if oid == before:
                yield position
            before = oid


def _order(ids: bytes | bytearray, width: int) -> tuple[array[int], list[int], bool]:
    """Positions by id, where those of each first byte begin, and whether all ids are distinct."""
    # In 256 buckets, so that only one bucket's ids are Python objects at a time.
    buckets = [array("I") for _ in range(256)]
    for position, first in enumerate(ids[::width]):
        buckets[first].append(position)
    order = array("I")
    fanout = [0]
    distinct = True
    for bucket in buckets:
        places = {bytes(ids[n * width : (n + 1) * width]): n for n in bucket}
        if len(places) == len(bucket):
            order.extend(map(places.__getitem__, sorted(places)))
        else:
            distinct = False
            order.extend(sorted(bucket, key=lambda n: ids[n * width : (n + 1) * width]))
        fanout.append(len(order))
    return order, fanout, distinct
