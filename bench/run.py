"""Rounds: which contender runs when, on one input after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import results
from bench.contenders import (
    Beside,
    Contender,
    Dulwich,
    IndexPack,
    NotReadyError,
    Packcheck,
    Strictness,
)
from bench.fsck import Fsck
from bench.inputs import Input
from bench.place import End, Place
from bench.results import LABELS, About, Outcome, Row

Say = Callable[[str], None]

# Old public histories have oddities that only the policy for them lets pass.
_MIRROR = ("--policy", "mirror")
_GIT_RULES = (*_MIRROR, "--rules", "git")


@dataclass(frozen=True)
class Plan:
    """Who runs, and how often; the commands are those of packcheck and of another version.

    ``larger`` are the contenders for shapes that are larger than small, where these are fewer.
    """

    packcheck: list[str]
    contenders: Sequence[str]
    rounds: int
    beside: list[str] | None = None
    larger: Sequence[str] | None = None

    def names(self, about: About) -> list[str]:
        """The contenders for an input, in the order in which they run."""
        wanted = {*self.contenders}
        if self.larger is not None and about.scale not in {None, "small"}:
            wanted = {*self.larger}
        if self.beside:
            wanted.add(results.BESIDE)
        return [name for name in LABELS if name in wanted]


class Bench:
    """Runs every contender on one input after the other inside ``folder``."""

    def __init__(self, folder: Path, plan: Plan, say: Say) -> None:
        self._place = Place(folder)
        self._plan = plan
        self._say = say

    def compare(self, item: Input) -> Row:
        """One untimed round to warm up and to find failures, then the timed rounds."""
        strictness = Strictness()
        made = self._contenders(item, strictness)
        contenders = {name: made[name] for name in self._plan.names(item.about)}
        outcomes: dict[str, Outcome] = {}
        for name, contender in contenders.items():
            self._say(f"{item.about.title}: {LABELS[name]}, warming up")
            outcomes[name] = self._warm_up(contender)
        for number in range(self._plan.rounds):
            self._say(f"{item.about.title}: round {number + 1} of {self._plan.rounds}")
            for name in order(list(contenders), number):
                self._timed(contenders[name], outcomes[name])
        return Row(item.about, outcomes, relaxed=strictness.relaxed)

    def _contenders(self, item: Input, strictness: Strictness) -> dict[str, Contender]:
        place, command = self._place, self._plan.packcheck
        return {
            results.PACKCHECK_ONE: Packcheck(place, item, command, 1, *_MIRROR),
            results.PACKCHECK_TWO: Packcheck(place, item, command, 2, *_MIRROR),
            results.PACKCHECK_GIT: Packcheck(place, item, command, 1, *_GIT_RULES),
            results.GIT_ONE: IndexPack(place, item, 1, strictness),
            results.GIT_TWO: IndexPack(place, item, 2, strictness),
            results.FSCK: Fsck(place, item),
            results.DULWICH: Dulwich(place, item),
            results.BESIDE: Beside(place, item, self._plan.beside or []),
        }

    def _warm_up(self, contender: Contender) -> Outcome:
        try:
            contender.prepare()
        except NotReadyError as error:
            return Outcome(failure=str(error))
        end, together = self._untimed(contender)
        failure = contender.failure(end)
        if failure and contender.again(end):
            end, together = self._untimed(contender)
            failure = contender.failure(end)
        return Outcome(failure=failure, together_kib=together)

    def _untimed(self, contender: Contender) -> tuple[End, int]:
        try:
            if contender.processes > 1:
                return self._place.sample(contender.call())
            return self._place.measure(contender.call())[1], 0
        finally:
            contender.clear()

    def _timed(self, contender: Contender, outcome: Outcome) -> None:
        if outcome.failure is not None:
            return
        try:
            run, end = self._place.measure(contender.call())
            outcome.failure = contender.failure(end)
            outcome.runs.append(run)
        finally:
            contender.clear()


def order(names: list[str], number: int) -> list[str]:
    """Who runs when in a round: each in turn is the first, and every second round is reversed.

    So none always follows the same other one, and neighbours stay neighbours.
    """
    turn = number % len(names)
    turned = names[turn:] + names[:turn]
    return turned[::-1] if number % 2 else turned
