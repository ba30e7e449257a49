"""The page on performance has the tables of the run that is saved beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench import importtables, launchtables, record
from bench.results import CONTENDERS, Results
from bench.tables import PARTS, Tables
from scripts import make_performance
from tests.bench.made import outcome, results, row


def tables(made: Results | None = None) -> Tables:
    return Tables(made or results(row(outcome(1.0), outcome(2.0))), markdown=True)


def marked(name: str, between: str = "") -> str:
    return f"above\n\n<!-- bench: {name} -->\n{between}<!-- bench end -->\n\nbelow\n"


def test_the_page_is_fresh() -> None:
    assert not make_performance.stale(), "run: python scripts/make_performance.py"


def test_the_page_shows_everything_but_the_legend_which_it_has_in_words() -> None:
    page = make_performance.PAGE.read_text("utf-8")
    shown = re.findall(r"^<!-- bench: (\w+) -->$", page, re.MULTILINE)
    parts = [*PARTS, *importtables.PARTS, *launchtables.PARTS]
    assert [*shown, "legend"] == sorted(
        parts, key=lambda name: shown.index(name) if name in shown else len(shown)
    )


def test_the_numbers_are_of_every_contender_and_name_no_path() -> None:
    saved = record.load(make_performance.NUMBERS)
    assert set(saved.contenders()) >= set(CONTENDERS)
    assert not any(row.failed for row in saved.rows)
    assert "/" not in "".join(row.about.name for row in saved.rows)


@pytest.mark.parametrize(
    "between",
    ["", "\n| old | table |\n| --- | --- |\n\n", "| no blank line |\n"],
    ids=["nothing yet", "an older table", "a table without room"],
)
def test_only_what_stands_between_markers_is_written(between: str) -> None:
    made = make_performance.filled(marked("seconds", between), tables().part)
    assert made == marked("seconds", f"\n{tables().part('seconds')}\n\n")
    assert make_performance.filled(made, tables().part) == made


def test_a_table_that_the_run_has_not_is_said_to_be_missing_or_left_out() -> None:
    filled = make_performance.filled(marked("growth") + marked("notes", "- old\n"), tables().part)
    assert filled == marked("growth", "\nNot in this run.\n\n") + marked("notes")


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (marked("nonsense"), "no table of a bench is called nonsense"),
        ("<!-- bench: seconds -->\n", "a marker of the page has no other half"),
        ("<!-- bench: seconds -->\n" + marked("memory"), "a marker of the page has no other half"),
        ("<!-- bench end -->\n", "a marker of the page has no other half"),
    ],
    ids=["an unknown name", "no end", "an end for two", "no start"],
)
def test_a_marker_that_fits_nothing_is_refused(page: str, words: str) -> None:
    with pytest.raises(make_performance.PageError, match=words):
        make_performance.filled(page, tables().part)


def test_the_script_tells_a_stale_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "performance.md"
    page.write_text(marked("facts"), "utf-8")
    numbers = tmp_path / "performance.json"
    record.save(numbers, results(row(outcome(1.0), outcome(2.0))))
    monkeypatch.setattr(make_performance, "PAGE", page)
    monkeypatch.setattr(make_performance, "NUMBERS", numbers)
    assert make_performance.main(["--check"]) == 1
    assert "+- cpu: one\n" in capsys.readouterr().out
    assert make_performance.main([]) == 0
    assert make_performance.main(["--check"]) == 0
    assert not capsys.readouterr().out
