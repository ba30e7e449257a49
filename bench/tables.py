"""The tables that a bench run is shown in; the docs take each by its name."""

from __future__ import annotations

from collections.abc import Iterable

from bench import table
from bench.results import (
    GIT_ONE,
    LABELS,
    PACKCHECK_ONE,
    SCALES,
    Outcome,
    Ratio,
    Results,
    Row,
    Spread,
    geometric_mean,
)

# In the order in which they are printed.
PARTS = ("facts", "inputs", "seconds", "ratios", "means", "growth", "memory", "legend", "notes")

_NONE = "-"
_RELAXED = "git refuses it under plain --strict; timed with old oddities ignored"


class Tables:
    """One bench run as text: plain for a terminal, or in markdown."""

    def __init__(self, results: Results, *, markdown: bool) -> None:
        self._results = results
        self._rows = results.rows
        self._names = results.contenders()
        self._markdown = markdown

    def whole(self) -> str:
        """All parts that there are, ready to print."""
        made = [self.part(name) for name in PARTS]
        return "\n\n".join(part for part in made if part) + "\n"

    def part(self, name: str) -> str:
        """One of ``PARTS``; empty where the run has nothing for it."""
        return {
            "facts": self._facts,
            "inputs": self._inputs,
            "seconds": self._seconds,
            "ratios": self._ratios,
            "means": self._means,
            "growth": self._growth,
            "memory": self._memory,
            "legend": self._legend,
            "notes": self._notes,
        }[name]()

    def _facts(self) -> str:
        shown = self._results.facts | {"rounds": f"{self._results.rounds}, alternating"}
        if self._markdown:
            return "\n".join(f"- {name}: {value}" for name, value in shown.items())
        width = max(map(len, shown))
        return "\n".join(f"{name:<{width}}  {value}" for name, value in shown.items())

    def _inputs(self) -> str:
        cells = [["input", "MB", "objects", "commit"]]
        for row in self._rows:
            about = row.about
            size = [f"{about.size / 1e6:.1f}", f"{about.objects:,}"]
            cells.append([_title(row), *size, (about.commit or _NONE)[:12]])
        return table.render(cells, markdown=self._markdown)

    def _seconds(self) -> str:
        """Medians; only the docs have room for the fastest and the slowest as well."""
        cells = [["seconds", *(LABELS[name] for name in self._names)]]
        for row in self._rows:
            times = (_time(row.outcome(n), whole=self._markdown) for n in self._names)
            cells.append([_title(row), *times])
        return table.render(cells, markdown=self._markdown)

    def _ratios(self) -> str:
        wanted = self._results.ratios()
        if not wanted:
            return ""
        cells = [["ratio of seconds", *(ratio.label for ratio in wanted)]]
        cells += (
            [_title(row), *(_spread(row.ratio(ratio)) for ratio in wanted)] for row in self._rows
        )
        return table.render(cells, markdown=self._markdown)

    def _means(self) -> str:
        """Of all inputs, and of those given and the shapes where there are both."""
        groups = {"all inputs": self._rows}
        given = [row for row in self._rows if row.about.given]
        if given and len(given) < len(self._rows):
            groups["given inputs"] = given
            groups["shapes"] = [row for row in self._rows if not row.about.given]
        wanted = self._results.ratios()
        if not wanted:
            return ""
        cells = [["geometric mean", *groups, "highest"]]
        for ratio in wanted:
            means = (_mean(ratio, rows) for rows in groups.values())
            cells.append([ratio.title, *means, _highest(ratio, self._rows)])
        return table.render(cells, markdown=self._markdown)

    def _growth(self) -> str:
        """Shapes of several sizes: time beside objects, each as a multiple of the smallest."""
        pair = [name for name in (PACKCHECK_ONE, GIT_ONE) if name in self._names]
        heads = [head for n in pair for head in (f"{LABELS[n]} (s)", "x time", "for 10 x")]
        cells = [["growth", "objects", "x objects", *heads]]
        for smallest, row in _grown(self._rows):
            times = row.about.objects / smallest.about.objects
            line = [_title(row), f"{row.about.objects:,}", f"{times:.2f}"]
            for name in pair:
                line += _growth_of(smallest.outcome(name), row.outcome(name), times)
            cells.append(line)
        return table.render(cells, markdown=self._markdown) if len(cells) > 1 else ""

    def _memory(self) -> str:
        cells = [["peak MiB", *(LABELS[name] for name in self._names)]]
        cells += (
            [_title(row), *(_peak(row.outcome(name)) for name in self._names)] for row in self._rows
        )
        return table.render(cells, markdown=self._markdown)

    def _legend(self) -> str:
        rounds = self._results.rounds
        times = f"{rounds} round" + "s" * (rounds > 1)
        lines = [f"Seconds: median of {times}. Ratios: of each round; median (least-most)."]
        if self._growth():
            lines.append("For 10 x: the multiple of the time, had the objects grown tenfold.")
        lines.append(
            "MiB: highest peak of resident memory; of several processes together, sampled."
        )
        return "\n".join(lines)

    def _notes(self) -> str:
        notes = []
        for row in self._rows:
            if row.relaxed:
                notes.append(f"{_title(row)}: {_RELAXED}")
            for name, outcome in row.outcomes.items():
                if outcome.failure is not None:
                    notes.append(f"{_title(row)}: {LABELS[name]} failed, {outcome.failure}")
        return "\n".join(f"- {note}" if self._markdown else f"! {note}" for note in notes)


