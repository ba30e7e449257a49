"""The report as SARIF: what it says, and what the schema of SARIF 2.1.0 asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from packparse import checks, codes
from packparse.codes import CLASSES, Code
from packparse.findings import Findings
from packparse.formats import sarif
from packparse.limits import Limits
from packparse.report import Report

OID = b"\xab" * 20
ABSENT = checks.ABSENT_OBJECT


def report(name: str = "x.pack", rules: str = "candidate", *found: Code) -> Report:
    """A report with a finding of each code."""
    findings = Findings(rules)
    for code in found:
        findings.add(code, f"why {code.name}")
    return Report(name, rules, Limits(), findings)


def refused() -> Report:
    """A report with one of everything."""
    limits = Limits()
    findings = Findings()
    findings.add(checks.MISSING_TIP, "a tip is gone", oid=OID)
    findings.add(ABSENT, "gone", offset=70, oid=b"\xcd" * 20, path=b"dir/a\x1bb")
    findings.add(ABSENT, "the tree", oid=b"\xef" * 20, path=b"")
    findings.add_error(limits.passed("parents", 17, "a commit has").at(12))
    findings.add(codes.EMPTY_PACK, "nothing", offset=0)
    made = Report("dir/some.bundle", "candidate", limits, findings)
    made.kind = "bundle"
    made.object_format = "sha1"
    made.bytes = 1000
    made.sha256 = "00" * 32
    return made


def run_of(*reports: Report, version: str | None = None) -> dict[str, Any]:
    log = json.loads(sarif.render_all(reports, version))
    assert not list(faults(log))
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def only_result(code: Code, message: str, **where: Any) -> dict[str, Any]:  # noqa: ANN401 - of add
    made = report()
    made.findings.add(code, message, **where)
    (result,) = run_of(made)["results"]
    assert isinstance(result, dict)
    return result


# --- what the schema asks for -------------------------------------------------------------------

# The objects of the schema that are used: the properties that they may have, with what these are
# (a type, another object, a list of one of them, a set of words), and those that they must have.
SCHEMA: dict[str, tuple[dict[str, Any], set[str]]] = {
    "log": ({"$schema": str, "version": {"2.1.0"}, "runs": ["run"]}, {"version", "runs"}),
    "run": (
        {
            "tool": "tool",
            "invocations": ["invocation"],
            "artifacts": ["artifact"],
            "results": ["result"],
        },
        {"tool"},
    ),
    "tool": ({"driver": "component"}, {"driver"}),
    "component": (
        {"name": str, "version": str, "semanticVersion": str, "rules": ["rule"]},
        {"name"},
    ),
    "rule": (
        {
            "id": str,
            "shortDescription": "message",
            "fullDescription": "message",
            "help": "message",
            "defaultConfiguration": "configuration",
            "properties": dict,
        },
        {"id"},
    ),
    "message": ({"text": str}, {"text"}),
    "configuration": ({"level": {"none", "note", "warning", "error"}}, set()),
    "invocation": (
        {"executionSuccessful": bool, "exitCode": int, "exitCodeDescription": str},
        {"executionSuccessful"},
    ),
    "artifact": (
        {"location": "uri", "roles": [str], "length": int, "hashes": dict, "properties": dict},
        set(),
    ),
    "uri": ({"uri": str, "index": int}, set()),
    "result": (
        {
            "ruleId": str,
            "ruleIndex": int,
            "level": {"none", "note", "warning", "error"},
            "message": "message",
            "locations": ["location"],
            "properties": dict,
        },
        {"message"},
    ),
    "location": ({"physicalLocation": "physical", "logicalLocations": ["logical"]}, set()),
    "physical": ({"artifactLocation": "uri", "region": "region"}, {"artifactLocation"}),
    "region": ({"byteOffset": int}, {"byteOffset"}),
    "logical": ({"fullyQualifiedName": str, "kind": str}, set()),
}
# A reference to a file: a path, no scheme, no host (RFC 3986).
URI = re.compile(r"(?!//)(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})*")


Kind = Any  # a name in SCHEMA, a list of one kind, a set of words, or a type


def faults(value: Any, kind: Kind = "log", where: str = "") -> Iterator[tuple[str, object]]:  # noqa: ANN401
    """Give every place that does not conform, with what is there."""
    if isinstance(kind, list):
        if not isinstance(value, list):
            yield where, value
            return
        for number, item in enumerate(value):
            yield from faults(item, kind[0], f"{where}/{number}")
        seen = {json.dumps(item, sort_keys=True) for item in value}
        if kind[0] in {"artifact", "rule", "logical"} and len(seen) < len(value):
            yield where, value
    elif isinstance(kind, str):
        allowed, required = SCHEMA[kind]
        if required - set(value) or set(value) - set(allowed):
            yield where, value
        for key in set(value) & set(allowed):
            yield from faults(value[key], allowed[key], f"{where}/{key}")
        if kind == "uri" and not URI.fullmatch(value["uri"]):
            yield where, value
    elif not is_scalar(value, kind):
        yield where, value


def is_scalar(value: object, kind: type | set[str]) -> bool:
    """Whether a value is one of a set of words or has a type; all numbers here count something."""
    if isinstance(kind, set):
        return value in kind
    # A bool is no number.
    return type(value) is kind and not (isinstance(value, int) and value < 0)


WRONG = {
    "no version": {"runs": []},
    "another version": {"version": "2.0.0", "runs": []},
    "a run without a tool": {"version": "2.1.0", "runs": [{}]},
    "an unknown level": {
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "x"}},
                "results": [{"message": {"text": "x"}, "level": "ignore"}],
            }
        ],
    },
    "an artifact twice": {
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "x"}}, "artifacts": [{}, {}]}],
    },
    "a scheme": {
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "x"}}, "artifacts": [{"location": {"uri": "c:x"}}]}],
    },
    "a truth value for a number": {
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "x"}}, "artifacts": [{"length": True}]}],
    },
}


@pytest.mark.parametrize("name", WRONG)
def test_the_checker_sees_what_is_wrong(name: str) -> None:
    assert list(faults(WRONG[name]))


CONFORMING: dict[str, list[Report]] = {
    "no file": [],
    "a file without findings": [report()],
    "one of everything": [refused()],
    "two files": [refused(), report("y", "git", checks.MISSING_TIP)],
    "the same file twice": [refused(), refused()],
    "a file that cannot be read": [report("", "candidate", codes.CANNOT_READ)],
    "every code there is": [report("x", "candidate", *checks.CATALOG.values())],
    "every code under the rules of git": [report("x", "git", *checks.CATALOG.values())],
}


@pytest.mark.parametrize("name", CONFORMING)
def test_a_log_conforms_and_is_one_line_of_ascii(name: str) -> None:
    line = sarif.render_all(CONFORMING[name], "1.2.3")
    assert line.endswith("}\n")
    assert line.count("\n") == 1
    assert line.isascii()
    assert list(faults(json.loads(line))) == []


# --- what it says -------------------------------------------------------------------------------


def test_a_refusal_as_a_whole() -> None:
    uri = {"uri": "dir/some.bundle", "index": 0}
    assert sarif.as_object([refused()], "0.1.0") == {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
        "sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "packcheck",
                        "version": "0.1.0",
                        "semanticVersion": "0.1.0",
                        "rules": [
                            _rule(codes.EMPTY_PACK, "note", "corrupt"),
                            _rule(codes.TOO_MANY_PARENTS, "error", "limit"),
                            _rule(ABSENT, "error", "incomplete"),
                            _rule(checks.MISSING_TIP, "error", "incomplete"),
                        ],
                    }
                },
                "invocations": [
                    {"executionSuccessful": True, "exitCode": 4, "exitCodeDescription": "limit"}
                ],
                "artifacts": [
                    {
                        "location": {"uri": "dir/some.bundle"},
                        "roles": ["analysisTarget"],
                        "length": 1000,
                        "hashes": {"sha-256": "00" * 32},
                        "properties": {
                            "verdict": "refused",
                            "class": 4,
                            "rules": "candidate",
                            "kind": "bundle",
                            "objectFormat": "sha1",
                            "findingCounts": {
                                "missingTip": 1,
                                "absentObject": 2,
                                "tooManyParents": 1,
                                "emptyPack": 1,
                            },
                        },
                    }
                ],
                "results": [
                    _result(0, codes.EMPTY_PACK, "note", "nothing", uri, 0),
                    {
                        "ruleId": "tooManyParents",
                        "ruleIndex": 1,
                        "level": "error",
                        "message": {
                            "text": "a commit has 17 parents, the limit is 16; raise it with "
                            "--limit parents=VALUE"
                        },
                        "locations": [
                            {
                                "physicalLocation": {
                                    "artifactLocation": uri,
                                    "region": {"byteOffset": 12},
                                }
                            }
                        ],
                        "properties": {
                            "class": 4,
                            "inherited": False,
                            "limit": {"name": "parents", "value": 16, "seen": 17},
                        },
                    },
                    _result(2, ABSENT, "error", "gone", uri, 70, '"dir/a\\033b"', "cd" * 20),
                    _result(3, checks.MISSING_TIP, "error", "a tip is gone", uri, oid="ab" * 20),
                    _result(2, ABSENT, "error", "the tree", uri, None, '""', "ef" * 20),
                ],
            }
        ],
    }  # fmt: skip


def _rule(code: Code, level: str, klass: str) -> dict[str, object]:
    return {
        "id": code.name,
        "shortDescription": {"text": code.meaning},
        "fullDescription": {"text": code.meaning},
        "help": {"text": code.remedy},
        "defaultConfiguration": {"level": level},
        "properties": {"class": klass},
    }


def _result(
    rule: int,
    code: Code,
    level: str,
    message: str,
    uri: dict[str, object],
    offset: int | None = None,
    path: str | None = None,
    oid: str | None = None,
) -> dict[str, object]:
    physical: dict[str, object] = {"artifactLocation": uri}
    if offset is not None:
        physical["region"] = {"byteOffset": offset}
    location: dict[str, object] = {"physicalLocation": physical}
    logical = [{"fullyQualifiedName": path, "kind": "path"}] if path is not None else []
    logical += [{"fullyQualifiedName": oid, "kind": "object"}] if oid is not None else []
    if logical:
        location["logicalLocations"] = logical
    return {
        "ruleId": code.name,
        "ruleIndex": rule,
        "level": level,
        "message": {"text": message},
        "locations": [location],
        "properties": {"class": code.klass, "inherited": False},
    }


def test_one_report_is_a_log_of_its_own() -> None:
    assert sarif.render(refused()) == sarif.render_all([refused()])
    assert sarif.render(refused(), "1.0.0") == sarif.render_all([refused()], "1.0.0")


def test_all_files_are_in_one_run() -> None:
    run = run_of(
        report("a", "candidate", checks.MISSING_TIP, codes.BAD_DEFLATE),
        report("b"),
        report("c", "candidate", codes.BAD_DEFLATE),
    )
    assert [artifact["location"]["uri"] for artifact in run["artifacts"]] == ["a", "b", "c"]
    assert [artifact["properties"]["class"] for artifact in run["artifacts"]] == [1, 0, 1]
    places = [
        (result["ruleId"], result["locations"][0]["physicalLocation"]["artifactLocation"])
        for result in run["results"]
    ]
    assert places == [
        ("missingTip", {"uri": "a", "index": 0}),
        ("badDeflate", {"uri": "a", "index": 0}),
        ("badDeflate", {"uri": "c", "index": 2}),
    ]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["missingTip", "badDeflate"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])


def test_the_same_file_twice_is_one_artifact() -> None:
    run = run_of(refused(), refused(), report("dir/some.bundle"))
    assert len(run["artifacts"]) == 2
    assert len(run["results"]) == 10


@pytest.mark.parametrize("level", ["error", "warning", "note"])
def test_levels_are_severities(level: str) -> None:
    findings = Findings("candidate", {codes.BAD_DEFLATE: level})
    findings.add(codes.BAD_DEFLATE, "x")
    run = run_of(Report("x", "candidate", Limits(), findings))
    assert [result["level"] for result in run["results"]] == [level]


def test_a_policy_changes_the_level_of_results_and_not_of_the_rule() -> None:
    findings = Findings("git", {codes.PADDED_DEFLATE: "warning"})
    findings.add(codes.PADDED_DEFLATE, "x")
    run = run_of(Report("x", "git", Limits(), findings))
    assert run["results"][0]["level"] == "warning"
    assert run["tool"]["driver"]["rules"][0]["defaultConfiguration"] == {"level": "none"}


def test_what_the_base_has_is_a_note_that_says_so() -> None:
    made = report()
    finding = made.findings.add(ABSENT, "x")
    assert finding is not None
    made.findings.inherit(finding)
    run = run_of(made)
    assert run["results"][0]["level"] == "note"
    assert run["results"][0]["properties"] == {"class": 5, "inherited": True}
    assert run["invocations"][0]["exitCode"] == 0


def test_findings_that_are_not_kept_are_counted() -> None:
    run = run_of(report("x", "candidate", *[codes.BAD_DEFLATE] * 150))
    assert len(run["results"]) == 100
    assert run["artifacts"][0]["properties"]["findingCounts"] == {"badDeflate": 150}


INVOCATIONS: dict[str, tuple[list[Report], bool, int, str]] = {
    "no file": ([], True, 0, "accepted"),
    "an accepted file": ([report()], True, 0, "accepted"),
    "a corrupt file": ([report("x", "git", codes.BAD_DEFLATE)], True, 1, "corrupt"),
    "the highest of several": (
        [report("x", "git", checks.MISSING_TIP), report(), report("y", "git", codes.BAD_DEFLATE)],
        True,
        5,
        "incomplete",
    ),
    "a file that cannot be read": (
        [report("x", "git", codes.CANNOT_READ), report()],
        False,
        6,
        "environment",
    ),
}


@pytest.mark.parametrize("name", INVOCATIONS)
def test_the_invocation_says_how_the_command_ends(name: str) -> None:
    reports, successful, status, words = INVOCATIONS[name]
    assert run_of(*reports)["invocations"] == [
        {"executionSuccessful": successful, "exitCode": status, "exitCodeDescription": words}
    ]


def test_every_class_has_words_for_its_status() -> None:
    for klass in set(CLASSES) - {codes.USAGE}:
        code = next(code for code in checks.CATALOG.values() if code.klass == klass)
        findings = Findings("candidate", {code: "error"})
        findings.add(code, "x")
        run = run_of(Report("x", "candidate", Limits(), findings))
        assert run["invocations"][0]["exitCodeDescription"] == CLASSES[klass][0]


@pytest.mark.parametrize(
    ("version", "semantic"),
    [
        ("0.1.0", True),
        ("10.20.30", True),
        ("1.0.0-rc.1", True),
        ("1.0.0+local", True),
        ("1.0", False),
        ("1.0.0.dev1", False),
        ("01.0.0", False),
        ("(not installed)", False),
    ],
)
def test_a_version_is_semantic_or_only_a_version(version: str, *, semantic: bool) -> None:
    driver = run_of(version=version)["tool"]["driver"]
    assert driver["version"] == version
    assert driver.get("semanticVersion") == (version if semantic else None)


def test_an_unknown_version_is_left_out() -> None:
    assert set(run_of()["tool"]["driver"]) == {"name", "rules"}


def test_what_is_not_known_of_a_file_is_left_out() -> None:
    (artifact,) = run_of(report("x", "git"))["artifacts"]
    assert set(artifact) == {"location", "roles", "properties"}
    assert artifact["properties"]["kind"] is None


# --- untrusted names (PK6) ----------------------------------------------------------------------

URIS = {
    "a plain name": ("x.pack", "x.pack"),
    "a path": ("a/b-c_d~e.bundle", "a/b-c_d~e.bundle"),
    "an absolute path": ("/tmp/x", "/tmp/x"),  # noqa: S108 - nothing is written there
    "two slashes at the beginning, which would name a host": ("//host/x", "/.//host/x"),
    "a colon, which would end a scheme": ("http:x", "http%3Ax"),
    "a scheme and a host": ("https://host/x", "https%3A//host/x"),
    "a script": ("javascript:alert(1)", "javascript%3Aalert%281%29"),
    "a question mark and a number sign": ("a?b#c", "a%3Fb%23c"),
    "a percent sign": ("a%2Fb", "a%252Fb"),
    "a space": ("a b", "a%20b"),
    "a backslash": ("a\\b", "a%5Cb"),
    "letters that are no ASCII": ("\u00e9", "%C3%A9"),
    "bytes that are no UTF-8": ("a\udcff", "a%FF"),
    "controls": ("\x1b[31m\n\x7f", "%1B%5B31m%0A%7F"),
    "text turned around": ("\u202e", "%E2%80%AE"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize("name", URIS)
def test_a_file_name_becomes_a_reference_to_a_file(name: str) -> None:
    file, uri = URIS[name]
    (artifact,) = run_of(report(file))["artifacts"]
    assert artifact["location"] == {"uri": uri}


MESSAGES = {
    "plain words": ("a name: x", "a name: x"),
    "a place for an argument": ("a name: {0}", "a name: {{0}}"),
    "braces": ("{{}", "{{{{}}"),
    "a link": ("see [here](http://evil/)", "see [here] (http://evil/)"),
    "a link in a link": ("[a](b)](c)", "[a] (b)] (c)"),
    "brackets alone": ("x[0] (y)", "x[0] (y)"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_no_template_and_has_no_link(name: str) -> None:
    message, text = MESSAGES[name]
    assert only_result(codes.BAD_DEFLATE, message)["message"] == {"text": text}


@pytest.mark.parametrize("name", [b"\x1b[31m", b"\xe2\x80\xae", b"\xff", b"a\nb", b"\x7f"])
def test_no_untrusted_byte_reaches_the_output_as_it_is(name: bytes) -> None:
    made = report(name.decode("utf-8", "surrogateescape"))
    made.findings.add(ABSENT, "x", path=name, oid=OID)
    shown = sarif.render(made)
    assert shown.isascii()
    assert [c for c in shown if ord(c) < 0x20 and c != "\n"] == []
    assert "\x7f" not in shown
    (result,) = json.loads(shown)["runs"][0]["results"]
    (path, oid) = result["locations"][0]["logicalLocations"]
    assert path["fullyQualifiedName"].isprintable()
    assert oid == {"fullyQualifiedName": OID.hex(), "kind": "object"}
