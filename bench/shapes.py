"""Packs that the bench makes itself: a few shapes, each from a fixed seed, dates and identity.

Every shape is a ``git fast-import`` stream that is then packed with one thread, so that the same
git writes the same bytes on every machine.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import git
from bench.results import SCALES

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
    """One kind of pack: what it is, how its history is written, how it is packed.

    ``offsets`` says that a delta names its base by the offset, not by its id.
    """

    about: str
    stream: Callable[[random.Random, int], Stream]
    depth: int
    window: int
    offsets: bool = True


def _line(rng: random.Random) -> bytes:
    return (" ".join(rng.choices(_WORDS, k=8)) + f" {rng.getrandbits(32):08x}\n").encode()


def _text(rng: random.Random, lines: int) -> bytes:
    return b"".join(_line(rng) for _ in range(lines))


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _file(path: str, content: bytes) -> bytes:
    return b"M 100644 inline %b\n%b" % (path.encode(), _data(content))


def _commit(number: int, *changes: bytes, parents: tuple[int, ...] = ()) -> bytes:
    """A commit on the one before, or on the numbers of others."""
    when = b"%b %d +0000" % (_IDENTITY, _FIRST_DATE + 60 * number)
    head = b"commit refs/heads/main\nmark :%d\n" % (number + 1)
    head += b"author %b\ncommitter %b\n" % (when, when) + _data(b"Change %d\n" % number)
    words = (b"from", *[b"merge"] * (len(parents) - 1))
    names = (b"%b :%d\n" % (w, p + 1) for w, p in zip(words, parents, strict=False))
    return head + b"".join((*names, *changes)) + b"\n"


def _tag(number: int) -> bytes:
    when = b"%b %d +0000" % (_IDENTITY, _FIRST_DATE + 60 * number)
    return b"tag v1\nfrom refs/heads/main\ntagger %b\n%b" % (when, _data(b"Bench\n"))


def _anew(number: int, every: int) -> list[bytes]:
    """Begin again with an empty tree: a larger pack has more trees, not larger ones."""
    return [b"deleteall\n"] if number and number % every == 0 else []


def _many_small(rng: random.Random, scale: int) -> Stream:
    commits = 300 * scale
    for number in range(commits):
        places = (f"{number // 20}/{number}/f{i}" for i in range(100))
        files = (_file(place, _text(rng, rng.randint(1, 6))) for place in places)
        yield _commit(number, *_anew(number, 300), *files)
    yield _tag(commits)


def _small_trees(rng: random.Random, scale: int) -> Stream:
    commits = 5_000 * scale
    for number in range(commits):
        places = (f"{rng.randrange(30)}/{rng.randrange(30)}/f{number}-{i}" for i in range(2))
        files = (_file(place, _text(rng, rng.randint(1, 6))) for place in places)
        yield _commit(number, *_anew(number, 5_000), *files)
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
    whole = flat + deep
    commits = 2_000 * scale
    for number in range(commits):
        paths = [rng.choice(flat), rng.choice(deep), rng.choice(deep)] if number % 2_000 else whole
        yield _commit(
            number, *_anew(number, 2_000), *(_file(path, _text(rng, 3)) for path in paths)
        )
    yield _tag(commits)


def _branches(rng: random.Random, scale: int) -> Stream:
    main = 0
    for _ in range(scale):
        files = {f"src/{i % 7}/{i % 20:02d}/part{i:03d}.txt": _text(rng, 90) for i in range(240)}
        yield _commit(main, b"deleteall\n", *(_file(path, text) for path, text in files.items()))
        for _ in range(300):
            yield from _merged_branches(rng, files, main)
            main += 16
        main += 1
    yield _tag(main)


def _merged_branches(rng: random.Random, files: dict[str, bytes], start: int) -> Stream:
    """Four branches of three commits each, then their merges, upon the commit ``start``."""
    ends: list[tuple[int, dict[str, bytes]]] = []
    for branch in range(4):
        tip, edited = start, dict[str, bytes]()
        for number in range(start + 1 + 3 * branch, start + 4 + 3 * branch):
            path = rng.choice(list(files))
            edited[path] = _edited(rng, edited.get(path, files[path]))
            yield _commit(number, _file(path, edited[path]), parents=(tip,))
            tip = number
        ends.append((tip, edited))
    main = start
    for number, (tip, edited) in enumerate(ends, start + 13):
        files |= edited
        changes = (_file(path, text) for path, text in edited.items())
        yield _commit(number, *changes, parents=(main, tip))
        main = number


def _edited(rng: random.Random, text: bytes) -> bytes:
    """A text with one line exchanged, and as many lines as before."""
    lines = text.splitlines(keepends=True)
    lines[rng.randrange(len(lines))] = _line(rng)
    return b"".join(lines)


SHAPES: dict[str, Shape] = {
    "many-small": Shape("30,000 files of a few lines", _many_small, 50, 10),
    "small-trees": Shape("20,000 versions of trees of 30 entries", _small_trees, 50, 10),
    "long-chains": Shape("delta chains more than 200 deep", _long_chains, 250, 3),
    "large-blobs": Shape("blobs of 8 MiB: noise, and text edited once", _large_blobs, 50, 2),
    "edited-tree": Shape("a tree of 5,000 files edited again and again", _edited_tree, 50, 10),
    "branches": Shape("short branches of texts, all of them merged", _branches, 50, 10),
    "ref-deltas": Shape("the same, with deltas on ids", _branches, 50, 10, offsets=False),
}


def make_pack(name: str, scale: str, folder: Path) -> Path:
    """Write the pack of one shape into ``folder`` and return its path."""
    shape = SHAPES[name]
    env = git.clean_environment(folder)
    repository = folder / f"{name}-{scale}.git"
    git.init_bare(repository, env)
    git.output(["-C", str(repository), "symbolic-ref", "HEAD", "refs/heads/main"], env)
    rng = random.Random(f"packcheck bench {name}")
    git.fast_import(repository, shape.stream(rng, SCALES[scale]), env)
    target = repository.with_suffix(".pack")
    options = ["--all", "--no-reuse-delta", "--threads=1"]
    options += [f"--depth={shape.depth}", f"--window={shape.window}"]
    if shape.offsets:
        options.append("--delta-base-offset")
    git.write_pack(repository, target, env, *options)
    # Hardly compressed, it takes much more room than the pack.
    shutil.rmtree(repository)
    return target
