"""A pack whose objects are all known: its columns, and contents on demand."""

from __future__ import annotations

from itertools import count

from packparse.memo import Memo
from packparse.table import NO_ENTRY, split_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from typing import Protocol

    from packparse.errors import PackError
    from packparse.examine import Examiner
    from packparse.graph import LinkTable
    from packparse.limits import Limits
    from packparse.table import EntryTable, IdIndex

    class Objects(Protocol):
        """Contents by entry: an ObjectReader, or what does the same for loose objects."""

        work: int

        def read(self, number: int) -> bytes | bytearray | None:
            """The content of an entry's object; None where a base cannot be had."""

        def lost(self, number: int) -> PackError:
            """The refusal where ``read`` gave None."""


__all__ = ["Pack"]

# Contents kept for the next question; the same few trees are asked for again and again.
_KEPT = 256
_LARGEST_KEPT = 16 << 10


class Pack:
    """Everything that is known of one pack after its objects were looked into."""

    def __init__(
        self,
        table: EntryTable,
        links: LinkTable,
        examiner: Examiner,
        index: IdIndex,
        objects: Objects,
        limits: Limits,
    ) -> None:
        self.table = table
        self.links = links
        self.examiner = examiner
        self.index = index
        self.objects = objects
        self._limits = limits
        self._kept: Memo[int, bytes | bytearray] = Memo(_KEPT)
        self._rows: dict[int, array[int]] = {}

    def targets(self, kind: int, number: int) -> tuple[bytes, ...]:
        """The ids of objects of ``kind`` that an entry names, in its order."""
        column = self.links.columns[kind]
        rows = self._rows.get(kind)
        if rows is None:
            rows = self._rows[kind] = column.rows(len(self.table))
        row = rows[number]
        return () if row == NO_ENTRY else split_ids(column.row(row), column.width)

    def numbers(self) -> dict[bytes, int]:
        """The entry of each id, for many look-ups: it takes some 130 bytes an object."""
        return dict(zip(split_ids(self.table.ids, self.table.width), count()))

    def kind(self, oid: bytes) -> int | None:
        """The kind of an object of the pack; None if it is not there."""
        number = self.index.first(oid)
        return None if number is None else self.table.kinds[number]

    def size(self, oid: bytes) -> int | None:
        """The size of an object of the pack in bytes; None if it is not there."""
        number = self.index.first(oid)
        return None if number is None else self.table.sizes[number]

    def read(self, oid: bytes) -> bytes | bytearray | None:
        """The content of an object of the pack; None if it is not there."""
        number = self.index.first(oid)
        return None if number is None else self.content(number)

    def content(self, number: int) -> bytes | bytearray:
        """The content of an entry's object. Raises PackError: inputChanged, restoredTooMuch."""
        kept = self._kept.get(number)
        if kept is not None:
            return kept
        content = self.objects.read(number)
        if content is None:
            raise self.objects.lost(number)
        if self.objects.work > self._limits.restored_bytes:
            work = self.objects.work
            raise self._limits.passed("restored_bytes", work, "the objects read again so far have")
        return self._kept.keep(number, content) if len(content) <= _LARGEST_KEPT else content
