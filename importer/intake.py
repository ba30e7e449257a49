"""Steps 1 to 5: from the export folder to a private copy that was verified as it was made.

The producer may write to the folder at any time, so every name is opened once, by descriptor,
following no link; what was opened is looked at before it is read; and it is read once. The copy is
what both verdicts are about.
"""

from __future__ import annotations

import errno
import hashlib
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from importer.durable import UnsafeFileError, identity, pieces, read_up_to
from importer.errors import (
    ARTIFACT_CHANGED,
    ARTIFACT_HASH_MISMATCH,
    ARTIFACT_MISSING,
    ARTIFACT_SIZE_MISMATCH,
    ORIGIN_CHANGED,
    ORIGIN_UNSAFE,
    ImportRefused,
)
from manifest import v1
from manifest.errors import MANIFEST_MISSING, MANIFEST_TOO_LARGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from importer.world import World
    from manifest.launch import Folder
    from manifest.v1 import Artifact, Manifest
    from packparse.codes import Code

__all__ = ["Opened", "open_artifact", "open_origin", "read_manifest", "stage"]

_STAGED = "tmp_staged"
# What stands at a path that does not lead to a folder any more.
_ELSEWHERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}


class Opened(NamedTuple):
    """An artifact that is open, and what the system said of it then."""

    descriptor: int
    status: os.stat_result


@contextmanager
def open_origin(world: World, export: Folder) -> Iterator[int]:
    """Step 1: the export folder of the launch, and no other. Raises ImportRefused: originChanged.

    The path may lead elsewhere by now; the record says which folder it was.
    """
    try:
        descriptor = world.files.open_folder(export.location)
    except OSError as error:
        if error.errno not in _ELSEWHERE:
            raise
        message = f"{export.path} is not there, or no folder any more"
        raise ImportRefused(ORIGIN_CHANGED, message) from None
    try:
        if identity(os.fstat(descriptor)) != (export.device, export.inode):
            message = f"{export.path} is another folder than the one of the launch"
            raise ImportRefused(ORIGIN_CHANGED, message)
        yield descriptor
    finally:
        os.close(descriptor)


def read_manifest(world: World, key: bytes, *, at: int) -> Manifest:
    """Step 2: the manifest, whole or not at all.

    Raises ImportRefused (manifestMissing, manifestTooLarge, originUnsafe), RecordError.
    """
    descriptor = _opened(world, v1.NAME, at, MANIFEST_MISSING)
    try:
        _check_device(descriptor, v1.NAME, at)
        size = os.fstat(descriptor).st_size
        if size > v1.LARGEST:
            message = f"{v1.NAME} has {size} bytes, at most {v1.LARGEST} are read"
            raise ImportRefused(MANIFEST_TOO_LARGE, message)
        # One byte more tells that it grew.
        data = read_up_to(descriptor, size + 1)
        if len(data) != size:
            message = f"{v1.NAME} had {size} bytes when it was opened, and now it has others"
            raise ImportRefused(ARTIFACT_CHANGED, message)
    finally:
        os.close(descriptor)
    return v1.read(data, key)


@contextmanager
def open_artifact(world: World, artifact: Artifact, *, at: int) -> Iterator[Opened]:
    """Step 4: the artifact, looked at before any byte of it is read.

    Its size must be the one of the manifest, which is within the limits. Raises ImportRefused:
    artifactMissing, originUnsafe, artifactSizeMismatch.
    """
    descriptor = _opened(world, artifact.name, at, ARTIFACT_MISSING)
    try:
        _check_device(descriptor, artifact.name, at)
        status = os.fstat(descriptor)
        if status.st_size != artifact.bytes:
            message = f"{status.st_size} bytes, and {artifact.bytes} by the manifest"
            raise ImportRefused(ARTIFACT_SIZE_MISMATCH, message)
        yield Opened(descriptor, status)
    finally:
        os.close(descriptor)


@contextmanager
def stage(
    world: World, opened: Opened, artifact: Artifact, feed: Callable[[bytes], None], *, at: int
) -> Iterator[int]:
    """Step 5: read the artifact once, and give every piece to ``feed`` and to a private copy.

    The copy is open inside of the block, and has no name. Raises ImportRefused: artifactChanged,
    artifactHashMismatch.
    """
    files = world.files
    files.remove(_STAGED, at=at)
    copy = files.create(_STAGED, at=at)
    try:
        files.remove(_STAGED, at=at)
        digest = hashlib.sha256()
        length = 0
        for piece in pieces(opened.descriptor, opened.status.st_size + 1):
            digest.update(piece)
            files.write(copy, piece)
            feed(piece)
            length += len(piece)
        if length != opened.status.st_size or _stamp(opened.status) != _stamp(
            os.fstat(opened.descriptor)
        ):
            message = f"{artifact.name} was written to while it was read"
            raise ImportRefused(ARTIFACT_CHANGED, message)
        if digest.hexdigest() != artifact.sha256:
            message = f"{digest.hexdigest()}, and {artifact.sha256} by the manifest"
            raise ImportRefused(ARTIFACT_HASH_MISMATCH, message)
        yield copy
    finally:
        os.close(copy)


def _opened(world: World, name: str, at: int, missing: Code) -> int:
    try:
        return world.files.open_file(name, at=at)
    except FileNotFoundError:
        raise ImportRefused(missing, f"there is no {name}") from None
    except UnsafeFileError as error:
        raise ImportRefused(ORIGIN_UNSAFE, f"{name} is {error}") from None
    except BlockingIOError:
        # Somebody has a lease on it (fcntl(2), F_SETLEASE).
        raise ImportRefused(ARTIFACT_CHANGED, f"{name} is kept by who wrote it") from None


def _check_device(descriptor: int, name: str, at: int) -> None:
    if os.fstat(descriptor).st_dev != os.fstat(at).st_dev:
        message = f"{name} lies on another file system than its folder"
        raise ImportRefused(ORIGIN_UNSAFE, message)


def _stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
