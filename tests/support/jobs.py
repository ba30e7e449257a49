"""One pack verified by several processes, in parts so small that every pack has some."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from packparse import ahead, scan, share
from packparse.forks import Forks
from packparse.formats.json import render
from packparse.options import Options
from packparse.report import Report
from packparse.verify import Verifier

# What an eager verifier is fed at a time, and how large its parts are at least.
CHUNK = 64
SMALLEST = 32
_TAKEN = {"seconds", "peak_rss_bytes"}


@contextmanager
def eager() -> Iterator[None]:
    """Share packs that would not repay it, and look for entries at every byte.

    The processes are killed at their end: they save what coverage knows otherwise, which takes
    longer than the part that they look at.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead, "REPAYS", SMALLEST)
        patch.setattr(ahead, "_SAMPLE", SMALLEST)
        patch.setattr(ahead, "_FOLLOWING", 1)
        patch.setattr(share, "_REPAYS", 1)
        patch.setattr(scan, "_SHARED", 0)
        patch.setattr(scan, "_FIRST", CHUNK)
        patch.setattr("os._exit", lambda _status: die())
        yield


def die() -> None:
    """End this process with no warning."""
    os.kill(os.getpid(), signal.SIGKILL)


def verified(
    pack: bytes, options: Options | None = None, *, jobs: int, chunk: int = CHUNK
) -> Verifier:
    """Return a verifier that is through with a file, with the help of ``jobs - 1`` processes."""

    def read_at(offset: int, length: int) -> bytes:
        return pack[offset : offset + length]

    verifier = Verifier(options or Options(), length=len(pack))
    with Forks(jobs) as workers:
        if jobs > 1:
            verifier.share(workers, read_at)
        for at in range(0, len(pack), chunk):
            verifier.feed(pack[at : at + chunk])
        verifier.finish(read_at)
    return verifier


def told(report: Report) -> dict[str, Any]:
    """All that a report says, but for what the run took."""
    return timeless(json.loads(render(report)))


def timeless(said: dict[str, Any]) -> dict[str, Any]:
    """A report in JSON without what the run took."""
    if "stats" in said:
        said["stats"] = {k: v for k, v in said["stats"].items() if k not in _TAKEN}
    return said
