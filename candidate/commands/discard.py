"""``git candidate discard``: let nothing rest on a launch any more."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from candidate.commands.common import (
    add_command,
    add_moved,
    as_object,
    opened_for,
    opened_state,
    print_object,
)
from candidate.commands.show import as_text
from importer.launches import discard, show

if TYPE_CHECKING:
    import argparse

    from candidate.commands.common import Commands

__all__ = ["add"]

_DESCRIPTION = """\
Say that a launch is not needed any more. Its line in the .keep of the published pack goes; once no
launch has one there, the pack is git's to collect. What git candidate launch made in DIR goes,
with the artifact and with work that was not exported. The journal and the receipt stay as a record.
May be done twice."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "discard", "give up a launch, its folder and its pack", _DESCRIPTION
    )
    parser.add_argument("launch", metavar="LAUNCH", help="the id of a launch")
    add_moved(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the command."""
    with opened_state(parsed) as state:
        record = show(state, parsed.launch).record
        with opened_for(state, record, parsed.repo) as repository:
            shown = discard(repository, parsed.launch)
    if parsed.format == "json":
        print_object(as_object(shown))
    else:
        sys.stdout.write(as_text(shown))
    return 0
