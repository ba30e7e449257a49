"""Steps 8 to 14 of verifying a file: what can be said once every object is known.

The numbers are those of verify.py. Steps that only follow from an earlier refusal are left out:
what is missing because an object is malformed, and the comparison of trees that are too large.
"""

from __future__ import annotations

from packparse import checks, pathcodes
from packparse.codes import IGNORE
from packparse.connectivity import check_links
from packparse.entry import BLOB, COMMIT, KIND_NAMES, TAG, TREE
from packparse.escape import shorten
from packparse.expanded import Expansion, longest_path, passed
from packparse.objects.shape import MODULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from packparse.bundle import BundleHeader
    from packparse.codes import Code
    from packparse.compare import Comparison
    from packparse.findings import Findings
    from packparse.limits import Limits
    from packparse.outside import Outside
    from packparse.pack import Pack
    from packparse.places import Places
    from packparse.policy import Policy
    from packparse.report import Report
    from packparse.special import SpecialFiles
    from packparse.suspects import Suspects
    from packparse.trees import Trees

__all__ = ["Judge"]

_SYMLINKS = (
    pathcodes.SYMLINK_ABSOLUTE,
    pathcodes.SYMLINK_BAD_TARGET,
    pathcodes.SYMLINK_ESCAPES,
    pathcodes.SYMLINK_INTO_GIT,
    pathcodes.SYMLINK_TOO_LONG,
)
_SUBMODULES = (pathcodes.GITLINK_WITHOUT_ENTRY, pathcodes.SUBMODULE_PATH_CONFLICT)


