"""The ``.keep`` beside a pack: a line for each launch, and never anybody else's file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from importer import keep
from importer.durable import Files
from importer.errors import KEEP_FULL, STATE_CORRUPT, ImportFailed
from tests.support.worlds import Telling

ONE, TWO, THREE = "11" * 16, "22" * 16, "33" * 16
NAME = "pack-1.keep"


@pytest.fixture
def at(tmp_path: Path) -> Iterator[int]:
    with Files().folder(str(tmp_path)) as descriptor:
        yield descriptor


def text(*launches: str) -> str:
    return "".join(f"{line}\n" for line in ("git-candidate.keep/1", *launches))


def test_nobody_rests_on_a_pack_without_one(at: int) -> None:
    assert keep.read(Files(), NAME, at=at) is None
    assert keep.drop(Files(), NAME, ONE, at=at) is False


def test_each_launch_has_a_line_in_order(at: int, tmp_path: Path) -> None:
    for launch in (TWO, ONE, TWO):
        keep.add(Files(), NAME, launch, at=at, mode=0o444)
    assert (tmp_path / NAME).read_text() == text(ONE, TWO)
    assert keep.read(Files(), NAME, at=at) == {ONE, TWO}


def test_the_last_launch_that_goes_takes_the_file_with_it(at: int, tmp_path: Path) -> None:
    for launch in (ONE, TWO):
        keep.add(Files(), NAME, launch, at=at, mode=0o444)
    assert keep.drop(Files(), NAME, THREE, at=at) is True
    assert keep.drop(Files(), NAME, ONE, at=at) is True
    assert (tmp_path / NAME).read_text() == text(TWO)
    assert keep.drop(Files(), NAME, ONE, at=at) is True
    assert keep.drop(Files(), NAME, TWO, at=at) is False
    assert list(tmp_path.iterdir()) == []


def test_no_more_launches_rest_on_a_pack_than_can_be_read_again(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keep, "_LARGEST", len(text(ONE, TWO)))
    for launch in (ONE, TWO):
        keep.add(Files(), NAME, launch, at=at, mode=0o444)
    for _ in range(2):
        with pytest.raises(ImportFailed, match="discard some of the 2") as failed:
            keep.add(Files(), NAME, THREE, at=at, mode=0o444)
        assert (failed.value.code, failed.value.retry) == (KEEP_FULL, False)
        assert (tmp_path / NAME).read_text() == text(ONE, TWO)
    keep.drop(Files(), NAME, ONE, at=at)
    keep.add(Files(), NAME, THREE, at=at, mode=0o444)
    assert keep.read(Files(), NAME, at=at) == {TWO, THREE}


@pytest.mark.parametrize("mode", [0o444, 0o440, 0o640, 0o664], ids=oct)
def test_its_permissions_stay_as_they_are(mode: int, at: int, tmp_path: Path) -> None:
    mask = os.umask(0o077)
    try:
        keep.add(Files(), NAME, ONE, at=at, mode=mode)
        keep.add(Files(), NAME, TWO, at=at, mode=mode)
        keep.drop(Files(), NAME, ONE, at=at)
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == mode


def test_what_changes_nothing_writes_nothing(at: int) -> None:
    keep.add(Files(), NAME, ONE, at=at, mode=0o444)
    files = Telling()
    keep.add(files, NAME, ONE, at=at, mode=0o444)
    keep.drop(files, NAME, TWO, at=at)
    assert files.seen == []


def test_it_is_whole_whenever_it_is_there(at: int) -> None:
    files = Telling()
    keep.add(files, NAME, ONE, at=at, mode=0o444)
    assert files.seen == [
        f"unlink tmp_{NAME}", f"create tmp_{NAME}", f"write tmp_{NAME}", f"chmod tmp_{NAME}",
        f"fsync tmp_{NAME}", f"rename tmp_{NAME} {NAME}",
    ]  # fmt: skip
    for failing in files.seen:
        with pytest.raises(OSError, match="No space left"):
            keep.add(Telling([failing]), NAME, TWO, at=at, mode=0o444)
        assert keep.read(Files(), NAME, at=at) == {ONE}


FOREIGN: dict[str, Callable[[Path], object]] = {
    "an empty file, as people make them": lambda path: path.touch(),
    "a reason of git's": lambda path: path.write_text("fetch-pack 4711 on host\n"),
    "a later version": lambda path: path.write_text(f"git-candidate.keep/2\n{ONE}\n"),
    "no line feed at the end": lambda path: path.write_text(text(ONE)[:-1]),
    "a line feed too many": lambda path: path.write_text(text(ONE) + "\n"),
    "lines out of order": lambda path: path.write_text(text(TWO, ONE)),
    "a line twice": lambda path: path.write_text(text(ONE, ONE)),
    "a line that is no launch": lambda path: path.write_text(text("..")),
    "bytes that are no text": lambda path: path.write_bytes(text(ONE).encode() + b"\xff\n"),
    "a carriage return": lambda path: path.write_bytes(text(ONE).replace("\n", "\r\n").encode()),
    "a link": lambda path: path.symlink_to("elsewhere"),
    "a FIFO": os.mkfifo,
    "a folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("put", FOREIGN.values(), ids=FOREIGN)
def test_it_is_not_ours_that_is(put: Callable[[Path], object], at: int, tmp_path: Path) -> None:
    put(tmp_path / NAME)
    files = Telling()
    for use in (
        lambda: keep.read(files, NAME, at=at),
        lambda: keep.add(files, NAME, ONE, at=at, mode=0o444),
        lambda: keep.drop(files, NAME, ONE, at=at),
    ):
        with pytest.raises(ImportFailed) as failed:
            use()
        assert (failed.value.code, failed.value.retry) == (STATE_CORRUPT, False)
        assert failed.value.message.startswith(f"{NAME} is ")
    assert files.seen == []


def test_a_list_without_launches_keeps_for_nobody(at: int, tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(text())
    assert keep.read(Files(), NAME, at=at) == set()
    assert keep.drop(Files(), NAME, ONE, at=at) is False
    assert not (tmp_path / NAME).exists()


def test_one_that_is_gone_while_it_is_changed_is_written_anew(at: int, tmp_path: Path) -> None:
    class Gone(Files):
        def status(self, name: str, *, at: int) -> os.stat_result | None:
            (tmp_path / name).unlink()
            return super().status(name, at=at)

    for launch in (ONE, TWO):
        keep.add(Files(), NAME, launch, at=at, mode=0o640)
    assert keep.drop(Gone(), NAME, ONE, at=at)
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o444
