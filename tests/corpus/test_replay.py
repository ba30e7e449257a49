"""Every file of the corpus gets the verdict that its case says, and git its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corpus import build, replay
from packparse.objectformat import FORMATS
from tests.differential.compare import theirs
from tests.support.gitrepo import git_version, init

ROWS: dict[str, dict[str, Any]] = build.load_index()
# The version whose verdicts are stored.
MEASURED = (2, 39)
# Without these git judges the same file; with a host it has a repository of its own.
SAME_FOR_GIT = {"--object-format", "--limit"}
PACKS = {
    name: row
    for name, row in ROWS.items()
    if row["file"].endswith(".pack") and row["git_host"] is None
}


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("empty")
    return {fmt: init(root / fmt, fmt, bare=True) for fmt in FORMATS}


@pytest.mark.parametrize("name", ROWS)
def test_the_verdict_is_as_expected(name: str) -> None:
    row = ROWS[name]
    assert replay.judge(row, replay.verify(row)) == []


def _format(row: dict[str, Any]) -> str:
    words: list[str] = row["arguments"]
    return words[words.index("--object-format") + 1] if "--object-format" in words else "sha1"


def _unlimited(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"arguments": ["--limits", "history", "--object-format", _format(row)]}


@pytest.mark.parametrize("name", [n for n, row in PACKS.items() if row["git_differs"] is None])
def test_the_rules_of_git_give_the_verdict_of_git(name: str) -> None:
    row = _unlimited(ROWS[name])
    report = replay.verify(row, "git")
    codes = [finding["code"] for finding in report["findings"]]
    assert report["verdict"] == row["git"], codes


@pytest.mark.parametrize("name", [n for n, row in PACKS.items() if row["git_differs"]])
def test_a_difference_from_git_is_one(name: str) -> None:
    row = _unlimited(ROWS[name])
    assert replay.verify(row, "git")["verdict"] != row["git"]


@pytest.mark.skipif(git_version()[:2] != MEASURED, reason="the verdicts are those of git 2.39")
@pytest.mark.parametrize("name", PACKS)
def test_git_still_says_so(empty: dict[str, Path], name: str) -> None:
    row = PACKS[name]
    fmt = _format(row)
    verdict = theirs(empty[fmt], (build.ROOT / row["file"]).read_bytes(), fmt)
    assert row["git"] == ("accepted" if verdict.accepted else "refused"), verdict.stderr
