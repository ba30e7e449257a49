"""An import that is going to be refused is killed at each of its file operations."""

from __future__ import annotations

import signal

import pytest

from importer.errors import ImportRefused
from importer.launches import recover_all, show
from importer.steps import import_candidate
from tests.support.aftermath import Ground, outcome, saying
from tests.support.faults import KILLED, KILLED_IN_A_WRITE, Fault, Faulty, forked

CODE = "artifactHashMismatch"


@pytest.mark.parametrize("fault", [KILLED, KILLED_IN_A_WRITE], ids=["anywhere", "in a write"])
def test_a_refusal_that_was_cut_short_leaves_nothing_and_is_given_again(
    fault: Fault, ground: Ground
) -> None:
    artifact = ground.scene.export / ground.scene.record.artifact
    honest = artifact.read_bytes()
    artifact.write_bytes(honest[:-1] + bytes([honest[-1] ^ 1]))
    try:
        files = Faulty()
        _check_refused(outcome(ground.run, files))
        ground.undo()
        for number, operation in enumerate(filter(fault.strikes, files.seen), 1):
            with saying(f"killed at operation {number}, {operation}"):
                assert forked(ground.run, Faulty(fault, number)) == -signal.SIGKILL
                ground.check_host()
                with ground.opened() as repository:
                    assert [one.error for one in recover_all(repository)] == [None]
                    ground.check_recovered(repository)
                    _check_refused(outcome(import_candidate, repository, ground.launch))
                    shown = show(repository.state, ground.launch)
                    assert shown.refusal is not None
                    assert (shown.state, shown.refusal.code) == ("refused", CODE)
                    ground.check_recovered(repository)
                ground.undo()
    finally:
        artifact.write_bytes(honest)
    # And what is honest is imported after a refusal.
    ground.check_imported(ground.run().receipt)


def _check_refused(found: object) -> None:
    assert isinstance(found, ImportRefused)
    assert (found.code.name, found.step) == (CODE, 5)
    assert not getattr(found, "__notes__", [])
