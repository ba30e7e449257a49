"""Trees of a shape that is known are read as those of any other."""

from __future__ import annotations

import random

import pytest

from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.objects import tree
from packparse.objects.shape import Layout
from packparse.objects.tree import TreeLinks, TreeReader
from tests.support.packs import tree_bytes

Heads = list[tuple[bytes, bytes]]

SHAPES: dict[str, Heads] = {
    "one file": [(b"100644", b"a")],
    "files": [(b"100644", b"a"), (b"100755", b"b"), (b"100644", b"c.txt")],
    "folders alone": [(b"40000", b"lib"), (b"40000", b"src")],
    "both": [(b"40000", b"a"), (b"100644", b"b"), (b"40000", b"c"), (b"100644", b"d")],
    "a link": [(b"120000", b"a"), (b"100644", b"b")],
    "special files": [(b"100644", b".gitattributes"), (b"100644", b".gitmodules")],
    "a submodule": [(b"40000", b"a"), (b"160000", b"b"), (b"100644", b"c")],
    "submodules alone": [(b"160000", b"a"), (b"160000", b"b")],
    "odd modes": [(b"100664", b"a"), (b"040000", b"b")],
    "an odd name": [(b"100644", b".git"), (b"100644", b"b")],
    "names that collide": [(b"100644", b"README"), (b"100644", b"readme")],
    "the same name twice": [(b"100644", b"a"), (b"100644", b"a")],
    "a bare repository": [(b"100644", b"HEAD"), (b"40000", b"objects"), (b"40000", b"refs")],
}


def content(heads: Heads, rng: random.Random, width: int) -> bytes:
    return tree_bytes([(m, n, rng.randbytes(width)) for m, n in heads], ordered=False)


def parts(links: TreeLinks) -> tuple[object, ...]:
    return links.trees, links.blobs, links.entries, links.special, links.oddities


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", SHAPES)
def test_a_tree_of_a_known_shape_is_read_as_the_first_one(name: str, fmt: str) -> None:
    width = FORMATS[fmt].width
    rng = random.Random(name)
    reader = TreeReader(width, Limits())
    for _ in range(4):
        data = content(SHAPES[name], rng, width)
        assert parts(reader.read(data)) == parts(TreeReader(width, Limits()).read(data))
        assert parts(reader.read(bytearray(data))) == parts(reader.read(data))


def test_what_was_told_is_not_told_again() -> None:
    rng = random.Random(3)
    reader = TreeReader(20, Limits(), is_told=lambda _oddity: True)
    for _ in range(4):
        links = reader.read(content(SHAPES["a submodule"], rng, 20))
        assert (links.oddities, len(links.special), links.entries) == ([], 1, 3)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_id_of_zeros_is_found_in_a_known_shape(at: int) -> None:
    heads = SHAPES["files"]
    reader = TreeReader(20, Limits())
    rng = random.Random(1)
    for _ in range(3):
        assert reader.read(content(heads, rng, 20)).oddities == []
    ids = [bytes(20) if n == at else rng.randbytes(20) for n in range(3)]
    data = tree_bytes([(*head, oid) for head, oid in zip(heads, ids, strict=True)])
    assert [o.code.name for o in reader.read(data).oddities] == ["nullSha1"]


