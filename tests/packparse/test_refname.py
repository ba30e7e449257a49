"""Ref names against the real ``git check-ref-format`` (PB9, case 22)."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest

from packparse import refname
from tests.support.gitrepo import clean_env

VALID = (
    b"refs/heads/main",
    b"refs/heads/a/b/c",
    b"refs/tags/v1.0",
    b"refs/x",
    b"refs/heads/@",
    b"refs/heads/a@b",
    b"refs/@/x",
    b"refs/heads/{a}",
    b"refs/heads/a}b",
    b"refs/heads/-",
    b"refs/heads/--mirror",
    b"refs/heads/+x",
    b"refs/heads/a./b",
    b"refs/heads/a.b.c",
    b"refs/heads/a.lockx",
    b"refs/heads/lock",
    b"refs/heads/HEAD",
    b"refs/heads/refs/heads/x",
    b"refs/heads/a#b%c&d(e)f",
    b"refs/heads/a;b|c<d>e",
    b"refs/heads/'\"`$!",
    b"refs/heads/a=b,c",
    b"refs/heads/\xc3\xa9",
    b"refs/heads/\xff\xfe",
    b"refs/heads/\x80",
    b"refs/heads/\xe2\x80\xae",
    b"refs/heads/" + b"n" * 300,
    b"refs/replace/x",
    b"main-worktree/HEAD",
    b"worktrees/a/HEAD",
    b"worktrees/a-b.c/refs/bisect/bad",
)
INVALID = (
    b"worktrees/.a/HEAD",
    b"worktrees/a.lock/HEAD",
    b"worktrees/a b/HEAD",
    b"worktrees/a/refs/heads/x.",
    b"refs/",
    b"refs//x",
    b"refs/heads/",
    b"refs/heads//x",
    b"refs/heads/x/",
    b"refs/heads/.",
    b"refs/heads/..",
    b"refs/heads/.x",
    b"refs/heads/x/.y",
    b"refs/.x/y",
    b"refs/heads/x.",
    b"refs/heads/a..b",
    b"refs/heads/../../x",
    b"refs/heads/x.lock",
    b"refs/heads/x.lock/y",
    b"refs/heads/.lock",
    b"refs/heads/a.lock.lock",
    b"refs/heads/@{",
    b"refs/heads/a@{1}",
    b"refs/heads/a b",
    b"refs/heads/a\tb",
    b"refs/heads/a\nb",
    b"refs/heads/a\rb",
    b"refs/heads/\x01",
    b"refs/heads/\x1b[31m",
    b"refs/heads/\x7f",
    b"refs/heads/a~1",
    b"refs/heads/a^",
    b"refs/heads/a:b",
    b"refs/heads/a?",
    b"refs/heads/*",
    b"refs/heads/[a",
    b"refs/heads/a\\b",
    b" refs/heads/x",
    b"refs/heads/x ",
    b"/refs/heads/x",
)
PIECES = (b"a", b".", b"@", b"{", b".lock", b"-", b"/", b"~", b"\xc3")
BUILT = [b"refs/heads/" + b"".join(parts) for parts in itertools.product(PIECES, repeat=2)]
BUILT += [b"refs/" + left + b"/" + right for left in PIECES for right in (b"a", b".", b"@")]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[bytes, bool]:
    folder = tmp_path_factory.mktemp("empty")
    return {name: _git_says(folder, name) for name in {*VALID, *INVALID, *BUILT}}


def _git_says(folder: Path, name: bytes, *options: str) -> bool:
    command: list[str | bytes] = ["git", "check-ref-format", *options, name]
    done = subprocess.run(command, env=clean_env(folder), cwd=folder, check=False, timeout=60)
    assert done.returncode in {0, 1}
    return done.returncode == 0


def test_the_tables_say_what_git_says(verdicts: dict[bytes, bool]) -> None:
    assert [name for name in VALID if not verdicts[name]] == []
    assert [name for name in INVALID if verdicts[name]] == []


def test_full_names_are_judged_as_git_judges_them(verdicts: dict[bytes, bool]) -> None:
    ours = {name: refname.is_valid(name) for name in verdicts}
    assert {n: v for n, v in ours.items() if v != verdicts[n]} == {}
    # Neither side of the comparison is empty.
    assert sum(ours.values()) > 30
    assert sum(not v for v in ours.values()) > 50


@pytest.mark.parametrize("name", [b"HEAD", b"FETCH_HEAD", b"ORIG_HEAD", b"A"])
def test_a_pseudoref_is_what_git_allows_as_one_level_in_capitals(
    tmp_path: Path, name: bytes
) -> None:
    # The one difference: without --allow-onelevel git wants a slash, and bundles do name HEAD.
    assert not _git_says(tmp_path, name)
    assert _git_says(tmp_path, name, "--allow-onelevel")
    assert refname.is_valid(name)
    assert refname.is_pseudoref(name)


@pytest.mark.parametrize(
    "name",
    [
        b"head",
        b"Head",
        b"HEAD2",
        b"HEAD-X",
        b"main",
        b"x/y",
        b"HEAD/x",
        b"heads/main",
        b"worktrees/a",
        b"worktrees/a/",
        b"worktrees/HEAD",
        b"worktrees/a/head",
        b"worktrees/a/b/HEAD",
        b"main-worktree",
        b"main-worktree/head",
    ],
)
def test_a_name_that_is_neither_full_nor_a_pseudoref_is_refused(name: bytes) -> None:
    assert not refname.is_valid(name)
    assert not refname.is_pseudoref(name)


@pytest.mark.parametrize(
    "name", [b"", b"@", b"/", b"refs", b"refs/heads/a\0b", b"HEAD\0", b"HEAD\n"]
)
def test_what_no_command_line_can_carry_is_refused_too(name: bytes) -> None:
    assert not refname.is_valid(name)


@pytest.mark.parametrize(
    ("name", "dashed"),
    [
        (b"-x", True),
        (b"--mirror", True),
        (b"refs/-x", True),
        (b"refs/heads/--mirror", True),
        (b"refs/heads/-", True),
        (b"refs/heads/-x/y", True),
        (b"refs/heads/x-", False),
        (b"refs/heads/x-y", False),
        (b"refs/heads/x-/y", False),
        (b"HEAD", False),
    ],
)
def test_a_part_like_an_option_is_seen(name: bytes, *, dashed: bool) -> None:
    assert refname.has_dash_component(name) is dashed
