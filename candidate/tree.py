"""A tree on disk, from verified objects: no checkout, no filter, no hook, no attribute (A24).

What stands in a blob is what stands in the file. Modes and symbolic links are kept; a submodule is
an empty directory, as git leaves one that nobody asked for. Every name is made relative to an open
directory, nothing is followed and nothing is overwritten.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from candidate.errors import FOLDER_UNSAFE, TREE_UNSAFE, CandidateError, missing
from importer.durable import identity
from packparse import modes
from packparse.entry import BLOB, TREE
from packparse.escape import shorten
from packparse.objects import tree as trees

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from importer.base import StoreReader
    from importer.durable import Files, Identity
    from packparse.limits import Limits
    from packparse.objectformat import ObjectFormat

__all__ = ["Place", "Plan", "Written", "plan", "write"]

_EXECUTABLE = 0o100
# What the kernel takes as the target of a link, without its NUL.
_LONGEST_TARGET = 4_095
# A folder of git's own, under which others would find a repository.
_RESERVED = {b"", b".", b"..", b".git"}


class Place(NamedTuple):
    """An open, empty directory that a tree is written into. ``sealed``: nobody may write there."""

    folder: int
    sealed: bool


class Written(NamedTuple):
    """A file, link or submodule: its path, its mode as git writes it, its raw id.

    ``status`` is what the system says of it in the first place; None for a submodule.
    """

    path: bytes
    mode: int
    oid: bytes
    status: os.stat_result | None


class _Step(NamedTuple):
    """Something to be written. ``mode`` 0: all of the directory that was entered last is there."""

    path: bytes
    name: bytes
    mode: int
    oid: bytes


class Plan(NamedTuple):
    """A whole tree: what is to be written, in the order of git's index."""

    steps: list[_Step]

    def blobs(self) -> list[bytes]:
        """The raw ids of all files and links, in order, as often as they occur."""
        return [step.oid for step in self.steps if _is_blob(step.mode)]


def _is_blob(mode: int) -> bool:
    return mode & modes.TYPE in {modes.FILE, modes.LINK}


def plan(reader: StoreReader, object_format: ObjectFormat, root: bytes, limits: Limits) -> Plan:
    """Read a tree and all below it, and check every name before anything is written.

    Raises CandidateError: treeUnsafe; ImportRefused (baseMissing), PackError (tooManyFiles,
    treeTooDeep, pathTooLong), and what the reader raises.
    """
    found = _read_trees(reader, object_format, root)
    steps: list[_Step] = []
    count = 0
    for step in _walk(found, object_format.width, root, limits):
        steps.append(step)
        count += bool(step.mode)
        if count > limits.files:
            raise limits.passed("files", count, "the tree of the base has at least")
    return Plan(steps)


def _read_trees(
    reader: StoreReader, object_format: ObjectFormat, root: bytes
) -> Mapping[bytes, bytes]:
    """All trees below one, level by level, since each question takes its time."""
    found: dict[bytes, bytes] = {}
    level = [root]
    while level:
        below: dict[bytes, None] = {}
        for oid, given in zip(level, reader.read_all(level), strict=True):
            if given is None or given[0] != TREE:
                raise missing(oid)
            found[oid] = given[1]
            length = 0
            for mode, name, target in trees.entries(given[1], object_format.width):
                length += len(mode) + len(name) + len(target) + 2
                if trees.target_kind(mode) == TREE:
                    below[target] = None
            if length != len(given[1]):
                raise CandidateError(TREE_UNSAFE, f"the tree {oid.hex()} cannot be read")
        level = [oid for oid in below if oid not in found]
    return found


def _walk(found: Mapping[bytes, bytes], width: int, root: bytes, limits: Limits) -> Iterator[_Step]:
    """The steps of a tree, whatever its depth: a stack of trees that are gone through in part."""
    stack: list[tuple[_Step, Iterator[tuple[bytes, bytes, bytes]], set[bytes]]] = []
    entered: _Step | None = _Step(b"", b"", 0, root)
    while entered or stack:
        if entered:
            if len(stack) >= limits.tree_depth:
                message = "the tree of the base has a depth of at least"
                raise limits.passed("tree_depth", len(stack) + 1, message)
            stack.append((entered, trees.entries(found[entered.oid], width), set()))
            entered = None
        left, entries, names = stack[-1]
        prefix = left.path + b"/" if left.path else b""
        for text, name, target in entries:
            path = prefix + name
            mode = int(text, 8)
            _check(path, name, mode, names, limits)
            yield _Step(path, name, mode, target)
            if mode & modes.TYPE == modes.FOLDER:
                entered = _Step(path, name, 0, target)
                break
        else:
            stack.pop()
            # Nobody leaves the root.
            if stack:
                yield left


