"""Native git is killed, or finds the disk full, at each of its own file operations."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from importer.errors import ImporterError
from importer.steps import ImportResult, import_candidate
from tests.support.aftermath import Ground, outcome, saying
from tests.support.fakegit import faked

# What changes the file system; a machine need not have all of them.
_CALLS = (
    "?chmod", "?fchmod", "?fchmodat", "?fdatasync", "fsync", "ftruncate", "?link", "linkat",
    "?mkdir", "mkdirat", "openat", "pwrite64", "?rename", "?renameat", "renameat2", "?unlink",
    "unlinkat", "write",
)  # fmt: skip
_TRACED = f"trace={','.join(_CALLS)}"
_LINE = re.compile(r"^(\d+) +(\w+)\((.*)", re.MULTILINE)

FAULTS = {"is killed": "signal=KILL:when={}", "finds the disk full": "error=ENOSPC:when={}+"}


@functools.cache
def _no_tracing() -> str:
    """Why system calls cannot be traced; empty where they can."""
    if shutil.which("strace") is None:
        return "strace is not there"
    command = ["strace", "-f", "-qq", "-e", _TRACED, "-o", "/dev/null", "true"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    return f"strace: {done.stderr.decode(errors='replace').strip()}" if done.returncode else ""


def _traced(folder: Path, options: str) -> str:
    return f'exec strace -f -qq -o {folder}/trace {options} "$real" "$@"'


def _places(trace: str) -> list[tuple[str, int]]:
    """The calls that change something: their names, and which ones of their thread they are."""
    seen: Counter[tuple[str, str]] = Counter()
    places = []
    for thread, name, arguments in _LINE.findall(trace):
        seen[thread, name] += 1
        if name != "openat" or "O_CREAT" in arguments:
            places.append((name, seen[thread, name]))
    return list(dict.fromkeys(places))


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_an_import_whose_index_pack(large: Ground, tmp_path: Path, fault: str) -> None:
    if _no_tracing():
        pytest.skip(_no_tracing())
    trace = tmp_path / "trace"
    with large.opened() as repository:
        with faked(tmp_path, "index-pack", _traced(tmp_path, f"-e {_TRACED}")):
            import_candidate(repository, large.launch)
        places = _places(trace.read_text())
        assert {"openat", "write"} <= {name for name, _ in places}
        for name, number in places:
            large.undo(repository)
            options = f"-e trace={name} -e inject={name}:{fault.format(number)}"
            with saying(f"at {name} number {number}"):
                with faked(tmp_path, "index-pack", _traced(tmp_path, options)):
                    found = outcome(import_candidate, repository, large.launch)
                _check(found, name, trace.read_text())
                large.check_host()
                receipt = import_candidate(repository, large.launch).receipt
                large.check_imported(receipt, repository)


def _check(found: ImportResult | ImporterError, name: str, trace: str) -> None:
    if isinstance(found, ImporterError):
        assert found.code.name == "gitFailed"
    elif "killed by SIGKILL" in trace or "(INJECTED)" in trace:
        # Where there is no room for a second name of a file, git renames it.
        assert name in {"link", "linkat"}
        assert "(INJECTED)" in trace
    else:
        # Which thread looks for an object is by chance, so there may be fewer in one of them.
        assert name == "openat"
