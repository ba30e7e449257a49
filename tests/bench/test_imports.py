"""The bench of imports runs, and its tables say what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import imports
from bench.importtables import PARTS, ImportTables, Size, Times


def saved() -> imports.Saved:
    size = Size(
        name="small",
        bundle=2_000,
        objects=12,
        ours=[0.030, 0.040, 0.020],
        fetch=[0.020, 0.020, 0.020],
        held=[0.003, 0.002, 0.004],
        held_unsynced=[0.001],
        unsynced=[0.025],
        steps={"origin": 0.0002, "read_back": 0.001},
    )
    return imports.Saved(
        schema="packcheck.bench-import/1",
        machine={"cpu": "one"},
        rounds=3,
        sizes=[size],
        spawn=Times(sh=[0.006], plain=[0.0015]),
    )


@pytest.mark.parametrize(
    ("part", "line"),
    [
        ("importfacts", "- rounds: 3, alternating"),
        ("importtotals", "| small | 2.0 | 12 | 30.00 | 20.00 | 1.50 (1.00-2.00) | 25.00 |"),
        ("importhold", "| small | 2.0 | 3.00 | 1.00 |"),
        ("importsteps", "| read back | 1.00 |"),
        ("importspawn", "| with sh | 6.00 |"),
    ],
)
def test_a_table_has_medians_and_ratios_of_the_same_round(part: str, line: str) -> None:
    assert line in ImportTables(saved()).part(part).splitlines()


def test_the_whole_is_all_parts() -> None:
    tables = ImportTables(saved())
    assert tables.whole() == "\n\n".join(map(tables.part, PARTS)) + "\n"


def test_a_round_of_each_size_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "SHAPES", imports.SHAPES[:1])
    said: list[str] = []
    measured = imports.measure(2, tmp_path, said.append)
    (size,) = measured["sizes"]
    assert said == [f"made small: {size['bundle']} bytes each"]
    assert [len(size[name]) for name in ("ours", "fetch", "held", "unsynced")] == [2, 2, 2, 2]
    assert [*size["steps"]][-1] == "receipt"
    assert min(*size["ours"], *size["fetch"], *measured["spawn"]["sh"]) > 0
