"""What the commands have in common: the options for state and format, and how answers look."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from candidate.errors import CandidateError  # noqa: F401 - its room adds codes to the registry
from importer.repository import Repository
from importer.state import State
from manifest.errors import REGISTRY
from packparse import limits
from packparse.checks import CATALOG
from packparse.errors import MisuseError
from packparse.escape import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from importer.errors import ImporterError
    from importer.launches import Shown
    from manifest.launch import Launch

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - has no other name

__all__ = [
    "CODES", "add_command", "add_moved", "add_policy", "add_progress", "as_object", "error_object",
    "nothing_in", "opened_for", "opened_state", "print_object", "teller",
]  # fmt: skip

# Of all that is refused, by packcheck or by an import.
CODES = {**CATALOG, **REGISTRY}


def add_command(
    commands: Commands, name: str, summary: str, description: str, *, stateful: bool = True
) -> argparse.ArgumentParser:
    """A command with the options that all have, and the one of those that use the state."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="for people or for machines (default: text)",
    )
    parser.set_defaults(parser=parser)
    if stateful:
        parser.add_argument(
            "--state",
            metavar="DIR",
            help="the folder with launches, keys and receipts (default: $GIT_CANDIDATE_STATE, else "
            "git-candidate in $XDG_STATE_HOME or ~/.local/state)",
        )
    return parser


def add_moved(parser: argparse.ArgumentParser) -> None:
    """The option that says where a repository is now."""
    parser.add_argument(
        "--repo",
        metavar="DIR",
        help="where the repository is now, if it was moved (default: where it was when the launch "
        "was recorded); it has to be the same folder, by its device and inode",
    )


def add_policy(parser: argparse.ArgumentParser, what: str = "as for packcheck verify") -> None:
    """The options that say what a candidate is judged by."""
    parser.add_argument(
        "--policy", metavar="FILE", default="candidate", help=f"{what} (default: candidate)"
    )
    parser.add_argument(
        "--limits",
        choices=limits.PRESETS,
        help="as for packcheck verify (default: those of the policy)",
    )
    parser.add_argument(
        "--limit",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="as for packcheck verify; may be repeated (default: as in --limits)",
    )


def add_progress(parser: argparse.ArgumentParser) -> None:
    """The option that says whether it is told what is done."""
    parser.add_argument(
        "--progress",
        choices=("auto", "always", "never"),
        default="auto",
        help="tell on standard error what is done (default: auto, on a terminal)",
    )


def teller(parsed: argparse.Namespace) -> Callable[[str], None]:
    """What is called with each thing that is done as it begins."""
    if parsed.progress == "never" or (parsed.progress == "auto" and not sys.stderr.isatty()):
        return lambda _what: None
    return _tell


def _tell(what: str) -> None:
    sys.stderr.write(f"git candidate: {what}\n")
    sys.stderr.flush()


@contextmanager
def opened_state(parsed: argparse.Namespace, *, make: bool = False) -> Iterator[State]:
    """The state folder that was asked for.

    Unless one may be made it has to be there: a wrong one looks empty.
    """
    path = parsed.state
    if path is None:
        path = os.environ.get("GIT_CANDIDATE_STATE") or _default(make=make)
    with State(path, make=make) as state:
        yield state


@contextmanager
def opened_for(state: State, record: Launch, moved: str | None = None) -> Iterator[Repository]:
    """The repository of a launch; ``moved`` is where it is now, if not at its recorded path."""
    path = record.common_dir.location if moved is None else moved
    with Repository(path, state) as repository:
        repository.check(record.common_dir)
        yield repository


def _default(*, make: bool) -> str:
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    if not os.path.isabs(home):
        message = "there is no home folder to keep the state in; give --state DIR"
        raise MisuseError(message)
    if make:
        # The XDG base directory specification: whoever writes makes it, with this mode.
        os.makedirs(home, mode=0o700, exist_ok=True)
    return f"{home}/git-candidate"


def print_object(value: object) -> None:
    """One line of JSON, in ASCII alone."""
    sys.stdout.write(json.dumps(value, separators=(",", ":")) + "\n")


def error_object(error: ImporterError | None) -> dict[str, str] | None:
    """What is wrong, for machines."""
    return None if error is None else {"code": error.code.name, "message": error.message}


def as_object(
    shown: Shown, *, proven: bool | None = None, fault: ImporterError | None = None
) -> dict[str, object]:
    """A launch for machines: everything but its key, and what the repository said if asked."""
    record = shown.record
    return {
        "schema": "git-candidate.launch/1",
        "launch": record.launch,
        "state": shown.state,
        "launched": shown.at,
        "issue": record.issue,
        "run": record.run,
        "phase": record.phase,
        "repository": record.repository,
        "common_dir": record.common_dir.path,
        "export": record.export.path,
        "object_format": record.object_format,
        "base": record.base,
        "seed": record.seed.kind,
        "receipt": _plain(shown.receipt),
        "refusal": _plain(shown.refusal),
        "proven": proven,
        "fault": error_object(fault),
    }


def _plain(record: object) -> object:
    import msgspec

    return None if record is None else msgspec.to_builtins(record)


def nothing_in(state: State) -> str:
    """What is said where there are no launches."""
    return f"there are no launches in {shorten(os.fsencode(state.path))}\n"