def _check(path: bytes, name: bytes, mode: int, names: set[bytes], limits: Limits) -> None:
    if name.lower() in _RESERVED or b"/" in name:
        raise _unsafe(path, "a name that no file can have")
    if name in names:
        raise _unsafe(path, "a name that its folder has twice")
    names.add(name)
    if len(path) > limits.path_bytes:
        raise limits.passed("path_bytes", len(path), "a path of the base has")
    if mode & modes.TYPE not in {modes.FILE, modes.LINK, modes.FOLDER, modes.SUBMODULE}:
        raise _unsafe(path, "a mode that git does not know")


def write(
    files: Files, reader: StoreReader, wanted: Plan, places: Sequence[Place]
) -> list[Written]:
    """Write a tree into each of ``places``, which are empty; what was written into the first.

    Contents come from the reader, in pieces, each hashed again. What is sealed can be read and not
    written to, also by its owner. However deep it is, one directory of each place is open. Nothing
    is durable. Raises CandidateError (treeUnsafe, folderUnsafe), ImportRefused (baseMissing),
    OSError, and what the reader raises.
    """
    contents = reader.stream(wanted.blobs())
    with ExitStack() as opened:
        writer = _Writer(files, [_Stand(files, place, opened) for place in places])
        for step in wanted.steps:
            content = _content(contents, step.oid) if _is_blob(step.mode) else iter(())
            writer.write(step, content)
        writer.seal()
    return writer.written


def _content(contents: Iterator[tuple[int, Iterator[bytes]] | None], oid: bytes) -> Iterator[bytes]:
    given = next(contents)
    if given is None or given[0] != BLOB:
        raise missing(oid)
    return given[1]


class _Stand:
    """The one directory of a place that is open, however deep it lies.

    The way back is ``..``, and what was left is known by its identity: a directory that somebody
    moves away meanwhile leads nowhere else.
    """

    def __init__(self, files: Files, place: Place, opened: ExitStack) -> None:
        self._files = files
        self.sealed = place.sealed
        self.folder = files.open_folder(".", at=place.folder)
        opened.callback(lambda: os.close(self.folder))
        self._above: list[Identity] = []

    def enter(self, name: str) -> None:
        """Make a directory, and go into it."""
        self._files.make_folder(name, at=self.folder, mode=0o777)
        self._above.append(identity(os.fstat(self.folder)))
        self._go(name)

    def leave(self) -> None:
        """Go back. Raises CandidateError: folderUnsafe."""
        self._go("..")
        if identity(os.fstat(self.folder)) != self._above.pop():
            raise CandidateError(FOLDER_UNSAFE, "a folder was moved away while it was filled")

    def _go(self, name: str) -> None:
        inside = self._files.open_folder(name, at=self.folder)
        os.close(self.folder)
        self.folder = inside

    def seal(self) -> None:
        """Let nobody write to a directory that is filled, and nobody else look into it."""
        if self.sealed:
            self._files.allow(self.folder, 0o500)


class _Writer:
    """Takes the steps of a plan in all places at once."""

    def __init__(self, files: Files, stands: Sequence[_Stand]) -> None:
        self._files = files
        self._stands = stands
        self.written: list[Written] = []

    def write(self, step: _Step, content: Iterator[bytes]) -> None:
        kind = step.mode & modes.TYPE
        if not step.mode:
            self._leave()
        elif kind == modes.FOLDER:
            self._enter(step.name)
        elif kind == modes.SUBMODULE:
            self._enter(step.name)
            self._leave()
            self._note(step, modes.SUBMODULE, None)
        elif kind == modes.LINK:
            self._link(step, b"".join(content))
        else:
            self._file(step, content)

    def seal(self) -> None:
        for stand in self._stands:
            stand.seal()

    def _enter(self, name: bytes) -> None:
        for stand in self._stands:
            stand.enter(os.fsdecode(name))

    def _leave(self) -> None:
        self.seal()
        for stand in self._stands:
            stand.leave()

    def _link(self, step: _Step, target: bytes) -> None:
        if not 0 < len(target) <= _LONGEST_TARGET or b"\0" in target:
            raise _unsafe(step.path, "a link to what can be no path")
        for stand in self._stands:
            self._files.make_link(step.name, target, at=stand.folder)
        status = self._files.status(os.fsdecode(step.name), at=self._stands[0].folder)
        self._note(step, modes.LINK, status)

    def _file(self, step: _Step, content: Iterator[bytes]) -> None:
        execute = 0o111 if step.mode & _EXECUTABLE else 0
        name = os.fsdecode(step.name)
        opened: list[int] = []
        try:
            for stand in self._stands:
                mode = (0o444 if stand.sealed else 0o666) | execute
                opened.append(self._files.create(name, at=stand.folder, mode=mode))
            for piece in content:
                for descriptor in opened:
                    self._files.write(descriptor, piece)
            self._note(step, modes.FILE | 0o644 | execute, os.fstat(opened[0]))
        finally:
            for descriptor in opened:
                os.close(descriptor)

    def _note(self, step: _Step, mode: int, status: os.stat_result | None) -> None:
        self.written.append(Written(step.path, mode, step.oid, status))


def _unsafe(path: bytes, what: str) -> CandidateError:
    return CandidateError(TREE_UNSAFE, f"{shorten(path)} is {what}")
