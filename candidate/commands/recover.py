"""``git candidate recover``: finish or take back what killed imports left."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from candidate.commands.common import add_command, opened_for, opened_state, print_object
from importer.errors import ImporterError
from importer.launches import Recovered, listed, recover_all

if TYPE_CHECKING:
    import argparse

    from candidate.commands.common import Commands
    from importer.state import State

__all__ = ["add"]

_DESCRIPTION = """\
For every launch of the state folder: where all of a publication is in the repository its receipt
is written, else what there is of it is taken back. Temporary files of imports that have ended are
removed, files of anybody else never. May be run at any time, beside imports, and again."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "recover", "clean up after imports that died", _DESCRIPTION)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the command."""
    with opened_state(parsed) as state:
        found = _recover(state)
    failed = [one.error for one in found if one.error is not None]
    if parsed.format == "json":
        print_object(
            {
                "schema": "git-candidate.recover/1",
                "launches": [_as_object(one) for one in found],
            }
        )
    else:
        sys.stdout.write("".join(map(_as_text, found)) or "there are no launches\n")
    return max((error.code.klass for error in failed), default=0)


def _recover(state: State) -> list[Recovered]:
    """Recover all launches, one repository after the other."""
    found: list[Recovered] = []
    done: set[tuple[int, int]] = set()
    all_launches = listed(state)
    for name, error in all_launches.damaged.items():
        found.append(Recovered(name, "", [], error))
    for shown in all_launches.shown:
        place = shown.record.common_dir
        if (place.device, place.inode) in done:
            continue
        done.add((place.device, place.inode))
        try:
            with opened_for(state, shown.record) as repository:
                found += [
                    one for one in recover_all(repository) if one.launch not in all_launches.damaged
                ]
        except ImporterError as error:
            found.append(Recovered(shown.record.launch, shown.state, [], error))
    return found


def _as_object(one: Recovered) -> dict[str, object]:
    return {
        "launch": one.launch,
        "state": one.state,
        "removed": one.removed,
        "error": None if one.error is None else {"code": one.error.code.name,
                                                "message": one.error.message},
    }  # fmt: skip


def _as_text(one: Recovered) -> str:
    if one.error is not None:
        return f"{one.launch}: {one.error}\n  {one.error.code.remedy}\n"
    removed = f", removed {', '.join(one.removed)}" if one.removed else ""
    return f"{one.launch}: {one.state}{removed}\n"
