"""Files for the verifier: the room that opens and reads them, by descriptor.

A file is opened once; its size is compared with the limit before the first byte is read, and the
second look at deltas reads from the same descriptor. Standard input, which can be read only once,
is copied to a nameless file first. The files of the trusted side are opened in the same way.
"""

from __future__ import annotations

import os
import resource
import stat
import sys
import time

from packparse import codes
from packparse.errors import MisuseError, PackError, unreadable
from packparse.escape import quote
from packparse.objectformat import SHA1, ObjectFormat
from packparse.options import Options
from packparse.verify import Verifier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from packparse.basepack import BasePacks
    from packparse.knownlist import KnownList
    from packparse.limits import Limits
    from packparse.policy import Policy
    from packparse.progress import Progress
    from packparse.reader import ReadAt
    from packparse.report import Report

__all__ = [
    "STANDARD_INPUT", "find_policy", "open_base_packs", "read_known", "read_policy", "verify_path",
]  # fmt: skip

# The name that stands for standard input.
STANDARD_INPUT = "-"

_CHUNK = 1 << 20
_WITH_WORKERS = [resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN]
# The first bytes of a file, after which another process may begin with the rest.
_FIRST = 64 << 10
_LONGEST_POLICY = 1 << 20
# A smaller file is verified before another process could begin.
_SHARED = 256 << 10


def verify_path(
    path: str,
    options: Options | None = None,
    progress: Progress | None = None,
    *,
    standard_input: int = 0,
) -> Report:
    """Verify the file or folder at ``path``; what cannot be read is a finding of class 6.

    A folder is one of loose objects, see folder.py. The path ``-`` stands for what the descriptor
    ``standard_input`` gives until its end. It is copied to the folder for temporary files, with no
    name, up to the limit on the file. ``progress`` is told how far the work is.
    """
    options = options or Options()
    begun = time.perf_counter()
    try:
        if path != STANDARD_INPUT and os.path.isdir(path):
            from packparse.folder import verify_folder

            report = verify_folder(path, options, progress)
        else:
            report = _verify_file(path, options, progress, standard_input)
    finally:
        if progress is not None:
            progress.clear()
    report.seconds = round(time.perf_counter() - begun, 6)
    # Linux counts in KiB.
    whose = [resource.RUSAGE_SELF] if options.jobs == 1 else _WITH_WORKERS
    report.peak_rss_bytes = max(resource.getrusage(who).ru_maxrss for who in whose) << 10
    return report


def read_known(path: str, object_format: ObjectFormat = SHA1) -> KnownList:
    """The list of known objects in the file at ``path``; its ``kind`` fits ``Options.known``.

    Raises MisuseError for what is written in it, PackError (cannotRead).
    """
    from packparse.knownlist import KnownList

    name = _quoted(path)
    listed = KnownList(object_format)
    try:
        descriptor = _open(path)
        try:
            while chunk := os.read(descriptor, _CHUNK):
                listed.feed(chunk)
        finally:
            os.close(descriptor)
        listed.close()
    except MisuseError as error:
        message = f"the list of known objects {name}: {error}"
        raise MisuseError(message) from None
    except OSError as error:
        raise unreadable(f"the list of known objects {name}", error) from None
    return listed


def find_policy(name: str) -> Policy:
    """The policy that ships under ``name``, or the one in the file of that name.

    Raises MisuseError, PackError (cannotRead).
    """
    from packparse import policy

    text = policy_text(name)
    return policy.named(name) if text is None else policy.parse(text, name)


def policy_text(name: str) -> str | None:
    """The text of the policy in the file ``name``; None where one ships under that name.

    Raises MisuseError, PackError (cannotRead).
    """
    from packparse.policies import TEXTS

    if name == "candidate" or name in TEXTS:
        return None
    if name.isidentifier() and not os.path.exists(name):
        message = f"no policy {name!r}: give a file, or one of {', '.join(TEXTS)}"
        raise MisuseError(message)
    return read_policy(name)


