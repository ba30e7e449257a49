"""A pack index: the ids that git wrote, and None for whatever is not a whole one."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from importer.packindex import read_index
from packparse.objectformat import FORMATS
from tests.support.gitrepo import git, init, make_history


@pytest.fixture(scope="module", params=["sha1", "sha256"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one pack; its format is the name of its folder."""
    repo = init(tmp_path_factory.mktemp("index") / request.param, request.param)
    make_history(repo, 2, 3)
    git(repo, "repack", "-adq")
    return repo


def index_of(repo: Path) -> Path:
    (path,) = (repo / ".git" / "objects" / "pack").glob("*.idx")
    return path


def seal(data: bytes, fmt: str) -> bytes:
    """The same with the checksum that belongs to it."""
    made = FORMATS[fmt]
    body = data[: -made.width]
    return body + made.new(body).digest()


def test_its_ids_are_those_that_git_shows_and_its_pack_is_the_one_beside_it(made: Path) -> None:
    fmt = made.name
    path = index_of(made)
    found = read_index(path.read_bytes(), FORMATS[fmt])
    assert found is not None
    shown = git(made, "show-index", f"--object-format={fmt}", input=path.read_bytes()).stdout
    assert [oid.hex() for oid in found.oids] == sorted(
        line.split()[1].decode() for line in shown.splitlines()
    )
    pack = path.with_suffix(".pack").read_bytes()
    assert found.pack == pack[-FORMATS[fmt].width :]


def test_what_is_cut_anywhere_is_none(made: Path) -> None:
    data = index_of(made).read_bytes()
    found = {length for length in range(len(data))
             if read_index(data[:length], FORMATS[made.name]) is not None}  # fmt: skip
    assert found == set()


def test_what_is_changed_anywhere_is_none(made: Path) -> None:
    data = bytearray(index_of(made).read_bytes())
    object_format = FORMATS[made.name]
    found = set()
    for at, byte in enumerate(data):
        for flip in (0x01, 0x80, 0xFF):
            data[at] = byte ^ flip
            if read_index(bytes(data), object_format) is not None:
                found.add(at)
        data[at] = byte
    assert found == set()


def test_what_is_changed_and_sealed_again_is_none_or_has_other_ids(made: Path) -> None:
    # Whatever bytes they are, nothing is raised.
    fmt = made.name
    data = bytearray(index_of(made).read_bytes())
    whole = read_index(bytes(data), FORMATS[fmt])
    assert whole is not None
    for at in [*range(12), *range(1_000, len(data) - 2 * FORMATS[fmt].width, 7)]:
        changed = bytearray(data)
        changed[at] ^= 0x80
        found = read_index(seal(bytes(changed), fmt), FORMATS[fmt])
        assert found is None or len(found.oids) == len(whole.oids)


def test_an_index_of_the_other_format_is_none(made: Path) -> None:
    other = "sha256" if made.name == "sha1" else "sha1"
    assert read_index(index_of(made).read_bytes(), FORMATS[other]) is None


def _version_one(data: bytes) -> bytes:
    return data[8:]


def _version_three(data: bytes) -> bytes:
    return data[:4] + struct.pack(">I", 3) + data[8:]


def _count(number: int, data: bytes) -> bytes:
    at = 8 + 255 * 4
    return data[:at] + struct.pack(">I", number) + data[at + 4 :]


def _swapped(data: bytes, width: int) -> bytes:
    at = 8 + 256 * 4
    first, second = data[at : at + width], data[at + width : at + 2 * width]
    return data[:at] + second + first + data[at + 2 * width :]


def _twice(data: bytes, width: int) -> bytes:
    at = 8 + 256 * 4
    return data[: at + width] + data[at : at + width] + data[at + 2 * width :]


def test_an_index_that_is_sealed_but_not_in_order_is_none(made: Path) -> None:
    fmt = made.name
    width = FORMATS[fmt].width
    data = index_of(made).read_bytes()
    assert read_index(seal(data, fmt), FORMATS[fmt]) is not None
    for changed in (
        _version_one(data),
        _version_three(data),
        _count(0xFFFF_FFFF, data),
        _count(1_000, data),
        _swapped(data, width),
        _twice(data, width),
    ):
        assert read_index(seal(changed, fmt), FORMATS[fmt]) is None


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_an_index_without_objects_has_no_ids(fmt: str) -> None:
    width = FORMATS[fmt].width
    empty = b"\xfftOc\0\0\0\2" + bytes(256 * 4) + b"\7" * width + bytes(width)
    found = read_index(seal(empty, fmt), FORMATS[fmt])
    assert found is not None
    assert found.oids == ()
    assert found.pack == b"\7" * width
