"""Entries whose content decides: .gitmodules, .gitattributes and the targets of symbolic links.

Which blobs these are shows as trees are read, their content only once all objects are known. So
their ids are kept (specialids.py), and read here, after the links have been checked.
"""

from __future__ import annotations

from packparse import pathcodes, paths
from packparse.entry import BLOB, KIND_NAMES, TREE
from packparse.escape import shorten
from packparse.objects import tree
from packparse.objects.shape import ATTRIBUTES, LINK, MODULES
from packparse.oddity import Oddity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from packparse import links
    from packparse.findings import Finding, Findings
    from packparse.limits import Limits
    from packparse.outside import Outside
    from packparse.pack import Pack
    from packparse.places import Places
    from packparse.suspects import Suspects
    from packparse.trees import Trees

__all__ = ["SpecialFiles", "content_oddities"]

# Trees read to learn whether a blob is a link there, or a file of the same content; past this many
# it counts as a link.
_CONFIRMED = 1_000
# All special files of a pack may have so many times the limit on one.
_TOGETHER = 16

_NAMES = {MODULES: ".gitmodules", ATTRIBUTES: ".gitattributes"}
_NO_BLOB = {MODULES: pathcodes.GITMODULES_BLOB, ATTRIBUTES: pathcodes.GITATTRIBUTES_BLOB}
_MISSING = {MODULES: pathcodes.GITMODULES_MISSING, ATTRIBUTES: pathcodes.GITATTRIBUTES_MISSING}


def content_oddities(flags: int, content: bytes) -> list[Oddity]:
    """What is odd about the content of an entry with one of the flags of tree.py."""
    # Few packs have any of them, and reading their modules takes as long as a small pack.
    if flags == MODULES:
        from packparse.objects import gitmodules

        return gitmodules.read(content).oddities
    if flags == ATTRIBUTES:
        from packparse.objects import gitattributes

        return gitattributes.read(content).oddities
    from packparse import links

    return links.read_target(content).oddities


