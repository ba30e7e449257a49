"""The manifest, version 1: what a producer says of the artifact that lies beside it.

Every field is data: it is compared with what the controller knows (binding.py), and decides
nothing by itself. docs/reference/manifest-v1.md describes the bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from manifest.atoms import (
    COMMITS,
    LISTED_PATHS,
    Amount,
    Digest,
    FileName,
    FormatName,
    LaunchId,
    Name,
    Oid,
    QuotedPath,
)
from manifest.codec import Record, hmac_sha256, seal, unseal
from manifest.errors import (
    BAD_OBJECT_ID,
    MANIFEST_FORGED,
    MANIFEST_TOO_LARGE,
    RECORD_INVALID,
    RecordError,
)
from packparse.escape import unquote
from packparse.objectformat import FORMATS

if TYPE_CHECKING:
    from manifest.launch import Launch
    from manifest.ticket import Ticket

__all__ = [
    "LARGEST", "NAME", "TOLD", "Artifact", "Manifest", "Workspace", "offered", "read", "write",
]  # fmt: skip

NAME = "manifest.json"
# 10,000 commits with SHA-256 ids, and 100 dirty paths of any length that git stores.
LARGEST = 4 << 20
_KEY = "mac"
# What a manifest repeats of its launch.
TOLD = ("issue", "run", "phase", "launch", "repository", "object_format", "base")


class Artifact(Record, frozen=True):
    """The file beside the manifest: its name, and what is in it."""

    name: FileName
    bytes: Amount
    sha256: Digest
    objects: Amount


class Workspace(Record, frozen=True):
    """What the producer left uncommitted: a note for people, never a reason to do anything.

    ``dirty`` counts the paths, and ``paths`` names the first of them.
    """

    dirty: Amount
    paths: Annotated[list[QuotedPath], Meta(max_length=LISTED_PATHS)]


class Manifest(Record, frozen=True, tag_field="format", tag="packcheck.manifest/1"):
    """A manifest. ``commits`` are those of the range, each after its parents."""

    issue: Name
    run: Name
    phase: Name
    launch: LaunchId
    repository: Name
    object_format: FormatName
    base: Oid
    candidate: Oid
    artifact: Artifact
    commits: Annotated[list[Oid], Meta(max_length=COMMITS)]
    state: Literal["offered"]
    workspace: Workspace

    def check(self) -> None:
        """Raise RecordError: badObjectId, recordInvalid."""
        digits = FORMATS[self.object_format].width * 2
        if any(len(oid) != digits for oid in (self.base, self.candidate, *self.commits)):
            message = f"an id is not one of {self.object_format}, which has {digits} digits"
            raise RecordError(BAD_OBJECT_ID, message)
        if len(set(self.commits)) < len(self.commits):
            raise RecordError(RECORD_INVALID, "a commit is listed twice")
        if any(unquote(path) is None for path in self.workspace.paths):
            raise RecordError(RECORD_INVALID, "a path is not quoted as git quotes it")
        if self.workspace.dirty < len(self.workspace.paths):
            raise RecordError(RECORD_INVALID, "more paths are listed than are counted")


def offered(
    launch: Launch | Ticket, artifact: Artifact, commits: list[str], workspace: Workspace
) -> Manifest:
    """The manifest of what a launch brings, the last of ``commits``; nothing is checked here."""
    return Manifest(
        **{name: getattr(launch, name) for name in TOLD},
        candidate=commits[-1],
        artifact=artifact,
        commits=commits,
        state="offered",
        workspace=workspace,
    )


def write(manifest: Manifest, key: bytes) -> bytes:
    """The bytes of ``manifest.json``, authenticated with the key of the launch."""
    return seal(manifest, _KEY, hmac_sha256(key))


def read(data: bytes, key: bytes) -> Manifest:
    """The manifest in ``data``, if it was made with ``key``.

    Raises RecordError: manifestTooLarge, recordVersion, manifestForged, recordInvalid, badObjectId.
    """
    if len(data) > LARGEST:
        raise RecordError(MANIFEST_TOO_LARGE, f"a manifest has at most {LARGEST} bytes")
    manifest = unseal(data, Manifest, _KEY, hmac_sha256(key))
    if manifest is None:
        raise RecordError(MANIFEST_FORGED, "its mac is not that of its bytes under this key")
    return manifest
