"""Trees by id, from the pack or from the trusted side, taken apart and kept for a while."""

from __future__ import annotations

from packparse import paths
from packparse.entry import BLOB, COMMIT, TREE
from packparse.errors import PackError
from packparse.limits import Limits
from packparse.memo import Memo
from packparse.objects import commit, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.outside import Outside
    from packparse.pack import Pack

    # Names to (mode as git reads it, raw id).
    Entries = dict[bytes, tuple[int, bytes]]
    # Names folded to all entries that have them.
    Folded = dict[bytes, list[tuple[int, bytes]]]

__all__ = ["Trees"]

# Entries kept, some 300 bytes each, and those of the largest tree that is kept.
_KEPT = 50_000
_LARGEST_KEPT = 25_001
# Entries that may be taken apart, as a multiple of the limit on files, and bytes of one at least.
_MOST_READ = 16
_ENTRY_BYTES = 28
# Spellings of modes that are remembered.
_MOST_MODES = 1_000
# A base may be a merge that no candidate may be.
_LIMITS = Limits("history")


class _Modes(dict[bytes, int]):
    """Numbers of modes, as git reads them; the few that there are, are remembered."""

    def __missing__(self, mode: bytes) -> int:
        number = int(mode, 8) & 0xFFFF
        if len(self) < _MOST_MODES:
            self[mode] = number
        return number


class Trees:
    """Reads trees and the roots of commits, wherever they are.

    Raises PackError: inputChanged, corruptBaseObject, restoredTooMuch; and tooManyFiles where all
    trees that are taken apart have many times as many entries as that limit allows.
    """

    def __init__(self, pack: Pack, outside: Outside, limits: Limits) -> None:
        self._limits = limits
        self._missing: Memo[tuple[bytes, int], None] = Memo(_KEPT)
        self._work = 0
        self._modes = _Modes()
        self._pack = pack
        self._outside = outside
        # A tree has one more than its entries, for an empty one takes room as well.
        self._kept: Memo[bytes, Entries] = Memo(_KEPT, _LARGEST_KEPT)
        self._folded: Memo[bytes, Folded] = Memo(_KEPT, _LARGEST_KEPT)
        self._sizes: Memo[bytes, int] = Memo(_KEPT)

    def content(self, oid: bytes, kind: int) -> bytes | bytearray | None:
        """The content of an object of ``kind``; None where it cannot be had."""
        found = self._pack.kind(oid)
        if found is not None:
            return self._pack.read(oid) if found == kind else None
        if (oid, kind) in self._missing:
            return None
        content = self._outside.content(oid, kind)
        if content is None:
            # It may be a gigabyte of another kind, and be asked for again and again.
            self._missing.keep((oid, kind), None)
        return content

    def size(self, oid: bytes) -> int:
        """The size of a blob in bytes; 0 where it cannot be had."""
        size = self._pack.size(oid)
        if size is None:
            size = self._sizes.get(oid)
        if size is None:
            size = self._sizes.keep(oid, self._outside.size(oid) or 0)
        return size

    def blob(self, oid: bytes, most: int) -> bytes | None:
        """The content of a blob; None where it cannot be had, or has more than ``most`` bytes."""
        if self.size(oid) > most:
            return None
        content = self.content(oid, BLOB)
        return None if content is None else bytes(content)

    def entries(self, oid: bytes) -> Entries | None:
        """The entries of a tree; of two with one name the first. None where it cannot be had."""
        kept = self._kept.get(oid)
        if kept is not None:
            return kept
        content = self.content(oid, TREE)
        if content is None:
            return None
        entries: Entries = {}
        modes = self._modes
        for mode, name, target in tree.entries(content, self._pack.table.width):
            if name not in entries:
                entries[name] = (modes[mode], target)
        self._count(len(content) // _ENTRY_BYTES + 1)
        return self._kept.keep(oid, entries, len(entries) + 1)

    def folded(self, oid: bytes) -> Folded:
        """The entries of a tree by their names folded; none where it cannot be had."""
        kept = self._folded.get(oid)
        if kept is not None:
            return kept
        index: Folded = {}
        entries = self.entries(oid) or {}
        for name, entry in entries.items():
            index.setdefault(paths.fold(name), []).append(entry)
        # Folding a name beyond ASCII takes a tenth of a microsecond a byte.
        beyond = sum(len(name) for name in entries if not name.isascii())
        self._count(len(entries) + beyond // 4)
        return self._folded.keep(oid, index, len(entries) + 1)

    def _count(self, entries: int) -> None:
        """Count entries that were taken apart, each about half a microsecond."""
        self._work += entries
        if self._work > _MOST_READ * self._limits.files:
            what = "reading trees again and again costs as much as"
            raise self._limits.passed("files", self._work // _MOST_READ, what)

    def root(self, oid: bytes) -> bytes | None:
        """The id of a commit's tree; None where the commit cannot be had, or has none."""
        content = self.content(oid, COMMIT)
        if content is None:
            return None
        try:
            return commit.links(content, self._pack.table.width, _LIMITS)[0]
        except PackError:
            # Malformed: in the pack it is a finding already, outside it is not ours to judge.
            return None
