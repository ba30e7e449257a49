"""Step 8: the second verdict, by native git, in a folder that nobody else reads.

The quarantine lies in the shared store's object folder, so that publishing is a link, under a name
that git itself takes for temporary and sweeps (``tmp_objdir-``; git-prune). ``index-pack --strict``
gets the very bytes that were verified, inside a repository (design, section 8). Its object list
must be ours and the bases that it completed a thin pack with: two verdicts that know nothing of
each other.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from importer import git
from importer.durable import identity, pieces, read_up_to
from importer.errors import (
    GIT_FAILED,
    GIT_REFUSED,
    QUARANTINE_SWEPT,
    VERDICTS_DIFFER,
    ImporterError,
    ImportFailed,
    ImportRefused,
)
from importer.packindex import read_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from importer.repository import Repository
    from packparse.limits import Limits

__all__ = ["Indexed", "digest", "index", "prefix", "quarantined"]

# Errors that say nothing of the pack (in the C locale): no room, no permission, a quota, a limit of
# ours, a broken disk, no memory. They end a line of git's own; what fsck says of an object may
# quote a producer.
_ENVIRONMENT = re.compile(
    rb"^(?:fatal|error): (?!object )"
    rb"(?:[^\n]*(?:No space left on device|Permission denied|quota exceeded"
    rb"|Read-only file system|File too large|Input/output error|Cannot allocate memory"
    rb"|Too many open files|No such file or directory|Resource temporarily unavailable)"
    rb"|Out of memory, [^\n]*|unable to create (?:temporary|thread)[^\n]*)$",
    re.MULTILINE,
)


class Indexed(NamedTuple):
    """A pack in the quarantine: the stem of its files' names, and its size.

    ``digests`` are the SHA-256 of its files, by the endings of their names. ``appended`` counts the
    bases that git completed a thin pack with.
    """

    stem: str
    bytes: int
    digests: dict[str, str]
    appended: int


def prefix(launch: str) -> str:
    """How the names of all quarantines of a launch begin."""
    return f"tmp_objdir-candidate-{launch}-"


@contextmanager
def quarantined(repository: Repository, launch: str) -> Iterator[str]:
    """A new quarantine of a launch in the shared store's folder; its name.

    It is removed afterwards, whatever happened; what a crash leaves, recovery finds by its name.
    Whatever fails in a quarantine that somebody else removed raises ImportFailed: quarantineSwept.
    """
    world = repository.world
    files = world.files
    name = f"{prefix(launch)}{world.token(6).hex()}"
    files.make_folder(name, at=repository.objects)
    made = files.status(name, at=repository.objects)
    try:
        yield name
    except (ImporterError, FileNotFoundError) as error:
        # git makes the folders anew that it writes to, so there may be another one by now.
        there = files.status(name, at=repository.objects)
        if made is None or there is None or identity(there) != identity(made):
            raise ImportFailed(QUARANTINE_SWEPT, f"{name} was removed") from error
        raise
    finally:
        # Where that fails it is for recovery, which finds it by its name.
        files.sweep(name, at=repository.objects, folder=True)


def index(  # noqa: PLR0913 - each is named
    bench: git.Bench,
    folder: int,
    staged: int,
    *,
    begin: int,
    repository: Repository,
    limits: Limits,
    relaxed: Iterable[str],
    expected: Iterable[bytes],
    bases: Iterable[bytes],
    keep: Iterable[int] = (),
) -> Indexed:
    """Let git index the pack at byte ``begin`` of ``staged`` into the open folder, and compare.

    ``expected`` are the ids that we found, ``bases`` those that a thin pack rests on. The files are
    durable afterwards. Raises ImportRefused (gitRefused, verdictsDiffer), ImportFailed (gitFailed).
    """
    os.lseek(staged, begin, os.SEEK_SET)
    strict = ",".join(f"{name}=ignore" for name in sorted(relaxed))
    outcome = git.run(
        bench,
        (
            "index-pack", "--stdin", "--fix-thin", "--threads=2",
            f"--max-input-size={limits.pack_bytes}",
            f"--strict={strict}" if strict else "--strict",
        ),
        stdin=staged,
        caps=git.Caps(
            memory=(1 << 30) + 4 * limits.object_bytes,
            file=limits.pack_bytes + limits.inflated_bytes,
        ),
        keep=tuple(keep),
    )  # fmt: skip
    _judge(outcome)
    match = re.fullmatch(rb"pack\t([0-9a-f]{40}(?:[0-9a-f]{24})?)\n", outcome.stdout)
    if match is None:
        raise ImportRefused(GIT_REFUSED, "git wrote more than the name of one pack")
    stem = f"pack-{match[1].decode()}"
    with repository.world.files.folder("pack", at=folder) as packs:
        indexed = _look(repository, packs, stem, set(expected), set(bases))
    if indexed.bytes > limits.pack_bytes:
        # A few bytes of deltas may rest on bases of any size, and git appends these.
        passed = limits.passed("pack_bytes", indexed.bytes, "with the bases of its deltas it has")
        raise ImportRefused(passed.code, passed.message)
    return indexed


def _judge(outcome: git.Outcome) -> None:
    if not outcome.answered():
        if _ENVIRONMENT.search(outcome.stderr):
            raise ImportFailed(GIT_FAILED, f"git index-pack: {outcome.told()}")
        raise ImportRefused(GIT_REFUSED, f"git index-pack: {outcome.told()}")


def _look(
    repository: Repository, packs: int, stem: str, expected: set[bytes], bases: set[bytes]
) -> Indexed:
    """Compare what git made with what we found, and make it durable."""
    files = repository.world.files
    names = files.names(packs)
    endings = tuple(name.removeprefix(stem) for name in names)
    if set(endings) - {".rev"} != {".pack", ".idx"}:
        raise ImportFailed(GIT_FAILED, f"git left other files than a pack and its index: {names}")
    sizes = {}
    digests = {}
    content = b""
    for ending in endings:
        # A clone that is made meanwhile, on the same file system, gives it another name.
        descriptor = files.open_file(stem + ending, at=packs, linked=True)
        try:
            sizes[ending] = os.fstat(descriptor).st_size
            digests[ending] = digest(descriptor)
            files.sync(descriptor)
            if ending == ".idx":
                content = read_up_to(descriptor, sizes[ending])
        finally:
            os.close(descriptor)
    found = read_index(content, repository.object_format)
    if found is None or found.pack.hex() != stem.removeprefix("pack-"):
        raise ImportFailed(GIT_FAILED, "git wrote an index that is not one of its pack")
    appended = set(found.oids) - expected
    missing = expected - set(found.oids)
    if missing or appended - bases:
        message = f"git did not find {len(missing)}, and found {len(appended - bases)} others"
        raise ImportRefused(VERDICTS_DIFFER, message)
    return Indexed(stem, sizes[".pack"], digests, len(appended))


def digest(descriptor: int) -> str:
    """The SHA-256 of an open file, from its beginning."""
    found = hashlib.sha256()
    for piece in pieces(descriptor):
        found.update(piece)
    return found.hexdigest()
