"""The demo ends as it says: it is the first thing that a stranger runs."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from candidate import cli, demo, hostile, sandbox
from candidate.errors import SANDBOX_MISSING, CandidateError
from importer.repository import Repository
from importer.steps import ImportResult, import_candidate
from packparse.objectformat import SHA1
from tests.support.launched import has_sandbox
from tests.support.packs import oid
from tests.support.records import receipt_record

CODES = [
    "symlinkEscapes", "hasDotgit", "smuggledBase", "stowawayObject", "rebuiltObjectTooLarge",
    "trailingBytes", "manifestForged", "originUnsafe",
]  # fmt: skip


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(["demo", *arguments])
    out, err = capfd.readouterr()
    return status, out, err


def test_the_demo_shows_the_whole_way_and_what_does_not_get_through(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    status, out, err = run(capfd)
    assert (status, err) == (0, "")
    refused = [
        line.rpartition("refused, ")[2] for line in out.splitlines() if ": refused, " in line
    ]
    assert refused == CODES
    assert "the host is as it was before\n" in out
    where = "in a sandbox" if has_sandbox() else "without a sandbox"
    assert out.endswith(
        f"\nAll of it ended as it must: 1 candidate made {where} and imported, 8 of 8 hostile "
        "artifacts refused for the right reason, 0 files of the host changed by them.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_without_a_sandbox_it_says_so_and_goes_on(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> str:
        raise CandidateError(SANDBOX_MISSING, "there is no bwrap in PATH")

    monkeypatch.setattr(sandbox, "bubblewrap", missing)
    status, out, err = run(capfd, "--format", "json")
    told = json.loads(out)
    assert (status, told["well"], told["sandboxed"]) == (0, True, False)
    assert told["reason"] == "there is no bwrap in PATH"
    assert [refusal["code"] for refusal in told["refusals"]] == CODES
    assert "NO SANDBOX here: there is no bwrap in PATH\n" in err
    assert "as with --sandbox off\n" in err


@pytest.mark.parametrize(
    ("code", "changed", "well"),
    [("right", [], True), ("other", [], False), ("", [], False), ("right", ["config"], False)],
    ids=["all is well", "another reason", "one got through", "the host changed"],
)
def test_it_is_only_well_if_nothing_got_through_and_nothing_changed(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    changed: list[str],
    well: bool,
) -> None:
    refusal = demo.Refusal("title", "right", code, "message")
    result = demo.Result(receipt_record(), "", [refusal], changed)
    monkeypatch.setattr(demo, "run", lambda *_arguments, **_named: result)
    status, out, _ = run(capfd)
    assert (status, "OTHERWISE" in out) == ((0, False) if well else (3, True))


def test_what_gets_through_is_told(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = import_candidate
    count = iter(range(10))

    def lenient(repository: Repository, launch: str) -> ImportResult:
        # The third one, which is the second hostile one.
        if next(count) == 2:
            return None  # type: ignore[return-value]
        return real(repository, launch)

    monkeypatch.setattr(demo, "import_candidate", lenient)
    status, out, _ = run(capfd)
    assert status == 3
    assert "for .git: IMPORTED INSTEAD OF hasDotgit\n" in out
    assert "7 of 8 hostile artifacts refused for the right reason" in out


def test_a_git_that_cannot_make_the_host_is_told(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("git")
    says_no = '[ "$word" != init ] || { echo no >&2; exit 1; }'
    (tmp_path / "git").write_text(f'#!/bin/sh\nfor word; do {says_no}; done\nexec {real} "$@"\n')
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    status, _, err = run(capfd)
    assert status == 6
    assert "gitFailed: git init: no" in err


def test_the_artifacts_are_small_whatever_they_make() -> None:
    secret = oid("blob", b"x")
    made = hostile.artifacts(SHA1, b"\1" * 20, secret)
    assert [one.code for one in made] == CODES
    assert max(len(one.data) for one in made) < 1_000
