"""Whether the submodules of a tree and the paths in its .gitmodules go together."""

from __future__ import annotations

from packparse import modes, pathcodes
from packparse.entry import TREE
from packparse.escape import shorten
from packparse.follow import entry_at
from packparse.memo import Memo
from packparse.objects import gitmodules
from packparse.paths import fold, parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from packparse.findings import Findings
    from packparse.limits import Limits
    from packparse.pack import Pack
    from packparse.trees import Folded, Trees

    # A path, the kind of what is tracked there, and where that is a link its raw id.
    Conflict = tuple[bytes, int, bytes]
    # The names on the way of a path, and the path.
    Way = tuple[list[bytes], bytes]

__all__ = ["Submodules"]

_FILE = b".gitmodules"
# Files whose paths are kept; the largest takes 10 MB.
_FILES_KEPT = 4


class Submodules:
    """Compares trees with their own .gitmodules.

    ``base_roots`` are the trees of the bases: what is the same there is inherited. Raises PackError
    (tooManyFiles) where it would cost more than that limit allows.
    """

    def __init__(
        self, pack: Pack, trees: Trees, base_roots: Iterable[bytes], *, limits: Limits
    ) -> None:
        self._pack = pack
        self._trees = trees
        self._base_roots = tuple(base_roots)
        self._limits = limits
        self._holders: set[bytes] = set()
        self._compared = 0
        self._known: Memo[bytes, set[bytes] | None] = Memo(_FILES_KEPT)
        self._named: set[bytes] | None = None
        # Conflicts that the bases have as well; once they are asked for.
        self._had: set[Conflict] | None = None

    def check(self, roots: Iterable[bytes], findings: Findings) -> None:
        """Check each of ``roots``, raw ids of commits' trees."""
        # By file, since a thousand commits may share one, and reading it can take long.
        roots = list(dict.fromkeys(roots))
        self._holders = _holders(self._pack, roots)
        by_file: dict[bytes, list[bytes]] = {}
        for root in roots:
            by_file.setdefault(self._file(root), []).append(root)
        for oid, sharing in by_file.items():
            paths = self._paths(oid)
            if paths is not None:
                self._check_file(paths, sharing, findings)

    def _check_file(self, paths: set[bytes], roots: list[bytes], findings: Findings) -> None:
        """Check the trees whose .gitmodules has these paths."""
        ways = self._ways(paths)
        for root in roots:
            self._check_entries(root, paths, findings)
            for conflict in self._conflicts(root, ways):
                path = conflict[0]
                message = f"{shorten(path)} is in .gitmodules, and something else is tracked there"
                finding = findings.add(
                    pathcodes.SUBMODULE_PATH_CONFLICT, message, path=path, detail=path
                )
                if finding is not None and conflict in self._inherited():
                    findings.inherit(finding)

    def _check_entries(self, root: bytes, paths: set[bytes], findings: Findings) -> None:
        links = dict(self._links(root)) if root in self._holders else {}
        # Below folders that the pack lacks there may be some whose entry was taken out.
        for path in self._base_paths() - paths - links.keys():
            entry = entry_at(self._trees, root, path, self._count)
            if entry is not None and entry[0] & modes.TYPE == modes.SUBMODULE:
                links[path] = entry[1]
        for path, oid in links.items():
            if path not in paths:
                message = f"the submodule {shorten(path)} has no entry in .gitmodules"
                finding = findings.add(
                    pathcodes.GITLINK_WITHOUT_ENTRY, message, path=path, detail=path
                )
                if finding is not None and self._had_link(path, oid):
                    findings.inherit(finding)

    def _had_link(self, path: bytes, oid: bytes) -> bool:
        """Whether a base has the same submodule at this path, without an entry either."""
        return any(
            entry_at(self._trees, root, path, self._count) == (modes.SUBMODULE, oid)
            and path not in (self._paths(self._file(root)) or ())
            for root in self._base_roots
        )

    def _count(self, units: int) -> None:
        self._compared += units
        if self._compared > 4 * self._limits.files:
            what = "comparing .gitmodules with the trees costs as much as"
            raise self._limits.passed("files", self._compared // 4, what)

    def _base_paths(self) -> set[bytes]:
        """The paths in the .gitmodules of all bases."""
        if self._named is None:
            files = {self._file(root) for root in self._base_roots}
            self._named = set().union(*(self._paths(file) or () for file in files))
        return self._named

    def _inherited(self) -> set[Conflict]:
        if self._had is None:
            self._had = {
                conflict
                for root in self._base_roots
                for conflict in self._conflicts(root, self._ways(self._paths(self._file(root))))
            }
        return self._had

    def _file(self, root: bytes) -> bytes:
        """The raw id of a tree's .gitmodules, empty where it has none."""
        return (self._trees.entries(root) or {}).get(_FILE, (0, b""))[1]

    def _paths(self, oid: bytes) -> set[bytes] | None:
        """The paths in a .gitmodules, without slashes at their ends; None where it is not read."""
        if not oid:
            return set()
        if oid in self._known:
            return self._known[oid]
        return self._known.keep(oid, self._read_paths(oid))

    def _read_paths(self, oid: bytes) -> set[bytes] | None:
        content = self._trees.blob(oid, self._limits.special_bytes)
        if content is None:
            return None  # which is a finding of its own
        modules = gitmodules.read(content).submodules.values()
        return {module.path.rstrip(b"/") for module in modules if module.path}

    def _ways(self, paths: set[bytes] | None) -> list[Way]:
        """Paths taken apart as any reader does it, once for all trees that share a file."""
        # No tree has longer ones; and what leads nowhere stands for the tree itself.
        most = self._limits.path_bytes
        split = ((parts(path[:most], windows=True), path) for path in paths or ())
        return [(names, path) for names, path in split if names]

    def _conflicts(self, root: bytes, ways: list[Way]) -> list[Conflict]:
        """Where the tree has something at one of the paths, or a file on the way: no submodule."""
        found: list[Conflict] = []
        # Folder by folder, so that a large one is not taken apart once for each path.
        waiting = {(root, 0): ways}
        while waiting:
            (oid, depth), listed = waiting.popitem()
            self._count(len(listed))
            entries = self._trees.entries(oid) or {}
            alike: Folded | None = None
            for names, path in listed:
                entry = entries.get(names[depth])
                if entry is None:
                    if alike is None:
                        alike = self._trees.folded(oid)
                    same = alike.get(fold(names[depth]))
                    if same is None:
                        continue
                    entry = _worst(same)
                mode, target = entry
                kind = mode & modes.TYPE
                if kind == modes.FOLDER and len(names) > depth + 1:
                    waiting.setdefault((target, depth + 1), []).append((names, path))
                elif kind != modes.SUBMODULE:
                    found.append((path, kind, target if kind == modes.LINK else b""))
        return sorted(found)

    def _links(self, root: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Paths and commits of the submodules in the pack's own part of a tree."""
        stack = [(root, b"")]
        while stack:
            oid, prefix = stack.pop()
            entries = self._trees.entries(oid) or {}
            self._count(1 + len(entries) // 20)
            for name, (mode, target) in entries.items():
                if mode & modes.TYPE == modes.SUBMODULE:
                    self._count(10 + (len(prefix) + len(name)) // 8)
                    yield prefix + name, target
                elif target in self._holders:
                    # What waits takes memory: at most eight bytes a unit.
                    self._count(10 + (len(prefix) + len(name)) // 8)
                    stack.append((target, prefix + name + b"/"))


def _worst(entries: Iterable[tuple[int, bytes]]) -> tuple[int, bytes]:
    """Of entries that some system takes for one a link, if there is any."""
    is_link = {entry[0] & modes.TYPE == modes.LINK: entry for entry in entries}
    return is_link.get(True) or is_link[False]


def _holders(pack: Pack, roots: Iterable[bytes]) -> set[bytes]:
    """The trees of the pack, from ``roots`` down, that have a submodule in them."""
    above: dict[bytes, list[bytes]] = {root: [] for root in roots}
    waiting = list(above)
    for oid in waiting:
        number = pack.index.first(oid)
        if number is None:
            continue
        for below in pack.targets(TREE, number):
            if below not in above:
                above[below] = []
                waiting.append(below)
            above[below].append(oid)
    holders: set[bytes] = set()
    found = [oid for oid in pack.examiner.submodules if oid in above]
    while found:
        oid = found.pop()
        if oid not in holders:
            holders.add(oid)
            found += above[oid]
    return holders
