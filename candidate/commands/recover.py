"""``git candidate recover``: finish or take back what killed imports left."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from candidate.commands.common import (
    add_command,
    add_moved,
    error_object,
    nothing_in,
    opened_for,
    opened_state,
    print_object,
)
from importer.errors import REPOSITORY_CHANGED, ImporterError, ImportRefused, translated
from importer.launches import Recovered, listed, recover_all
from importer.repository import Repository
from packparse.escape import shorten

if TYPE_CHECKING:
    import argparse

    from candidate.commands.common import Commands
    from importer.launches import Shown
    from importer.state import State

    # Device and inode of a repository's common folder.
    Identity = tuple[int, int]

__all__ = ["add"]

_DESCRIPTION = """\
For every launch of the state folder: where all of a publication is in the repository its receipt
is written, else what there is of it is taken back. A launch that died before it was ready is given
up, and what there is of its folder removed. Temporary files of imports that have ended are removed,
files of anybody else never. Then the repository is asked whether each receipt is true. May be run
at any time, beside imports, and again."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "recover", "clean up after what died", _DESCRIPTION)
    add_moved(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the command."""
    with opened_state(parsed) as state:
        found = _recover(state, parsed.repo)
        none = nothing_in(state)
    failed = [one.error for one in found if one.error is not None]
    if parsed.format == "json":
        print_object(
            {
                "schema": "git-candidate.recover/1",
                "launches": [_as_object(one) for one in found],
            }
        )
    else:
        sys.stdout.write("".join(map(_as_text, found)) or none)
    return max((error.code.klass for error in failed), default=0)


def _recover(state: State, moved: str | None) -> list[Recovered]:
    """Recover all launches, one repository after the other; each launch is told of once."""
    with translated():
        state.sweep()
    listing = listed(state)
    found = {name: Recovered(name, "", [], error) for name, error in listing.damaged.items()}
    there = None if moved is None else _identity(state, moved)
    repositories: dict[Identity, list[Shown]] = {}
    for shown in listing.shown:
        place = shown.record.common_dir
        repositories.setdefault((place.device, place.inode), []).append(shown)
    if there is not None and there not in repositories:
        message = f"{shorten(os.fsencode(moved or ''))} is not the repository of any launch"
        raise ImportRefused(REPOSITORY_CHANGED, message)
    for identity, launches in repositories.items():
        paths = dict.fromkeys(shown.record.common_dir.location for shown in launches)
        where = [moved] if moved is not None and identity == there else [*paths]
        for one in _of_one(state, launches, where):
            found.setdefault(one.launch, one)
    return [*found.values()]


def _identity(state: State, path: str) -> Identity:
    with Repository(path, state) as repository:
        return repository.folder.device, repository.folder.inode


def _of_one(state: State, launches: list[Shown], paths: list[str]) -> list[Recovered]:
    """Recover the launches of one repository, which is at one of these paths, or gone."""
    failure: ImporterError | None = None
    for path in paths:
        try:
            with opened_for(state, launches[0].record, path) as repository:
                return recover_all(repository, prove=True)
        except ImporterError as error:
            failure = failure or error
    return [Recovered(one.record.launch, one.state, [], failure) for one in launches]


def _as_object(one: Recovered) -> dict[str, object]:
    return {
        "launch": one.launch,
        "state": one.state,
        "removed": one.removed,
        "error": error_object(one.error),
    }


def _as_text(one: Recovered) -> str:
    removed = f", removed {', '.join(one.removed)}" if one.removed else ""
    if one.error is None:
        return f"{one.launch}: {one.state}{removed}\n"
    but = f"imported{removed}, but " if one.state == "imported" else ""
    return f"{one.launch}: {but}{one.error}\n  {one.error.code.remedy}\n"
