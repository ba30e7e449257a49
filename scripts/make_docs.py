"""Write the generated pages of docs/reference: checks, limits and the command line.

They come from the registries that the program itself uses, so they cannot say anything else.
``--check`` writes nothing, prints a diff for each page that is stale and exits 1 if there is one.
"""

from __future__ import annotations

import argparse
import difflib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The script also runs where the package is not installed.
sys.path.insert(0, str(ROOT))

from packparse import codes  # noqa: E402 - needs the path set above
from packparse.limits import SPECS, LimitSpec  # noqa: E402

FOLDER = ROOT / "docs" / "reference"
COLUMNS = 80

_NOTICE = "<!-- Made by scripts/make_docs.py. Change the source it reads, not this page. -->\n\n"

_CHECKS_INTRO = """\
# Checks

Every finding has one of the codes below.
The same list is printed by `packcheck checks`, one entry of it by `packcheck explain CODE`.
A code is never renamed and never used again for something else.

The class of a code is the exit status that an error of this code leads to.
The two severities are those of `--rules candidate`, which is the default, and of `--rules git`.

- **error**: the file is refused.
- **note**: reported, and no reason to refuse.
- **ignore**: not reported in this rule set.

Codes that `git fsck` has carry its message id.
"""

_LIMITS_INTRO = """\
# Limits

A limit bounds cost: memory, time, or what a person has to look at.
It says nothing about correctness.
A file that passes one is refused with class 4, and the message names the value seen, the limit and
the option that raises it.

There are two presets.
`candidate`, the default, is for what one run of a producer hands back.
`history`, chosen by `--limits history`, is for whole repositories.
`--limit NAME=VALUE` changes one limit on top of the preset and may be repeated.
VALUE is a whole number and may end in `k`, `M` or `G`, which multiply by 1,024.
A dash may stand in NAME for an underscore.
A value equal to the limit is allowed, one more is not.

KiB, MiB, GiB and TiB are powers of 1,024.
"""

_COMMAND_INTRO = """\
# Command line

`packcheck` has three commands.
Reports go to standard output, complaints about usage to standard error.
The texts below are what `--help` prints on a terminal of 80 columns.
"""

_VERIFY_TEXT = """\
Verifies each FILE, a pack or a bundle, and prints one report for each.
A FILE must be a regular file; standard input cannot be verified.
`--format json` prints one line for each FILE, as described in [the report](report.md).
The limits are listed in [limits](limits.md).
"""

_EXPLAIN_TEXT = """\
Prints class, severities, meaning and remedy of one code.
An unknown code is a usage error; the message names codes that are spelled alike, if there are any.
"""

_CHECKS_TEXT = """\
Prints a table of all codes: name, class, and severity in both rule sets.
The meanings are in [checks](checks.md).
"""

_COMMANDS = {
    "": "The commands that exist, and what the exit status means.\n",
    "verify": _VERIFY_TEXT,
    "explain": _EXPLAIN_TEXT,
    "checks": _CHECKS_TEXT,
}


def checks_page() -> str:
    """All codes by class, in the order of the registry."""
    parts = [_CHECKS_INTRO]
    for klass, (name, _text) in codes.CLASSES.items():
        members = [code for code in codes.BY_NAME.values() if code.klass == klass]
        if not members:
            continue
        rows = [
            f"| [`{code.name}`](#{code.name.lower()}) | {code.severity('candidate')} "
            f"| {code.severity('git')} |\n"
            for code in members
        ]
        head = "| code | candidate | git |\n| --- | --- | --- |\n"
        parts.append(f"## Class {klass}: {name}\n\n{head}{''.join(rows)}")
        parts += [_code_section(code) for code in members]
    return _NOTICE + "\n".join(parts)


def _code_section(code: codes.Code) -> str:
    return f"### `{code.name}`\n\n{code.meaning}\n\n**What to do:** {code.remedy}\n"


def limits_page() -> str:
    """All limits with both presets, then the reason of each."""
    head = "| name | candidate | history | counted in | code |\n| --- | ---: | ---: | --- | --- |\n"
    rows = "".join(map(_limit_row, SPECS.values()))
    reasons = "\n".join(f"### `{spec.name}`\n\n{spec.reason}\n" for spec in SPECS.values())
    return f"{_NOTICE}{_LIMITS_INTRO}\n## Values\n\n{head}{rows}\n## Reasons\n\n{reasons}"


def _limit_row(spec: LimitSpec) -> str:
    code = spec.code.name
    return (
        f"| [`{spec.name}`](#{spec.name}) | {_amount(spec.candidate, spec.unit)} "
        f"| {_amount(spec.history, spec.unit)} | {spec.unit} "
        f"| [`{code}`](checks.md#{code.lower()}) |\n"
    )


def _amount(value: int, unit: str) -> str:
    if unit == "bytes":
        for name, shift in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
            if value >> shift << shift == value:
                return f"{value >> shift:,} {name}"
    return f"{value:,}"


def command_line_page() -> str:
    """The help of every command, as it is printed."""
    parts = [_COMMAND_INTRO]
    for command, text in _COMMANDS.items():
        words = ["packcheck", command] if command else ["packcheck"]
        parts.append(f"## `{' '.join(words)}`\n\n{text}\n```text\n{help_text(command)}```\n")
    return _NOTICE + "\n".join(parts)


def help_text(command: str = "") -> str:
    """What ``packcheck [command] --help`` prints on a terminal of 80 columns."""
    arguments = [command, "--help"] if command else ["--help"]
    done = subprocess.run(
        [sys.executable, "-m", "packparse", *arguments],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


PAGES = {
    "checks.md": checks_page,
    "limits.md": limits_page,
    "command-line.md": command_line_page,
}


def stale() -> str:
    """A diff from the pages on disk to what they should be; empty if all are fresh."""
    found: list[str] = []
    for name, make in PAGES.items():
        path = FOLDER / name
        before = path.read_text("utf-8") if path.exists() else ""
        found += difflib.unified_diff(
            before.splitlines(keepends=True),
            make().splitlines(keepends=True),
            f"docs/reference/{name} (on disk)",
            f"docs/reference/{name} (made)",
        )
    return "".join(found)


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, or with ``--check`` compare them."""
    parser = argparse.ArgumentParser(description="Write the generated pages of docs/reference.")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 if one is stale")
    if parser.parse_args(arguments).check:
        difference = stale()
        print(difference, end="")
        return 1 if difference else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
