"""Run the real git in a clean environment, to make repositories and to ask for its verdict."""

from __future__ import annotations

import functools
import os
import random
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packparse.entry import BLOB, COMMIT, TAG, TREE

EPOCH = 1700000000
NAME = "A U Thor"
EMAIL = "author@example.com"
TIMEOUT = 120.0


def clean_env(repo: Path) -> dict[str, str]:
    """Return the whole environment of a git process: nothing of the caller's but PATH and TMPDIR.

    Names, dates and language are fixed; system and user configuration are switched off.
    """
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    fixed = {
        "HOME": str(repo),
        "LC_ALL": "C",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        # A folder that is no repository must fail and not find one further up.
        "GIT_CEILING_DIRECTORIES": str(repo.resolve().parent),
    }
    for role in ("AUTHOR", "COMMITTER"):
        fixed[f"GIT_{role}_NAME"] = NAME
        fixed[f"GIT_{role}_EMAIL"] = EMAIL
        fixed[f"GIT_{role}_DATE"] = f"{EPOCH} +0000"
    return kept | fixed


def git(
    repo: Path,
    *args: str | bytes | Path,
    input: bytes | None = None,  # noqa: A002 - the name subprocess.run uses
    env: Mapping[str, str] | None = None,
    check: bool = True,
    timeout: float = TIMEOUT,
) -> subprocess.CompletedProcess[bytes]:
    """Run `git args` in `repo`; `env` adds to the clean environment.

    Without `check` a failure is returned; with it CalledProcessError carries git's words as note.
    """
    done = subprocess.run(
        ["git", *args],
        cwd=repo,
        env=clean_env(repo) | dict(env or {}),
        input=b"" if input is None else input,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    if check:
        _raise_with_stderr(done)
    return done


def _raise_with_stderr(done: subprocess.CompletedProcess[bytes]) -> None:
    try:
        done.check_returncode()
    except subprocess.CalledProcessError as error:
        error.add_note(done.stderr.decode(errors="replace"))
        raise


@functools.cache
def git_version() -> tuple[int, ...]:
    """Return the leading numbers of `git version`, such as (2, 39, 5)."""
    done = subprocess.run(["git", "version"], capture_output=True, check=True, timeout=TIMEOUT)
    found = re.search(rb"\d+(?:\.\d+)*", done.stdout)
    return tuple(int(part) for part in found[0].split(b".")) if found else ()


def init(path: Path, fmt: str = "sha1", *, bare: bool = False) -> Path:
    """Make an empty repository with branch main and no template; return its path."""
    path.mkdir(parents=True, exist_ok=True)
    shape = ["--bare"] if bare else []
    git(path, "init", "-q", "--template=", f"--object-format={fmt}", "-b", "main", *shape, ".")
    return path


def object_format(repo: Path) -> str:
    """Return the hash name of a repository."""
    return git(repo, "rev-parse", "--show-object-format").stdout.decode().strip()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What index-pack said of one pack.

    `accepted` needs exit status 0 and no word on stdout beyond the pack id: further lines are
    ids of .gitmodules that git left for its caller to check. `oids` are sorted hex ids.
    """

    accepted: bool
    rc: int
    stdout: bytes
    stderr: bytes
    oids: list[str]


def index_pack_strict(
    repo: Path,
    pack: bytes | Path,
    *,
    strict: bool = True,
    threads: int = 1,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> Verdict:
    """Ask `git index-pack --strict`, run in `repo` on a copy of the pack, for its verdict.

    The repository stays as it was. The input is a regular file, for on a pipe git overlooks bytes
    after the trailer.
    """
    with tempfile.TemporaryDirectory() as folder:
        # Pack and index share a stem: only then does git find the blobs of its late checks.
        path, index = Path(folder, "it.pack"), Path(folder, "it.idx")
        path.write_bytes(pack if isinstance(pack, bytes) else pack.read_bytes())
        flags = [*(["--strict"] if strict else []), f"--threads={threads}", *options]
        command = ["index-pack", *flags, "-o", str(index), str(path)]
        done = git(repo, *command, env=env, check=False, timeout=timeout)
        oids = _index_oids(repo, index) if done.returncode == 0 else []
    accepted = done.returncode == 0 and len(done.stdout.split()) == 1
    return Verdict(accepted, done.returncode, done.stdout, done.stderr, oids)


def _index_oids(repo: Path, index: Path) -> list[str]:
    fmt = object_format(repo)
    shown = git(repo, "show-index", f"--object-format={fmt}", input=index.read_bytes()).stdout
    return sorted(line.split()[1].decode() for line in shown.splitlines())


def install_pack(repo: Path, pack: bytes) -> None:
    """Put a pack and its new index into the object store of `repo`, without strict checks."""
    git(repo, "index-pack", "--stdin", input=pack)


def pack_revs(repo: Path, *revs: str, options: Sequence[str] = ()) -> bytes:
    """Return the pack that git makes of revisions such as main or ^main~3, by default all refs."""
    command = ["pack-objects", "--revs", "--stdout", "-q", "--threads=1", *options]
    wanted = "".join(f"{rev}\n" for rev in revs).encode()
    return git(repo, *command, *([] if revs else ["--all"]), input=wanted).stdout


def make_history(repo: Path, commits: int, files: int, seed: int = 0) -> list[str]:
    """Write `commits` linear commits on main that edit `files` text files; return their ids.

    The same arguments give the same ids. The branch must not exist; the work tree is left alone.
    """
    stream = b"".join(_import_stream(commits, files, random.Random(seed)))
    git(repo, "fast-import", "--quiet", "--done", input=stream)
    listed = git(repo, "rev-list", "--reverse", "refs/heads/main").stdout
    return listed.decode().split()


def _import_stream(commits: int, files: int, rng: random.Random) -> Iterator[bytes]:
    texts = [[_random_line(rng) for _ in range(40)] for _ in range(files)]
    for number in range(commits):
        # The first commit holds every file, a later one a few small edits: food for deltas.
        changed = range(files) if number == 0 else rng.sample(range(files), min(files, 3))
        yield b"commit refs/heads/main\n"
        yield f"committer {NAME} <{EMAIL}> {EPOCH + 60 * number} +0000\n".encode()
        yield _data(b"commit %d\n" % number)
        for index in changed:
            if number:
                texts[index][rng.randrange(40)] = _random_line(rng)
            yield b"M 100644 inline dir%d/file%d.txt\n" % (index % 5, index)
            yield _data(b"".join(texts[index]))
    yield b"done\n"


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _random_line(rng: random.Random) -> bytes:
    return b"%064x\n" % rng.getrandbits(256)


def listed(repo: Path) -> dict[bytes, tuple[int, bytes]]:
    """All objects of a repository, their kinds and contents, by git's own word."""
    kinds = {b"commit": COMMIT, b"tree": TREE, b"blob": BLOB, b"tag": TAG}
    told = git(repo, "cat-file", "--batch", "--batch-all-objects").stdout
    found = {}
    while told:
        line, _, rest = told.partition(b"\n")
        name, kind, size = line.split()
        found[bytes.fromhex(name.decode())] = (kinds[kind], rest[: int(size)])
        told = rest[int(size) + 1 :]
    return found
