"""The tables of ``bench.launches``, as markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from bench.importtables import facts, ms, ratio, table

__all__ = ["PARTS", "LaunchTables", "Tree"]


class Tree(TypedDict):
    """What was measured of one tree: seconds of each way to write it, one for each round."""

    name: str
    files: int
    times: dict[str, list[float]]


class LaunchTables:
    """Tables of one saved run."""

    def __init__(self, saved: Mapping[str, Any]) -> None:
        self._saved = saved
        self._trees: list[Tree] = saved["trees"]

    def part(self, name: str) -> str:
        """One of the tables, by its name."""
        return PARTS[name](self)

    def whole(self) -> str:
        """All of them, one after the other."""
        return "\n\n".join(self.part(name) for name in PARTS) + "\n"

    def facts(self) -> str:
        """The machine, the date and the rounds."""
        return facts(self._saved)

    def trees(self) -> str:
        """Each tree: ours beside git, and a whole launch."""
        rows = []
        for made in self._trees:
            times = made["times"]
            rows.append(
                [
                    made["name"],
                    f"{made['files']:,}",
                    *(ms(times[way]) for way in ("ours", "worktree", "archive")),
                    ratio(times["ours"], times["worktree"]),
                    ratio(times["ours"], times["archive"]),
                    ms(times["launch"]),
                ]
            )
        head = ["tree", "files", "ours, ms", "git worktree add, ms", "git archive, tar, ms",
                "beside worktree", "beside archive", "a whole launch, ms"]  # fmt: skip
        return table(head, rows)


PARTS: dict[str, Callable[[LaunchTables], str]] = {
    "launchfacts": LaunchTables.facts,
    "launchtrees": LaunchTables.trees,
}
