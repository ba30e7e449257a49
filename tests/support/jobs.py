"""One pack verified by several processes, in parts so small that every pack has some."""

from __future__ import annotations

import copy
import functools
import json
import marshal
import os
import signal
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any, cast

import pytest

from corpus import build, replay
from packparse import ahead, scan, share
from packparse.forks import Forks
from packparse.formats.json import render
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from packparse.report import Report
from packparse.verify import Verifier
from packparse.workers import Worker, Workers

if TYPE_CHECKING:
    from packparse.workers import Column, Task

# What an eager verifier is fed at a time, and how large its parts are at least.
CHUNK = 64
SMALLEST = 32
_TAKEN = {"seconds", "peak_rss_bytes"}


@contextmanager
def eager(*, quick: bool = True) -> Iterator[None]:
    """Share packs that would not repay it, and look for entries at every byte.

    When ``quick`` the processes are killed at their end, since nothing that they leave is wanted.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead, "REPAYS", SMALLEST)
        patch.setattr(ahead, "_SAMPLE", SMALLEST)
        patch.setattr(ahead, "_FOLLOWING", 1)
        patch.setattr(share, "_REPAYS", 1)
        patch.setattr(scan, "_SHARED", 0)
        patch.setattr(scan, "_FIRST", CHUNK)
        if quick:
            patch.setattr("os._exit", lambda _status: die())
        yield


def die() -> None:
    """End this process with no warning."""
    os.kill(os.getpid(), signal.SIGKILL)


class Copies(Workers):
    """Runs each task at once in this process, on a copy of all that it works on.

    So coverage sees it. ``kept`` gives what is not copied: it holds hashes, which cannot be.
    """

    def __init__(self, jobs: int, kept: Callable[[], list[object]]) -> None:
        self.jobs = jobs
        self._kept = kept

    def start(self, task: Task) -> _Sent:
        assert isinstance(task, partial)
        assert isinstance(task.func, MethodType)
        kept = {id(item): item for item in self._kept()}
        target = copy.deepcopy(task.func.__self__, kept)
        sent = _Sent()
        getattr(target, task.func.__name__)(*task.args, sent.send)
        return sent


class _Sent(Worker):
    """What a task has sent."""

    def __init__(self) -> None:
        self.ended = False
        self._heads: list[object] = []
        self._columns: list[list[bytes]] = []
        self._next: list[bytes] = []

    def send(self, head: object, columns: Sequence[Column]) -> None:
        # As it comes out of a pipe.
        self._heads.append(marshal.loads(marshal.dumps(cast("Any", head))))  # noqa: S302
        self._columns.append([bytes(memoryview(column).cast("B")) for column in columns])

    def head(self) -> Any:  # noqa: ANN401 - as of Worker
        self._next = self._columns.pop(0)
        return self._heads.pop(0)

    def column(self, target: bytearray | array[int]) -> None:
        column = self._next.pop(0)
        if isinstance(target, array):
            target.frombytes(column)
        else:
            target += column

    def end(self) -> None:
        assert not self._heads
        assert not self._next

    def stop(self) -> None:
        self._heads.clear()


def copied(pack: bytes, options: Options | None = None, *, jobs: int) -> Verifier:
    """Return a verifier that is through with a file, all of it in this process."""
    verifier = Verifier(options or Options(), length=len(pack))
    return _through(verifier, pack, Copies(jobs, lambda: _kept(verifier)), CHUNK)


def _kept(verifier: Verifier) -> list[object]:
    return [verifier, verifier._intake.stream]  # noqa: SLF001 - what tasks reach, and never use


def verified(
    pack: bytes, options: Options | None = None, *, jobs: int, chunk: int = CHUNK
) -> Verifier:
    """Return a verifier that is through with a file, with the help of ``jobs - 1`` processes."""
    verifier = Verifier(options or Options(), length=len(pack))
    with Forks(jobs) as workers:
        return _through(verifier, pack, workers if jobs > 1 else None, chunk)


def _through(verifier: Verifier, pack: bytes, workers: Workers | None, chunk: int) -> Verifier:
    def read_at(offset: int, length: int) -> bytes:
        return pack[offset : offset + length]

    if workers is not None:
        verifier.share(workers, read_at)
    for at in range(0, len(pack), chunk):
        verifier.feed(pack[at : at + chunk])
    verifier.finish(read_at)
    return verifier


# --- called aside, in a process that is quickly copied -------------------------------------------


def outcome(
    pack: bytes,
    fmt: str,
    rules: str,
    limits: str,
    *,
    jobs: int,
    chunk: int = CHUNK,
    budget: int | None = None,
) -> tuple[dict[str, Any], list[bytes]]:
    """What is said of a pack, and its ids."""
    options = Options(rules=rules, object_format=FORMATS[fmt], limits=Limits(limits))
    if budget is not None:
        options.cache_budget = budget
    with eager():
        return summary(verified(pack, options, jobs=jobs, chunk=chunk))


def replayed(name: str, jobs: int) -> dict[str, Any]:
    """What the command says of a case of the corpus."""
    with eager():
        return timeless(replay.verify(_rows()[name], jobs=jobs))


@functools.cache
def _rows() -> dict[str, Any]:
    return build.load_index()


# --- what was said ------------------------------------------------------------------------------


def summary(verifier: Verifier) -> tuple[dict[str, Any], list[bytes]]:
    """What is said of a file, and the ids of its objects."""
    return told(verifier.report), list(verifier.table.sorted_ids())


def told(report: Report) -> dict[str, Any]:
    """All that a report says, but for what the run took."""
    return timeless(json.loads(render(report)))


def timeless(said: dict[str, Any]) -> dict[str, Any]:
    """A report in JSON without what the run took."""
    if "stats" in said:
        said["stats"] = {k: v for k, v in said["stats"].items() if k not in _TAKEN}
    return said