SAME_LENGTH: dict[str, tuple[Heads, Heads]] = {
    "another name": (
        [(b"100644", b"a"), (b"100644", b"b")], [(b"100644", b"a"), (b"100644", b"c")],
    ),
    "another first name": (SHAPES["files"], [(b"100644", b"0"), *SHAPES["files"][1:]]),
    "another mode": (
        [(b"100644", b"a"), (b"100644", b"b")], [(b"100644", b"a"), (b"120000", b"b")],
    ),
    "a file for a folder": (
        [(b"100644", b"a"), (b"40000", b"lib")], [(b"100644", b"a"), (b"100644", b"li")],
    ),
    "a longer and a shorter name": (
        [(b"100644", b"a"), (b"100644", b"bbb"), (b"100644", b"c")],
        [(b"100644", b"a"), (b"100644", b"bb"), (b"100644", b"cc")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME_LENGTH)
def test_a_tree_of_the_same_length_and_another_shape_is_told_from_it(name: str) -> None:
    rng = random.Random(2)
    first, second = SAME_LENGTH[name]
    reader = TreeReader(20, Limits())
    for heads in (first, first, first, second, second, second, first, second):
        data = content(heads, rng, 20)
        assert parts(reader.read(data)) == parts(TreeReader(20, Limits()).read(data))
    assert len(content(first, rng, 20)) == len(content(second, rng, 20))


@pytest.mark.parametrize("name", SHAPES)
def test_a_layout_takes_a_tree_apart(name: str) -> None:
    rng = random.Random(7)
    data = content(SHAPES[name], rng, 20)
    links = TreeReader(20, Limits()).read(data)
    assert links.shape is not None
    layout = Layout(links.shape)
    assert layout.links(data) == (links.trees, links.blobs)
    assert layout.links(data.replace(b"00", b"01", 1)) is None


def test_layouts_are_made_for_what_comes_again() -> None:
    rng = random.Random(4)
    reader = TreeReader(20, Limits())
    made = []
    for _ in range(4):
        reader.read(content(SHAPES["files"], rng, 20))
        made.append(len(reader._layouts))  # noqa: SLF001 - nothing else shows it
    assert made == [0, 0, 1, 1]


@pytest.mark.parametrize("name", SHAPES)
def test_the_quick_way_is_taken_the_third_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(name)
    reader = TreeReader(20, Limits(), is_told=lambda _oddity: True)
    for _ in range(2):
        reader.read(content(SHAPES[name], rng, 20))
    data = content(SHAPES[name], rng, 20)
    wanted = parts(TreeReader(20, Limits(), is_told=lambda _oddity: True).read(data))
    # The pattern is not asked.
    monkeypatch.setattr(tree, "_SPLIT", {})
    assert parts(reader.read(data)) == wanted


def test_long_names_are_not_kept_again_and_again() -> None:
    reader = TreeReader(20, Limits(changes={"name_bytes": 1 << 20}))
    rng = random.Random(5)
    for number in range(50):
        for _ in range(3):
            reader.read(content([(b"100644", b"%02d" % number + b"x" * 60_000)], rng, 20))
    # Each layout has the names twice.
    assert sum(2 * len(key) for key in reader._layouts) < 5 << 20  # noqa: SLF001
    long = [(b"100644", b"x" * 70_000)]
    for _ in range(4):
        reader.read(content(long, rng, 20))
    assert all(len(key) < 70_000 for key in reader._layouts)  # noqa: SLF001


def test_lengths_are_kept_in_their_room() -> None:
    reader = TreeReader(20, Limits())
    rng = random.Random(6)
    for number in range(60):
        # Many odd entries, in a tree as long as the last one.
        reader.read(content([(b"100664", b"%03d-%03d" % (number, n)) for n in range(60)], rng, 20))
    held = sum(shape.weight for shape in reader._lengths.values())  # noqa: SLF001
    assert held < 5 << 20


@pytest.mark.parametrize(
    ("ours", "theirs", "wanted"),
    [
        pytest.param({b"a"}, [b"b"], {b"a", b"b"}, id="both"),
        pytest.param({b"a"}, None, None, id="too many there"),
        pytest.param(None, [b"b"], None, id="too many here"),
        pytest.param({b"a"}, [b"%d" % n for n in range(1 << 15)], None, id="too many together"),
    ],
)
def test_what_another_reader_has_seen_of_links_is_taken_over(
    ours: set[bytes] | None, theirs: list[bytes] | None, wanted: set[bytes] | None
) -> None:
    reader = TreeReader(20, Limits())
    reader.link_folds = ours
    reader.take_over(7, theirs)
    assert reader.link_folds == wanted
    assert reader.longest_name == 7
    reader.take_over(3, theirs)
    assert reader.longest_name == 7
