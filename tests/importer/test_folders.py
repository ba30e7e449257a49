"""Folders that are kept open, and what can be no folder at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from importer.checkup import Wanted, check_bundle
from importer.durable import Files
from importer.folders import Folders
from importer.repository import Repository
from importer.state import State
from packparse.errors import MisuseError
from packparse.limits import Limits
from packparse.policy import named
from tests.support.files import open_descriptors
from tests.support.launches import Scene, launch, make_host


def test_folders_are_open_until_they_are_closed(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    before = open_descriptors()
    folders = Folders(Files(), "the house")
    folders.open("outer", str(tmp_path), at=None)
    folders.open("inner", "inner", at=folders["outer"])
    assert os.fstat(folders["inner"]).st_ino == (tmp_path / "inner").stat().st_ino
    folders.check()
    for _ in range(2):
        folders.close()
        assert open_descriptors() == before
        for ask in (folders.check, lambda: folders["inner"]):
            with pytest.raises(MisuseError, match="the house is closed"):
                ask()


def test_a_folder_that_cannot_be_opened_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    folders = Folders(Files(), "the house")
    for name in ("link", "none"):
        with pytest.raises(OSError, match=f"Not a directory|No such file.*{name}"):
            folders.open("it", str(tmp_path / name), at=None)
    with pytest.raises(MisuseError):
        folders.check()


# --- what can be no path -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("paths")
    return launch(make_host(folder), folder)


def _state(_scene: Scene, path: str) -> None:
    State(path)


def _repository(scene: Scene, path: str) -> None:
    with State(str(scene.state)) as state:
        Repository(path, state)


def _bundle(scene: Scene, path: str) -> None:
    bases = frozenset([bytes.fromhex(scene.host.base)])
    wanted = Wanted(bases, None, named("candidate"), Limits("candidate"))
    with scene.opened() as repository:
        check_bundle(repository, path, wanted)


DOORS = {"a state": _state, "a repository": _repository, "a bundle": _bundle}


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800"], ids=["empty", "with NUL", "a surrogate"])
@pytest.mark.parametrize("enter", DOORS.values(), ids=DOORS)
def test_what_can_be_no_path_is_a_misuse_at_each_door(
    enter: Callable[[Scene, str], None], path: str, scene: Scene
) -> None:
    before = open_descriptors()
    with pytest.raises(MisuseError, match="there is no such path") as misuse:
        enter(scene, path)
    assert str(misuse.value).isprintable()
    assert open_descriptors() == before
