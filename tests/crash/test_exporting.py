"""An export is killed, or fails, at each of its file operations, and is run again.

Whenever a manifest is there, so is the artifact that it speaks of. git gives the same answers at
every run, so it is asked once.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest

from candidate.export import export
from candidate.workspace import Workspace
from importer.durable import Files
from importer.errors import ImportFailed
from importer.world import World
from manifest import v1
from tests.support.aftermath import outcome, saying
from tests.support.exports import make_producer
from tests.support.faults import ERRORS, KILLED, KILLED_IN_A_WRITE, Fault, Faulty, Saved, forked

FIRST, AGAIN = "for the first time", "over an older one"


class Recorded:
    """What git told of a workspace."""

    def __init__(self, commits: list[str], paths: list[str], pack: bytes) -> None:
        self._commits = commits
        self._paths = paths
        self._pack = pack

    def range(self, _base: str, _tip: str) -> list[str]:
        return self._commits

    def uncommitted(self) -> list[str]:
        return self._paths

    def pack(self, _base: str, _tip: str, descriptor: int) -> None:
        os.write(descriptor, self._pack)


class Exports:
    """A launch, what its export folder holds before an export, and what afterwards."""

    def __init__(self, folder: Path) -> None:
        self.scene, self.producer = make_producer(folder)
        self.before = {FIRST: Saved(self.scene.export)}
        for text in ("old", "new"):
            self.producer.commit({"work": f"{text}\n"})
            self.producer.write({"more": ""})
            export(str(self.producer.workspace), str(self.scene.export))
            self.before.setdefault(AGAIN, Saved(self.scene.export))
        self.expected = self.producer.files()
        work = Workspace(World(), str(self.producer.workspace))
        bundle = self.expected.artifact or b""
        commits = work.range(self.producer.ticket.base, "HEAD")
        self.told = Recorded(commits, work.uncommitted(), bundle[bundle.index(b"PACK") :])

    def run(self, files: Files | None = None) -> None:
        export("/", str(self.scene.export), world=World(files))

    def check_pair(self) -> None:
        artifact, manifest = self.producer.files()
        if manifest is not None:
            read = v1.read(manifest, bytes.fromhex(self.producer.ticket.key))
            assert read.artifact.sha256 == sha256(artifact or b"").hexdigest()

    def check_done(self) -> None:
        assert self.producer.files() == self.expected
        assert self.producer.names() == {self.producer.ticket.artifact, v1.NAME}


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exports]:
    made = Exports(tmp_path_factory.mktemp("exports"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("candidate.export.Workspace", lambda _world, _path: made.told)
        yield made


starts = pytest.mark.parametrize("start", [FIRST, AGAIN])


@starts
@pytest.mark.parametrize(
    "fault",
    [KILLED, KILLED_IN_A_WRITE],
    ids=["before any operation", "in the middle of any write"],
)
def test_an_export_that_was_killed_is_run_again(fault: Fault, start: str, exports: Exports) -> None:
    for number in count(1):
        exports.before[start].restore()
        with saying(f"killed at operation {number}"):
            status = forked(exports.run, Faulty(fault, number))
            exports.check_pair()
            exports.run()
            exports.check_done()
        if not status:
            break
        assert status == -signal.SIGKILL
    # Sixteen operations, two of them writes.
    assert number == (17 if fault is KILLED else 3)


@starts
@pytest.mark.parametrize("fault", ERRORS.values(), ids=ERRORS)
def test_an_export_whose_operations_fail_says_so_and_is_run_again(
    fault: Fault, start: str, exports: Exports
) -> None:
    files = Faulty()
    for number in count(1):
        exports.before[start].restore()
        with saying(f"it strikes at operation {number} of those that it can"):
            files.arm(fault, number)
            found = outcome(exports.run, files)
            exports.check_pair()
            struck = files.struck
            assert isinstance(found, ImportFailed) == struck
            files.mend()
            exports.run(files)
            exports.check_done()
        if not struck:
            break
        assert found is not None
        assert found.code.name == "fileFailed"


def test_what_was_exported_after_a_kill_is_imported(exports: Exports) -> None:
    exports.before[AGAIN].restore()
    assert forked(exports.run, Faulty(KILLED, 15)) == -signal.SIGKILL
    assert exports.producer.files().manifest is None
    exports.run()
    exports.check_done()
    assert exports.scene.run().receipt.commits == exports.producer.manifest().commits
