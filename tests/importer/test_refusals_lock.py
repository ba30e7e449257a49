"""Rows A28 to A30: L1 is held for publishing alone, and nothing but a plain file is a lock.

What a lock does by itself is tested beside it (test_lock.py); here it is that of an import.
"""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from importer.errors import ImporterError, ImportFailed
from importer.journal import opened
from importer.lock import L1
from importer.repository import Repository
from importer.state import State
from importer.steps import Step
from tests.support.candidates import Store
from tests.support.files import open_descriptors
from tests.support.gate import (
    ENVIRONMENT,
    POLICY,
    USAGE,
    Gate,
    Names,
    opened_gate,
)
from tests.support.gitrepo import git, init
from tests.support.untouched import only_packs_added, untouched

# --- A28: when it is held -----------------------------------------------------------------------


def _is_free(path: Path) -> bool:
    if not path.exists():
        return True
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_a28_both_verdicts_are_in_before_l1_is_taken_and_it_is_free_for_reading_back(
    own: Gate,
) -> None:
    path = own.repo / ".git" / L1
    free: dict[Step, bool] = {}
    made: dict[Step, bool] = {}

    def on_step(step: Step) -> None:
        free[step] = _is_free(path)
        made[step] = path.exists()

    scene = own.launch()
    own.put(scene, own.honest())
    result = own.accept(scene, on_step=on_step)
    assert list(free) == list(Step)[1:]
    assert all(free.values())
    assert [step for step in made if made[step]] == [Step.READ_BACK, Step.RECEIPT]
    assert 0 < result.held < result.seconds[Step.PUBLISH]


def test_a28_a_refusal_before_publishing_never_touches_l1(own: Gate) -> None:
    scene = own.launch()
    own.put(scene, own.odd(lambda pack: pack.add("blob", b"a stowaway\n")))
    own.refuse(scene, "stowawayObject", POLICY, 6)
    assert not (own.repo / ".git" / L1).exists()


def test_a28_the_lock_of_an_engine_is_taken_in_the_place_of_ours(own: Gate) -> None:
    seen: list[str] = []
    packs = own.repo / ".git/objects/pack"
    before = set(packs.iterdir())

    @contextmanager
    def lock() -> Iterator[None]:
        seen.append("taken")
        assert set(packs.iterdir()) == before
        yield
        assert len(set(packs.iterdir()) - before) >= 3
        seen.append("given back")

    scene = own.launch()
    own.put(scene, own.honest())
    own.accept(scene, lock=lock, on_step=lambda step: seen.append(step.name))
    at = seen.index("taken")
    assert seen[at - 1 : at + 3] == ["PUBLISH", "taken", "given back", "READ_BACK"]
    assert not (own.repo / ".git" / L1).exists()


def test_a28_a_lock_of_an_engine_that_cannot_be_taken_ends_the_import(own: Gate) -> None:
    def lock() -> AbstractContextManager[object]:
        raise TimeoutError("the engine is busy")

    scene = own.launch()
    own.put(scene, own.honest())
    own.refuse(scene, "lockBusy", ENVIRONMENT, 9, failed=True, lock=lock)
    own.accept(scene)


# --- A28: somebody else holds it ----------------------------------------------------------------

HOLDER = """
import os, sys
from importer.lock import held
from importer.world import World
folder = os.open(sys.argv[1], os.O_RDONLY)
with held(World(), sys.argv[2], at=folder, who="somebody else", timeout=0):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def _held_by_another_process(folder: Path, name: str) -> Iterator[int]:
    """A process of its own holds the lock; its id."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        yield child.pid
        child.stdin.close()


def test_a28_l1_that_another_process_holds_is_busy_and_says_who_it_is(own: Gate) -> None:
    scene = own.launch()
    own.put(scene, own.honest())
    with _held_by_another_process(own.repo / ".git", L1) as holder:
        error = own.refuse(scene, "lockBusy", ENVIRONMENT, 9, failed=True, patience=0)
        assert isinstance(error, ImportFailed)
        assert error.retry
        assert f"process {holder} for somebody else" in error.message
    own.accept(scene)


def test_a28_a_launch_that_somebody_works_on_is_busy_and_says_who_it_is(own: Gate) -> None:
    scene = own.launch()
    own.put(scene, own.honest())
    with (
        opened(own.repository.state, scene.record.launch, timeout=0),
        untouched(own.repo),
        pytest.raises(ImportFailed) as caught,
    ):
        own.run(scene, patience=0)
    assert caught.value.code.name == "lockBusy"
    assert f"process {os.getpid()} for launch {scene.record.launch}" in caught.value.message
    own.accept(scene)


