"""The links of commits, trees and tags, packed: 20 or 32 bytes a link, 9 for each run of them.

There is one column for each kind of target, so that the kind of a link costs nothing. An object's
links to one kind lie together, which is called a row here.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import compress

from packparse.entry import BLOB, COMMIT, TAG, TREE
from packparse.table import NO_ENTRY, split_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BATCH", "LinkColumn", "LinkTable"]

# Ids that are Python objects at one time, about 12 MiB of them; in large packs an eighth of the
# objects, so that the passes over the table stay in proportion to the links.
BATCH = 1 << 17

# Ids that are Python objects at one time in a search.
_PIECE = 1 << 13


class LinkColumn:
    """All links to objects of one kind.

    ``ids`` holds the targets, packed; row ``r`` belongs to entry ``sources[r]`` and ends at link
    ``ends[r]``. A row made from another one by exchanging a few ids has ``derived[r]`` set, and
    these ids stand in ``exchanged`` as well: who wants to see every target once need not go
    through derived rows.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.ids = bytearray()
        self.sources = array("I")
        self.ends = array("I")
        self.derived = bytearray()
        self.exchanged = bytearray()

    def __len__(self) -> int:
        return len(self.ids) // self.width

    def add(self, source: int, ids: bytes, exchanged: bytes | None = None) -> None:
        """Add one row: the targets of entry ``source``, packed; and what was exchanged in it.

        Where more than an eighth was exchanged, the row counts as one of its own: what is kept
        twice stays little.
        """
        if exchanged is not None and len(exchanged) << 3 > len(ids):
            exchanged = None
        packed = self.ids
        packed += ids
        self.sources.append(source)
        self.ends.append(len(packed) // self.width)
        self.derived.append(exchanged is not None)
        if exchanged:
            self.exchanged += exchanged

    def distinct_runs(self) -> Iterator[memoryview]:
        """Packed ids in which every target stands at least once."""
        view = memoryview(self.ids)
        width = self.width
        derived = self.derived
        row = 0
        while row < len(derived):
            after = derived.find(1, row)
            last = len(derived) if after < 0 else after
            # Never empty: derived rows are passed over below, and the first row is not derived.
            first = self.ends[row - 1] if row else 0
            yield view[first * width : self.ends[last - 1] * width]
            row = last
            while row < len(derived) and derived[row]:
                row += 1
        yield memoryview(self.exchanged)

    def batches(self, most: int) -> Iterator[set[bytes]]:
        """All targets of the column, each batch a set of about ``most``; one may be in several."""
        batch: set[bytes] = set()
        for view in self.distinct_runs():
            for at in range(0, len(view), _PIECE * self.width):
                batch.update(split_ids(view[at : at + _PIECE * self.width], self.width))
                if len(batch) >= most:
                    yield batch
                    batch = set()
        yield batch

    def links_to(self, wanted: set[bytes]) -> Iterator[tuple[int, bytes]]:
        """All links to one of ``wanted``, as (entry, target), in the order they were added."""
        # Not bytes.find: ids can be made so that it hits between two of them again and again.
        view = memoryview(self.ids)
        for first in range(0, len(self), _PIECE):
            piece = split_ids(view[first * self.width : (first + _PIECE) * self.width], self.width)
            hits = wanted.intersection(piece)
            if hits:
                for at in compress(range(len(piece)), map(hits.__contains__, piece)):
                    yield self.sources[bisect_right(self.ends, first + at)], piece[at]

    def rows(self, size: int) -> array[int]:
        """For each of ``size`` entries the number of its row, or NO_ENTRY."""
        numbers = array("I", [NO_ENTRY]) * size
        for row, source in enumerate(self.sources):
            numbers[source] = row
        return numbers

    def row(self, number: int) -> memoryview:
        """The packed targets of one row."""
        first = self.ends[number - 1] if number else 0
        return memoryview(self.ids)[first * self.width : self.ends[number] * self.width]


class LinkTable:
    """The links of one pack, by kind of target: ``columns[kind]``; ``total`` counts them all."""

    def __init__(self, width: int) -> None:
        self.columns = {kind: LinkColumn(width) for kind in (COMMIT, TREE, BLOB, TAG)}
        self.total = 0
        self._width = width

    def add(self, kind: int, source: int, ids: bytes, exchanged: bytes | None = None) -> None:
        """Add the links of entry ``source`` to objects of ``kind``, if there are any."""
        if ids:
            self.columns[kind].add(source, ids, exchanged)
            self.total += len(ids) // self._width
