"""One launch that was imported, made once; tests that change it work on a copy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from candidate import cli
from tests.support.exports import Producer, copy_producer, make_producer, make_ready
from tests.support.launches import Format, Scene, launch, make_host


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A launch that has an offer, and is not imported yet."""
    host = make_host(tmp_path)
    host.commit({"dir0/file0.txt": b"changed\n"})
    host.commit({"100755 run.sh": b"#!/bin/sh\n"})
    made = launch(host, tmp_path)
    made.offer()
    return made


Run = Callable[..., "tuple[int, str, str]"]


@pytest.fixture
def run(scene: Scene, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command with the state folder of the scene; its status, output and errors."""

    def call(*arguments: str) -> tuple[int, str, str]:
        state = [] if arguments[0] == "check" else ["--state", str(scene.state)]
        status = cli.main([arguments[0], *state, *arguments[1:]])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def as_json(run: Run, *arguments: str) -> dict[str, Any]:
    """What a command prints as JSON, where it does not fail."""
    _status, out, err = run(*arguments, "--format", "json")
    assert not err
    assert out.count("\n") == 1
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.fixture(scope="session")
def launched(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Scene, Producer]]:
    """For each object format a launch, and its producer with nothing done; both stay so."""
    formats: tuple[Format, ...] = ("sha1", "sha256")
    return {fmt: make_producer(tmp_path_factory.mktemp(fmt), fmt) for fmt in formats}


@pytest.fixture
def producer(launched: dict[str, tuple[Scene, Producer]], tmp_path: Path) -> Producer:
    """A producer that has done nothing yet."""
    return copy_producer(launched["sha1"][1], tmp_path)


@pytest.fixture(scope="session")
def ready_once(
    launched: dict[str, tuple[Scene, Producer]], tmp_path_factory: pytest.TempPathFactory
) -> Producer:
    return make_ready(launched["sha1"][1], tmp_path_factory.mktemp("ready"))


@pytest.fixture
def ready(ready_once: Producer, tmp_path: Path) -> Producer:
    """A producer that has exported one commit, and has made another one since."""
    return copy_producer(ready_once, tmp_path)
