"""The folder of a launch: whose it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from importer import place
from importer.durable import Files
from tests.support.worlds import Telling

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
