"""The folder of a launch: whose it is."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from importer import place
from importer.durable import Files
from manifest.atoms import pack_path
from tests.support.files import open_descriptors
from tests.support.made import LAUNCH
from tests.support.worlds import Telling

replace = msgspec.structs.replace
ID = "ab" * 16


@pytest.fixture
def at(tmp_path: Path) -> int:
    return os.open(tmp_path, os.O_RDONLY)


def test_a_folder_says_whose_it_is_once_it_is_marked(tmp_path: Path, at: int) -> None:
    files = Telling()
    assert place.owner(files, at=at) is None
    place.mark(files, ID, at=at)
    assert place.owner(files, at=at) == ID
    assert [line.split()[0] for line in files.seen] == ["symlink", "fsync"]
    with pytest.raises(FileExistsError):
        place.mark(files, "cd" * 16, at=at)
    assert place.owner(files, at=at) == ID
    os.close(at)
    assert (tmp_path / place.MARK).is_symlink()


def test_what_is_no_mark_says_nothing(tmp_path: Path, at: int) -> None:
    (tmp_path / place.MARK).write_text(ID)
    assert place.owner(Files(), at=at) is None
    os.close(at)


def test_a_folder_that_cannot_be_looked_into_is_not_one_without_a_mark(at: int) -> None:
    os.close(at)
    with pytest.raises(OSError, match="Bad file descriptor"):
        place.owner(Files(), at=at)


def test_a_folder_goes_whole_and_its_mark_once_that_is_durable(tmp_path: Path) -> None:
    folder = tmp_path / "it"
    for name in (place.SOURCE, place.WORKSPACE, place.EXPORT, place.HOME):
        (folder / name).mkdir(parents=True)
    (folder / place.MARK).symlink_to(ID)
    export = replace(LAUNCH.export, path=pack_path(f"{folder}/{place.EXPORT}"))
    record = replace(LAUNCH, export=export)
    files = Telling()
    before = open_descriptors()
    removed = place.remove(files, record)
    assert files.seen == [
        "rmdir workspace", "rmdir source", "rmdir home", "rmdir export",
        "fsync it", "unlink launch", f"rmdir {folder}",
    ]  # fmt: skip
    assert removed == [f"{folder}/{name}" for name in ("workspace", "source", "home", "export")]
    assert not folder.exists()
    assert place.remove(files, record) == []
    assert open_descriptors() == before


def test_the_mark_stays_while_somebody_goes_on_putting_things_there(tmp_path: Path) -> None:
    folder = tmp_path / "it"
    (folder / place.SOURCE).mkdir(parents=True)
    (folder / place.MARK).symlink_to(ID)
    export = replace(LAUNCH.export, path=pack_path(f"{folder}/{place.EXPORT}"))
    record = replace(LAUNCH, export=export)

    class Busy(Files):
        def remove_empty(self, name: str, *, at: int | None = None) -> bool:
            (folder / place.SOURCE / "late").write_bytes(b"late\n")
            return super().remove_empty(name, at=at)

    with pytest.raises(OSError, match="Directory not empty: 'source'"):
        place.remove(Busy(), record)
    assert (folder / place.MARK).is_symlink()
    assert place.remove(Files(), record) == [f"{folder}/{place.SOURCE}"]
    assert not folder.exists()


APART = {
    "neighbours": ("a", "b", True),
    "one name that begins like another": ("a", "ab", True),
    "the same": ("a", "a", False),
    "one in the other": ("a/b", "a", False),
    "one around the other": ("a", "a/b/c", False),
    "neighbours by a detour": ("a/../b", "a", True),
    "one in the other by a detour": ("b/../a/c", "a", False),
    "one in the other by a link": ("link/b", "a", False),
    "one around the other by a link": ("link", "a/b", False),
    "a link from one into another": ("a/out", "b", False),
}


@pytest.mark.parametrize("name", APART)
def test_folders_are_apart_where_neither_leads_into_the_other(tmp_path: Path, name: str) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "a" / "out").symlink_to(tmp_path / "b")
    one, other, apart = APART[name]
    assert place.are_apart(f"{tmp_path}/{one}", f"{tmp_path}/{other}") == apart
