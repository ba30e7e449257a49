"""Recovery and discarding are killed themselves; and nothing rests on what is not durable."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from importer.durable import Files, Identity, identity
from importer.launches import discard, recover_all, show
from importer.repository import Repository
from importer.state import State
from importer.steps import import_candidate
from importer.world import World
from tests.support.aftermath import Ground, saying
from tests.support.faults import KILLED, Faulty, Saved, forked

# How many operations of an import are left when it is killed, counted from the last link, with
# which the pack becomes visible.
STOPS = {"with half of a publication": 0, "with a publication that may not be durable": 1}


def _kill_import(ground: Ground, after: int) -> Saved:
    """Kill an import before its last link or ``after`` operations later; what was left then."""
    last = max(number for number, name in enumerate(ground.operations, 1) if name == "link")
    assert forked(ground.run, Faulty(KILLED, last + after)) == -signal.SIGKILL
    return Saved(ground.common, ground.state)


def _within(ground: Ground, task: Callable[[Repository], object], number: int) -> None:
    """Do a task in a repository, to be killed at one of the operations of the task itself."""
    files = Faulty()
    with ground.opened(files) as repository:
        files.arm(KILLED, number)
        task(repository)
        files.mend()


@pytest.mark.parametrize("after", STOPS.values(), ids=STOPS)
def test_recovery_that_was_killed_is_ended_by_the_next_one(ground: Ground, after: int) -> None:
    left = _kill_import(ground, after)
    for number in count(1):
        with saying(f"killed at operation {number} of recovery"):
            status = forked(_within, ground, recover_all, number)
            ground.check_host()
            promised = ground.promised()
            with ground.opened() as repository:
                assert [one.error for one in recover_all(repository)] == [None]
                ground.check_recovered(repository)
                receipt = import_candidate(repository, ground.launch).receipt
                assert promised in (None, receipt)
                ground.check_imported(receipt, repository)
            left.restore()
        if not status:
            break
        assert status == -signal.SIGKILL


@pytest.mark.parametrize("after", [*STOPS.values(), None], ids=[*STOPS, "with a receipt"])
def test_discarding_that_was_killed_is_ended_by_recovery(ground: Ground, after: int | None) -> None:
    if after is None:
        ground.run()
        left = Saved(ground.common, ground.state)
    else:
        left = _kill_import(ground, after)
    for number in count(1):
        with saying(f"killed at operation {number} of discarding"):
            status = forked(_within, ground, lambda opened: discard(opened, ground.launch), number)
            with ground.opened() as repository:
                assert [one.error for one in recover_all(repository)] == [None]
                if not status or show(repository.state, ground.launch).state == "discarded":
                    ground.check_discarded(repository)
                else:
                    ground.check_recovered(repository)
                assert discard(repository, ground.launch).state == "discarded"
                ground.check_discarded(repository)
            left.restore()
        if not status:
            break
        assert status == -signal.SIGKILL


class Ordered(Files):
    """Files that let nothing be published before it is durable.

    What gets a name was synced after it was last written; when a receipt gets its own, so were the
    names that were given before. ``pending`` are the folders whose names were not.
    """

    def __init__(self, *pending: Path) -> None:
        self.pending = {identity(folder.stat()) for folder in pending}
        self.named: list[str] = []
        self._durable: set[Identity] = set()

    def write(self, descriptor: int, data: bytes | memoryview) -> None:
        super().write(descriptor, data)
        self._durable.discard(identity(os.fstat(descriptor)))

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self._durable.add(identity(os.fstat(descriptor)))
        self.pending.discard(identity(os.fstat(descriptor)))

    def link(self, name: str, new: str, *, at: int, to: int) -> None:
        self._check(name, new, at)
        super().link(name, new, at=at, to=to)
        self.pending.add(identity(os.fstat(to)))

    def rename(self, name: str, new: str, *, at: int) -> None:
        self._check(name, new, at)
        super().rename(name, new, at=at)
        self.pending.add(identity(os.fstat(at)))

    def _check(self, name: str, new: str, at: int) -> None:
        status = self.status(name, at=at)
        assert status is not None
        assert identity(status) in self._durable, f"{new} is published and was not synced"
        assert new != "receipt.json" or not self.pending, "a receipt rests on names not synced"
        self.named.append(new.rpartition(".")[2])


def test_an_import_publishes_nothing_that_is_not_durable(ground: Ground) -> None:
    files = Ordered()
    ground.check_imported(ground.run(files).receipt)
    # Newer versions of git make a .rev as well.
    assert [ending for ending in files.named if ending != "rev"] == ["keep", "pack", "idx", "json"]
    assert files.pending == set()


def test_recovery_makes_a_publication_durable_before_its_receipt(ground: Ground) -> None:
    _kill_import(ground, STOPS["with a publication that may not be durable"])
    files = Ordered(ground.packs)
    ground.recover(files)
    assert files.named == ["json"]
    ground.check_imported(ground.run().receipt)


def test_a_launch_is_durable_once_it_is_made(ground: Ground, tmp_path: Path) -> None:
    class Folders(Ordered):
        def make_folder(self, name: str, *, at: int | None = None, mode: int = 0o700) -> None:
            super().make_folder(name, at=at, mode=mode)
            if at is not None:
                self.pending.add(identity(os.fstat(at)))

    files = Folders()
    with State(str(tmp_path / "new"), World(files)) as state:
        state.add(ground.scene.record)
    assert files.named == ["format", ground.launch]
    assert files.pending == set()
