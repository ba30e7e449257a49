"""An empty repository of each object format: outside of one index-pack skips checks or crashes."""

from __future__ import annotations

from pathlib import Path

import pytest

from packparse.objectformat import FORMATS
from tests.support.gitrepo import init


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the path of an empty repository for each object format; nothing writes to them."""
    root = tmp_path_factory.mktemp("empty")
    return {fmt: init(root / fmt, fmt, bare=True) for fmt in FORMATS}
