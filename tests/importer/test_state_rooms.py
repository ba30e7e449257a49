"""Rooms of a state folder: where work is done, and what is left of it is swept."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from importer.durable import Files
from importer.errors import LOCK_BUSY, ImportFailed
from importer.state import State
from importer.world import World
from tests.support.files import is_held, open_descriptors, tree
from tests.support.records import LAUNCH, OTHER, launch_record
from tests.support.worlds import Clock, Telling


def test_a_room_is_there_inside_of_the_block(tmp_path: Path) -> None:
    world = World(token=lambda size: b"\x1f" * size)
    with State(str(tmp_path / "state"), world) as state:
        before = open_descriptors()
        with state.workroom() as room:
            path = tmp_path / "state" / "work" / ("1f" * 8)
            assert room.path == str(path)
            assert os.fstat(room.folder).st_ino == path.stat().st_ino
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
            assert is_held(path / "lock")
            assert not is_held(path.parent / "lock")
            (path / "something").mkdir()
        assert tree(path.parent) == ["lock"]
        with pytest.raises(KeyError), state.workroom():
            raise KeyError
        assert tree(path.parent) == ["lock"]
        assert open_descriptors() == before


def test_rooms_do_not_disturb_each_other(tmp_path: Path) -> None:
    with State(str(tmp_path / "state")) as state, state.workroom() as first:
        with state.workroom() as second:
            assert first.path != second.path
        assert state.sweep() == []
        assert os.fstat(first.folder).st_nlink
        assert (Path(first.path) / "lock").exists()


ROOM = "1f" * 8


# The second lock is the one of the room itself.
@pytest.mark.parametrize("failing", ["create lock", f"mkdir {ROOM}", "create lock#2"])
def test_a_room_that_cannot_be_made_leaves_nothing_to_the_next_one(
    failing: str, tmp_path: Path
) -> None:
    files = Telling()
    world = World(files, token=lambda size: b"\x1f" * size)
    with State(str(tmp_path / "state"), world) as state:
        before = open_descriptors()
        files.seen.clear()
        files.failing.add(failing)
        with pytest.raises(OSError, match="No space left"), state.workroom():
            pytest.fail("it is made")
        assert open_descriptors() == before
        files.failing.clear()
        with state.workroom() as room:
            assert tree(tmp_path / "state" / "work") == [ROOM, f"{ROOM}/lock", "lock"]
            assert os.fstat(room.folder).st_nlink
        assert tree(tmp_path / "state" / "work") == ["lock"]


def test_a_room_that_cannot_be_removed_does_not_hide_how_its_work_ended(tmp_path: Path) -> None:
    files = Telling()
    world = World(files, token=lambda size: b"\x1f" * size)
    with State(str(tmp_path / "state"), world) as state:
        before = open_descriptors()
        files.failing.add(f"rmdir {ROOM}")
        with pytest.raises(KeyError), state.workroom():
            raise KeyError
        assert open_descriptors() == before
        files.failing.clear()
        assert state.sweep() == [ROOM]


def test_a_room_is_swept_once_its_process_is_dead(tmp_path: Path) -> None:
    path = str(tmp_path / "state")
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        try:
            with State(path) as state, state.workroom() as room:
                (Path(room.path) / "bench").mkdir()
                os.write(tell, room.path.encode())
                signal.pause()
        finally:
            os._exit(1)
    try:
        room_path = Path(os.read(told, 4_096).decode())
        with State(path) as state:
            assert state.sweep() == []
            assert tree(room_path) == ["bench", "lock"]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(told)
        os.close(tell)
    with State(path) as state:
        assert state.sweep() == [room_path.name]
        assert state.sweep() == []
    assert tree(tmp_path / "state" / "work") == ["lock"]


def test_a_room_that_has_no_lock_yet_belongs_to_nobody(tmp_path: Path) -> None:
    # A room is made under the lock of all rooms, so this one was left by a crash.
    with State(str(tmp_path / "state")) as state:
        (tmp_path / "state" / "work" / ROOM).mkdir()
        assert state.sweep() == [ROOM]


@pytest.mark.parametrize(
    "name", ["left", "lock.bak", ROOM.upper(), ROOM[1:], f"{ROOM}0", f"{ROOM}\n", f"tmp_{ROOM}"]
)
def test_what_has_no_name_of_a_room_is_not_swept(name: str, tmp_path: Path) -> None:
    with State(str(tmp_path / "state")) as state:
        (tmp_path / "state" / "work" / name).mkdir()
        assert state.sweep() == []
        with state.workroom():
            pass
        assert (tmp_path / "state" / "work" / name).exists()


def test_half_a_launch_is_swept_and_a_whole_one_is_not(tmp_path: Path) -> None:
    with State(str(tmp_path / "state")) as state:
        state.add(launch_record())
        (tmp_path / "state" / "launches" / f"tmp_{OTHER}").mkdir()
        (tmp_path / "state" / "launches" / f"tmp_{OTHER}" / "journal").touch()
        assert state.sweep() == [f"tmp_{OTHER}"]
        assert state.names() == [LAUNCH]


def test_a_launch_that_is_being_made_is_not_swept(tmp_path: Path) -> None:
    path = str(tmp_path / "state")

    class Swept(Files):
        def rename(self, name: str, new: str, *, at: int) -> None:
            if new == LAUNCH:
                with pytest.raises(ImportFailed) as failed:
                    sweeper.sweep()
                busy.append(failed.value)
            super().rename(name, new, at=at)

    busy: list[ImportFailed] = []
    with State(path, Clock().world()) as sweeper, State(path, World(Swept())) as state:
        state.add(launch_record())
        assert state.names() == [LAUNCH]
    assert [failed.code for failed in busy] == [LOCK_BUSY]
