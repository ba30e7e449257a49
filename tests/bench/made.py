"""Results as a run would have made them."""

from __future__ import annotations

from bench.results import GIT_ONE, GIT_TWO, PACKCHECK_ONE, About, Outcome, Results, Row, Run

FACTS = {"date": "2026-01-02", "cpu": "one"}


def outcome(*seconds: float, peak_mib: int = 20) -> Outcome:
    return Outcome([Run(second, 0.0, 0.0, peak_mib * 1024) for second in seconds])


def about(
    name: str = "in", objects: int = 12_345, scale: str | None = None, commit: str | None = None
) -> About:
    return About(name, 2_500_000, objects, "sha1", scale, commit)


def row(ours: Outcome, one: Outcome, two: Outcome | None = None, name: str = "in") -> Row:
    outcomes = {PACKCHECK_ONE: ours, GIT_ONE: one, GIT_TWO: two or outcome(1.0)}
    return Row(about(name), outcomes)


def results(*rows: Row, rounds: int = 1) -> Results:
    return Results(FACTS, rounds, list(rows))
