"""The world of a producer: a workspace at the base, and an export folder with ticket and script."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from candidate import cli
from candidate.export import export, script
from manifest import ticket, v1
from manifest.ticket import Ticket
from tests.support.gitrepo import git, init
from tests.support.launches import Format, Scene, launch, make_host


class Files(NamedTuple):
    """What a reader finds in the export folder, None where there is nothing."""

    artifact: bytes | None
    manifest: bytes | None


class Said(NamedTuple):
    """How the script ended, and what it said."""

    status: int
    out: str
    err: str


@dataclass
class Producer:
    """The producer's side of a launch."""

    workspace: Path
    export: Path
    ticket: Ticket
    # What the next export gives, where that is known.
    expected: Files | None = None

    def git(self, *arguments: str | bytes | Path, given: bytes = b"") -> str:
        """Run git in the workspace; what it says."""
        done = git(self.workspace, *arguments, input=given)
        return done.stdout.decode(errors="surrogateescape").rstrip("\n")

    def write(self, files: Mapping[str | bytes, str]) -> None:
        for name, text in files.items():
            path = self.workspace / os.fsdecode(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, files: Mapping[str | bytes, str]) -> str:
        """Commit files; the id of the commit."""
        self.write(files)
        self.git("add", "--", *files)
        self.git("commit", "-q", "-m", "work")
        return self.git("rev-parse", "HEAD")

    def files(self) -> Files:
        found = [self.export / name for name in (self.ticket.artifact, v1.NAME)]
        return Files(*[path.read_bytes() if path.is_file() else None for path in found])

    def put(self, files: Files) -> None:
        for name, data in zip((self.ticket.artifact, v1.NAME), files, strict=True):
            assert data is not None
            (self.export / name).write_bytes(data)

    def manifest(self) -> v1.Manifest:
        """What was exported; its seal is right, and the artifact is the one that it speaks of."""
        artifact, data = self.files()
        assert artifact is not None
        assert data is not None
        manifest = v1.read(data, bytes.fromhex(self.ticket.key))
        assert manifest.artifact.bytes == len(artifact)
        return manifest

    def names(self) -> set[str]:
        """The names in the export folder, but those that a launch puts there."""
        return {path.name for path in self.export.iterdir()} - {ticket.NAME, ticket.SCRIPT}

    def by_command(self, *arguments: str) -> int:
        """Run ``git candidate export`` in this process; its status."""
        to = ("--workspace", str(self.workspace), "--to", str(self.export))
        return cli.main(["export", *to, *arguments])

    def by_script(self, *shell: str, path: str = "", at: str = ".") -> Said:
        """Run the script below the workspace, as a producer does; it leads a group of its own."""
        done = subprocess.run(
            [*(shell or ("sh",)), str(self.export / ticket.SCRIPT)],
            cwd=self.workspace / at,
            env={"PATH": path or os.environ["PATH"], "HOME": "/nonexistent"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            start_new_session=True,
            check=False,
        )
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


def make_producer(folder: Path, fmt: Format = "sha1") -> tuple[Scene, Producer]:
    """A launch, and its producer, which has the base of the host and nothing before it."""
    host = make_host(folder, fmt)
    workspace = init(folder / "workspace", fmt)
    git(workspace, "fetch", "-q", "--depth=1", host.repo.as_uri(), "HEAD")
    git(workspace, "checkout", "-q", "-b", "candidate", "FETCH_HEAD")
    scene = launch(host, folder)
    return scene, _given(workspace, scene.export, Ticket.of(scene.record))


def make_ready(made: Producer, folder: Path) -> Producer:
    """A producer that has exported one commit, and has made another one since."""
    producer = copy_producer(made, folder)
    written: list[Files] = []
    for text in ("new\n", "newer\n"):
        producer.commit({"new": text * 50})
        export(str(producer.workspace), str(producer.export))
        written.append(producer.files())
    producer.put(written[0])
    producer.expected = written[1]
    return producer


def copy_producer(made: Producer, folder: Path) -> Producer:
    """A producer in another folder with the same launch, and the same in its workspace."""
    shutil.copytree(made.workspace, folder / "workspace", symlinks=True)
    (folder / "export").mkdir()
    producer = _given(folder / "workspace", folder / "export", made.ticket)
    producer.expected = made.expected
    if made.expected is not None:
        producer.put(made.files())
    return producer


def _given(workspace: Path, export: Path, told: Ticket) -> Producer:
    (export / ticket.NAME).write_bytes(ticket.write(told))
    (export / ticket.SCRIPT).write_bytes(script())
    return Producer(workspace, export, told)


def both(producer: Producer, capsys: pytest.CaptureFixture[str]) -> None:
    """Export with both, and compare all that they write and say."""
    assert producer.by_command() == 0
    told = capsys.readouterr().out
    written = producer.files()
    said = producer.by_script()
    # What git warns of, such as a long path, the script lets through.
    assert (said.status, said.out) == (0, told), said
    assert producer.files() == written
    assert producer.names() == {producer.ticket.artifact, v1.NAME}


# What the script needs of POSIX, and git.
UTILITIES = ("awk", "cat", "cut", "env", "git", "mv", "od", "paste", "rm", "sed", "sort", "wc")


def utilities(folder: Path, names: Sequence[str]) -> str:
    """A folder that has these programs and no others, as a search path."""
    folder.mkdir()
    for name in names:
        found = shutil.which(name)
        assert found is not None, name
        (folder / name).symlink_to(found)
    return str(folder)
