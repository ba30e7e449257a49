"""One launch that was imported, made once; tests that change it work on a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.launches import Scene, launch, make_host


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A launch that has an offer, and is not imported yet."""
    host = make_host(tmp_path)
    host.commit({"dir0/file0.txt": b"changed\n"})
    host.commit({"100755 run.sh": b"#!/bin/sh\n"})
    made = launch(host, tmp_path)
    made.offer()
    return made
