"""What hostile shapes of trees, tags and special files cost, once every object is known.

As in test_bombs: the whole command, its peak memory and its processor time. Each file is as large
as the limits of ``candidate`` allow, or as the number that made others stumble.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cost.test_bombs import CHEAP, DEAR, HISTORY, MIB, sealed, spend
from tests.support import packs
from tests.support.bundles import bundle
from tests.support.packs import PackBuilder, commit_bytes, edit, tag_bytes, tree_bytes, varint_size

FILE, LINK, FOLDER, SUBMODULE = b"100644", b"120000", b"40000", b"160000"
# On an idle machine most take a tenth of it.
SECONDS = 30.0
# The most of a thing: objects, or entries of a tree.
MOST = 99_990


class Quick:
    """Writes packs of very many objects: a builder that keeps nothing."""

    def __init__(self) -> None:
        self._entries: list[bytes] = []
        self._starts: list[int] = []
        self._end = packs.HEADER_LENGTH

    def add(self, kind: str, data: bytes) -> bytes:
        """Append an object; return its raw id."""
        # Setting up a compressor takes longer than all the rest.
        stream = _stored(data) if len(data) < 1_000 else zlib.compress(data, 1)
        self._append(varint_size(packs.KIND_NUMBERS[kind], len(data)) + stream)
        return packs.oid(kind, data)

    def add_delta(self, base: int, change: bytes, kind: str, result: bytes) -> bytes:
        """Append a delta on the entry of this number; return the raw id of its result."""
        head = varint_size(packs.OFS_DELTA, len(change))
        self._append(
            head + packs.ofs_varint(self._end - self._starts[base]) + zlib.compress(change, 1)
        )
        return packs.oid(kind, result)

    def _append(self, entry: bytes) -> None:
        self._entries.append(entry)
        self._starts.append(self._end)
        self._end += len(entry)

    def tree(self, *entries: tuple[bytes, bytes, bytes]) -> bytes:
        """Append a tree of (mode, name, raw id) in this order; return its raw id."""
        return self.add("tree", tree_bytes(entries, ordered=False))

    def build(self) -> bytes:
        """Return the pack."""
        return sealed(len(self._entries), self._entries)


def _stored(data: bytes) -> bytes:
    size = len(data).to_bytes(2, "little")
    complement = (len(data) ^ 0xFFFF).to_bytes(2, "little")
    return b"\x78\x01\x01" + size + complement + data + zlib.adler32(data).to_bytes(4)


@dataclass(frozen=True)
class Shape:
    """A file and how it is verified, with the base's objects if there is one."""

    data: bytes
    options: tuple[str, ...] = ()
    base: bytes = b""


def _committed(pack: Quick, root: bytes) -> bytes:
    pack.add("commit", commit_bytes(root))
    return pack.build()


# --- trees --------------------------------------------------------------------------------------


def git_bomb(*options: str) -> Shape:
    """Ten folders in each of ten folders, ten levels down."""
    pack = PackBuilder()
    last = pack.add("blob", b"x")
    for level in range(10):
        mode = FOLDER if level else FILE
        last = pack.add("tree", tree_bytes((mode, b"%d" % n, last.oid) for n in range(10)))
    pack.add("commit", commit_bytes(last.oid))
    return Shape(pack.build(), options)


def deep(*options: str, committed: bool = True) -> Shape:
    pack = Quick()
    last = pack.add("tree", b"")
    for _ in range(50_000):
        last = pack.tree((FOLDER, b"d", last))
    return Shape(_committed(pack, last) if committed else pack.build(), options)


def colliding(names: Iterable[bytes]) -> Shape:
    pack = Quick()
    blob = pack.add("blob", b"x")
    return Shape(_committed(pack, pack.tree(*((FILE, name, blob) for name in sorted(names)))))


def all_cases(count: int, tail: bytes = b"") -> list[bytes]:
    """Return so many spellings of one name in upper and lower case."""
    return [
        bytes(0x61 - (number >> bit & 1) * 0x20 for bit in range(17)) + tail
        for number in range(count)
    ]


