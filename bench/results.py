"""What a bench run found out: plain records, no behaviour beyond arithmetic."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field

PACKCHECK = "packcheck"
GIT_ONE = "git, 1 thread"
GIT_TWO = "git, 2 threads"
CONTENDERS = (PACKCHECK, GIT_ONE, GIT_TWO)
# Another version of packcheck, where one is asked for.
BESIDE = "beside"


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
    def median_cpu(self) -> float | None:
        """Median of user and system time together, which other work on the machine sways less."""
        if self.median is None:
            return None
        return statistics.median(run.user_seconds + run.system_seconds for run in self.runs)

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
        return _ratio(self.outcomes[PACKCHECK].median, self.outcomes[GIT_ONE].median)

    @property
    def beside_ratio(self) -> float | None:
        """Median of packcheck by median of the version beside it; ``None`` without one."""
        return _ratio(self.outcomes[PACKCHECK].median, self._beside.median)

    @property
    def beside_cpu_ratio(self) -> float | None:
        """As :attr:`beside_ratio`, of the time on the processor."""
        return _ratio(self.outcomes[PACKCHECK].median_cpu, self._beside.median_cpu)

    @property
    def _beside(self) -> Outcome:
        return self.outcomes.get(BESIDE, Outcome())

    @property
    def failed(self) -> bool:
        """Whether any contender failed on this input."""
        return any(outcome.failure is not None for outcome in self.outcomes.values())


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return ours / theirs if ours is not None and theirs else None


def geometric_mean(ratios: Iterable[float | None]) -> float | None:
    """Geometric mean of the ratios there are."""
    logs = [math.log(ratio) for ratio in ratios if ratio]
    return math.exp(statistics.fmean(logs)) if logs else None
