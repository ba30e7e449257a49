"""The arithmetic of the bench: what a ratio is, and which runs count."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from bench import record
from bench.results import (
    BESIDE,
    CONTENDERS,
    GIT_ONE,
    LABELS,
    PACKCHECK_ONE,
    PACKCHECK_TWO,
    RATIOS,
    Outcome,
    Results,
    Row,
    Run,
    Spread,
    geometric_mean,
    spread,
)
from tests.bench.made import about, outcome, results, row

ONE_BY_ONE = RATIOS[0]
BY_BESIDE, BY_BESIDE_CPU = RATIOS[-2:]


def test_a_ratio_is_that_of_each_round() -> None:
    # The second round was slow for both, which says nothing about either.
    made = row(outcome(1.0, 75.0, 2.0), outcome(4.0, 100.0, 4.0))
    assert made.ratio(ONE_BY_ONE) == Spread(median=0.5, least=0.25, most=0.75)
    assert not made.failed


@pytest.mark.parametrize(
    ("ours", "one"),
    [
        (Outcome(failure="exit 1"), outcome(1.0)),
        (outcome(1.0), Outcome([Run(1.0, 0.0, 0.0, 1)], failure="exit 1")),
        (outcome(1.0), Outcome()),
        (outcome(1.0), outcome(0.0)),
    ],
    ids=["ours failed", "the other failed", "the other did not run", "a time of nothing"],
)
def test_there_is_no_ratio_without_both(ours: Outcome, one: Outcome) -> None:
    assert row(ours, one).ratio(ONE_BY_ONE) is None


def test_the_ratio_to_another_version_is_of_wall_and_of_processor_time() -> None:
    made = row(outcome(3.0, 1.0, 2.0), outcome(4.0))
    assert (made.ratio(BY_BESIDE), made.ratio(BY_BESIDE_CPU)) == (None, None)
    made.outcomes[BESIDE] = Outcome([Run(8.0, 0.5, 0.1, 1)])
    made.outcomes[PACKCHECK_ONE] = Outcome([Run(2.0, 1.0, 0.2, 1)])
    assert made.ratio(BY_BESIDE) == spread([0.25])
    assert made.ratio(BY_BESIDE_CPU) == spread([2.0])
    made.outcomes[BESIDE].failure = "exit 4"
    assert (made.ratio(BY_BESIDE), made.ratio(BY_BESIDE_CPU)) == (None, None)


def test_the_mean_is_geometric() -> None:
    assert geometric_mean([0.25, 4.0, 1.0]) == pytest.approx(1.0)
    assert geometric_mean([0.25]) == pytest.approx(0.25)
    assert geometric_mean([]) is None


def test_the_peak_is_that_of_all_processes_together_where_there_are_several() -> None:
    made = outcome(1.0, 2.0, peak_mib=30)
    assert made.peak_mib == 30
    made.together_kib = 50 << 10
    assert made.peak_mib == 50
    made.failure = "exit 1"
    assert made.peak_mib is None


def test_only_what_ran_has_a_column() -> None:
    made = results(row(outcome(1.0), outcome(1.0)))
    assert [ratio.title for ratio in made.ratios()] == ["packcheck 1 / git 1"]
    made.rows[0].outcomes = {BESIDE: outcome(1.0), PACKCHECK_ONE: outcome(1.0)}
    assert made.contenders() == [PACKCHECK_ONE, BESIDE]
    assert made.ratios() == [BY_BESIDE, BY_BESIDE_CPU]


def test_those_that_are_compared_run_one_after_the_other() -> None:
    names = list(CONTENDERS)
    for ratio in RATIOS[:2]:
        assert names.index(ratio.theirs) - names.index(ratio.ours) == 1
    assert set(LABELS) == {*CONTENDERS, BESIDE}


# --- the saved file -------------------------------------------------------------------------------


def everything() -> Results:
    failed = Outcome([Run(1.0, 0.5, 0.25, 9)], failure="exit 1: {two  spaces}\n[", together_kib=7)
    outcomes = {PACKCHECK_ONE: outcome(1.0, 2.0), GIT_ONE: outcome(2.0, 2.0), PACKCHECK_TWO: failed}
    shape = Row(about(scale="large"), outcomes)
    clone = Row(about(commit="ab" * 20), {PACKCHECK_ONE: Outcome()}, relaxed=True)
    return results(shape, clone, rounds=2)


def test_what_was_saved_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    record.save(file, everything())
    assert record.load(file) == everything()
    text = file.read_text("utf-8")
    run = '{ "seconds": 2.0, "user_seconds": 0.0, "system_seconds": 0.0, "peak_kib": 20480 }'
    assert f"\n      {run},\n" in text
    ratio = {"packcheck 1 / git 1": dataclasses.asdict(Spread(0.75, 0.5, 1.0))}
    assert str(ratio)[1:-1].replace("'", '"') in text.replace("{ ", "{").replace(" }", "}")


def test_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    file.write_text('{"schema": "packcheck.bench/1"}', "utf-8")
    with pytest.raises(record.RecordError, match=r"out\.json: not a packcheck\.bench/2 file"):
        record.load(file)
