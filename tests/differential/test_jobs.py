"""What git is compared with is the same for any number of jobs, and with next to no memory.

The other tests of this folder verify in one process. Here the same packs are verified by two and
four, and what is said of them is all the same; so those tests hold for these as well.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from packparse.codes import RULES
from packparse.objectformat import FORMATS
from tests.differential.hostile import ACCEPTED, BY_ID, REFUSED, WARNED
from tests.support import gitrepo, jobs, packs
from tests.support.aside import aside
from tests.support.gitrepo import git
from tests.support.test_support import LYING

together = pytest.mark.parametrize("number", [2, 4], ids="{} jobs".format)
BUDGET = 1_000

WRITERS: dict[str, Callable[[str], bytes]] = {**ACCEPTED, **REFUSED}
WRITERS |= {name: write for name, (_id, write) in {**BY_ID, **WARNED}.items()}


def agree(pack: bytes, fmt: str, number: int, *, chunk: int = jobs.CHUNK) -> None:
    """Check that a pack gets the report, and its objects the ids, that one process gives."""
    for rules in RULES:
        about = (pack, fmt, rules, "history")
        shared = aside(jobs.outcome, *about, jobs=number, chunk=chunk, budget=BUDGET)
        assert shared == alone(pack, fmt, rules, chunk), rules


@functools.lru_cache(len(RULES))
def alone(pack: bytes, fmt: str, rules: str, chunk: int) -> tuple[dict[str, Any], list[bytes]]:
    return aside(jobs.outcome, pack, fmt, rules, "history", jobs=1, chunk=chunk)


@together
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", WRITERS)
def test_packs_made_by_hand(name: str, fmt: str, number: int) -> None:
    agree(WRITERS[name](fmt), fmt, number)


@together
@pytest.mark.parametrize("name", LYING)
def test_the_lies_of_the_writers(name: str, number: int) -> None:
    agree(LYING[name], "sha1", number)


@together
@pytest.mark.parametrize("seed", range(40))
def test_packs_with_a_flipped_bit(seed: int, number: int) -> None:
    rng = random.Random(seed)
    pack = packs.small_honest_pack()
    broken = packs.flip(pack, rng.randrange(len(pack) - 20), 1 << rng.randrange(8))
    agree(packs.reseal(broken), "sha1", number)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repo = gitrepo.init(tmp_path_factory.mktemp("history") / "repo", bare=True)
    gitrepo.make_history(repo, commits=150, files=15, seed=11)
    return repo


@together
@pytest.mark.parametrize("way", ["--delta-base-offset", "--depth=4", "--window=0"])
def test_packs_that_git_writes(history: Path, way: str, number: int) -> None:
    command = ("pack-objects", "--revs", "--all", "--stdout", "-q", "--threads=1")
    pack = git(history, *command, "--no-reuse-delta", way).stdout
    agree(pack, "sha1", number, chunk=4_096)
