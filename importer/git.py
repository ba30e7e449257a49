"""Native git, hardened: the one room that runs another program (contracts A24, A48 to A50).

Every process gets a private GIT_DIR of its own, made anew and removed afterwards. So the host's
configuration, hooks, grafts, replace refs, shallow file and attributes are not there to be read;
only its objects are, by GIT_OBJECT_DIRECTORY. The environment is a short list. Output goes to
files, input comes from one, so neither a terminal nor a buffering thread of ``sh`` is in between.
"""

from __future__ import annotations

import functools
import os
import resource
import select
import shutil
import signal
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

import sh

from importer.durable import Identity, identity, read_up_to
from importer.errors import GIT_FAILED, ImportFailed
from importer.world import GIT_SECONDS, World
from packparse.escape import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from packparse.objectformat import ObjectFormat

__all__ = ["Bench", "Caps", "Outcome", "Process", "Program", "Workplace", "ask", "bench", "given",
           "program", "readable", "run", "start", "workplace"]  # fmt: skip

# How long a process has to end by itself once it is told to.
_GRACE = 2.0
# Of standard output and standard error, each.
_OUTPUT = 64 << 10
_SHOWN = 500
_KEPT = ("PATH", "TMPDIR")
# What /proc says of a file that has lost its name, and of files that never had one.
_REMOVED = b" (deleted)"
_NAMELESS = (b"/memfd:", b"/dev/")
_SWITCHES = (
    "--no-replace-objects",
    "-c", "core.commitGraph=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "protocol.allow=never",
    # Files of the quarantine are made durable by us, once.
    "-c", "core.fsync=none",
    # Without these a limit on address space kills git beside a large pack (design, section 8).
    "-c", "core.packedGitWindowSize=1m",
    "-c", "core.packedGitLimit=64m",
)  # fmt: skip


class Caps(NamedTuple):
    """What one process may use: bytes of address space and of a file, seconds of processor."""

    memory: int = 1 << 30
    file: int = 1 << 30
    seconds: int = int(GIT_SECONDS)


class Outcome(NamedTuple):
    """How a process ended: its exit status (negative: the signal), and what it wrote."""

    status: int
    stdout: bytes
    stderr: bytes

    def told(self) -> str:
        """What it said on standard error, for a message: printable, and not long."""
        return shorten(b" ".join(self.stderr.split())[:_SHOWN])

    def answered(self) -> bool:
        """Whether it ended well; False where it says why not.

        Raises ImportFailed: gitFailed, where it was killed, or ended without a word: it always
        gives a reason for what it does not do.
        """
        if self.status < 0:
            raise ImportFailed(GIT_FAILED, f"git was ended by signal {-self.status}")
        if self.status and not self.stderr.strip():
            message = f"git ended with status {self.status} and said nothing"
            raise ImportFailed(GIT_FAILED, message)
        return self.status == 0


class Bench(NamedTuple):
    """A private GIT_DIR: its path, an open descriptor of it, and the environment of git in it."""

    path: str
    folder: int
    environment: Mapping[str, str]
    world: World


class Workplace(NamedTuple):
    """A folder of somebody else's, and the environment of git in it: there its own repository is.

    What that repository's configuration has git do, is done.
    """

    path: str
    environment: Mapping[str, str]
    world: World


def workplace(world: World, path: str, **more: str) -> Workplace:
    """A folder to run git in; ``more`` are variables that git gets beside the usual ones."""
    return Workplace(path, _environment() | more, world)


@contextmanager
def bench(
    world: World,
    name: str,
    *,
    at: int,
    path: str,
    object_format: ObjectFormat,
    objects: str,
    alternates: str = "",
    shared: str = "",
) -> Iterator[Bench]:
    """A private GIT_DIR under ``name`` in the open folder ``at``, whose path is ``path``.

    ``objects`` is the object directory that git writes to, ``alternates`` one that it reads as
    well. ``shared`` is the host's core.sharedRepository.
    """
    files = world.files
    files.make_folder(name, at=at)
    try:
        with files.folder(name, at=at) as folder:
            files.make_folder("refs", at=folder)
            files.write_new("HEAD", b"ref: refs/heads/none\n", at=folder, durable=False)
            config = _config(object_format, shared)
            files.write_new("config", config.encode(), at=folder, durable=False)
            private = f"{path}/{name}"
            environment = _environment() | {
                "GIT_DIR": private,
                "GIT_OBJECT_DIRECTORY": objects,
            }
            if alternates:
                environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = _quoted(alternates)
            yield Bench(private, folder, environment, world)
    finally:
        # Where that fails it goes with the room that it is in.
        files.sweep(name, at=at, folder=True)


