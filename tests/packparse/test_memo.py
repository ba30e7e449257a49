"""What is remembered, and what is let go of when there is no more room."""

from __future__ import annotations

import pytest

from packparse.memo import Memo

# room, the largest that is kept; sizes in their order -> the keys that are there at the end
ROOMS: dict[str, tuple[int, int | None, tuple[int, ...], list[int]]] = {
    "nothing": (10, None, (), []),
    "as much as there is room for": (10, None, (4, 6), [0, 1]),
    "more than there is room for": (10, None, (4, 6, 1), [2]),
    "after that room for the rest": (10, None, (4, 6, 1, 9), [2, 3]),
    "and no more": (10, None, (4, 6, 1, 10), [3]),
    "the largest that is kept": (10, 5, (5, 5), [0, 1]),
    "one that is too large": (10, 5, (5, 6, 5), [0, 2]),
    "one larger than all room": (10, None, (4, 11, 6), [0, 2]),
    "no room at all": (0, None, (1,), []),
}


@pytest.mark.parametrize("name", ROOMS)
def test_a_memory_that_is_full_is_emptied(name: str) -> None:
    most, largest, sizes, left = ROOMS[name]
    memo: Memo[int, str] = Memo(most, largest)
    for key, size in enumerate(sizes):
        assert memo.keep(key, f"value {key}", size) == f"value {key}"
    assert dict(memo) == {key: f"value {key}" for key in left}


def test_without_a_size_values_are_counted() -> None:
    memo: Memo[int, int] = Memo(3)
    for key in range(5):
        memo.keep(key, key)
    assert sorted(memo) == [3, 4]
