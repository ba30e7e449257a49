"""Where objects stand: paths from the root of a commit, for findings that know an id.

All findings together: the packed links are searched backwards once for each folder on the way up,
and then the trees on the ways are read for the names. No verdict depends on it.
"""

from __future__ import annotations

from packparse.entry import BLOB, COMMIT, TAG, TREE
from packparse.objects import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.findings import Finding
    from packparse.graph import LinkTable
    from packparse.objects.tree import TreeReader
    from packparse.pack import Objects
    from packparse.table import EntryTable

__all__ = ["Places"]

# Folders on the way up, and bytes of a path; what is deeper or longer is not looked for.
_DEEPEST = 128
_LONGEST = 4_096
# Work of all searches together, in bytes of links gone through: one or two seconds. A byte of a
# tree that is made and read again costs as much as 16 of them.
_WORK = 1 << 29
_TREE_BYTE = 16
# Trees looked into for the one that has a blob as what it was found to be.
_OTHERS = 8


class _Wish:
    """A finding, the object whose place is its place, and the name in it or the entry's flags."""

    __slots__ = ("finding", "flags", "kind", "name", "oid")

    def __init__(self, finding: Finding, kind: int, oid: bytes, name: bytes, flags: int) -> None:
        self.finding = finding
        self.kind = kind
        self.oid = oid
        self.name = name
        self.flags = flags


class Places:
    """Collects findings whose place is wanted, and fills the places in."""

    def __init__(self) -> None:
        self._wishes: list[_Wish] = []

    def want(
        self, finding: Finding | None, kind: int, oid: bytes, *, name: bytes = b"", flags: int = 0
    ) -> None:
        """Ask for the place of ``oid``, an object of ``kind``, or of entry ``name`` in that tree.

        ``flags`` are those of tree.py that the entry should have which names the object. A finding
        that was not kept is None. The place of a very long name is not looked for.
        """
        if finding is not None and len(name) <= _LONGEST:
            self._wishes.append(_Wish(finding, kind, oid, name, flags))

    def fill(
        self, table: EntryTable, links: LinkTable, objects: Objects, reader: TreeReader
    ) -> None:
        """Fill in paths, and the offset of an entry that names the object where none is known.

        A path is one at which a commit's tree names the object; that tree itself has the empty
        path. None for commits, for what only a tag names or nothing does, and where the search
        would cost too much. Raises PackError (inputChanged).
        """
        if self._wishes:
            search = _Search(table, links, objects, reader)
            for wish in self._wishes:
                search.wanted[wish.kind].add(wish.oid)
                if wish.flags:
                    search.flags[wish.oid] = wish.flags
            search.run()
            for wish in self._wishes:
                search.grant(wish)
            self._wishes.clear()


