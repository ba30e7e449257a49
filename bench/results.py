"""What a bench run found out: plain records, no behaviour beyond arithmetic."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field

PACKCHECK = "packcheck"
GIT_ONE = "git, 1 thread"
GIT_TWO = "git, 2 threads"
CONTENDERS = (PACKCHECK, GIT_ONE, GIT_TWO)


@dataclass(frozen=True)
class Run:
    """One timed run of one contender."""

    seconds: float
    user_seconds: float
    system_seconds: float
    peak_kib: int


@dataclass
class Outcome:
    """All timed runs of one contender on one input, or why there are none that count."""

    runs: list[Run] = field(default_factory=list)
    failure: str | None = None

    @property
    def median(self) -> float | None:
        """Median wall time; ``None`` for a contender that failed or did not run."""
        if self.failure is not None or not self.runs:
            return None
        return statistics.median(run.seconds for run in self.runs)

    @property
    def peak_mib(self) -> float | None:
        """The highest peak of all runs."""
        if self.failure is not None or not self.runs:
            return None
        return max(run.peak_kib for run in self.runs) / 1024


@dataclass
class Row:
    """One input with the outcome of every contender."""

    name: str
    size: int
    objects: int
    object_format: str
    outcomes: dict[str, Outcome]
    relaxed: bool = False

    @property
    def ratio(self) -> float | None:
        """Median of packcheck by median of git with one thread."""
        ours, theirs = self.outcomes[PACKCHECK].median, self.outcomes[GIT_ONE].median
        return ours / theirs if ours is not None and theirs else None

    @property
    def failed(self) -> bool:
        """Whether any contender failed on this input."""
        return any(outcome.failure is not None for outcome in self.outcomes.values())


def geometric_mean(rows: list[Row]) -> float | None:
    """Geometric mean of the ratios there are."""
    ratios = [row.ratio for row in rows if row.ratio]
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None