class SpecialFiles:
    """Reads special files of a pack that is resolved, and reports what is odd about them.

    ``suspects`` is told of each, so that what the base has as well can be told apart. Raises
    PackError (inputChanged, restoredTooMuch, specialFileTooLarge for all of them together).
    """

    def __init__(
        self,
        pack: Pack,
        trees: Trees,
        outside: Outside,
        findings: Findings,
        places: Places,
        suspects: Suspects,
        *,
        limits: Limits,
    ) -> None:
        self._pack = pack
        self._trees = trees
        self._suspects = suspects
        self._outside = outside
        self._findings = findings
        self._places = places
        self._limits = limits
        self._unread = 0
        self._bytes = 0

    def run(self, *, with_links: bool) -> None:
        """Look into all special files of the pack, and into the links if these matter."""
        special = self._pack.examiner.special
        for flag in (MODULES, ATTRIBUTES):
            for oid in special.distinct(flag):
                self._file(flag, oid)
        if with_links:
            self._check_links()

    def _check_links(self) -> None:
        climbing: dict[bytes, links.Target] = {}
        for oid in self._pack.examiner.special.distinct(LINK):
            target = self._link(oid)
            if target is not None and (target.climbs or target.through):
                climbing[oid] = target
        if climbing:
            self._check_climbs(climbing)
        if self._unread:
            message = f"targets of symbolic links that were not read: {self._unread}"
            self._findings.add(pathcodes.SYMLINK_NOT_READ, message)

    def _file(self, flag: int, oid: bytes) -> None:
        number = self._pack.index.first(oid)
        if number is None:
            about = self._outside.about(oid)
        else:
            about = self._pack.table.kinds[number], self._pack.table.sizes[number]
        if about is None:
            self._unread_file(flag, oid)
            return
        kind, size = about
        if kind != BLOB:
            message = f"a {_NAMES[flag]} is a {KIND_NAMES[kind]}"
            finding = self._add(Oddity(_NO_BLOB[flag], b"", message), flag, oid)
            # By its mode it may be a folder, or a file.
            self._places.want(finding, kind, oid, flags=flag)
            return
        if size > self._limits.special_bytes:
            what = f"a {_NAMES[flag]} has"
            error = self._limits.passed("special_bytes", size, what)
            self._add(Oddity(error.code, b"", error.message, error.limit), flag, oid)
            return
        self._bytes += size
        if self._bytes > _TOGETHER * self._limits.special_bytes:
            what = f"all .gitmodules and .gitattributes together have {_TOGETHER} times"
            raise self._limits.passed("special_bytes", self._bytes // _TOGETHER, what)
        content = self._trees.blob(oid, size)
        if content is None:
            self._unread_file(flag, oid)
            return
        oddities = content_oddities(flag, content)
        self._suspects.odd.keep((flag, oid), oddities, len(oddities) + 1)
        for oddity in oddities:
            self._add(oddity, flag, oid)

    def _unread_file(self, flag: int, oid: bytes) -> None:
        if not self._outside.open_ended and self._outside.kind(oid) is None:
            message = f"the content of a {_NAMES[flag]} is not there"
            self._add(Oddity(_MISSING[flag], b"", message), flag, oid)
        else:
            message = f"the content of a {_NAMES[flag]} was not read"
            self._add(Oddity(pathcodes.SPECIAL_FILE_NOT_READ, oid, message), flag, oid)

    def _link(self, oid: bytes) -> links.Target | None:
        from packparse import links

        kind = self._pack.kind(oid) or self._outside.kind(oid)
        if kind not in {None, 0, BLOB}:
            return None
        size = self._trees.size(oid)
        if size > links.LONGEST:
            message = f"the target of a symbolic link has {size} bytes"
            self._add(Oddity(pathcodes.SYMLINK_TOO_LONG, b"", message), LINK, oid)
            return None
        content = self._trees.blob(oid, size)
        if content is None:
            # What is smuggled is refused, and is not to be read.
            self._unread += not self._outside.hides(oid)
            return None
        target = links.read_target(content)
        for oddity in target.oddities:
            self._add(oddity, LINK, oid)
        return target

    def _add(self, oddity: Oddity, flag: int, oid: bytes) -> Finding | None:
        finding = self._findings.add(
            oddity.code, oddity.message, oid=oid, detail=oddity.detail, limit=oddity.limit
        )
        if finding is not None:
            if finding.oid == oid:
                self._places.want(finding, BLOB, oid, flags=flag)
            self._suspects.add(oid, flag, finding)
        return finding

    # Links that climb

    def _check_climbs(self, climbing: dict[bytes, links.Target]) -> None:
        from packparse.climb import least_depths

        climbs = {oid: target.climbs for oid, target in climbing.items() if target.climbs}
        escaped: set[bytes] = set()
        names: dict[bytes, bytes] = {}
        read, confirmed = -1, 0
        for number, oid, depth in least_depths(self._pack, climbs, self._limits.tree_depth):
            if oid in escaped or depth >= climbs[oid]:
                continue
            if number != read and confirmed < _CONFIRMED:
                read, confirmed = number, confirmed + 1
                names = self._link_names(number, climbs)
            name = names.get(oid) if number == read else b""
            if name is not None:
                escaped.add(oid)
                message = f"leaves the tree: {climbs[oid]} up from {depth} folders deep"
                self._escape(oid, message, number, name)
        for oid, target in climbing.items():
            if any(map(self._may_be_link, target.through)):
                message = f"goes up again after {shorten(target.through[0])}, which may be a link"
                self._suspects.through[oid] = message

    def tell_winding(self) -> None:
        """Report the links that may leave the tree by way of another one, and were not followed."""
        for oid, message in self._suspects.through.items():
            self._escape(oid, message)
        self._suspects.through.clear()

    def _may_be_link(self, name: bytes) -> bool:
        folds = self._pack.examiner.reader.link_folds
        # Of the base's links nothing is known here, and nothing at all of those in submodules.
        return (
            bool(self._pack.examiner.submodules)
            or self._outside.has_bases
            or self._outside.listed
            or folds is None
            or paths.fold(name) in folds
        )

    def _link_names(self, number: int, wanted: Container[bytes]) -> dict[bytes, bytes]:
        """The names under which a tree has blobs as links; it may have others as files."""
        names: dict[bytes, bytes] = {}
        for mode, name, target in tree.entries(self._pack.content(number), self._pack.table.width):
            if target in wanted and self._pack.examiner.reader.flags(mode, name) & LINK:
                names.setdefault(target, name)
        return names

    def _escape(
        self, oid: bytes, message: str, number: int | None = None, name: bytes = b""
    ) -> None:
        from packparse import links

        target = links.detail(self._trees.blob(oid, links.LONGEST) or b"")
        finding = self._findings.add(pathcodes.SYMLINK_ESCAPES, message, oid=oid, detail=target)
        if finding is None:
            return
        if number is None or not name:
            self._places.want(finding, BLOB, oid, flags=LINK)
        else:
            self._places.want(finding, TREE, self._pack.table.oid(number), name=name)
        self._suspects.add(oid, LINK, finding)
