"""Hosts that many cases share: a refused import leaves them as they were."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from importer.repository import Repository
from importer.world import World
from tests.support.candidates import Store
from tests.support.gate import Gate, Names, made_gate, make_host, opened_gate
from tests.support.launches import Host, copy_host
from tests.support.launches import make_host as make_plain_host
from tests.support.rooms import opened
from tests.support.scriptgit import HOSTILE, FakeGit
from tests.support.worlds import Telling


@pytest.fixture(scope="session")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    """A host of SHA-1 objects, open for imports."""
    with made_gate(tmp_path_factory.mktemp("gate")) as made:
        yield made


@pytest.fixture(scope="session")
def gate256(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    """A host of SHA-256 objects, open for imports."""
    with made_gate(tmp_path_factory.mktemp("gate256"), "sha256") as made:
        yield made


@pytest.fixture(scope="session")
def mould(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Store, Names]:
    """A host that is only copied."""
    folder = tmp_path_factory.mktemp("mould")
    return folder, *make_host(folder)


@pytest.fixture
def copied(mould: tuple[Path, Store, Names], tmp_path: Path) -> Path:
    """The folder of a host of the test's own, which is not open yet."""
    shutil.copytree(mould[0] / "host", tmp_path / "host", symlinks=True)
    return tmp_path


@pytest.fixture
def own(mould: tuple[Path, Store, Names], copied: Path) -> Iterator[Gate]:
    """A host of the test's own, open for imports."""
    with opened_gate(copied, *mould[1:]) as made:
        yield made


@pytest.fixture(scope="session")
def made_host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """A host, and a commit that a producer made on it; nothing is to be changed."""
    host = make_plain_host(tmp_path_factory.mktemp("host"))
    host.commit({"new.txt": b"new\n"})
    return host


@pytest.fixture
def host(made_host: Host, tmp_path: Path) -> Host:
    """The same for one test alone."""
    return copy_host(made_host, tmp_path)


@pytest.fixture
def files() -> Telling:
    """Files that tell what was done to them."""
    return Telling()


@pytest.fixture
def repository(host: Host, tmp_path: Path, files: Telling) -> Iterator[Repository]:
    """The host, open, with these files."""
    with opened(host, tmp_path, World(files)) as made:
        yield made


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment of which nothing may reach git."""
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGit:
    """A git that is a script of the test's own."""
    return FakeGit(tmp_path / "bin", monkeypatch)
