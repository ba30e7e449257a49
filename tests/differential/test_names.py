"""Trees of one entry: git and we find the same in its name and mode (A12, A14; PF1 to PF6, PF20).

Names are the tables of tests/packparse and mutations of them, made from a fixed seed.
"""

from __future__ import annotations

import random
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from packparse.codes import ERROR, WARNING
from packparse.paths import name_oddities
from tests.differential.compare import theirs
from tests.differential.hostile_container import tree
from tests.packparse import test_dotnames as tables
from tests.support.gitrepo import git_version
from tests.support.packs import Handle, PackBuilder

# Right as .gitmodules and harmless as any other of the files.
CONTENT = b'[submodule "x"]\n\tpath = x\n\turl = https://example.com/x\n'
FILE, LINK, FOLDER = 0o100644, 0o120000, 0o040000
MODES = (FILE, LINK, FOLDER)
PARTS = 8

_SAYS = re.compile(rb"^(error|warning): object ([0-9a-f]+): ([A-Za-z0-9]+): ", re.MULTILINE)

HARD = [
    b".", b"..", b"...", b" ", b"a", b"/", b"a/b", b"./a", b"../a", b"a/", b"-rf", b"con", b"a:b",
    b"a\\..\\b", b"\n", b"\x7f", b"\xff", b"n" * 300, b"n" * 4096, b"n" * 4097, b".gitmodules\\",
    b"\\", b"\\\\", b"a\\.gitmodules\\.git", b"a\\.gitmodules:\\.gitmodules", b"git~1\\.gitmodules",
]  # fmt: skip

# What a mutation puts in: ends of names on NTFS, what HFS+ ignores and its neighbours, no UTF-8.
INSERTED = [
    b" ", b".", b":", b"\\", b"/", b"~", b"~1", b"0", b"1", b"x", b"\xff", b"\xc3", b"\xe2\x80",
    b"\x8c", b"\xef\xbf\xbe", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    *(chr(point).encode() for point in (0x200B, 0x200C, 0x200F, 0x202E, 0x206A, 0xFEFF, 0xFFFD)),
]  # fmt: skip
SEEDS = [
    b".git", b"git~1", b".gitmodules", b"gitmod~1", b"gi7eba~1", b".gitattributes", b"gi7d29~1",
    b".gitignore", b"gi250a~1", b".mailmap", b"maba30~1", b"gi7e~123", b"~1000000",
]  # fmt: skip


def mutated(rng: random.Random) -> bytes:
    """Return a spelling near to a special one."""
    name = rng.choice(SEEDS)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.choice((0, len(name), rng.randrange(len(name) + 1)))
        edits = (
            name[:at] + rng.choice(INSERTED) + name[at:],
            name[:at] + rng.choice(INSERTED) + name[at:],
            name[:at] + name[at + 1 :],
            bytes(byte ^ 0x20 if chr(byte).isalpha() else byte for byte in name),
            name + rng.choice((b"\\", b"/", b":", b" ")) + rng.choice(SEEDS),
            b"a\\" + name,
        )
        name = rng.choice(edits)
    return name


def all_names() -> list[bytes]:
    """Return hard names, the tables and mutations, each once; an empty name is no entry to git."""
    rng = random.Random(6)
    forms = {**tables.IS, **tables.IS_NOT, **tables.IS_BEHIND}
    listed = [*HARD, *tables.DOTGIT.values(), *tables.NOT_DOTGIT.values(), *tables.SHORT.values()]
    listed += [name for _, name in forms.values()]
    listed += [mutated(rng) for _ in range(250)]
    return sorted(set(listed) - {b""})


def ours(name: bytes, mode: int) -> dict[str, str]:
    """Return the ids of this git that we find in a name, each with its severity."""
    found = [oddity.code for oddity in name_oddities(name, mode) if oddity.code.since]
    known = [code for code in found if version(code.since) <= git_version()]
    return {code.name: code.severity("git") for code in known}


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def by_git(repo: Path, entries: list[tuple[int, bytes]]) -> list[dict[str, str]]:
    """Return the ids that git finds in each tree of one entry, all of them in one pack.

    git stops at the first tree that has an error.
    """
    pack = PackBuilder()
    target = {FILE: pack.add("blob", CONTENT), FOLDER: pack.add("tree", b"")}
    target[LINK] = target[FILE]
    trees: list[Handle] = []
    for mode, name in entries:
        trees.append(pack.add("tree", tree((b"%o" % mode, name, target[mode].oid))))
    answer = theirs(repo, pack.build())
    said: dict[str, dict[str, str]] = {handle.hex: {} for handle in trees}
    for level, oid, name in _SAYS.findall(answer.stderr):
        # What is said of another object is about what a .gitmodules is, not about its name.
        said.get(oid.decode(), {})[name.decode()] = WARNING if level == b"warning" else ERROR
    return [said[handle.hex] for handle in trees]


NAMES = all_names()


@pytest.mark.parametrize("number", range(PARTS))
def test_git_finds_the_same_in_a_name(empty: dict[str, Path], number: int) -> None:
    entries = [(mode, name) for name in NAMES[number::PARTS] for mode in MODES]
    expected = {entry: ours(entry[1], entry[0]) for entry in entries}
    # What should pass shares a pack: one process is enough.
    good = [entry for entry, found in expected.items() if ERROR not in found.values()]
    batches = [good, *([entry] for entry in entries if entry not in set(good))]
    with ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda batch: by_git(empty["sha1"], batch), batches)
        found = {
            entry: said
            for batch, answer in zip(batches, answers, strict=True)
            for entry, said in zip(batch, answer, strict=True)
        }
    assert {e: (expected[e], said) for e, said in found.items() if said != expected[e]} == {}


def test_the_names_have_every_id_and_none() -> None:
    found = [tuple(sorted(ours(name, mode))) for name in NAMES for mode in MODES]
    assert {
        "fullPathname", "gitattributesSymlink", "gitignoreSymlink", "gitmodulesSymlink", "hasDot",
        "hasDotdot", "hasDotgit", "mailmapSymlink",
    } <= {name for names in found for name in names}  # fmt: skip
    assert found.count(()) > 500
    assert len(found) - found.count(()) > 300
