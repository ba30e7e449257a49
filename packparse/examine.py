"""Looking into each object once its content is known: its grammar, its links, what it costs."""

from __future__ import annotations

from packparse import checks, codes, pathcodes
from packparse.delta import changed_ranges
from packparse.entry import BLOB, COMMIT, TREE
from packparse.errors import PackError
from packparse.escape import shorten
from packparse.graph import LinkTable
from packparse.objects import commit
from packparse.objects.tree import TreeReader, patched_links
from packparse.oddity import Oddity
from packparse.signs import LONGEST_POINTER
from packparse.specialids import SpecialIds
from packparse.table import split_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from packparse.findings import Findings
    from packparse.limits import Limits
    from packparse.objects.tree import TreeLinks
    from packparse.places import Places
    from packparse.policy import Policy
    from packparse.suspects import Suspects
    from packparse.table import EntryTable

    # How a tree was made: the content and the links of the tree it rests on, the delta, and where
    # the delta's instructions start.
    Patch = tuple[bytes | bytearray, TreeLinks, bytes | bytearray, int]

__all__ = ["SMALL_TREE", "Examiner", "Unusual"]

# A smaller tree is read as quickly as it is patched.
SMALL_TREE = 4 << 10
# Oddities that are noted for another process; a part with more is looked at by that one.
_MOST_NOTED = 10_000


class Unusual(Exception):  # noqa: N818 - no error, but work for the main process
    """A part has something that no worker judges."""


