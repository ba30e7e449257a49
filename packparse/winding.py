"""Links that go up again after a name, followed in the whole tree of each commit.

Read as text such a target (``d/../../x``) stays in the tree, and still it leaves it where a name on
the way is a link: of the commit, or of the base, which the commit turned into one. So the trees are
searched for them, those of the base included, and each is followed as a kernel does (follow.py).
"""

from __future__ import annotations

from packparse import links, modes, pathcodes
from packparse.follow import entry_at, leaves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from packparse.findings import Findings
    from packparse.limits import Limits
    from packparse.suspects import Suspects
    from packparse.trees import Trees

__all__ = ["Winding"]

# Places of such links that are judged, in all trees together; honest ones have a handful.
_MOST_PLACES = 10_000


class _TooMuch(Exception):  # noqa: N818 - ends a search, and is no error of a caller
    """The search would cost more than comparing trees may."""


class Winding:
    """Judges the winding links of some trees.

    Links that are suspected stand in ``suspects.through``; those that were followed are taken out.
    Where the search would cost too much all stay. ``unread`` says whether a folder or link could
    not be read.
    """

    def __init__(
        self, trees: Trees, findings: Findings, suspects: Suspects, limits: Limits
    ) -> None:
        self._trees = trees
        self._findings = findings
        self._suspects = suspects
        self._limits = limits
        self._most = limits.files * 8
        self._work = 0
        # Raw id of a blob -> its content, where it goes up again after a name.
        self._targets: dict[bytes, bytes | None] = {}
        self._places: set[tuple[bytes, bytes]] = set()
        self.unread = False

    def judge(self, roots: Sequence[bytes], base_roots: Sequence[bytes], *, must: bool) -> None:
        """Follow all winding links of ``roots``; what leaves those of the bases is inherited.

        Raises PackError (tooManyFiles) where that costs too much and it ``must`` be known; else
        the findings stay.
        """
        try:
            self._search(roots)
            found = self._follow(roots, base_roots)
        except _TooMuch:
            if must:
                what = "following links costs as much as"
                raise self._limits.passed("files", self._limits.files + 1, what) from None
            return
        if not self.unread:
            for oid in self._targets:
                self._suspects.through.pop(oid, None)
        for (path, oid), new in sorted(found.items()):
            self._suspects.through.pop(oid, None)
            message = "leaves the tree by way of another link"
            finding = self._findings.add(
                pathcodes.SYMLINK_ESCAPES, message, oid=oid, path=path, detail=path
            )
            if finding is not None and not new:
                self._findings.inherit(finding)

    def _count(self, units: int) -> None:
        self._work += units
        if self._work > self._most:
            raise _TooMuch

    def _search(self, roots: Iterable[bytes]) -> None:
        stack = [(root, b"") for root in roots]
        seen = set(stack)
        while stack:
            oid, prefix = stack.pop()
            entries = self._trees.entries(oid)
            if entries is None:
                self.unread = True
                continue
            self._count(len(entries))
            for name, (mode, target) in entries.items():
                kind = mode & modes.TYPE
                step = (target, prefix + name + b"/")
                if kind == modes.FOLDER and step not in seen:
                    # What is held takes memory: a few bytes a unit.
                    self._count(50 + len(prefix) + len(name))
                    seen.add(step)
                    stack.append(step)
                elif kind == modes.LINK and self._is_winding(target):
                    self._places.add((prefix + name, target))
                    if len(self._places) > _MOST_PLACES:
                        raise _TooMuch

    def _is_winding(self, oid: bytes) -> bool:
        if oid not in self._targets:
            self._count(100)
            # A longer one is a finding of its own.
            content = self._trees.blob(oid, links.LONGEST)
            self.unread |= content is None and self._trees.size(oid) <= links.LONGEST
            winding = links.read_target(content).through if content else ()
            self._targets[oid] = content if winding else None
        return self._targets[oid] is not None

    def _follow(
        self, roots: Sequence[bytes], base_roots: Sequence[bytes]
    ) -> dict[tuple[bytes, bytes], bool]:
        """The places from which a tree is left, and whether that is new there."""
        found: dict[tuple[bytes, bytes], bool] = {}
        for path, oid in sorted(self._places):
            ways = self._ways(roots, path, oid)
            if ways:
                found[path, oid] = bool(ways - self._ways(base_roots, path, oid))
        return found

    def _ways(self, roots: Iterable[bytes], path: bytes, oid: bytes) -> set[tuple[bytes, bytes]]:
        """All that the link at a path leads to outside of some trees."""
        target = self._targets[oid] or b""
        ways = set()
        for root in roots:
            entry = entry_at(self._trees, root, path, self._count)
            if entry is None or (entry[0] & modes.TYPE, entry[1]) != (modes.LINK, oid):
                continue
            way = leaves(self._trees, root, path, target, self._count)
            if way is not None:
                ways.add(way)
        return ways
