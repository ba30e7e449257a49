"""The processes that a test has started."""

from __future__ import annotations

import os
from pathlib import Path


def own_processes() -> list[int]:
    """The children of this process that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            # It ended before, or while, it was read.
            continue
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found
