"""What a bench run found out: plain records, no behaviour beyond arithmetic."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

PACKCHECK_ONE = "packcheck-1"
PACKCHECK_TWO = "packcheck-2"
PACKCHECK_GIT = "packcheck-git"
GIT_ONE = "git-1"
GIT_TWO = "git-2"
FSCK = "fsck"
DULWICH = "dulwich"
# Another version of packcheck, where one is asked for.
BESIDE = "beside"

# In the order in which they run: those that are compared stand side by side, so that whatever else
# the machine does hits both.
LABELS = {
    PACKCHECK_ONE: "packcheck, 1 job",
    GIT_ONE: "git, 1 thread",
    PACKCHECK_TWO: "packcheck, 2 jobs",
    GIT_TWO: "git, 2 threads",
    PACKCHECK_GIT: "packcheck, git rules, 1 job",
    FSCK: "git fsck",
    DULWICH: "dulwich",
    BESIDE: "beside",
}
CONTENDERS = tuple(name for name in LABELS if name != BESIDE)
# Enough to see time grow; the others would take most of a long run.
FOR_GROWTH = (PACKCHECK_ONE, GIT_ONE, PACKCHECK_TWO, GIT_TWO)

# The sizes of a shape, and by how much each is larger than the first.
SCALES = {"small": 1, "medium": 3, "large": 10}


@dataclass(frozen=True)
class Spread:
    """The median of some numbers, with the least and the most of them."""

    median: float
    least: float
    most: float


def spread(numbers: Sequence[float]) -> Spread | None:
    """The spread of some numbers, where there are any."""
    if not numbers:
        return None
    return Spread(statistics.median(numbers), min(numbers), max(numbers))


@dataclass(frozen=True)
class Run:
    """One timed run of one contender."""

    seconds: float
    user_seconds: float
    system_seconds: float
    peak_kib: int

    @property
    def cpu_seconds(self) -> float:
        """User and system time together, which other work on the machine sways less."""
        return self.user_seconds + self.system_seconds


@dataclass
class Outcome:
    """All timed runs of one contender on one input, or why there are none that count.

    ``together_kib`` is the peak of all its processes together, where it has several: sampled in
    the round that is not timed.
    """

    runs: list[Run] = field(default_factory=list)
    failure: str | None = None
    together_kib: int = 0

    @property
    def counted(self) -> list[Run]:
        """The runs; none of a contender that failed."""
        return [] if self.failure is not None else self.runs

    @property
    def seconds(self) -> Spread | None:
        """Wall time; None for a contender that failed or did not run."""
        return spread([run.seconds for run in self.counted])

    @property
    def peak_mib(self) -> float | None:
        """The highest peak of all runs."""
        if not self.counted:
            return None
        return max(self.together_kib, *(run.peak_kib for run in self.counted)) / 1024


@dataclass(frozen=True)
class Ratio:
    """Which two contenders are compared, and by what; ``label`` has a line end where it breaks."""

    label: str
    ours: str
    theirs: str
    measure: Callable[[Run], float] = lambda run: run.seconds

    @property
    def title(self) -> str:
        """The label on one line."""
        return self.label.replace("\n", " ")


# As many processes as the other has threads; the rest are one against one.
RATIOS = (
    Ratio("packcheck 1\n/ git 1", PACKCHECK_ONE, GIT_ONE),
    Ratio("packcheck 2\n/ git 2", PACKCHECK_TWO, GIT_TWO),
    Ratio("git rules 1\n/ git 1", PACKCHECK_GIT, GIT_ONE),
    Ratio("packcheck 1\n/ git fsck", PACKCHECK_ONE, FSCK),
    Ratio("packcheck 1\n/ dulwich", PACKCHECK_ONE, DULWICH),
    Ratio("packcheck 1\n/ beside", PACKCHECK_ONE, BESIDE),
    Ratio("the same, CPU", PACKCHECK_ONE, BESIDE, lambda run: run.cpu_seconds),
)


@dataclass(frozen=True)
class About:
    """What is said of an input: ``scale`` of a shape that the bench made, ``commit`` of a clone."""

    name: str
    size: int
    objects: int
    object_format: str
    scale: str | None = None
    commit: str | None = None

    @property
    def title(self) -> str:
        """The name, of a shape with its size."""
        return self.name if self.scale in {None, "small"} else f"{self.name}, {self.scale}"

    @property
    def given(self) -> bool:
        """Whether it was named in the call, and not made by the bench."""
        return self.scale is None


@dataclass
class Row:
    """One input with the outcome of every contender."""

    about: About
    outcomes: dict[str, Outcome]
    relaxed: bool = False

    def ratio(self, wanted: Ratio) -> Spread | None:
        """The ratios of the rounds: what sways one round sways both sides of its ratio."""
        ours, theirs = (self.outcome(name).counted for name in (wanted.ours, wanted.theirs))
        if not ours or not theirs:
            return None
        pairs = zip(map(wanted.measure, ours), map(wanted.measure, theirs), strict=True)
        return spread([one / other for one, other in pairs if other])

    def outcome(self, name: str) -> Outcome:
        """The outcome of a contender, empty for one that was not asked for."""
        return self.outcomes.get(name, Outcome())

    @property
    def failed(self) -> bool:
        """Whether any contender failed on this input."""
        return any(outcome.failure is not None for outcome in self.outcomes.values())


@dataclass
class Results:
    """One run of the bench: where and when, how often, and what came out."""

    facts: dict[str, str]
    rounds: int
    rows: list[Row]

    def contenders(self) -> list[str]:
        """The contenders that ran, in the order of the tables."""
        return [name for name in LABELS if any(name in row.outcomes for row in self.rows)]

    def ratios(self) -> list[Ratio]:
        """The ratios both sides of which ran."""
        ran = set(self.contenders())
        return [ratio for ratio in RATIOS if {ratio.ours, ratio.theirs} <= ran]


def geometric_mean(ratios: Iterable[float]) -> float | None:
    """Geometric mean of some ratios; None of none."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(statistics.fmean(logs)) if logs else None
