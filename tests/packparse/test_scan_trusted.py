"""Files of the trusted side: the list of known objects, base packs, policies."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from packparse import codes, scan
from packparse.errors import MisuseError, PackError
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from packparse.scan import open_base_packs, read_known, read_policy, verify_path
from tests.support import packs
from tests.support.bundles import honest_bundle
from tests.support.candidates import refusals
from tests.support.families import Family, label
from tests.support.files import UNREADABLE, one_error, open_descriptors


@pytest.fixture
def honest(tmp_path: Path) -> Path:
    path = tmp_path / "honest.pack"
    path.write_bytes(packs.small_honest_pack())
    return path


# --- the list of known objects --------------------------------------------------------------------

A = b"\xaa" * 20


def test_a_list_of_known_objects_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_CHUNK", 10)
    path = tmp_path / "known"
    path.write_text(f"# a comment\n{A.hex()} tree\n", "utf-8")
    before = open_descriptors()
    known = read_known(str(path))
    assert (len(known), known.kind(A), known.kind(b"\xbb" * 20)) == (1, 2, None)
    assert open_descriptors() == before


def test_a_list_of_the_other_format_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "known"
    path.write_text("cd" * 32 + " blob\n", "utf-8")
    assert read_known(str(path), FORMATS["sha256"]).kind(b"\xcd" * 32) == 3
    with pytest.raises(MisuseError, match="an id of sha256"):
        read_known(str(path))


def test_what_is_wrong_in_a_list_is_told_with_its_name_and_line(tmp_path: Path) -> None:
    path = tmp_path / "kn\nown"
    path.write_text(f"{A.hex()}\nbad\n", "utf-8")
    before = open_descriptors()
    with pytest.raises(MisuseError) as caught:
        read_known(str(path))
    start = f'the list of known objects "{tmp_path}/kn\\nown": line 2: no id of sha1: bad'
    assert str(caught.value).startswith(start)
    assert open_descriptors() == before


@pytest.mark.parametrize(("make", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_list_that_cannot_be_read_is_class_6(
    tmp_path: Path, make: Callable[[Path], Path], reason: str
) -> None:
    path = make(tmp_path)
    before = open_descriptors()
    with pytest.raises(PackError) as caught:
        read_known(str(path))
    assert caught.value.code is codes.CANNOT_READ
    message = f"the list of known objects {path} cannot be read: {reason}"
    assert caught.value.message == message
    assert open_descriptors() == before


def test_names_that_no_file_can_have_are_class_6() -> None:
    for call in (read_known, lambda name: open_base_packs([name])):
        with pytest.raises(PackError, match="cannot be read: embedded null byte"):
            call("a\0b")


# --- base packs -----------------------------------------------------------------------------------


def thin_pair(tmp_path: Path) -> tuple[str, str]:
    """A base pack, and a thin pack with one delta on an object of it."""
    family = Family([0, 0])
    family.write(1)
    below, above = tmp_path / "below.pack", tmp_path / "above.pack"
    below.write_bytes(packs.blob_pack(label(0)[1]))
    above.write_bytes(family.pack.build())
    return str(below), str(above)


def test_a_thin_pack_is_verified_with_a_base_pack(tmp_path: Path) -> None:
    below, above = thin_pair(tmp_path)
    with open_base_packs([below]) as base:
        assert verify_path(above, Options(read_base=base.read)).accepted
    assert verify_path(above).klass == 5


def test_base_packs_are_read_in_pieces_and_may_be_of_the_other_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "_CHUNK", 10)
    example = packs.small_honest("sha256")
    paths = [tmp_path / "x.pack", tmp_path / "x.bundle"]
    paths[0].write_bytes(packs.blob_pack(b"alone", fmt="sha256"))
    paths[1].write_bytes(honest_bundle("sha256"))
    with open_base_packs([str(path) for path in paths], FORMATS["sha256"]) as base:
        assert base.read(packs.oid("blob", b"alone", "sha256")) == (3, b"alone")
        assert base.kind(example.commit.oid) == 1
        assert len(base.packs) == 2


def test_base_packs_stay_open_until_they_are_closed(tmp_path: Path) -> None:
    before = open_descriptors()
    below, _above = thin_pair(tmp_path)
    oid, text = packs.oid("blob", label(0)[1]), label(0)[1]
    base = open_base_packs([below, below])
    assert open_descriptors() == before + 2
    # What was opened is read, whatever has this name by now.
    Path(below).unlink()
    assert base.read(oid) == (3, text)
    base.close()
    assert open_descriptors() == before
    assert base.read(oid) is None
    base.close()


@pytest.mark.parametrize(("make", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_base_pack_that_cannot_be_read_is_class_6(
    honest: Path, tmp_path: Path, make: Callable[[Path], Path], reason: str
) -> None:
    path = make(tmp_path)
    before = open_descriptors()
    with pytest.raises(PackError) as caught:
        open_base_packs([str(honest), str(path)])
    assert caught.value.code is codes.CANNOT_READ
    assert caught.value.message == f"the base pack {path} cannot be read: {reason}"
    assert open_descriptors() == before


def test_a_damaged_base_pack_is_class_6_by_name(honest: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad\x1b.pack"
    bad.write_bytes(packs.flip(honest.read_bytes(), 100))
    before = open_descriptors()
    with pytest.raises(PackError) as caught:
        open_base_packs([str(honest), str(bad)])
    assert caught.value.code is codes.CORRUPT_BASE_OBJECT
    start = f'the base pack "{tmp_path}/bad\\033.pack" cannot be used: '
    assert caught.value.message.startswith(start)
    assert open_descriptors() == before


def test_a_disk_that_fails_under_a_base_pack_is_told_of_that_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below, above = thin_pair(tmp_path)

    def fail(*_arguments: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with open_base_packs([below]) as base:
        monkeypatch.setattr(os, "pread", fail)
        report = verify_path(above, Options(read_base=base.read))
        monkeypatch.undo()
    message = f"the base pack {below} cannot be read: Input/output error"
    assert one_error(report) == ("cannotRead", message)
    assert report.klass == 6


@pytest.mark.parametrize("call", ["read", "pread"])
def test_a_disk_that_fails_while_a_base_pack_is_opened_is_class_6(
    honest: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fail(*_arguments: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    before = open_descriptors()
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(PackError) as caught:
        open_base_packs([str(honest)])
    monkeypatch.undo()
    assert caught.value.message == f"the base pack {honest} cannot be read: Input/output error"
    assert caught.value.code is codes.CANNOT_READ
    assert open_descriptors() == before


def test_a_base_pack_that_is_overwritten_is_class_6(tmp_path: Path) -> None:
    below, above = thin_pair(tmp_path)
    with open_base_packs([below]) as base:
        Path(below).write_bytes(bytes(Path(below).stat().st_size))
        report = verify_path(above, Options(read_base=base.read))
    code, message = one_error(report)
    assert code == "corruptBaseObject"
    assert message.startswith(f"the base pack {below} cannot be used: inputChanged")
    assert report.klass == 6


def test_the_limits_of_the_verified_file_go_for_what_is_asked_of_a_base_pack(
    tmp_path: Path,
) -> None:
    below, above = thin_pair(tmp_path)
    limits = Limits(changes={"rebuilt_object_bytes": 100})
    with open_base_packs([below], limits=limits) as base:
        report = verify_path(above, Options(read_base=base.read))
    assert [code for code, _ in refusals(report)] == ["rebuiltObjectTooLarge"]


# --- policies -------------------------------------------------------------------------------------


def test_a_policy_is_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("# \u00fc\n", "utf-8")
    assert read_policy(str(path)) == "# \u00fc\n"


@pytest.mark.parametrize(("make", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_policy_that_cannot_be_read_is_class_6(
    tmp_path: Path, make: Callable[[Path], Path], reason: str
) -> None:
    path = make(tmp_path)
    before = open_descriptors()
    with pytest.raises(PackError) as caught:
        read_policy(str(path))
    assert caught.value.code is codes.CANNOT_READ
    assert caught.value.message == f"the policy {path} cannot be read: {reason}"
    assert open_descriptors() == before


def test_a_policy_that_is_no_text_is_misuse(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(b"ab\xff")
    with pytest.raises(MisuseError, match=r"policy\.toml is not UTF-8: byte 2"):
        read_policy(str(path))


@pytest.mark.parametrize("more", [0, 1])
def test_a_policy_has_a_longest_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    monkeypatch.setattr(scan, "_LONGEST_POLICY", 100)
    path = tmp_path / "policy.toml"
    path.write_bytes(b"#" * (100 + more))
    if not more:
        assert read_policy(str(path)) == "#" * 100
        return
    with pytest.raises(MisuseError, match=r"policy\.toml has more than 100 bytes"):
        read_policy(str(path))
