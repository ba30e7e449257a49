"""An import, or the git that it runs, is killed at any time, and again in the next one."""

from __future__ import annotations

import os
import random
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from importer.errors import ImportFailed
from importer.steps import ImportResult
from manifest.receipt import Receipt
from tests.support.aftermath import Ground, outcome, saying
from tests.support.faults import ended, started

KILLS = 200
# How often in a row before an import is left in peace.
ROW = 4

Killer = Callable[[int], None]


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def _kill_its_git(pid: int) -> None:
    """Kill the process groups that a process has started, once they are groups of their own."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(ProcessLookupError):
            if os.getpgid(int(child)) == int(child):
                os.killpg(int(child), signal.SIGKILL)


def _import(ground: Ground) -> None:
    assert isinstance(outcome(ground.run), ImportResult | ImportFailed)


def _run(ground: Ground, seconds: float, killer: Killer) -> int:
    """Import, and kill after so many seconds; how the import ended."""
    pid = started(_import, ground)
    watched = os.pidfd_open(pid)
    try:
        if not select.select([watched], [], [], seconds)[0]:
            killer(pid)
    finally:
        os.close(watched)
    return ended(pid)


def _seconds(ground: Ground) -> float:
    """How long an import takes that nobody disturbs."""
    began = time.monotonic()
    assert _run(ground, 60, _kill) == 0
    ground.undo()
    return time.monotonic() - began


@pytest.mark.parametrize("killer", [_kill, _kill_its_git], ids=["the import", "only its git"])
def test_killed_at_random_times(ground: Ground, killer: Killer) -> None:
    whole = min(_seconds(ground) for _ in range(3))
    ends = set()
    for seed in range(KILLS // 2 // ROW):
        rng = random.Random(seed)
        promised: Receipt | None = None
        for _ in range(ROW):
            seconds = whole * rng.random()
            with saying(f"killed after {seconds} of {whole} seconds, seed {seed}"):
                ends.add(_run(ground, seconds, killer))
                ground.wait_for_git()
                ground.check_host()
                before, promised = promised, ground.promised()
                assert before in (None, promised)
        receipt = ground.run().receipt
        assert promised in (None, receipt)
        ground.check_imported(receipt)
        ground.undo()
    assert ends <= {0, -signal.SIGKILL}
    assert killer is not _kill or -signal.SIGKILL in ends
