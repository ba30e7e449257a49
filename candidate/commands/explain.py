"""``git candidate explain``: what a code means, be it of packcheck or of an import."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING

from candidate.commands.common import CODES, add_command, print_object
from packparse.checks import CATALOG
from packparse.codes import CLASSES
from packparse.errors import MisuseError
from packparse.explain import described

if TYPE_CHECKING:
    import argparse

    from candidate.commands.common import Commands

__all__ = ["add"]

_DESCRIPTION = """\
Say what a code means and what to do about it: a check of packcheck, or a refusal of an import."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "explain", "say what a code means", _DESCRIPTION, stateful=False)
    parser.add_argument("code", metavar="CODE")
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the command."""
    code = CODES.get(parsed.code)
    if code is None:
        near = difflib.get_close_matches(parsed.code, CODES, n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        message = f"no code {parsed.code!r}{hint}"
        raise MisuseError(message)
    if parsed.format == "json":
        print_object(
            {
                "schema": "git-candidate.explain/1",
                "code": code.name,
                "class": code.klass,
                "meaning": code.meaning,
                "remedy": code.remedy,
            }
        )
    elif code.name in CATALOG:
        sys.stdout.write(f"{described(code)}\n")
    else:
        sys.stdout.write(
            f"{code.name} (class {code.klass}, {CLASSES[code.klass][0]})\n"
            f"  {code.meaning}\n  What to do: {code.remedy}\n"
        )
    return 0
