"""Sections that are taken from memory say what they say when they are read one by one."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from packparse.objects import gitmodules
from packparse.objects.gitmodules import read

USUAL = [
    b'[submodule "a"]\n\tpath = a\n\turl = https://example.com/a\n',
    b'[submodule "b"]\n\tpath = b\n\turl = ../b.git\n\tbranch = main\n',
    b'[submodule "dir/c"]\n\tpath = dir/c\n\turl = https://example.com/c\n\n',
    b'[submodule "d"]\n    url = https://example.com/d\n    path = d\n  \t\n',
]
UNUSUAL = [
    b'[submodule "a"]\n\tpath = elsewhere\n',
    b'[submodule "e"]\n\tpath = "quo ted"\n\turl = u\n',
    b'[submodule "f"]\n\tpath = two \\\n lines\n',
    b'[submodule "g"]\n\tpath = -dash\n\turl = --upload-pack=x\n',
    b'[submodule "../h"]\n\tpath = h\n',
    b'[submodule "i"]\n\tpath = i\n\tpath = again\n',
    b'[submodule "j"]\n\tpath = a\n\turl = https://example.com/j\n',
    b'[submodule "a/inside"]\n\tpath = inside\n',
    b'[submodule "k"]\r\n\tpath = k\r\n',
    b'[submodule "l"] path = l\n',
    b'[submodule "m"]\n\tpath = m ; comment\n',
    b'[submodule "n"]\n\tpath = n # comment\n[',
    b'[submodule "o"]\n\tpath = [o]\n\turl = u\n',
    b'[submodule "p"]\n\tpath = \xff\n',
    b'[submodule "q"]\n\tpath = q\0r\n',
    b'[submodule "r"]\n\tupdate = !run\n',
    b'[submodule "s"]\n\tpath\n',
    b"[core]\n\tpath = core\n",
    b'[submodule "t"]\n\tpath = unterminated "\n',
    b'# [submodule "u"]\n',
    b"\n",
    b"[submodule.V]\n\tpath = v\n",
    b'[submodule "w"]\n\tpath = last line',
]
POOL = USUAL + UNUSUAL


def said(content: bytes) -> object:
    found = read(content)
    submodules = [(name, s.name, s.path, s.url) for name, s in found.submodules.items()]
    return found.oddities, submodules


def texts(seed: int) -> bytes:
    rng = random.Random(seed)
    usual = rng.random() < 0.5
    pieces = rng.choices(USUAL if usual else POOL, k=rng.randrange(1, 7))
    if usual:
        pieces = list(dict.fromkeys(pieces))
    if rng.random() < 0.5:
        pieces.insert(rng.randrange(len(pieces) + 1), rng.choice(UNUSUAL))
    text = b"".join(pieces)
    return text[: rng.randrange(len(text) + 1)] if rng.random() < 0.2 else text


@pytest.mark.parametrize("seed", range(400))
def test_the_quick_way_says_what_the_plain_one_says(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = texts(seed)
    quick = said(text)
    monkeypatch.setattr(gitmodules._Reader, "_take_calm", lambda _self: False)  # noqa: SLF001
    assert quick == said(text)


@pytest.mark.parametrize("section", USUAL, ids=[s.decode() for s in USUAL])
def test_a_usual_section_is_remembered(section: bytes) -> None:
    assert gitmodules._calm_section(section) is not None  # noqa: SLF001


@pytest.mark.parametrize("section", [s for s in UNUSUAL if b"elsewhere" not in s])
def test_a_section_with_anything_odd_is_not(section: bytes) -> None:
    known = gitmodules._calm_section(section)  # noqa: SLF001
    # What is odd only beside another section is no matter of one alone.
    assert known is None or known[0].name in {b"j", b"a/inside", b"o", b"w"}


def test_a_file_of_a_million_sections_is_left_at_the_first_that_is_odd() -> None:
    text = b"[\n" * 1_000_000
    tracemalloc.start()
    read(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * len(text)
