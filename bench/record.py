"""The file that a bench run is saved in: every run of every contender, as JSON."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

from bench.results import About, Outcome, Results, Row, Run

SCHEMA = "packcheck.bench/2"

_INNERMOST = re.compile(r"\{[^{}\[\]]+\}")
_LINE_END = re.compile(r"\n *")


class RecordError(Exception):
    """A file that holds no bench run of this version."""


def save(path: Path, results: Results) -> None:
    """Write a run; the ratios stand there for those who read the file and not this code."""
    inputs = [dataclasses.asdict(row) | {"ratios": _ratios(results, row)} for row in results.rows]
    whole = {
        "schema": SCHEMA,
        "machine": results.facts,
        "rounds": results.rounds,
        "inputs": inputs,
    }
    text = json.dumps(whole, indent=1)
    # One line for each run. No string has a line end of its own: it would be escaped.
    lines = _INNERMOST.sub(lambda found: _LINE_END.sub(" ", found[0]), text)
    path.write_text(lines + "\n", "utf-8")


def _ratios(results: Results, row: Row) -> dict[str, dict[str, float] | None]:
    found = {ratio.title: row.ratio(ratio) for ratio in results.ratios()}
    return {
        name: None if made is None else dataclasses.asdict(made) for name, made in found.items()
    }


def load(path: Path) -> Results:
    """Read a run that was saved. Raises RecordError."""
    whole = json.loads(path.read_text("utf-8"))
    if whole.get("schema") != SCHEMA:
        raise RecordError(f"{path.name}: not a {SCHEMA} file")
    return Results(whole["machine"], whole["rounds"], [_row(item) for item in whole["inputs"]])


def _row(item: dict[str, Any]) -> Row:
    outcomes = {name: _outcome(saved) for name, saved in item["outcomes"].items()}
    return Row(About(**item["about"]), outcomes, item["relaxed"])


def _outcome(saved: dict[str, Any]) -> Outcome:
    return Outcome(**(saved | {"runs": [Run(**run) for run in saved["runs"]]}))
