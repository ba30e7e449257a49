"""The import of one candidate, as the eleven steps of design, section 4.

    1  open the export folder by descriptor, and compare its identity with the launch record
    2  read the manifest: capped, authenticated with the key of the launch, canonical
    3  bind it to the launch, and compare what it claims with the limits
    4  look at the artifact before any read: regular, one name, the size of the manifest
    5  read it once: into a private copy, a digest and packcheck
    6  packcheck's verdict: objects, ancestry and exact closure against the seeded set
    7  journal `verified`
    8  git's verdict, in a quarantine: the same objects, and files that are durable
    9  under L1: the base and the repository once more, then keep, pack, rev, idx, and the folder
    10 read back: the published pack, the candidate's commits, the base
    11 write the receipt

Every step may be killed at any point. The next import of the launch begins with what recovery does
(recover.py), and then ends with the same receipt or a typed refusal. The same numbers stand in
docs/concepts/import.md.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from importer import intake, publish, quarantine, recover
from importer.base import SeededSet
from importer.errors import (
    ARTIFACT_COUNT_MISMATCH,
    LAUNCH_DISCARDED,
    OTHER_CANDIDATE,
    RECEIPT_CONTRADICTED,
    ImportFailed,
    ImportRefused,
    translated,
)
from importer.journal import opened
from importer.lock import PATIENCE, taken
from importer.outcome import Made, receipt_of, refusal_of
from importer.verdict import Verdict, check_policy, object_list_digest
from manifest.binding import bind, check_claims
from manifest.errors import RecordError
from manifest.launch import Discarded, Publishing, Refused, Verified
from packparse.objectformat import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

    from importer.journal import LaunchFile
    from importer.lock import Lock
    from importer.quarantine import Indexed
    from importer.repository import Repository
    from importer.verdict import Found
    from manifest.receipt import Receipt
    from manifest.v1 import Manifest
    from packparse.report import Report

__all__ = ["ImportResult", "Step", "import_candidate"]


class Step(IntEnum):
    """The numbers of the steps, in messages, refusals and docs.

    Before the first one, what an earlier import left is finished or taken back.
    """

    BEFORE = 0
    ORIGIN = 1
    MANIFEST = 2
    BIND = 3
    LOOK = 4
    READ = 5
    VERIFY = 6
    JOURNAL = 7
    GIT = 8
    PUBLISH = 9
    READ_BACK = 10
    RECEIPT = 11


class ImportResult(NamedTuple):
    """An import that is done.

    ``report`` is packcheck's, None where the receipt was there before. ``seconds`` are those of
    each step, and ``held`` those that L1 was held.
    """

    receipt: Receipt
    report: Report | None
    seconds: dict[Step, float]
    held: float


def import_candidate(
    repository: Repository,
    launch: str,
    *,
    lock: Lock | None = None,
    patience: float = PATIENCE,
    on_step: Callable[[Step], None] | None = None,
) -> ImportResult:
    """Import the candidate of a launch, or find that it was imported.

    ``launch`` is the id of a launch in the repository's state. ``lock`` gives a context manager
    that holds the L1 of an engine; ours is taken where there is none. ``patience``: the seconds
    that another import of the launch, and then our L1, are waited for. ``on_step`` is told of each
    step as it begins.

    Raises ImportRefused with the code of what is wrong with the artifact, its manifest or its
    place; ImportFailed where something around it did not work, with the step, and whether the same
    call may succeed later. In both cases no ref, no configuration and no index was changed, no half
    pack is visible, and the artifact is where it was.
    """
    with translated(), opened(repository.state, launch, timeout=patience) as file:
        return _Import(repository, file, lock, patience, on_step).run()


class _Import:
    """One import under way; ``step`` is where it is."""

    def __init__(
        self,
        repository: Repository,
        file: LaunchFile,
        lock: Lock | None,
        patience: float,
        on_step: Callable[[Step], None] | None,
    ) -> None:
        self._repository = repository
        self._world = repository.world
        self._file = file
        self._record = file.record
        self._format = FORMATS[file.record.object_format]
        self._lock = repository.l1(lock, file.record.launch, patience)
        self._on_step = on_step
        self._seconds: dict[Step, float] = {}
        self._held = 0.0
        self._step = Step.BEFORE
        self._began = self._world.tick()
        self._artifact: str | None = None

    def run(self) -> ImportResult:
        try:
            with translated(lambda: self._step):
                return self._run()
        except ImportRefused as refused:
            self._note_refusal(refused)
            raise

    def _run(self) -> ImportResult:
        self._check_alive()
        self._repository.check(self._record.common_dir)
        # What an earlier import left is finished or taken back before anything new is begun.
        recover.settle(self._repository, self._file, self._lock)
        # A launch whose preparation did not end is given up by that.
        self._check_alive()
        receipt = self._file.receipt()
        if receipt is not None and publish.is_whole(self._repository, receipt):
            return ImportResult(receipt, None, self._seconds, self._held)
        return self._all_steps(receipt)

    def _check_alive(self) -> None:
        if self._file.last(Discarded) is not None:
            raise ImportRefused(LAUNCH_DISCARDED, f"launch {self._record.launch} was discarded")

    def _all_steps(self, known: Receipt | None) -> ImportResult:
        files = self._world.files
        with ExitStack() as stack:
            self._begin(Step.ORIGIN)
            origin = stack.enter_context(intake.open_origin(self._world, self._record.export))
            manifest = self._read_manifest(origin)
            self._begin(Step.LOOK)
            artifact = intake.open_artifact(self._world, manifest.artifact, at=origin)
            opened = stack.enter_context(artifact)
            self._begin(Step.READ)
            verdict = self._verdict(manifest)
            copy = stack.enter_context(
                intake.stage(
                    self._world, opened, manifest.artifact, verdict.feed, at=self._file.folder
                )
            )
            self._artifact = manifest.artifact.sha256
            self._begin(Step.VERIFY)
            found = verdict.finish(lambda at, length: os.pread(copy, length, at))
            self._compare(manifest, found)
            self._begin(Step.JOURNAL)
            verified = self._note_verdict(manifest)
            self._begin(Step.GIT)
            name = stack.enter_context(
                quarantine.quarantined(self._repository, self._record.launch)
            )
            folder = stack.enter_context(files.folder(name, at=self._repository.objects))
            indexed = self._index(name, folder, copy, found)
            objects = object_list_digest(found.oids)
            made = Made(manifest, found, indexed, objects, self._file.launched, verified)
            self._begin(Step.PUBLISH)
            receipt = self._publish(made, folder, known)
        self._begin(Step.READ_BACK)
        self._repository.check(self._record.common_dir)
        publish.read_back(self._repository, receipt)
        self._begin(Step.RECEIPT)
        if known is None:
            self._file.write_receipt(receipt)
        self._end()
        return ImportResult(receipt, found.report, self._seconds, self._held)

    # Steps 2 and 3

    def _read_manifest(self, origin: int) -> Manifest:
        self._begin(Step.MANIFEST)
        key = bytes.fromhex(self._record.key)
        manifest = intake.read_manifest(self._world, key, at=origin)
        self._begin(Step.BIND)
        bind(manifest, self._record)
        check_claims(manifest, self._record.made_limits())
        return manifest

    # Steps 5 and 6

    def _verdict(self, manifest: Manifest) -> Verdict:
        record = self._record
        base = bytes.fromhex(record.base)
        seeded = SeededSet(
            self._repository.reader,
            self._format,
            [base],
            full=record.seed.kind == "full",
            boundary=frozenset(map(bytes.fromhex, record.seed.boundary)),
        )
        policy = record.policy.made()
        check_policy(policy)
        publish.check_base(self._repository, record.base)
        return Verdict(
            self._repository.reader,
            seeded,
            object_format=self._format,
            bases=frozenset([base]),
            candidate=bytes.fromhex(manifest.candidate),
            policy=policy,
            limits=record.made_limits(),
            name=manifest.artifact.name,
            length=manifest.artifact.bytes,
        )

    def _compare(self, manifest: Manifest, found: Found) -> None:
        """Compare what was found with what the manifest says of it."""
        if len(found.oids) != manifest.artifact.objects:
            message = f"{len(found.oids)} objects, and {manifest.artifact.objects} by the manifest"
            raise ImportRefused(ARTIFACT_COUNT_MISMATCH, message, report=found.report)
        listed = list(map(bytes.fromhex, manifest.commits))
        if found.commits != set(listed):
            message = "the commits are not those that the manifest lists"
            raise ImportRefused(ARTIFACT_COUNT_MISMATCH, message, report=found.report)
        early = found.misplaced(listed)
        if early is not None:
            message = f"the manifest lists {early.hex()} before a parent of it"
            raise ImportRefused(ARTIFACT_COUNT_MISMATCH, message, report=found.report)

    # Steps 7 and 8

    def _note_verdict(self, manifest: Manifest) -> int:
        """Note in the journal that the first verdict accepts; when that was, in seconds."""
        event = Verified(
            at=self._world.seconds(),
            artifact=manifest.artifact.sha256,
            candidate=manifest.candidate,
        )
        self._file.append(event)
        return event.at

    def _index(self, name: str, folder: int, copy: int, found: Found) -> Indexed:
        with self._repository.quarantine_bench(name) as bench:
            return quarantine.index(
                bench,
                folder,
                copy,
                begin=found.begin,
                repository=self._repository,
                limits=self._record.made_limits(),
                relaxed=found.relaxed,
                expected=found.oids,
                bases=found.bases,
                keep=[] if self._file.lock is None else [self._file.lock],
            )

    # Step 9

    def _publish(self, made: Made, folder: int, known: Receipt | None) -> Receipt:
        repository = self._repository
        with taken(self._lock):
            began = self._world.tick()
            repository.check(self._record.common_dir)
            publish.check_base(repository, self._record.base)
            if known is None:
                stem = publish.choose(repository, made.indexed)
                receipt = receipt_of(self._record, made, stem, at=self._world.seconds())
                self._file.append(Publishing(at=receipt.times.published, receipt=receipt))
            else:
                receipt = _same(known, made)
            with self._world.files.folder("pack", at=folder) as packs:
                publish.link(repository, made.indexed, receipt.pack, self._record.launch, at=packs)
            self._held = self._world.tick() - began
        return receipt

    # Around the steps

    def _begin(self, step: Step) -> None:
        self._end()
        self._step = step
        if self._on_step is not None:
            self._on_step(step)

    def _end(self) -> None:
        now = self._world.tick()
        self._seconds[self._step] = self._seconds.get(self._step, 0.0) + now - self._began
        self._began = now

    def _note_refusal(self, refused: ImportRefused) -> None:
        """Leave a refusal receipt. Where that fails, the refusal is raised all the same."""
        try:
            now = self._world.seconds()
            refusal = refusal_of(self._record, refused, artifact=self._artifact, at=now)
            self._file.write_refusal(refusal)
            self._file.append(Refused(at=now, code=refused.code.name))
        except (OSError, RecordError, ImportFailed) as error:
            refused.add_note(f"the refusal could not be recorded: {error}")


def _same(known: Receipt, made: Made) -> Receipt:
    """The receipt that was written already, if it is for this artifact."""
    if known.artifact != made.manifest.artifact:
        message = f"the receipt is for {known.candidate}, here is {made.manifest.candidate}"
        raise ImportRefused(OTHER_CANDIDATE, message)
    digests = made.indexed.digests
    if (digests[".pack"], digests[".idx"]) != (known.pack.sha256, known.pack.index):
        message = "git makes another pack or index of the same artifact than it made before"
        raise ImportRefused(RECEIPT_CONTRADICTED, message)
    return known
