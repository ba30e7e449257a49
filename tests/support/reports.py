"""What tests ask of a report."""

from __future__ import annotations

from packparse.limits import Limits
from packparse.options import Options
from packparse.report import Report


def names(report: Report, severity: str = "error") -> list[str]:
    """The codes of one severity, sorted, as often as they were found."""
    return sorted(f.code.name for f in report.findings.sorted() if f.severity == severity)


def messages(report: Report) -> list[str]:
    """The messages of all errors."""
    return [f.message for f in report.findings.sorted() if f.severity == "error"]


def with_limits(**changes: int) -> Options:
    """Options with other limits than the preset's."""
    return Options(limits=Limits(changes=changes))
