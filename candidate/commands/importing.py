"""``git candidate import``: from the export folder of a launch to objects and a receipt."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from candidate.commands.common import (
    add_command,
    add_moved,
    add_progress,
    as_object,
    opened_for,
    opened_state,
    print_object,
    teller,
)
from candidate.commands.show import as_text
from importer.launches import show
from importer.steps import Step, import_candidate

if TYPE_CHECKING:
    import argparse

    from candidate.commands.common import Commands

__all__ = ["STEPS", "add"]

_DESCRIPTION = """\
Take the candidate that the producer of a launch exported: packcheck's verdict, then that of git in
a quarantine, then publication under one lock, and a receipt. No ref is made or moved. May be done
twice: the second time finds the receipt. An artifact that is refused stays where it is."""

STEPS = {
    Step.ORIGIN: "opening the export folder",
    Step.MANIFEST: "reading the manifest",
    Step.BIND: "comparing it with the launch",
    Step.LOOK: "looking at the artifact",
    Step.READ: "reading the artifact",
    Step.VERIFY: "verifying it",
    Step.JOURNAL: "noting the verdict",
    Step.GIT: "asking git, in a quarantine",
    Step.PUBLISH: "publishing, under the lock",
    Step.READ_BACK: "reading back",
    Step.RECEIPT: "writing the receipt",
}


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "import", "take a candidate into its repository", _DESCRIPTION)
    parser.add_argument("launch", metavar="LAUNCH", help="the id of a launch")
    add_moved(parser)
    add_progress(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the command."""
    tell = teller(parsed)
    with opened_state(parsed) as state:
        record = show(state, parsed.launch).record
        with opened_for(state, record, parsed.repo) as repository:
            receipt = import_candidate(
                repository,
                parsed.launch,
                on_step=lambda step: tell(f"step {step} of {Step.RECEIPT}, {STEPS[step]}"),
            ).receipt
            where = repository.path
        shown = show(state, parsed.launch)
    if parsed.format == "json":
        print_object(as_object(shown, proven=True))
    else:
        sys.stdout.write(as_text(shown))
        sys.stdout.write(f"  git --git-dir={shlex.quote(where)} log {receipt.candidate}\n")
    return 0