def run(
    at: Bench | Workplace,
    arguments: Sequence[str],
    *,
    stdin: int | None = None,
    stdout: int | None = None,
    caps: Caps = Caps(),  # noqa: B008 - immutable
    keep: Sequence[int] = (),
    patience: float | None = None,
) -> Outcome:
    """Run git to its end. ``keep`` are descriptors that it inherits, and so holds while it lives.

    It has ``patience`` seconds, those of the world where none are given. Of what it writes the
    first 64 KiB are in the outcome; all of it is in ``stdout``, if that is given, and none in the
    outcome then. Raises ImportFailed: gitFailed, where it cannot be started or takes too long. How
    it ended is for the caller to judge.
    """
    with _scratch() as (out, err):
        to = out if stdout is None else stdout
        process = start(at, arguments, stdin=stdin, stdout=to, stderr=err, caps=caps, keep=keep)
        status = process.wait(at.world.git_seconds if patience is None else patience)
        return Outcome(status, _read(out), _read(err))


def start(
    at: Bench | Workplace,
    arguments: Sequence[str],
    *,
    stdin: int | None,
    stdout: int,
    stderr: int,
    caps: Caps = Caps(),  # noqa: B008 - immutable
    keep: Sequence[int] = (),
) -> Process:
    """Start git. Raises ImportFailed: gitFailed."""
    with ExitStack() as theirs, ExitStack() as ours:
        life, alive = os.pipe()
        ours.callback(os.close, life)
        theirs.callback(os.close, alive)
        null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        theirs.callback(os.close, null)
        inherited = {alive, *keep}
        source = open(null if stdin is None else stdin, "rb", closefd=False)  # noqa: SIM115 - no owner
        try:
            running = _command(program().path)(
                *_SWITCHES,
                *arguments,
                _in=source,
                _out=stdout,
                _err=stderr,
                _env=dict(at.environment),
                _cwd=at.path,
                _bg=True,
                _bg_exc=False,
                _tty_in=False,
                _tty_out=False,
                _new_group=True,
                _pass_fds=inherited,
                _preexec_fn=_in_child(caps, inherited),
            )
        except (sh.ForkException, sh.CommandNotFound, OSError) as error:
            last = str(error).strip().rpartition("\n")[2].strip()
            reason = shorten(last.encode("utf-8", "replace"))
            raise ImportFailed(GIT_FAILED, f"git cannot be started: {reason}") from None
        except ValueError:
            # It was killed before it was git: sh takes apart what the child did not write.
            message = "git cannot be started: it ended before it began"
            raise ImportFailed(GIT_FAILED, message) from None
        ours.pop_all()
        return Process(running, life)


