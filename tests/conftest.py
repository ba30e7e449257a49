"""Fixtures that tests of several folders use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import jobs


@pytest.fixture
def eager() -> Iterator[None]:
    """Share packs that would not repay it."""
    with jobs.eager():
        yield
