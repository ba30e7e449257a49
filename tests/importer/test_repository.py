"""The repository that candidates are imported into: held open by what it is, not by its path."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from importer.durable import Files
from importer.errors import (
    GIT_FAILED,
    NOT_A_REPOSITORY,
    REPOSITORY_CHANGED,
    ImporterError,
    ImportRefused,
)
from importer.repository import Repository, folder_record
from importer.state import State
from importer.world import World
from manifest.launch import Folder
from packparse.objectformat import FORMATS
from tests.support.fakegit import faked
from tests.support.files import open_descriptors
from tests.support.gitrepo import git, init, make_history
from tests.support.worlds import Telling


def opened(path: Path, folder: Path, world: World | None = None) -> tuple[State, Repository]:
    state = State(str(folder / "state"), world)
    return state, Repository(str(path), state)


def refused(path: Path, folder: Path) -> ImporterError:
    """Why a repository cannot be opened, which leaves nothing open and no room."""
    before = open_descriptors()
    with State(str(folder / "state")) as state, pytest.raises(ImporterError) as raised:
        Repository(str(path), state)
    assert open_descriptors() == before
    assert os.listdir(folder / "state" / "work") in ([], ["lock"])  # noqa: PTH208 - names alone
    return raised.value


def _worktree(folder: Path) -> Path:
    repo = init(folder / "main")
    make_history(repo, 1, 1)
    git(repo, "worktree", "add", "-q", "--detach", str(folder / "linked"), "main")
    return folder / "linked"


SHAPES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a worktree": (lambda folder: init(folder / "repo"), "repo/.git"),
    "a bare one": (lambda folder: init(folder / "repo", bare=True), "repo"),
    "one of the other format": (lambda folder: init(folder / "repo", "sha256"), "repo/.git"),
    "a linked worktree": (_worktree, "main/.git"),
}


@pytest.mark.parametrize(("make", "common"), SHAPES.values(), ids=SHAPES)
def test_it_is_its_common_folder_and_its_objects(
    make: Callable[[Path], Path], common: str, tmp_path: Path
) -> None:
    path = make(tmp_path)
    fmt = git(path, "rev-parse", "--show-object-format").stdout.decode().strip()
    before = open_descriptors()
    state, repository = opened(path, tmp_path)
    with state, repository:
        folder = tmp_path / common
        assert repository.path == str(folder)
        assert repository.object_format is FORMATS[fmt]
        for descriptor, name in (
            (repository.common, "."),
            (repository.objects, "objects"),
            (repository.packs, "objects/pack"),
        ):
            assert os.fstat(descriptor).st_ino == (folder / name).stat().st_ino
            assert not os.get_inheritable(descriptor)
        status = folder.stat()
        assert repository.folder == Folder(
            path=str(folder), device=status.st_dev, inode=status.st_ino
        )
        assert repository.reader.about(bytes(FORMATS[fmt].width)) is None
        repository.check(repository.folder)
    assert open_descriptors() == before
    assert [name.name for name in (tmp_path / "state" / "work").iterdir()] == ["lock"]


def _no_packs(folder: Path) -> Path:
    repo = init(folder / "repo", bare=True)
    (repo / "objects" / "pack").rmdir()
    return repo


def _linked(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        repo = init(folder / "repo", bare=True)
        (repo / name).rename(folder / "elsewhere")
        (repo / name).symlink_to(folder / "elsewhere")
        return repo

    return make


NONE: dict[str, Callable[[Path], Path]] = {
    "a folder": lambda folder: folder,
    "nothing": lambda folder: folder / "none",
    "a repository whose objects are elsewhere": _linked("objects"),
    "a repository whose packs are elsewhere": _linked("objects/pack"),
    "a repository without a place for packs": _no_packs,
}


@pytest.mark.parametrize("make", NONE.values(), ids=NONE)
def test_it_is_not(make: Callable[[Path], Path], tmp_path: Path) -> None:
    error = refused(make(tmp_path), tmp_path)
    assert error.code is NOT_A_REPOSITORY
    assert error.message.isprintable()


def test_a_git_that_does_not_answer_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = init(tmp_path / "repo")
    with faked(tmp_path, "config", "echo 'fatal: bad config' >&2; exit 128"):
        error = refused(repo, tmp_path)
    assert (error.code, error.message) == (GIT_FAILED, "git config: fatal: bad config")
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert refused(repo, tmp_path).code is GIT_FAILED


@pytest.mark.parametrize("failing", ["create lock", "mkdir reader", "write config"])
def test_where_a_file_operation_fails_nothing_stays_open(failing: str, tmp_path: Path) -> None:
    repo = init(tmp_path / "repo")
    files = Telling()
    before = open_descriptors()
    with State(str(tmp_path / "state"), World(files)) as state:
        files.failing.add(failing)
        with pytest.raises(ImporterError, match="fileFailed: No space left"):
            Repository(str(repo), state)
    assert open_descriptors() == before


# --- which one it is -----------------------------------------------------------------------------


def test_one_that_was_moved_is_another_one_for_those_who_have_it_open(tmp_path: Path) -> None:
    repo = init(tmp_path / "repo", bare=True)
    state, repository = opened(repo, tmp_path)
    with state, repository:
        record = repository.folder
        moved = repo.rename(tmp_path / "moved")
        with pytest.raises(ImportRefused) as error:
            repository.check(record)
        assert error.value.code is REPOSITORY_CHANGED
        init(repo, bare=True)
        with pytest.raises(ImportRefused, match="repositoryChanged"):
            repository.check(record)
        with Repository(str(moved), state) as again:
            assert again.folder != record
            assert again.is_of(record)
            again.check(record)
        with Repository(str(repo), state) as other:
            assert not other.is_of(record)
            with pytest.raises(ImportRefused, match="is not the repository of the launch"):
                other.check(record)


@pytest.mark.parametrize("number", ["device", "inode"])
def test_one_is_known_by_both_of_its_numbers(number: str, tmp_path: Path) -> None:
    # Every file system counts its inodes from the same number on.
    state, repository = opened(init(tmp_path / "repo", bare=True), tmp_path)
    with state, repository:
        ours = repository.folder
        other = msgspec.structs.replace(ours, **{number: getattr(ours, number) + 1})
        assert not repository.is_of(other)
        with pytest.raises(ImportRefused, match="repositoryChanged"):
            repository.check(other)


@pytest.mark.parametrize("link", [False, True], ids=["a copy", "a link to itself"])
@pytest.mark.parametrize("name", ["objects", "objects/pack"])
def test_one_whose_store_was_swapped_is_another_one(name: str, link: bool, tmp_path: Path) -> None:
    repo = init(tmp_path / "repo", bare=True)
    state, repository = opened(repo, tmp_path)
    with state, repository:
        (repo / name).rename(tmp_path / "aside")
        for _ in range(2):
            with pytest.raises(ImportRefused) as refused:
                repository.check(repository.folder)
            assert refused.value.code is REPOSITORY_CHANGED
            if link:
                (repo / name).unlink(missing_ok=True)
                (repo / name).symlink_to(tmp_path / "aside")
            elif not (repo / name).exists():
                shutil.copytree(tmp_path / "aside", repo / name)


def test_it_goes_on_with_what_it_opened_whatever_takes_its_place(tmp_path: Path) -> None:
    repo = init(tmp_path / "repo", bare=True)
    state, repository = opened(repo, tmp_path)
    with state, repository:
        repo.rename(tmp_path / "moved")
        init(repo, bare=True)
        os.close(Files().create("mark", at=repository.packs))
        assert (tmp_path / "moved" / "objects" / "pack" / "mark").exists()
        assert not (repo / "objects" / "pack" / "mark").exists()


@pytest.mark.parametrize(
    ("mode", "shared"),
    [(0o755, 0o600), (0o2775, 0o660), (0o700, 0o600), (0o2770, 0o660), (0o777, 0o666),
     (0o705, 0o600), (0o707, 0o606), (0o500, 0o600)],
)  # fmt: skip
def test_the_lock_is_for_those_who_may_write_to_the_store(
    mode: int, shared: int, tmp_path: Path
) -> None:
    repo = init(tmp_path / "repo", bare=True)
    (repo / "objects").chmod(mode)
    state, repository = opened(repo, tmp_path)
    with state, repository:
        assert repository.shared_mode == shared


def test_a_folder_is_recorded_by_what_it_is(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"a \xff\n")
    odd.mkdir()
    with Files().folder(str(odd)) as descriptor:
        record = folder_record(str(odd), descriptor)
    assert record.path == f'"{tmp_path}/a \\377\\n"'
    assert record.location == str(odd)
    assert (record.device, record.inode) == (odd.stat().st_dev, odd.stat().st_ino)


# --- benches -------------------------------------------------------------------------------------


def test_a_bench_writes_where_it_is_told_and_reads_the_store_as_well(tmp_path: Path) -> None:
    repo = init(tmp_path / "repo", bare=True)
    git(repo, "config", "core.sharedRepository", "group")
    state, repository = opened(repo, tmp_path)
    with state, repository:
        store = f"{repo}/objects"
        for bench, objects in (
            (repository.bench("/elsewhere"), "/elsewhere"),
            (repository.quarantine_bench("quarantine-1"), f"{store}/quarantine-1"),
        ):
            with bench as made:
                assert made.environment["GIT_OBJECT_DIRECTORY"] == objects
                assert made.environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] == f'"{store}"'
                config = (Path(made.path) / "config").read_text()
                assert "\tsharedRepository = group\n" in config
                assert made.path.startswith(repository.room.path)
            assert not Path(made.path).exists()
        with repository.bench("/elsewhere", alone=True) as made:
            assert made.environment["GIT_OBJECT_DIRECTORY"] == "/elsewhere"
            assert "GIT_ALTERNATE_OBJECT_DIRECTORIES" not in made.environment
