"""An import is cut short at each of its file operations, and then run again (contracts A33, A46).

Whenever a receipt is there, so are its objects (A36).
"""

from __future__ import annotations

import signal
from errno import EACCES, EROFS
from itertools import count
from pathlib import Path

import pytest

from importer.errors import ImportFailed
from importer.launches import proven, recover_all
from importer.lock import L1
from importer.repository import Repository
from importer.steps import ImportResult, import_candidate
from manifest.receipt import Receipt
from tests.support.aftermath import Ground, outcome, saying
from tests.support.faults import (
    ERRORS,
    KILLED,
    KILLED_IN_A_WRITE,
    Fault,
    Faulty,
    Halving,
    Saved,
    forked,
)

REMOVALS = {"unlink", "rmdir"}
KILLS = {
    "before any operation": KILLED,
    "in the middle of any write": KILLED_IN_A_WRITE,
}


@pytest.mark.parametrize("fault", KILLS.values(), ids=KILLS)
def test_an_import_that_was_killed_is_ended_by_recovery_or_by_the_next_one(
    ground: Ground, fault: Fault
) -> None:
    for number, operation in ground.struck_by(fault):
        with saying(f"killed at operation {number}, {operation}"):
            assert forked(ground.run, Faulty(fault, number)) == -signal.SIGKILL
            ground.check_host()
            promised = ground.promised()
            left = Saved(ground.common, ground.state / "launches")
            with ground.opened() as repository:
                assert [one.error for one in recover_all(repository)] == [None]
                ground.check_recovered(repository)
                assert promised in (None, ground.promised())
                had_work = _differs(left, ground)
                _import(ground, repository, promised)
                if had_work:
                    left.restore()
                    _import(ground, repository, promised)
            ground.undo()


def test_an_import_of_what_was_lost_that_was_killed_is_ended_as_well(lost: Ground) -> None:
    """Its receipt is there and its pack is gone, so that it is published once more."""
    for number, operation in lost.struck_by(KILLED):
        with saying(f"killed at operation {number}, {operation}"):
            assert forked(lost.run, Faulty(KILLED, number)) == -signal.SIGKILL
            lost.check_host()
            promised = lost.promised()
            had_work = bool(lost.saved.changed(lost.common))
            with lost.opened() as repository:
                assert [one.error for one in recover_all(repository)] == [None]
                found = outcome(proven, repository, lost.launch)
                if isinstance(found, Receipt):
                    lost.check_imported(found, repository)
                else:
                    assert found.code.name == "receiptContradicted"
                    there = lost.there()
                    # The bytes that the receipt speaks of are kept once they are back.
                    assert {Path(name).suffix for name in there} in (set(), {".keep", ".pack"})
                    lost.check_no_leftovers(there, repository)
                # Before the quarantine nothing is there that was not before.
                if had_work:
                    _import(lost, repository, promised)
            lost.undo()


def _differs(left: Saved, ground: Ground) -> bool:
    """Whether recovery did anything, but for taking locks."""
    changed = left.changed(ground.common) | left.changed(ground.state / "launches")
    return any(not name.endswith("lock") for name in changed)


def _import(ground: Ground, repository: Repository, promised: Receipt | None) -> None:
    receipt = import_candidate(repository, ground.launch).receipt
    assert promised in (None, receipt)
    ground.check_imported(receipt, repository)


@pytest.mark.parametrize("fault", ERRORS.values(), ids=ERRORS)
def test_an_import_whose_operations_fail_says_so_and_is_done_by_the_next_one(
    ground: Ground, fault: Fault
) -> None:
    files = Faulty()
    with ground.opened(files) as repository:
        for number in count(1):
            with saying(f"it strikes at operation {number} of those that it can"):
                files.arm(fault, number)
                failed = _failed(repository, ground)
                struck = files.struck
                assert failed == struck or _is_no_matter(files, number)
                files.mend()
                ground.check_host()
                _import(ground, repository, ground.promised())
                ground.undo(repository)
            if not struck:
                break


def _is_no_matter(files: Faulty, number: int) -> bool:
    """What cannot be removed inside of a room goes with it; a lock needs no note."""
    operation = files.seen[number - 1]
    note = operation in {"truncate", "write"} and files.target in {"lock", L1}
    return note or operation in REMOVALS


def _failed(repository: Repository, ground: Ground) -> bool:
    """Whether an import failed, as one that may be tried again."""
    found = outcome(import_candidate, repository, ground.launch)
    if isinstance(found, ImportResult):
        return False
    assert isinstance(found, ImportFailed)
    assert (found.code.name, found.retry) == ("fileFailed", True)
    return True


@pytest.mark.parametrize(
    "fault",
    [Fault(EACCES), Fault(EROFS, lasting=True)],
    ids=["permission is denied once", "nothing can be changed from there on"],
)
def test_a_repository_that_cannot_be_opened_says_so(ground: Ground, fault: Fault) -> None:
    for number in count(1):
        files = Faulty(fault, number)
        with saying(f"operation {number}"):
            found = outcome(_open, ground, files)
            assert files.struck == isinstance(found, ImportFailed)
        if found is None:
            break
        assert (found.code.name, found.step) == ("fileFailed", 0)
    ground.check_imported(ground.run().receipt)


def _open(ground: Ground, files: Faulty) -> None:
    with ground.opened(files):
        files.mend()


def test_a_repository_that_cannot_clean_up_leaves_it_to_the_next_one(ground: Ground) -> None:
    files = Faulty()
    with ground.opened(files) as repository:
        receipt = import_candidate(repository, ground.launch).receipt
        files.arm(Fault(EROFS, lasting=True), 1)
    assert files.struck
    assert len(list((ground.state / "work").iterdir())) == 2
    assert ground.run().receipt == receipt
    ground.check_imported(receipt)


def test_an_import_is_none_the_worse_for_writes_that_fall_short(ground: Ground) -> None:
    ground.check_imported(ground.run(Halving()).receipt)
