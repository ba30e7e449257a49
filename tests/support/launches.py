"""Make launches and what their producers hand back: a host, a candidate on it, an export (A47).

The launch command is not there yet; what it will do is done here by hand: a launch record in the
state folder, an export folder, and in it a bundle and a manifest.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from importer.repository import Repository, folder_record
from importer.state import State
from importer.steps import ImportResult, import_candidate
from importer.world import World
from manifest import v1
from manifest.launch import Launch, PolicyText, Seed
from manifest.v1 import Artifact, Manifest, Workspace
from tests.support.gitrepo import EMAIL, EPOCH, NAME, git, init, make_history, pack_revs

KEY = "5e" * 32
LAUNCH = "ab" * 16
ARTIFACT = "candidate.bundle"
Format = Literal["sha1", "sha256"]
# Paths to contents; None removes a file. `"<mode> "` before a path is another mode than 100644.
Changes = Mapping[str, bytes | None]


@dataclass
class Host:
    """A repository on the host, and commits on its base that a producer made elsewhere."""

    repo: Path
    base: str
    fmt: Format
    producer: Path
    commits: list[str] = field(default_factory=list)

    @property
    def candidate(self) -> str:
        return self.commits[-1]

    @property
    def common(self) -> Path:
        told = git(self.repo, "rev-parse", "--path-format=absolute", "--git-common-dir")
        return Path(told.stdout.decode().rstrip("\n"))

    def commit(self, changes: Changes, *, parent: str | None = None) -> str:
        """Let the producer make a commit; return its id."""
        before = parent or (self.commits[-1] if self.commits else self.base)
        oid = commit(self.producer, before, changes, len(self.commits))
        self.commits.append(oid)
        return oid

    def bundle(self, *, thin: bool = False, ref: str = "refs/heads/candidate") -> bytes:
        """The bundle of what the producer made."""
        options = ["--thin"] if thin else []
        pack = pack_revs(self.producer, self.candidate, f"^{self.base}", options=options)
        return header(self.fmt, self.base, self.candidate, ref) + pack


def header(fmt: str, base: str, tip: str, ref: str = "refs/heads/candidate") -> bytes:
    """Return the header of a bundle with one prerequisite and one ref."""
    first = "# v2 git bundle\n" if fmt == "sha1" else f"# v3 git bundle\n@object-format={fmt}\n"
    return f"{first}-{base} \n{tip} {ref}\n\n".encode()


def commit(repo: Path, parent: str, changes: Changes, number: int = 0) -> str:
    """Make a commit on `parent`, or a first one, without a worktree; return its id."""
    lines = [
        b"commit refs/heads/made",
        f"committer {NAME} <{EMAIL}> {EPOCH + 10_000 + number} +0000".encode(),
        b"data 8\nchange %d" % (number % 10),
        *([f"from {parent}".encode()] if parent else []),
    ]
    for path, content in changes.items():
        mode, name = (path[:6], path[7:]) if path[:6].isdigit() else ("100644", path)
        if content is None:
            lines.append(f"D {name}".encode())
        else:
            lines.append(f"M {mode} inline {name}".encode())
            lines.append(b"data %d\n%b" % (len(content), content))
    stream = b"\n".join([*lines, b"done\n"])
    git(repo, "fast-import", "--quiet", "--done", "--force", input=stream)
    return git(repo, "rev-parse", "refs/heads/made").stdout.decode().strip()


def make_host(folder: Path, fmt: Format = "sha1", *, shape: str = "plain") -> Host:
    """Make a host of a shape, packed, with three commits.

    It is plain, bare, shallow, partial (a clone without blobs), or a worktree.
    """
    origin = init(folder / "origin", fmt)
    make_history(origin, 3, 6)
    git(origin, "repack", "-adq")
    repo = folder / "host"
    if shape == "plain":
        origin.rename(repo)
        git(repo, "reset", "--hard", "-q", "main")
    elif shape == "bare":
        git(folder, "clone", "-q", "--bare", str(origin), str(repo))
    elif shape == "shallow":
        git(folder, "clone", "-q", "--depth=1", origin.as_uri(), str(repo))
    elif shape == "partial":
        git(origin, "config", "uploadpack.allowFilter", "true")
        git(folder, "clone", "-q", "--no-checkout", "--filter=blob:none", origin.as_uri(),
            str(repo))  # fmt: skip
    else:
        main = folder / "main"
        git(folder, "clone", "-q", str(origin), str(main))
        git(main, "worktree", "add", "-q", "--detach", str(repo), "HEAD")
    base = git(repo, "rev-parse", "HEAD").stdout.decode().strip()
    producer = init(folder / "producer", fmt, bare=True)
    git(producer, "fetch", "-q", *(["--depth=1"] if shape == "shallow" else []),
        (origin if origin.exists() else repo).as_uri(), "HEAD")  # fmt: skip
    return Host(repo, base, fmt, producer)


def copy_host(host: Host, folder: Path) -> Host:
    """A copy of a plain or bare host in another folder, with the same commits."""
    shutil.copytree(host.repo, folder / "host", symlinks=True)
    shutil.copytree(host.producer, folder / "producer", symlinks=True)
    return Host(folder / "host", host.base, host.fmt, folder / "producer", list(host.commits))


@dataclass
class Scene:
    """A launch on a host: its record, its state folder, its export folder."""

    host: Host
    folder: Path
    record: Launch

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def export(self) -> Path:
        return Path(self.record.export.location)

    def manifest(self, bundle: bytes, **changes: object) -> Manifest:
        """The manifest of an honest producer for `bundle`, with `changes`."""
        host, record = self.host, self.record
        artifact = Artifact(
            name=record.artifact,
            bytes=len(bundle),
            sha256=sha256(bundle).hexdigest(),
            objects=objects_in(bundle),
        )
        manifest = v1.offered(record, artifact, list(host.commits), Workspace(dirty=0, paths=[]))
        return msgspec.structs.replace(manifest, **changes)

    def offer(
        self, bundle: bytes | None = None, *, key: str | None = None, **changes: object
    ) -> Manifest:
        """Put a bundle and its manifest into the export folder."""
        bundle = self.host.bundle() if bundle is None else bundle
        manifest = self.manifest(bundle, **changes)
        (self.export / self.record.artifact).write_bytes(bundle)
        data = v1.write(manifest, bytes.fromhex(key or self.record.key))
        (self.export / v1.NAME).write_bytes(data)
        return manifest

    @contextmanager
    def opened(self, world: World | None = None) -> Iterator[Repository]:
        """The host, opened for imports."""
        with (
            State(str(self.state), world) as state,
            Repository(str(self.host.repo), state) as repository,
        ):
            yield repository

    def run(self, world: World | None = None) -> ImportResult:
        """Import what was offered."""
        with self.opened(world) as repository:
            return import_candidate(repository, self.record.launch)


def objects_in(bundle: bytes) -> int:
    """The number of objects that the pack of a bundle claims."""
    at = bundle.find(b"PACK")
    return int.from_bytes(bundle[at + 8 : at + 12], "big") if at >= 0 else 0


def launch(
    host: Host,
    folder: Path,
    *,
    name: str = LAUNCH,
    full: bool = False,
    boundary: list[str] | None = None,
    limits: dict[str, int] | None = None,
    policy: PolicyText | None = None,
    key: str = KEY,
    world: World | None = None,
) -> Scene:
    """Record a launch in the state folder below `folder`, and make its export folder."""
    export = folder / f"export-{name[-6:]}"
    export.mkdir()
    with (
        State(str(folder / "state"), world) as state,
        state.world.files.folder(str(export)) as descriptor,
        Repository(str(host.repo), state) as repository,
    ):
        record = Launch(
            launch=name,
            issue="owner/repo#269",
            run="run-7",
            phase="FIX",
            repository="owner/repo",
            object_format=host.fmt,
            base=host.base,
            seed=Seed(kind="full" if full else "depth-one", boundary=boundary or []),
            export=folder_record(str(export), descriptor),
            common_dir=repository.folder,
            artifact=ARTIFACT,
            policy=policy or PolicyText(name="candidate"),
            limits=limits or {},
            key=key,
        )
        state.add(record)
    return Scene(host, folder, record)
