"""Reading the shared store: one ``git cat-file``, every answer hashed again, and the seeded set.

``cat-file`` returns a tampered loose object under its old id with status 0 (design, section 8), so
nothing that it gives is believed before its hash is that id. Its environment shuts out replace
refs, grafts, shallow files, the commit graph, configuration and hooks. Alternates of the shared
store are followed, since they are where its objects are; what they hold is hashed like the rest.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from importer import git
from importer.errors import (
    BASE_MISSING,
    GIT_FAILED,
    SEED_TOO_LARGE,
    STORE_CORRUPT,
    ImportFailed,
    ImportRefused,
)
from packparse.entry import BLOB, COMMIT, KIND_NUMBERS, TREE, object_prefix
from packparse.errors import PackError
from packparse.limits import Limits
from packparse.memo import Memo
from packparse.objects import commit as commits
from packparse.objects import tree as trees
from packparse.outside import checked_object
from packparse.table import split_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from packparse.objectformat import ObjectFormat

__all__ = ["SeededSet", "StoreReader"]

# Requests that are written before their answers are read. They fit into a page, which is all that
# a pipe holds once a user has many: whoever waited to write the rest would wait for ever.
_AT_ONCE = 50
# Bytes of objects that are kept for the next question, about.
_KEPT = 4 << 20
_CHUNK = 1 << 18
# Objects of a history that are looked at, about 150 bytes each.
_MOST = 2_000_000
_LINE = 200
# What git says, before it ends, of an object that it cannot inflate or rebuild.
_CORRUPT = b" is corrupt"


class StoreReader:
    """Objects of the shared store, read through one process that is started when it is needed.

    Raises ImportFailed: gitFailed, storeCorrupt.
    """

    def __init__(self, bench: git.Bench, object_format: ObjectFormat) -> None:
        self._bench = bench
        self._objects = os.path.realpath(bench.environment["GIT_OBJECT_DIRECTORY"])
        self._format = object_format
        # What was read since the last refresh; the same few trees are asked for again and again.
        self._kept = _memory()
        self._pipes: _Pipes | None = None

    def close(self) -> None:
        """End the process."""
        if self._pipes is not None:
            self._pipes.close()
            self._pipes = None

    def refresh(self) -> None:
        """Let the next answers come from what is on disk now, and not from what was there before.

        A process keeps packs open that were removed, or moved away, meanwhile; loose objects it
        opens each time. Of packs of alternates that is not looked for: it is always started again.
        """
        self._kept = _memory()
        if self._pipes is not None and not self._pipes.holds_only(self._objects):
            self.close()

    def about(self, oid: bytes) -> tuple[int, int] | None:
        """Kind and size of an object as the store says it, None where it has none."""
        kept = self._kept.get(oid)
        if kept is not None:
            return kept[0], len(kept[1])
        pipes = self._opened()
        pipes.ask(b"info %s\n" % oid.hex().encode(), 1)
        header = self._header(pipes, oid)
        pipes.waiting -= 1
        return header

    def read(self, oid: bytes) -> tuple[int, bytes] | None:
        """Kind and content of an object, hashed; None where there is none."""
        kept = self._kept.get(oid)
        if kept is not None:
            return kept
        pipes = self._opened()
        pipes.ask(_contents_of([oid]), 1)
        return self._content(pipes, oid)

    def read_all(self, oids: Iterable[bytes]) -> Iterator[tuple[int, bytes] | None]:
        """Kinds and contents of objects in their order, each hashed; None where there is none."""
        wanted = list(oids)
        pipes = self._opened()
        for at in range(0, len(wanted), _AT_ONCE):
            batch = wanted[at : at + _AT_ONCE]
            pipes.ask(_contents_of(batch), len(batch))
            for oid in batch:
                yield self._content(pipes, oid)

    def stream(self, oids: Iterable[bytes]) -> Iterator[tuple[int, Iterator[bytes]] | None]:
        """Like :meth:`read_all`, for objects of any size: kinds, and contents in pieces.

        Each content is read to its end before the next object is asked for; only then is it known
        to be the right one, and storeCorrupt is raised where it is not.
        """
        wanted = list(oids)
        pipes = self._opened()
        for at in range(0, len(wanted), _AT_ONCE):
            batch = wanted[at : at + _AT_ONCE]
            pipes.ask(_contents_of(batch), len(batch))
            for oid in batch:
                header = self._header(pipes, oid)
                if header is None:
                    pipes.waiting -= 1
                    yield None
                elif header[1] <= _CHUNK:
                    yield header[0], iter([self._whole(pipes, oid, *header)])
                else:
                    yield header[0], self._pieces(pipes, oid, *header)

    def _whole(self, pipes: _Pipes, oid: bytes, kind: int, size: int) -> bytes:
        content = pipes.take(size + 1)[:-1]
        pipes.waiting -= 1
        if self._format.new(object_prefix(kind, size) + content).digest() != oid:
            raise _corrupt(oid)
        return content

    def _pieces(self, pipes: _Pipes, oid: bytes, kind: int, size: int) -> Iterator[bytes]:
        found = self._format.new(object_prefix(kind, size))
        left = size
        while left:
            piece = pipes.take(min(left, _CHUNK))
            found.update(piece)
            left -= len(piece)
            yield piece
        pipes.take(1)
        pipes.waiting -= 1
        if found.digest() != oid:
            raise _corrupt(oid)

    def _opened(self) -> _Pipes:
        # Answers that nobody took would be taken for those of the next question.
        if self._pipes is not None and self._pipes.waiting:
            self.close()
        if self._pipes is None:
            self._pipes = _Pipes(self._bench)
        return self._pipes

    def _header(self, pipes: _Pipes, oid: bytes) -> tuple[int, int] | None:
        line = pipes.line()
        name = oid.hex().encode()
        kind, _, size = line.removeprefix(name + b" ").partition(b" ")
        if kind == b"missing" and line.startswith(name):
            return None
        if not line.startswith(name) or kind not in KIND_NUMBERS or not size.isdigit():
            raise ImportFailed(GIT_FAILED, "git cat-file gave an answer that is none", retry=False)
        return KIND_NUMBERS[kind], int(size)

    def _content(self, pipes: _Pipes, oid: bytes) -> tuple[int, bytes] | None:
        header = self._header(pipes, oid)
        content = b"" if header is None else pipes.take(header[1] + 1)[:-1]
        pipes.waiting -= 1
        if header is None:
            return None
        kind, size = header
        try:
            given = checked_object(self._format, oid, (kind, content))
        except PackError as error:
            message = f"{oid.hex()}: {error.message}"
            raise ImportFailed(STORE_CORRUPT, message, retry=False) from None
        return self._kept.keep(oid, given, size)


def _corrupt(oid: bytes) -> ImportFailed:
    message = f"{oid.hex()}: the repository's object does not hash to its id"
    return ImportFailed(STORE_CORRUPT, message, retry=False)


def _memory() -> Memo[bytes, tuple[int, bytes]]:
    return Memo(_KEPT, _KEPT >> 6)


def _contents_of(oids: Iterable[bytes]) -> bytes:
    return b"".join(b"contents %s\n" % oid.hex().encode() for oid in oids)


class _Pipes:
    """A running ``git cat-file --batch-command``, and what it said and nobody took yet.

    ``waiting`` are the questions whose answers were not taken, or not to their end.
    """

    def __init__(self, bench: git.Bench) -> None:
        self._patience = bench.world.git_seconds
        self.waiting = 0
        # What was read, and how much of it was taken.
        self._read = b""
        self._at = 0
        with ExitStack() as theirs, ExitStack() as ours:
            requests, self._requests = os.pipe()
            theirs.callback(os.close, requests)
            ours.callback(os.close, self._requests)
            self._answers, answers = os.pipe()
            theirs.callback(os.close, answers)
            ours.callback(os.close, self._answers)
            self._errors = os.memfd_create("stderr")
            ours.callback(os.close, self._errors)
            self._process = git.start(
                bench,
                ("cat-file", "--batch-command"),
                stdin=requests,
                stdout=answers,
                stderr=self._errors,
                # It serves many imports, and maps packs of the host.
                caps=git.Caps(memory=4 << 30, seconds=24 * 3600),
            )
            self._open = ours.pop_all()

    def close(self) -> None:
        """End it: it only reads, so there is nothing that it has to finish."""
        self._open.close()
        self._process.end()

    def holds_only(self, objects: str) -> bool:
        """Whether it answers from packs that are in a folder, and from no other."""
        return self._process.holds_only(objects)

    def ask(self, requests: bytes, count: int) -> None:
        """Write so many requests."""
        self.waiting += count
        try:
            os.write(self._requests, requests)
        except BrokenPipeError:
            raise self._ended() from None

    def line(self) -> bytes:
        """The next line, without its end."""
        while (end := self._read.find(b"\n", self._at)) < 0:
            if len(self._read) - self._at > _LINE:
                raise ImportFailed(GIT_FAILED, "git cat-file gave an endless line", retry=False)
            self._read = self._read[self._at :] + self._more()
            self._at = 0
        line = self._read[self._at : end]
        self._at = end + 1
        return line

    def take(self, length: int) -> bytes:
        """So many of the next bytes."""
        pieces = [self._read[self._at : self._at + length]]
        self._at += len(pieces[0])
        left = length - len(pieces[0])
        while left:
            self._read = self._more()
            pieces.append(self._read[:left])
            self._at = len(pieces[-1])
            left -= self._at
        return b"".join(pieces)

    def _more(self) -> bytes:
        if not git.readable(self._answers, self._patience):
            self._process.end()
            raise ImportFailed(GIT_FAILED, "git cat-file gave no answer in time")
        data = os.read(self._answers, _CHUNK)
        if not data:
            raise self._ended()
        return data

    def _ended(self) -> ImportFailed:
        os.lseek(self._errors, 0, os.SEEK_SET)
        said = os.read(self._errors, 4_096)
        told = git.Outcome(0, b"", said).told()
        if _CORRUPT in said:
            return ImportFailed(STORE_CORRUPT, told, retry=False)
        return ImportFailed(GIT_FAILED, f"git cat-file ended: {told or 'it said nothing'}")


class SeededSet:
    """The objects that a launch gave its producer, found as they are asked for.

    First the base, then the base's whole tree, level by level; for a full seed then the history,
    where the store has the object at all. ``boundary`` are commits whose parents were not given.
    Raises ImportRefused (baseMissing, where something of the set cannot be had; seedTooLarge, where
    looking further would take minutes), and what the reader raises.
    """

    def __init__(
        self,
        reader: StoreReader,
        object_format: ObjectFormat,
        bases: Iterable[bytes],
        *,
        full: bool = False,
        boundary: frozenset[bytes] = frozenset(),
    ) -> None:
        self._reader = reader
        self._width = object_format.width
        self._kinds = dict.fromkeys(bases, COMMIT)
        self._boundary = boundary
        self._full = full
        self._in_history = False
        self._steps = self._walk()

    def kind(self, oid: bytes) -> int | None:
        """The kind of an object of the set; None for any other."""
        asked = False
        while oid not in self._kinds:
            if self._in_history and not asked:
                # An id that somebody made up must not cost a walk through all that ever was.
                if self._reader.about(oid) is None:
                    return None
                asked = True
            if next(self._steps, None) is None:
                return None
        return self._kinds[oid]

    def everything(self) -> dict[bytes, int]:
        """All objects of the set, and their kinds. Blobs are named by trees; none was read."""
        for _ in self._steps:
            pass
        return self._kinds

    def _walk(self) -> Iterator[bool]:
        """Put objects into ``_kinds``, a batch of trees or commits at each step."""
        listed = list(self._kinds)
        while listed:
            roots: list[bytes] = []
            parents: list[bytes] = []
            for oid, content in self._contents(listed, COMMIT):
                root, links = self.links(oid, content)
                roots.append(root)
                if oid not in self._boundary:
                    parents += split_ids(links, self._width)
            yield from self._walk_trees(self._new(roots, TREE))
            if not self._full:
                return
            listed = self._new(parents, COMMIT)
            self._in_history = True
            yield True

    def links(self, oid: bytes, content: bytes) -> tuple[bytes, bytes]:
        """The tree that a commit of the set names, and its parents in one piece."""
        try:
            return commits.links(content, self._width, _ANY)
        except PackError as error:
            message = f"{oid.hex()}, which the launch was given, is malformed: {error.message}"
            raise ImportFailed(STORE_CORRUPT, message, retry=False) from None

    def _walk_trees(self, level: list[bytes]) -> Iterator[bool]:
        while level:
            below: list[bytes] = []
            for _oid, content in self._contents(level, TREE):
                for mode, _name, target in trees.entries(content, self._width):
                    kind = trees.target_kind(mode)
                    if kind == TREE:
                        below.append(target)
                    elif kind == BLOB:
                        self._kinds.setdefault(target, BLOB)
            level = self._new(below, TREE)
            yield True

    def _new(self, oids: Iterable[bytes], kind: int) -> list[bytes]:
        new = [oid for oid in dict.fromkeys(oids) if oid not in self._kinds]
        self._kinds.update(dict.fromkeys(new, kind))
        if self._in_history and len(self._kinds) > _MOST:
            message = f"an object is not among the {_MOST} that were looked at"
            raise ImportRefused(SEED_TOO_LARGE, message)
        return new

    def _contents(self, oids: list[bytes], kind: int) -> Iterator[tuple[bytes, bytes]]:
        for oid, given in zip(oids, self._reader.read_all(oids), strict=True):
            if given is None or given[0] != kind:
                message = f"{oid.hex()}, which the launch was given, is not in the repository"
                raise ImportRefused(BASE_MISSING, message)
            yield oid, given[1]


_ANY = Limits("history", {"parents": 1 << 30})
