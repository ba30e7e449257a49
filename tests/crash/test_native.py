"""Native git dies, hangs, runs out of room or talks nonsense under an import, which tells so."""

from __future__ import annotations

from pathlib import Path

import pytest

from importer.errors import ImporterError, ImportFailed
from importer.steps import import_candidate
from importer.world import GIT_SECONDS
from tests.support.aftermath import Ground, outcome
from tests.support.fakegit import faked
from tests.support.files import open_descriptors

# Of git that is to hang. What is to be answered takes some milliseconds.
PATIENCE = 0.5

# It gets some bytes and no end, and is killed once it has begun to write, or has written some.
_CUT = """
exec 3<&0
{{ head -c {length} <&3; exec sleep 60; }} | "$real" "$@" &
until [ -{written} "$(echo "$GIT_OBJECT_DIRECTORY"/pack/tmp_pack_*)" ]; do :; done
kill -9 0
"""
FAILING = {
    "is killed before it begins": "kill -9 $$",
    "is killed with nothing read": _CUT.format(length=0, written="e"),
    "is killed with the header of the pack read": _CUT.format(length=12, written="e"),
    "is killed with a page read": _CUT.format(length=4_097, written="e"),
    "is killed with a part of an object read": _CUT.format(length=9_000, written="s"),
    "is killed with all but the end read": _CUT.format(length=20_400, written="s"),
    "is killed at its end": '"$real" "$@"; kill -9 $$',
    "may write nothing": 'ulimit -f 0; exec "$real" "$@"',
    "may write half a kilobyte": 'ulimit -f 1; exec "$real" "$@"',
    "may write eight kilobytes": 'ulimit -f 16; exec "$real" "$@"',
    "may write all but what completes the pack": 'ulimit -f 41; exec "$real" "$@"',
    "fails at its first write": 'trap "" XFSZ; ulimit -f 0; exec "$real" "$@"',
    "fails at a later write": 'trap "" XFSZ; ulimit -f 16; exec "$real" "$@"',
    "fails at the last write": 'trap "" XFSZ; ulimit -f 41; exec "$real" "$@"',
    "hangs": "exec sleep 60",
    "hangs at its end": '"$real" "$@"; exec sleep 60',
    "writes a file more": '"$real" "$@"; : > "$GIT_OBJECT_DIRECTORY/pack/other"; exit 0',
    "writes another index": (
        '"$real" "$@"; cd "$GIT_OBJECT_DIRECTORY/pack"; : > i; mv -f i *.idx; exit 0'
    ),
    "exits without a word": "exit 1",
}
REFUSING = {
    "says no": "echo fatal: no >&2; exit 1",
    "says more than a name": '"$real" "$@"; echo more; exit 0',
    "says nothing": '"$real" "$@" > /dev/null; exit 0',
}
MISSING = {
    "removes what it wrote": '"$real" "$@"; rm -r "$GIT_OBJECT_DIRECTORY"/*; exit 0',
    "writes nothing and says that it did": r'printf "pack\t%040d\n" 0; exit 0',
}
SWEPT = {
    "loses its folder before it begins": 'rm -r "$GIT_OBJECT_DIRECTORY"; exec "$real" "$@"',
    "loses its folder at its end": '"$real" "$@"; rm -r "$GIT_OBJECT_DIRECTORY"; exit 0',
}


@pytest.mark.parametrize(
    ("script", "code"),
    [(script, "gitFailed") for script in FAILING.values()]
    + [(script, "gitRefused") for script in REFUSING.values()]
    + [(script, "fileFailed") for script in MISSING.values()]
    + [(script, "quarantineSwept") for script in SWEPT.values()],
    ids=[*FAILING, *REFUSING, *MISSING, *SWEPT],
)
def test_an_import_whose_index_pack(large: Ground, tmp_path: Path, script: str, code: str) -> None:
    _check_failure(large, tmp_path, "index-pack", script, code)


READING = {
    "is killed before it begins": "kill -9 $$",
    "ends before it begins": "exit 0",
    "talks nonsense": "read -r line; echo nonsense; exec cat > /dev/null",
    "talks without end": "exec cat /dev/zero",
    "gives a size and no content": (
        'read -r verb oid; echo "$oid commit 1000000000000"; echo "tree"; exit 0'
    ),
    "gives a size without end": (
        'read -r verb oid; echo "$oid commit $(printf "%0150d" 1)"; exec cat > /dev/null'
    ),
    "hangs": "exec cat > /dev/null",
} | {
    f"is killed when it has said {length} bytes": (
        f'"$real" "$@" | {{ dd bs=1 count={length} 2>&3; kill -9 0; }} 3>/dev/null'
    )
    for length in (1, 45, 52, 100, 265, 300, 1_000)
}


@pytest.mark.parametrize("script", READING.values(), ids=READING)
def test_an_import_whose_cat_file(large: Ground, tmp_path: Path, script: str) -> None:
    _check_failure(large, tmp_path, "cat-file", script, "gitFailed")


def _check_failure(ground: Ground, folder: Path, command: str, script: str, code: str) -> None:
    """Import twice: it fails as long as git does, leaves nothing, and then all is well."""
    before = open_descriptors()
    with ground.opened() as repository:
        # Any other end needs a git that is given the time to come to it.
        repository.world.git_seconds = PATIENCE if code == "gitFailed" else GIT_SECONDS
        with faked(folder, command, script):
            found = outcome(import_candidate, repository, ground.launch)
        repository.world.git_seconds = GIT_SECONDS
        assert isinstance(found, ImporterError)
        assert (found.code.name, found.step > 0) == (code, True)
        ground.check_host()
        ground.check_recovered(repository)
        receipt = import_candidate(repository, ground.launch).receipt
        ground.check_imported(receipt, repository)
    assert open_descriptors() == before


@pytest.mark.parametrize("script", ["kill -9 $$", "exit 1"], ids=["killed", "silent"])
@pytest.mark.parametrize("command", ["rev-parse", "config", "version"])
def test_a_question_about_the_repository_that_is_not_answered_is_no_answer(
    ground: Ground, tmp_path: Path, command: str, script: str
) -> None:
    with faked(tmp_path, command, script):
        found = outcome(ground.run)
    assert isinstance(found, ImportFailed)
    assert (found.code.name, found.retry) == ("gitFailed", True)
    ground.check_imported(ground.run().receipt)


def test_answers_that_nobody_took_are_not_those_of_the_next_question(ground: Ground) -> None:
    base = bytes.fromhex(ground.host.base)
    nobody = bytes(20)
    with ground.opened() as repository:
        unfinished = repository.reader.read_all([nobody, nobody, nobody])
        assert next(unfinished) is None
        given = repository.reader.read(base)
        assert given is not None
        assert given[1].startswith(b"tree ")
        del unfinished
        assert repository.reader.about(nobody) is None
        assert repository.reader.about(base) == (given[0], len(given[1]))
