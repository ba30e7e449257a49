"""The trees of a range beside those of its bases: what is new, inherited, or against the policy.

Each commit's tree is walked together with the bases' trees at the same paths; what is the same
there is passed over. An oddity that a base has at the same path is inherited. A folder of the other
side that is put at another path is looked into as well: a harmless link may leave the tree there.
"""

from __future__ import annotations

from packparse import checks, links, modes, pathcodes
from packparse.entry import TREE
from packparse.escape import shorten
from packparse.memo import Memo
from packparse.objects import gitattributes, treecheck
from packparse.objects.shape import ATTRIBUTES, LINK, MODULES
from packparse.oddity import Oddity
from packparse.special import content_oddities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from packparse.changes import Changes
    from packparse.findings import Findings
    from packparse.limits import Limits
    from packparse.pack import Pack
    from packparse.policy import Policy
    from packparse.suspects import Suspects
    from packparse.trees import Entries, Trees

    # Raw id of a tree or None where it is gone, the bases' trees at its path (each base's, empty
    # where it has none; or nothing at all), its path.
    Step = tuple[bytes | None, tuple[bytes, ...], bytes]

__all__ = ["Comparison"]

# Where a way may go on elsewhere.
_WAYS = frozenset((modes.LINK, modes.SUBMODULE))
# What a base has at a path where it has nothing.
_NOTHING = (0, b"")
# Oddities that are kept of the bases' trees, about 5 MB.
_KEPT = 10_000
# Files of the other side that are met at new paths and not measured, in one tree.
_MOST_ONCE = 200_000
# Bytes of what is remembered as judged, about.
_PLAIN = 16 << 20


