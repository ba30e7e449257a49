"""The bench of launches runs, and its tables say what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import launches
from bench.launchtables import PARTS, LaunchTables, Tree


def saved() -> launches.Saved:
    times = {
        "ours": [0.2, 0.4],
        "worktree": [0.1, 0.1],
        "archive": [0.2, 0.2],
        "launch": [0.5, 0.7],
    }
    return launches.Saved(
        schema="packcheck.bench-launch/1",
        machine={"cpu": "one"},
        rounds=2,
        trees=[Tree(name="small", files=1_234, times=times)],
    )


@pytest.mark.parametrize(
    ("part", "line"),
    [
        ("launchfacts", "- rounds: 2, alternating"),
        (
            "launchtrees",
            (
                "| small | 1,234 | 300.00 | 100.00 | 200.00 | 3.00 (2.00-4.00) | "
                "1.50 (1.00-2.00) | 600.00 |"
            ),
        ),
    ],
)
def test_a_table_has_medians_and_ratios_of_the_same_round(part: str, line: str) -> None:
    assert line in LaunchTables(saved()).part(part).splitlines()


def test_the_whole_is_all_parts() -> None:
    tables = LaunchTables(saved())
    assert tables.whole() == "\n\n".join(map(tables.part, PARTS)) + "\n"


def test_a_round_of_each_tree_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "SHAPES", launches.SHAPES[:1])
    said: list[str] = []
    measured = launches.measure(2, tmp_path, said.append)
    (made,) = measured["trees"]
    assert said == ["made small: 50 files"]
    assert {way: len(times) for way, times in made["times"].items()} == {
        "ours": 2, "worktree": 2, "archive": 2, "launch": 2,
    }  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "small").iterdir()) == ["host", "state"]
