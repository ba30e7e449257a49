"""Packs that the bench makes itself: a few shapes, each from a fixed seed, dates and identity.

Every shape is a ``git fast-import`` stream that is then packed with one thread, so that the same
git writes the same bytes on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import git

SCALES = {"small": 1, "medium": 3, "large": 10}

_IDENTITY = b"Bench Author <bench@example.invalid>"
_FIRST_DATE = 1_600_000_000
_TEXT = (
    "pack index delta base copy insert offset window chain object tree blob commit tag parent "
    "header trailer stream inflate entry limit report finding verdict bundle prerequisite ref "
    "quarantine import candidate export launch receipt journal origin range closure seed"
)
_WORDS = _TEXT.split()

Stream = Iterator[bytes]


@dataclass(frozen=True)
class Shape:
    """One kind of pack: what it is, how its history is written, how it is packed."""

    about: str
    stream: Callable[[random.Random, int], Stream]
    depth: int
    window: int


def _line(rng: random.Random) -> bytes:
    return (" ".join(rng.choices(_WORDS, k=8)) + f" {rng.getrandbits(32):08x}\n").encode()


def _text(rng: random.Random, lines: int) -> bytes:
    return b"".join(_line(rng) for _ in range(lines))


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _file(path: str, content: bytes) -> bytes:
    return b"M 100644 inline %b\n%b" % (path.encode(), _data(content))


def _commit(number: int, *changes: bytes) -> bytes:
    when = b"%b %d +0000" % (_IDENTITY, _FIRST_DATE + 60 * number)
    head = b"commit refs/heads/main\nauthor %b\ncommitter %b\n" % (when, when)
    return head + _data(b"Change %d\n" % number) + b"".join(changes) + b"\n"


def _tag(number: int) -> bytes:
    when = b"%b %d +0000" % (_IDENTITY, _FIRST_DATE + 60 * number)
    return b"tag v1\nfrom refs/heads/main\ntagger %b\n%b" % (when, _data(b"Bench\n"))


def _many_small(rng: random.Random, scale: int) -> Stream:
    commits = 300 * scale
    for number in range(commits):
        places = (f"{number // 20}/{number}/f{i}" for i in range(100))
        yield _commit(number, *(_file(place, _text(rng, rng.randint(1, 6))) for place in places))
    yield _tag(commits)


def _small_trees(rng: random.Random, scale: int) -> Stream:
    commits = 5_000 * scale
    for number in range(commits):
        places = (f"{rng.randrange(30)}/{rng.randrange(30)}/f{number}-{i}" for i in range(2))
        yield _commit(number, *(_file(place, _text(rng, rng.randint(1, 6))) for place in places))
    yield _tag(commits)


def _long_chains(rng: random.Random, scale: int) -> Stream:
    files = {f"src/part{i:03d}.txt": [_line(rng) for _ in range(90)] for i in range(32 * scale)}
    for number in range(400):
        changes = []
        for path, lines in files.items():
            lines[rng.randrange(len(lines))] = _line(rng)
            if number % 8 == 0:
                lines.append(_line(rng))
            changes.append(_file(path, b"".join(lines)))
        yield _commit(number, *changes)
    yield _tag(400)


def _large_blobs(rng: random.Random, scale: int) -> Stream:
    mebibyte = 1 << 20
    for number in range(3 * scale):
        noise = rng.randbytes(8 * mebibyte)
        text = b"".join(_text(rng, 200) * 8 for _ in range(64))
        middle = len(text) // 2
        edited = text[:middle] + _text(rng, 50) + text[middle:]
        yield _commit(2 * number, _file(f"noise{number}", noise), _file(f"text{number}", text))
        yield _commit(2 * number + 1, _file(f"text{number}", edited))


def _edited_tree(rng: random.Random, scale: int) -> Stream:
    flat = [f"flat/entry-{i:04d}.txt" for i in range(1_000)]
    deep = [f"deep/{i % 10}/{i // 10 % 20:02d}/entry-{i}.txt" for i in range(4_000)]
    paths = flat + deep
    yield _commit(0, *(_file(path, _text(rng, 3)) for path in paths))
    commits = 2_000 * scale
    for number in range(1, commits):
        touched = (rng.choice(flat), rng.choice(deep), rng.choice(deep))
        yield _commit(number, *(_file(path, _text(rng, 3)) for path in touched))
    yield _tag(commits)


SHAPES: dict[str, Shape] = {
    "many-small": Shape("30,000 files of a few lines", _many_small, 50, 10),
    "small-trees": Shape("20,000 versions of trees of 30 entries", _small_trees, 50, 10),
    "long-chains": Shape("delta chains more than 200 deep", _long_chains, 250, 3),
    "large-blobs": Shape("blobs of 8 MiB: noise, and text edited once", _large_blobs, 50, 2),
    "edited-tree": Shape("a tree of 5,000 files edited again and again", _edited_tree, 50, 10),
}


def make_pack(name: str, scale: str, folder: Path) -> Path:
    """Write the pack of one shape into ``folder`` and return its path."""
    shape = SHAPES[name]
    env = git.clean_environment(folder)
    repository = folder / f"{name}.git"
    git.init_bare(repository, env)
    git.output(["-C", str(repository), "symbolic-ref", "HEAD", "refs/heads/main"], env)
    rng = random.Random(f"packcheck bench {name}")
    git.fast_import(repository, shape.stream(rng, SCALES[scale]), env)
    target = folder / f"{name}.pack"
    options = (
        "--no-reuse-delta",
        "--threads=1",
        f"--depth={shape.depth}",
        f"--window={shape.window}",
    )
    git.write_pack(repository, target, env, options)
    return target
