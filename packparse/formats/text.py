"""The report for people: the verdict first, then each finding, then what was looked at."""

from __future__ import annotations

from packparse.codes import CLASSES
from packparse.escape import quote, shorten
from packparse.findings import KEPT_PER_CODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.changes import Changes
    from packparse.findings import Finding
    from packparse.report import Report

__all__ = ["render"]


def render(report: Report, explain: str = "packcheck explain") -> str:
    """The report of one file as plain text, printable ASCII alone.

    ``explain`` is the command that says more about a code.
    """
    lines = [f"{quote(report.name.encode('utf-8', 'surrogateescape'))}: {_verdict(report)}"]
    lines += [f"  {_finding(finding)}" for finding in report.findings.sorted()]
    for name, count in report.findings.counts().items():
        if count > KEPT_PER_CODE:
            lines.append(f"  ({name}: {count} in all, the first {KEPT_PER_CODE} are shown)")
    if report.changes is not None:
        lines += [f"  {line}" for line in _changes(report.changes)]
    lines += [f"  {line}" for line in _summary(report)]
    if not report.accepted:
        lines.append(f"  {explain} CODE says what a code means and what to do")
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
        where.append(f"path {shorten(finding.path) or 'of the root tree'}")
    place = f" at {', '.join(where)}" if where else ""
    inherited = " (the base has it too)" if finding.inherited else ""
    return f"{finding.severity}: {finding.code.name}{place}: {finding.message}{inherited}"


def _changes(changes: Changes) -> list[str]:
    against = "from the base" if changes.compared else "in the pack (the base could not be read)"
    lines = [f"changed {against}: {changes.files} files"]
    lists = {
        "new executable": (changes.executables, "executables"),
        "symbolic link": (changes.symlinks, "symlinks"),
        "submodule": (changes.submodules, "submodules"),
        "sensitive path": (changes.sensitive, "sensitive"),
        "attributes": (changes.attributes, "attributes"),
    }
    for title, (items, name) in lists.items():
        lines += [f"  {title}: {shorten(path)}{_detail(name, text)}" for path, text in items]
        more = changes.counts[name] - len(items)
        if more:
            lines.append(f"  ({title}: {more} more)")
    lines += [f"  {size} bytes: {shorten(path)}" for size, path in changes.largest]
    return lines


def _detail(name: str, text: bytes) -> str:
    """What a list of changes says of a path, beside the path."""
    if name == "symlinks":
        return f" -> {shorten(text)}"
    if name == "submodules":
        return f" at commit {text.hex()}"
    return f": {shorten(text)}" if text else ""


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
