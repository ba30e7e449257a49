"""Deltas that were inflated in the first pass, kept for the second."""

from __future__ import annotations

from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.workers import Column, Worker

__all__ = ["DeltaStore"]

# The dictionary's slot and the objects themselves, beside the delta.
_KEPT = 120


class DeltaStore:
    """Inflated deltas, as many as fit into ``budget`` bytes, so that they need no second look.

    A delta is given out once.
    """

    def __init__(self, budget: int) -> None:
        self._budget = self._room = budget
        self._kept: dict[int, bytes | bytearray] = {}

    def offer(self, number: int, delta: bytes | bytearray) -> None:
        """Keep the delta of an entry if there is room."""
        cost = len(delta) + _KEPT
        if cost <= self._room:
            self._room -= cost
            self._kept[number] = delta

    def take(self, number: int) -> bytes | bytearray | None:
        """The delta of an entry, if it was kept and is still here."""
        return self._kept.pop(number, None)

    def apart(self) -> DeltaStore:
        """An empty one with the same budget."""
        return DeltaStore(self._budget)

    def columns(self) -> list[Column]:
        """What is kept, to be sent: numbers, lengths, and the deltas back to back."""
        kept = self._kept
        return [array("I", kept), array("I", map(len, kept.values())), b"".join(kept.values())]

    def take_over(self, worker: Worker, first: int) -> None:
        """Keep what another one has sent, while there is room; its entry 0 is ``first`` here."""
        numbers, lengths, packed = array("I"), array("I"), bytearray()
        for column in (numbers, lengths, packed):
            worker.column(column)
        at = 0
        view = memoryview(packed)
        for number, length in zip(numbers, lengths, strict=True):
            self.offer(first + number, bytes(view[at : at + length]))
            at += length
