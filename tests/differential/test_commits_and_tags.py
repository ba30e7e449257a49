"""Commits and tags one by one: git refuses those that have an error under the rules git, no other.

The objects are those of the tables of the rules and what comes of them by mutation. What they link
to lies in the repository, so that nothing but their grammar is judged.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from packparse.codes import ERROR
from packparse.entry import COMMIT
from packparse.errors import PackError
from packparse.limits import Limits
from packparse.objects import commit, tag
from packparse.oddity import Oddity
from tests.differential.compare import INVALID_TAG, theirs
from tests.packparse import test_commit_oddities as commits
from tests.packparse import test_identity as identities
from tests.packparse import test_tag as tags
from tests.support.gitrepo import git_version, init, install_pack
from tests.support.packs import Handle, PackBuilder, commit_bytes, tag_bytes

LIMITS = Limits("history")
PARENTS = 66
# A line with the id of an object, as the tables make them up.
LINK = re.compile(rb"^(tree|parent|object) ([0-9a-fA-F]{40})$", re.MULTILINE)
TAGGER = re.compile(rb"(?<=\n)tagger [^\n]*\n")

# Before this version git read a date as strtoumax does: with any blanks and a sign before it, and
# zeros behind more than one blank.
STRICT_DATES = (2, 40)
DATES = {"badDate", "zeroPaddedDate"}
# What is found where links are, after which we stop; git may find something else before.
LINKS = {"missingTree", "badTreeSha1", "badParentSha1", "missingObject", "badObjectSha1"}
LINKS |= {"missingTypeEntry", "missingType", "badType"}
# What we may find where git says this of a date, or of a tag that it does not read.
SAME = {
    "badDate": DATES,
    "badDateOverflow": DATES,
    "badTimezone": DATES,
    INVALID_TAG: LINKS | {"missingTagEntry", "missingTag", "tagTooShort"},
}


class World:
    """A repository with a tree and commits, and their ids as hex in a table's order."""

    def __init__(self, path: Path) -> None:
        self.repo = init(path, bare=True)
        pack = PackBuilder()
        self.tree = pack.add("tree", b"")
        self.parents = [_commit(pack, self.tree, number) for number in range(PARENTS)]
        install_pack(self.repo, pack.build())
        self.ids = {handle.oid for handle in (self.tree, *self.parents)}

    def linked(self, data: bytes) -> bytes:
        """``data`` with ids of objects that are there in the place of those made up."""
        return LINK.sub(self._link, data)

    def _link(self, line: re.Match[bytes]) -> bytes:
        name, made_up = line.groups()
        target = self.tree if name == b"tree" else self.parents[int(made_up[:2], 16) % PARENTS]
        real = target.hex.encode()
        return name + b" " + (real if made_up == made_up.lower() else real.upper())

    def closed(self, kind: str, data: bytes) -> bool:
        """Whether the object has no links, or all that it links to is here and of its kind."""
        try:
            if kind == "tag":
                target_kind, oid = tag.link(data, 20)
                return target_kind == COMMIT and oid in {parent.oid for parent in self.parents}
            root, parents = commit.links(data, 20, LIMITS)
        except PackError:
            return True
        packed = [parents[at : at + 20] for at in range(0, len(parents), 20)]
        return root == self.tree.oid and {parent.oid for parent in self.parents} >= {*packed}


def _commit(pack: PackBuilder, tree: Handle, number: int) -> Handle:
    return pack.add("commit", commit_bytes(tree.oid, message=b"%d\n" % number))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


def oddities(kind: str, data: bytes) -> list[Oddity]:
    """What we find. Without links it is one code, for then there is nothing to go on with."""
    try:
        if kind == "tag":
            tag.link(data, 20)
            return tag.oddities(data, 20)
        commit.links(data, 20, LIMITS)
        return commit.oddities(data, 20)
    except PackError as error:
        return [Oddity(error.code, b"", error.message)]


def errors(kind: str, data: bytes) -> set[str]:
    """The names of what the installed git has to refuse."""
    return {
        oddity.code.name
        for oddity in oddities(kind, data)
        if oddity.code.severity("git") == ERROR and _version(oddity.code.since) <= git_version()
    }


def _version(since: str) -> tuple[int, ...]:
    return tuple(map(int, since.split("."))) if since else ()


def forgiven(kind: str, data: bytes, found: set[str]) -> bool:
    """Whether we are stricter than the installed git on purpose."""
    if found <= DATES and git_version() < STRICT_DATES:
        return True
    return kind == "tag" and _overwritten(data)


def _overwritten(data: bytes) -> bool:
    # git forgets what it found in a tagger as soon as a header follows that it does not know.
    tagger = TAGGER.search(data)
    return tagger is not None and data[tagger.end() : tagger.end() + 1] not in {b"", b"\n"}


def difference(world: World, kind: str, data: bytes) -> str | None:
    pack = PackBuilder()
    pack.add(kind, data)
    verdict = theirs(world.repo, pack.build())
    found = errors(kind, data)
    words = f"git says {verdict.stderr!r}, we find {found or 'nothing'}: {data!r}"
    if verdict.accepted:
        return words if found and not forgiven(kind, data, found) else None
    # It gives the first fault, and we have it among all that we find.
    same = all(name in found or found & SAME.get(name, LINKS) for name in verdict.grammar)
    return None if found and same else words


