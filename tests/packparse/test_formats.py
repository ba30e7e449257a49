"""The two output formats, by equality, and what must never reach a terminal."""

from __future__ import annotations

import json

import pytest

from packparse import checks, codes, pathcodes
from packparse.changes import Changes
from packparse.findings import Findings
from packparse.formats import json as json_format
from packparse.formats import text as text_format
from packparse.limits import Limits
from packparse.report import Report
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.bundles import bundle, ref_line

HOSTILE = (
    b"\x1b[31mred",
    b"\x9b31m",
    b"\xe2\x80\xaetxt.exe",
    b"a\xe2\x80\x8bb",
    b"del\x7f",
    b"line\nbreak",
    b"\r\x08\x00\x7f",
    b"\xff\xfe",
    b'quo"te\\',
    b"\xc2\x85",
)


def refused() -> Report:
    """A report with one of everything."""
    limits = Limits()
    findings = Findings()
    findings.add(checks.MISSING_TIP, "a tip is gone", oid=b"\xab" * 20)
    findings.add(checks.ABSENT_OBJECT, "gone", offset=70, oid=b"\xcd" * 20, path=b"dir/a\x1bb")
    findings.add(checks.ABSENT_OBJECT, "the tree", oid=b"\xef" * 20, path=b"")
    findings.add_error(limits.passed("parents", 17, "a commit has").at(12))
    findings.add(codes.EMPTY_PACK, "nothing", offset=8)
    report = Report("some\x1b.bundle", "candidate", limits, findings)
    report.kind = "bundle"
    report.object_format = "sha1"
    report.bytes = 1000
    report.sha256 = "00" * 32
    report.pack_checksum = "11" * 20
    report.counts = {
        "objects": 10,
        "commits": 2,
        "trees": 2,
        "blobs": 5,
        "tags": 1,
        "deltas": 3,
    }
    report.inflated_bytes = 1766
    report.rebuilt_bytes = 1546
    report.copied_bytes = 1400
    report.delta_depth = 2
    report.unchecked_links = 4
    report.seconds = 0.25
    report.peak_rss_bytes = 16 << 20
    report.tips = {b"refs/heads/a\x1bb": b"\x01" * 20}
    report.prerequisites = [b"\x02" * 20]
    return report


def accepted(fmt: str) -> Report:
    report = Report("x.pack", "git", Limits(), Findings("git"))
    report.kind = "pack"
    report.object_format = fmt
    report.counts["objects"] = report.counts["blobs"] = 1
    return report


# --- text ---------------------------------------------------------------------------------------


def test_a_refusal_as_text() -> None:
    assert text_format.render(refused()) == (
        '"some\\033.bundle": refused, class 4 (limit)\n'
        "  note: emptyPack at offset 8: nothing\n"
        "  error: tooManyParents at offset 12: a commit has 17 parents, the limit is 16; "
        "raise it with --limit parents=VALUE\n"
        f"  error: absentObject at offset 70, object {'cd' * 20}, "
        'path "dir/a\\033b": gone\n'
        f"  error: missingTip at object {'ab' * 20}: a tip is gone\n"
        f"  error: absentObject at object {'ef' * 20}, path of the root tree: the tree\n"
        "  bundle, sha1: 2 commits, 2 trees, 5 blobs, 1 tags; 3 of them as deltas, "
        "2 deep at most\n"
        "  1766 bytes inflated, 1546 rebuilt from deltas\n"
        "  SHA-1 collision attacks are not looked for here; git's own check does that\n"
        "  packcheck explain CODE says what a code means and what to do\n"
    )


