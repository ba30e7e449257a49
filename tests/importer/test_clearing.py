"""Removing what a producer left, whatever that is."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from importer.clearing import remove_tree
from importer.durable import Files
from tests.support.faults import KILLED, Fault, Faulty
from tests.support.files import open_descriptors
from tests.support.untouched import untouched


def remove(path: Path, files: Files | None = None) -> bool:
    at = os.open(path.parent, os.O_RDONLY)
    try:
        return remove_tree(files or Files(), path.name, at=at)
    finally:
        os.close(at)


def _empty(_top: Path) -> None:
    """Nothing is in it."""


def _files_and_folders(top: Path) -> None:
    for name in ("a/b/c", "a/b/d", "e/f", "g"):
        (top / name).mkdir(parents=True)
        (top / name / "file").write_bytes(b"x")


def _deep(top: Path) -> None:
    at = os.open(top, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)


def _deep_in_long_names(top: Path) -> None:
    # No path leads there.
    at = os.open(top, os.O_RDONLY)
    for _ in range(40):
        os.mkdir("d" * 255, dir_fd=at)
        below = os.open("d" * 255, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)


def _names_of_ours(top: Path) -> None:
    for name in ("tmp_0/tmp_0/tmp_1", "tmp_1/x", "a/tmp_0", "a/b/tmp_2"):
        (top / name).mkdir(parents=True)
    (top / "tmp_2").write_bytes(b"x")


def _closed(top: Path) -> None:
    (top / "a" / "b" / "c").mkdir(parents=True)
    (top / "a" / "b" / "file").write_bytes(b"x")
    for name in ("a/b/c", "a/b", "a", "."):
        (top / name).chmod(0)


def _sealed(top: Path) -> None:
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "file").write_bytes(b"x")
    for name in ("a/b", "a", "."):
        (top / name).chmod(0o555)


def _links(top: Path) -> None:
    (top / "up").symlink_to("..")
    (top / "out").symlink_to(top.parent / "outside")
    (top / "a").mkdir()
    (top / "a" / "root").symlink_to("/")
    (top / "hard").hardlink_to(top.parent / "outside" / "mine")


def _special(top: Path) -> None:
    os.mkfifo(top / "fifo")
    with socket.socket(socket.AF_UNIX) as made:
        at = Path.cwd()
        os.chdir(top)
        try:
            made.bind("socket")
        finally:
            os.chdir(at)


LEFT: dict[str, Callable[[Path], None]] = {
    "nothing": _empty,
    "files and folders": _files_and_folders,
    "1,500 folders in each other": _deep,
    "folders that no path leads to": _deep_in_long_names,
    "names that we would give": _names_of_ours,
    "folders that nobody may enter": _closed,
    "folders that nobody may write to": _sealed,
    "links to everywhere": _links,
    "a FIFO and a socket": _special,
}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "mine").write_bytes(b"mine\n")
    (tmp_path / "top").mkdir()
    return tmp_path / "top"


@pytest.mark.parametrize("name", LEFT)
def test_whatever_a_producer_left_is_removed_and_nothing_else(top: Path, name: str) -> None:
    LEFT[name](top)
    with untouched(top.parent / "outside"):
        assert remove(top)
        assert not top.exists()
        assert not remove(top)


@pytest.mark.parametrize("name", ["files and folders", "names that we would give"])
def test_removing_may_be_cut_short_anywhere_and_done_again(top: Path, name: str) -> None:
    for number in range(1, 100):
        LEFT[name](top)
        files = Faulty(Fault(errno=5), number)
        try:
            remove(top, files)
        except OSError:
            assert remove(top)
        assert not top.exists()
        if not files.struck:
            return
        top.mkdir()
    pytest.fail(f"it never ended: {KILLED}")


# What is done to them, in this order: those who may do anything could move a closed one as well.
CLOSED = {
    "folders that nobody may enter": [
        "chmod", "chmod", "chmod", "rename", "rmdir", "unlink", "chmod", "rename", "rmdir",
        "rmdir", "rmdir",
    ],
    "folders that nobody may write to": [
        "chmod", "chmod", "unlink", "chmod", "rename", "rmdir", "rmdir", "rmdir",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", CLOSED)
def test_what_is_closed_is_opened_up_before_it_is_emptied_or_moved(top: Path, name: str) -> None:
    LEFT[name](top)
    files = Faulty()
    assert remove(top, files)
    assert files.seen == CLOSED[name]


@pytest.mark.parametrize("name", LEFT)
def test_nothing_stays_open(top: Path, name: str) -> None:
    LEFT[name](top)
    before = open_descriptors()
    assert remove(top)
    assert open_descriptors() == before


@pytest.mark.parametrize("often", [1, 4, 5])
def test_what_somebody_puts_there_meanwhile_is_removed_unless_it_goes_on(
    top: Path, often: int
) -> None:
    late = iter(range(often))

    class Late(Files):
        def remove_empty(self, name: str, *, at: int | None = None) -> bool:
            for _ in islice(late, 1):
                (top / "late").write_bytes(b"late\n")
            return super().remove_empty(name, at=at)

    before = open_descriptors()
    if often < 5:
        assert remove(top, Late())
        assert not top.exists()
    else:
        with pytest.raises(OSError, match="Directory not empty: 'top'"):
            remove(top, Late())
        assert (top / "late").read_bytes() == b"late\n"
        assert remove(top)
    assert open_descriptors() == before


def test_a_link_in_the_place_of_the_folder_is_not_followed(top: Path) -> None:
    link = top.parent / "link"
    link.symlink_to(top.parent / "outside")
    with untouched(top.parent / "outside"), pytest.raises(NotADirectoryError):
        remove(link)