class Judge:
    """Judges one pack as a whole.

    ``tips`` are those asked for, ``header`` that of a bundle, which has refs of its own.
    """

    def __init__(
        self,
        pack: Pack,
        outside: Outside,
        report: Report,
        places: Places,
        suspects: Suspects,
        *,
        tips: Mapping[bytes, bytes],
        header: BundleHeader | None,
        policy: Policy,
    ) -> None:
        self._pack = pack
        self._outside = outside
        self._report = report
        self._findings: Findings = report.findings
        self._limits: Limits = report.limits
        self._places = places
        self._suspects = suspects
        self._asked_tips = tips
        self._header = header
        self._policy = policy
        self._made_trees: Trees | None = None
        self._roots_of_bases: list[bytes] | None = None
        # The longest paths of trees, where these had to be read.
        self._lengths: dict[bytes, int] = {}

    def run(self) -> None:
        """Do all steps. Raises PackError where a limit on all of them together is passed."""
        self._check_prerequisites()
        self._check_links()
        self._check_tips()
        if not self._pack.examiner.special:
            self._check_whole()
            return
        special = self._special()
        special.run(with_links=self._matters(_SYMLINKS))
        try:
            self._check_whole()
        finally:
            special.tell_winding()

    @property
    def _trees(self) -> Trees:
        # Most packs have nothing that has to be read again.
        if self._made_trees is None:
            from packparse.trees import Trees

            self._made_trees = Trees(self._pack, self._outside, self._limits)
        return self._made_trees

    def _check_whole(self) -> None:
        lost = self._pack.examiner.lost
        if lost:
            message = f"ranges and sizes were not checked; objects that are malformed: {lost}"
            self._findings.add(checks.LINKS_NOT_CHECKED, message)
            return
        commits, tops = self._check_range()
        # In a long history only what can be checked out by name; each commit of a candidate.
        are_few = len(commits) <= _FEW
        few = commits if are_few else tops
        if self._check_sizes(few, all_trees=are_few):
            self._check_submodules(few)
            self._compare(commits, tops)

    # 8  links

    def _check_prerequisites(self) -> None:
        """The prerequisites of a bundle are the sender's word; the trusted side knows better."""
        if not self._outside.listed:
            return
        for oid in sorted(self._outside.prerequisites):
            if self._outside.kind(oid) not in (0, COMMIT):
                message = "a prerequisite is no commit that the other side has"
                self._findings.add(checks.MISSING_PREREQUISITE, message, oid=oid)

    def _check_links(self) -> None:
        unchecked, untyped = check_links(
            self._pack.table,
            self._pack.links,
            self._findings,
            outside=self._outside,
            places=self._places,
        )
        self._report.unchecked_links = unchecked
        said = []
        if self._outside.prerequisites - self._outside.bases and not self._outside.listed:
            said.append("the prerequisites are the sender's word")
        if unchecked:
            said.append(
                f"objects that are linked to, and may have been given to the producer: {unchecked} "
                "(--known tells which were)"
            )
        if untyped:
            said.append(
                f"known objects whose kind nobody tells: {untyped} (give --base-pack, or the types "
                "in the list)"
            )
        if said:
            self._findings.add(checks.UNCHECKED_LINKS, "not checked: " + "; ".join(said))

    # 9  tips

    def _all_tips(self) -> dict[bytes, bytes]:
        refs = {} if self._header is None else self._header.refs
        return {**refs, **self._asked_tips}

    def _check_tips(self) -> None:
        for name, oid in self._all_tips().items():
            kind = self._pack.kind(oid)
            if kind is None:
                kind = self._outside.kind(oid)
            if kind is None:
                message = f"{shorten(name)} names what is neither in the pack nor a prerequisite"
                self._findings.add(checks.MISSING_TIP, message, oid=oid)
            elif name.startswith(b"refs/heads/") and kind not in (0, COMMIT):
                message = f"{shorten(name)} names a {KIND_NAMES[kind]}"
                self._findings.add(checks.BRANCH_NOT_COMMIT, message, oid=oid)

    # 10  special files and links

    def _special(self) -> SpecialFiles:
        from packparse.special import SpecialFiles

        return SpecialFiles(
            self._pack,
            self._trees,
            self._outside,
            self._findings,
            self._places,
            self._suspects,
            limits=self._limits,
        )

    def _matters(self, codes: Iterable[Code]) -> bool:
        return any(self._findings.severity(code) != IGNORE for code in codes)

    # 11  the range

    def _check_range(self) -> tuple[list[int], list[int]]:
        """Check the range, where there are tips; return the commits whose trees matter, and tops.

        Without tips all commits matter, and tops are those that no other one builds on.
        """
        asked = bool(self._asked_tips and self._outside.bases)
        tips = dict(self._asked_tips) if asked else self._all_tips()
        if asked and self._header is not None:
            self._check_header(self._header)
        if tips:
            from packparse.closure import Range

            commits = Range(self._pack, self._outside, tips, asked=asked)
            commits.check(self._findings)
            return commits.commits, commits.tops
        from packparse.closure import heads

        kinds = self._pack.table.kinds
        return [number for number, kind in enumerate(kinds) if kind == COMMIT], heads(self._pack)

    def _check_header(self, header: BundleHeader) -> None:
        refs, tips = sorted(header.refs.values()), sorted(set(self._asked_tips.values()))
        if refs != tips:
            names = ", ".join(f"{shorten(name)} {oid.hex()}" for name, oid in header.refs.items())
            wanted = ", ".join(oid.hex() for oid in tips)
            message = (
                "the bundle has to have one ref for each tip that was asked for, and no other: "
                f"asked for {wanted[:200]}; in the bundle {names[:500]}"
            )
            self._findings.add(checks.UNEXPECTED_REFS, message)
        other = header.prerequisites.keys() - self._outside.bases
        for oid in sorted(other):
            message = "the bundle builds on another commit than the base"
            self._findings.add(checks.UNEXPECTED_PREREQUISITES, message, oid=oid)

    # 12  submodules and sizes

    def _roots(self, commits: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        for number in commits:
            for root in self._pack.targets(TREE, number):
                yield number, root

    def _base_roots(self) -> list[bytes]:
        if self._roots_of_bases is None:
            bases = sorted(self._outside.bases or self._outside.prerequisites)
            roots = map(self._trees.root, bases)
            self._roots_of_bases = [root for root in roots if root is not None]
        return self._roots_of_bases

    def _check_submodules(self, commits: list[int]) -> None:
        if not self._matters(_SUBMODULES) or self._has_no_submodules():
            return
        from packparse.submodules import Submodules

        Submodules(self._pack, self._trees, self._base_roots(), limits=self._limits).check(
            (root for _number, root in self._roots(commits)), self._findings
        )

    def _has_no_submodules(self) -> bool:
        """Whether no tree that can be read has a submodule or a .gitmodules."""
        examiner = self._pack.examiner
        named = examiner.submodules or examiner.special.distinct(MODULES)
        return not (named or self._outside.readable)

    def _check_sizes(self, commits: list[int], *, all_trees: bool) -> bool:
        """Whether no tree of ``commits`` passes a limit once it is checked out.

        With ``all_trees`` those that no commit names are looked at as well.
        """
        expansion = Expansion(self._pack, at_once=all_trees)
        table = self._pack.table
        good = True
        cleared: set[bytes] = set()
        for number, root in self._roots(commits):
            if root not in cleared:
                cleared.add(root)
                good &= self._check_size(expansion, root, number)
        if good and all_trees:
            for number, kind in enumerate(table.kinds):
                good &= kind != TREE or self._check_size(expansion, table.oid(number), number)
        return good

    def _check_size(self, expansion: Expansion, root: bytes, number: int) -> bool:
        size = expansion.of(root)
        if size is None:
            return True
        limits = self._limits
        errors = list(passed(size, limits))
        if not errors and size.path > limits.path_bytes:
            longest = longest_path(self._pack, root, limits.path_bytes, self._lengths)
            if longest > limits.path_bytes:
                errors.append(limits.passed("path_bytes", longest, "a path has"))
        for error in errors:
            self._findings.add_error(
                error.at(self._pack.table.offsets[number], self._pack.table.oid(number))
            )
        return not errors

    # 13  what changed

    def _compare(self, commits: list[int], tops: list[int]) -> None:
        """Compare with the bases, where there are any, or somebody asks for what is there."""
        outside = self._outside
        bases = outside.bases
        if outside.readable:
            bases = bases or outside.prerequisites
        # Without a base all that there is counts as new, for whoever asks.
        built_on = bool(outside.bases or outside.prerequisites)
        globs = bool(self._policy.allow or self._policy.deny)
        asked = globs or self._findings.raises(checks.SENSITIVE_PATH)
        # What is named of the other side's trees may multiply.
        asked = asked or (outside.readable and outside.listed)
        if not asked and not (bases and self._report.rules == "candidate"):
            self._follow(commits if len(commits) <= _FEW else tops, [], must=False)
            return
        roots = self._base_roots()
        # Bases that cannot be read have nothing to compare with, and nothing to pass on.
        known = bool(roots) or not built_on
        walk = self._walk(commits, tops, roots, trust=not known, listed=bool(bases))
        compared = len(roots) == len(bases) and not walk.unread
        if self._report.changes is not None:
            self._report.changes.compared = compared
        if globs and not known:
            message = "what changed cannot be told without the base's trees; give --base-pack"
            self._findings.add(checks.PATH_NOT_ALLOWED, message)
        if bases and not compared:
            message = f"trees of the base or of known objects that could not be read: {walk.unread}"
            if len(roots) < len(bases):
                message = "a base, or its tree, is nowhere to be read"
            self._findings.add(checks.BASE_NOT_COMPARED, message)
        # The sender's own prerequisites pass nothing on.
        if self._names_others():
            message = "a ref or tag names a tree or a blob by itself: nothing is inherited"
            self._findings.add(checks.BASE_NOT_COMPARED, message)
        elif roots and not walk.unread and (outside.bases or outside.listed):
            self._suspects.settle(self._findings)
            if self._findings.dropped:
                message = "too many errors to tell all that are inherited from those that are not"
                self._findings.add(checks.BASE_NOT_COMPARED, message)

    def _names_others(self) -> bool:
        """Whether a ref or a tag names a tree or blob, which has no path to be compared at."""
        pack = self._pack
        if any(pack.kind(oid) in {TREE, BLOB} for oid in self._all_tips().values()):
            return True
        tags = (number for number, kind in enumerate(pack.table.kinds) if kind == TAG)
        return any(pack.targets(TREE, n) or pack.targets(BLOB, n) for n in tags)

    def _walk(
        self,
        commits: list[int],
        tops: list[int],
        base_roots: list[bytes],
        *,
        trust: bool,
        listed: bool,
    ) -> Comparison:
        """Compare; ``trust``: what is not in the pack is unchanged; ``listed``: list changes."""
        from packparse.changes import Changes
        from packparse.compare import Comparison

        walk = Comparison(
            self._pack,
            self._trees,
            self._findings,
            self._suspects,
            policy=self._policy,
            limits=self._limits,
            base_roots=base_roots,
            trust_outside=trust,
        )
        changes = None
        if listed:
            changes = self._report.changes = Changes()
        try:
            walk.walk((root for _number, root in self._roots(tops)), changes)
            walk.walk(root for _number, root in self._roots(commits))
        finally:
            walk.tell_paths()
            if changes is not None:
                changes.close()
        # Links of the base may leave the tree by way of new ones, or of those of another base.
        must = bool(base_roots) and (walk.links_changed or len(base_roots) > 1)
        walk.unread += self._follow(commits, base_roots, must=must)
        return walk

    def _follow(self, commits: list[int], base_roots: list[bytes], *, must: bool) -> bool:
        """Follow links that go up again after a name; whether one on the way cannot be read."""
        if must or self._suspects.through:
            from packparse.winding import Winding

            roots = list(dict.fromkeys(root for _number, root in self._roots(commits)))
            winding = Winding(self._trees, self._findings, self._suspects, self._limits)
            winding.judge(roots, base_roots, must=must)
            return winding.unread
        return False


# So many commits are few enough to look at the whole tree of each.
_FEW = 1_000
