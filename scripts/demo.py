"""The demo: verify a bundle of this repository, damaged copies of it, then three candidates.

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


# A base, and two branches that somebody made from it.
_CANDIDATES = b"""\
commit refs/heads/main
committer Demo <demo@example.invalid> 1600000000 +0000
data <<END
What we had
END
M 100644 inline src/app.py
data <<END
print("hello")
END

commit refs/heads/honest
committer Demo <demo@example.invalid> 1600000060 +0000
data <<END
Greet more people
END
from refs/heads/main
M 100644 inline src/app.py
data <<END
for _ in "ab": print("hello")
END
M 100755 inline run.sh
data <<END
#!/bin/sh
exec python3 src/app.py "$@"
END

commit refs/heads/link
committer Demo <demo@example.invalid> 1600000060 +0000
data <<END
Add the config
END
from refs/heads/main
M 120000 inline src/config.txt
data 19
../../../etc/passwd
"""

_MAIN_JOB = ("--limits", "history", "--policy", "mirror")


class DemoError(Exception):
    """The demo could not be set up; the message says why."""


@dataclass(frozen=True)
class Step:
    """One file to verify, the exit status it must end with, and what that shows.

    ``words`` must stand in the report; ``tip`` is set where a range from the base is asked for.
    """

    title: str
    file: str
    expected: int
    shows: str
    words: str = ""
    tip: str = ""


def main() -> int:
    """Make all bundles, verify each, compare exit statuses."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory(prefix="packcheck-demo-") as name:
        folder = Path(name)
        try:
            make_bundle(folder)
            steps = make_steps(folder)
            failed = [
                step for number, step in enumerate(steps, 1) if not show(number, step, folder)
            ]
            base, candidates = make_candidates(folder)
        except DemoError as error:
            print(f"demo: {error}", file=sys.stderr)
            return 2
        for number, step in enumerate(candidates, len(steps) + 1):
            if not show(number, step, folder, base):
                failed.append(step)
    total = len(steps) + len(candidates)
    if failed:
        print(f"demo FAILED: {len(failed)} of {total} steps ended otherwise than expected")
        return 1
    print(f"All {total} steps ended as expected.")
    return 0


def make_bundle(folder: Path) -> None:
    """Write ``demo.bundle``: this repository, or a small one where that is impossible."""
    repository = ROOT
    if reason := _unusable(ROOT):
        print(f"Not a bundle of this repository ({reason}): of a small one made for the demo.\n")
        repository = _repository(folder / "small.git", _SMALL_REPOSITORY)
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


def make_candidates(folder: Path) -> tuple[str, list[Step]]:
    """Write a base for the host, and three bundles made from it; return the base and the steps."""
    repository = _repository(folder / "candidates.git", _CANDIDATES)

    def ask(*arguments: str, feed: bytes = b"") -> bytes:
        return _git("-C", str(repository), *arguments, feed=feed)

    base, honest, link = (
        ask("rev-parse", branch).decode().strip() for branch in ("main", "honest", "link")
    )
    print(
        "Commits that somebody made from a commit of ours, the base. The host says what it gave\n"
        "away, and holds it ready:\n\n"
        f"BASE={base}\n"
        "$ git rev-list --objects --no-object-names $BASE > known.txt\n"
        "$ echo $BASE | git pack-objects --quiet --revs --stdout > base.pack\n"
    )
    given = ask("rev-list", "--objects", "--no-object-names", base)
    (folder / "known.txt").write_bytes(given)
    pack = ask("pack-objects", "--quiet", "--revs", "--stdout", feed=f"{base}\n".encode())
    (folder / "base.pack").write_bytes(pack)
    for branch in ("honest", "link"):
        target = str(folder / f"{branch}.bundle")
        ask("bundle", "create", "--quiet", target, branch, "^main")
    # The same range as honest.bundle, and one more file that no commit has.
    brought = ask("rev-list", "--objects", "--no-object-names", honest, f"^{base}")
    brought += ask("hash-object", "-w", "--stdin", feed=b"What nobody will see in a review.\n")
    pack = ask("pack-objects", "--quiet", "--stdout", feed=brought)
    header = f"# v2 git bundle\n-{base}\n{honest} refs/heads/honest\n\n".encode()
    (folder / "stowaway.bundle").write_bytes(header + pack)
    return base, [
        Step(
            "An honest candidate",
            "honest.bundle",
            0,
            "Accepted: the bundle holds exactly the commits from the base to the tip, and what\n"
            "they bring. What a reviewer should look at first is listed.",
            words="new executable: run.sh",
            tip=honest,
        ),
        Step(
            "A candidate with a symbolic link to a file outside the tree",
            "link.bundle",
            3,
            "Refused by policy, with the path of the link. Native git has no objection.",
            words="path src/config.txt",
            tip=link,
        ),
        Step(
            "The honest candidate, and an object that none of its commits reaches",
            "stowaway.bundle",
            3,
            "Refused by policy: what no commit names would lie in the repository unseen.\n"
            "Native git has no objection here, either.",
            words="stowawayObject",
            tip=honest,
        ),
    ]


def show(number: int, step: Step, folder: Path, base: str = "") -> bool:
    """Run one step and print it; whether it ended as expected."""
    asked = ["--base", base, "--tip", step.tip, "--known", "known.txt", "--base-pack", "base.pack"]
    arguments = ["verify", *(asked if step.tip else _MAIN_JOB), step.file]
    shown = " ".join({base: "$BASE", step.tip: "$TIP"}.get(word, word) for word in arguments)
    print(f"--- {number}. {step.title}\n")
    if step.tip:
        print(f"TIP={step.tip}")
    print(f"$ packcheck {shown}", flush=True)
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
    report = done.stdout.decode("utf-8", "replace")
    print("".join(f"  {line}\n" for line in report.splitlines()))
    crashed = "Traceback (most recent call last)" in report
    if done.returncode == step.expected and step.words in report and not crashed:
        print(f"exit {done.returncode}, as expected.\n{step.shows}\n")
        return True
    why = "a crash" if crashed else f"exit {done.returncode}"
    wanted = f"exit {step.expected}" + (f" and {step.words!r}" if step.words else "")
    print(f"{why}, but {wanted} was expected: THIS IS WRONG\n")
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


def _repository(path: Path, stream: bytes) -> Path:
    """A bare repository with what a stream of `git fast-import` says."""
    _git("init", "--quiet", "--bare", "--template=", str(path))
    _git("-C", str(path), "fast-import", "--quiet", feed=stream)
    return path


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
