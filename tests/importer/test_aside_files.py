"""What stands among files of the importer and is none, or changes while it is looked at."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from importer.durable import TEMPORARY, Files, UnsafeFileError
from importer.errors import ORIGIN_CHANGED
from importer.launches import recover_all
from importer.lock import held
from importer.repository import Repository
from importer.state import State
from importer.steps import import_candidate
from importer.world import World
from tests.support.faults import tree
from tests.support.files import is_held, open_descriptors
from tests.support.launches import LAUNCH, Scene, launch
from tests.support.launches import Host as PlainHost


@pytest.fixture
def scene(host: PlainHost, tmp_path: Path) -> Scene:
    made = launch(host, tmp_path)
    made.offer()
    return made


# --- replaced while it is opened -----------------------------------------------------------------


class Replacing(Files):
    """Files of which one is replaced by another each time that it was opened."""

    def __init__(self, path: Path, times: int) -> None:
        self._path = path
        self.left = times

    def _open(self, name: str, at: int) -> int:
        descriptor = super()._open(name, at)
        if name == self._path.name and self.left:
            self.left -= 1
            self._path.with_name("tmp_new").write_bytes(b"%d are left" % self.left)
            self._path.with_name("tmp_new").rename(self._path)
        return descriptor


def test_a_file_that_is_replaced_while_it_is_opened_is_opened_again(tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(b"the first")
    files = Replacing(tmp_path / "it", 3)
    before = open_descriptors()
    with files.folder(str(tmp_path)) as at:
        assert files.read("it", at=at, most=100) == b"0 are left"
    assert open_descriptors() == before


def test_a_file_that_is_replaced_for_ever_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(b"the first")
    files = Replacing(tmp_path / "it", 1_000)
    before = open_descriptors()
    with files.folder(str(tmp_path)) as at, pytest.raises(UnsafeFileError, match="with 0 names"):
        files.read("it", at=at, most=100)
    assert files.left == 1_000 - 5
    assert open_descriptors() == before


def test_a_lock_that_loses_its_name_while_it_is_opened_is_opened_again(tmp_path: Path) -> None:
    class Losing(Files):
        opened = 0

        def open_shared(self, name: str, *, at: int, mode: int) -> int:
            descriptor = super().open_shared(name, at=at, mode=mode)
            self.opened += 1
            if self.opened == 1:
                (tmp_path / name).unlink()
            return descriptor

    files = Losing()
    with (
        files.folder(str(tmp_path)) as at,
        held(World(files), "lock", at=at, who="it", timeout=0),
    ):
        assert is_held(tmp_path / "lock")
    assert files.opened == 2


# --- what is somebody else's ---------------------------------------------------------------------


def _deep(path: Path) -> None:
    path.joinpath(*"abcdefghij").mkdir(parents=True)


def _odd_room(path: Path) -> None:
    (path / "lock").mkdir(parents=True)


STRAYS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a file where rooms are": ("work/0123456789abcdef", Path.touch),
    "a link where rooms are": ("work/0123456789abcdef", lambda path: path.symlink_to("/")),
    "a folder where rooms are that is deeper than any": ("work/0123456789abcdef", _deep),
    "a folder where rooms are whose lock is a folder": ("work/0123456789abcdef", _odd_room),
    "a file where launches are": ("launches/tmp_note", Path.touch),
    "a link where launches are": ("launches/tmp_note", lambda path: path.symlink_to("/")),
    "a folder where launches are that is deeper than any": ("launches/tmp_note", _deep),
    "a folder in a launch": (f"launches/{LAUNCH}/{TEMPORARY}note", Path.mkdir),
}


@pytest.mark.parametrize(("name", "put"), STRAYS.values(), ids=STRAYS)
def test_it_stays_and_stands_in_nobodys_way(
    name: str, put: Callable[[Path], object], scene: Scene
) -> None:
    path = scene.state / name
    put(path)
    there = [] if path.is_symlink() else tree(path)
    with scene.opened() as repository:
        assert [one.error for one in recover_all(repository)] == [None]
        receipt = import_candidate(repository, LAUNCH).receipt
    assert receipt.candidate == scene.host.candidate
    assert os.path.lexists(path)
    assert there == ([] if path.is_symlink() else tree(path))


class Clinging(Files):
    """Files of which some cannot be removed, as where somebody made them immutable."""

    def __init__(self, *clinging: str) -> None:
        self.clinging = clinging

    def remove_folder(self, name: str, **options: int) -> bool:
        if name.startswith(self.clinging):
            raise PermissionError(1, "Operation not permitted", name)
        return super().remove_folder(name, **options)


@pytest.mark.parametrize("name", ["tmp_objdir-candidate-", "bench-", "reader"])
def test_a_folder_of_ours_that_cannot_be_removed_is_left_for_the_next_time(
    name: str, scene: Scene
) -> None:
    with scene.opened(World(Clinging(name))) as repository:
        receipt = import_candidate(repository, LAUNCH).receipt
    with scene.opened() as repository:
        assert [one.error for one in recover_all(repository)] == [None]
        assert import_candidate(repository, LAUNCH).receipt == receipt
    left = [*tree(scene.state / "work"), *tree(scene.host.common / "objects")]
    assert [path for path in left if name in path] == []


# --- ways that lead nowhere ----------------------------------------------------------------------


def test_an_export_folder_behind_a_loop_of_links_is_another_one(scene: Scene) -> None:
    scene.export.rename(scene.folder / "away")
    scene.export.symlink_to(scene.export.name)
    record = scene.record
    with scene.opened() as repository, pytest.raises(Exception, match="originChanged") as refused:
        import_candidate(repository, record.launch)
    assert getattr(refused.value, "code", None) is ORIGIN_CHANGED


def test_an_export_folder_that_may_not_be_opened_is_a_failure(scene: Scene) -> None:
    class Denying(Files):
        def open_folder(self, name: str, *, at: int | None = None) -> int:
            if name == str(scene.export):
                raise PermissionError(13, "Permission denied", name)
            return super().open_folder(name, at=at)

    with (
        scene.opened(World(Denying())) as repository,
        pytest.raises(Exception, match=r"fileFailed \(step 1\): Permission denied"),
    ):
        import_candidate(repository, LAUNCH)


def test_a_state_for_a_moment_may_lie_in_a_repository(scene: Scene) -> None:
    inside = scene.host.repo / "state"
    with pytest.raises(Exception, match="stateUnsafe"):
        State(str(inside))
    with (
        State(str(inside), apart=False) as state,
        Repository(str(scene.host.repo), state) as repository,
    ):
        assert repository.reader.read(bytes.fromhex(scene.host.base)) is not None
