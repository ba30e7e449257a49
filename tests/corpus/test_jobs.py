"""Every file of the corpus gets the same report for any number of jobs and any budget of memory."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from corpus import build, replay
from packparse import options
from packparse.options import Options
from tests.support import jobs
from tests.support.aside import aside
from tests.support.jobs import timeless

ROWS: dict[str, dict[str, Any]] = build.load_index()
# Folders of loose objects are verified by one process, and have no deltas.
FILES = [name for name, row in ROWS.items() if (build.ROOT / row["file"]).is_file()]

WORK_AGAIN = {"restoredTooMuch", "deltasTooLong"}


@functools.lru_cache(1)
def alone(name: str) -> dict[str, Any]:
    return aside(jobs.replayed, name, jobs=1)


@pytest.mark.parametrize("number", [2, 4], ids="{} jobs".format)
@pytest.mark.parametrize("name", FILES)
def test_the_report_is_that_of_one_process(name: str, number: int) -> None:
    assert aside(jobs.replayed, name, jobs=number) == alone(name)


@pytest.mark.parametrize("name", FILES)
def test_the_report_does_not_depend_on_the_budget(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = timeless(replay.verify(ROWS[name]))
    monkeypatch.setattr(options, "Options", functools.partial(Options, cache_budget=2_000))
    report = timeless(replay.verify(ROWS[name]))
    if ROWS[name]["expected"]["code"] in WORK_AGAIN:
        # How much is done again depends on it, and with that where it is too much.
        assert replay.judge(ROWS[name], report) == []
    else:
        assert report == usual
