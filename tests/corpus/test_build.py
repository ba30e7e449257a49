"""The generator makes every file of the corpus byte for byte."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from corpus import build
from corpus.deflate import run, stored
from packparse.inflate import inflate_whole

MOST_IN_ALL = 3 << 20
MOST_IN_ONE = 80 << 10


@pytest.fixture(scope="module")
def made() -> dict[str, bytes]:
    rows = build.load_index()
    return build.render({name: row["git"] for name, row in rows.items()})


def test_what_is_made_is_what_is_there(made: dict[str, bytes]) -> None:
    there = build.stored()
    assert sorted(made) == sorted(there)
    assert [path for path in made if made[path] != there[path]] == []


def test_the_check_finds_a_changed_and_a_strange_file(
    made: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for path, data in made.items():
        place = tmp_path / path
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(data)
    monkeypatch.setattr(build, "ROOT", tmp_path)
    assert build.main(["--check"]) == 0
    (tmp_path / "bad" / "strange.pack").write_bytes(b"x")
    changed = tmp_path / "good" / "container-two-blobs.pack"
    changed.write_bytes(changed.read_bytes() + b"x")
    (tmp_path / "good" / "entry-plain.pack").unlink()
    assert build.main(["--check"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "missing: good/entry-plain.pack",
        "not made by the generator: bad/strange.pack",
        "differs: good/container-two-blobs.pack",
    ]


def test_the_index_has_the_digest_of_every_file(made: dict[str, bytes]) -> None:
    for row in build.load_index().values():
        data = made[str(row["file"])]
        assert hashlib.sha256(data).hexdigest() == row["sha256"], row["name"]


def test_the_files_are_small(made: dict[str, bytes]) -> None:
    assert sum(map(len, made.values())) < MOST_IN_ALL
    largest = {path: len(data) for path, data in made.items() if path != build.INDEX}
    assert [path for path, size in largest.items() if size > MOST_IN_ONE] == []


@pytest.mark.parametrize("data", [b"", b"abc", bytes(70_000)], ids=["empty", "short", "two blocks"])
def test_stored_blocks_can_be_inflated(data: bytes) -> None:
    stream = stored(data)
    assert inflate_whole(stream, len(data)) == (data, len(stream))


@pytest.mark.parametrize("count", [1, 2, 258, 259, 260, 5_000])
@pytest.mark.parametrize("byte", [0, 143, 144, 255])
def test_runs_can_be_inflated(byte: int, count: int) -> None:
    stream = run(byte, count)
    assert inflate_whole(stream, count) == (bytes([byte]) * count, len(stream))
