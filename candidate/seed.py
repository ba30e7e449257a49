"""What a producer is given: the seeded set, and a private repository that holds it and no more.

Native git packs exactly the listed objects, and another one gives each its id anew: both run with a
private GIT_DIR of ours, none in the repository that is made. Of the host nothing else gets there:
no ref, remote, configuration, hook, alternate or reflog, and no file but those of the base's tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from candidate.errors import missing
from importer import git
from importer.base import SeededSet
from importer.errors import (
    BASE_MISSING,
    GIT_FAILED,
    STORE_CORRUPT,
    ImportFailed,
    ImportRefused,
)
from importer.packindex import read_index
from packparse.entry import COMMIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from importer.durable import Files
    from importer.repository import Repository
    from packparse.objectformat import ObjectFormat

__all__ = ["BRANCH", "Seeded", "gather", "write_pack", "write_settings"]

# The branch that the producer finds itself on.
BRANCH = "candidate"
_SHALLOW = "shallow"
_LARGEST_SHALLOW = 64 << 20
_LARGEST_INDEX = 1 << 30
_CAPS = git.Caps(memory=8 << 30, file=1 << 40, seconds=24 * 3600)
# A seed is as large as the repository, and so is the patience.
_PATIENCE = 30


class Seeded(NamedTuple):
    """The seeded set of a base: all its objects and their kinds, and the id of the base's tree.

    ``boundary`` are those of its commits whose parents are not in it.
    """

    base: bytes
    root: bytes
    kinds: Mapping[bytes, int]
    boundary: frozenset[bytes]


def gather(repository: Repository, base: bytes, *, full: bool) -> Seeded:
    """Find the seeded set of a commit: its tree's objects, and its history's as well if ``full``.

    Where the repository is a shallow one, its history ends where the repository's does. Commits and
    trees are read and hashed, blobs are named by them. Raises ImportRefused: baseMissing,
    seedTooLarge; ImportFailed.
    """
    content = _content(repository, base)
    cut = _shallow(repository)
    seeded = SeededSet(repository.reader, repository.object_format, [base], full=full, boundary=cut)
    kinds = seeded.everything()
    root, parents = seeded.links(base, content)
    boundary = cut.intersection(kinds) if full else frozenset([base] if parents else [])
    return Seeded(base, root, kinds, boundary)


def _content(repository: Repository, base: bytes) -> bytes:
    given = repository.reader.read(base)
    if given is None or given[0] != COMMIT:
        reason = "not a commit" if given else "not in the repository"
        raise ImportRefused(BASE_MISSING, f"{base.hex()} is {reason}")
    return given[1]


def _shallow(repository: Repository) -> frozenset[bytes]:
    """The commits where a shallow repository ends."""
    files = repository.world.files
    # git replaces it as a whole, and so do clones that share nothing but its content.
    listed = files.read(_SHALLOW, at=repository.common, most=_LARGEST_SHALLOW, linked=True) or b""
    digits = 2 * repository.object_format.width
    try:
        ids = [bytes.fromhex(line.decode("ascii")) for line in listed.split()]
    except ValueError:
        ids = [b""]
    if any(2 * len(oid) != digits for oid in ids):
        message = "the repository's file of shallow commits is damaged"
        raise ImportFailed(STORE_CORRUPT, message, retry=False)
    return frozenset(ids)


def write_settings(
    files: Files, seeded: Seeded, object_format: ObjectFormat, index: bytes, *, at: int
) -> None:
    """Write the files of a new ``.git``, the open folder ``at``, but for its objects."""
    base = f"{seeded.base.hex()}\n".encode()
    for name in ("objects", "refs"):
        files.make_folder(name, at=at)
    with files.folder("refs", at=at) as refs:
        files.make_folder("heads", at=refs)
        with files.folder("heads", at=refs) as heads:
            files.write_new(BRANCH, base, at=heads, mode=0o644, durable=False)
    with files.folder("objects", at=at) as objects:
        for name in ("info", "pack"):
            files.make_folder(name, at=objects)
    content = {
        "HEAD": f"ref: refs/heads/{BRANCH}\n".encode(),
        "config": _config(object_format).encode(),
        "index": index,
    }
    if seeded.boundary:
        lines = sorted(oid.hex() for oid in seeded.boundary)
        content[_SHALLOW] = "".join(f"{line}\n" for line in lines).encode()
    for name, data in content.items():
        files.write_new(name, data, at=at, mode=0o644, durable=False)


def _config(object_format: ObjectFormat) -> str:
    is_sha1 = object_format.name == "sha1"
    return "\n".join(
        [
            "[core]",
            f"\trepositoryformatversion = {0 if is_sha1 else 1}",
            "\tfilemode = true",
            "\tbare = false",
            *([] if is_sha1 else ["[extensions]", f"\tobjectFormat = {object_format.name}"]),
            # So that a producer can commit before anybody told git who it is.
            "[user]",
            "\tname = producer",
            "\temail = producer@candidate.invalid",
            "",
        ]
    )


def write_pack(repository: Repository, seeded: Seeded, objects: int, path: str) -> None:
    """Put all objects of a seeded set, as one pack, into an empty folder of objects.

    It is open, and ``path`` leads to it. They are what their ids say: git makes these anew from the
    contents. Nothing is durable. Raises ImportRefused (baseMissing), ImportFailed (gitFailed,
    storeCorrupt).
    """
    names = "".join(f"{oid.hex()}\n" for oid in seeded.kinds).encode()
    with git.given(names) as listed, repository.bench(path) as bench:
        packed = _run(
            bench,
            ("pack-objects", "-q", "--delta-base-offset", "--window=0", f"{path}/pack/pack"),
            listed,
        )
    if not packed.answered():
        raise _why_not(repository, seeded, packed)
    pack = f"pack-{packed.stdout.decode('ascii', 'replace').strip()}"
    # Not the ids that the host's index has for the contents, as pack-objects takes them.
    with repository.bench(path, alone=True) as bench:
        proven = _run(bench, ("index-pack", "--verify", f"{path}/pack/{pack}.pack"), None)
    with repository.world.files.folder("pack", at=objects) as packs:
        found = _ids(repository, packs, f"{pack}.idx")
    if not proven.answered() or found != set(seeded.kinds):
        message = f"what git packed is not what was listed: {proven.told()}"
        raise ImportFailed(STORE_CORRUPT, message, retry=False)


def _run(bench: git.Bench, arguments: tuple[str, ...], stdin: int | None) -> git.Outcome:
    patience = bench.world.git_seconds * _PATIENCE
    return git.run(bench, arguments, stdin=stdin, caps=_CAPS, patience=patience)


def _ids(repository: Repository, packs: int, name: str) -> set[bytes]:
    content = repository.world.files.read(name, at=packs, most=_LARGEST_INDEX)
    found = read_index(content or b"", repository.object_format)
    return set() if found is None else set(found.oids)


def _why_not(repository: Repository, seeded: Seeded, packed: git.Outcome) -> ImportRefused:
    """What it means that git does not pack the objects: usually one is missing."""
    for oid in seeded.kinds:
        if repository.reader.about(oid) is None:
            return missing(oid)
    raise ImportFailed(GIT_FAILED, f"git pack-objects: {packed.told()}")
