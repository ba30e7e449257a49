"""Ask the installed git about every case: ``git index-pack --strict`` in a repository."""

from __future__ import annotations

import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from corpus.model import Case, Extra

__all__ = ["measure"]


def measure(cases: list[Case], extras: list[Extra]) -> dict[str, object]:
    """``accepted`` or ``refused`` by the name of the case; None where there is nothing to ask.

    Of a bundle the pack is asked about. A case with a host is put before a repository that holds
    the host's pack, with ``--fix-thin``; any other case before an empty one.
    """
    packs = {extra.name: extra.data for extra in extras}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        repos = {
            (host, fmt): _repository(root / f"{fmt}-{host or 'empty'}", fmt, packs.get(host))
            for host, fmt in {(case.host, _format(case)) for case in cases}
        }
        with ThreadPoolExecutor(2) as pool:
            asked = pool.map(lambda case: _ask(repos[case.host, _format(case)], case), cases)
            return {case.name: verdict for case, verdict in zip(cases, asked, strict=True)}


def _format(case: Case) -> str:
    named = [after for word, after in zip(case.arguments, case.arguments[1:], strict=False)
             if word == "--object-format"]  # fmt: skip
    return named[0] if named else "sha1"


def _repository(path: Path, fmt: str, pack: bytes | None) -> Path:
    path.mkdir()
    _git(path, "init", "-q", "--bare", "--template=", f"--object-format={fmt}", ".")
    if pack is not None:
        done = _git(path, "index-pack", "--stdin", given=pack)
        done.check_returncode()
    return path


def _ask(repo: Path, case: Case) -> str | None:
    pack = _pack_of(case)
    if pack is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path, index = Path(folder, "it.pack"), Path(folder, "it.idx")
        if case.host:
            # Into a folder of its own: what is asked about must not be there for the next one.
            store = {"GIT_OBJECT_DIRECTORY": folder, "GIT_ALTERNATE_OBJECT_DIRECTORIES": ""}
            store["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(repo / "objects")
            flags = ["--strict", "--fix-thin", "--stdin"]
            done = _git(repo, "index-pack", *flags, given=pack, more=store)
            lines = 2
        else:
            path.write_bytes(pack)
            done = _git(repo, "index-pack", "--strict", "--threads=1", "-o", str(index), str(path))
            lines = 1
    # Further words on standard output are objects whose check git leaves to its caller.
    return "accepted" if done.returncode == 0 and len(done.stdout.split()) == lines else "refused"


def _pack_of(case: Case) -> bytes | None:
    """The bytes from the pack's signature on."""
    if not case.bundle:
        return case.file.data
    _head, mark, pack = case.file.data.partition(b"\n\nPACK")
    return b"PACK" + pack if mark else None


def _git(
    repo: Path, *words: str, given: bytes = b"", more: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    env = {"PATH": os.environ["PATH"], "HOME": str(repo), "LC_ALL": "C"}
    env |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull} | (more or {})
    return subprocess.run(  # noqa: S603 - the words are ours
        ["git", *words],  # noqa: S607 - the one on the path
        cwd=repo,
        env=env,
        input=given,
        capture_output=True,
        timeout=60,
        check=False,
    )
