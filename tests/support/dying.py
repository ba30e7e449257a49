"""A process that dies in an import, played in this one: from some point on it changes nothing.

What stands on disk then is what a kill leaves. Locks are released and git ends, as the system does
it for a process that is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from importer.durable import Files
from importer.steps import Step, import_candidate
from importer.world import World
from tests.support.launches import Scene

T = TypeVar("T")


class Died(BaseException):
    """The process is gone."""


class Dying(Files):
    """Files of a process that dies before it links a name with an ending, or just after."""

    def __init__(self, ending: str = "", *, after: bool = False) -> None:
        self._ending = ending
        self._after = after
        self._dead = False

    def die(self) -> None:
        self._dead = True
        raise Died

    def _act(self, operation: str, function: Callable[..., T], *arguments: object) -> T:
        if self._dead:
            raise Died
        return super()._act(operation, function, *arguments)

    def link(self, name: str, new: str, *, at: int, to: int) -> None:
        strikes = bool(self._ending) and new.endswith(self._ending)
        if strikes and not self._after:
            self.die()
        super().link(name, new, at=at, to=to)
        if strikes:
            self.die()


def die_at(scene: Scene, step: Step) -> None:
    """Begin the import of a launch, and die as it comes to a step."""
    files = Dying()
    _die(scene, files, lambda reached: files.die() if reached == step else None)


def die_linking(scene: Scene, ending: str, *, after: bool = False) -> None:
    """Begin the import of a launch, and die as the name with an ending is published."""
    _die(scene, Dying(ending, after=after), lambda _step: None)


def _die(scene: Scene, files: Dying, on_step: Callable[[Step], None]) -> None:
    with pytest.raises(Died), scene.opened(World(files)) as repository:
        import_candidate(repository, scene.record.launch, on_step=on_step)
