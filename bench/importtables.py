"""The tables of ``bench.imports``, as markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, ClassVar, TypedDict

__all__ = ["PARTS", "ImportTables", "SavedTables", "Size", "Times", "ms", "ratio", "table"]


class Size(TypedDict):
    """What was measured of candidates of one size; times are seconds, one for each round."""

    name: str
    bundle: int
    objects: int
    ours: list[float]
    fetch: list[float]
    held: list[float]
    held_unsynced: list[float]
    unsynced: list[float]
    steps: dict[str, float]


class Times(TypedDict):
    """Seconds of starting one git."""

    sh: list[float]
    plain: list[float]


class SavedTables:
    """Tables of one saved run; ``names`` are those of all, each that of a method as well."""

    names: ClassVar[Mapping[str, str]]

    def __init__(self, saved: Mapping[str, Any]) -> None:
        self._saved = saved

    def part(self, name: str) -> str:
        """One of the tables, by its name."""
        made: str = getattr(self, self.names[name])()
        return made

    def whole(self) -> str:
        """All of them, one after the other."""
        return "\n\n".join(self.part(name) for name in self.names) + "\n"

    def facts(self) -> str:
        """The machine, the date and the rounds."""
        lines = [f"- {name}: {text}" for name, text in self._saved["machine"].items()]
        return "\n".join([*lines, f"- rounds: {self._saved['rounds']}, alternating"])


class ImportTables(SavedTables):
    """Tables of a run of ``bench.imports``."""

    names: ClassVar[Mapping[str, str]] = {
        "importfacts": "facts",
        "importtotals": "totals",
        "importhold": "hold",
        "importsteps": "steps",
        "importspawn": "spawn",
    }

    def __init__(self, saved: Mapping[str, Any]) -> None:
        super().__init__(saved)
        self._sizes: list[Size] = saved["sizes"]

    def totals(self) -> str:
        """Each size: our import beside git fetch."""
        rows = [
            [
                size["name"],
                f"{size['bundle'] / 1e3:,.1f}",
                f"{size['objects']:,}",
                ms(size["ours"]),
                ms(size["fetch"]),
                ratio(size["ours"], size["fetch"]),
                ms(size["unsynced"]),
            ]
            for size in self._sizes
        ]
        head = ["candidate", "KB", "objects", "import, ms", "git fetch, ms", "ratio",
                "import without fsync, ms"]  # fmt: skip
        return table(head, rows)

    def hold(self) -> str:
        """How long L1 was held."""
        rows = [
            [size["name"], f"{size['bundle'] / 1e3:,.1f}", ms(size["held"]),
             ms(size["held_unsynced"])]
            for size in self._sizes
        ]  # fmt: skip
        return table(["candidate", "KB", "L1 held, ms", "without fsync, ms"], rows)

    def steps(self) -> str:
        """Where the time of an import goes."""
        names = list(self._sizes[0]["steps"])
        rows = [
            [name.replace("_", " "), *(f"{size['steps'][name] * 1e3:.2f}" for size in self._sizes)]
            for name in names
        ]
        return table(["step, median ms", *(size["name"] for size in self._sizes)], rows)

    def spawn(self) -> str:
        """What starting one git costs."""
        spawn: Times = self._saved["spawn"]
        rows = [["with sh", ms(spawn["sh"])], ["with subprocess", ms(spawn["plain"])]]
        return table(["git version", "ms"], rows)


PARTS = tuple(ImportTables.names)


def ms(seconds: Sequence[float]) -> str:
    """The median, in milliseconds."""
    return f"{median(seconds) * 1e3:.2f}"


def ratio(ours: Sequence[float], others: Sequence[float]) -> str:
    """The median ratio of runs of the same round, and the extremes."""
    ratios = [a / b for a, b in zip(ours, others, strict=True)]
    return f"{median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in markdown, its numbers to the right."""
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
