"""A memory of what was made before, which takes a bounded amount of room."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    K = TypeVar("K")
    V = TypeVar("V")

__all__ = ["Memo"]


class Memo(dict["K", "V"]):
    """Values by key. ``most`` is the room for all, ``largest`` that of a value that is kept.

    Both are in whatever units :meth:`keep` is told. A memory that is full is emptied: what is asked
    for again soon comes back soon, and nothing has to be noted when a value is used.
    """

    __slots__ = ("_largest", "_most", "_room")

    def __init__(self, most: int, largest: int | None = None) -> None:
        super().__init__()
        self._most = self._room = most
        self._largest = most if largest is None else largest

    def keep(self, key: K, value: V, size: int = 1) -> V:
        """Keep a value that is not there, if it is not too large; return it."""
        if size <= self._largest:
            self._room -= size
            if self._room < 0:
                self.clear()
                self._room = self._most - size
            self[key] = value
        return value
