"""A launch is prepared, and the process is killed: it is swept or ready, never in between."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import pytest

from candidate.launch import launch
from importer.durable import Files
from importer.errors import ImporterError
from importer.launches import Shown, discard, listed, recover_all
from importer.repository import Repository
from importer.state import State
from importer.world import World
from tests.support.aftermath import names, outcome, saying
from tests.support.candidates import Folder, link
from tests.support.faults import ERRORS, KILLED, KILLED_IN_A_WRITE, Fault, Faulty, Saved, forked
from tests.support.gitrepo import git
from tests.support.launched import host_with, order

# So many processes share what there is to be killed at; each has every so manieth operation.
SHARES = 4


class Land:
    """A small host, a state folder, and the place of a launch; all can be brought back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repo = folder / "host"
        self.place = folder / "launch"
        tree: Folder = {b"a": b"a\n", b"d": {b"l": link(b"../a")}}
        with host_with(folder, tree) as (_, base):
            self.base = base.hex()
        with self.opened():
            pass
        self.saved = Saved(folder)

    def opened(self, files: Files | None = None) -> _Opened:
        return _Opened(str(self.folder / "state"), str(self.repo), World(files))

    def launch(self, files: Files | None = None) -> None:
        with self.opened(files) as repository:
            launch(repository, str(self.place), order(self.base))

    def discard(self, files: Files | None = None) -> None:
        with self.opened(files) as repository:
            (shown,) = listed(repository.state).shown
            discard(repository, shown.record.launch)

    def check_whole(self) -> None:
        """The launch that is ready has all that it needs."""
        assert names(self.place) == {"launch", "source", "workspace", "export", "home"}
        assert names(self.place / "export") == {"ticket.json", "export.sh"}
        work = self.place / "workspace"
        assert git(work, "fsck", "--strict").stdout == b""
        assert git(work, "status", "--porcelain").stdout == b""
        assert (self.place / "source" / "d" / "l").read_bytes() == b"a\n"

    def check(self) -> list[Shown]:
        """After recovery each launch is ready and whole, or given up and swept."""
        with self.opened() as repository:
            errors = [one.error for one in recover_all(repository) if one.error]
            shown = listed(repository.state).shown
            assert errors == []
            assert {one.state for one in shown} <= {"ready", "discarded"}
            if any(one.state == "ready" for one in shown):
                self.check_whole()
            else:
                # The folder itself may be there, for the next one to take over.
                left = list(self.place.rglob("*")) if self.place.exists() else []
                assert left in ([], [self.place / "export"])
                launch(repository, str(self.place), order(self.base))
                self.check_whole()
            assert list((self.repo / ".git" / "objects").glob("tmp_*")) == []
            return shown


class _Opened:
    """A state and a repository, to be closed in this order."""

    def __init__(self, state: str, repo: str, world: World) -> None:
        self._arguments = state, repo, world

    def __enter__(self) -> Repository:
        state, repo, world = self._arguments
        self._state = State(state, world)
        try:
            self._repository = Repository(repo, self._state)
        except BaseException:
            self._state.close()
            raise
        return self._repository

    def __exit__(self, *_error: object) -> None:
        self._repository.close()
        self._state.close()


@pytest.fixture(scope="module")
def made_land(tmp_path_factory: pytest.TempPathFactory) -> Land:
    return Land(tmp_path_factory.mktemp("land"))


@pytest.fixture
def land(made_land: Land) -> Iterator[Land]:
    yield made_land
    made_land.saved.restore()


@pytest.mark.parametrize("share", range(SHARES))
def test_a_launch_that_was_killed_anywhere_is_swept_or_ready(land: Land, share: int) -> None:
    _kill_everywhere(land, KILLED, share)


def test_a_launch_that_was_killed_in_a_write_is_swept_or_ready(land: Land) -> None:
    _kill_everywhere(land, KILLED_IN_A_WRITE, 0, step=1)


def _kill_everywhere(land: Land, fault: Fault, share: int, step: int = SHARES) -> None:
    for number in islice(count(1), share, None, step):
        with saying(f"killed at operation {number}"):
            status = forked(land.launch, Faulty(fault, number))
            shown = land.check()
            land.saved.restore()
        if not status:
            assert [one.state for one in shown] == ["ready"]
            break
        assert status == -signal.SIGKILL


@pytest.mark.parametrize("name", ["the disk is full from there on", "permission is denied once"])
def test_a_launch_whose_operations_fail_says_so_and_leaves_nothing_half_done(
    land: Land, name: str
) -> None:
    fault = ERRORS[name]
    # Every fifth one: whatever fails takes the same way back.
    for number in count(1, 5):
        files = Faulty(fault, number)
        with saying(f"failed at operation {number}"):
            found = outcome(land.launch, files)
            if not files.struck:
                assert found is None
                break
            # What only tidies up may fail without a word.
            assert found is None or isinstance(found, ImporterError)
            land.check()
            land.saved.restore()


def test_discarding_a_launch_that_was_killed_anywhere_is_ended_by_recovery(land: Land) -> None:
    land.launch()
    ready = Saved(land.folder)
    for number in count(1, 2):
        with saying(f"killed at operation {number}"):
            status = forked(land.discard, Faulty(KILLED, number))
            with land.opened() as repository:
                recover_all(repository)
                (shown,) = listed(repository.state).shown
            if shown.state == "ready":
                land.check_whole()
            else:
                assert shown.state == "discarded"
                assert not land.place.exists() or names(land.place) == set()
            ready.restore()
        if not status:
            break
        assert status == -signal.SIGKILL
    land.saved.restore()


def test_a_launch_that_is_being_prepared_is_not_swept_by_others(land: Land) -> None:
    seen: list[str] = []

    def look(_stage: str) -> None:
        # It does not wait for as long as it says: the clock is the test's.
        ticks = count(step=1_000)
        with (
            State(str(land.folder / "state"), World(tick=lambda: float(next(ticks)))) as state,
            Repository(str(land.repo), state) as repository,
        ):
            seen.extend(str(one.error) for one in recover_all(repository))

    with land.opened() as repository:
        launch(repository, str(land.place), order(land.base), on_stage=look)
    land.check_whole()
    assert ["lockBusy" in told for told in seen] == [True, True]
