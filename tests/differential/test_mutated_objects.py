"""Thousands of objects changed at random: whole packs with them get git's verdict.

Only the grammar is changed: every id stands for an object that is there and of the right kind.
What we accept is put together by the dozen, since git has to accept all of it. Of what we refuse,
git is asked one by one, but for files such as .gitmodules: these it looks into at the end, and goes
on after a fault. All is made from fixed seeds.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from packparse.checks import CATALOG
from packparse.codes import ERROR, WARNING
from packparse.objectformat import FORMATS
from tests.differential.compare import difference, is_known_to, ours, theirs
from tests.differential.test_mutations import as_delta
from tests.support import packs
from tests.support.gitrepo import git_version
from tests.support.packs import Handle, PackBuilder, commit_bytes, tag_bytes, tree_bytes
from tests.support.submodules import of

PARTS = 6
# Of each kind and in each part.
COUNTS = {"tree": 220, "commit": 160, "tag": 120}
FILES = 200
TOGETHER = 40

# Since then fsck takes URLs of curl's transports only where they can be normalized.
NORMALIZED_SINCE = (2, 44)

FILE, LINK, FOLDER, SUBMODULE = b"100644", b"120000", b"40000", b"160000"
Entry = tuple[bytes, bytes, bytes]


class World:
    """What the changed objects link to, and the tree and texts that they are made from."""

    def __init__(self, fmt: str) -> None:
        self.fmt = fmt
        self.pack = PackBuilder(fmt)
        self.blobs = [self.pack.add("blob", b"# %d\n" % n).oid for n in range(3)]
        self.inner = self._tree([(FILE, b"x", self.blobs[0])]).oid
        self.elsewhere = b"\x11" * packs.oid_length(fmt)
        self.entries = self._entries()
        self.base = self._tree(self.entries)
        self.commits = [
            self.pack.add("commit", commit_bytes(self.inner, message=b"%d\n" % n)).oid
            for n in range(2)
        ]

    def _entries(self) -> list[Entry]:
        """Enough of them that a tree which is made from this one is worth patching."""
        modes = [FILE] * 5 + [FOLDER, LINK, b"100755", SUBMODULE]
        names = [b"%s%02d.txt" % (letter, n) for letter in (b"a", b"m", b"q") for n in range(15)]
        listed = [(modes[n % len(modes)], name) for n, name in enumerate(names)]
        listed += [(FILE, b".gitignore"), (FILE, b"a"), (FOLDER, b"b"), (FOLDER, b"d-1")]
        entries = [(mode, name, self.target(mode, n)) for n, (mode, name) in enumerate(listed)]
        return sorted(entries, key=lambda entry: entry[1] + b"/" * (entry[0] == FOLDER))

    def _tree(self, entries: list[Entry]) -> Handle:
        return self.pack.add("tree", tree_bytes(entries, ordered=False))

    def target(self, mode: bytes, number: int) -> bytes:
        """An id that an entry of this mode may have, as git reads modes."""
        kind = int(mode, 8) & 0o170000 if re.fullmatch(rb"[0-7]+", mode) else 0o100000
        if kind in {0o100000, 0o120000}:
            return self.blobs[number % len(self.blobs)]
        return self.inner if kind == 0o040000 else self.elsewhere


WORLDS = {fmt: World(fmt) for fmt in FORMATS}


@dataclass(frozen=True)
class Made:
    """An object, and how it is written: as a delta of the world's tree, or as a whole."""

    kind: str
    content: bytes
    delta: bytes | None = None


def pack_of(fmt: str, objects: Iterable[Made]) -> bytes:
    """Write objects behind what they link to."""
    world = World(fmt)
    for made in objects:
        if made.delta is None:
            world.pack.add(made.kind, made.content)
        else:
            world.pack.add_ofs(world.base, made.delta, made.content)
    return world.pack.build()


# --- trees --------------------------------------------------------------------------------------

