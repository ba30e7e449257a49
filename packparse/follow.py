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

# Linux gives up after 40 links, Windows after 63, some programs later.
_MOST_LINKS = 100
# Before a submodule's commit, in the place of a folder's id, and before what is not known.
_SUBMODULE = b"submodule\0"
_UNKNOWN = b"unknown\0"


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
) -> tuple[bytes, bytes] | None:
    """How the link at ``path`` of the tree ``root`` leads out of it; None where it does not.

    What it says is for comparing alone: where it leads to above the root, or what it is that cannot
    be read or told apart on the way; on a system with slashes, and on Windows, where a backslash
    separates as well. ``count`` is told of the work in microseconds, about, and may raise.
    """
    found = _Walk(trees, root, path, count).leaves(target)
    on_windows = _Walk(trees, root, path, count, windows=True).leaves(target)
    return (found, on_windows) if found or on_windows else None


class _Walk:
    """The folders from the root to the one that a walk is in.

    None for what is no folder, a submodule's commit as bytes that begin with a mark.
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

    def leaves(self, target: bytes) -> bytes:
        """Where following ``target`` leaves the root, or cannot be followed; empty if nowhere."""
        if paths.is_absolute(target):
            return target
        waiting = self._split(target)
        seen: set[tuple[object, ...]] = set()
        while waiting:
            part = waiting.pop()
            if part == b"..":
                if len(self._folders) == 1:
                    return b"/".join((part, *waiting[::-1]))
                self._folders.pop()
                continue
            inside = self._folders[-1]
            if inside is not None and inside.startswith(_SUBMODULE):
                # Of what is in there nothing is known: any name may be a link.
                return inside + b"/".join((part, *waiting[::-1])) if b".." in waiting else b""
            further = self._step(part)
            if further is None:
                continue
            if not further or further.startswith(_UNKNOWN) or paths.is_absolute(further):
                return further or _UNKNOWN
            waiting += self._split(further)
            # A ring leads nowhere; a long chain some systems follow, and others do not.
            state = (*self._folders, b"", *waiting)
            if state in seen:
                return b""
            seen.add(state)
            if len(seen) > _MOST_LINKS:
                return _UNKNOWN
        return b""

    def _split(self, target: bytes) -> list[bytes]:
        """The names of a target, the last one first."""
        self._count(1 + len(target) // 8)
        return paths.parts(target, windows=self._windows)[::-1]

    def _step(self, name: bytes) -> bytes | None:
        """Go into what has this name; where that is a link, return its target.

        Where that cannot be told, what it is that is not known, behind a mark.
        """
        folder = self._folders[-1]
        if folder is None:
            self._folders.append(None)
            return None
        entries = self._trees.entries(folder)
        if entries is None:
            return _UNKNOWN + folder
        self._count(1)
        # Some file systems take other names for this one.
        alike = self._trees.folded(folder).get(paths.fold(name), [])
        if len(alike) > 1 and not _is_one(alike):
            return _UNKNOWN + folder + name
        mode, oid = entries.get(name) or (alike[0] if alike else (0, b""))
        kind = mode & modes.TYPE
        if kind == modes.LINK:
            target = self._trees.blob(oid, links.LONGEST)
            return _UNKNOWN + oid if target is None else target
        if kind == modes.SUBMODULE:
            self._folders.append(_SUBMODULE + oid)
        else:
            self._folders.append(oid if kind == modes.FOLDER else None)
        return None

    def _entries(self) -> Entries | None:
        folder = self._folders[-1]
        return None if folder is None else self._trees.entries(folder)


def _is_one(alike: list[tuple[int, bytes]]) -> bool:
    """Whether it makes no difference which of several entries a system takes."""
    kinds = [mode & modes.TYPE for mode, _oid in alike]
    return not {modes.LINK, modes.SUBMODULE} & {*kinds} and kinds.count(modes.FOLDER) < 2
