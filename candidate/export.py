"""The export: what a producer committed becomes a bundle and its manifest (design, section 4).

It is run by the producer, inside of its sandbox; a host never runs it in a producer's workspace,
where git does what the producer's configuration says. ``exporter.sh`` does the same with git, sh
and POSIX utilities, and both write the same bytes for the same commits.

A reader of the export folder sees a manifest beside the artifact that it speaks of, or none: both
files are whole and durable under temporary names before the old manifest goes, and the new one
gets its name last. An export that was killed is run again.
"""

from __future__ import annotations

import hashlib
import os
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from candidate.errors import NOTHING_TO_EXPORT, TICKET_MISSING, CandidateError
from candidate.workspace import Workspace
from importer.durable import TEMPORARY, check_path, pieces
from importer.errors import translated
from importer.world import World
from manifest import ticket as tickets
from manifest import v1
from manifest.atoms import LISTED_PATHS, LONGEST_QUOTED
from manifest.codec import made
from packparse.escape import shorten

if TYPE_CHECKING:
    from manifest.ticket import Ticket

__all__ = ["REF", "Exported", "export", "script"]

# The one ref of the bundle; an import gives it no meaning.
REF = "refs/heads/candidate"
# Whoever imports may be another user than the producer.
_MODE = 0o644
# In a sandbox it is for the sandbox to say how long is too long.
_GIT_SECONDS = 3_600.0


class Exported(NamedTuple):
    """What was exported, and the real path of the folder that it lies in."""

    manifest: v1.Manifest
    folder: str


def export(
    workspace: str, folder: str, *, tip: str = "HEAD", world: World | None = None
) -> Exported:
    """Write the bundle and the manifest of what was committed in a workspace, up to ``tip``.

    ``folder`` is the export folder of the launch, with its ticket. What is not committed is not
    exported, and named in the manifest. Raises CandidateError (ticketMissing, noWorkspace,
    tipUnknown, notOnBase, exportTooLarge, nothingToExport), ImportRefused for a ticket that is
    none, ImportFailed (gitFailed, fileFailed).
    """
    for path in (workspace, folder):
        check_path(path)
    world = world or World(git_seconds=_GIT_SECONDS)
    folder = os.path.realpath(folder)
    with translated():
        if not os.path.isdir(folder):
            raise _no_ticket()
        with world.files.folder(folder) as at:
            ticket = _ticket(world, at)
            work = Workspace(world, workspace)
            commits = work.range(ticket.base, tip)
            paths = work.uncommitted()
            if not commits:
                also = f"; uncommitted paths: {len(paths)}" if paths else ""
                message = f"{shorten(os.fsencode(tip))} is the base{also}"
                raise CandidateError(NOTHING_TO_EXPORT, message)
            return Exported(_exported(world, at, ticket, work, commits, paths), folder)


def script() -> bytes:
    """The exporter for images without Python: a script of sh, to be put beside the ticket."""
    return resources.files("candidate").joinpath("exporter.sh").read_bytes()


def _no_ticket() -> CandidateError:
    return CandidateError(TICKET_MISSING, f"there is no {tickets.NAME}")


def _ticket(world: World, at: int) -> Ticket:
    data = world.files.read(tickets.NAME, at=at, most=tickets.LARGEST, linked=True)
    if data is None:
        raise _no_ticket()
    return tickets.read(data)


def _exported(
    world: World, at: int, ticket: Ticket, work: Workspace, commits: list[str], paths: list[str]
) -> v1.Manifest:
    files = world.files
    names = (ticket.artifact, v1.NAME)
    for name in names:
        files.remove(TEMPORARY + name, at=at)
    try:
        artifact = _artifact(world, at, ticket, work, commits[-1])
        manifest = made(v1.offered(ticket, artifact, commits, _note(paths)))
        data = v1.write(manifest, bytes.fromhex(ticket.key))
        files.write_new(TEMPORARY + v1.NAME, data, at=at, mode=_MODE)
        # From here on no manifest speaks of the old artifact. Each change is durable before the
        # next, since a system may bring them to the disk in another order.
        files.remove(v1.NAME, at=at)
        files.sync(at)
        for name in names:
            files.rename(TEMPORARY + name, name, at=at)
            files.sync(at)
    except BaseException:
        for name in names:
            files.sweep(TEMPORARY + name, at=at, folder=False)
        raise
    return manifest


def _artifact(world: World, at: int, ticket: Ticket, work: Workspace, tip: str) -> v1.Artifact:
    """Write the bundle under its temporary name."""
    files = world.files
    header = _header(ticket, tip)
    descriptor = files.create(TEMPORARY + ticket.artifact, at=at, mode=_MODE)
    try:
        files.write(descriptor, header)
        # git goes on where the header ends.
        work.pack(ticket.base, tip, descriptor)
        files.allow(descriptor, _MODE)
        files.sync(descriptor)
        digest = hashlib.sha256()
        size = 0
        for piece in pieces(descriptor):
            digest.update(piece)
            size += len(piece)
        # Behind "PACK" and the version.
        count = os.pread(descriptor, 4, len(header) + 8)
    finally:
        os.close(descriptor)
    return v1.Artifact(
        name=ticket.artifact,
        bytes=size,
        sha256=digest.hexdigest(),
        objects=int.from_bytes(count, "big"),
    )


def _header(ticket: Ticket, tip: str) -> bytes:
    """The header of a bundle with one prerequisite and one ref."""
    first = "# v2 git bundle\n"
    if ticket.object_format != "sha1":
        first = f"# v3 git bundle\n@object-format={ticket.object_format}\n"
    return f"{first}-{ticket.base} \n{tip} {REF}\n\n".encode()


def _note(paths: list[str]) -> v1.Workspace:
    # An index can have paths that no file system has; they count.
    listed = [path for path in paths if len(path) <= LONGEST_QUOTED]
    return v1.Workspace(dirty=len(paths), paths=listed[:LISTED_PATHS])