MODES = [FILE, b"100755", LINK, FOLDER, SUBMODULE, b"100664", b"100600", b"0100644", b"040000"]
MODES += [
    b"644",
    b"0",
    b"777777",
    b"1100644",
    b"10100644",
    b"120777",
    b"40755",
    b"37777777777100644",
]
MODES += [b"000000000160000", b"60000", b"100000", b"10064", b"140000", b"170000"]
BAD_MODES = [b"", b" 100644", b"+100644", b"100648", b"0x8", b"-1", b"100644\t"]
NAMES = [b"a", b"a.", b"a-", b"a0", b"b", b"b.c", b"b-c", b"b0", b".", b"..", b"...", b"a/b", b"/"]
NAMES += [
    b".git",
    b".GIT",
    b"git~1",
    b"git~2",
    b".git ",
    b".git.",
    b".git::$DATA",
    b".gitx",
    b"x.git",
]
NAMES += [
    b"a\\.git",
    b"a\\.gitx",
    b".g\xe2\x80\x8cit",
    b".g\xe2\x80\x80it",
    b"\xef\xbb\xbf.git",
    b"\xff",
]
NAMES += [
    b".gitmodules",
    b"gitmod~1",
    b"a\\.gitmodules",
    b".gitattributes",
    b"gi7d29~1",
    b".mailmap",
]
NAMES += [b".gitignore", b".gitmodules.", b"CON", b"-rf", b"A", b"n" * 4_096, b" ", b"\n", b"a\tb"]
NAMES += [
    b"HEAD",
    b"objects",
    b"refs",
    b"q14.txt",
    b"q14.txt.d",
    b"q14.txt-",
    b"m\xcc\x81",
    b"m\xc3\xa9",
]


def changed_entries(rng: random.Random, world: World, entries: list[Entry]) -> list[Entry]:
    """Return the entries with one change to order, modes or names."""
    listed = list(entries)
    at = rng.randrange(len(listed))
    mode, name, oid = listed[at]
    what = rng.randrange(9)
    if what == 0:
        other = rng.choice((at - 1, rng.randrange(len(listed))))
        listed[at], listed[other] = listed[other], listed[at]
    elif what in {1, 2}:
        mode = rng.choice(MODES)
        listed[at] = mode, name, world.target(mode, at)
    elif what in {3, 4}:
        listed[at] = mode, rng.choice(NAMES), oid
    elif what == 5:
        mode = rng.choice(MODES)
        listed.insert(at, (mode, rng.choice(NAMES), world.target(mode, at)))
    elif what == 6:
        listed.insert(rng.choice((at, rng.randrange(len(listed)))), listed[at])
    elif what == 7:
        listed[at] = mode, _one_byte(rng, name), oid
    elif rng.random() < 0.3:
        listed[at] = rng.choice(BAD_MODES), name, oid
    else:
        del listed[at]
    return listed


def _one_byte(rng: random.Random, name: bytes) -> bytes:
    at = rng.randrange(len(name))
    byte = rng.choice((name[at] ^ 1 << rng.randrange(8), *b"/.\\~ -:\xff")) or 1
    return name[:at] + bytes([byte]) + name[at + 1 :]


def trees(rng: random.Random, world: World) -> Iterator[Made]:
    while True:
        small = rng.random() < 0.3
        entries = rng.sample(world.entries, 6) if small else world.entries
        entries = sorted(entries, key=world.entries.index)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            entries = changed_entries(rng, world, entries)
            if rng.random() < 0.6:
                # Otherwise nearly all would be refused for their order alone.
                key = [
                    (name + b"/" * (mode in {FOLDER, b"040000"}), mode, name, oid)
                    for mode, name, oid in entries
                ]
                entries = [entry[1:] for entry in sorted(key)]
        content = tree_bytes(entries, ordered=False)
        as_whole = small or rng.random() < 0.2
        yield Made("tree", content, None if as_whole else as_delta(rng, world.base.data, content))


# --- commits and tags ---------------------------------------------------------------------------

