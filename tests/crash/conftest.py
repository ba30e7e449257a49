"""Small hosts for all tests of crashes, made once; a test leaves them as it found them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.support.aftermath import Ground
from tests.support.gitrepo import git
from tests.support.launches import Host, copy_host, make_host


@pytest.fixture(scope="session")
def small_host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    host = make_host(tmp_path_factory.mktemp("host"))
    host.commit({"new.txt": b"new\n"})
    return host


@pytest.fixture(scope="session")
def small_ground(small_host: Host, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    folder = tmp_path_factory.mktemp("small")
    return Ground(copy_host(small_host, folder), folder)


@pytest.fixture
def ground(small_ground: Ground) -> Iterator[Ground]:
    """The host with one launch, and what its producer offers: one file."""
    yield small_ground
    small_ground.undo()


@pytest.fixture(scope="session")
def thin_ground(small_host: Host, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    folder = tmp_path_factory.mktemp("thin")
    host = copy_host(small_host, folder)
    path = "dir0/file0.txt"
    old = git(host.repo, "cat-file", "blob", f"{host.base}:{path}").stdout
    host.commit({path: old + b"more\n", "new.bin": random.Random(0).randbytes(20_000)})
    return Ground(host, folder, thin=True)


@pytest.fixture
def large(thin_ground: Ground) -> Iterator[Ground]:
    """The host with a launch that brings some pages of bytes, and deltas on objects of the base."""
    yield thin_ground
    thin_ground.undo()


@pytest.fixture(scope="session")
def lost_ground(small_host: Host, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    folder = tmp_path_factory.mktemp("lost")
    made = Ground(copy_host(small_host, folder), folder)
    made.lose()
    return made


@pytest.fixture
def lost(lost_ground: Ground) -> Iterator[Ground]:
    """The host with a launch that was imported, and whose pack somebody removed."""
    yield lost_ground
    lost_ground.undo()
