"""The report for machines: ``packcheck.report/1``, one JSON object on one line.

The schema is docs/reference/report.md. Fields are only ever added.
"""

from __future__ import annotations

import json

from packparse.escape import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.changes import Changes
    from packparse.findings import Finding
    from packparse.report import Report

__all__ = ["SCHEMA", "as_object", "render"]

SCHEMA = "packcheck.report/1"


def render(report: Report) -> str:
    """The report of one file as one line of JSON; ASCII alone."""
    return json.dumps(as_object(report), separators=(",", ":")) + "\n"


def as_object(report: Report) -> dict[str, object]:
    """The report as plain dictionaries, lists, strings and numbers."""
    return {
        "schema": SCHEMA,
        "verdict": "accepted" if report.accepted else "refused",
        "class": report.klass,
        "rules": report.rules,
        "policy": report.policy,
        "input": {
            "name": report.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
            "bytes": report.bytes,
            "sha256": report.sha256,
            "kind": report.kind,
            "object_format": report.object_format,
            "pack_checksum": report.pack_checksum,
        },
        "counts": report.counts,
        "findings": [_finding(finding) for finding in report.findings.sorted()],
        "finding_counts": report.findings.counts(),
        "unchecked_links": report.unchecked_links,
        "limits": report.limits.as_dict(),
        "stats": {
            "inflated_bytes": report.inflated_bytes,
            "rebuilt_bytes": report.rebuilt_bytes,
            "copied_bytes": report.copied_bytes,
            "delta_depth": report.delta_depth,
            "seconds": report.seconds,
            "peak_rss_bytes": report.peak_rss_bytes,
        },
        "tips": [{"name": quote(name), "oid": oid.hex()} for name, oid in report.tips.items()],
        "prerequisites": [oid.hex() for oid in report.prerequisites],
        "changes": None if report.changes is None else _changes(report.changes),
        "sha1_collisions_checked": False,
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code.name,
        "class": finding.code.klass,
        "severity": finding.severity,
        "offset": finding.offset,
        "oid": None if finding.oid is None else finding.oid.hex(),
        "path": None if finding.path is None else quote(finding.path),
        "message": finding.message,
        "limit": None if finding.limit is None else finding.limit.as_dict(),
        "inherited": finding.inherited,
    }


def _changes(changes: Changes) -> dict[str, object]:
    return {
        "compared": changes.compared,
        "files": changes.files,
        "counts": changes.counts,
        "executables": [{"path": quote(path)} for path, _ in changes.executables],
        "symlinks": [
            {"path": quote(path), "target": quote(target)} for path, target in changes.symlinks
        ],
        "submodules": [{"path": quote(path), "oid": oid.hex()} for path, oid in changes.submodules],
        "sensitive": [
            {"path": quote(path), "change": what.decode()} for path, what in changes.sensitive
        ],
        "attributes": [
            {"path": quote(path), "setting": quote(text)} for path, text in changes.attributes
        ],
        "largest": [{"path": quote(path), "bytes": size} for size, path in changes.largest],
    }
