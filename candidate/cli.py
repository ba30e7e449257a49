"""The command ``git candidate``: arguments in, answers on standard output, a class as exit status.

Each command has a module in ``commands`` that says what its arguments are and runs it.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from candidate.commands import check, discard, listing, recover, show
from importer.errors import ImporterError
from packparse import codes
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
_COMMANDS = (check, recover, show, listing, discard)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; ``arguments`` default to those of the process. Returns the exit status."""
    try:
        parsed, unknown = build().parse_known_args(arguments)
        if unknown:
            # By the parser of the command, which shows its own usage.
            parsed.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        status: int = parsed.run(parsed)
        sys.stdout.flush()
    except MisuseError as error:
        return _complain(str(error), codes.USAGE)
    except ImporterError as error:
        return _complain(f"{error}\n  {error.code.remedy}", error.code.klass)
    except PackError as error:
        return _complain(str(error), error.code.klass)
    except KeyboardInterrupt:
        return _complain("interrupted", codes.ENVIRONMENT)
    except BrokenPipeError:
        # The reader has gone, and knows why. Python flushes once more at the end, and would fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return codes.ENVIRONMENT
    except OSError as error:
        return _complain(error.strerror or str(error), codes.ENVIRONMENT)
    return status


def build() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="git candidate",
        description="Take commits from a sandbox into a repository: verified, quarantined, "
        "published under one lock, with a receipt.",
        epilog=_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return parser


def _complain(text: str, status: int) -> int:
    sys.stderr.write(f"git candidate: {text}\n")
    sys.stderr.flush()
    return status
