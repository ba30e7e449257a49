"""``python -m bench.imports``: an import beside ``git fetch`` of the same bundle, in one run.

Every round has bundles of its own, made before anything is timed. git fetches into a twin of the
host with ``transfer.fsckObjects``; ours imports in this process, which has imported before, as a
controller does. Who comes first changes with every round. A further run of each size leaves out
every fsync, and shows what L1 is held for apart from the disk.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypedDict

import sh

from bench import alone, git, machine
from bench.importtables import ImportTables, Size, Times
from importer.durable import Files
from importer.steps import ImportResult, import_candidate
from importer.world import World
from tests.support.launches import Host, Scene, launch, make_host

_FETCH = ["-c", "transfer.fsckObjects=true", "fetch", "--quiet"]


@dataclass(frozen=True)
class Shape:
    """What one candidate holds: so many commits, each of so many files of so many bytes."""

    name: str
    commits: int
    files: int
    bytes: int


SHAPES = (
    Shape("small", 2, 2, 400),
    Shape("medium", 100, 5, 4_000),
    Shape("large", 4, 4, 1 << 20),
)


class Quiet(Files):
    """Files that are written, and never made durable."""

    def sync(self, descriptor: int) -> None:
        del descriptor


class Saved(TypedDict):
    """What the file of a run holds."""

    schema: str
    machine: dict[str, str]
    rounds: int
    sizes: list[Size]
    spawn: Times


def measure(rounds: int, folder: Path, say: Callable[[str], None]) -> Saved:
    """Run all rounds of all sizes."""
    facts = machine.describe() | {"sh": sh.__version__}
    sizes = [_of_size(shape, rounds, folder / shape.name, say) for shape in SHAPES]
    return Saved(
        schema="packcheck.bench-import/1",
        machine={name: text for name, text in facts.items() if name != "dulwich"},
        rounds=rounds,
        sizes=sizes,
        spawn=_spawn(rounds),
    )


def _of_size(shape: Shape, rounds: int, folder: Path, say: Callable[[str], None]) -> Size:
    folder.mkdir()
    host = make_host(folder)
    twin = folder / "twin"
    env = git.clean_environment(folder)
    git.output(["clone", "--quiet", "--bare", str(host.repo), str(twin)], env)
    scenes = [_scene(host, shape, number, folder) for number in range(2 * rounds + 2)]
    say(f"made {shape.name}: {scenes[0].bundle.stat().st_size} bytes each")
    ours: list[ImportResult] = []
    walls: list[float] = []
    fetches: list[float] = []
    with scenes[0].scene.opened() as repository:
        import_candidate(repository, scenes[0].launch)
        _fetch(twin, scenes[0].bundle, env)
        for number, made in enumerate(scenes[1 : rounds + 1]):
            for ours_now in (number % 2 == 0, number % 2 == 1):
                if ours_now:
                    began = time.perf_counter()
                    ours.append(import_candidate(repository, made.launch))
                    walls.append(time.perf_counter() - began)
                else:
                    fetches.append(_timed(partial(_fetch, twin, made.bundle, env)))
    quiet = scenes[rounds + 1 :]
    with quiet[0].scene.opened(World(Quiet())) as repository:
        unsynced = [import_candidate(repository, made.launch) for made in quiet][1:]
    return Size(
        name=shape.name,
        bundle=scenes[0].bundle.stat().st_size,
        objects=ours[0].receipt.objects.count,
        ours=walls,
        fetch=fetches,
        held=[result.held for result in ours],
        held_unsynced=[result.held for result in unsynced],
        unsynced=[sum(result.seconds.values()) for result in unsynced],
        steps={
            step.name.lower(): median(result.seconds[step] for result in ours)
            for step in ours[0].seconds
        },
    )


@dataclass(frozen=True)
class Made:
    """A launch with what its producer handed back."""

    scene: Scene
    launch: str
    bundle: Path


def _scene(host: Host, shape: Shape, number: int, folder: Path) -> Made:
    rng = random.Random(f"{shape.name} {number}")
    host.commits.clear()
    for commit in range(shape.commits):
        names = [f"dir{file % 5}/made{(commit + file) % 40}.txt" for file in range(shape.files)]
        host.commit({name: rng.randbytes(shape.bytes // 2).hex().encode() for name in names})
    scene = launch(host, folder, name=f"{number:032x}")
    scene.offer()
    return Made(scene, scene.record.launch, scene.export / scene.record.artifact)


def _fetch(twin: Path, bundle: Path, env: dict[str, str]) -> None:
    command = ["git", "-C", str(twin), *_FETCH, str(bundle), "refs/heads/candidate"]
    subprocess.run(command, env=env, check=True)


def _timed(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def _spawn(rounds: int) -> Times:
    """What starting one git costs, with ``sh`` and without."""
    command = sh.Command("git")
    with tempfile.TemporaryFile() as out:

        def run_with_sh() -> sh.RunningCommand:
            return command(
                "version", _out=out, _tty_in=False, _tty_out=False, _bg=True, _bg_exc=False
            ).wait()

        def run_plainly() -> None:
            subprocess.run(["git", "version"], stdout=out, check=True)

        return Times(
            sh=[_timed(run_with_sh) for _ in range(rounds)],
            plain=[_timed(run_plainly) for _ in range(rounds)],
        )


if __name__ == "__main__":
    sys.exit(alone.run("bench.imports", __doc__, 15, measure, ImportTables))
