"""Where contenders run: a folder of their own, clean environments, and what a run took."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench import git, together
from bench.results import Run

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Call:
    """A command, and where it runs."""

    command: list[str]
    folder: Path
    env: dict[str, str]


@dataclass(frozen=True)
class End:
    """How a run ended: its exit status, and the files that hold what it printed."""

    code: int
    stdout: Path
    stderr: Path


class Place:
    """The folder of one run of the bench."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git_env = git.clean_environment(folder)
        self.our_env = {**os.environ, "PYTHONPATH": str(ROOT)}
        # As in an installed command, the modules are compiled once: by the warm-up round.
        self.our_env.pop("PYTHONDONTWRITEBYTECODE", None)

    def empty(self, object_format: str) -> Path:
        """The empty repository that git needs around it for all its checks."""
        path = self.folder / f"empty-{object_format}.git"
        if not path.exists():
            git.init_bare(path, self.git_env, object_format)
        return path

    def measure(self, call: Call) -> tuple[Run, End]:
        """Run a command and say what it took."""
        run, end, _ = self._run(call, sample=False)
        return run, end

    def sample(self, call: Call) -> tuple[End, int]:
        """Run a command and sample the peak of all its processes together, in KiB.

        Looking at them slows them down, so nothing is timed.
        """
        _, end, peak = self._run(call, sample=True)
        return end, peak

    def _run(self, call: Call, *, sample: bool) -> tuple[Run, End, int]:
        stdout, stderr = self.folder / "stdout", self.folder / "stderr"
        script = str(Path(__file__).with_name("measure.py"))
        helper = [sys.executable, "-I", "-S", script, str(stdout), str(stderr), *call.command]
        with subprocess.Popen(
            helper, cwd=call.folder, env=call.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as child:
            peak = together.watch(child) if sample else 0
            printed, said = child.communicate()
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, call.command, printed, said)
        wall, user, system, most, code = printed.split()
        run = Run(float(wall), float(user), float(system), int(most))
        return run, End(int(code), stdout, stderr), peak

    def failure(self, end: End) -> str:
        """The exit status and the last line that was printed, without a path of this machine."""
        line = last_line(end.stderr) or last_line(end.stdout) or "no output"
        for private in (str(self.folder), str(ROOT), sys.prefix):
            line = line.replace(private, "")
        return f"exit {end.code}: {line}"


def last_line(path: Path) -> str:
    """The last line of a file, fit to be shown: printable ASCII, not too long."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - 4096))
        lines = stream.read().split(b"\n")
    text = next((line for line in reversed(lines) if line.strip()), b"")
    return "".join(chr(c) if 32 <= c < 127 else "?" for c in text.strip())[-200:]
