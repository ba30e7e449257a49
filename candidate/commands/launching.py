"""``git candidate launch``: what a producer is given, and how it is started."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from candidate import sandbox
from candidate.commands.common import (
    add_command,
    add_policy,
    add_progress,
    as_object,
    opened_state,
    print_object,
    teller,
)
from candidate.commands.show import as_text
from candidate.launch import Order, launch
from importer import place
from importer.launches import show
from importer.repository import Repository
from importer.state import repository_around
from manifest.atoms import pack_path
from manifest.launch import PolicyText
from packparse.arguments import parse_limit, parse_oid
from packparse.errors import MisuseError
from packparse.escape import shorten
from packparse.scan import policy_text

if TYPE_CHECKING:
    from candidate.commands.common import Commands
    from importer.launches import Shown

__all__ = ["add"]

_DESCRIPTION = """\
Give a producer exactly one commit of a repository: DIR/workspace is a private repository with that
commit and its tree, DIR/source the same tree to be read, DIR/export where it hands back what it
made. Nothing else of the repository gets there. The launch is recorded in the state folder.

With a COMMAND the producer is started in bubblewrap, where these three folders are /workspace,
/source and /export, and there is no network, no other file of yours and no way to stay."""

_EPILOG = """\
Inside, `git candidate export`, or `sh /export/export.sh` where there is no Python, hands back what
was committed. Then: git candidate import LAUNCH"""

# What a launch is called where nobody says it.
_UNNAMED = "none"


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "launch", "give a producer one commit", _DESCRIPTION)
    parser.epilog = _EPILOG
    parser.add_argument("--repo", metavar="DIR", default=".", help="the repository (default: .)")
    parser.add_argument(
        "--base", metavar="OID", required=True, help="the commit to start from, by its full id"
    )
    parser.add_argument(
        "--into",
        metavar="DIR",
        required=True,
        help="a new or empty folder, outside of every repository",
    )
    parser.add_argument(
        "--seed",
        choices=("depth-one", "full"),
        default="depth-one",
        help="give the base alone, or its whole history as well (default: depth-one)",
    )
    for name, what in (
        ("issue", "the issue that it is about"),
        ("run", "the run that it belongs to"),
        ("phase", "the phase of that run"),
        ("repository", "what the repository is called"),
    ):
        parser.add_argument(
            f"--{name}",
            dest=f"{name}_name",
            metavar="NAME",
            default=_UNNAMED,
            help=f"{what}, as the manifest will say it (default: {_UNNAMED})",
        )
    add_policy(parser, "what the candidate is judged by, as for packcheck verify")
    _add_sandbox(parser)
    add_progress(parser)
    parser.add_argument("producer", metavar="COMMAND", nargs="*", help="after --, with arguments")
    parser.set_defaults(run=run)


def _add_sandbox(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sandbox",
        choices=("required", "off"),
        default="required",
        help="start COMMAND in bubblewrap or not at all; or, with off, as a process that may do "
        "whatever you may (default: required)",
    )
    parser.add_argument(
        "--read-only",
        metavar="DIR",
        action="append",
        default=[],
        help="a folder of tools that COMMAND may read, at the same path; may be repeated",
    )
    parser.add_argument(
        "--print-command",
        action="store_true",
        help="print how COMMAND is started instead of starting it",
    )


def run(parsed: argparse.Namespace) -> int:
    """Run the command."""
    if parsed.print_command and not parsed.producer:
        message = "--print-command: give the COMMAND behind --"
        raise MisuseError(message)
    order = _order(parsed)
    program = _program(parsed)
    tell = teller(parsed)
    folder = os.path.abspath(parsed.into)
    with opened_state(parsed, make=True) as state:
        with Repository(parsed.repo, state) as repository:
            around = repository_around(parsed.repo) or parsed.repo
            hidden = (state.path, repository.path, around, folder)
            readable = sandbox.check_shown(parsed.read_only, hidden)
            record = launch(repository, folder, order, on_stage=tell)
        world = _world(parsed, program, folder, readable)
        shown = show(state, record.launch)
    _print(parsed, shown, folder, world)
    if world is not None and not parsed.print_command:
        tell("the producer begins")
        sys.stdout.flush()
        sandbox.run(world, quiet=parsed.format == "json")
        tell("the producer has ended")
    return 0


def _order(parsed: argparse.Namespace) -> Order:
    text = policy_text(parsed.policy)
    name = shorten(os.fsencode(parsed.policy))
    named = PolicyText(name) if text is None else PolicyText.of(name, text)
    policy = named.made()
    wanted = policy.made_limits(parsed.limits, dict(map(parse_limit, parsed.limit))).as_dict()
    usual = policy.made_limits().as_dict()
    return Order(
        base=parse_oid("--base", parsed.base).hex(),
        policy=named,
        limits={name: value for name, value in wanted.items() if value != usual[name]},
        issue=parsed.issue_name,
        run=parsed.run_name,
        phase=parsed.phase_name,
        repository=parsed.repository_name,
        full=parsed.seed == "full",
    )


def _program(parsed: argparse.Namespace) -> str:
    """What makes the sandbox, tried before anything is recorded; empty where none is asked for."""
    if not parsed.producer or parsed.sandbox == "off":
        return ""
    return sandbox.bubblewrap()


def _world(
    parsed: argparse.Namespace, program: str, folder: str, readable: list[str]
) -> sandbox.World | None:
    if not parsed.producer:
        return None
    if program:
        return sandbox.sandboxed(program, folder, parsed.producer, shown=readable)
    return sandbox.bare(folder, parsed.producer)


def _print(
    parsed: argparse.Namespace, shown: Shown, folder: str, world: sandbox.World | None
) -> None:
    if parsed.format == "json":
        parts = (place.SOURCE, place.WORKSPACE)
        print_object(
            as_object(shown)
            | {part: pack_path(f"{folder}/{part}") for part in parts}
            | {"command": None if world is None else world.as_shell()}
        )
        return
    sys.stdout.write(as_text(shown))
    sys.stdout.write(f"  workspace {pack_path(f'{folder}/{place.WORKSPACE}')}\n")
    if world is None or parsed.print_command:
        sys.stdout.write(
            f"  once the producer has exported: git candidate import {shown.record.launch}\n"
        )
    if world is not None and parsed.print_command:
        sys.stdout.write(world.as_shell() + "\n")
