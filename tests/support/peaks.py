"""Peak memory of many verifications, each in a process of its own: run as a script.

Reads a list of lists of arguments from standard input, as JSON, and prints a list of [exit status,
KiB] in their order. Each process is a copy of one that has verified some of these files, and so has
loaded all that a verification needs. Files are shared between processes however small they are.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from packparse.cli import main
from tests.support import jobs

# One in so many is verified beforehand: what loads rules and compiles patterns is as long again.
_SOME = 40


def peak(arguments: list[str]) -> tuple[int, int]:
    """Run ``packcheck`` with these arguments; exit status, and KiB of the largest process."""
    pid = os.fork()
    if pid == 0:
        status = 7
        try:
            status = main(arguments)
        finally:
            os._exit(status)
    _, status, used = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), used.ru_maxrss


def peaks(asked: list[list[str]]) -> list[tuple[int, int]]:
    """The same of each of them."""
    for arguments in asked[::_SOME]:
        main(arguments)
    return [peak(arguments) for arguments in asked]


@contextmanager
def silent() -> Iterator[None]:
    """Nothing on standard output and standard error inside of the block."""
    ours = [os.dup(1), os.dup(2)]
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        os.dup2(null, 2)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(ours[0], 1)
        os.dup2(ours[1], 2)


if __name__ == "__main__":
    rows = json.load(sys.stdin)
    with jobs.eager(quick=False), silent():
        found = peaks(rows)
    json.dump(found, sys.stdout)
