"""``git candidate show``: one launch, its receipt or its refusal, and whether it is still true."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from candidate.commands.common import (
    CODES,
    add_command,
    add_moved,
    as_object,
    opened_for,
    opened_state,
    print_object,
)
from importer.errors import BASE_MISSING, RECEIPT_CONTRADICTED, STORE_CORRUPT, ImporterError
from importer.launches import Shown, proven, show
from importer.world import time_text

if TYPE_CHECKING:
    import argparse

    from candidate.commands.common import Commands
    from importer.state import State
    from manifest.receipt import Receipt, Refusal

__all__ = ["add", "as_text"]

_DESCRIPTION = """\
Show a launch. Where it has a receipt, the repository is asked whether it still has what the receipt
says: the published pack, the commits of the candidate, and the base."""


# What the repository answers where a receipt is not true. With any other code nobody could ask it.
_UNTRUE = {RECEIPT_CONTRADICTED, BASE_MISSING, STORE_CORRUPT}


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "show", "show a launch and prove its receipt", _DESCRIPTION)
    parser.add_argument("launch", metavar="LAUNCH", help="the id of a launch")
    add_moved(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the command."""
    with opened_state(parsed) as state:
        shown = show(state, parsed.launch)
        fault = _fault(state, shown, parsed.repo)
    if parsed.format == "json":
        print_object(as_object(shown, proven=_is_proven(shown, fault), fault=fault))
    else:
        sys.stdout.write(as_text(shown))
        if fault is not None:
            verdict = "COULD NOT BE PROVEN" if fault.code not in _UNTRUE else "NOT TRUE ANY MORE"
            sys.stdout.write(f"  {verdict}: {fault}\n  {fault.code.remedy}\n")
        elif shown.state == "imported":
            sys.stdout.write("  the repository has all of it\n")
    return 0 if fault is None else fault.code.klass


def _fault(state: State, shown: Shown, moved: str | None) -> ImporterError | None:
    """What the repository says against a receipt."""
    if shown.state != "imported":
        return None
    try:
        with opened_for(state, shown.record, moved) as repository:
            proven(repository, shown.record.launch)
    except ImporterError as error:
        return error
    return None


def _is_proven(shown: Shown, fault: ImporterError | None) -> bool | None:
    if shown.state != "imported" or (fault is not None and fault.code not in _UNTRUE):
        return None
    return fault is None


def as_text(shown: Shown) -> str:
    """A launch for people."""
    record, receipt, refusal = shown.record, shown.receipt, shown.refusal
    lines = [
        f"launch {record.launch}: {shown.state}",
        f"  issue {record.issue}, run {record.run}, phase {record.phase}",
        f"  repository {record.repository} at {record.common_dir.path}",
        f"  base {record.base} ({record.seed.kind}), launched {time_text(shown.at)}",
        f"  export folder {record.export.path}",
    ]
    if receipt is not None:
        lines += _of_receipt(receipt)
    elif refusal is not None:
        lines += _of_refusal(refusal)
    return "\n".join(lines) + "\n"


def _of_refusal(refusal: Refusal) -> list[str]:
    place = next((one for one in refusal.findings if one.code == refusal.code), None)
    where = [] if place is None else [("object", place.oid), ("path", place.path)]
    at = "".join(f", {name} {text}" for name, text in where if text)
    code = CODES.get(refusal.code)
    return [
        f"  refused at step {refusal.step}, {time_text(refusal.at)}{at}",
        f"  {refusal.code}: {refusal.message}",
        *([] if code is None else [f"  {code.remedy}"]),
    ]


def _of_receipt(receipt: Receipt) -> list[str]:
    count, pack, git = receipt.objects.count, receipt.pack.name, receipt.git
    relaxed = f", told to pass {', '.join(git.relaxed)}" if git.relaxed else ""
    first = f"packcheck {receipt.packcheck.version} (policy {receipt.packcheck.policy})"
    return [
        f"  candidate {receipt.candidate}",
        f"  {count} objects, {len(receipt.commits)} commits, in {pack}.pack",
        f"  {first} and git {git.version} accept it{relaxed}",
        f"  published {time_text(receipt.times.published)}",
    ]
