"""One host for many candidates that are written by hand, and what an import makes of each.

A refused import leaves the host as it was, so any number of cases can share one; every case gets a
launch of its own. Manifests are spelt without the code under test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack

import msgspec
import pytest

from importer.durable import Files
from importer.errors import ImporterError, ImportFailed, ImportRefused
from importer.launches import show
from importer.repository import Repository, folder_record
from importer.state import State
from importer.steps import ImportResult, Step, import_candidate
from manifest.launch import Launch, PolicyText, Seed
from packparse.codes import ERROR
from tests.support import manifests
from tests.support.candidates import TIP, Candidate, Folder, Store, link, program
from tests.support.gitrepo import git, init, install_pack
from tests.support.launches import Format, Host, Scene, header, launch, objects_in
from tests.support.manifests import Document
from tests.support.packs import PackBuilder
from tests.support.untouched import only_packs_added, untouched

# Puts the objects of a tree into a store, and gives its id.
Tree = Callable[[Store], bytes]
CORRUPT, USAGE, POLICY, LIMIT, INCOMPLETE, ENVIRONMENT = range(1, 7)

FOLDER: Folder = {
    b"a": b"file a\n",
    b"dir": {b"b": b"file b\n" * 40, b"c": b"file c\n"},
    b"run": program(b"#!/bin/sh\n"),
    b"to-a": link(b"a"),
}
OLD = b"deleted long ago\n"
SECRET = b"of another branch\n" * 20
LOST = b"of no branch at all\n"


@dataclass(frozen=True)
class Offer:
    """What a producer hands back: a bundle, and the commits that it says are in there."""

    bundle: bytes
    candidate: str
    commits: list[str]


class Names(NamedTuple):
    """The commits of a host; see `Gate`."""

    root: bytes
    base: bytes
    side: bytes


class Asked(TypedDict, total=False):
    """How an import is asked for."""

    lock: Callable[[], AbstractContextManager[object]]
    patience: float
    on_step: Callable[[Step], None]


@dataclass
class Gate:
    """An open host: a gate between what producers make and what it has.

    ``base`` has a parent, ``root``, which another branch, ``side``, builds on.
    """

    folder: Path
    repo: Path
    fmt: Format
    store: Store
    root: bytes
    base: bytes
    side: bytes
    repository: Repository
    template: Launch
    count: int = field(default=0)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def names(self) -> Names:
        return Names(self.root, self.base, self.side)

    def launch(
        self,
        *,
        limits: dict[str, int] | None = None,
        policy: PolicyText | None = None,
        full: bool = False,
        boundary: Sequence[bytes] = (),
        **changes: object,
    ) -> Scene:
        """A launch of its own, with an empty export folder."""
        self.count += 1
        name = f"{self.count:032x}"
        export = self.folder / f"export-{self.count}"
        export.mkdir()
        with Files().folder(str(export)) as descriptor:
            place = folder_record(str(export), descriptor)
        record = msgspec.structs.replace(
            self.template,
            launch=name,
            export=place,
            limits=limits or {},
            policy=policy or self.template.policy,
            seed=Seed(
                kind="full" if full else "depth-one", boundary=[oid.hex() for oid in boundary]
            ),
            **changes,
        )
        self.repository.state.add(record)
        return Scene(self._host(), self.folder, record)

    def _host(self) -> Host:
        return Host(self.repo, self.base.hex(), self.fmt, self.folder)

    # What a producer makes

    def fresh(self) -> bytes:
        """Content that no other object of the host or of a candidate has."""
        self.count += 1
        return b"content %d\n" % self.count

    def upon(
        self, *trees: Folder | bytes, parents: tuple[bytes, ...] = (), **more: bytes
    ) -> Candidate:
        """A candidate of commits with these trees, one upon the other, on the base."""
        new = Store(self.fmt)
        tip = self.base
        for number, tree in enumerate(trees):
            before = (tip, *parents)
            more.setdefault("message", b"commit %d\n" % number)
            tip = new.commit(tree, *before, **more)
        return self.of(new, tip)

    def of(self, new: Store, tip: bytes) -> Candidate:
        """A candidate of these objects that ends in a commit."""
        given = self.store.seed(self.base)
        return Candidate(self.store, new, (self.base,), {TIP: tip}, given)

    def honest(self) -> Offer:
        """A small candidate that nothing is wrong with, and that no other test has."""
        return self.offered(self.upon({**FOLDER, b"new": self.fresh()}))

    def packing(self, candidate: Candidate, *, level: int = 6) -> PackBuilder:
        """The pack of an honest exporter, to which more can be added."""
        pack = PackBuilder(self.fmt)
        for oid, (kind, data) in candidate.new.objects.items():
            if oid not in self.store.objects:
                pack.add(kind, data, level=level)
        return pack

    def odd(self, *add: Callable[[PackBuilder], object], **build: int | bytes) -> Offer:
        """An honest candidate whose pack has more entries, or is built with a lie."""
        candidate = self.upon({**FOLDER, b"new": self.fresh()})
        pack = self.packing(candidate)
        for entry in add:
            entry(pack)
        return self.offered(candidate, pack=pack.build(**build))  # type: ignore[arg-type]

    def offered(self, candidate: Candidate, *, pack: bytes | None = None) -> Offer:
        """What an honest exporter makes of a candidate; ``pack`` takes the place of its pack."""
        tip = candidate.tips[TIP].hex()
        commits = [
            oid.hex() for oid, (kind, _data) in candidate.new.objects.items() if kind == "commit"
        ]
        head = header(self.fmt, self.base.hex(), tip)
        return Offer(head + (candidate.pack()[0] if pack is None else pack), tip, commits)

    def document(self, record: Launch, offer: Offer) -> Document:
        """The manifest of an honest exporter."""
        return {
            "format": "packcheck.manifest/1",
            "issue": record.issue,
            "run": record.run,
            "phase": record.phase,
            "launch": record.launch,
            "repository": record.repository,
            "object_format": record.object_format,
            "base": record.base,
            "candidate": offer.candidate,
            "artifact": {
                "name": record.artifact,
                "bytes": len(offer.bundle),
                "sha256": sha256(offer.bundle).hexdigest(),
                "objects": objects_in(offer.bundle),
            },
            "commits": offer.commits,
            "state": "offered",
            "workspace": {"dirty": 0, "paths": []},
        }

    def put(
        self,
        scene: Scene,
        offer: Offer,
        forge: Callable[[Document], object] | None = None,
        *,
        key: str | None = None,
    ) -> None:
        """Put a bundle and its manifest, which ``forge`` may change, into the export folder."""
        document = self.document(scene.record, offer)
        if forge is not None:
            forge(document)
        (scene.export / scene.record.artifact).write_bytes(offer.bundle)
        self.put_manifest(scene, manifests.spelt(document), key=key)

    def put_manifest(self, scene: Scene, body: bytes, *, key: str | None = None) -> None:
        """Put a manifest with this body into the export folder."""
        data = manifests.sealed(body, bytes.fromhex(key or scene.record.key))
        (scene.export / "manifest.json").write_bytes(data)

    # What an import makes of it

    def run(self, scene: Scene, **more: Unpack[Asked]) -> ImportResult:
        """Import what was put there."""
        return import_candidate(self.repository, scene.record.launch, **more)

    def refuse(
        self,
        scene: Scene,
        code: str,
        klass: int,
        step: int,
        *,
        failed: bool = False,
        bent: bool = False,
        **more: Unpack[Asked],
    ) -> ImporterError:
        """Import, and be refused with a code, while nothing of the host or the export changes.

        ``bent``: what is asked of the import changes the export itself.
        """
        rooms = _names(self.state / "work")
        offered = _listed(scene.export)
        with untouched(self.repo), pytest.raises(ImporterError) as caught:
            self.run(scene, **more)
        error = caught.value
        assert bent or _listed(scene.export) == offered
        assert (error.code.name, error.code.klass, error.step) == (code, klass, step), error.message
        assert type(error) is (ImportFailed if failed else ImportRefused)
        assert error.message.isascii()
        assert error.message.isprintable()
        assert _names(self.state / "work") == rooms
        self._check_note(scene, error)
        return error

    def _check_note(self, scene: Scene, error: ImporterError) -> None:
        """A refusal is written down, a failure is not; there is no receipt, and no leftover."""
        launch_id = scene.record.launch
        shown = show(self.repository.state, launch_id)
        assert shown.receipt is None
        names = {"journal", "lock"}
        if isinstance(error, ImportRefused):
            note = shown.refusal
            assert note is not None
            assert (note.code, note.klass, note.step) == (
                error.code.name,
                error.code.klass,
                error.step,
            )
            assert shown.state == "refused"
            names.add("refusal.json")
        assert _names(self.state / "launches" / launch_id) == names

    def accept(self, scene: Scene, **more: Unpack[Asked]) -> ImportResult:
        """Import, and find that files of one pack were added, and that nothing was changed."""
        with only_packs_added(self.repo, self.repo / ".git") as added:
            result = self.run(scene, **more)
        stem = result.receipt.pack.name
        endings = {name.removeprefix(stem) for name in added}
        assert endings - {".rev"} == {".keep", ".pack", ".idx"}, added
        return result


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _listed(folder: Path) -> list[tuple[str, int, int, int]]:
    """What is in a folder, without reading it: some files are too large for that."""
    if not folder.is_dir():
        return []
    found = [(path.name, path.lstat()) for path in sorted(folder.iterdir())]
    return [(name, status.st_ino, status.st_size, status.st_mtime_ns) for name, status in found]


def errors(error: ImporterError) -> set[str]:
    """The codes of all errors in the report of a refusal."""
    assert isinstance(error, ImportRefused)
    assert error.report is not None
    found = error.report.findings.sorted()
    return {finding.code.name for finding in found if finding.severity == ERROR}


def make_host(folder: Path, fmt: Format = "sha1", tree: Tree | None = None) -> tuple[Store, Names]:
    """Make a repository with a history, two branches, and objects that no branch reaches.

    ``tree`` makes the base's tree; by default it is that of `FOLDER`.
    """
    store = Store(fmt)
    root = store.commit({b"a": b"the first a\n", b"old": OLD}, message=b"root\n")
    base = store.commit(tree(store) if tree else FOLDER, root, message=b"base\n")
    side = store.commit({**FOLDER, b"secret": SECRET}, root, message=b"side\n")
    store.put("blob", LOST)
    pack = PackBuilder(fmt)
    for kind, data in store.objects.values():
        pack.add(kind, data)
    repo = init(folder / "host", fmt)
    install_pack(repo, pack.build())
    for name, oid in (("heads/side", side), ("tags/v1", root), ("heads/main", base)):
        git(repo, "update-ref", f"refs/{name}", oid.hex())
    git(repo, "pack-refs", "--all")
    git(repo, "update-ref", "refs/heads/topic", base.hex())
    # That of the base may be one that git does not take into an index.
    git(repo, "read-tree", "side")
    git(repo, "fetch", "-q", ".", "side")
    return store, Names(root, base, side)


@contextmanager
def opened_gate(folder: Path, store: Store, names: Names) -> Iterator[Gate]:
    """Open the host in a folder, with a state folder of its own."""
    fmt: Format = "sha1" if store.fmt == "sha1" else "sha256"
    repo = folder / "host"
    template = launch(Host(repo, names.base.hex(), fmt, folder), folder).record
    with (
        State(str(folder / "state")) as state,
        Repository(str(repo), state) as repository,
    ):
        yield Gate(folder, repo, fmt, store, *names, repository, template)


@contextmanager
def made_gate(folder: Path, fmt: Format = "sha1", tree: Tree | None = None) -> Iterator[Gate]:
    """Make a host and open it."""
    store, names = make_host(folder, fmt, tree)
    with opened_gate(folder, store, names) as gate:
        yield gate
