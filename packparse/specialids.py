"""Ids of the entries whose content decides, until all objects are known; special.py reads them."""

from __future__ import annotations

from packparse.objects.shape import ATTRIBUTES, LINK, MODULES
from packparse.table import split_ids

__all__ = ["SpecialIds"]

_FLAGS = (LINK, MODULES, ATTRIBUTES)
# Ids that are not kept once more; a thousand versions of a folder name the same files.
_RECENT = 1 << 12


class SpecialIds:
    """Raw ids of special entries, packed by flag; most of them once."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._ids = {flag: bytearray() for flag in _FLAGS}
        self._recent: set[tuple[int, bytes]] = set()

    def __bool__(self) -> bool:
        return any(self._ids.values())

    def add(self, flags: int, oid: bytes) -> None:
        """Keep the id of an entry with these flags."""
        if (flags, oid) in self._recent:
            return
        if len(self._recent) == _RECENT:
            self._recent.clear()
        self._recent.add((flags, oid))
        for flag in _FLAGS:
            if flags & flag:
                self._ids[flag] += oid

    def columns(self) -> list[bytearray]:
        """The packed ids of each flag, in an order that is always the same."""
        return list(self._ids.values())

    def distinct(self, flag: int) -> list[bytes]:
        """The ids of one flag, each once, sorted."""
        return sorted(set(split_ids(self._ids[flag], self._width)))
