"""Findings that a base may have at the same place: these are inherited, and no reason to refuse."""

from __future__ import annotations

from packparse.memo import Memo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.findings import Finding, Findings
    from packparse.oddity import Oddity

__all__ = ["Suspects"]

# Pairs of object and finding that are kept, about 20 MB; past this many nothing is inherited.
_MOST = 200_000
# Oddities of special files that are kept, about 5 MB.
_KEPT = 10_000


class Suspects:
    """Findings that the bases may have as well: by the raw id of the tree or blob, with its flags.

    A tree has the flags 0. ``visited`` are those ids that were met, ``new`` findings that are not
    inherited. ``through`` maps blobs of links that may leave the tree by way of another link to
    what is to be said of them: these are followed before anything is. Where nothing of the bases
    can be read none is ``wanted``, and none is kept. ``odd`` is what is odd about the content of
    the last few special files, by flag and raw id: taking them apart is slow, and is done once.
    """

    def __init__(self, *, wanted: bool = True) -> None:
        self.wanted = wanted
        self.by_id: dict[bytes, list[tuple[int, Finding]]] = {}
        self.visited: set[bytes] = set()
        self.new: set[Finding] = set()
        self.through: dict[bytes, str] = {}
        self.odd: Memo[tuple[int, bytes], list[Oddity]] = Memo(_KEPT, _KEPT >> 2)
        self._room = _MOST

    def add(self, oid: bytes, flags: int, finding: Finding) -> None:
        """Ask whether a finding on this object is inherited."""
        if not self.wanted:
            return
        if self._room:
            self._room -= 1
            self.by_id.setdefault(oid, []).append((flags, finding))
        else:
            self.new.add(finding)

    def visit(self, oid: bytes) -> None:
        """Say that an object was met in a walk over all trees."""
        if oid in self.by_id:
            self.visited.add(oid)

    def refuse(self, finding: Finding, path: bytes) -> None:
        """Say that a finding is not inherited at ``path``; the first such path is told."""
        if finding not in self.new:
            self.new.add(finding)
            finding.path = path

    def settle(self, findings: Findings) -> None:
        """After a whole walk: whatever was met and is not new is inherited."""
        for oid in self.visited:
            for _flags, finding in self.by_id.get(oid, ()):
                if finding not in self.new:
                    findings.inherit(finding)
