"""What an import takes from outside and a test bends: files, time, randomness and patience."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from importer.durable import Files

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GIT_SECONDS", "World", "time_text"]

# A50. Local work on what the limits let through takes seconds.
GIT_SECONDS = 120.0


class World:
    """The files, the clock and the source of randomness of one process.

    ``now`` gives seconds since the epoch, ``tick`` seconds on a clock that never goes back,
    ``token`` so many random bytes; ``sleep`` waits. ``git_seconds`` is how long one git may take,
    or be silent.
    """

    def __init__(
        self,
        files: Files | None = None,
        *,
        now: Callable[[], float] = time.time,
        tick: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        token: Callable[[int], bytes] = secrets.token_bytes,
        git_seconds: float = GIT_SECONDS,
    ) -> None:
        self.files = files or Files()
        self.now = now
        self.tick = tick
        self.sleep = sleep
        self.token = token
        self.git_seconds = git_seconds

    def seconds(self) -> int:
        """Whole seconds since the epoch."""
        return int(self.now())


def time_text(seconds: int) -> str:
    """A time in UTC, as ISO 8601 has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
