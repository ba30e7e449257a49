"""Worlds for tests of the importer: a clock that is turned by hand, files that tell and fail."""

from __future__ import annotations

import errno
import inspect
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from importer.durable import Files
from importer.world import World

T = TypeVar("T")


class Clock:
    """Time that passes when somebody sleeps, and else by ``step`` at every look."""

    def __init__(self, at: float = 1_000.0, step: float = 0.0) -> None:
        self.at = at
        self.step = step
        self.slept: list[float] = []
        self.on_sleep: Callable[[], object] = lambda: None

    def look(self) -> float:
        self.at += self.step
        return self.at

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds
        self.on_sleep()

    def world(self, files: Files | None = None) -> World:
        return World(files, now=self.look, tick=self.look, sleep=self.sleep)


class Telling(Files):
    """Files that note every change as `operation name`, and fail in the place of some of them.

    `operation name#2` in `failing` is the second one that was noted.
    """

    def __init__(self, failing: Iterable[str] = (), *, number: int = errno.ENOSPC) -> None:
        self.seen: list[str] = []
        self.failing = set(failing)
        self.number = number

    def _act(self, operation: str, function: Callable[..., T], *arguments: object) -> T:
        told = f"{operation} {_target(function, arguments)}"
        self.seen.append(told)
        if self.failing & {told, f"{told}#{self.seen.count(told)}"}:
            raise OSError(self.number, os.strerror(self.number))
        return super()._act(operation, function, *arguments)


def _target(function: Callable[..., object], arguments: tuple[object, ...]) -> str:
    """What an operation is about: the names that it gives, or that of its open file."""
    if arguments:
        return Path(f"/proc/self/fd/{arguments[0]}").readlink().name.removesuffix(" (deleted)")
    given = inspect.getclosurevars(function).nonlocals
    return " ".join(str(given[part]) for part in ("name", "new") if part in given)