def test_a29_who_locks_the_common_folder_itself_is_not_in_the_way(own: Gate) -> None:
    """An engine may hold its outer lock there: ours is another inode."""
    scene = own.launch()
    own.put(scene, own.honest())
    folder = os.open(own.repo / ".git", os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        own.accept(scene, patience=0)
    finally:
        os.close(folder)


# --- A30: what stands under its name ------------------------------------------------------------


def _linked(path: Path) -> None:
    path.with_name("description").write_bytes(b"target\n")
    path.symlink_to("description")


def _linked_out(path: Path) -> None:
    target = path.parents[2] / "target"
    target.write_bytes(b"target\n")
    path.symlink_to(target)


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _hard_linked(path: Path) -> None:
    path.hardlink_to(path.with_name("config"))


def _socket(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)


LOCKS: dict[str, Callable[[Path], None]] = {
    "A30 a symbolic link": _linked,
    "A30 a symbolic link out of the repository": _linked_out,
    "A30 a symbolic link to nowhere": _dangling,
    "A30 a FIFO": os.mkfifo,
    "A30 a folder": Path.mkdir,
    "A30 the configuration by another name": _hard_linked,
    "A30 a socket": _socket,
}


@pytest.mark.parametrize("name", LOCKS)
def test_a30_a_lock_that_is_no_plain_file_is_refused_and_not_touched(name: str, own: Gate) -> None:
    path = own.repo / ".git" / L1
    LOCKS[name](path)
    scene = own.launch()
    own.put(scene, own.honest())
    # The process that reads the store is there from now on.
    own.repository.reader.read(own.base)
    before = open_descriptors()
    with untouched(own.folder / "host"):
        own.refuse(scene, "lockUnsafe", POLICY, 9)
    assert open_descriptors() == before
    target = own.folder / "target"
    assert not target.exists() or target.read_bytes() == b"target\n"
    assert not (path.parent / "nowhere").exists()
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()
    own.accept(scene)


# --- A30: which folder is a repository ----------------------------------------------------------


def _nothing(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


def _not_there(folder: Path) -> Path:
    return folder / "nowhere"


def _a_file(folder: Path) -> Path:
    (folder / "file").write_bytes(b"")
    return folder / "file"


def _a_symlinked_git(folder: Path) -> Path:
    (folder / "linked").mkdir()
    (folder / "linked/.git").symlink_to(folder / "host/.git")
    return folder / "linked"


def _below_a_symlinked_git(folder: Path) -> Path:
    below = _a_symlinked_git(folder) / "a" / "b"
    below.mkdir(parents=True)
    return below


def _symlinked_objects(folder: Path) -> Path:
    """Another repository whose objects are those of the host, which has a lock of its own."""
    other = init(folder / "other")
    objects = other / ".git/objects"
    for path in sorted(objects.rglob("*"), reverse=True):
        path.rmdir()
    objects.rmdir()
    objects.symlink_to(folder / "host/.git/objects")
    return other


def _symlinked_packs(folder: Path) -> Path:
    other = init(folder / "other")
    (other / ".git/objects/pack").rmdir()
    (other / ".git/objects/pack").symlink_to(folder / "host/.git/objects/pack")
    return other


def _a_git_file_to_nowhere(folder: Path) -> Path:
    (folder / "gone").mkdir()
    (folder / "gone/.git").write_text("gitdir: /nowhere\n")
    return folder / "gone"


def _of_an_unknown_format(folder: Path) -> Path:
    other = init(folder / "other")
    git(other, "config", "core.repositoryFormatVersion", "1")
    git(other, "config", "extensions.unknown", "true", check=False)
    return other


PLACES: dict[str, Callable[[Path], Path]] = {
    "A30 a folder that is no repository": _nothing,
    "A30 nothing": _not_there,
    "A30 a file": _a_file,
    "A30 a .git that is a symbolic link": _a_symlinked_git,
    "A30 a folder below a .git that is a symbolic link": _below_a_symlinked_git,
    "A30 objects that are a symbolic link": _symlinked_objects,
    "A30 packs that are a symbolic link": _symlinked_packs,
    "A30 a .git that leads nowhere": _a_git_file_to_nowhere,
    "A30 a repository of a format that git does not know": _of_an_unknown_format,
}


@pytest.mark.parametrize("name", PLACES)
def test_a30_a_folder_that_is_no_repository_of_its_own_is_refused(name: str, copied: Path) -> None:
    path = PLACES[name](copied)
    with State(str(copied / "state")) as state:
        before = open_descriptors()
        with untouched(copied / "host"), pytest.raises(ImporterError) as caught:
            Repository(str(path), state)
        code = caught.value.code
        assert (code.name, code.klass) == ("notARepository", USAGE), caught.value.message
        assert open_descriptors() == before
        assert [path.name for path in (copied / "state/work").iterdir()] in ([], ["lock"])


@pytest.mark.parametrize("below", ["", "dir", ".git"])
def test_a30_any_folder_of_the_repository_leads_to_it(
    below: str, copied: Path, mould: tuple[Path, Store, Names]
) -> None:
    """A link to the repository as a whole is the caller's own way to it."""
    _folder, store, names = mould
    (copied / "host/dir").mkdir(exist_ok=True)
    (copied / "way").symlink_to(copied / "host")
    with opened_gate(copied, store, names) as gate:
        scene = gate.launch()
        gate.put(scene, gate.honest())
        with (
            Repository(str(copied / "way" / below), gate.repository.state) as repository,
            only_packs_added(gate.repo, gate.repo / ".git"),
        ):
            gate.repository = repository
            gate.run(scene)
