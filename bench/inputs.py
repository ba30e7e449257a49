"""From an argument (pack, bundle or repository) or the name of a shape to an input of the bench.

Of a repository the input is what HEAD reaches: with the commit's id anybody can make the same.
Repositories given as arguments must be trusted: git runs in them and obeys their configuration.
Nothing is written to them.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from bench import git, shapes
from bench.results import About

_CHUNK = 1 << 20
_HEADER_LIMIT = 64 << 20


class InputError(Exception):
    """An argument that the bench cannot use; the message says why."""


@dataclass(frozen=True)
class Input:
    """A file for packcheck, and the same pack as a bare ``.pack`` for git."""

    about: About
    file: Path
    pack: Path


def from_shape(name: str, scale: str, folder: Path) -> Input:
    """Generate one of the shapes in ``folder``."""
    pack = shapes.make_pack(name, scale, folder)
    return Input(_about(name, pack, "sha1", scale=scale), pack, pack)


def from_argument(argument: str, folder: Path) -> Input:
    """Use a pack or bundle as it is; pack a repository into ``folder``.

    The argument is a path, or ``NAME=PATH`` where the path says little.
    """
    name, path = _named(argument)
    folder.mkdir()
    if path.is_dir():
        return _from_repository(name, path, folder)
    if not path.is_file():
        raise InputError(f"{argument}: neither a file nor a repository")
    with path.open("rb") as stream:
        magic = stream.read(4)
    if magic == b"PACK":
        return _from_pack(name, path, folder)
    if magic in (b"# v2", b"# v3"):
        return _from_bundle(name, path, folder)
    raise InputError(f"{argument}: neither a pack nor a bundle")


def _named(argument: str) -> tuple[str, Path]:
    name, equals, rest = argument.partition("=")
    if equals and not Path(argument).exists():
        return name, Path(rest).absolute()
    path = Path(argument).absolute()
    return path.parent.name if path.name == ".git" else path.name, path


def _from_repository(name: str, path: Path, folder: Path) -> Input:
    env = git.owner_environment()
    target = folder / "in.pack"
    where = ["-C", str(path), "rev-parse"]
    try:
        object_format = git.output([*where, "--show-object-format"], env)
        commit = git.output([*where, "--verify", "HEAD^{commit}"], env)
        git.write_pack(path, target, env, "--revs", "--delta-base-offset", revisions=commit + "\n")
    except subprocess.CalledProcessError as error:
        raise InputError(f"{name}: git cannot pack it (exit {error.returncode})") from error
    return Input(_about(name, target, object_format, commit=commit), target, target)


def _from_pack(name: str, path: Path, folder: Path) -> Input:
    pack = folder / "in.pack"
    pack.symlink_to(path)
    return Input(_about(name, pack, _trailer_format(path)), path, pack)


def _from_bundle(name: str, path: Path, folder: Path) -> Input:
    pack = folder / "in.pack"
    with path.open("rb") as stream, pack.open("wb") as sink:
        object_format = _skip_bundle_header(name, stream)
        shutil.copyfileobj(stream, sink, _CHUNK)
    return Input(_about(name, pack, object_format), path, pack)


def _skip_bundle_header(name: str, stream: BinaryIO) -> str:
    """Read up to the pack; the object format of a bundle."""
    object_format = "sha1"
    while (line := stream.readline(_HEADER_LIMIT)) != b"\n":
        if not line:
            raise InputError(f"{name}: no pack in this bundle")
        if line.startswith(b"-"):
            raise InputError(f"{name}: has prerequisites; the bench wants a complete bundle")
        if line.startswith(b"@object-format="):
            object_format = line.partition(b"=")[2].decode("ascii", "replace").strip()
    return object_format


def _about(
    name: str, pack: Path, object_format: str, scale: str | None = None, commit: str | None = None
) -> About:
    with pack.open("rb") as stream:
        objects = int.from_bytes(stream.read(12)[8:], "big")
    return About(name, pack.stat().st_size, objects, object_format, scale, commit)


def _trailer_format(pack: Path) -> str:
    """``sha256`` when the last 32 bytes are the SHA-256 of the rest; anything else is ``sha1``."""
    rest = pack.stat().st_size - 32
    digest = hashlib.sha256()
    with pack.open("rb") as stream:
        while rest > 0 and (chunk := stream.read(min(rest, _CHUNK))):
            digest.update(chunk)
            rest -= len(chunk)
        return "sha256" if stream.read(32) == digest.digest() else "sha1"
