"""The four windows of contract A33, each with a process that is killed in it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from importer.launches import recover_all
from importer.steps import Step, import_candidate
from tests.support.aftermath import Ground, saying
from tests.support.fakegit import faked
from tests.support.faults import KILLED_IN_A_WRITE, Faulty, die, forked

# What a git does whose importer is killed under it.
ORPHANS = {
    "and git goes on": 'kill -9 $PPID; exec "$real" "$@"',
    "and git as well": """
        exec 3<&0
        { head -c 9000 <&3; exec sleep 60; } | "$real" "$@" &
        until [ -s "$(echo "$GIT_OBJECT_DIRECTORY"/pack/tmp_pack_*)" ]; do :; done
        kill -9 $PPID 0
    """,
}


def _die_at(step: Step) -> Callable[[Step], None]:
    return lambda begun: die() if begun is step else None


def _check(ground: Ground, *, published: bool) -> None:
    """Recovery alone ends it one way, and the next import does so too."""
    ground.wait_for_git()
    ground.check_host()
    promised = ground.promised()
    assert (promised is not None) == published
    with ground.opened() as repository:
        assert [one.error for one in recover_all(repository)] == [None]
        ground.check_recovered(repository)
        assert ground.promised() == promised
        receipt = import_candidate(repository, ground.launch).receipt
        assert promised in (None, receipt)
        ground.check_imported(receipt, repository)


def test_killed_before_l1(ground: Ground) -> None:
    assert forked(ground.run, None, _die_at(Step.PUBLISH)) == -signal.SIGKILL
    assert ground.announced() == []
    _check(ground, published=False)


def test_killed_before_l1_after_one_that_was_killed_in_a_write(ground: Ground) -> None:
    for number, _ in ground.struck_by(KILLED_IN_A_WRITE):
        with saying(f"killed in write {number}"):
            fault = Faulty(KILLED_IN_A_WRITE, number)
            assert forked(ground.run, fault) == -signal.SIGKILL
            # A torn frame of the journal is longer than what this one adds to it.
            status = forked(ground.run, None, _die_at(Step.PUBLISH))
            # Where the first one has published, the second one has nothing to do.
            published = ground.promised() is not None
            assert status == (0 if published else -signal.SIGKILL)
            ground.check_imported(ground.run().receipt)
            ground.undo()


@pytest.mark.parametrize("script", ORPHANS.values(), ids=ORPHANS)
def test_killed_during_index_pack(large: Ground, tmp_path: Path, script: str) -> None:
    with faked(tmp_path, "index-pack", script):
        assert forked(large.run) == -signal.SIGKILL
    assert large.announced() == []
    _check(large, published=False)


def test_killed_after_publication(ground: Ground) -> None:
    assert forked(ground.run, None, _die_at(Step.READ_BACK)) == -signal.SIGKILL
    _check(ground, published=True)


def test_killed_before_the_receipt(ground: Ground) -> None:
    assert forked(ground.run, None, _die_at(Step.RECEIPT)) == -signal.SIGKILL
    _check(ground, published=True)