def differences(world: World, kind: str, table: Mapping[str, bytes]) -> dict[str, str]:
    """The objects of a table on which the verdicts differ, each with what differs."""
    objects = {name: world.linked(data) for name, data in table.items()}
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda data: difference(world, kind, data), objects.values())
        return {name: what for name, what in zip(objects, found, strict=True) if what}


def test_the_commits_of_the_tables(world: World) -> None:
    table = commits.HONEST | {name: row[0] for name, row in (commits.GIT | commits.OURS).items()}
    assert differences(world, "commit", table) == {}


def test_the_tags_of_the_tables(world: World) -> None:
    table = tags.HONEST | {name: row[0] for name, row in tags.FOUND.items()}
    assert differences(world, "tag", table) == {}


WHERE: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "author": ("commit", lambda line: commits.made(author=line)),
    "committer": ("commit", lambda line: commits.made(committer=line)),
    "tagger": ("tag", lambda line: tags.made(tagger=line)),
}


@pytest.mark.parametrize("who", WHERE)
def test_the_identities_of_the_tables(world: World, who: str) -> None:
    kind, made = WHERE[who]
    lines = [*identities.HONEST.values(), *(line for _, line in identities.LINES)]
    assert differences(world, kind, {repr(line[:50]): made(line) for line in lines}) == {}


NAMES = [b"", b".", b"..", b"a.", b".a", b"a/.b", b"a//b", b"a/", b"/a", b"a.lock", b"a.lock/b"]
NAMES += [b"a b", b"a~", b"a^", b"a:b", b"a?", b"a*", b"a[", b"a\\b", b"a@{b", b"@", b"@{", b"a@"]
NAMES += [b"a\tb", b"a\x7f", b"\x01", b"\xff", b"HEAD", b"-a", b"--", b"a..b", b"\xc3\xa9", b"a{"]


def test_the_names_of_tags(world: World) -> None:
    # Under --strict a bad name is a warning; its id is in what git says.
    for name in NAMES:
        pack = PackBuilder()
        data = tag_bytes(world.parents[0].oid, name=name)
        pack.add("tag", data)
        verdict = theirs(world.repo, pack.build())
        ours = "badTagName" in {oddity.code.name for oddity in tag.oddities(data, 20)}
        assert (b"badTagName" in verdict.stderr) == ours, name


def mutations(world: World, kind: str, seed: int, count: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    bases = [*tags.HONEST.values()] if kind == "tag" else [*commits.HONEST.values()]
    while count:
        data = world.linked(rng.choice(bases))
        for _ in range(rng.randint(1, 2)):
            data = commits.mutated(data, rng) or b"\n"
        if world.closed(kind, data):
            count -= 1
            yield data


@pytest.mark.parametrize("kind", ["commit", "tag"])
@pytest.mark.parametrize("seed", range(3))
def test_mutations(world: World, kind: str, seed: int) -> None:
    table = {str(number): data for number, data in enumerate(mutations(world, kind, seed, 250))}
    assert differences(world, kind, table) == {}
    # Both verdicts came up.
    refused = sum(bool(errors(kind, world.linked(data))) for data in table.values())
    assert 40 < refused < 240


PIECES = [b"A", b" ", b"<", b">", b"a@x", b"1700000000", b"0", b"+0000", b"-0130", b"\t", b"\r"]
PIECES += [b"\v", b"9223372036854775807", b"9223372036854775808", b"-1", b"+1", b"99", b"\xff"]


@pytest.mark.parametrize("who", WHERE)
def test_identities_in_pieces(world: World, who: str) -> None:
    kind, made = WHERE[who]
    rng = random.Random(who)
    honest = [b"A", b" ", b"<", b"a@x", b">", b" ", b"1700000000", b" ", b"+0000"]
    table = {}
    for _ in range(80):
        line = list(honest)
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(line))
            line[at : at + rng.randrange(2)] = rng.choices(PIECES, k=rng.randrange(3))
            line = line or [b" "]
        table[repr(line)] = made(b"".join(line))
    assert differences(world, kind, table) == {}


@pytest.mark.parametrize(("name", "size"), [(b"", 63), (b"a", 64)])
def test_git_reads_no_tag_under_64_bytes(world: World, name: bytes, size: int) -> None:
    data = tag_bytes(world.tree.oid, b"tree", name, tagger=None, message=b"", separator=b"")
    assert len(data) == size
    assert difference(world, "tag", data) is None
    assert bool(errors("tag", data)) == (size < 64)


def test_git_forgets_a_bad_tagger_when_an_unknown_header_follows(world: World) -> None:
    data = world.linked(tags.made(b"x y\n", tagger=b"A"))
    pack = PackBuilder()
    pack.add("tag", data)
    verdict = theirs(world.repo, pack.build())
    assert verdict.accepted
    assert verdict.grammar == ["missingEmail"]
    assert errors("tag", data) == {"missingEmail"}


LENIENT = {
    "a sign": b"A <a@x> +1700000000 +0000",
    "a minus sign": b"A <a@x> -18446744073709551615 +0000",
    "a vertical tab": b"A <a@x> \v1700000000 +0000",
    "zeros behind two spaces": b"A <a@x>  01700000000 +0000",
}


@pytest.mark.parametrize("name", LENIENT)
def test_dates_that_git_no_longer_reads(world: World, name: str) -> None:
    if git_version() >= STRICT_DATES:
        pytest.skip("this git is as strict as we are")
    data = world.linked(commits.made(author=LENIENT[name]))
    pack = PackBuilder()
    pack.add("commit", data)
    assert theirs(world.repo, pack.build()).accepted
    assert errors("commit", data) <= DATES
