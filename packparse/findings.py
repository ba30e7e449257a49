"""What a check found, and the collection that keeps hostile input from filling memory with them."""

from __future__ import annotations

from packparse.codes import ERROR, IGNORE, RULES, Code
from packparse.errors import MisuseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.errors import PackError

__all__ = ["KEPT_PER_CODE", "Finding", "Findings", "LimitSeen"]

# Enough to act on; a hostile pack could otherwise cause one finding per entry.
KEPT_PER_CODE = 100


class LimitSeen:
    """A limit that was passed: its name, its value and what was seen."""

    __slots__ = ("name", "seen", "value")

    def __init__(self, name: str, value: int, seen: int) -> None:
        self.name = name
        self.value = value
        self.seen = seen

    def as_dict(self) -> dict[str, str | int]:
        """The three parts, for reports."""
        return {"name": self.name, "value": self.value, "seen": self.seen}


class Finding:
    """One finding.

    ``offset`` is the byte offset in the file, ``oid`` the raw id, ``path`` the raw path from the
    root of a commit; each is None when it is not known. ``message`` is printable ASCII.
    """

    __slots__ = ("code", "limit", "message", "offset", "oid", "path", "severity")

    def __init__(
        self,
        code: Code,
        severity: str,
        message: str,
        *,
        offset: int | None = None,
        oid: bytes | None = None,
        path: bytes | None = None,
        limit: LimitSeen | None = None,
    ) -> None:
        self.code = code
        self.severity = severity
        self.message = message
        self.offset = offset
        self.oid = oid
        self.path = path
        self.limit = limit

    def __repr__(self) -> str:
        return f"Finding({self.code.name}, {self.severity}, offset={self.offset})"


class Findings:
    """Findings of one file under one rule set ("git" or "candidate").

    All are counted; of each code the first 100 are kept. Codes that the rule set ignores leave no
    trace.
    """

    def __init__(self, rules: str = "candidate") -> None:
        if rules not in RULES:
            message = f"unknown rule set {rules!r}; known: {', '.join(RULES)}"
            raise MisuseError(message)
        self._rules = rules
        self._kept: list[Finding] = []
        self._counts: dict[Code, int] = {}

    def add(
        self,
        code: Code,
        message: str,
        *,
        offset: int | None = None,
        oid: bytes | None = None,
        path: bytes | None = None,
        limit: LimitSeen | None = None,
    ) -> None:
        """Count a finding, and keep it while there is room for its code."""
        severity = code.severity(self._rules)
        if severity == IGNORE:
            return
        count = self._counts.get(code, 0) + 1
        self._counts[code] = count
        if count <= KEPT_PER_CODE:
            self._kept.append(
                Finding(code, severity, message, offset=offset, oid=oid, path=path, limit=limit)
            )

    def add_error(self, error: PackError) -> None:
        """Count a refusal that was raised."""
        self.add(error.code, error.message, offset=error.offset, oid=error.oid, limit=error.limit)

    def raises(self, code: Code) -> bool:
        """Whether ``code`` refuses the file under this rule set."""
        return code.severity(self._rules) == ERROR

    def count(self, code: Code) -> int:
        """How often ``code`` was found, kept or not."""
        return self._counts.get(code, 0)

    def classes(self) -> set[int]:
        """The classes of all errors found."""
        return {code.klass for code in self._counts if code.severity(self._rules) == ERROR}

    def sorted(self) -> list[Finding]:
        """The kept findings by offset (unknown ones last), then in the order they came."""
        far = 1 << 64
        return sorted(self._kept, key=lambda f: far if f.offset is None else f.offset)

    def counts(self) -> dict[str, int]:
        """How often each code was found, kept or not, by name."""
        return {code.name: count for code, count in self._counts.items()}
