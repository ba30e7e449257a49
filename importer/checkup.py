"""Both verdicts on an arbitrary bundle, beside a repository and its base; nothing is imported.

What an import says of a candidate after it was bound to its launch, said of any file: the same
steps 5, 6 and 8. The quarantine lies in the state folder's work room, so the repository is only
read.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from importer import publish, quarantine
from importer.base import SeededSet
from importer.durable import check_path, pieces, read_up_to
from importer.errors import ImportFailed, ImportRefused, translated
from importer.verdict import Verdict, check_policy
from packparse.bundle import BundleHeader
from packparse.codes import CANNOT_READ
from packparse.errors import PackError
from packparse.escape import shorten
from packparse.findings import Findings

if TYPE_CHECKING:
    from importer.repository import Repository
    from importer.state import Workroom
    from importer.verdict import Found
    from packparse.limits import Limits
    from packparse.policy import Policy
    from packparse.report import Report

__all__ = ["Checked", "Wanted", "check_bundle"]


class Wanted(NamedTuple):
    """What a bundle is checked for.

    ``bases`` are raw ids of commits that the producer was given, with their trees; ``full``: with
    their whole history. ``tip`` is the commit that the bundle has to bring; None stands for that of
    the first ref of its header that is no base.
    """

    bases: frozenset[bytes]
    tip: bytes | None
    policy: Policy
    limits: Limits
    full: bool = False


class Checked(NamedTuple):
    """Two verdicts. ``refused`` is None where both accept.

    ``report`` is packcheck's. ``relaxed`` are the fsck ids that git was told to pass; None where
    git was not asked, since packcheck refuses. ``chosen`` is the ref that was taken for the tip of
    several; None where there was nothing to choose.
    """

    report: Report | None
    refused: ImportRefused | None
    relaxed: tuple[str, ...] | None
    chosen: bytes | None = None

    @property
    def klass(self) -> int:
        """0 when accepted, else the class of the refusal, which is the exit status as well."""
        return 0 if self.refused is None else self.refused.code.klass


def check_bundle(repository: Repository, path: str, wanted: Wanted) -> Checked:
    """Check the bundle at ``path``, made from commits of a repository.

    Raises ImportFailed, and ImportRefused (baseMissing, notRelaxable) for what is not the bundle's
    fault; what is wrong with the bundle is in the answer.
    """
    check_path(path)
    with translated():
        check_policy(wanted.policy)
        for base in sorted(wanted.bases):
            publish.check_base(repository, base.hex())
        with repository.state.workroom() as room:
            try:
                copy = _copy(repository, room, path, wanted.limits)
            except ImportRefused as refused:
                return Checked(None, refused, None)
            try:
                return _check(repository, room, copy, path, wanted)
            finally:
                os.close(copy)


def _check(repository: Repository, room: Workroom, copy: int, name: str, wanted: Wanted) -> Checked:
    object_format = repository.object_format
    chosen, tip = (None, wanted.tip) if wanted.tip else _likely_tip(copy, wanted)
    verdict = Verdict(
        repository.reader,
        SeededSet(repository.reader, object_format, wanted.bases, full=wanted.full),
        object_format=object_format,
        bases=wanted.bases,
        candidate=tip,
        policy=wanted.policy,
        limits=wanted.limits,
        name=name,
        length=os.fstat(copy).st_size,
    )
    for piece in pieces(copy):
        verdict.feed(piece)
    try:
        found = verdict.finish(lambda at, length: os.pread(copy, length, at))
    except ImportRefused as refused:
        return Checked(refused.report, refused, None, chosen)
    try:
        _ask_git(repository, room, copy, found, wanted.limits)
    except ImportRefused as refused:
        return Checked(found.report, refused, found.relaxed, chosen)
    return Checked(found.report, None, found.relaxed, chosen)


def _ask_git(
    repository: Repository, room: Workroom, copy: int, found: Found, limits: Limits
) -> None:
    repository.world.files.make_folder("objects", at=room.folder)
    with (
        repository.world.files.folder("objects", at=room.folder) as folder,
        repository.bench(f"{room.path}/objects") as bench,
    ):
        quarantine.index(
            bench,
            folder,
            copy,
            begin=found.begin,
            repository=repository,
            limits=limits,
            relaxed=found.relaxed,
            expected=found.oids,
            bases=found.bases,
        )


def _copy(repository: Repository, room: Workroom, path: str, limits: Limits) -> int:
    """A private copy of a file that is within the limit; its name goes with the room."""
    files = repository.world.files
    shown = shorten(os.fsencode(path))
    try:
        # Somebody's own file: a link to it will do. O_NONBLOCK: a FIFO must not wait for a writer.
        source = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise ImportFailed(CANNOT_READ, f"{shown}: {error.strerror}", retry=False) from None
    try:
        status = os.fstat(source)
        if not stat.S_ISREG(status.st_mode):
            raise ImportFailed(CANNOT_READ, f"{shown} is not a regular file", retry=False)
        _check_size(status.st_size, limits, shown)
        copy = files.create("copy", at=room.folder)
        try:
            length = 0
            for piece in pieces(source):
                length += len(piece)
                # Somebody may write to it all the while.
                _check_size(length, limits, shown)
                files.write(copy, piece)
        except BaseException:
            os.close(copy)
            raise
        return copy
    finally:
        os.close(source)


def _check_size(size: int, limits: Limits, shown: str) -> None:
    if size > limits.pack_bytes:
        passed = limits.passed("pack_bytes", size, f"{shown} has")
        raise ImportRefused(passed.code, passed.message)


def _likely_tip(copy: int, wanted: Wanted) -> tuple[bytes | None, bytes | None]:
    """What a bundle most likely brings: the commit of its first ref that is no base.

    With the name of that ref where there are others; None for both where no header can be read.
    What is wrong with the header is for the verdict to say.
    """
    header = BundleHeader(wanted.limits, Findings())
    try:
        header.feed(read_up_to(copy, wanted.limits.bundle_header_bytes))
    except PackError:
        return None, None
    refs = [*header.refs.items()]
    if not refs:
        return None, None
    name, tip = next((ref for ref in refs if ref[1] not in wanted.bases), refs[0])
    return (name if len(refs) > 1 else None), tip
