"""One small host for all tests of crashes; each test works on a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.aftermath import Ground
from tests.support.launches import Host, copy_host, make_host


@pytest.fixture(scope="session")
def small_host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    host = make_host(tmp_path_factory.mktemp("host"))
    host.commit({"new.txt": b"new\n"})
    return host


@pytest.fixture
def ground(small_host: Host, tmp_path: Path) -> Ground:
    """A copy of the host with one launch, and what its producer offers."""
    return Ground(copy_host(small_host, tmp_path), tmp_path)
