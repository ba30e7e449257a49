"""Run the command, in this process or as a program, on files of every class."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from packparse.cli import main
from tests.support import packs
from tests.support.bundles import bundle

ROOT = Path(__file__).resolve().parents[2]
_PACK = packs.small_honest()
_TAG = (_PACK.handles[-1].hex, "refs/tags/v1")

# What is refused with each class, and what is accepted. No file has the name 6.
FILES = {
    0: _PACK.pack,
    1: packs.flip(_PACK.pack, -1),
    3: bundle(_PACK.pack, [(_PACK.commit.hex, "refs/heads/--mirror"), _TAG]),
    4: packs.many_objects_header(0xFFFF_FFFF),
    5: bundle(_PACK.pack, [("ab" * 20, "refs/heads/main"), _TAG]),
}


def write_files(folder: Path) -> None:
    """Write one file for each class, whose name is the class."""
    for klass, data in FILES.items():
        (folder / str(klass)).write_bytes(data)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command in this process; return its status and what it wrote."""
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else -1
    out, err = capsys.readouterr()
    return status, out, err


def closing(streams: str) -> tuple[str, ...]:
    """What runs a command with these streams closed, as a shell writes it."""
    return ("sh", "-c", f'exec "$@" {streams}', "sh")


def child(
    *arguments: str,
    cwd: Path,
    stdin: bytes = b"",
    stdout: int = subprocess.PIPE,
    wrapper: tuple[str, ...] = (),
) -> tuple[int, str, str]:
    """Run the command as a program; return its status and what it wrote."""
    command = [*wrapper, sys.executable, "-m", "packparse", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=cwd, env=env, input=stdin, stdout=stdout, stderr=subprocess.PIPE, check=False
    )
    out = done.stdout.decode() if stdout == subprocess.PIPE else ""
    return done.returncode, out, done.stderr.decode()