ID_LINE = re.compile(rb"(?:tree|parent|object) [0-9a-f]{40,64}")
IDENTITY = re.compile(rb"(author|committer|tagger) ([^\n]*)")
PIECES = [b"A", b" ", b"  ", b"<", b">", b"a@x", b"1700000000", b"0", b"00", b"+0000", b"-0130"]
PIECES += [b"\t", b"\r", b"\0", b"\x1b", b"\xff", b"9223372036854775807", b"9223372036854775808"]
PIECES += [b"18446744073709551616", b"-1", b"+1", b"99999", b"+00000", b"+000", b"0000", b"1.5"]
LINES = [
    b"x y",
    b"x",
    b" continued",
    b"",
    b"\0",
    b"author",
    b"encoding UTF-8",
    b"gpgsig -----BEGIN",
]
LINES += [b"mergetag object 1", b"tagger A <a@x> 1 +0000", b"author A <a@x> 1 +0000", b"tag v2"]
LINES += [
    b"committer A <a@x> 1 +0000",
    b"Author A <a@x> 1 +0000",
    b"gpgsig-sha256 x",
    b"type commit",
]
TAG_NAMES = [b"", b"a b", b"a..b", b"-v", b".", b"a.lock", b"@", b"\xff", b"v\x7f", b"a/b", b"HEAD"]


def changed_text(rng: random.Random, content: bytes) -> bytes:
    """Return a commit or tag with one change outside of its ids."""
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    what = rng.randrange(9)
    if what == 0:
        del lines[at]
    elif what == 1:
        lines.insert(rng.randrange(len(lines) + 1), lines[at])
    elif what == 2:
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif what == 3:
        lines.insert(at, rng.choice(LINES))
    elif what == 4:
        return content[: rng.choice((-1, -2, content.index(b"\n\n"), content.index(b"\n\n") + 1))]
    elif what in {5, 6}:
        return IDENTITY.sub(lambda line: line[1] + b" " + _identity(rng, line[2]), content, count=1)
    elif what == 7:
        return re.sub(rb"(?m)^tag .*", b"tag " + rng.choice(TAG_NAMES), content, count=1)
    elif lines[at] and not ID_LINE.fullmatch(lines[at]):
        lines[at] = _one_byte(rng, lines[at])
    return b"\n".join(lines)


def _identity(rng: random.Random, line: bytes) -> bytes:
    parts = re.split(rb"([ <>])", line)
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(parts) + 1)
        parts[at : at + rng.randrange(2)] = rng.choices(PIECES, k=rng.randrange(3))
    return b"".join(parts)


def texts(kind: str) -> Callable[[random.Random, World], Iterator[Made]]:
    """Return the series of changed commits or tags."""

    def series(rng: random.Random, world: World) -> Iterator[Made]:
        bases = [
            commit_bytes(world.inner, world.commits),
            commit_bytes(world.inner, world.commits[:1], extra=b"encoding UTF-8\n"),
            commit_bytes(world.inner),
        ]
        if kind == "tag":
            bases = [tag_bytes(world.commits[0]), tag_bytes(world.blobs[0], b"blob", tagger=None)]
            bases.append(tag_bytes(world.inner, b"tree", extra=b"gpgsig -----BEGIN\n x\n"))
        while True:
            content = rng.choice(bases)
            for _ in range(rng.choice((1, 1, 2))):
                # The end of the headers may be gone with the first change.
                content = changed_text(rng, content) if b"\n\n" in content else content
            yield Made(kind, content)

    return series


SERIES: dict[str, Callable[[random.Random, World], Iterator[Made]]] = {
    "tree": trees,
    "commit": texts("commit"),
    "tag": texts("tag"),
}


def objects(kind: str, part: int) -> tuple[str, list[Made]]:
    """Return an object format and different objects that were made at random, and are not there."""
    fmt = sorted(FORMATS)[part % len(FORMATS)]
    world = WORLDS[fmt]
    found: dict[bytes, Made] = {handle.data: Made("", b"") for handle in world.pack.handles}
    there = len(found)
    for made in SERIES[kind](random.Random(f"{kind} {part}"), world):
        found.setdefault(made.content, made)
        if len(found) == there + COUNTS[kind]:
            break
    return fmt, list(found.values())[there:]


