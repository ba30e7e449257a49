"""The result of verifying one file: the verdict, its class, and everything behind it."""

from __future__ import annotations

from packparse.codes import CORRUPT, ENVIRONMENT, INCOMPLETE, LIMIT, POLICY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.changes import Changes
    from packparse.findings import Findings
    from packparse.limits import Limits

__all__ = ["COUNTED", "Report", "leading_class"]

COUNTED = ("objects", "commits", "trees", "blobs", "tags", "deltas")

# What a file with errors of several classes counts as. What could not be read was not judged;
# corrupt bytes outrank what a rule or a limit says of them; a limit stops short of the rest.
_ORDER = (ENVIRONMENT, CORRUPT, LIMIT, INCOMPLETE, POLICY)


def leading_class(classes: set[int]) -> int:
    """The one class of a file with errors of these classes; 0 where there is none."""
    return next((klass for klass in _ORDER if klass in classes), 0)


class Report:
    """Everything that ``packcheck verify`` says about one file.

    ``tips`` and ``prerequisites`` are those of a bundle's header (or those asked for): raw names
    to raw ids, and raw ids. ``sha256`` is that of the whole input, None when it was refused before
    all of it was read. ``changes`` are those from the bases to the tips, where there are bases.
    ``peak_rss_bytes`` and ``seconds`` are for whoever can measure them.
    """

    def __init__(self, name: str, rules: str, limits: Limits, findings: Findings) -> None:
        self.name = name
        self.rules = rules
        self.policy = "candidate"
        self.limits = limits
        self.findings = findings
        self.kind: str | None = None
        self.object_format: str | None = None
        self.bytes: int | None = None
        self.sha256: str | None = None
        self.pack_checksum: str | None = None
        self.counts = dict.fromkeys(COUNTED, 0)
        self.inflated_bytes = 0
        self.rebuilt_bytes = 0
        self.copied_bytes = 0
        self.delta_depth = 0
        self.unchecked_links = 0
        self.seconds: float | None = None
        self.peak_rss_bytes: int | None = None
        self.tips: dict[bytes, bytes] = {}
        self.prerequisites: list[bytes] = []
        self.changes: Changes | None = None

    @property
    def klass(self) -> int:
        """0 when accepted, else the class, which is the exit status as well."""
        return leading_class(self.findings.classes())

    @property
    def accepted(self) -> bool:
        """Whether no error was found."""
        return self.klass == 0
