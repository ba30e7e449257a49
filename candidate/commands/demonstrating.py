"""``git candidate demo``: the whole way of a candidate, and what does not get through."""

from __future__ import annotations

import sys
import tempfile
from typing import TYPE_CHECKING

from candidate import demo
from candidate.commands.common import add_command, print_object
from packparse.codes import POLICY

if TYPE_CHECKING:
    import argparse

    from candidate.commands.common import Commands
    from candidate.demo import Result

__all__ = ["add"]

_DESCRIPTION = """\
Show all of it in a temporary folder: a host repository, a launch, a producer in the sandbox that
commits and exports, the import and its receipt; then eight artifacts of a hostile producer, each
refused with its code, and the host unchanged. Where bubblewrap is missing it says so, and the
producer is an ordinary process."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "demo", "show the whole way in a temporary folder", _DESCRIPTION, stateful=False
    )
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the command."""
    quiet = parsed.format == "json"
    out = sys.stderr if quiet else sys.stdout

    def say(line: str) -> None:
        out.write(f"{line}\n")
        # The producer writes to the same place.
        out.flush()

    with tempfile.TemporaryDirectory(prefix="git-candidate-demo-") as folder:
        result = demo.run(folder, say, quiet=quiet)
    if quiet:
        print_object(_as_object(result))
    else:
        sys.stdout.write(_summary(result))
    return 0 if result.is_well else POLICY


def _summary(result: Result) -> str:
    refused = sum(refusal.code == refusal.expected for refusal in result.refusals)
    where = "without a sandbox" if result.unsandboxed else "in a sandbox"
    verdict = "All of it ended as it must" if result.is_well else "It ended OTHERWISE THAN IT MUST"
    return (
        f"\n{verdict}: 1 candidate made {where} and imported, {refused} of "
        f"{len(result.refusals)} hostile artifacts refused for the right reason, "
        f"{len(result.changed)} files of the host changed by them.\n"
    )


def _as_object(result: Result) -> dict[str, object]:
    return {
        "schema": "git-candidate.demo/1",
        "well": result.is_well,
        "candidate": result.receipt.candidate,
        "sandboxed": not result.unsandboxed,
        "reason": result.unsandboxed or None,
        "refusals": [refusal._asdict() for refusal in result.refusals],
        "changed": result.changed,
    }