def test_an_acceptance_as_text() -> None:
    assert text_format.render(accepted("sha256")) == (
        "x.pack: accepted, 1 objects checked\n"
        "  pack, sha256: 0 commits, 0 trees, 1 blobs, 0 tags; 0 of them as deltas, "
        "0 deep at most\n"
        "  0 bytes inflated, 0 rebuilt from deltas\n"
    )


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (codes.BAD_DEFLATE, "refused, class 1 (corrupt)"),
        (codes.DASH_REF_NAME, "refused, class 3 (policy)"),
        (codes.PACK_TOO_LARGE, "refused, class 4 (limit)"),
        (checks.ABSENT_OBJECT, "refused, class 5 (incomplete)"),
        (codes.CANNOT_READ, "refused, class 6 (environment)"),
    ],
    ids=lambda value: value.name if isinstance(value, codes.Code) else "",
)
def test_the_first_line_says_the_class_in_words(code: codes.Code, words: str) -> None:
    findings = Findings()
    findings.add(code, "why")
    shown = text_format.render(Report("x", "candidate", Limits(), findings))
    hint = "  packcheck explain CODE says what a code means and what to do\n"
    assert shown == f"x: {words}\n  error: {code.name}: why\n{hint}"


def test_findings_beyond_the_first_hundred_are_counted() -> None:
    findings = Findings()
    for number in range(150):
        findings.add(checks.ABSENT_OBJECT, f"number {number}")
    report = Report("x", "candidate", Limits(), findings)
    shown = text_format.render(report).splitlines()
    assert sum("absentObject: number" in line for line in shown) == 100
    assert shown[-2] == "  (absentObject: 150 in all, the first 100 are shown)"
    assert json_format.as_object(report)["finding_counts"] == {"absentObject": 150}


# --- JSON ---------------------------------------------------------------------------------------


def test_a_refusal_as_json() -> None:
    report = refused()
    assert json_format.as_object(report) == {
        "schema": "packcheck.report/1",
        "verdict": "refused",
        "class": 4,
        "rules": "candidate",
        "policy": "candidate",
        "input": {
            "name": "some\x1b.bundle",
            "bytes": 1000,
            "sha256": "00" * 32,
            "kind": "bundle",
            "object_format": "sha1",
            "pack_checksum": "11" * 20,
        },
        "counts": {"objects": 10, "commits": 2, "trees": 2, "blobs": 5, "tags": 1, "deltas": 3},
        "findings": [
            _finding("emptyPack", 1, "note", 8, None, None, "nothing"),
            _finding(
                "tooManyParents",
                4,
                "error",
                12,
                None,
                None,
                "a commit has 17 parents, the limit is 16; raise it with --limit parents=VALUE",
                {"name": "parents", "value": 16, "seen": 17},
            ),
            _finding("absentObject", 5, "error", 70, "cd" * 20, '"dir/a\\033b"', "gone"),
            _finding("missingTip", 5, "error", None, "ab" * 20, None, "a tip is gone"),
            _finding("absentObject", 5, "error", None, "ef" * 20, "", "the tree"),
        ],
        "finding_counts": {"absentObject": 2, "emptyPack": 1, "missingTip": 1, "tooManyParents": 1},
        "unchecked_links": 4,
        "limits": Limits().as_dict(),
        "stats": {
            "inflated_bytes": 1766,
            "rebuilt_bytes": 1546,
            "copied_bytes": 1400,
            "delta_depth": 2,
            "seconds": 0.25,
            "peak_rss_bytes": 16 << 20,
        },
        "tips": [{"name": '"refs/heads/a\\033b"', "oid": "01" * 20}],
        "prerequisites": ["02" * 20],
        "changes": None,
        "sha1_collisions_checked": False,
    }


def _finding(
    code: str,
    klass: int,
    severity: str,
    offset: int | None,
    oid: str | None,
    path: str | None,
    message: str,
    limit: dict[str, str | int] | None = None,
    *,
    inherited: bool = False,
) -> dict[str, object]:
    return {
        "code": code,
        "class": klass,
        "severity": severity,
        "offset": offset,
        "oid": oid,
        "path": path,
        "message": message,
        "limit": limit,
        "inherited": inherited,
    }


def test_json_is_one_line_that_says_the_same() -> None:
    report = refused()
    line = json_format.render(report)
    assert line.endswith("}\n")
    assert line.count("\n") == 1
    assert json.loads(line) == json_format.as_object(report)


