"""Peak memory of many verifications, each in a process of its own: run as a script.

Reads a list of lists of arguments from standard input, as JSON, and prints a list of [exit status,
KiB] in their order. Each process is a copy of one that has loaded what a verification needs and
little else. Files are shared between processes however small they are.
"""

from __future__ import annotations

import json
import os
import sys

from packparse import scan, share  # noqa: F401 - loaded once for all
from packparse.cli import main
from tests.support import jobs


def peak(arguments: list[str]) -> tuple[int, int]:
    """Run ``packcheck`` with these arguments; exit status, and KiB of the largest process."""
    pid = os.fork()
    if pid == 0:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        status = 7
        try:
            status = main(arguments)
        finally:
            os._exit(status)
    _, status, used = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), used.ru_maxrss


if __name__ == "__main__":
    with jobs.eager(quick=False):
        json.dump([peak(arguments) for arguments in json.load(sys.stdin)], sys.stdout)
