"""Looking into each object once its content is known: what it links to, and what it costs."""

from __future__ import annotations

from packparse import codes
from packparse.delta import changed_ranges
from packparse.entry import BLOB, COMMIT, TREE
from packparse.errors import PackError
from packparse.objects import commit, tag, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.findings import Findings
    from packparse.graph import LinkTable
    from packparse.limits import Limits
    from packparse.objects.tree import TreeLinks
    from packparse.table import EntryTable

    # How a tree was made: the content and the links of the tree it rests on, the delta, and where
    # the delta's instructions start.
    Patch = tuple[bytes | bytearray, TreeLinks, bytes | bytearray, int]

__all__ = ["Examiner"]

# A smaller tree is read as quickly as it is patched.
_SMALL_TREE = 1 << 10


class Examiner:
    """Takes the links out of commits, trees and tags into ``links``.

    A malformed object is a finding at its entry, and its links are lost. Raises PackError only for
    the limit on all links together, past which memory is no longer bounded.
    """

    def __init__(
        self, table: EntryTable, links: LinkTable, limits: Limits, findings: Findings
    ) -> None:
        self._table = table
        self._links = links
        self._limits = limits
        self._findings = findings
        self._commits = 0

    def __call__(
        self, number: int, kind: int, content: bytes | bytearray, patch: Patch | None = None
    ) -> TreeLinks | None:
        """Look into the object of entry ``number``.

        ``patch`` says what a tree was made from, where that is known. Returns the links of a
        well-formed tree, for the trees that are made from it.
        """
        try:
            if kind == TREE:
                return self._tree(number, content, patch)
            if kind == COMMIT:
                self._commit(number, content)
            else:
                target_kind, target = tag.link(content, self._table.width)
                self._links.add(target_kind, number, target)
            self._check_total()
        except PackError as error:
            error.at(self._table.offsets[number], self._table.oid(number))
            if error.code is codes.TOO_MANY_LINKS:
                raise
            self._findings.add_error(error)
        return None

    def tree_links(self, content: bytes | bytearray) -> TreeLinks | None:
        """The links of a tree that was looked into before; None if it is malformed."""
        try:
            return tree.links(content, self._table.width, self._limits)
        except PackError:
            return None

    def _commit(self, number: int, content: bytes | bytearray) -> None:
        root, parents = commit.links(content, self._table.width, self._limits)
        self._links.add(TREE, number, root)
        self._links.add(COMMIT, number, parents)
        self._commits += 1
        if self._commits == self._limits.commits + 1:
            raise self._limits.passed("commits", self._commits, "the pack has at least")

    def _tree(self, number: int, content: bytes | bytearray, patch: Patch | None) -> TreeLinks:
        width = self._table.width
        patched = None
        if patch is not None and _is_edit(patch, content):
            base, before, delta, start = patch
            ranges = changed_ranges(delta, start)
            patched = tree.patched_links(before, base, content, ranges, width)
        if patched is None:
            links = tree.links(content, width, self._limits)
            self._links.add(TREE, number, links.trees)
            self._links.add(BLOB, number, links.blobs)
        else:
            links, new_trees, new_blobs = patched
            self._links.add(TREE, number, links.trees, new_trees)
            self._links.add(BLOB, number, links.blobs, new_blobs)
        # Submodules take no memory here, but the time of an entry.
        self._links.total += links.entries - (len(links.trees) + len(links.blobs)) // width
        self._check_total()
        return links

    def _check_total(self) -> None:
        if self._links.total > self._limits.links:
            raise self._limits.passed("links", self._links.total, "the objects so far name")


def _is_edit(patch: Patch, content: bytes | bytearray) -> bool:
    """Whether a tree may differ from its base in ids alone, by a delta worth going through."""
    base, _links, delta, _start = patch
    return len(base) == len(content) > _SMALL_TREE and len(delta) << 1 < len(content)