# Design, section 6: what others build on.
PROMISED = {
    "verdict": str,
    "class": int,
    "input": dict,
    "counts": dict,
    "findings": list,
    "limits": dict,
    "stats": dict,
    "tips": list,
    "prerequisites": list,
}
PROMISED_WITHIN = {
    "input": {"name", "bytes", "sha256", "kind", "object_format", "pack_checksum"},
    "counts": {"objects", "commits", "trees", "blobs", "tags", "deltas"},
    "stats": {"inflated_bytes", "delta_depth", "seconds", "peak_rss_bytes"},
}
EXTRA = {
    "schema",
    "rules",
    "policy",
    "finding_counts",
    "unchecked_links",
    "changes",
    "sha1_collisions_checked",
}


@pytest.mark.parametrize("report", [refused(), accepted("sha1")], ids=["refused", "accepted"])
def test_the_promised_keys_have_the_promised_types(report: Report) -> None:
    shown = json_format.as_object(report)
    assert set(shown) == set(PROMISED) | EXTRA
    assert {key: type(shown[key]) for key in PROMISED} == PROMISED
    for key, names in PROMISED_WITHIN.items():
        within = shown[key]
        assert isinstance(within, dict)
        assert names <= set(within)
    assert shown["verdict"] in {"accepted", "refused"}


def test_what_is_not_known_is_null() -> None:
    findings = Findings()
    findings.add(codes.CANNOT_READ, "gone")
    shown = json_format.as_object(Report("x", "candidate", Limits(), findings))
    assert shown["input"] == {
        "name": "x",
        "bytes": None,
        "sha256": None,
        "kind": None,
        "object_format": None,
        "pack_checksum": None,
    }
    assert shown["findings"] == [_finding("cannotRead", 6, "error", None, None, None, "gone")]


# --- what is inherited, and what changed --------------------------------------------------------


def changed() -> Report:
    """A report of a range: an inherited finding, a new one, and changes of every kind."""
    limits = Limits()
    findings = Findings()
    old = findings.add(pathcodes.HAS_DOTGIT, "old", oid=b"\xab" * 20, path=b"old/.git")
    findings.add(pathcodes.HAS_DOTGIT, "new", oid=b"\xcd" * 20, path=b"new/.git")
    assert old is not None
    findings.inherit(old)
    report = Report("x.bundle", "candidate", limits, findings)
    report.policy = "strict.toml"
    report.changes = changes = Changes()
    changes.add("executables", b"run.sh")
    changes.add("symlinks", b"link\x1b", b"to\x1bthere")
    changes.add("submodules", b"lib", b"\xef" * 20)
    changes.add("sensitive", b".github/workflows/ci.yml", b"added")
    changes.add("attributes", b".gitattributes", b"*.x filter=y")
    for size, path in ((10, b"small"), (1_000, b"large\n"), (None, b"gone")):
        changes.add_file(size, path)
    changes.close()
    return report


def test_changes_and_inherited_findings_as_text() -> None:
    lines = text_format.render(changed()).splitlines()
    assert lines[1:] == [
        f"  note: hasDotgit at object {'ab' * 20}, path old/.git: old (the base has it too)",
        f"  error: hasDotgit at object {'cd' * 20}, path new/.git: new",
        "  changed from the base: 3 files",
        "    new executable: run.sh",
        '    symbolic link: "link\\033" -> "to\\033there"',
        f"    submodule: lib at commit {'ef' * 20}",
        "    sensitive path: .github/workflows/ci.yml: added",
        "    attributes: .gitattributes: *.x filter=y",
        '    1000 bytes: "large\\n"',
        "    10 bytes: small",
        "  packcheck explain CODE says what a code means and what to do",
    ]


