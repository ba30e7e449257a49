"""The commands of benches that stand alone: so many rounds in a folder, a table, and a file."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.importtables import SavedTables

# Rounds, a folder to work in, and what is called with each thing that is done.
Measure = Callable[[int, Path, Callable[[str], None]], Mapping[str, Any]]


def run(
    name: str, description: str | None, rounds: int, measure: Measure, tables: type[SavedTables]
) -> int:
    """Measure, and print or save; ``rounds`` are those that are run unless others are asked for."""
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=description)
    parser.add_argument(
        "--rounds", type=int, default=rounds, help=f"timed rounds (default {rounds})"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="save every run")
    parser.add_argument("--folder", metavar="DIR", help="where it works (default: $TMPDIR)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="packcheck-bench-", dir=options.folder) as folder:
        saved = measure(options.rounds, Path(folder), _say)
    if options.json is not None:
        options.json.write_text(json.dumps(saved, indent=1) + "\n", "utf-8")
    print(tables(saved).whole(), end="")
    return 0


def _say(message: str) -> None:
    print(f"bench: {message}", file=sys.stderr, flush=True)