class _Search:
    """One search for the places of many objects."""

    def __init__(
        self, table: EntryTable, links: LinkTable, objects: Objects, reader: TreeReader
    ) -> None:
        self.wanted: dict[int, set[bytes]] = {kind: set() for kind in (COMMIT, TREE, BLOB, TAG)}
        self.flags: dict[bytes, int] = {}
        self._table = table
        self._links = links
        self._objects = objects
        self._reader = reader
        self._work = _WORK
        # (kind, id) -> an entry that names the object.
        self._named_by: dict[tuple[int, bytes], int] = {}
        self._names: dict[tuple[int, bytes, int], bytes | None] = {}
        # A few of the entries that name a blob: it may be a link here, and a file there.
        self._others: dict[bytes, list[int]] = {}

    def run(self) -> None:
        """Find out what names each object, and what names that, up to the roots."""
        self._search(BLOB, self.wanted[BLOB])
        for oid, flags in self.flags.items():
            self._prefer(oid, flags)
        sources = [self._named_by.get((BLOB, oid)) for oid in self.wanted[BLOB]]
        above = {
            self._table.oid(source)
            for source in sources
            if source is not None and self._table.kinds[source] == TREE
        }
        for kind in (COMMIT, TAG):
            self._search(kind, self.wanted[kind])
        frontier = self.wanted[TREE] | above
        for _ in range(_DEEPEST):
            frontier = {oid for oid in frontier if (TREE, oid) not in self._named_by}
            if not frontier or self._work < 0:
                return
            frontier = self._search(TREE, frontier)

    def _search(self, kind: int, wanted: set[bytes]) -> set[bytes]:
        """Look for what names ``wanted``; return the ids of the trees among that."""
        column = self._links.columns[kind]
        if not wanted or self._work < 0:
            return set()
        self._work -= len(column.ids)
        found = self._named_by
        above: set[bytes] = set()
        left = set(wanted)
        for source, oid in column.links_to(wanted):
            if kind == BLOB:
                others = self._others.setdefault(oid, [])
                if len(others) < _OTHERS:
                    others.append(source)
            # A commit's own tree is the best place there is.
            at_root = kind == TREE and self._table.kinds[source] == COMMIT
            if oid in left or at_root:
                left.discard(oid)
                found[kind, oid] = source
                if self._table.kinds[source] == TREE:
                    above.add(self._table.oid(source))
        return above

    def _prefer(self, oid: bytes, flags: int) -> None:
        """Among the trees that name a blob, take one that has it as what it was found to be."""
        others = self._others.get(oid, ())
        if len(others) < 2:
            return
        for source in others:
            if self._table.kinds[source] == TREE and self._flagged(source, oid, flags) is not None:
                self._named_by[BLOB, oid] = source
                return

    def grant(self, wish: _Wish) -> None:
        """Fill in the place of one finding."""
        finding = wish.finding
        source = self._named_by.get((wish.kind, wish.oid))
        if source is None:
            return
        if finding.offset is None:
            finding.offset = self._table.offsets[source]
        if wish.kind in (COMMIT, TAG) or finding.path is not None:
            return
        path = self._path(wish.kind, wish.oid, wish.flags)
        if path is not None:
            finding.path = b"/".join(part for part in (path, wish.name) if part)

    def _path(self, kind: int, oid: bytes, flags: int) -> bytes | None:
        parts: list[bytes] = []
        length = 0
        while len(parts) <= _DEEPEST and length <= _LONGEST:
            source = self._named_by.get((kind, oid))
            if source is None or self._table.kinds[source] != TREE:
                rooted = source is not None and self._table.kinds[source] == COMMIT
                return b"/".join(reversed(parts)) if rooted else None
            name = self._name_in(source, oid, flags)
            if name is None:
                return None
            parts.append(name)
            length += len(name) + 1
            kind, oid, flags = TREE, self._table.oid(source), 0
        return None

    def _name_in(self, number: int, oid: bytes, flags: int) -> bytes | None:
        known = (number, oid, flags)
        if known not in self._names:
            self._names[known] = self._read_name(number, oid, flags)
        return self._names[known]

    def _read_name(self, number: int, oid: bytes, flags: int) -> bytes | None:
        flagged = self._flagged(number, oid, flags) if flags else None
        if flagged is not None:
            return flagged
        return next((name for _mode, name in self._entries_of(number, oid)), None)

    def _flagged(self, number: int, oid: bytes, flags: int) -> bytes | None:
        """The name of the first entry of a tree that has ``oid`` and one of the flags."""
        entries = self._entries_of(number, oid)
        return next((n for mode, n in entries if self._reader.flags(mode, n) & flags), None)

    def _entries_of(self, number: int, oid: bytes) -> list[tuple[bytes, bytes]]:
        """(Mode, name) of the entries of a tree that name ``oid``; none where work is used up."""
        if self._work < 0:
            return []
        before = self._objects.work
        content = self._objects.read(number)
        self._work -= (self._objects.work - before) * _TREE_BYTE
        if content is None:
            return []
        entries = tree.entries(content, self._table.width)
        return [(mode, name) for mode, name, target in entries if target == oid]
