"""The sandbox of a producer: bubblewrap with three folders, and nothing else of the host.

``/workspace`` may be written to, ``/source`` only read, and ``/export`` takes what is handed back.
It is what rows A25 and A27 of the contracts ask for. Beside these a producer sees the programs of
the system (``/usr``, to be read), an empty ``/tmp`` and home, its own processes, and no network.
Whatever it started ends with it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from candidate.errors import (
    PRODUCER_FAILED,
    SANDBOX_MISSING,
    SANDBOX_UNSAFE,
    CandidateError,
)
from importer import place
from packparse.escape import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["World", "bare", "bubblewrap", "check_shown", "probe", "run", "sandboxed"]

_PROGRAM = "bwrap"
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
_HOME = "/home/producer"
# Beside /usr: links into it on most systems, folders of their own on some.
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# Names of programs, and of libraries; nothing of users or of the host.
_SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d")
_TRIAL_SECONDS = 20.0
_SAID = 500


class World(NamedTuple):
    """How a producer is started: the program and its arguments, its environment, its folder."""

    command: list[str]
    environment: Mapping[str, str]
    folder: str

    def as_shell(self) -> str:
        """The same as one line for a shell."""
        environment = [f"{name}={value}" for name, value in self.environment.items()]
        return f"cd {shlex.quote(self.folder)} && " + shlex.join(
            ["env", "-i", *environment, *self.command]
        )


def sandboxed(
    program: str, folder: str, producer: Sequence[str], *, shown: Iterable[str] = ()
) -> World:
    """A producer in bubblewrap, for the launch in ``folder``.

    ``program`` is that of bubblewrap, ``shown`` are folders of the host that the producer may read,
    at the same paths: those of its tools.
    """
    folders = [
        *("--ro-bind", f"{folder}/{place.SOURCE}", "/source"),
        *("--bind", f"{folder}/{place.WORKSPACE}", "/workspace"),
        *("--bind", f"{folder}/{place.EXPORT}", "/export"),
        "--chdir", "/workspace",
    ]  # fmt: skip
    environment = _environment("/source", "/export", _HOME)
    command = [*_arguments(program, environment, shown), *folders, "--", *producer]
    return World(command, {}, "/")


def bare(folder: str, producer: Sequence[str]) -> World:
    """A producer as an ordinary process, which sees and may do whatever its user can."""
    parts = (f"{folder}/{part}" for part in (place.SOURCE, place.EXPORT, place.HOME))
    return World([*producer], _environment(*parts), f"{folder}/{place.WORKSPACE}")


def _environment(source: str, exported: str, home: str) -> dict[str, str]:
    return {
        "PATH": _PATH,
        "HOME": home,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "GIT_CANDIDATE_SOURCE": source,
        "GIT_CANDIDATE_EXPORT": exported,
    }


def _arguments(program: str, environment: Mapping[str, str], shown: Iterable[str]) -> Iterator[str]:
    yield from (
        program,
        # User, IPC, process, network, host name and control group namespaces of its own; where
        # there is none for users, the first of these goes on without, and the second does not.
        "--unshare-all", "--unshare-user",
        "--hostname", "candidate",
        "--cap-drop", "ALL",
        # Whatever it left behind ends with it, and it ends with us; no terminal to type into.
        "--die-with-parent",
        "--new-session",
        "--clearenv",
    )  # fmt: skip
    for name, value in environment.items():
        yield from ("--setenv", name, value)
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM:
        if os.path.islink(f"/{name}"):
            yield from ("--symlink", os.readlink(f"/{name}"), f"/{name}")
        elif os.path.isdir(f"/{name}"):
            yield from ("--ro-bind", f"/{name}", f"/{name}")
    for path in filter(os.path.exists, _SETTINGS):
        yield from ("--ro-bind", path, path)
    yield from ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", _HOME)  # noqa: S108 - its own
    for path in shown:
        yield from ("--ro-bind", path, path)


def check_shown(shown: Iterable[str], hidden: Iterable[str]) -> list[str]:
    """The real paths of folders that a producer is to be shown.

    Raises CandidateError (sandboxUnsafe) where one of them is, holds, or lies in one of ``hidden``.
    """
    real = [os.path.realpath(path) for path in shown]
    for path in real:
        for secret in hidden:
            if not place.are_apart(path, secret):
                message = f"{_named(path)} and {_named(secret)} are not apart"
                raise CandidateError(SANDBOX_UNSAFE, message)
        if not os.path.isdir(path):
            raise CandidateError(SANDBOX_UNSAFE, f"{_named(path)} is no folder")
    return real


def bubblewrap() -> str:
    """The program that the search path leads to, once it has made a sandbox.

    Raises CandidateError: sandboxMissing.
    """
    program = shutil.which(_PROGRAM)
    if program is None:
        raise CandidateError(SANDBOX_MISSING, f"there is no {_PROGRAM} in PATH")
    probe(program)
    return program


def probe(program: str) -> None:
    """Make a sandbox and do nothing in it. Raises CandidateError: sandboxMissing."""
    command = [*_arguments(program, _environment("/", "/", _HOME), ()), "--", "true"]
    try:
        done = subprocess.run(  # noqa: S603 - a list of ours
            command, env={}, capture_output=True, timeout=_TRIAL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CandidateError(SANDBOX_MISSING, f"{_PROGRAM}: {error}") from None
    if done.returncode:
        said = shorten(b" ".join(done.stderr.split())[:_SAID])
        raise CandidateError(SANDBOX_MISSING, f"{_PROGRAM} makes no sandbox: {said}")


def run(world: World, *, quiet: bool = False) -> None:
    """Run a producer to its end, with our standard input and output.

    ``quiet``: what it writes goes to standard error, where the other is for an answer of ours.
    Raises CandidateError: producerFailed.
    """
    try:
        status = subprocess.run(  # noqa: S603 - whatever the caller wants to be run
            world.command,
            env=world.environment,
            cwd=world.folder,
            stdout=sys.stderr if quiet else None,
            check=False,
        ).returncode
    except OSError as error:
        reason = f"it cannot be started: {error.strerror}"
        raise CandidateError(PRODUCER_FAILED, reason) from None
    if status:
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        raise CandidateError(PRODUCER_FAILED, f"it ended {how}")


def _named(path: str) -> str:
    return shorten(os.fsencode(path))
