"""The contenders: what each is called with, what it needs before, and which of its runs count."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import util
from pathlib import Path

from bench import results
from bench.inputs import Input
from bench.place import Call, End, Place, last_line

# What old public histories have and `--strict` refuses; relaxed only when plain `--strict` fails.
RELAXED_IDS = (
    "zeroPaddedFilemode",
    "badTimezone",
    "missingSpaceBeforeDate",
    "badEmail",
    "missingEmail",
    "missingNameBeforeEmail",
    "missingSpaceBeforeEmail",
    "badDate",
    "badDateOverflow",
)

# What a packcheck that refuses a file for its objects ends with: it has looked at all of them.
_REFUSALS = (1, 3)
_KINDS = re.compile(rb"([0-9]+) commits, ([0-9]+) trees, ([0-9]+) blobs, ([0-9]+) tags")
_OBJECT_ID = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})\n")


class NotReadyError(Exception):
    """A contender cannot run on an input; the message says why."""


class Contender:
    """One way to look at one input; ``processes`` is how many it may use."""

    processes = 1

    def __init__(self, place: Place, item: Input) -> None:
        self.place = place
        self.item = item

    def prepare(self) -> None:
        """Make what it needs and nobody times. Raises NotReadyError."""

    def call(self) -> Call:
        """The command that is timed."""
        raise NotImplementedError

    def failure(self, end: End) -> str | None:
        """Why a run does not count, or None."""
        return self.place.failure(end) if end.code else None

    def again(self, end: End) -> bool:
        """Whether a warm-up that failed taught how to run it better."""
        del end
        return False

    def clear(self) -> None:
        """Remove what a run has left."""


class Packcheck(Contender):
    """``packcheck verify`` with so many jobs."""

    def __init__(
        self, place: Place, item: Input, command: list[str], jobs: int, *options: str
    ) -> None:
        super().__init__(place, item)
        self.processes = jobs
        self._start = [*command, "verify"]
        self._options = [*options, "--jobs", str(jobs)]

    def call(self) -> Call:
        """All of them read the limits for whole repositories."""
        command = [*self._start, *self._options, "--limits", "history"]
        if self.item.about.object_format != "sha1":
            command += ["--object-format", self.item.about.object_format]
        return Call([*command, str(self.item.file)], self.place.folder, self.place.our_env)


class Beside(Packcheck):
    """Another version of packcheck, which may be older than policies, jobs and most checks.

    It gets no policy to let pass what it finds, so it may refuse a file when it has looked at all
    that is in it.
    """

    def __init__(self, place: Place, item: Input, command: list[str]) -> None:
        super().__init__(place, item, command, 1)
        self._options = []

    def prepare(self) -> None:
        """One process, also where the version would take more."""
        done = subprocess.run(
            [*self._start, "--help"],
            cwd=self.place.folder,
            env=self.place.our_env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if b"--jobs" in done.stdout:
            self._options = ["--jobs", "1"]

    def failure(self, end: End) -> str | None:
        """A refusal counts once every object was looked at."""
        if end.code in _REFUSALS and _counted(end.stdout) == self.item.about.objects:
            return None
        return super().failure(end)


def _counted(report: Path) -> int | None:
    """How many objects a report in text says were checked."""
    found = _KINDS.search(report.read_bytes())
    return sum(map(int, found.groups())) if found else None


class Strictness:
    """Whether git has to be told to let pass the oddities of old histories, for one input."""

    def __init__(self) -> None:
        self.relaxed = False


class IndexPack(Contender):
    """``git index-pack --strict`` inside an empty repository, with so many threads."""

    def __init__(self, place: Place, item: Input, threads: int, strictness: Strictness) -> None:
        super().__init__(place, item)
        self._threads = threads
        self._strictness = strictness
        self._index = item.pack.with_suffix(".idx")

    def call(self) -> Call:
        """The index goes beside the pack, and is written anew each time."""
        strict = "--strict"
        if self._strictness.relaxed:
            strict += "=" + ",".join(f"{known}=ignore" for known in RELAXED_IDS)
        options = [strict, f"--threads={self._threads}", "--no-rev-index", "-o", str(self._index)]
        command = ["git", "index-pack", *options, str(self.item.pack)]
        return Call(command, self.place.empty(self.item.about.object_format), self.place.git_env)

    def failure(self, end: End) -> str | None:
        """It says the id of the pack and nothing else, or something is wrong."""
        if end.code == 0 and not _OBJECT_ID.fullmatch(end.stdout.read_bytes()):
            return f"unexpected output: {last_line(end.stdout)}"
        return super().failure(end)

    def again(self, end: End) -> bool:
        """Once more with the ids relaxed, if it was one of these that git named."""
        said = end.stderr.read_text("ascii", "replace")
        if self._strictness.relaxed or not any(f": {known}: " in said for known in RELAXED_IDS):
            return False
        self._strictness.relaxed = True
        return True

    def clear(self) -> None:
        """Remove the index."""
        self._index.unlink(missing_ok=True)


class Dulwich(Contender):
    """A script that rebuilds and checks every object with dulwich."""

    def call(self) -> Call:
        """-P keeps the folder of the bench, which has a module named git, out of the imports."""
        script = str(Path(__file__).with_name("dulwich_check.py"))
        command = [sys.executable, "-P", script, self.item.about.object_format, str(self.item.pack)]
        return Call(command, self.place.folder, self.place.our_env)

    def failure(self, end: End) -> str | None:
        """Objects may be odd, if all of them were looked at."""
        if end.code == 0 and not end.stdout.read_bytes().startswith(
            b"%d " % self.item.about.objects
        ):
            return f"unexpected output: {last_line(end.stdout)}"
        return super().failure(end)


def installed() -> list[str]:
    """The contenders that can run here: dulwich where this interpreter can import it."""
    missing = set() if util.find_spec("dulwich") else {results.DULWICH}
    return [name for name in results.CONTENDERS if name not in missing]