class Examiner:
    """Checks commits, trees, tags and pointers of LFS, and takes the links out into ``links``.

    A malformed object is a finding at its entry, and its links are lost: ``lost`` counts them. What
    has to be looked at once all objects are known is kept: ``special`` the ids of links and special
    files, ``submodules`` the ids of trees with submodules; ``places`` is asked for the paths of
    findings, ``suspects`` whether the base has the same. Raises PackError only for the limit on all
    links together, past which memory is no longer bounded.
    """

    def __init__(
        self,
        table: EntryTable,
        links: LinkTable,
        limits: Limits,
        findings: Findings,
        places: Places,
        suspects: Suspects,
        *,
        policy: Policy,
    ) -> None:
        self.lost = 0
        self.commits = 0
        self.noted: list[tuple[Oddity, int, int]] | None = None
        self.special = SpecialIds(table.width)
        self.reader = TreeReader(table.width, limits, self._is_told)
        self.submodules: set[bytes] = set()
        self._table = table
        self.links = links
        self._limits = limits
        self._findings = findings
        self._places = places
        self._suspects = suspects
        self._policy = policy

    def apart(self, table: EntryTable) -> Examiner:
        """An examiner for a part that another process looks at: with these rules, and no links yet.

        It tells nothing, and notes oddities in ``noted`` for :meth:`find` of this one, as (oddity,
        entry, kind). What is more than an oddity, or one too many, raises Unusual. It shares the
        memory of trees, so no two of them work in one process.
        """
        other = Examiner(
            table,
            LinkTable(table.width),
            self._limits,
            self._findings,
            self._places,
            self._suspects,
            policy=self._policy,
        )
        other.reader = self.reader
        other.noted = []
        return other

    def fits(self, commits: int, links: int, oddities: int) -> bool:
        """Whether so many more pass no limit, and can be told from all that came before."""
        return (
            self.commits + commits <= self._limits.commits
            and self.links.total + links <= self._limits.links
            # Else one that is told once may count again, or not, by who has forgotten what.
            and self._findings.can_remember(oddities)
        )

    def take_over(
        self,
        submodules: bytes | bytearray,
        special: Sequence[bytearray],
        longest_name: int,
        link_folds: Iterable[bytes] | None,
    ) -> None:
        """Put what another examiner has kept to what this one has.

        ``submodules`` and ``special`` are packed ids, the latter as of SpecialIds.columns; the rest
        is that of its TreeReader.
        """
        self.submodules.update(split_ids(submodules, self._table.width))
        for ours, theirs in zip(self.special.columns(), special, strict=True):
            ours.extend(theirs)
        self.reader.take_over(longest_name, link_folds)

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
            elif kind == BLOB:
                self._blob(number, content)
            else:
                self._tag(number, content)
            self._check_total()
        except PackError as error:
            error.at(self._table.offsets[number], self._table.oid(number))
            if error.code is codes.TOO_MANY_LINKS:
                raise
            if self.noted is not None:
                raise Unusual from None
            self.lost += 1
            self._findings.add_error(error)
        return None

    def tree_links(self, content: bytes | bytearray) -> TreeLinks | None:
        """The links of a tree that was looked into before; None if it is malformed."""
        try:
            return self.reader.read(content)
        except PackError:
            return None

    def _blob(self, number: int, content: bytes | bytearray) -> None:
        from packparse.objects import lfs

        # Not before its length is known: it would be copied.
        pointer = lfs.pointer(bytes(content)) if len(content) < LONGEST_POINTER else None
        if pointer is not None:
            oid, size = pointer
            message = f"a pointer to {size} bytes of Git LFS, {oid}"
            self.find(Oddity(pathcodes.LFS_POINTER, oid.encode(), message), number, BLOB)

    def _commit(self, number: int, content: bytes | bytearray) -> None:
        width = self._table.width
        root, parents = commit.links(content, width, self._limits)
        self.links.add(TREE, number, root)
        self.links.add(COMMIT, number, parents)
        self.commits += 1
        if self.commits == self._limits.commits + 1:
            raise self._limits.passed("commits", self.commits, "the pack has at least")
        self._check_length(content)
        for oddity in commit.oddities(content, width):
            self.find(oddity, number, COMMIT)
        if self._policy.authors or self._policy.committers:
            self._check_identities(number, content)

    def _check_identities(self, number: int, content: bytes | bytearray) -> None:
        author, committer = commit.identities(content)
        for who, name, allowed in (
            (b"author", author, self._policy.allows_author(author)),
            (b"committer", committer, self._policy.allows_committer(committer)),
        ):
            if not allowed:
                message = f"the policy does not allow the {who.decode()} {shorten(name)}"
                self.find(Oddity(checks.IDENTITY_NOT_ALLOWED, who, message), number, COMMIT)

    def _tag(self, number: int, content: bytes | bytearray) -> None:
        # Most packs have none.
        from packparse.objects import tag

        width = self._table.width
        kind, target = tag.link(content, width)
        self.links.add(kind, number, target)
        self._check_length(content)
        for oddity in tag.oddities(content, width):
            self.find(oddity, number, 0)

    def _check_length(self, content: bytes | bytearray) -> None:
        if len(content) > self._limits.message_bytes:
            raise self._limits.passed("message_bytes", len(content), "headers and message have")

    def _tree(self, number: int, content: bytes | bytearray, patch: Patch | None) -> TreeLinks:
        width = self._table.width
        patched = None
        if patch is not None and self._is_edit(patch, content):
            base, before, delta, start = patch
            ranges = changed_ranges(delta, start)
            patched = patched_links(before, base, content, ranges, width)
        if patched is None:
            links = self.reader.read(content)
            self.links.add(TREE, number, links.trees)
            self.links.add(BLOB, number, links.blobs)
            for oddity in links.oddities:
                self.find(oddity, number, TREE)
        else:
            links, new_trees, new_blobs = patched
            self.links.add(TREE, number, links.trees, new_trees)
            self.links.add(BLOB, number, links.blobs, new_blobs)
        for flags, oid in links.special:
            self.special.add(flags, oid)
        # Submodules take no memory here, but the time of an entry.
        modules = links.entries - (len(links.trees) + len(links.blobs)) // width
        if modules:
            self.submodules.add(self._table.oid(number))
        self.links.total += modules
        self._check_total()
        return links

    def _check_total(self) -> None:
        if self.links.total > self._limits.links:
            raise self._limits.passed("links", self.links.total, "the objects so far name")

    def _is_edit(self, patch: Patch, content: bytes | bytearray) -> bool:
        """Whether a tree may differ from its base in ids alone, by a delta worth going through.

        Not where the base has errors: each tree that shares them is a finding of its own. Nor where
        something may be inherited: another tree may stand where it is not.
        """
        base, links, delta, _start = patch
        if not len(base) == len(content) > SMALL_TREE or len(delta) << 1 >= len(content):
            return False
        if self._suspects.wanted:
            return not links.oddities
        return not any(self._findings.raises(oddity.code) for oddity in links.oddities)

    def _is_told(self, oddity: Oddity) -> bool:
        """Whether nothing would come of one more oddity of the kind, whatever ids it is about."""
        return not self._suspects.wanted and self._findings.is_told(oddity.code, oddity.detail)

    def find(self, oddity: Oddity, number: int, kind: int) -> None:
        """Tell of an oddity in the object of entry ``number``."""
        offset, oid = self._table.offsets[number], self._table.oid(number)
        finding = self._findings.add(
            oddity.code, oddity.message, offset=offset, oid=oid, detail=oddity.detail,
            limit=oddity.limit,
        )  # fmt: skip
        if self.noted is not None:
            # Told all the same: then the reader knows what it need not find again.
            if len(self.noted) == _MOST_NOTED:
                raise Unusual
            self.noted.append((oddity, number, kind))
            return
        if finding is None or kind not in (TREE, BLOB):
            return
        if kind == TREE:
            self._suspects.add(oid, 0, finding)
        if finding.oid != oid:
            return  # one of this kind was found before, and has its place
        name = b"" if kind == BLOB else oddity.detail.partition(b"\0")[0]
        self._places.want(finding, kind, oid, name=name)