def submodules() -> Shape:
    pack = Quick()
    oid = b"\x11" * 20
    return Shape(_committed(pack, pack.tree(*((SUBMODULE, b"%05d" % n, oid) for n in range(MOST)))))


def long_names(roots: int) -> Shape:
    """Trees whose longest path seems too long, until the names in them are read."""
    pack = Quick()
    blob = pack.add("blob", b"x")
    last = pack.tree((FILE, b"n" * 255, blob))
    kids = [pack.tree((FILE, b"%d" % n, blob)) for n in range(2_000)]
    last = pack.tree(
        *((FOLDER, b"k%04d" % n, kid) for n, kid in enumerate(kids)), (FOLDER, b"z", last)
    )
    for _ in range(60):
        last = pack.tree((FOLDER, b"d", last))
    for number in range(roots):
        pack.tree((FOLDER, b"r%d" % number, last))
    return Shape(_committed(pack, last))


# --- links, special files -----------------------------------------------------------------------


def links(target: Callable[[int], bytes], count: int = MOST - 10) -> Shape:
    pack = Quick()
    ids = [pack.add("blob", target(number)) for number in range(count)]
    return Shape(
        _committed(pack, pack.tree(*((LINK, b"%05d" % n, oid) for n, oid in enumerate(ids))))
    )


HONEST = b'[submodule "%05d"]\n\tpath = p%05d\n\turl = https://example.com/%05d\n'
BAD = b'[submodule "../%05d"]\n\tpath = -p%05d\n\turl = -%05d\n\tupdate = !x\n'


def modules(line: bytes, size: int = MIB) -> bytes:
    """Return a .gitmodules of one submodule after another, just within a size."""
    count = size // len(line % (0, 0, 0))
    return b"".join(line % (n, n, n) for n in range(count))


GITMODULES = {
    "honest": modules(HONEST),
    "bad": modules(BAD),
    "one setting over and over": b'[submodule "a"]\n' + b"url=a\n" * 170_000,
    "names in names": b"".join(
        b'[submodule "a%b"]\npath=%b\n' % (b"/a" * (n % 300), b"a/" * (n % 300))
        for n in range(1_600)
    ),
    "one long name": b'[submodule "%b"]\npath=%b\n' % (b"a/" * 250_000, b"a/../" * 100_000),
    "one long URL": b'[submodule "a"]\nurl=https://h/%b\n' % (b"%2e%2e/" * 149_000),
    "headers and nothing else": b"[submodule.a]" * 80_000,
    "backslashes": b'[submodule "a"]\nurl="' + b"\\\\" * 500_000,
    "lines that go on": b'[submodule "a"]\nurl=' + b"\\\n" * 500_000,
}


def gitmodules(content: bytes, commits: int = 1) -> Shape:
    """One .gitmodules in the trees of many commits, with a submodule."""
    pack = Quick()
    file, blob = pack.add("blob", content), pack.add("blob", b"x")
    parents: list[bytes] = []
    for number in range(commits):
        other = (FILE, b"f%d" % number, blob)
        root = pack.tree((FILE, b".gitmodules", file), other, (SUBMODULE, b"sub", b"\x11" * 20))
        parents = [pack.add("commit", commit_bytes(root, parents))]
    return Shape(pack.build())


def versions_of_gitmodules(count: int) -> Shape:
    """So many different .gitmodules of 1 MiB, from a file of 100 KiB."""
    pack = Quick()
    text = b"#%05d\n" % 0 + modules(HONEST, MIB - 10)
    ids = [pack.add("blob", text)]
    ids += [pack.add_delta(0, *_numbered(text, number)) for number in range(1, count)]
    for oid in ids:
        pack.tree((FILE, b".gitmodules", oid))
    return Shape(pack.build())


def _numbered(text: bytes, number: int) -> tuple[bytes, str, bytes]:
    change, result = edit(text, 1, 5, b"%05d" % number)
    return change, "blob", result


# --- ranges and tags ----------------------------------------------------------------------------