def refused_of_many(repo: Path, fmt: str, good: list[Made]) -> dict[Made, str]:
    """Of objects that we accept, those that git does not, each with what it says."""
    said = theirs(repo, pack_of(fmt, good), fmt)
    if said.accepted:
        return {}
    if len(good) == 1:
        return {good[0]: said.stderr.decode(errors="replace")}
    half = len(good) // 2
    return refused_of_many(repo, fmt, good[:half]) | refused_of_many(repo, fmt, good[half:])


# What git says once it has seen all objects, if it comes so far.
AT_THE_END = {
    f"git{name}{what}" for name in ("modules", "attributes") for what in ("Blob", "Missing")
}


def difference_alone(repo: Path, fmt: str, made: Made) -> str | None:
    """What is wrong between the verdicts on an object that we refuse; of a tree, in each id."""
    pack = pack_of(fmt, [made])
    what = difference(repo, pack, fmt)
    if what or made.kind != "tree":
        return what
    said, mine = theirs(repo, pack, fmt), ours(pack, "git", fmt)
    git_finds = {*said.grammar, *said.warned}
    found = {
        name for name in mine.codes if CATALOG[name].since and is_known_to(name, git_version())
    } - AT_THE_END
    if "treeNotSorted" in git_finds:
        # git looks for duplicates where they are in a tree that is in order.
        found -= {"duplicateEntries"} - git_finds
    # Without entries there is nothing else.
    same = "badTree" in git_finds or git_finds - AT_THE_END == found
    return None if same else f"git finds {git_finds}, we find {found}"


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", SERIES)
def test_git_refuses_the_objects_that_we_refuse(
    empty: dict[str, Path], kind: str, part: int
) -> None:
    fmt, made = objects(kind, part)
    accepted = {one: ours(pack_of(fmt, [one]), "git", fmt).accepted for one in made}
    good = [one for one in made if accepted[one]]
    bad = [one for one in made if not accepted[one]]
    # Both verdicts come up often enough.
    assert len(made) // 8 < len(good) < len(made) * 7 // 8
    differing: dict[Made, str] = {}
    for at in range(0, len(good), TOGETHER):
        differing |= refused_of_many(empty[fmt], fmt, good[at : at + TOGETHER])
    with ThreadPoolExecutor(2) as pool:
        alone = pool.map(lambda one: difference_alone(empty[fmt], fmt, one), bad)
        differing |= {one: what for one, what in zip(bad, alone, strict=True) if what}
    assert differing == {}


# --- files that git looks into ------------------------------------------------------------------

MODULES = [
    of(b"lib/x", branch=b"main", update=b"none", url=b"https://example.com:8080/a/../b.git"),
    of(b"a b", path=b'"a b"', url=b"../x.git") + b"; comment\n[core]\n\tx = 1 # y\n",
    of(b"../x") + of(b"y", url=b"-x"),
    of(b"y", path=b"-p") + of(b"z", update=b"!cmd"),
    b'[submodule "y\\"z"]\n\turl = git://h/%0a\n',
]
MODULE_LINES = [
    b"\turl = -x",
    b"\tpath = -x",
    b"\tupdate = !x",
    b"\turl = ../../../x",
    b"[",
    b"]",
    b"\\",
]
MODULE_LINES += [
    b'[submodule ".."]',
    b'[submodule ""]',
    b"[submodule]",
    b'\tpath = "a',
    b"\turl",
    b"= x",
]
MODULE_LINES += [
    b'[submodule "a/../b"]',
    b"[Submodule.X]",
    b"\turl = https:///x",
    b"\turl = ext::x",
    b"\0",
]
ATTRIBUTES = [
    b"*.c text\n* -diff\n" + b"x" * 2_047 + b"\n",
    b"a" * 2_040 + b" text\r\n# " + b"y" * 1_000 + b"\n",
    b"* filter=x\n" * 20,
    b"* text " * 300,
]
ATTRIBUTE_LINES = [
    b"x" * 2_047,
    b"x" * 2_048,
    b"\0",
    b"* " + b"a " * 1_030,
    b"*.c merge=x",
    b"",
    b"\r",
]
# Where the file stands; each is one that git looks into.
PLACES = {
    b".gitmodules": (FILE, b"100755", b"100664", b"100600"),
    b".GITMODULES": (FILE,),
    b"gitmod~1": (FILE,),
    b"x\\.gitmodules": (FILE,),
    b".gitmod\xe2\x80\x8cules": (FILE,),
    b".gitattributes": (FILE, b"100755"),
    b".GITATTRIBUTES ": (FILE,),
    b"gi7d29~1": (FILE,),
}


