"""The command ``git candidate``: arguments in, answers on standard output, a class as exit status.

Each command has a module in ``commands`` that says what its arguments are and runs it.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from candidate.commands import (
    check,
    demonstrating,
    discard,
    explain,
    export,
    importing,
    launching,
    listing,
    recover,
    show,
)
from candidate.commands.common import print_object
from importer.errors import ImporterError
from packparse import codes, console, version
from packparse.arguments import Parser, VersionAction
from packparse.errors import MisuseError, PackError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["build", "main"]

_STATUS = "\n".join(
    [
        "exit status:",
        "  0  accepted, or done",
        *(f"  {n}  {': '.join(filter(None, texts))}" for n, texts in codes.CLASSES.items()),
    ]
)
_COMMANDS = (
    launching,
    export,
    importing,
    check,
    recover,
    show,
    listing,
    discard,
    explain,
    demonstrating,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; ``arguments`` default to those of the process. Returns the exit status."""
    return console.run("git candidate", lambda: _answered(arguments))


def _answered(arguments: Sequence[str] | None) -> int:
    """Run the command, and say why where there is no answer."""
    parsed = None
    try:
        parsed, unknown = build().parse_known_args(arguments)
        if unknown:
            # By the parser of the command, which shows its own usage.
            parsed.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        status: int = parsed.run(parsed)
    except MisuseError as error:
        return _complain(parsed, str(error), codes.USAGE)
    except (ImporterError, PackError) as error:
        return _complain(parsed, error.message, error.code.klass, error)
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        return _complain(parsed, "interrupted", codes.ENVIRONMENT)
    except (OSError, MemoryError) as error:
        return _complain(parsed, console.reason_of(error), codes.ENVIRONMENT)
    return status


def build() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = Parser(
        prog="git candidate",
        description="Take commits from a sandbox into a repository: verified, quarantined, "
        "published under one lock, with a receipt.",
        epilog=_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=VersionAction, const=_show_version)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return parser


def _show_version() -> None:
    sys.stdout.write(f"git candidate {version.installed() or '(not installed)'}\n")


def _complain(
    parsed: argparse.Namespace | None,
    message: str,
    status: int,
    error: ImporterError | PackError | None = None,
) -> int:
    """Say why there is no answer: as text, and as an object as well where JSON was asked for."""
    code = None if error is None else error.code
    if parsed is not None and parsed.format == "json":
        print_object(
            {
                "schema": "git-candidate.error/1",
                "code": None if code is None else code.name,
                "class": status,
                "message": message,
                "remedy": None if code is None else code.remedy or None,
            }
        )
        sys.stdout.flush()
    # What packcheck says of a file says what to do.
    remedy = f"\n  {error.code.remedy}" if isinstance(error, ImporterError) else ""
    console.complain("git candidate", f"{error or message}{remedy}")
    return status