def test_changes_and_inherited_findings_as_json() -> None:
    shown = json_format.as_object(changed())
    assert shown["policy"] == "strict.toml"
    assert shown["findings"] == [
        _finding("hasDotgit", 3, "note", None, "ab" * 20, "old/.git", "old", inherited=True),
        _finding("hasDotgit", 3, "error", None, "cd" * 20, "new/.git", "new"),
    ]
    assert shown["changes"] == {
        "compared": True,
        "files": 3,
        "counts": {
            "executables": 1,
            "symlinks": 1,
            "submodules": 1,
            "sensitive": 1,
            "attributes": 1,
        },
        "executables": [{"path": "run.sh"}],
        "symlinks": [{"path": '"link\\033"', "target": '"to\\033there"'}],
        "submodules": [{"path": "lib", "oid": "ef" * 20}],
        "sensitive": [{"path": ".github/workflows/ci.yml", "change": "added"}],
        "attributes": [{"path": ".gitattributes", "setting": "*.x filter=y"}],
        "largest": [{"path": '"large\\n"', "bytes": 1000}, {"path": "small", "bytes": 10}],
    }


def test_of_each_list_a_thousand_are_shown_and_the_rest_is_counted() -> None:
    report = changed()
    report.changes = changes = Changes()
    for number in range(1_050):
        changes.add("executables", b"%04d" % number)
        changes.add_file(number, b"%04d" % number)
    changes.close()
    lines = text_format.render(report).splitlines()
    assert sum(line.startswith("    new executable: ") for line in lines) == 1_000
    assert "    (new executable: 50 more)" in lines
    # Of files the ten largest, the largest first.
    sizes = [line.split()[0] for line in lines if " bytes: " in line]
    assert sizes == [str(number) for number in range(1_049, 1_039, -1)]
    shown = json_format.as_object(report)["changes"]
    assert isinstance(shown, dict)
    assert (len(shown["executables"]), shown["counts"]["executables"]) == (1_000, 1_050)
    assert (shown["files"], len(shown["largest"])) == (1_050, 10)


def test_changes_against_a_base_that_could_not_be_read_say_so() -> None:
    report = changed()
    assert report.changes is not None
    report.changes.compared = False
    line = "  changed in the pack (the base could not be read): 3 files"
    assert line in text_format.render(report).splitlines()


# --- untrusted names (PK6) ----------------------------------------------------------------------


def _hostile_bundle(name: bytes) -> bytes:
    """A bundle that puts a name into a ref, a comment, a capability-like line and a path."""
    pack = packs.PackBuilder()
    entry = name.replace(b"\0", b"") or b"x"
    tree = pack.add("tree", packs.tree_bytes([(b"100644", entry, b"\xab" * 20)]))
    commit = pack.add("commit", packs.commit_bytes(tree.oid))
    pack.add("tag", b"object %s\ntype %s\n" % (commit.hex.encode(), name.replace(b"\n", b"")))
    line = name.replace(b"\n", b"\x0b")
    lines = [ref_line(commit.hex, b"refs/heads/" + line), ref_line("cd" * 20, b"refs/x/" + line)]
    return bundle(pack.build(), lines=lines)


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
def test_no_untrusted_byte_reaches_the_output_as_it_is(name: bytes) -> None:
    file = f"dir/{name.decode('utf-8', 'surrogateescape')}"
    report = verify_bytes(_hostile_bundle(name), name=file)
    assert {"absentObject", "missingTip"} <= {f.code.name for f in report.findings.sorted()}
    for shown in (text_format.render(report), json_format.render(report)):
        assert shown.isascii()
        assert [c for c in shown if ord(c) < 0x20 and c != "\n"] == []
        assert "\x7f" not in shown
    # One line for the verdict, one for each finding, four at the end: a name makes no lines.
    expected = 5 + len(report.findings.sorted())
    assert text_format.render(report).count("\n") == expected
    assert json_format.render(report).count("\n") == 1


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
def test_a_hostile_capability_is_shown_escaped(name: bytes) -> None:
    line = b"@" + name.replace(b"\n", b"") + b"=\x1b\n"
    report = verify_bytes(bundle(b"", version=3, lines=[line]))
    shown = text_format.render(report)
    assert report.klass == 1
    assert shown.isascii()
    assert "\x1b" not in shown
