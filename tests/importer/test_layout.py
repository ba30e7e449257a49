"""What git is asked about hosts and about itself: contracts A14 and A48."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from importer import layout
from importer.errors import GIT_FAILED, NOT_A_REPOSITORY, ImportFailed, ImportRefused
from tests.support.files import open_descriptors
from tests.support.gitrepo import git as real_git
from tests.support.gitrepo import init, make_history
from tests.support.scriptgit import ODD_NAMES, FakeGit

# --- its version ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("git version 2.39.5", "2.39.5"),
        ("git version 2.47.0.windows.1", "2.47.0.windows.1"),
        ("git version 2.39.5 (Apple Git-154)", "2.39.5"),
        ("git version 2.51.0-rc1", "2.51.0-rc1"),
        ("git version 3.0.0", "3.0.0"),
        ("git version 10.1", "10.1"),
    ],
)
def test_a_git_that_is_new_enough_says_its_version(said: str, version: str, fake: FakeGit) -> None:
    fake.script(f"echo '{said}'")
    assert layout.version() == version


@pytest.mark.parametrize(
    "said", ["git version 2.38.9", "git version 1.99.0", "git version", "hub 2.39.5", ""]
)
def test_any_other_is_refused(said: str, fake: FakeGit) -> None:
    fake.script(f"printf '%s' '{said}'")
    with pytest.raises(ImportFailed) as failed:
        layout.version()
    assert (failed.value.code, failed.value.retry) == (GIT_FAILED, False)
    assert failed.value.message == f"git 2.39 or newer is needed; here is {said}"


def test_it_is_asked_again_where_another_git_was_installed(
    fake: FakeGit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.script(f"echo >>{tmp_path}/asked; echo git version 2.40.1")
    assert [layout.version() for _ in range(3)] == ["2.40.1"] * 3
    assert (tmp_path / "asked").read_text() == "\n"
    fake.script("echo git version 2.41.0")
    assert layout.version() == "2.41.0"
    # Written over, as cp does it.
    git = tmp_path / "bin" / "git"
    git.write_text("#!/bin/sh\necho git version 2.41.5\n")
    os.utime(git, ns=(1, 1))
    assert layout.version() == "2.41.5"
    # Of another folder of the search path.
    FakeGit(tmp_path / "other", monkeypatch).script("echo git version 2.42.0")
    assert layout.version() == "2.42.0"


# --- where a repository has its parts ------------------------------------------------------------


def _plain(folder: Path) -> tuple[Path, Path]:
    repo = init(folder / "repo")
    return repo, repo / ".git"


def _below(folder: Path) -> tuple[Path, Path]:
    repo = init(folder / "repo")
    (repo / "a" / "b").mkdir(parents=True)
    return repo / "a" / "b", repo / ".git"


def _bare(folder: Path) -> tuple[Path, Path]:
    repo = init(folder / "repo", bare=True)
    return repo, repo


def _worktree(folder: Path) -> tuple[Path, Path]:
    repo = init(folder / "repo")
    make_history(repo, 1, 1)
    real_git(repo, "worktree", "add", "-q", "--detach", str(folder / "linked"), "main")
    return folder / "linked", repo / ".git"


def _linked(folder: Path) -> tuple[Path, Path]:
    repo = init(folder / "repo")
    (folder / "link").symlink_to("repo")
    return folder / "link", repo / ".git"


def _hooked(folder: Path) -> tuple[Path, Path]:
    repo = init(folder / "repo")
    real_git(repo, "config", "core.fsmonitor", f"touch {folder}/ran")
    real_git(repo, "config", "core.objectsDirectory", "/hostile")
    return repo, repo / ".git"


REPOSITORIES: dict[str, Callable[[Path], tuple[Path, Path]]] = {
    "a worktree": _plain,
    "a folder in a worktree": _below,
    "a bare repository": _bare,
    "its .git": lambda folder: (_plain(folder)[1], folder / "repo" / ".git"),
    "a linked worktree": _worktree,
    "a link to a worktree": _linked,
    "a worktree whose configuration runs programs": _hooked,
}


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("make", REPOSITORIES.values(), ids=REPOSITORIES)
def test_the_parts_are_found_of(make: Callable[[Path], tuple[Path, Path]], tmp_path: Path) -> None:
    path, common = make(tmp_path)
    before = open_descriptors()
    found = layout.layout(str(path))
    assert found == (str(common), "sha1", "")
    assert open_descriptors() == before
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "name", [name for name in ODD_NAMES.values() if b"\n" not in name], ids=repr
)
def test_the_parts_are_found_whatever_the_path_is(name: bytes, tmp_path: Path) -> None:
    repo = init(tmp_path / os.fsdecode(name), "sha256")
    found = layout.layout(str(repo))
    assert found == (f"{repo}/.git", "sha256", "")


@pytest.mark.parametrize(
    ("value", "shared"),
    [("group", "group"), ("true", "true"), ("0660", "0660"), ("all", "all"), ("umask", "umask")],
)
def test_who_shares_it_is_found(value: str, shared: str, tmp_path: Path) -> None:
    repo = init(tmp_path / "repo")
    real_git(repo, "config", "core.sharedRepository", value)
    assert layout.layout(str(repo)).shared == shared


def test_a_value_that_would_be_more_than_one_line_of_ours_is_not_taken_over(
    tmp_path: Path, fake: FakeGit
) -> None:
    fake.script(
        'case "$*" in *rev-parse*) printf "/common\\n/common\\nsha1\\n";; '
        '*) printf "group\\n[core]\\n\\tfsmonitor = x";; esac'
    )
    assert layout.layout(str(tmp_path)) == ("/common", "sha1", "")


def _gone(folder: Path) -> Path:
    (folder / ".git").write_text("gitdir: /none\n")
    return folder


def _file(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file"


def _moved(folder: Path) -> Path:
    repo = init(folder / "repo")
    (repo / ".git").rename(folder / "elsewhere")
    (repo / ".git").symlink_to(folder / "elsewhere")
    return repo


def _below_moved(folder: Path) -> Path:
    (_moved(folder) / "a").mkdir()
    return folder / "repo" / "a"


def _no_objects(folder: Path) -> Path:
    repo = init(folder / "repo", bare=True)
    (repo / "objects").rename(folder / "away")
    return repo


NO_REPOSITORIES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "nothing": (lambda folder: folder / "none", "is no folder"),
    "a file": (_file, "is no folder"),
    "a folder": (lambda folder: folder, "fatal: not a git repository"),
    "a folder whose .git leads nowhere": (_gone, "fatal: not a git repository"),
    "a worktree whose .git is a link": (_moved, "its .git is a symbolic link"),
    "a folder in a worktree whose .git is a link": (_below_moved, "its .git is a symbolic link"),
    "a repository without objects": (_no_objects, "fatal: not a git repository"),
    "a repository with a line feed in its path": (
        lambda folder: init(folder / "a\nb"), "its path has a line feed",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "reason"), NO_REPOSITORIES.values(), ids=NO_REPOSITORIES)
def test_no_parts_are_found_of(make: Callable[[Path], Path], reason: str, tmp_path: Path) -> None:
    path = make(tmp_path)
    before = open_descriptors()
    with pytest.raises(ImportRefused) as refused:
        layout.layout(str(path))
    assert refused.value.code is NOT_A_REPOSITORY
    assert reason in refused.value.message
    assert refused.value.message.isprintable()
    assert open_descriptors() == before
