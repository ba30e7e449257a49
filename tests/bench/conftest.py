"""What several modules ask for."""

from __future__ import annotations

import dataclasses
import itertools
import random

import pytest

from bench import shapes

# The blobs of 8 MiB take their time, and of branches the first round is wanted.
COMMITS = dict.fromkeys(shapes.SHAPES, 2) | {
    "large-blobs": 1,
    "branches": 17,
    "ref-deltas": 17,
}


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same shapes, with only the first few commits of each."""
    for name, shape in shapes.SHAPES.items():

        def stream(
            rng: random.Random,
            scale: int,
            whole: shapes.Shape = shape,
            commits: int = COMMITS[name],
        ) -> shapes.Stream:
            return itertools.islice(whole.stream(rng, scale), commits)

        monkeypatch.setitem(shapes.SHAPES, name, dataclasses.replace(shape, stream=stream))