def stowaways() -> Shape:
    pack = Quick()
    tip = pack.add("commit", commit_bytes(pack.add("tree", b"")))
    for number in range(MOST):
        pack.add("blob", b"%d" % number)
    return Shape(bundle(pack.build(), [(tip.hex(), "refs/heads/main")]))


def tags(refs: int) -> Shape:
    """A chain of tags as long as may be, and refs that name the last of them."""
    pack = Quick()
    last, kind = pack.add("commit", commit_bytes(pack.add("tree", b""))), b"commit"
    tops = []
    for number in range(MOST):
        last, kind = pack.add("tag", tag_bytes(last, kind, b"v%d" % number)), b"tag"
        tops.append(last.hex())
    named = [(oid, f"refs/tags/{n}") for n, oid in enumerate(tops[-refs:])]
    return Shape(bundle(pack.build(), named))


def compared(
    entries: Callable[[bytes], list[tuple[bytes, bytes, bytes]]], commits: int, *more: str
) -> Shape:
    """So many commits, each of which changes one entry of the same folder of the base."""
    base = Quick()
    listed = entries(base.add("blob", b"../../../x"))
    first = base.add("commit", commit_bytes(base.tree(*listed)))
    pack = Quick()
    tip = first
    for number in range(commits):
        mode, name, _ = listed[number % len(listed)]
        listed[number % len(listed)] = mode, name, pack.add("blob", b"%d" % number)
        tip = pack.add("commit", commit_bytes(pack.tree(*listed), [tip]))
    options = ("--base", first.hex(), "--tip", tip.hex(), *more)
    return Shape(pack.build(), options, base.build())


def plain_entries(blob: bytes) -> list[tuple[bytes, bytes, bytes]]:
    return [(FILE, b"%04d" % number, blob) for number in range(990)]


