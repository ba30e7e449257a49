"""Contenders and rounds: who runs, in which order, and what counts as a failure."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench import git
from bench.inputs import Input
from bench.results import BESIDE, CONTENDERS, GIT_ONE, GIT_TWO, PACKCHECK, Outcome, Row, Run

ROOT = Path(__file__).resolve().parent.parent

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

_THREADS = {GIT_ONE: 1, GIT_TWO: 2}
# What a packcheck that refuses a file for its objects ends with: it has looked at all of them.
_REFUSALS = (1, 3)
_KINDS = re.compile(rb"([0-9]+) commits, ([0-9]+) trees, ([0-9]+) blobs, ([0-9]+) tags")
_OBJECT_ID = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})\n")

Say = Callable[[str], None]


class Bench:
    """Runs every contender on one input after the other inside ``folder``.

    ``packcheck`` and ``beside`` are commands: of the packcheck that is measured, and of another
    version, which may be older than policies and the grammar of objects.
    """

    def __init__(
        self,
        folder: Path,
        packcheck: list[str],
        rounds: int,
        say: Say,
        *,
        beside: list[str] | None = None,
    ) -> None:
        self._folder = folder
        # Old public histories have oddities that only the policy for them lets pass.
        self._commands = {PACKCHECK: [*packcheck, "verify", "--policy", "mirror"]}
        if beside is not None:
            self._commands[BESIDE] = [*beside, "verify"]
        self._contenders = CONTENDERS if beside is None else (*CONTENDERS, BESIDE)
        self._rounds = rounds
        self._say = say
        self._git_env = git.clean_environment(folder)
        self._our_env = {**os.environ, "PYTHONPATH": str(ROOT)}
        # As in an installed command, the modules are compiled once: by the warm-up round.
        self._our_env.pop("PYTHONDONTWRITEBYTECODE", None)

    def compare(self, item: Input) -> Row:
        """One untimed round to warm up and to find failures, then the timed rounds."""
        outcomes = {name: Outcome() for name in self._contenders}
        row = Row(item.name, item.size, item.objects, item.object_format, outcomes)
        for name in self._contenders:
            self._say(f"{item.name}: {name}, warming up")
            self._warm_up(row, item, name)
        for number in range(self._rounds):
            self._say(f"{item.name}: round {number + 1} of {self._rounds}")
            turn = number % len(self._contenders)
            for name in self._contenders[turn:] + self._contenders[:turn]:
                self._timed(row, item, name)
        return row

    def _warm_up(self, row: Row, item: Input, name: str) -> None:
        _, failure = self._run_once(row, item, name)
        if failure and name == GIT_ONE and self._only_old_oddities():
            row.relaxed = True
            _, failure = self._run_once(row, item, name)
        row.outcomes[name].failure = failure

    def _only_old_oddities(self) -> bool:
        """Whether git, which has just failed, named one of the ids that may be relaxed."""
        said = (self._folder / "stderr").read_text("ascii", "replace")
        return any(f": {known}: " in said for known in RELAXED_IDS)

    def _timed(self, row: Row, item: Input, name: str) -> None:
        outcome = row.outcomes[name]
        if outcome.failure is not None:
            return
        run, outcome.failure = self._run_once(row, item, name)
        outcome.runs.append(run)

    def _run_once(self, row: Row, item: Input, name: str) -> tuple[Run, str | None]:
        if name in self._commands:
            run, code = self._measure(self._our_command(item, name), self._folder, self._our_env)
            return run, self._failure(item, name, code)
        index = item.pack.with_suffix(".idx")
        index.unlink(missing_ok=True)
        try:
            command = self._git_command(item, _THREADS[name], index, relaxed=row.relaxed)
            run, code = self._measure(command, self._empty(item.object_format), self._git_env)
            return run, self._failure(item, name, code)
        finally:
            index.unlink(missing_ok=True)

    def _our_command(self, item: Input, name: str) -> list[str]:
        command = [*self._commands[name], "--limits", "history"]
        if item.object_format != "sha1":
            command += ["--object-format", item.object_format]
        return [*command, str(item.file)]

    def _git_command(self, item: Input, threads: int, index: Path, *, relaxed: bool) -> list[str]:
        strict = "--strict"
        if relaxed:
            strict += "=" + ",".join(f"{known}=ignore" for known in RELAXED_IDS)
        options = [strict, f"--threads={threads}", "--no-rev-index", "-o", str(index)]
        return ["git", "index-pack", *options, str(item.pack)]

    def _empty(self, object_format: str) -> Path:
        """The empty repository that git needs around it for all its checks."""
        path = self._folder / f"empty-{object_format}.git"
        if not path.exists():
            git.init_bare(path, self._git_env, object_format)
        return path

    def _measure(self, command: list[str], cwd: Path, env: dict[str, str]) -> tuple[Run, int]:
        """What a run took, and its exit status; its output is left in ``stdout``, ``stderr``."""
        stdout, stderr = self._folder / "stdout", self._folder / "stderr"
        script = str(Path(__file__).with_name("measure.py"))
        helper = [sys.executable, "-I", "-S", script, str(stdout), str(stderr), *command]
        done = subprocess.run(helper, cwd=cwd, env=env, capture_output=True, check=True)
        wall, user, system, peak, code = done.stdout.split()
        return Run(float(wall), float(user), float(system), int(peak)), int(code)

    def _failure(self, item: Input, name: str, code: int) -> str | None:
        """Why a run does not count: its exit status, or git saying more than the pack's id.

        The version beside has no policy to let pass what it finds: it may refuse a file when it
        has looked at all that is in it.
        """
        stdout, stderr = self._folder / "stdout", self._folder / "stderr"
        if name == BESIDE and code in _REFUSALS and _counted(stdout) == item.objects:
            return None
        if code:
            line = _last_line(stderr) or _last_line(stdout) or "no output"
            for private in (str(self._folder), str(ROOT), sys.prefix):
                line = line.replace(private, "")
            return f"exit {code}: {line}"
        if name not in self._commands and not _OBJECT_ID.fullmatch(stdout.read_bytes()):
            return f"unexpected output: {_last_line(stdout)}"
        return None


def _counted(report: Path) -> int | None:
    """How many objects a report in text says were checked."""
    found = _KINDS.search(report.read_bytes())
    return sum(map(int, found.groups())) if found else None


def _last_line(path: Path) -> str:
    """The last line of a file, fit to be shown: printable ASCII, not too long."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - 4096))
        lines = stream.read().split(b"\n")
    text = next((line for line in reversed(lines) if line.strip()), b"")
    return "".join(chr(c) if 32 <= c < 127 else "?" for c in text.strip())[-200:]
