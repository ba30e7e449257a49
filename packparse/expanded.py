"""How much a commit's tree is once checked out: files, bytes and depth, by arithmetic alone.

Every tree is counted once, whatever number of paths leads to it, so a "git bomb" of 971 bytes and
10,000,000,000 files (CVE-2017-15298) costs as little as any other pack.
"""

from __future__ import annotations

from itertools import repeat

from packparse.entry import BLOB, TREE
from packparse.objects import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from packparse.errors import PackError
    from packparse.limits import Limits
    from packparse.pack import Pack

__all__ = ["Expansion", "Size", "longest_path", "passed"]

# With more objects than this, looking up every link would take too much memory: then it is done for
# the trees that are asked for, at a higher price for each.
_MOST_AT_ONCE = 1 << 18
# With so many it is always done: that takes 10 MB and a hundredth of a second.
_FEW = 1 << 16


class Size:
    """What a tree is once checked out: ``files`` and folders, ``bytes``, ``depth``.

    ``depth`` is the number of folders on the longest way, the tree itself included; ``path`` the
    length of its longest path in bytes at most.
    """

    __slots__ = ("bytes", "depth", "files", "path")

    def __init__(self, files: int, size: int, depth: int, path: int) -> None:
        self.files = files
        self.bytes = size
        self.depth = depth
        self.path = path


class Expansion:
    """Sizes of the trees of one pack.

    ``at_once`` says that most of them will be asked for. What lies outside the pack was there
    before: a tree counts as one folder, a blob as a file of no bytes. (Where such a tree is put at
    a new path, compare.py goes through it.)
    """

    def __init__(self, pack: Pack, *, at_once: bool) -> None:
        self._pack = pack
        table = pack.table
        self._sizes: dict[int, Size] = {}
        self._numbers: dict[bytes, int] = {}
        if table.count(TREE) and len(table) <= (_MOST_AT_ONCE if at_once else _FEW):
            self._numbers = pack.numbers()

    def of(self, oid: bytes) -> Size | None:
        """The size of a tree; None if it is not in the pack."""
        number = self._number(oid)
        return None if number is None else self._measure(number)

    def _number(self, oid: bytes) -> int | None:
        return self._numbers[oid] if oid in self._numbers else self._slow_number(oid)

    def _slow_number(self, oid: bytes) -> int | None:
        return None if self._numbers else self._pack.index.first(oid)

    def _measure(self, top: int) -> Size:
        """Measure a tree after all those below it; nothing recurses."""
        sizes = self._sizes
        stack = [top]
        while stack:
            number = stack[-1]
            if number in sizes:
                stack.pop()
                continue
            children = list(map(self._number, self._pack.targets(TREE, number)))
            waiting = [child for child in children if child is not None and child not in sizes]
            if waiting:
                stack += waiting
            else:
                sizes[number] = self._sum(number, children)
                stack.pop()
        return sizes[top]

    def _sum(self, number: int, children: list[int | None]) -> Size:
        blobs = self._pack.targets(BLOB, number)
        size = Size(len(blobs) + len(children), self._bytes(blobs), 1, 0)
        longest = self._pack.examiner.reader.longest_name
        for child in children:
            if child is not None:
                below = self._sizes[child]
                size.files += below.files
                size.bytes += below.bytes
                size.depth = max(size.depth, below.depth + 1)
                size.path = max(size.path, below.path + 1)
        size.path += longest
        return size

    def _bytes(self, blobs: tuple[bytes, ...]) -> int:
        sizes = self._pack.table.sizes
        if self._numbers:
            found = map(self._numbers.get, blobs, repeat(None))
        else:
            found = map(self._pack.index.first, blobs)
        return sum(sizes[number] for number in found if number is not None)


def passed(size: Size, limits: Limits) -> Iterator[PackError]:
    """The limits that a commit's tree passes. Its paths are for :func:`longest_path`."""
    if size.files > limits.files:
        yield limits.passed("files", size.files, "the tree expands to")
    if size.bytes > limits.expanded_bytes:
        yield limits.passed("expanded_bytes", size.bytes, "the tree expands to")
    if size.depth > limits.tree_depth:
        yield limits.passed("tree_depth", size.depth, "the tree has a depth of")


def longest_path(pack: Pack, oid: bytes, most: int, lengths: dict[bytes, int]) -> int:
    """The length in bytes of the longest path below a tree, read name by name; stops past ``most``.

    For the rare tree that :attr:`Size.path` cannot clear. ``lengths`` keeps what is known from one
    call to the next, so that no tree is gone through for each that names it.
    """
    stack = [oid]
    while stack:
        top = stack[-1]
        content = pack.read(top) if top not in lengths else None
        if content is None:
            lengths.setdefault(top, 0)
            stack.pop()
            continue
        below = [
            (len(name), target if tree.target_kind(mode) == TREE else None)
            for mode, name, target in tree.entries(content, pack.table.width)
        ]
        waiting = [child for _length, child in below if child is not None and child not in lengths]
        if waiting:
            stack += waiting
            continue
        lengths[top] = max(
            (length + (1 + lengths[child] if child is not None and lengths[child] else 0)
             for length, child in below), default=0,
        )  # fmt: skip
        if lengths[top] > most:
            return lengths[top]
        stack.pop()
    return lengths[oid]
