"""The console blocks of a page: their commands are run, and what they print is compared.

Ids, times, versions and the folder of the test differ from run to run. Ids are told apart all the
same: each is replaced by its number in the order in which they come.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryFile

from candidate import cli
from packparse.cli import main as packcheck

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ASSIGNED = re.compile(r"(\w+)=\$\((.+)\)")
_GIVEN = re.compile(r"\$\(([^()]+)\)")
_OURS: dict[str, Callable[[list[str]], int]] = {"git candidate": cli.main, "packcheck": packcheck}
_CHANGING = {
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ": "TIME",
    r"process \d+ for": "process PID for",
    r"git \d[\w.]* ": "git VERSION ",
    # How small a delta is depends on git.
    r"\d+ bytes inflated": "N bytes inflated",
    r"objects, \d+ bytes": "objects, N bytes",
    # The version is not known where packcheck is not installed.
    r"packcheck [\d.]*\w* ?\(": "packcheck VERSION (",
}
_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{12,64}(?![0-9a-f])")


def blocks(text: str) -> list[str]:
    """The console blocks of a text."""
    return _BLOCK.findall(text)


class Console:
    """Runs commands in a folder, with variables that earlier ones have set."""

    def __init__(self, folder: Path, variables: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.variables = dict(variables or {})
        self.statuses: list[int] = []

    def transcript(self, shown: Iterable[str]) -> str:
        """The given blocks with what their commands print now."""
        commands = [line[2:] for block in shown for line in block.splitlines() if line[:2] == "$ "]
        return "".join(f"$ {command}\n{self.run(command)}" for command in commands)

    def run(self, command: str) -> str:
        """Run a command; what it prints on both outputs."""
        assigned = _ASSIGNED.fullmatch(command)
        if assigned:
            self.variables[assigned[1]] = self.run(assigned[2]).strip()
            return ""
        for name, main in _OURS.items():
            if command.startswith(f"{name} "):
                ours, _, rest = command.removeprefix(name).partition(" | ")
                printed = self._call(main, ours)
                return self._shell(rest, printed) if rest else printed
        return self._shell(command)

    def _call(self, main: Callable[[list[str]], int], arguments: str) -> str:
        for name, value in self.variables.items():
            arguments = arguments.replace(f"${name}", value)
        arguments = _GIVEN.sub(lambda match: self._shell(match[1]).strip(), arguments)
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            with TemporaryFile("w+", encoding="utf-8") as printed:
                with (
                    _written_to(printed.fileno()),
                    redirect_stdout(printed),
                    redirect_stderr(printed),
                ):
                    self.statuses.append(main(shlex.split(arguments)))
                printed.seek(0)
                return printed.read()
        finally:
            os.chdir(before)

    def _shell(self, command: str, given: str = "") -> str:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.folder,
            env={**os.environ, **self.variables},
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        self.statuses.append(done.returncode)
        return done.stdout


@contextmanager
def _written_to(file: int) -> Iterator[None]:
    """Whatever processes inside of the block write goes to a file, as what we write does."""
    kept = [os.dup(number) for number in (1, 2)]
    try:
        for number in (1, 2):
            os.dup2(file, number)
        yield
    finally:
        for number, before in enumerate(kept, 1):
            os.dup2(before, number)
            os.close(before)


def comparable(text: str, folder: Path) -> str:
    """A transcript without what changes from run to run."""
    text = text.replace(str(folder), "/srv")
    for pattern, name in _CHANGING.items():
        text = re.sub(pattern, name, text)
    numbers: dict[str, int] = {}
    return _ID.sub(lambda match: f"<{numbers.setdefault(match[0], len(numbers))}>", text)