def odd_entries(blob: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """Return entries that the base has as well, all of them links or names with a warning."""
    listed = [
        (LINK if n % 2 else FILE, b"%b%04d " % (b"-A"[n % 2 :][:1], n), blob) for n in range(990)
    ]
    return sorted(listed, key=lambda entry: entry[1])


def folders(mode: bytes, name: bytes, content: bytes) -> Shape:
    """A thousand new folders of the same content, beside a base that has none of them."""
    base = Quick()
    first = base.add("commit", commit_bytes(base.add("tree", b"")))
    pack = Quick()
    folder = pack.tree((mode, name, pack.add("blob", content)))
    root = pack.tree(*((FOLDER, b"%04d" % number, folder) for number in range(1_000)))
    tip = pack.add("commit", commit_bytes(root, [first]))
    return Shape(pack.build(), ("--base", first.hex(), "--tip", tip.hex()), base.build())


# --- all of them --------------------------------------------------------------------------------

# Name to (shape, exit status, what is said, MiB at most).
SHAPES: dict[str, tuple[Callable[[], Shape], int, str, int]] = {
    "a git bomb": (git_bomb, 4, "tooManyFiles", CHEAP),
    "a git bomb against the limits of history": (
        lambda: git_bomb(*HISTORY), 4, "tooManyFiles", CHEAP
    ),
    "50,000 folders in each other": (deep, 4, "treeTooDeep", CHEAP),
    "50,000 folders in each other, which no commit names": (
        lambda: deep(committed=False), 4, "treeTooDeep", CHEAP
    ),
    "50,000 folders in each other, which the limit allows": (
        lambda: deep("--limit", "tree_depth=60k"), 4, "pathTooLong", CHEAP
    ),
    "50,000 folders in each other, which both limits allow": (
        lambda: deep("--limit", "tree_depth=60k", "--limit", "path_bytes=1M"), 0, "accepted", CHEAP
    ),
    "100,000 names that differ in case": (
        lambda: colliding(all_cases(MOST)), 3, "caseCollision", CHEAP
    ),
    "100,000 names that differ in case, and are not ASCII": (
        lambda: colliding(all_cases(MOST, b"\xc3\xa9")), 3, "caseCollision", CHEAP
    ),
    "50,000 pairs of names that differ in a dot": (
        lambda: colliding(b"%05d%b" % (n, end) for n in range(MOST // 2) for end in (b"", b".")),
        3, "normalizationCollision", DEAR
    ),
    "100,000 names that are odd in many ways": (
        lambda: colliding(b"\xe2\x80\x8b%05d~1 \\..\\" % n for n in range(MOST)),
        3, "backslashTraversal", DEAR
    ),
    "100,000 submodules": (submodules, 0, "gitlinkWithoutEntry", CHEAP),
    "trees whose paths seem too long": (lambda: long_names(20_000), 0, "accepted", CHEAP),
    "100,000 links": (lambda: links(lambda n: b"%d" % n), 0, "accepted", CHEAP),
    "30,000 links to the root": (
        lambda: links(lambda n: b"/%d" % n, 30_000), 3, "symlinkAbsolute", CHEAP
    ),
    "100,000 links that climb": (
        lambda: links(lambda n: b"../../%d" % n), 3, "symlinkEscapes", CHEAP
    ),
    "30,000 links that go through others": (
        lambda: links(lambda n: b"%05d/../../%d" % (n, n), 30_000), 3, "symlinkEscapes", CHEAP
    ),
    "1,000 commits with one .gitmodules": (
        lambda: gitmodules(GITMODULES["honest"], 990), 4, "tooManyFiles", CHEAP
    ),
    "40 versions of a .gitmodules": (
        lambda: versions_of_gitmodules(40), 4, "specialFileTooLarge", CHEAP
    ),
    "100,000 stowaways": (stowaways, 3, "stowawayObject", CHEAP),
    "900 refs to a chain of 100,000 tags": (lambda: tags(900), 0, "accepted", CHEAP),
    "1,000 commits beside a base": (
        lambda: compared(plain_entries, 1_000), 0, "changed from the base: 990 files", CHEAP
    ),
    "200 commits of odd names beside a base that has them": (
        lambda: compared(odd_entries, 200, "--limit", "files=20k"), 4, "tooManyFiles", DEAR
    ),
    "1,000 new folders with a link that climbs": (
        lambda: folders(LINK, b"x", b"../../../x"), 3, "symlinkEscapes", CHEAP
    ),
    "1,000 new folders with a bad .gitmodules of 1 MiB": (
        lambda: folders(FILE, b".gitmodules", GITMODULES["bad"]), 4, "gitmodulesName", CHEAP
    ),
    "1,000 new folders with attributes": (
        lambda: folders(FILE, b".gitattributes", b"* filter=x\n" * 90_000),
        4, "gitattributesActive", CHEAP
    ),
}  # fmt: skip
ACCEPTED = {"honest", "headers and nothing else", "lines that go on"}
SHAPES |= {
    f"a .gitmodules of 1 MiB: {name}": (
        lambda content=content: gitmodules(content),  # type: ignore[misc]
        0 if name in ACCEPTED else 3,
        ".gitmodules",
        CHEAP,
    )
    for name, content in GITMODULES.items()
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_stays_within_its_bounds(tmp_path: Path, name: str) -> None:
    make, status, said, most = SHAPES[name]
    shape = make()
    file = tmp_path / "x.pack"
    file.write_bytes(shape.data)
    options = shape.options
    if shape.base:
        beside = tmp_path / "base.pack"
        beside.write_bytes(shape.base)
        options += ("--base-pack", str(beside))
    cost = spend(tmp_path, file, *options, timeout=SECONDS * 4)
    assert (cost.status, said in cost.output) == (status, True), cost.output[:2_000]
    assert cost.peak_mib <= most
    assert cost.cpu <= SECONDS


def test_the_bomb_is_as_small_as_it_is_said_to_be() -> None:
    assert len(git_bomb().data) <= 971


@pytest.mark.parametrize("name", GITMODULES)
def test_the_files_are_as_large_as_they_may_be(name: str) -> None:
    assert MIB * 3 // 4 < len(GITMODULES[name]) <= MIB
