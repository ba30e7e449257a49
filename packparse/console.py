"""How a command ends: whatever stops it becomes a complaint on standard error and a class.

Python would end with status 1 for an exception, and 1 is a verdict: corrupt.
"""

from __future__ import annotations

import os
import sys

from packparse import codes
from packparse.escape import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["complain", "reason_of", "run"]

_STDERR = 2


def run(program: str, work: Callable[[], int]) -> int:
    """The exit status of ``work``, or that of what stopped it.

    ``work`` tells of its own errors, and writes what it has to say to standard output.
    """
    _occupy()
    if sys.stdout is None:
        # Python leaves it so when the descriptor is closed.
        complain(program, "standard output is closed")
        return codes.ENVIRONMENT
    try:
        try:
            status = work()
        finally:
            # Also after --help or --version, which exit; a full disk shows only now.
            sys.stdout.flush()
    except KeyboardInterrupt:
        complain(program, "interrupted")
    except BrokenPipeError:
        # The reader has gone, and knows why.
        _close_stdout()
    except (OSError, MemoryError) as error:
        complain(program, reason_of(error))
        _close_stdout()
    except Exception:  # noqa: BLE001 - a mistake of ours must not end as a verdict
        import traceback

        complain(program, f"{traceback.format_exc()}{program}: internal error, please report it")
    else:
        return status
    return codes.ENVIRONMENT


def reason_of(error: OSError | MemoryError) -> str:
    """What the system says is wrong, in few words."""
    if isinstance(error, MemoryError):
        return "out of memory"
    return error.strerror or str(error)


def complain(program: str, text: str) -> None:
    """Say something on standard error, with nothing in it that a terminal obeys."""
    try:
        sys.stderr.write(printable(f"{program}: {text}\n"))
        sys.stderr.flush()
    except OSError:
        # The exit status must do.
        return


def _occupy() -> None:
    """Open the standard streams that are closed, as git does, with nothing behind them.

    Else the next file that is opened would have the number of one of them, and get whatever a
    library or another process writes there.
    """
    number = os.open(os.devnull, os.O_RDWR)
    while number <= _STDERR:
        os.set_inheritable(number, True)  # noqa: FBT003 - as it is declared
        number = os.dup(number)
    os.close(number)
    if sys.stderr is None:
        # Python leaves it so when the descriptor is closed; nobody hears, and the status must do.
        sys.stderr = os.fdopen(_STDERR, "w", closefd=False)


def _close_stdout() -> None:
    """Point standard output at nothing: Python flushes it once more at the end, and would fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
