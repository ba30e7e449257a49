"""A `git` on the path that is none: a script, which tells what it was started with."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from importer import git
from importer.world import GIT_SECONDS, World
from packparse.objectformat import FORMATS

# What a caller may have set; none of it may reach git.
NAMES = [
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
    "GIT_EXEC_PATH", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_TEMPLATE_DIR", "GIT_NAMESPACE",
    "GIT_CEILING_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_TRACE",
    "GIT_CONFIG_PARAMETERS", "GIT_REPLACE_REF_BASE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE",
    "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_EDITOR", "GIT_PAGER", "GIT_EXTERNAL_DIFF", "HOME",
    "GIT_TRACE2_EVENT", "GIT_QUARANTINE_PATH", "SSH_ASKPASS", "GITHUB_TOKEN", "GH_TOKEN", "LANG",
    "XDG_CONFIG_HOME", "LC_MESSAGES", "LANGUAGE", "PAGER", "PYTHONPATH",
]  # fmt: skip
HOSTILE = dict.fromkeys(NAMES, "/hostile") | {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.bare",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_NOSYSTEM": "0",
    "GIT_NO_REPLACE_OBJECTS": "0",
    "GIT_TERMINAL_PROMPT": "1",
}
# Of folders.
ODD_NAMES = {
    "a blank and quotes": b'it\'s "odd"',
    "a colon": b"a:b",
    "a backslash": b"a\\b",
    "a line feed": b"a\nb",
    "no UTF-8": b"\xff\xfe",
    "a percent sign and a dollar": b"%s$HOME",
}

# Of the process as it is started, before the interpreter changes anything.
_TELL = """#!{python} -ISE
import json, os, resource, sys
kinds = ("AS", "FSIZE", "CPU", "CORE")
told = {{
    "arguments": sys.argv[1:],
    "environment": dict(
        pair.split("=", 1)
        for pair in open("/proc/self/environ", errors="surrogateescape").read().split("\\0")[:-1]
    ),
    "limits": {{kind: resource.getrlimit(getattr(resource, "RLIMIT_" + kind)) for kind in kinds}},
    "open": sorted(int(fd) for fd in os.listdir("/proc/self/fd") if os.path.exists(
        "/proc/self/fd/" + fd)),
    "terminals": [fd for fd in range(3) if os.isatty(fd)],
    "stdin": os.readlink("/proc/self/fd/0"),
    "pid": os.getpid(),
    "group": os.getpgrp(),
    "folder": os.getcwd(),
}}
json.dump(told, open({told!r}, "w"))
"""


class FakeGit:
    """A folder that is first on the path, and the `git` in it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        folder.mkdir()
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def script(self, text: str) -> None:
        """Let `git` be a shell script."""
        self._write(f"#!/bin/sh\n{text}\n")

    def tell(self) -> None:
        """Let `git` note what it was started with."""
        self._write(_TELL.format(python=sys.executable, told=str(self._folder / "told")))

    def told(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads((self._folder / "told").read_text())
        return told

    def _write(self, text: str) -> None:
        # A new file: one that is open for writing cannot be started.
        (self._folder / "new").write_text(text)
        (self._folder / "new").chmod(0o755)
        (self._folder / "new").rename(self._folder / "git")


@contextmanager
def bench(
    folder: Path, *, objects: str = "/none", fmt: str = "sha1", seconds: float = GIT_SECONDS
) -> Iterator[git.Bench]:
    """A bench in a folder, which is no repository's."""
    world = World(git_seconds=seconds)
    with (
        world.files.folder(str(folder)) as at,
        git.bench(
            world, "bench", at=at, path=str(folder), object_format=FORMATS[fmt], objects=objects
        ) as made,
    ):
        yield made
