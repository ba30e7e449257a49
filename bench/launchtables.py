"""The tables of ``bench.launches``, as markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypedDict

from bench.importtables import SavedTables, ms, ratio, table

__all__ = ["PARTS", "LaunchTables", "Tree"]


class Tree(TypedDict):
    """What was measured of one tree: seconds of each way to write it, one for each round."""

    name: str
    files: int
    times: dict[str, list[float]]


class LaunchTables(SavedTables):
    """Tables of a run of ``bench.launches``."""

    names: ClassVar[Mapping[str, str]] = {"launchfacts": "facts", "launchtrees": "trees"}

    def trees(self) -> str:
        """Each tree: ours beside git, and a whole launch."""
        rows = []
        trees: list[Tree] = self._saved["trees"]
        for made in trees:
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


PARTS = tuple(LaunchTables.names)
