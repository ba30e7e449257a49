"""Calls that a small process answers, which has loaded little and is quickly copied.

A process that runs tests has loaded all of them. To copy it takes ten times as long as most of what
its copies would do. Run as a script this is the small process: it reads calls from standard input,
and writes what they return or raise, both pickled.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[2]
T = TypeVar("T")


def aside(function: Callable[..., T], *arguments: object, **named: object) -> T:
    """Call a function, which must have a name in its module, in the small process."""
    process = _started()
    assert process.stdin is not None
    assert process.stdout is not None
    pickle.dump((function, arguments, named), process.stdin)
    process.stdin.flush()
    result, error = pickle.load(process.stdout)  # noqa: S301 - of our own making
    if error is not None:
        raise error
    answer: T = result
    return answer


@functools.cache
def _started() -> subprocess.Popen[bytes]:
    # Coverage is for the tests that do the same in their own process.
    env = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    command = [sys.executable, "-m", "tests.support.aside"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    # What stays is no child of this process, which some tests look for; it ends with its input.
    assert process.wait() == 0
    return process


def _serve() -> None:
    with os.fdopen(os.dup(1), "wb") as out, contextlib.suppress(EOFError):
        # Whatever else is written must not be taken for an answer.
        os.dup2(2, 1)
        while True:
            function, arguments, named = pickle.load(sys.stdin.buffer)  # noqa: S301 - as above
            pickle.dump(_answer(function, arguments, named), out)
            out.flush()


def _answer(
    function: Callable[..., T], arguments: tuple[object, ...], named: dict[str, object]
) -> tuple[T | None, Exception | None]:
    try:
        return function(*arguments, **named), None
    except Exception as error:  # noqa: BLE001 - it is raised where it was asked for
        return None, error


if __name__ == "__main__" and os.fork() == 0:
    _serve()
