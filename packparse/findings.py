"""What a check found, and the collection that keeps hostile input from filling memory with them."""

from __future__ import annotations

from hashlib import sha256

from packparse.codes import ERROR, IGNORE, NOTE, RULES, Code
from packparse.errors import MisuseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from packparse.errors import PackError

__all__ = ["KEPT_PER_CODE", "Finding", "Findings", "LimitSeen"]

# Enough to act on; a hostile pack could otherwise cause one finding per entry.
KEPT_PER_CODE = 100
# Pairs of code and detail that are remembered; past this many, a name may count again.
_REMEMBERED = 10_000
# A longer detail is remembered by its hash.
_LONG = 64
# So is one that a finding keeps: a hostile name has megabytes. Such a finding is never inherited.
_LONGEST_KEPT = 4_096


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
    root of a commit; each is None when it is not known. ``message`` is printable ASCII. ``detail``
    says where in the object (see oddity.py). ``inherited`` is True where the base has the same.
    """

    __slots__ = (
        "code", "detail", "inherited", "limit", "message", "offset", "oid", "path", "severity",
    )  # fmt: skip

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
        detail: bytes | None = None,
    ) -> None:
        self.code = code
        self.severity = severity
        self.message = message
        self.offset = offset
        self.oid = oid
        self.path = path
        self.limit = limit
        self.detail = detail
        self.inherited = False

    def __repr__(self) -> str:
        return f"Finding({self.code.name}, {self.severity}, offset={self.offset})"


class _First:
    """The first finding of a code with a detail; None where it was not kept."""

    __slots__ = ("finding",)

    def __init__(self) -> None:
        self.finding: Finding | None = None


class Findings:
    """Findings of one file under one rule set ("git" or "candidate").

    ``severities`` are those of a policy, which go before the rule set's. All findings are counted;
    of each code the first 100 are kept, and more errors in ``spare`` bytes: what is to be told
    inherited has to be kept; ``dropped`` says that this was not enough. Codes that are ignored
    leave no trace, and what is no error counts once for each detail: a name may stand in a thousand
    versions of one folder.
    """

    def __init__(
        self,
        rules: str = "candidate",
        severities: Mapping[Code, str] | None = None,
        *,
        spare: int = 0,
    ) -> None:
        if rules not in RULES:
            message = f"unknown rule set {rules!r}; known: {', '.join(RULES)}"
            raise MisuseError(message)
        self._rules = rules
        self._severities = dict(severities or {})
        self._kept: list[Finding] = []
        self._counts: dict[Code, int] = {}
        self._errors: dict[Code, int] = {}
        self._seen: dict[tuple[Code, bytes], _First] = {}
        self._last: _First | None = None
        self._spare = spare
        self.dropped = False

    def add(
        self,
        code: Code,
        message: str,
        *,
        offset: int | None = None,
        oid: bytes | None = None,
        path: bytes | None = None,
        limit: LimitSeen | None = None,
        detail: bytes | None = None,
    ) -> Finding | None:
        """Count a finding, and keep it while there is room for its code.

        Returns it where it is kept, so that its place can be filled in once it is known; of what
        counts once the finding that was first.
        """
        severity = self.severity(code)
        if severity == IGNORE:
            return None
        if severity != ERROR and detail:
            first = self._first(code, detail)
            if first is not None:
                return first.finding
        if detail is not None and len(detail) > _LONGEST_KEPT:
            detail = sha256(detail).digest()
        count = self._counts[code] = self._counts.get(code, 0) + 1
        if severity == ERROR:
            self._errors[code] = self._errors.get(code, 0) + 1
        if count > KEPT_PER_CODE and not self._has_room(severity, message, path, detail):
            self._last = None
            return None
        finding = Finding(
            code, severity, message, offset=offset, oid=oid, path=path, limit=limit, detail=detail
        )
        self._kept.append(finding)
        if self._last is not None:
            self._last.finding = finding
            self._last = None
        return finding

    def _has_room(
        self, severity: str, message: str, path: bytes | None, detail: bytes | None
    ) -> bool:
        """Whether one more than the usual number is kept: only errors, while there is room."""
        if severity != ERROR or not self._spare:
            return False
        self._spare -= 500 + sum(map(len, (message, path or b"", detail or b"")))
        if self._spare < 0:
            self._spare = 0
            self.dropped = True
            return False
        return True

    def apart(self) -> Findings:
        """An empty collection with the same rules."""
        return Findings(self._rules, self._severities)

    def can_remember(self, more: int) -> bool:
        """Whether so many more can be told apart from all that came before."""
        return len(self._seen) + more <= _REMEMBERED

    def is_told(self, code: Code, detail: bytes) -> bool:
        """Whether adding this would neither count nor keep anything."""
        severity = self.severity(code)
        if severity == IGNORE:
            return True
        return severity != ERROR and bool(detail) and _key(code, detail) in self._seen

    def _first(self, code: Code, detail: bytes) -> _First | None:
        """The first finding of a code with a detail, where there is one."""
        key = _key(code, detail)
        known = self._seen.get(key)
        self._last = None
        if known is None and len(self._seen) < _REMEMBERED:
            self._last = self._seen[key] = _First()
        return known

    def inherit(self, finding: Finding) -> None:
        """Say that the base has the same at the same place: a note, and no reason to refuse."""
        if not finding.inherited and finding.severity == ERROR:
            self._errors[finding.code] -= 1
        finding.severity = NOTE
        finding.inherited = True

    def add_error(self, error: PackError) -> None:
        """Count a refusal that was raised."""
        self.add(error.code, error.message, offset=error.offset, oid=error.oid, limit=error.limit)

    def raises(self, code: Code) -> bool:
        """Whether ``code`` refuses the file under this rule set."""
        return self.severity(code) == ERROR

    def severity(self, code: Code) -> str:
        """What ``code`` amounts to here."""
        return self._severities.get(code) or code.severity(self._rules)

    def count(self, code: Code) -> int:
        """How often ``code`` was found, kept or not."""
        return self._counts.get(code, 0)

    def classes(self) -> set[int]:
        """The classes of all errors found."""
        return {code.klass for code, count in self._errors.items() if count}

    def sorted(self) -> list[Finding]:
        """The findings to show by offset (unknown ones last), then in the order they came.

        Of each code 100 at most, errors before others.
        """
        shown: dict[Code, int] = {}
        found: list[Finding] = []
        for finding in sorted(self._kept, key=lambda f: f.severity != ERROR):
            shown[finding.code] = shown.get(finding.code, 0) + 1
            if shown[finding.code] <= KEPT_PER_CODE:
                found.append(finding)
        numbers = {id(finding): number for number, finding in enumerate(self._kept)}
        far = 1 << 64
        found.sort(key=lambda f: (far if f.offset is None else f.offset, numbers[id(f)]))
        return found

    def counts(self) -> dict[str, int]:
        """How often each code was found, kept or not, by name."""
        return {code.name: count for code, count in self._counts.items() if count}


def _key(code: Code, detail: bytes) -> tuple[Code, bytes]:
    """What findings that count once have in common; behind a NUL are ids."""
    detail = detail.partition(b"\0")[0]
    return code, detail if len(detail) <= _LONG else sha256(detail).digest()
