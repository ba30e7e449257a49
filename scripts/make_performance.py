"""Write the tables of docs/performance.md from saved runs of the benches.

Those of ``python -m bench`` come from docs/performance.json, those of ``python -m bench.imports``
from docs/performance-import.json, those of ``python -m bench.launches`` from
docs/performance-launch.json. A table stands between the lines ``<!-- bench: NAME -->`` and
``<!-- bench end -->``; the names are those of ``bench.tables``, ``importtables``, ``launchtables``.
Everything else on the page is written by hand and kept. ``--check`` writes nothing, prints a diff
if the page is stale and exits 1 then.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The script also runs where the package is not installed.
sys.path.insert(0, str(ROOT))

from bench import importtables, launchtables, record, tables  # noqa: E402 - needs the path above
from bench.importtables import ImportTables  # noqa: E402
from bench.launchtables import LaunchTables  # noqa: E402
from bench.tables import Tables  # noqa: E402

PAGE = ROOT / "docs" / "performance.md"
NUMBERS = ROOT / "docs" / "performance.json"
IMPORTS = ROOT / "docs" / "performance-import.json"
LAUNCHES = ROOT / "docs" / "performance-launch.json"

Part = Callable[[str], str]
_PARTS = (*tables.PARTS, *importtables.PARTS, *launchtables.PARTS)

# What stands where a run has nothing for a table; other tables leave nothing.
_NOTHING = {"growth": "Not in this run."}
_MARKED = re.compile(
    r"^(<!-- bench: ([a-z]+) -->\n)(?:(?!^<!-- bench)[^\n]*\n)*(<!-- bench end -->)$", re.MULTILINE
)


class PageError(Exception):
    """The page has a marker that nothing fits."""


def filled(page: str, part: Part) -> str:
    """The page with every table written anew; ``part`` gives one by its name. Raises PageError."""

    def table(found: re.Match[str]) -> str:
        start, name, end = found.groups()
        if name not in _PARTS:
            raise PageError(f"no table of a bench is called {name}: {', '.join(_PARTS)}")
        text = part(name) or _NOTHING.get(name, "")
        return f"{start}\n{text}\n\n{end}" if text else start + end

    made, number = _MARKED.subn(table, page)
    if page.count("<!-- bench") != 2 * number:
        raise PageError("a marker of the page has no other half")
    return made


def stale() -> str:
    """A diff from the page on disk to what it should be; empty if it is fresh."""
    before = PAGE.read_text("utf-8")
    return "".join(
        difflib.unified_diff(
            before.splitlines(keepends=True),
            _made(before).splitlines(keepends=True),
            f"docs/{PAGE.name} (on disk)",
            f"docs/{PAGE.name} (made)",
        )
    )


def _made(page: str) -> str:
    of_files = Tables(record.load(NUMBERS), markdown=True)
    of_imports = ImportTables(json.loads(IMPORTS.read_text("utf-8")))
    of_launches = LaunchTables(json.loads(LAUNCHES.read_text("utf-8")))

    def part(name: str) -> str:
        if name in launchtables.PARTS:
            return of_launches.part(name)
        return (of_imports if name in importtables.PARTS else of_files).part(name)

    return filled(page, part)


def main(arguments: list[str] | None = None) -> int:
    """Write the page, or with ``--check`` compare it."""
    parser = argparse.ArgumentParser(description="Write the tables of docs/performance.md.")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 if it is stale")
    if parser.parse_args(arguments).check:
        difference = stale()
        print(difference, end="")
        return 1 if difference else 0
    PAGE.write_text(_made(PAGE.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
