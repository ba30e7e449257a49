"""The report for code scanning tools: SARIF 2.1.0, one log with one run for all files.

Source: the OASIS standard, and its schema (errata 01).
"""

from __future__ import annotations

import json
import re

from packparse.codes import CLASSES, ENVIRONMENT, IGNORE
from packparse.escape import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from packparse.codes import Code
    from packparse.findings import Finding
    from packparse.report import Report

    Json = dict[str, object]

__all__ = ["as_object", "render", "render_all"]

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_SEMANTIC = re.compile(r"(?:0|[1-9]\d*+)(?:\.(?:0|[1-9]\d*+)){2}(?:[-+][0-9A-Za-z.+-]++)?")
# What RFC 3986 lets stand in a path, without the colon, which could end a scheme.
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
_LEVELS = {IGNORE: "none"}


def render(report: Report, version: str | None = None) -> str:
    """The report of one file as a log of its own; see :func:`render_all`."""
    return render_all([report], version)


def render_all(reports: Sequence[Report], version: str | None = None) -> str:
    """The reports of all files of one command as one line of JSON; ASCII alone.

    ``version`` is that of packcheck, where it is known.
    """
    return json.dumps(as_object(reports, version), separators=(",", ":")) + "\n"


def as_object(reports: Sequence[Report], version: str | None = None) -> Json:
    """The log as plain dictionaries, lists, strings and numbers."""
    rules = _Rules()
    artifacts = _Artifacts()
    results = []
    for report in reports:
        location: Json = {"uri": _uri(report.name), "index": artifacts.add(report)}
        results += [
            _result(finding, location, rules.add(finding.code, report.rules))
            for finding in report.findings.sorted()
        ]
    driver: Json = {"name": "packcheck", "rules": rules.listed}
    if version is not None:
        driver["version"] = version
        if _SEMANTIC.fullmatch(version):
            driver["semanticVersion"] = version
    run: Json = {
        "tool": {"driver": driver},
        "invocations": [_invocation(reports)],
        "artifacts": artifacts.listed,
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


class _Rules:
    """The codes that occur, in the order in which they do."""

    def __init__(self) -> None:
        self.listed: list[Json] = []
        self._places: dict[Code, int] = {}

    def add(self, code: Code, rules: str) -> int:
        """Return the place of a code; ``rules`` is the rule set that it was found under."""
        if code not in self._places:
            self._places[code] = len(self.listed)
            severity = code.severity(rules)
            self.listed.append(
                {
                    "id": code.name,
                    "shortDescription": _text(code.meaning),
                    "fullDescription": _text(code.meaning),
                    "help": _text(code.remedy),
                    "defaultConfiguration": {"level": _LEVELS.get(severity, severity)},
                    "properties": {"class": CLASSES[code.klass][0]},
                }
            )
        return self._places[code]


class _Artifacts:
    """The files; one that is given twice and gives the same twice stands here once."""

    def __init__(self) -> None:
        self.listed: list[Json] = []
        self._places: dict[str, int] = {}

    def add(self, report: Report) -> int:
        """Return the place of a file."""
        artifact = _artifact(report)
        key = json.dumps(artifact)
        if key not in self._places:
            self._places[key] = len(self.listed)
            self.listed.append(artifact)
        return self._places[key]


def _artifact(report: Report) -> Json:
    artifact: Json = {
        "location": {"uri": _uri(report.name)},
        "roles": ["analysisTarget"],
        "properties": {
            "verdict": "accepted" if report.accepted else "refused",
            "class": report.klass,
            "rules": report.rules,
            "kind": report.kind,
            "objectFormat": report.object_format,
            # All that were found; of each code no more than a hundred are results.
            "findingCounts": report.findings.counts(),
        },
    }
    if report.bytes is not None:
        artifact["length"] = report.bytes
    if report.sha256 is not None:
        artifact["hashes"] = {"sha-256": report.sha256}
    return artifact


def _invocation(reports: Sequence[Report]) -> Json:
    status = max((report.klass for report in reports), default=0)
    return {
        "executionSuccessful": status != ENVIRONMENT,
        "exitCode": status,
        "exitCodeDescription": CLASSES[status][0] if status else "accepted",
    }


def _result(finding: Finding, artifact: Json, rule: int) -> Json:
    place: Json = {"artifactLocation": artifact}
    if finding.offset is not None:
        place["region"] = {"byteOffset": finding.offset}
    location: Json = {"physicalLocation": place}
    logical = []
    if finding.path is not None:
        # That of the root tree is empty; an empty pair of quotes stands for nothing else.
        logical.append({"fullyQualifiedName": quote(finding.path) or '""', "kind": "path"})
    if finding.oid is not None:
        logical.append({"fullyQualifiedName": finding.oid.hex(), "kind": "object"})
    if logical:
        location["logicalLocations"] = logical
    properties: Json = {"class": finding.code.klass, "inherited": finding.inherited}
    if finding.limit is not None:
        properties["limit"] = finding.limit.as_dict()
    return {
        "ruleId": finding.code.name,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": _text(finding.message),
        "locations": [location],
        "properties": properties,
    }


def _text(message: str) -> Json:
    """A message of the log: braces would stand for arguments, and ``[x](y)`` would be a link.

    What hostile names can put into a message is neither.
    """
    plain = message.replace("{", "{{").replace("}", "}}")
    return {"text": plain.replace("](", "] (")}


def _uri(name: str) -> str:
    """A file name as a URI reference: relative, or with an absolute path."""
    raw = name.encode("utf-8", "surrogateescape")
    quoted = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in raw)
    # Two slashes would begin the name of a host.
    return f"/.{quoted}" if quoted.startswith("//") else quoted
