"""Every shape makes a pack that is accepted, and larger ones are more of the same."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from bench import shapes
from bench.inputs import from_shape
from packparse.entry import OFS_DELTA, REF_DELTA
from packparse.limits import Limits
from packparse.stream import PackStream
from packparse.verify import verify_bytes
from tests.bench.conftest import COMMITS

SHAPES = [
    "many-small", "small-trees", "long-chains", "large-blobs", "edited-tree", "branches",
    "ref-deltas",
]  # fmt: skip


def test_all_shapes_are_tried() -> None:
    assert list(shapes.SHAPES) == SHAPES


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_makes_a_pack_that_is_accepted(tmp_path: Path, name: str) -> None:
    made = from_shape(name, "small", tmp_path)
    report = verify_bytes(made.pack.read_bytes())
    assert report.accepted
    assert report.counts["commits"] == COMMITS[name]
    assert report.counts["objects"] == made.about.objects
    assert made.about.size == report.bytes
    assert (made.about.name, made.about.scale, made.about.given) == (name, "small", False)
    # The repository takes much more room than the pack, and is not needed any more.
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}-small.pack"}


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", ["branches", "ref-deltas"])
def test_deltas_are_on_offsets_or_on_ids(tmp_path: Path, name: str) -> None:
    data = from_shape(name, "small", tmp_path).pack.read_bytes()
    kinds = {entry.kind for entry in PackStream(Limits()).feed(data)}
    expected = REF_DELTA if name == "ref-deltas" else OFS_DELTA
    assert kinds & {OFS_DELTA, REF_DELTA} == {expected}


def begun(name: str, commits: int) -> list[bytes]:
    """The first commits of a shape, as git is given them."""
    return list(itertools.islice(shapes.SHAPES[name].stream(random.Random(1), 10), commits))


def test_branches_are_merged() -> None:
    parts = begun("branches", 33)
    assert sum(b"\nfrom :" in part for part in parts) == 32
    assert [number for number, part in enumerate(parts) if b"\nmerge :" in part] == [
        *range(13, 17),
        *range(29, 33),
    ]


@pytest.mark.parametrize(("name", "commits"), [("many-small", 300), ("small-trees", 5_000)])
def test_a_larger_pack_begins_again_with_an_empty_tree(name: str, commits: int) -> None:
    parts = begun(name, commits + 2)
    assert [n for n, part in enumerate(parts) if b"\ndeleteall\n" in part] == [commits]