class Process:
    """A git that runs. It is in a process group of its own, and is ended as one.

    ``life`` is the end of a pipe whose other end the whole group holds: it tells when all of it has
    ended without looking every now and then, as ``sh`` does (in steps of 0.1 seconds).
    """

    def __init__(self, running: sh.RunningCommand, life: int) -> None:
        self._running = running
        self._life = life

    def wait(self, timeout: float) -> int:
        """The exit status, negative for a signal. Raises ImportFailed where it takes too long."""
        try:
            ended = self._ends_within(timeout)
        except BaseException:
            self.end()
            raise
        if not ended:
            self.end()
            message = f"git did not end within {timeout:g} seconds, and was killed"
            raise ImportFailed(GIT_FAILED, message)
        return self._reap()

    def end(self) -> None:
        """End the whole group: first asked to, then killed. Does nothing where it has ended."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            # While anything of it lives its number is no other group's, also where git itself has
            # ended and left something behind.
            if self._ends_within(0):
                break
            with suppress(ProcessLookupError):
                os.killpg(self._running.pgid, number)
            self._ends_within(_GRACE)
        self._reap()

    def holds_only(self, folder: str) -> bool:
        """Whether the data that it has open, or mapped, lies in a folder, under its real path.

        False where some of it was removed or moved away, and where nobody can tell.
        """
        try:
            held = _mapped(self._running.pid) | _opened(self._running.pid)
        except OSError:
            return False
        inside = os.fsencode(folder) + b"/"
        return all(path.startswith(inside) and not path.endswith(_REMOVED) for path in held)

    def _ends_within(self, seconds: float) -> bool:
        return self._life < 0 or readable(self._life, seconds)

    def _reap(self) -> int:
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
        # Unlike the method of the command, this one does not raise for a status.
        return int(self._running.process.wait())


def _mapped(pid: int) -> set[bytes]:
    """The files that a process has mapped, but for its program and its libraries (proc(5))."""
    files: dict[bytes, bytes] = {}
    with open(f"/proc/{pid}/maps", "rb") as maps:
        for line in maps:
            _addresses, permissions, _offset, _device, _inode, *path = line.split(None, 5)
            if path and path[0].startswith(b"/"):
                name = path[0].rstrip(b"\n")
                files[name] = files.get(name, b"") + permissions
    return {name for name, permissions in files.items() if b"x" not in permissions}


def _opened(pid: int) -> set[bytes]:
    """The files that a process has open, but for pipes and what has no name."""
    folder = f"/proc/{pid}/fd".encode()
    paths = {os.readlink(folder + b"/" + name) for name in os.listdir(folder)}
    return {path for path in paths if path[:1] == b"/" and not path.startswith(_NAMELESS)}


def readable(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read, or the end, within so many seconds."""
    # Not select, which takes no descriptor above 1023.
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1_000))


def ask(path: str, *arguments: str) -> Outcome:
    """Run git in a folder of somebody else's, to learn about it. Raises ImportFailed: gitFailed."""
    return run(workplace(World(), path), arguments)


@contextmanager
def given(data: bytes = b"") -> Iterator[int]:
    """A file without a name, for a process to read from its beginning, or to write to."""
    descriptor = os.memfd_create("given")
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _scratch() -> Iterator[tuple[int, int]]:
    """Two files without a name, for what a process writes."""
    with given() as out, given() as err:
        yield out, err


class Program(NamedTuple):
    """A file that is run: its path, and what the system calls it while nobody installs another."""

    path: str
    identity: Identity
    changed: int


def program() -> Program:
    """The git that the search path leads to. Raises ImportFailed: gitFailed."""
    path = shutil.which("git")
    if path is None:
        raise ImportFailed(GIT_FAILED, "git cannot be started: there is none in PATH")
    status = os.stat(path)
    return Program(path, identity(status), status.st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _command(path: str) -> sh.Command:
    return sh.Command(path)


def _in_child(caps: Caps, keep: Iterable[int]) -> Callable[[], None]:
    def prepare() -> None:  # pragma: no cover - in the child, of which coverage knows nothing
        for kind, most in (
            (resource.RLIMIT_AS, caps.memory),
            (resource.RLIMIT_FSIZE, caps.file),
            (resource.RLIMIT_CPU, caps.seconds),
            (resource.RLIMIT_CORE, 0),
        ):
            # A limit of the caller's that is lower stays.
            theirs = set(resource.getrlimit(kind)) - {resource.RLIM_INFINITY}
            least = min(most, *theirs) if theirs else most
            resource.setrlimit(kind, (least, least))
        for descriptor in keep:
            os.set_inheritable(descriptor, True)  # noqa: FBT003 - as it is declared

    return prepare


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
    }


def _config(object_format: ObjectFormat, shared: str) -> str:
    lines = ["[core]", "\trepositoryformatversion = 1", "\tbare = true"]
    if shared:
        lines.append(f"\tsharedRepository = {shared}")
    if object_format.name != "sha1":
        lines += ["[extensions]", f"\tobjectFormat = {object_format.name}"]
    return "\n".join(lines) + "\n"


def _quoted(path: str) -> str:
    """A path in a list of paths: in C-style quotes, so that a colon is a part of it."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _read(descriptor: int) -> bytes:
    return read_up_to(descriptor, _OUTPUT)
