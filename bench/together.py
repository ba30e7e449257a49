"""The memory of several processes together: of all that a process has started.

The system keeps a peak for each process alone. So the sum is sampled; a page that several share
counts once. Where there is no /proc, or not this part of it, the answer is 0.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

_EVERY = 0.01
_PROC = Path("/proc")


def watch(child: subprocess.Popen[bytes]) -> int:
    """Wait for ``child``; the highest sum in KiB that its descendants were seen to hold."""
    peak = 0
    while True:
        peak = max(peak, held(child.pid))
        try:
            child.wait(_EVERY)
        except subprocess.TimeoutExpired:
            continue
        return peak


def held(process: int) -> int:
    """What all descendants of a process hold at this moment, in KiB."""
    return sum(map(_share, _descendants(process)))


def _descendants(process: int) -> Iterator[int]:
    for listed in _PROC.glob(f"{process}/task/*/children"):
        for child in map(int, _read(listed).split()):
            yield child
            yield from _descendants(child)


def _share(process: int) -> int:
    """The resident size of a process in KiB, of shared pages its part."""
    for line in _read(_PROC / str(process) / "smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def _read(path: Path) -> str:
    """A file of /proc; empty where the process has ended in between."""
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return ""