def _title(row: Row) -> str:
    return f"{row.about.title} (relaxed)" if row.relaxed else row.about.title


def _time(outcome: Outcome, *, whole: bool = False) -> str:
    if outcome.failure is not None:
        return "failed"
    if (time := outcome.seconds) is None:
        return _NONE
    digits = 3 if time.median < 0.1 else 2
    return _spread(time, digits) if whole else f"{time.median:.{digits}f}"


def _spread(numbers: Spread | None, digits: int = 2) -> str:
    if numbers is None:
        return _NONE
    least, most = (f"{number:.{digits}f}" for number in (numbers.least, numbers.most))
    return f"{numbers.median:.{digits}f} ({least}-{most})"


def _peak(outcome: Outcome) -> str:
    return _NONE if outcome.peak_mib is None else f"{outcome.peak_mib:.0f}"


def _medians(ratio: Ratio, rows: Iterable[Row]) -> list[tuple[float, str]]:
    """The ratio of each input that has one, with its title."""
    found = ((row.ratio(ratio), row.about.title) for row in rows)
    return [(made.median, title) for made, title in found if made is not None]


def _mean(ratio: Ratio, rows: list[Row]) -> str:
    medians = [median for median, _ in _medians(ratio, rows)]
    mean = geometric_mean(medians)
    return f"{_NONE if mean is None else f'{mean:.2f}'} ({len(medians)} of {len(rows)})"


def _highest(ratio: Ratio, rows: list[Row]) -> str:
    medians = _medians(ratio, rows)
    return "{:.2f} ({})".format(*max(medians)) if medians else _NONE


def _grown(rows: list[Row]) -> list[tuple[Row, Row]]:
    """Each size of a shape of which there are several, beside the smallest."""
    sizes: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.about.scale is not None:
            sizes.setdefault(row.about.name, {})[row.about.scale] = row
    found = []
    for made in sizes.values():
        listed = [made[scale] for scale in SCALES if scale in made]
        found += [(listed[0], row) for row in listed if len(listed) > 1]
    return found


def _growth_of(smallest: Outcome, grown: Outcome, times: float) -> list[str]:
    """Seconds, as a multiple of the smallest, and what that is for ten times the objects."""
    first, last = smallest.seconds, grown.seconds
    if first is None or last is None:
        return [_time(grown), _NONE, _NONE]
    longer = last.median / first.median
    return [_time(grown), f"{longer:.2f}", f"{10 * longer / times:.1f}"]