def contents(rng: random.Random) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Give (mode, name, content) of files, changed by lines and bytes."""
    while True:
        name = rng.choice(list(PLACES))
        about_modules = b"mod" in name.lower()
        content = rng.choice(MODULES if about_modules else ATTRIBUTES)
        for _ in range(rng.randrange(4)):
            lines = content.split(b"\n")
            at = rng.randrange(len(lines))
            what = rng.randrange(5)
            if what == 0:
                lines[at : at + 1] = []
            elif what == 1:
                lines[at : at + 1] = lines[at : at + 1] * 2
            elif what == 2:
                lines.insert(at, rng.choice(MODULE_LINES if about_modules else ATTRIBUTE_LINES))
            elif what == 3 and lines[at]:
                lines[at] = _one_byte(rng, lines[at])
            else:
                lines = [*lines[:at], lines[at][: rng.randrange(len(lines[at]) + 1)]]
            content = b"\n".join(lines)
        # On a byte 0xFF versions of git and machines differ: see known.py.
        if b"\xff" not in content:
            yield rng.choice(PLACES[name]), name, content


def looked_into(fmt: str, files: Iterable[tuple[bytes, bytes, bytes]]) -> bytes:
    """Write each file in a tree of its own: all files first, so that git goes on after a fault."""
    pack = PackBuilder(fmt)
    holders = []
    for mode, name, content in files:
        blob = pack.add("blob", content)
        holders.append(tree_bytes([(mode, name, blob.oid)]))
    for holder in holders:
        pack.add("tree", holder)
    return pack.build()


SAYS = re.compile(
    rb"^(error|warning): object ([0-9a-f]+): (git(?:modules|attributes)\w+): ", re.MULTILINE
)
# What is said of the tree.
OF_TREES = {"badFilemode"}


def known_here(name: str) -> bool:
    # Versions differ on URLs, and each may refuse what the other takes.
    differs = name == "gitmodulesUrl" and git_version() < NORMALIZED_SINCE
    return is_known_to(name, git_version()) and not differs


@pytest.mark.parametrize("part", range(PARTS))
def test_git_says_the_same_of_files_that_it_looks_into(empty: dict[str, Path], part: int) -> None:
    fmt = sorted(FORMATS)[part % len(FORMATS)]
    files: dict[bytes, tuple[bytes, bytes, bytes]] = {}
    for file in contents(random.Random(f"files {part}")):
        files.setdefault(packs.oid("blob", file[2], fmt), file)
        if len(files) == FILES:
            break
    verdict = theirs(empty[fmt], looked_into(fmt, files.values()), fmt)
    said: dict[bytes, set[tuple[str, str]]] = {oid: set() for oid in files}
    for level, oid, name in SAYS.findall(verdict.stderr):
        severity = ERROR if level == b"error" else WARNING
        if known_here(name.decode()):
            said[bytes.fromhex(oid.decode())].add((name.decode(), severity))
    expected = {}
    for oid, file in files.items():
        found = ours(looked_into(fmt, [file]), "git", fmt).report.findings.sorted()
        expected[oid] = {
            (finding.code.name, finding.severity)
            for finding in found
            if known_here(finding.code.name) and finding.code.name not in OF_TREES
        }
        refused = ERROR in {finding.severity for finding in found}
        assert not refused or not ours(looked_into(fmt, [file]), "candidate", fmt).accepted
    assert {
        files[oid]: (said[oid], expected[oid]) for oid in files if said[oid] != expected[oid]
    } == {}
    names = {name for found in said.values() for name, _severity in found}
    assert {"gitmodulesName", "gitmodulesParse", "gitattributesLineLength"} <= names
    assert FILES // 8 < sum(not found for found in said.values()) < FILES * 7 // 8


def test_there_are_thousands() -> None:
    assert PARTS * (sum(COUNTS.values()) + FILES) >= 4_000
