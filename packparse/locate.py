"""Where an object stands: its path from the root of a commit, for findings that name an id.

Slow on purpose: it searches the packed links backwards, once for each folder on the way up, and
reads the trees that it passes. It runs for the first few findings only.
"""

from __future__ import annotations

from packparse.entry import COMMIT, TREE
from packparse.objects import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.graph import LinkTable
    from packparse.reader import ObjectReader
    from packparse.table import EntryTable

__all__ = ["Locator"]

# Folders on the way up, and bytes of a path; what is deeper or longer is not looked for.
_DEEPEST = 128
_LONGEST = 4_096
# Work of all searches together, in bytes of links gone through: one or two seconds. A byte of a
# tree that is made and read again costs as much as 16 of them.
_WORK = 1 << 29
_TREE_BYTE = 16


class Locator:
    """Places of the targets of links in one resolved pack."""

    def __init__(self, table: EntryTable, links: LinkTable, objects: ObjectReader) -> None:
        self._table = table
        self._links = links
        self._objects = objects
        self._work = _WORK

    def find(self, kind: int, oid: bytes) -> tuple[int | None, bytes | None]:
        """Where ``oid``, an object of ``kind``, is named: (offset of an entry that does, path).

        The path is one at which a commit's tree names it; that tree itself has the empty path. None
        for commits, for what only a tag names, and where the search would cost too much. Raises
        PackError (inputChanged).
        """
        source = self._source(kind, oid)
        if source is None:
            return None, None
        path = None if kind == COMMIT else self._path(source, oid)
        return self._table.offsets[source], path

    def _path(self, source: int, oid: bytes) -> bytes | None:
        parts: list[bytes] = []
        length = 0
        step: int | None = source
        while step is not None and len(parts) <= _DEEPEST and length <= _LONGEST:
            if self._table.kinds[step] != TREE:
                is_commit = self._table.kinds[step] == COMMIT
                return b"/".join(reversed(parts)) if is_commit else None
            name = self._name_in(step, oid)
            if name is None:
                return None
            parts.append(name)
            length += len(name) + 1
            oid = self._table.oid(step)
            step = self._source(TREE, oid)
        return None

    def _source(self, kind: int, oid: bytes) -> int | None:
        column = self._links.columns[kind]
        self._work -= len(column.ids)
        return next(column.sources_of(oid), None) if self._work >= 0 else None

    def _name_in(self, number: int, oid: bytes) -> bytes | None:
        before = self._objects.work
        content = self._objects.read(number)
        self._work -= (self._objects.work - before) * _TREE_BYTE
        if content is None or self._work < 0:
            return None
        entries = tree.entries(content, self._table.width)
        return next((name for _mode, name, target in entries if target == oid), None)
