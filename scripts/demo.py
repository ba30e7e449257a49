"""The demo: verify a bundle of this repository, then three damaged copies of it.

Everything happens in a temporary folder. Each step shows the command, what it printed and what
that means. The exit status is 0 only if every step ended as expected.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_CHUNK = 1 << 16
_OFS_DELTA = 6
_REF_DELTA = 7

_SMALL_REPOSITORY = b"""\
commit refs/heads/main
committer Demo <demo@example.invalid> 1600000000 +0000
data 6
First
M 100644 inline hello.txt
data 280
%b
commit refs/heads/main
committer Demo <demo@example.invalid> 1600000060 +0000
data 7
Second
M 100644 inline folder/more.txt
data 280
%b
""" % (b"Hello, pack!\n" * 21 + b"Hello.\n", b"More of it.\n" * 23 + b"Mor\n")


class DemoError(Exception):
    """The demo could not be set up; the message says why."""


@dataclass(frozen=True)
class Step:
    """One file to verify, the exit status it must end with, and what that shows."""

    title: str
    file: str
    expected: int
    shows: str


def main() -> int:
    """Make the four bundles, verify each, compare exit statuses."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory(prefix="packcheck-demo-") as name:
        folder = Path(name)
        try:
            make_bundle(folder)
            steps = make_steps(folder)
        except DemoError as error:
            print(f"demo: {error}", file=sys.stderr)
            return 2
        failed = [step for number, step in enumerate(steps, 1) if not show(number, step, folder)]
    if failed:
        print(f"demo FAILED: {len(failed)} of {len(steps)} steps ended otherwise than expected")
        return 1
    print(f"All {len(steps)} steps ended as expected.")
    return 0


def make_bundle(folder: Path) -> None:
    """Write ``demo.bundle``: this repository, or a small one where that is impossible."""
    repository = ROOT
    if reason := _unusable(ROOT):
        print(f"Not a bundle of this repository ({reason}): of a small one made for the demo.\n")
        repository = _small_repository(folder)
    else:
        print("A bundle of this repository, as a stranger might send it:\n")
    print("$ git bundle create demo.bundle --all")
    target = str(folder / "demo.bundle")
    _git("-C", str(repository), "bundle", "create", "--quiet", target, "--all")


def make_steps(folder: Path) -> list[Step]:
    """Write the damaged copies beside ``demo.bundle`` and say what each must end with."""
    whole = (folder / "demo.bundle").read_bytes()
    start = whole.index(b"\n\n") + 2
    id_bytes = 32 if b"\n@object-format=sha256\n" in whole[:start] else 20
    print(f"  {len(whole):,} bytes: {start:,} of header, the rest is the pack\n")
    entry, byte = _inside_a_stream(whole, start, id_bytes)

    changed = bytearray(whole)
    changed[byte] ^= 0x40
    (folder / "changed.bundle").write_bytes(changed)
    (folder / "longer.bundle").write_bytes(whole + b"\0\0\0")
    claim = whole[: start + 8] + b"\xff\xff\xff\xff" + whole[start + 12 :]
    (folder / "claims.bundle").write_bytes(claim)
    return [
        Step(
            "The bundle as git wrote it",
            "demo.bundle",
            0,
            "Accepted: every object was unpacked, hashed and found complete, by this project's\n"
            "own parser. Native git has not read the bundle.",
        ),
        Step(
            f"One byte changed: byte {byte:,}, in the compressed data of the entry at {entry:,}",
            "changed.bundle",
            1,
            "Refused as corrupt, with the offset of the damaged entry.",
        ),
        Step(
            "Three bytes appended",
            "longer.bundle",
            1,
            "Refused as corrupt: nothing may follow the end of the pack.\n"
            "`git index-pack --stdin` lets such bytes through.",
        ),
        Step(
            "A pack header that claims 4,294,967,295 objects",
            "claims.bundle",
            4,
            "Refused by a limit after reading the header; no memory was set aside for\n"
            "the objects it claims.",
        ),
    ]


def show(number: int, step: Step, folder: Path) -> bool:
    """Run one step and print it; whether it ended as expected."""
    arguments = ["verify", "--limits", "history", step.file]
    print(f"--- {number}. {step.title}\n\n$ packcheck {' '.join(arguments)}", flush=True)
    command, env = _packcheck()
    done = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    print("".join(f"  {line}\n" for line in done.stdout.decode("utf-8", "replace").splitlines()))
    crashed = b"Traceback (most recent call last)" in done.stdout
    if done.returncode == step.expected and not crashed:
        print(f"exit {done.returncode}, as expected.\n{step.shows}\n")
        return True
    why = "a crash" if crashed else f"exit {done.returncode}"
    print(f"{why}, but exit {step.expected} was expected: THIS IS WRONG\n")
    return False


def _packcheck() -> tuple[list[str], dict[str, str]]:
    """The command beside the running Python, or the package beside this script."""
    command = Path(sys.executable).parent / "packcheck"
    if command.exists():
        return [str(command)], dict(os.environ)
    return [sys.executable, "-m", "packparse"], {**os.environ, "PYTHONPATH": str(ROOT)}


def _unusable(repository: Path) -> str:
    """Why no complete bundle can be made of a repository; empty if one can."""
    if shutil.which("git") is None:
        raise DemoError("git is needed to write the bundle")
    try:
        top = _git("-C", str(repository), "rev-parse", "--show-toplevel")
        if Path(os.fsdecode(top.rstrip(b"\n"))).resolve() != repository:
            return "it is no git checkout of its own"
        _git("-C", str(repository), "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        shallow = _git("-C", str(repository), "rev-parse", "--is-shallow-repository")
    except DemoError:
        return "it is no git checkout, or has no commit yet"
    return "it is a shallow clone" if shallow.strip() == b"true" else ""


def _small_repository(folder: Path) -> Path:
    repository = folder / "small.git"
    _git("init", "--quiet", "--bare", "--template=", str(repository))
    _git("-C", str(repository), "fast-import", "--quiet", feed=_SMALL_REPOSITORY)
    return repository


def _git(*arguments: str, feed: bytes = b"") -> bytes:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *arguments], env=env, input=feed, capture_output=True, check=False
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise DemoError(f"git {arguments[-1]} failed: {said or done.returncode}")
    return done.stdout


def _inside_a_stream(data: bytes, start: int, id_bytes: int) -> tuple[int, int]:
    """Entry and byte offset, in the bundle, of a byte that is compressed data for certain.

    Walks the entries of a pack that git has just written up to the middle of the file.
    """
    position = start + 12
    while True:
        entry = position
        kind = data[position] >> 4 & 7
        position = _after_varint(data, position)
        if kind == _OFS_DELTA:
            position = _after_varint(data, position)
        elif kind == _REF_DELTA:
            position += id_bytes
        end = _after_stream(data, position)
        if end > len(data) // 2:
            return entry, (position + end) // 2
        position = end


def _after_varint(data: bytes, position: int) -> int:
    while data[position] & 0x80:
        position += 1
    return position + 1


def _after_stream(data: bytes, position: int) -> int:
    inflate = zlib.decompressobj()
    while not inflate.eof and position < len(data):
        chunk = data[position : position + _CHUNK]
        inflate.decompress(chunk)
        position += len(chunk)
    return position - len(inflate.unused_data)


if __name__ == "__main__":
    sys.exit(main())
