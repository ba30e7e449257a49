"""What git is compared with is the same for any number of jobs, and with next to no memory.

The other tests of this folder verify in one process. Here the same packs are verified by two and
four, and what is said of them is all the same; so those tests hold for these as well.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from packparse.codes import RULES
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from tests.differential.hostile import ACCEPTED, BY_ID, REFUSED, WARNED
from tests.support import gitrepo, jobs, packs
from tests.support.gitrepo import git
from tests.support.jobs import told, verified
from tests.support.test_support import LYING

pytestmark = pytest.mark.usefixtures("eager")
together = pytest.mark.parametrize("number", [2, 4], ids="{} jobs".format)
BUDGET = 1_000

WRITERS: dict[str, Callable[[str], bytes]] = {**ACCEPTED, **REFUSED}
WRITERS |= {name: write for name, (_id, write) in {**BY_ID, **WARNED}.items()}


def agree(pack: bytes, fmt: str, number: int, *, chunk: int = jobs.CHUNK) -> None:
    """Check that a pack gets the report, and its objects the ids, that one process gives."""
    for rules in RULES:
        about = {"rules": rules, "object_format": FORMATS[fmt]}
        alone = verified(pack, _options(about), jobs=1, chunk=chunk)
        options = _options({**about, "cache_budget": BUDGET})
        shared = verified(pack, options, jobs=number, chunk=chunk)
        assert told(shared.report) == told(alone.report), rules
        assert shared.table.sorted_ids() == alone.table.sorted_ids(), rules


def _options(about: dict[str, object]) -> Options:
    return Options(limits=Limits("history"), **about)  # type: ignore[arg-type]


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
