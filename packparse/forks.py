"""Worker processes: copies of this one that do a part of the work and send what came of it.

A room of the command line: nothing else of packparse starts a process. A copy has all that this
process knows, so nothing is sent to it. What it sends comes through a pipe of its own: a head, made
with marshal, and columns of plain bytes. Both ends are this program, and nothing from the file that
is verified decides how long any of it is.
"""

from __future__ import annotations

import marshal
import os
import signal
from array import array

from packparse import codes
from packparse.errors import PackError
from packparse.escape import shorten
from packparse.workers import Worker, Workers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Any, NoReturn, Self

    from packparse.workers import Column, Task

__all__ = ["Forks"]

_LENGTH = 8
# Bytes that are read at a time, a whole number of any column's items.
_PIECE = 1 << 20
# What a process ends with whose task failed.
_FAILED = 1
# Seconds after which a process looks whether its parent is there.
_LOOK = 0.5


class Forks(Workers):
    """Starts processes, ``jobs`` of them at one time with this one; a context manager.

    At its end none of them is left. The calling process must have no other threads, since a copy
    has none of them.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._running: list[_Fork] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        for fork in self._running:
            fork.stop()
        for fork in self._running:
            fork.reap()

    def start(self, task: Task) -> _Fork:
        """Run ``task`` in a copy of this process. Raises PackError: workerFailed."""
        parent = os.getpid()
        pipe: tuple[int, ...] = ()
        try:
            reading, writing = pipe = os.pipe()
            pid = os.fork()
        except OSError as error:
            for end in pipe:
                os.close(end)
            message = f"no process could be started: {error.strerror}; --jobs 1 needs none"
            raise PackError(codes.WORKER_FAILED, message) from None
        if pid == 0:  # pragma: no cover - in the copy, of which coverage knows nothing
            try:
                # Whoever reads from another copy is this process's parent alone.
                for end in (reading, *(fork.reading for fork in self._running)):
                    os.close(end)
                _leave_with(parent)
                _run(task, writing)
            finally:
                os._exit(_FAILED)
        os.close(writing)
        fork = _Fork(pid, reading)
        self._running.append(fork)
        return fork


class _Fork(Worker):
    """One process, and the pipe that it writes to."""

    def __init__(self, pid: int, reading: int) -> None:
        self._pid = pid
        self.reading = reading
        self._ending = False
        self._lengths: list[int] = []

    def head(self) -> Any:  # noqa: ANN401 - what the task has sent
        """The next head. Raises PackError: workerFailed."""
        length = int.from_bytes(self._read(_LENGTH))
        failure, head, lengths = marshal.loads(self._read(length))  # noqa: S302 - of our own making
        if failure is not None:
            self._fail(failure)
        self._lengths = lengths[::-1]
        return head

    def column(self, target: bytearray | array[int]) -> None:
        """Put the next column behind ``target``. Raises PackError: workerFailed."""
        left = self._lengths.pop()
        while left:
            piece = self._read(min(left, _PIECE))
            left -= len(piece)
            if isinstance(target, array):
                target.frombytes(piece)
            else:
                target += piece

    def end(self) -> None:
        """Say that all was received that the task sends: the process ends by itself."""
        self._ending = True

    def stop(self) -> None:
        """End the process, whatever it is doing; nothing more is wanted of it."""
        if not self._ending:
            self._ending = True
            try:
                os.kill(self._pid, signal.SIGKILL)
            except ProcessLookupError:
                # Whoever called this process has the system take note of the ends of all.
                return

    def reap(self) -> None:
        """Take note of its end, which it takes a while to come to."""
        self.stop()
        os.close(self.reading)
        try:
            os.waitpid(self._pid, 0)
        except ChildProcessError:
            # As above.
            return

    def _read(self, length: int) -> bytes:
        """Exactly so many bytes."""
        pieces = []
        left = length
        while left:
            piece = os.read(self.reading, left)
            if not piece:
                self._fail("it ended before its work was done")
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def _fail(self, reason: str) -> NoReturn:
        message = f"a process that looked at a part of the file failed: {reason}"
        raise PackError(codes.WORKER_FAILED, message)


def _leave_with(parent: int) -> None:  # pragma: no cover - as above
    """End this process soon after its parent has gone, which may be killed at any time."""

    def look(_signal: int, _frame: object) -> None:
        if os.getppid() != parent:
            os._exit(_FAILED)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _LOOK, _LOOK)


def _run(task: Task, writing: int) -> NoReturn:
    """Run a task in this process, which is a copy, and end it."""

    def send(head: object, columns: Sequence[Column]) -> None:
        views = [memoryview(column).cast("B") for column in columns]
        _write(writing, _packed((None, head, [len(view) for view in views])))
        for view in views:
            _write(writing, view)

    status = _FAILED
    try:
        task(send)
        status = 0
    except MemoryError:
        _write(writing, _packed(("it ran out of memory", None, [])))
    except Exception as error:  # noqa: BLE001 - a mistake of ours, which the main process tells
        reason = shorten(f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
        _write(writing, _packed((reason, None, [])))
    finally:
        # Nothing of what this process copied is to be flushed or closed twice.
        os._exit(status)


def _packed(frame: tuple[str | None, Any, list[int]]) -> bytes:
    packed = marshal.dumps(frame)
    return len(packed).to_bytes(_LENGTH) + packed


def _write(descriptor: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
