"""The range from base to tip: ancestry, and that the pack holds it and nothing else.

Source: the project's words for exact closure. The range is what is reachable from the tips and not
from the bases. A pack holds an exact closure when every object in it is reached by a commit of the
range: whatever is not is a stowaway, be it known to the other side or not.
"""

from __future__ import annotations

from itertools import compress, count

from packparse import checks
from packparse.codes import IGNORE
from packparse.entry import COMMIT, KIND_NAMES, TAG
from packparse.escape import shorten
from packparse.graph import BATCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from packparse.findings import Findings
    from packparse.outside import Outside
    from packparse.pack import Pack

__all__ = ["Range", "heads"]

# Findings behind which objects go missing, and others seem unreached.
_LOST = (checks.ABSENT_OBJECT, checks.LINK_KIND_MISMATCH, checks.MISSING_TIP)


class Range:
    """The commits from bases to tips in one pack.

    ``tips`` maps raw names to raw ids. ``asked`` says that bases and tips were asked for, and are
    not only what a bundle says of itself: then the file has to be exactly that range. ``commits``
    are the entry numbers of the range, and ``tops`` those that the tips, or their tags, lead to.
    """

    def __init__(
        self, pack: Pack, outside: Outside, tips: Mapping[bytes, bytes], *, asked: bool
    ) -> None:
        self.bases = outside.bases or outside.prerequisites
        self._pack = pack
        self._outside = outside
        self._tips = tips
        self._asked = asked
        # Where tags lead to, once that was asked for.
        self._peeled: dict[bytes, int | None] = {}
        found = map(self._tip_commit, tips.values())
        self.tops = list(dict.fromkeys(number for number in found if number is not None))
        self.commits = self._walk()

    def check(self, findings: Findings) -> None:
        """Report whatever is not as the range has to be."""
        if self.bases:
            self._check_descent(findings)
            self._check_commits(findings)
            self._check_overlap(findings)
        if self._asked:
            self._check_tags(findings)
        # Under the rule set of git nobody asks. Behind what is absent nothing is reached.
        lost = any(map(findings.count, _LOST))
        if findings.severity(checks.STOWAWAY_OBJECT) != IGNORE and not lost:
            self._check_stowaways(findings)

    def _walk(self) -> list[int]:
        """All commits that a tip reaches within the pack, without those of the bases."""
        commits = dict.fromkeys(self.tops)
        listed = list(commits)
        for number in listed:
            for parent in self._parents_here(number):
                if parent not in commits:
                    commits[parent] = None
                    listed.append(parent)
        return listed

    def _tip_commit(self, oid: bytes) -> int | None:
        """The entry of the commit that a tip is, or that its tags lead to; None for a base."""
        found = None
        passed: list[bytes] = []
        # No ring of tags can be made. Thousands of refs may name tags of one long chain.
        while oid not in self._peeled and oid not in self.bases:
            number = self._pack.index.first(oid)
            if number is None:
                break
            if self._pack.table.kinds[number] == COMMIT:
                found = number
                break
            passed.append(oid)
            targets = self._pack.targets(COMMIT, number) or self._pack.targets(TAG, number)
            if not targets:
                break
            oid = targets[0]
        found = self._peeled.get(oid, found)
        self._peeled.update(dict.fromkeys(passed, found))
        return found

    def _parents_here(self, number: int) -> Iterator[int]:
        for oid in self._pack.targets(COMMIT, number):
            parent = None if oid in self.bases else self._pack.index.first(oid)
            if parent is not None and self._pack.table.kinds[parent] == COMMIT:
                yield parent

    def _check_descent(self, findings: Findings) -> None:
        on_base = self._on_base()
        # Commits between the base and the tip may be there and not in the file.
        leaves = "" if self._ends_here() else ", as far as the commits in the file tell"
        for name, oid in self._tips.items():
            number = self._tip_commit(oid)
            if number is not None and number not in on_base:
                message = f"{shorten(name)} does not descend from the base{leaves}"
                findings.add(checks.NOT_DESCENDANT, message, oid=oid)
            elif number is None and self._asked and self._outside.kind(oid) is not None:
                message = f"{shorten(name)} is the base, or a commit that was there before"
                findings.add(checks.EMPTY_RANGE, message, oid=oid)
            elif number is None and self._asked and self._pack.kind(oid) is not None:
                message = f"{shorten(name)} is no commit, or leads to none that is new"
                findings.add(checks.NOT_DESCENDANT, message, oid=oid)

    def _ends_here(self) -> bool:
        """Whether every parent of the range is in the file, or a base."""
        parents = (oid for number in self.commits for oid in self._pack.targets(COMMIT, number))
        return all(oid in self.bases or self._pack.kind(oid) is not None for oid in parents)

    def _on_base(self) -> set[int]:
        """The commits of the range that descend from a base."""
        children: dict[int, list[int]] = {}
        found: set[int] = set()
        for number in self.commits:
            if not self.bases.isdisjoint(self._pack.targets(COMMIT, number)):
                found.add(number)
            for parent in self._parents_here(number):
                children.setdefault(parent, []).append(number)
        waiting = list(found)
        for number in waiting:
            for child in children.get(number, ()):
                if child not in found:
                    found.add(child)
                    waiting.append(child)
        return found

    def _check_commits(self, findings: Findings) -> None:
        table = self._pack.table
        for number in self.commits:
            parents = len(self._pack.targets(COMMIT, number))
            if parents != 1:
                code = checks.MERGE_COMMIT if parents else checks.ROOT_COMMIT
                message = f"a commit of the range has {parents} parents"
                offset, oid = table.offsets[number], table.oid(number)
                findings.add(code, message, offset=offset, oid=oid)

    def _check_tags(self, findings: Findings) -> None:
        table = self._pack.table
        for number, kind in enumerate(table.kinds):
            if kind == TAG:
                message = "a tag object where commits were asked for"
                offset, oid = table.offsets[number], table.oid(number)
                findings.add(checks.TAG_OBJECT, message, offset=offset, oid=oid)

    def _check_overlap(self, findings: Findings) -> None:
        if not self._outside.listed:
            return
        table = self._pack.table
        for number in range(len(table)):
            oid = table.oid(number)
            if self._outside.kind(oid) is not None:
                message = f"the {KIND_NAMES[table.kinds[number]]} is known to the other side"
                offset = table.offsets[number]
                findings.add(checks.ALREADY_IN_BASE, message, offset=offset, oid=oid, detail=oid)

    def _check_stowaways(self, findings: Findings) -> None:
        """Report what the range does not reach, apart from what only another stowaway names.

        No ring of links can be made, so whatever is not reached is named by something that is not
        named itself, or by a commit that is not in the range: finding these is enough.
        """
        table = self._pack.table
        wanted = set(self.commits)
        tips = {self._pack.index.first(oid) for oid in self._tips.values()}
        for number, named in enumerate(_named(self._pack)):
            if table.kinds[number] == COMMIT:
                stowaway = number not in wanted
            else:
                stowaway = not named and number not in tips
            # A second copy of an object is a finding of its own, and no stowaway.
            if stowaway and self._pack.index.first(table.oid(number)) == number:
                kind = KIND_NAMES[table.kinds[number]]
                message = f"a {kind} that no commit from base to tip reaches"
                offset, oid = table.offsets[number], table.oid(number)
                findings.add(checks.STOWAWAY_OBJECT, message, offset=offset, oid=oid)


def heads(pack: Pack) -> list[int]:
    """The commits of the pack that no other one names as its parent."""
    named = pack.links.columns[COMMIT]
    kinds = pack.table.kinds
    mine = {pack.table.oid(number): number for number, kind in enumerate(kinds) if kind == COMMIT}
    # A tag names a commit as well.
    parents = {oid for source, oid in named.links_to(set(mine)) if kinds[source] == COMMIT}
    return [number for oid, number in mine.items() if oid not in parents]


def _named(pack: Pack) -> bytearray:
    """For each entry whether a link names it."""
    named = bytearray(len(pack.table))
    for column in pack.links.columns.values():
        for batch in column.batches(max(BATCH, len(named) // 8)):
            first = 0
            for ids, _kinds in pack.table.pieces():
                for at in compress(count(first), map(batch.__contains__, ids)):
                    named[at] = 1
                first += len(ids)
    return named
