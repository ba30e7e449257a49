"""``git candidate list``: all launches of a state folder."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from candidate.commands.common import (
    add_command,
    as_object,
    error_object,
    nothing_in,
    opened_state,
    print_object,
)
from importer.launches import Shown, listed
from importer.world import time_text

if TYPE_CHECKING:
    import argparse

    from candidate.commands.common import Commands

__all__ = ["add"]

_DESCRIPTION = """\
List the launches of the state folder, the oldest first. No repository is asked: `show` tells
whether a receipt is still true."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "list", "list the launches", _DESCRIPTION)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the command."""
    with opened_state(parsed) as state:
        found = listed(state)
        none = nothing_in(state)
    damaged = found.damaged
    if parsed.format == "json":
        print_object(
            {
                "schema": "git-candidate.list/1",
                "launches": [*map(as_object, found.shown)],
                "damaged": [
                    {"launch": name, "error": error_object(error)}
                    for name, error in damaged.items()
                ],
            }
        )
    else:
        sys.stdout.write("".join(map(_line, found.shown)) or ("" if damaged else none))
        for name, error in damaged.items():
            sys.stdout.write(f"{name} DAMAGED {error}\n")
    return max((error.code.klass for error in damaged.values()), default=0)


def _line(shown: Shown) -> str:
    record = shown.record
    candidate = "" if shown.receipt is None else f" {shown.receipt.candidate}"
    return (
        f"{record.launch} {shown.state:<10} {time_text(shown.at)} {record.issue} "
        f"{record.phase}{candidate}\n"
    )
