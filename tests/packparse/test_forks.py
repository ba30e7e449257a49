"""Worker processes: what they send arrives, and whatever ends them is said."""

from __future__ import annotations

import errno
import marshal
import os
import signal
import subprocess
import sys
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from packparse import codes, forks
from packparse.errors import PackError
from packparse.forks import Forks
from tests.support import jobs

if TYPE_CHECKING:
    from packparse.workers import Send, Worker

LARGE = 5 << 20
ROOT = Path(__file__).resolve().parents[2]


def open_files() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


def test_heads_and_columns_arrive_in_their_order() -> None:
    def task(send: Send) -> None:
        send((1, "text", b"bytes", None, [2.5]), [b"abc", array("I", [1, 2, 3]), bytearray(b"")])
        send(None, [])
        send("last", [bytes(LARGE)])

    with Forks(2) as workers:
        worker = workers.start(task)
        assert worker.head() == (1, "text", b"bytes", None, [2.5])
        packed, numbers, empty = bytearray(b"before"), array("I", [0]), bytearray()
        for column in (packed, numbers, empty):
            worker.column(column)
        assert packed == b"beforeabc"
        assert list(numbers) == [0, 1, 2, 3]
        assert not empty
        assert worker.head() is None
        assert worker.head() == "last"
        large = bytearray()
        worker.column(large)
        assert large == bytes(LARGE)


def test_a_task_knows_what_its_process_knew_and_changes_nothing_of_it() -> None:
    known = [1]

    def task(send: Send) -> None:
        known.append(2)
        send(known, [])

    with Forks(2) as workers:
        assert workers.start(task).head() == [1, 2]
    assert known == [1]


def _die(_send: Send) -> None:
    jobs.die()


def _die_within(send: Send) -> None:
    send(None, [])
    jobs.die()


def _err(_send: Send) -> None:
    message = "a mistake"
    raise ValueError(message)


def _fill(_send: Send) -> None:
    raise MemoryError


def _stop(_send: Send) -> None:
    raise KeyboardInterrupt


def _return(_send: Send) -> None:
    return


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        pytest.param(_die, "it ended before its work was done", id="it is killed"),
        pytest.param(_die_within, "it ended before its work was done", id="it is killed later"),
        pytest.param(_err, "ValueError: a mistake", id="a mistake in it"),
        pytest.param(_fill, "it ran out of memory", id="no memory is left"),
        pytest.param(_stop, "it ended before its work was done", id="it is interrupted"),
        pytest.param(_return, "it ended before its work was done", id="it sends nothing"),
    ],
)
def test_a_process_that_fails_is_an_environment_error(
    task: Callable[[Send], None], reason: str
) -> None:
    def all_heads(worker: Worker) -> None:
        while True:
            worker.head()

    with Forks(2) as workers, pytest.raises(PackError) as raised:
        all_heads(workers.start(task))
    assert raised.value.code is codes.WORKER_FAILED
    assert raised.value.code.klass == codes.ENVIRONMENT
    assert raised.value.message.endswith(reason)


def test_a_column_that_breaks_off_is_an_environment_error() -> None:
    def task(send: Send) -> None:
        write = os.write
        sent: list[int] = []

        def write_a_little(descriptor: int, data: memoryview) -> int:
            sent.append(write(descriptor, data[:100]))
            if len(sent) == 3:
                jobs.die()
            return sent[-1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "write", write_a_little)
            send((), [bytes(1_000)])

    with Forks(2) as workers:
        worker = workers.start(task)
        worker.head()
        with pytest.raises(PackError, match="ended before its work was done"):
            worker.column(bytearray())


def test_none_is_left_at_the_end() -> None:
    def task(_send: Send) -> None:
        signal.pause()

    before = open_files()
    with Forks(4) as workers:
        started = [workers.start(task) for _ in range(3)]
        started[1].stop()
        started[1].stop()
        workers.start(_return).end()
    assert open_files() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_none_is_left_where_the_caller_fails() -> None:
    def fail() -> None:
        with Forks(2) as workers:
            workers.start(lambda _send: signal.pause())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_another_one_may_have_taken_note_of_the_end() -> None:
    with Forks(2) as workers:
        workers.start(_return)
        os.wait()


def test_no_pipe_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def pipe() -> tuple[int, int]:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("os.pipe", pipe)
    with Forks(2) as workers, pytest.raises(PackError, match="--jobs 1 needs none"):
        workers.start(_return)


def test_the_first_one_is_ended_where_the_second_cannot_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fork, begun = os.fork, []

    def second_fails() -> int:
        begun.append(1)
        if len(begun) == 2:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return fork()

    def start_two() -> None:
        with Forks(3) as workers:
            workers.start(lambda _send: signal.pause())
            workers.start(_return)

    before = open_files()
    monkeypatch.setattr("os.fork", second_fails)
    with pytest.raises(PackError, match="no process could be started"):
        start_two()
    assert open_files() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


_ORPHAN = """\
import os, signal
from packparse.forks import Forks

def task(send):
    send(None, [])
    for _ in range(20):
        signal.pause()
    print("it stays", flush=True)

Forks(2).start(task).head()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_leaves_with_its_parent() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", _ORPHAN]
    # It has the other end of the pipe: there is more to read until it has left.
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGKILL, "", "")


def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    before = open_files()
    monkeypatch.setattr("os.fork", fork)
    with Forks(2) as workers, pytest.raises(PackError, match="--jobs 1 needs none") as raised:
        workers.start(_return)
    assert raised.value.code is codes.WORKER_FAILED
    assert open_files() == before


@pytest.mark.parametrize(
    ("task", "status", "failure"),
    [
        pytest.param(_return, 0, None, id="it ends"),
        pytest.param(lambda send: send((), [b"a", b"b"]), 0, None, id="it sends"),
        pytest.param(_err, 1, "ValueError: a mistake", id="a mistake"),
        pytest.param(_fill, 1, "it ran out of memory", id="no memory"),
    ],
)
def test_a_copy_ends_with_a_status_and_says_why(
    task: Callable[[Send], None], status: int, failure: str | None
) -> None:
    """What a copy does, seen from within."""
    ended: list[int] = []
    reading, writing = os.pipe()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "_exit", ended.append)
        run: Callable[..., object] = forks._run  # noqa: SLF001 - it never returns elsewhere
        run(task, writing)
    os.close(writing)
    said = os.read(reading, 1_000)
    os.close(reading)
    assert ended == [status]
    assert (marshal.loads(said[8:])[0] if said else None) == failure  # noqa: S302
