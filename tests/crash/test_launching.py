"""A state folder and a launch are made: whole, or to be made again."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from importer.durable import Files
from importer.errors import ImportFailed, ImportRefused
from importer.journal import peeked
from importer.state import State
from importer.world import World
from manifest.launch import Launch
from tests.support.aftermath import Ground, names, saying
from tests.support.faults import KILLED, KILLED_IN_A_WRITE, Fault, Faulty, Saved, forked

T = TypeVar("T")


@pytest.mark.parametrize(
    "fault",
    [KILLED, KILLED_IN_A_WRITE],
    ids=["before any operation", "in the middle of any write"],
)
def test_a_launch_whose_making_was_killed_is_whole_or_is_made_again(
    ground: Ground, tmp_path: Path, fault: Fault
) -> None:
    (tmp_path / "new").mkdir()
    empty = Saved(tmp_path / "new")
    path = str(tmp_path / "new" / "state")
    for number in count(1):
        with saying(f"killed at operation {number}"):
            status = forked(_make, path, ground.scene.record, Faulty(fault, number))
            with State(path) as state:
                if state.names() == []:
                    state.add(ground.scene.record)
                state.sweep()
                assert state.names() == [ground.launch]
                with peeked(state, ground.launch) as file:
                    assert file.record == ground.scene.record
            assert names(Path(path, "launches")) == {ground.launch}
            assert names(Path(path)) == {"format", "launches", "lock", "work"}
            empty.restore()
        if not status:
            break
        assert status == -signal.SIGKILL


def _make(path: str, record: Launch, files: Files) -> None:
    with State(path, World(files)) as state:
        state.add(record)


def test_nothing_is_swept_from_under_a_launch_that_is_being_made(
    ground: Ground, tmp_path: Path
) -> None:
    path = str(tmp_path / "another-state")
    ticks = count(step=1_000)
    swept: list[str] = []
    with State(path, World(tick=lambda: float(next(ticks)))) as sweeping:

        class Swept(Files):
            def _act(self, operation: str, function: Callable[..., T], *arguments: object) -> T:
                done = super()._act(operation, function, *arguments)
                with suppress(ImportFailed):
                    swept.extend(sweeping.sweep())
                return done

        with State(path, World(Swept())) as state:
            state.add(ground.scene.record)
            assert swept == []
            with peeked(state, ground.launch) as file:
                assert file.record == ground.scene.record


def test_no_launch_takes_the_place_of_another(ground: Ground) -> None:
    with State(str(ground.state)) as state:
        with pytest.raises(ImportRefused, match="launchExists"):
            state.add(ground.scene.record)
        assert state.sweep() == []
    ground.check_imported(ground.run().receipt)
