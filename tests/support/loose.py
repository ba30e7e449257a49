"""Write loose objects, honest or malformed, without importing the code under test."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.support import packs
from tests.support.packs import Handle


@dataclass(frozen=True, slots=True)
class Loose:
    """One file of a folder: the raw id that its name says, and its bytes."""

    oid: bytes
    file: bytes

    @property
    def path(self) -> str:
        """Where git keeps it in a folder of objects."""
        name = self.oid.hex()
        return f"{name[:2]}/{name[2:]}"


def whole(kind: str, data: bytes) -> bytes:
    """What is compressed: header and content."""
    return b"%s %d\0" % (kind.encode(), len(data)) + data


def loose(kind: str, data: bytes, fmt: str = "sha1", *, level: int = 1) -> Loose:
    """Return an object as git writes it."""
    return Loose(packs.oid(kind, data, fmt), zlib.compress(whole(kind, data), level))


def history(fmt: str = "sha1", *, base: bytes | None = None, tagged: bool = True) -> list[Loose]:
    """The objects of packs.small_honest, the commit and the tag last."""
    example = packs.small_honest(fmt, base=base, tagged=tagged)
    return [loose(handle.kind, handle.data, fmt) for handle in example.handles]


def of(handles: Iterable[Handle], fmt: str = "sha1") -> list[Loose]:
    """The objects of a pack under construction."""
    return [loose(handle.kind, handle.data, fmt) for handle in handles]


def write(folder: Path, objects: Iterable[Loose]) -> Path:
    """Write files into a folder of objects, which is made where it is not there; return it."""
    folder.mkdir(exist_ok=True)
    for item in objects:
        path = folder / item.path
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(item.file)
    return folder
