"""The report for people: the verdict first, then each finding, then what was looked at."""

from __future__ import annotations

from packparse.codes import CLASSES
from packparse.escape import quote
from packparse.findings import KEPT_PER_CODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.findings import Finding
    from packparse.report import Report

__all__ = ["render"]


def render(report: Report) -> str:
    """The report of one file as plain text, printable ASCII alone."""
    lines = [f"{quote(report.name.encode('utf-8', 'surrogateescape'))}: {_verdict(report)}"]
    lines += [f"  {_finding(finding)}" for finding in report.findings.sorted()]
    for name, count in report.findings.counts().items():
        if count > KEPT_PER_CODE:
            lines.append(f"  ({name}: {count} in all, the first {KEPT_PER_CODE} are shown)")
    lines += [f"  {line}" for line in _summary(report)]
    if not report.accepted:
        lines.append("  packcheck explain CODE says what a code means and what to do")
    return "\n".join(lines) + "\n"


def _verdict(report: Report) -> str:
    if report.accepted:
        return f"accepted, {report.counts['objects']} objects checked"
    return f"refused, class {report.klass} ({CLASSES[report.klass][0]})"


def _finding(finding: Finding) -> str:
    where = [] if finding.offset is None else [f"offset {finding.offset}"]
    if finding.oid is not None:
        where.append(f"object {finding.oid.hex()}")
    if finding.path is not None:
        where.append(f"path {quote(finding.path) or 'of the root tree'}")
    place = f" at {', '.join(where)}" if where else ""
    return f"{finding.severity}: {finding.code.name}{place}: {finding.message}"


def _summary(report: Report) -> list[str]:
    counts = report.counts
    if not counts["objects"]:
        return []
    kinds = ", ".join(f"{counts[name]} {name}" for name in ("commits", "trees", "blobs", "tags"))
    deltas = f"{counts['deltas']} of them as deltas, {report.delta_depth} deep at most"
    lines = [
        f"{report.kind}, {report.object_format}: {kinds}; {deltas}",
        f"{report.inflated_bytes} bytes inflated, {report.rebuilt_bytes} rebuilt from deltas",
    ]
    if report.object_format == "sha1":
        lines.append("SHA-1 collision attacks are not looked for here; git's own check does that")
    return lines
