"""Where a symbolic link of a tree leads, followed name by name and through other links.

For the few links that go up again after a name: read as text such a target stays in the tree, and
still it leaves it where the name is a link itself.
"""

from __future__ import annotations

from packparse import links, modes, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from packparse.trees import Entries, Trees

__all__ = ["entry_at", "leaves"]

# As many links as Linux follows; then it gives up.
_MOST_LINKS = 40
# In the place of a folder's id.
_SUBMODULE = b""


def entry_at(
    trees: Trees, root: bytes, path: bytes, count: Callable[[int], None]
) -> tuple[int, bytes] | None:
    """Mode and raw id of what a tree has at a path; None where there is nothing to be seen.

    ``count`` is told of the work in microseconds, about, and may raise.
    """
    entry: tuple[int, bytes] | None = (modes.FOLDER, root)
    for part in path.split(b"/"):
        if entry is None or entry[0] & modes.TYPE != modes.FOLDER:
            return None
        entries = trees.entries(entry[1]) or {}
        count(1 + len(entries) // 4)
        entry = entries.get(part)
    return entry


def leaves(
    trees: Trees, root: bytes, path: bytes, target: bytes, count: Callable[[int], None]
) -> bool:
    """Whether the link at ``path`` of the tree ``root`` leads out of it.

    True also where that cannot be told, since a folder or link on the way cannot be read. ``count``
    is told of the work in microseconds, about, and may raise.
    """
    if _Walk(trees, root, path, count).leaves(target):
        return True
    # On Windows a backslash separates as well, in this target or one on the way.
    return _Walk(trees, root, path, count, windows=True).leaves(target)


class _Walk:
    """The folders from the root to the one that a walk is in.

    None for what is no folder, an empty id for a submodule.
    """

    def __init__(
        self,
        trees: Trees,
        root: bytes,
        path: bytes,
        count: Callable[[int], None],
        *,
        windows: bool = False,
    ) -> None:
        self._windows = windows
        self._trees = trees
        self._count = count
        self._folders: list[bytes | None] = [root]
        for part in path.split(b"/")[:-1]:
            entries = self._entries() or {}
            self._folders.append(entries[part][1] if part in entries else None)

    def leaves(self, target: bytes) -> bool:
        """Whether following ``target`` goes above the root, or cannot be followed to its end."""
        followed = 0
        waiting = paths.parts(target, windows=self._windows)[::-1]
        if paths.is_absolute(target):
            return True
        while waiting:
            part = waiting.pop()
            if part in {b"", b"."}:
                continue
            if part == b"..":
                if len(self._folders) == 1:
                    return True
                self._folders.pop()
                continue
            if self._folders[-1] == _SUBMODULE:
                # Of what is in there nothing is known: any name may be a link.
                return b".." in waiting
            further = self._step(part)
            if further is None:
                continue
            followed += 1
            if followed > _MOST_LINKS:
                return False
            if not further or paths.is_absolute(further):
                return True
            waiting += paths.parts(further, windows=self._windows)[::-1]
        return False

    def _step(self, name: bytes) -> bytes | None:
        """Go into what has this name; where that is a link, return its target: empty if unread."""
        entries = {} if self._folders[-1] is None else self._entries()
        if entries is None:
            return b""
        self._count(1 + len(entries) // (4 if name in entries else 1))
        mode, oid = _find(entries, name)
        if mode & modes.TYPE == modes.LINK:
            return self._trees.blob(oid, links.LONGEST) or b""
        kind = mode & modes.TYPE
        if kind == modes.SUBMODULE:
            self._folders.append(_SUBMODULE)
        else:
            self._folders.append(oid if kind == modes.FOLDER else None)
        return None

    def _entries(self) -> Entries | None:
        folder = self._folders[-1]
        return None if folder is None else self._trees.entries(folder)


def _find(entries: Entries, name: bytes) -> tuple[int, bytes]:
    """The entry of a name; where there is none, one that some file system takes for it."""
    if name in entries:
        return entries[name]
    fold = paths.fold(name)
    return next((entry for other, entry in entries.items() if paths.fold(other) == fold), (0, b""))