class Comparison:
    """Walks the trees of a range.

    ``base_roots`` are the bases' trees. Where these cannot be read, ``trust_outside`` takes what is
    not in the pack for unchanged. ``unread`` counts trees that could not be read, ``links_changed``
    says whether a link or submodule is new, changed or gone. Raises PackError: inputChanged,
    restoredTooMuch, pathTooLong, treeTooDeep, expandedTooLarge, and tooManyFiles where comparing
    costs more than that limit allows.
    """

    def __init__(
        self,
        pack: Pack,
        trees: Trees,
        findings: Findings,
        suspects: Suspects,
        *,
        policy: Policy,
        limits: Limits,
        base_roots: Iterable[bytes],
        trust_outside: bool,
    ) -> None:
        self.unread = 0
        self.links_changed = False
        self._pack = pack
        self._trees = trees
        self._findings = findings
        self._suspects = suspects
        self._policy = policy
        self._limits = limits
        self._base_roots = tuple(dict.fromkeys(base_roots))
        self._trust_outside = trust_outside
        self._changes: Changes | None = None
        self._seen: set[Step] = set()
        self._work = 0
        # About the bytes that the steps take.
        self._held = 0
        self._had: Memo[tuple[bytes, ...], set[tuple[object, bytes]]] = Memo(_KEPT, _KEPT >> 2)
        # Plain files of the pack that were judged: commit after commit has them at the same path.
        self._plain: set[tuple[bytes, tuple[int, bytes]]] = set()
        self._plain_room = _PLAIN
        # Bytes of files of the other side at new paths, since the last root.
        self._moved = 0
        self._once: set[bytes] = set()
        # What policy says of paths: refused for a reason, or sensitive and what was done to them.
        self._refused: dict[bytes, str] = {}
        self._sensitive: dict[bytes, bytes] = {}

    def walk(self, roots: Iterable[bytes], changes: Changes | None = None) -> None:
        """Compare each of ``roots`` with the bases, and list what is new in ``changes``."""
        self._changes = changes
        for root in roots:
            self._moved = 0
            self._once.clear()
            self._walk(root)

    def _walk(self, root: bytes) -> None:
        stack: list[Step] = []
        steps: Iterator[Step] = iter([(root, self._base_roots, b"")])
        while True:
            # Step by step, so that no more of them are made than the limit allows.
            for step in steps:
                if step not in self._seen:
                    self._seen.add(step)
                    self._held += 300 + len(step[2]) + 8 * len(step[1])
                    self._count(0)
                    stack.append(step)
            if not stack:
                return
            steps = self._visit(*stack.pop())

    def _visit(self, oid: bytes | None, bases: tuple[bytes, ...], path: bytes) -> Iterator[Step]:
        """Compare one tree with the bases' trees at its path; yield the steps below it."""
        entries: Entries | None = {}
        if oid is not None:
            entries = self._trees.entries(oid)
            if entries is None:
                # A tree of the other side that cannot be read, or what is no tree at all.
                self.unread += 1
                return
            self._judge_tree(oid, bases, path)
        befores = list(map(self._before, bases))
        self._count(len(entries or {}) * (1 + len(bases)) + sum(map(len, befores)))
        # Files that are to be listed are looked at each time.
        plain = self._plain if self._changes is None else frozenset()
        remembered = 0
        for name, entry in (entries or {}).items():
            inside = path + name
            if (inside, entry) in plain:
                # What was below it in a base, where that was a folder, was gone over then as well.
                remembered += _path_units(inside)
                continue
            before = [tree.get(name, _NOTHING) for tree in befores]
            yield from self._entry(inside, *entry, before)
        # As much as it counted the first time: limits do not depend on what is remembered.
        self._count(remembered)
        # What one of the bases does not have either is not gone.
        for name in befores[0] if befores else ():
            if name not in (entries or {}) and all(name in tree for tree in befores):
                yield from self._gone(path + name, [tree[name] for tree in befores])

    def _before(self, oid: bytes) -> Entries:
        if not oid:
            return {}
        entries = self._trees.entries(oid)
        if entries is None:
            self.unread += 1
        return entries or {}

    def _count(self, units: int) -> None:
        """Count work: a unit for each entry that is the same, some more for one that is not."""
        self._work += units
        # A unit is about a microsecond; with the default limits the steps may take 64 MB.
        seen = max(self._work // 8, self._held // 64)
        if seen > self._limits.files:
            raise self._limits.passed("files", seen, "comparing the trees costs as much as")

    def _entry(
        self, path: bytes, mode: int, oid: bytes, before: list[tuple[int, bytes]]
    ) -> list[Step]:
        folders = _folders(before)
        is_folder = mode & modes.TYPE == modes.FOLDER
        if (mode, oid) in before or self._passes_as_old(mode, oid):
            self._suspects.visit(oid)
            # Nothing is new below it; what the pack has of it once more is met there.
            same = is_folder and self._pack.kind(oid) == TREE
            return [(oid, (oid,), path + b"/")] if same and (mode, oid) in before else []
        self._check_length(path)
        if is_folder:
            if _are_files(before):
                self._gone_file(path)
            self._note_links(before)
            return [(oid, folders, path + b"/")]
        self._changed(path, mode, oid, before)
        # A file where a folder was.
        return [(None, folders, path + b"/")] if folders else []

    def _passes_as_old(self, mode: int, oid: bytes) -> bool:
        return (
            self._trust_outside
            and mode & modes.TYPE != modes.SUBMODULE
            and self._pack.kind(oid) is None
        )

    def _gone(self, path: bytes, before: list[tuple[int, bytes]]) -> list[Step]:
        folders = _folders(before)
        self._note_links(before)
        if _are_files(before):
            self._gone_file(path)
        return [(None, folders, path + b"/")] if folders else []

    def _note_links(self, before: list[tuple[int, bytes]]) -> None:
        """Note that a link or submodule of a base is not as it was: links may lead elsewhere."""
        self.links_changed |= any(kind & modes.TYPE in _WAYS for kind, _target in before)

    def _gone_file(self, path: bytes) -> None:
        if self._changes is not None:
            self._changes.add_file(None, path)
        self._check_path(path, b"deleted")

    def _changed(self, path: bytes, mode: int, oid: bytes, before: list[tuple[int, bytes]]) -> None:
        before = [entry for entry in before if entry is not _NOTHING]
        self._check_path(path, b"changed" if before else b"added")
        flags = self._pack.examiner.reader.flags(b"%o" % mode, path.rpartition(b"/")[2])
        self.links_changed |= mode & modes.TYPE in _WAYS
        self._note_links(before)
        moved = self._pack.kind(oid) is None
        if not (moved or flags):
            self._remember(path, mode, oid)
        if moved and mode & modes.TYPE != modes.SUBMODULE:
            self._count_bytes(oid)
        self._judge_content(path, flags, oid, before)
        changes = self._changes
        if changes is None:
            return
        changes.add_file(None if moved else self._pack.size(oid), path)
        if _is_executable(mode) and not any(_is_executable(kind) for kind, _target in before):
            changes.add("executables", path)
        elif mode & modes.TYPE == modes.LINK:
            changes.add("symlinks", path, (self._content(oid) or b"")[:4_096])
        elif mode & modes.TYPE == modes.SUBMODULE:
            changes.add("submodules", path, oid)
        content = self._content(oid) if flags & ATTRIBUTES else None
        if content is not None:
            for pattern, setting in gitattributes.read(content).active:
                changes.add("attributes", path, pattern + b" " + setting)

    def _remember(self, path: bytes, mode: int, oid: bytes) -> None:
        """Note that a file with no special content was judged at this path, beside the bases."""
        self._plain_room -= 200 + len(path)
        if self._plain_room > 0:
            self._plain.add((path, (mode, oid)))

    def _count_bytes(self, oid: bytes) -> None:
        """Count a file of the other side that stands where it did not, from its second place on.

        All files together at one place each take no more than they did.
        """
        if oid not in self._once and len(self._once) < _MOST_ONCE:
            self._once.add(oid)
            return
        self._count(40)
        self._moved += self._trees.size(oid)
        if self._moved > self._limits.expanded_bytes:
            what = "files of the other side at new paths have"
            raise self._limits.passed("expanded_bytes", self._moved, what)

    def _check_path(self, path: bytes, what: bytes) -> None:
        self._count_path(path)
        reason = self._policy.refuses_path(path)
        if reason is not None:
            self._refused.setdefault(path, reason)
        if self._policy.is_sensitive(path):
            self._sensitive.setdefault(path, what)
            if self._changes is not None:
                self._changes.add("sensitive", path, what)

    def _count_path(self, path: bytes) -> None:
        self._count(_path_units(path))

    def tell_paths(self) -> None:
        """After all walks: report paths that matter to the policy, each once, sorted."""
        for path, reason in sorted(self._refused.items()):
            message = f"{shorten(path)}: {reason}"
            self._findings.add(checks.PATH_NOT_ALLOWED, message, path=path, detail=path)
        for path, what in sorted(self._sensitive.items()):
            message = f"{shorten(path)} is sensitive, and was {what.decode()}"
            self._findings.add(checks.SENSITIVE_PATH, message, path=path, detail=path)

    def _check_length(self, path: bytes) -> None:
        limits = self._limits
        if len(path) > limits.path_bytes:
            raise limits.passed("path_bytes", len(path), "a path has")
        depth = path.count(b"/") + 1
        if depth > limits.tree_depth:
            raise limits.passed("tree_depth", depth, "the tree has a depth of at least")

    # Inherited or new

    def _judge_tree(self, oid: bytes, bases: tuple[bytes, ...], path: bytes) -> None:
        suspects = self._suspects
        suspects.visit(oid)
        if self._pack.kind(oid) is None:
            self._judge_moved(oid, bases, path)
        elif oid in suspects.by_id:
            had = self._tree_oddities(bases)
            for _flags, finding in suspects.by_id[oid]:
                if (finding.code, finding.detail) not in had:
                    suspects.refuse(finding, path + (finding.detail or b"").partition(b"\0")[0])

    def _judge_moved(self, oid: bytes, bases: tuple[bytes, ...], path: bytes) -> None:
        """A tree of the other side at a path where it was not: its names are new there."""
        had = self._tree_oddities(bases)
        content = self._trees.content(oid, TREE) or b""
        for oddity in treecheck.oddities(content, self._pack.table.width, self._limits):
            if (oddity.code, oddity.detail) not in had:
                self._add(oddity, oid, path + oddity.detail.partition(b"\0")[0])

    def _tree_oddities(self, trees: tuple[bytes, ...]) -> set[tuple[object, bytes]]:
        """What the bases' trees at one path have; that of the last few is kept."""
        known = self._had.get(trees)
        if known is None:
            known = self._read_oddities(trees)
            self._had.keep(trees, known, len(known) + 1)
        return known

    def _read_oddities(self, trees: tuple[bytes, ...]) -> set[tuple[object, bytes]]:
        return {
            (oddity.code, oddity.detail)
            for base in filter(None, trees)
            for oddity in treecheck.oddities(
                self._trees.content(base, TREE) or b"", self._pack.table.width, self._limits
            )
        }

    def _judge_content(
        self, path: bytes, flags: int, oid: bytes, before: list[tuple[int, bytes]]
    ) -> None:
        """A special file or link whose content is not the bases' at this path."""
        suspects = self._suspects
        if not suspects.wanted:
            return  # nothing outside can be read, and what is in the pack was judged there
        suspects.visit(oid)
        flags &= LINK | MODULES | ATTRIBUTES
        if not flags:
            return
        # What a folder of the other side names, and how deep a link stands, shows here alone.
        asked = [f for flag, f in suspects.by_id.get(oid, ()) if flags & flag]
        # What was no link there, or no file, has nothing to pass on.
        name = path.rpartition(b"/")[2]
        reader = self._pack.examiner.reader
        like = [target for mode, target in before if reader.flags(b"%o" % mode, name) & flags]
        depth = path.count(b"/")
        had = {(odd.code, odd.detail) for odd in self._content_oddities(flags, depth, like)}
        fresh = {
            (odd.code, odd.detail): odd
            for odd in self._content_oddities(flags, depth, [oid])
            if (odd.code, odd.detail) not in had
        }
        # An escape is one only where the link stands near enough to the root.
        for finding in asked:
            key = finding.code, finding.detail or b""
            if key in fresh or (key not in had and finding.code is not pathcodes.SYMLINK_ESCAPES):
                suspects.refuse(finding, path)
        told = {(finding.code, finding.detail or b"") for finding in asked}
        for key, oddity in fresh.items():
            if key not in told:
                self._add(oddity, oid, path)

    def _content_oddities(self, flags: int, depth: int, oids: list[bytes]) -> Iterator[Oddity]:
        for oid in oids:
            content = self._content(oid)
            if content is None:
                continue
            for flag in (LINK, MODULES, ATTRIBUTES):
                if flags & flag:
                    yield from self._odd_content(flag, oid, content)
            if flags & LINK and links.read_target(content).climbs > depth:
                message = f"leaves the tree from {depth} folders deep"
                yield Oddity(pathcodes.SYMLINK_ESCAPES, links.detail(content), message)

    def _odd_content(self, flag: int, oid: bytes, content: bytes) -> list[Oddity]:
        known = self._suspects.odd.get((flag, oid))
        if known is None:
            self._count(len(content) // 2)
            known = content_oddities(flag, content)
            self._suspects.odd.keep((flag, oid), known, len(known) + 1)
        return known

    def _content(self, oid: bytes) -> bytes | None:
        """The content of a link or special file; None where it is longer than these may be."""
        content = self._trees.blob(oid, self._limits.special_bytes)
        if content is not None:
            self._count(50 + len(content) // 4)
        return content

    def _add(self, oddity: Oddity, oid: bytes, path: bytes) -> None:
        self._findings.add(
            oddity.code, oddity.message, oid=oid, path=path, limit=oddity.limit,
            detail=oddity.detail,
        )  # fmt: skip


def _path_units(path: bytes) -> int:
    """The work of judging a path."""
    return 10 + len(path) // 8


def _folders(before: list[tuple[int, bytes]]) -> tuple[bytes, ...]:
    """The different trees of the bases at a path, an empty id for bases without one.

    None at all where no base has one.
    """
    folders = dict.fromkeys(
        target if kind & modes.TYPE == modes.FOLDER else b"" for kind, target in before
    )
    return tuple(folders) if any(folders) else ()


def _are_files(before: list[tuple[int, bytes]]) -> bool:
    """Whether every base, and there is one, has something at a path that is no folder."""
    kinds = [kind & modes.TYPE for kind, _target in before]
    return bool(kinds) and all(kind and kind != modes.FOLDER for kind in kinds)


def _is_executable(mode: int) -> bool:
    """Whether git makes a program of a file: one of the bits will do."""
    return mode & modes.TYPE == modes.FILE and bool(mode & 0o100)
