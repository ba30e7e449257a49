"""``python -m bench.launches``: writing a tree and launching, beside git, in one run.

Each round writes the tree of one commit three times: by ``candidate/tree.py``, by ``git worktree
add`` and by ``git archive | tar``; who comes first changes with every round. Then it launches: that
writes the tree twice and packs the seed, with everything made durable. Give ``--folder`` to measure
on another file system.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from bench import alone, git, machine
from bench.launchtables import LaunchTables, Tree
from candidate import tree
from candidate.launch import Order, launch
from importer.launches import discard
from importer.repository import Repository
from importer.state import State
from manifest.launch import PolicyText
from packparse.limits import Limits


@dataclass(frozen=True)
class Shape:
    """A tree: so many files, of so many bytes at most."""

    name: str
    files: int
    bytes: int


SHAPES = (
    Shape("small", 50, 4_000),
    Shape("many files", 10_000, 8_000),
    Shape("large files", 20, 4 << 20),
)


class Saved(TypedDict):
    """What the file of a run holds."""

    schema: str
    machine: dict[str, str]
    rounds: int
    trees: list[Tree]


def measure(rounds: int, folder: Path, say: Callable[[str], None]) -> Saved:
    """Run all rounds of all shapes."""
    return Saved(
        schema="packcheck.bench-launch/1",
        machine={k: v for k, v in machine.describe().items() if k != "dulwich"},
        rounds=rounds,
        trees=[_of_shape(shape, rounds, folder / shape.name, say) for shape in SHAPES],
    )


@dataclass
class _Bench:
    """A host with one commit, open, and the times of each way to write its tree."""

    folder: Path
    repository: Repository
    env: dict[str, str]
    base: str
    root: str
    times: dict[str, list[float]] = field(default_factory=dict)

    def round(self, number: int) -> None:
        """Write the tree in each way, beginning with another one each time."""
        ways = [self._ours, self._worktree, self._archive]
        for way in (*ways[number % 3 :], *ways[: number % 3]):
            self._timed(way)
        self._timed(self._launch)

    def _timed(self, way: Callable[[Path], None]) -> None:
        place = self.folder / "place"
        began = time.perf_counter()
        way(place)
        self.times.setdefault(way.__name__.strip("_"), []).append(time.perf_counter() - began)
        if place.exists():
            shutil.rmtree(place)
        git.output(["-C", str(self.folder / "host"), "worktree", "prune"], self.env)

    def _ours(self, place: Path) -> None:
        reader, made = self.repository.reader, self.repository.object_format
        wanted = tree.plan(reader, made, bytes.fromhex(self.root), Limits())
        place.mkdir()
        opened = os.open(place, os.O_RDONLY)
        try:
            places = [tree.Place(opened, sealed=False)]
            tree.write(self.repository.world.files, reader, wanted, places)
        finally:
            os.close(opened)

    def _worktree(self, place: Path) -> None:
        at = ["-C", str(self.folder / "host")]
        git.output([*at, "worktree", "add", "-q", "--detach", str(place), self.base], self.env)

    def _archive(self, place: Path) -> None:
        place.mkdir()
        with subprocess.Popen(
            ["git", "-C", str(self.folder / "host"), "archive", self.base],
            env=self.env, stdout=subprocess.PIPE,
        ) as archive:  # fmt: skip
            subprocess.run(["tar", "-x", "-C", str(place)], stdin=archive.stdout, check=True)

    def _launch(self, place: Path) -> None:
        order = Order(self.base, PolicyText("candidate"), {}, "bench", "bench", "bench", "bench")
        record = launch(self.repository, f"{place}-launch", order)
        self._made = record.launch

    def sweep(self) -> None:
        """Remove the launch of a round; that is not timed."""
        discard(self.repository, self._made)


def _of_shape(shape: Shape, rounds: int, folder: Path, say: Callable[[str], None]) -> Tree:
    folder.mkdir()
    env = git.clean_environment(folder)
    host = folder / "host"
    git.init_bare(host, env)
    git.fast_import(host, _stream(shape), env)
    git.output(["-C", str(host), "repack", "-adq"], env)
    base = git.output(["-C", str(host), "rev-parse", "refs/heads/main"], env)
    root = git.output(["-C", str(host), "rev-parse", f"{base}^{{tree}}"], env)
    say(f"made {shape.name}: {shape.files} files")
    with State(str(folder / "state")) as state, Repository(str(host), state) as repository:
        bench = _Bench(folder, repository, env, base, root)
        for number in range(rounds + 1):
            bench.round(number)
            bench.sweep()
    # The first round warms everything up.
    times = {name: all_times[1:] for name, all_times in bench.times.items()}
    return Tree(name=shape.name, files=shape.files, times=times)


def _stream(shape: Shape) -> Iterator[bytes]:
    rng = random.Random(shape.name)
    yield b"commit refs/heads/main\ncommitter Bench <bench@example.invalid> 1 +0000\ndata 1\nx\n"
    for number in range(shape.files):
        data = rng.randbytes(rng.randrange(shape.bytes // 2)).hex().encode()
        path = b"dir%d/sub%d/file%d.txt" % (number % 50, number % 7, number)
        yield b"M 100644 inline %b\ndata %d\n%b\n" % (path, len(data), data)


if __name__ == "__main__":
    sys.exit(alone.run("bench.launches", __doc__, 9, measure, LaunchTables))