def read_policy(path: str) -> str:
    """The text of the policy file at ``path``. Raises MisuseError, PackError (cannotRead)."""
    name = _quoted(path)
    try:
        descriptor = _open(path)
        try:
            data = os.read(descriptor, _LONGEST_POLICY + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise unreadable(f"the policy {name}", error) from None
    if len(data) > _LONGEST_POLICY:
        message = f"the policy {name} has more than {_LONGEST_POLICY} bytes"
        raise MisuseError(message)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"the policy {name} is not UTF-8: byte {error.start}"
        raise MisuseError(message) from None


def open_base_packs(
    paths: Iterable[str],
    object_format: ObjectFormat = SHA1,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> BasePacks:
    """Packs or bundles of the trusted side; their ``read`` fits ``Options.read_base``.

    The files stay open until the result is closed, which is a context manager. ``limits`` are those
    of the file that is verified; the base packs are read under the history preset. Raises PackError
    (cannotRead, corruptBaseObject) for a pack that cannot be used.
    """
    from packparse.basepack import BasePacks

    packs = BasePacks(limits)
    try:
        for path in paths:
            _add_base_pack(packs, path, object_format, progress)
    except BaseException:
        packs.close()
        raise
    finally:
        if progress is not None:
            progress.clear()
    return packs


def _verify_file(
    path: str, options: Options, progress: Progress | None, standard_input: int
) -> Report:
    verifier = Verifier(options, name=path)
    try:
        if path == STANDARD_INPUT:
            descriptor = _copy(standard_input, options.limits, progress)
        else:
            descriptor = _open(path)
        try:
            verifier = Verifier(options, name=path, length=os.fstat(descriptor).st_size)
            shared = os.fstat(descriptor).st_size >= _SHARED
            return _verify(verifier, descriptor, progress, options.jobs if shared else 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        # What was found before stays in the report.
        return _refuse(verifier, unreadable("the file", error))
    except PackError as error:
        # There is no whole copy of standard input, and nothing was verified.
        report = _refuse(verifier, error)
        report.bytes = report.sha256 = None
        return report


def _verify(verifier: Verifier, descriptor: int, progress: Progress | None, jobs: int) -> Report:
    """Verify an open file, in ``jobs`` processes."""
    before = _stamp(descriptor)
    verifier.on_progress = progress

    def read_at(at: int, length: int) -> bytes:
        return os.pread(descriptor, length, at)

    if jobs == 1:
        report = _feed(verifier, descriptor, read_at)
    else:
        from packparse.forks import Forks

        with Forks(jobs) as workers:
            verifier.share(workers, read_at)
            report = _feed(verifier, descriptor, read_at)
    if _stamp(descriptor) != before:
        message = "the file was written to while it was verified"
        verifier.refuse(PackError(codes.INPUT_CHANGED, message))
    return report


def _feed(verifier: Verifier, descriptor: int, read_at: ReadAt) -> Report:
    """Feed a verifier from an open file to its end."""
    length = _FIRST
    while not verifier.refused and (chunk := os.read(descriptor, length)):
        verifier.feed(chunk)
        length = _CHUNK
    return verifier.finish(read_at)


def _refuse(verifier: Verifier, error: PackError) -> Report:
    verifier.refuse(error)
    return verifier.finish(lambda _at, _length: b"")


def _add_base_pack(
    packs: BasePacks, path: str, object_format: ObjectFormat, progress: Progress | None
) -> None:
    from packparse.basepack import BasePack

    what = f"the base pack {_quoted(path)}"

    def read_at(at: int, length: int) -> bytes:
        try:
            return os.pread(descriptor, length, at)
        except OSError as error:
            # Without the name it would be taken for a failure of the file that is verified.
            raise unreadable(what, error) from None

    try:
        descriptor = _open(path)
        packs.at_close(lambda: os.close(descriptor))
        size = os.fstat(descriptor).st_size
        pack = BasePack(object_format, name=_quoted(path), length=size)
        done = 0
        while chunk := os.read(descriptor, _CHUNK):
            pack.feed(chunk)
            done += len(chunk)
            if progress is not None:
                progress("reading a base pack", done, size)
    except OSError as error:
        raise unreadable(what, error) from None
    packs.add(pack, read_at)


def _open(path: str) -> int:
    """A descriptor of a regular file; OSError where there is none."""
    try:
        # O_NONBLOCK: opening a FIFO must not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except ValueError as error:
        # A name with a NUL.
        raise OSError(str(error)) from None
    regular = False
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    finally:
        if not regular:
            os.close(descriptor)
    if not regular:
        message = "not a regular file; for a pipe give - and its content as standard input"
        raise OSError(message)
    return descriptor


def _copy(source: int, limits: Limits, progress: Progress | None) -> int:
    """A descriptor of a file without a name that has all of what ``source`` gives.

    Raises PackError: packTooLarge, cannotRead. In no case is anything left behind.
    """
    import tempfile

    if source == 0 and sys.stdin is None:
        # It was closed when Python began: by now the number may stand for another file.
        source = -1
    room = limits.pack_bytes
    # Before there is a copy: where the source is closed, that would get its number.
    chunk = _read_input(source, min(_CHUNK, room + 1))
    done = 0
    try:
        with tempfile.TemporaryFile(buffering=0) as copy:
            while chunk:
                done += len(chunk)
                if done > room:
                    raise limits.passed("pack_bytes", done, "standard input has at least")
                _write(copy.fileno(), chunk)
                if progress is not None:
                    progress("reading", done)
                chunk = _read_input(source, min(_CHUNK, room + 1 - done))
            os.lseek(copy.fileno(), 0, os.SEEK_SET)
            return os.dup(copy.fileno())
    except OSError as error:
        folder = f" in {_quoted(tempfile.tempdir)}" if tempfile.tempdir else ""
        reason = error.strerror or str(error)
        message = f"standard input cannot be copied to a file{folder}: {reason}"
        raise PackError(codes.CANNOT_READ, message) from None


def _read_input(source: int, length: int) -> bytes:
    try:
        while True:
            try:
                return os.read(source, length)
            except BlockingIOError:
                import select

                # Whoever started this process made it so.
                select.select([source], [], [])
    except OSError as error:
        raise unreadable("standard input", error) from None


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _stamp(descriptor: int) -> tuple[int, int, int]:
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _quoted(path: str) -> str:
    return quote(path.encode("utf-8", "surrogateescape"))
