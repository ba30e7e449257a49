"""Both verdicts on any bundle: nothing is imported, and nothing stays of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from importer import durable
from importer.checkup import Wanted, check_bundle
from importer.durable import Files
from importer.errors import (
    BASE_MISSING,
    FILE_FAILED,
    GIT_REFUSED,
    NOT_A_BUNDLE,
    NOT_RELAXABLE,
    ImporterError,
    ImportFailed,
    ImportRefused,
)
from importer.repository import Repository
from importer.world import World
from packparse import codes
from packparse.limits import Limits
from packparse.policy import named, parse
from tests.support.fakegit import faked
from tests.support.files import open_descriptors
from tests.support.launches import Host
from tests.support.rooms import opened
from tests.support.worlds import Telling


@pytest.fixture
def host(made_host: Host) -> Host:
    """A host for all of them, which is only read."""
    return made_host


@pytest.fixture
def repository(host: Host, tmp_path: Path, files: Telling) -> Iterator[Repository]:
    """The host, which has to be as it was afterwards, with no room left but that of its reader."""
    before = _tree(host.repo), open_descriptors()
    with opened(host, tmp_path, World(files)) as made:
        yield made
        assert len(list((tmp_path / "state" / "work").iterdir())) == 2
    assert (_tree(host.repo), open_descriptors()) == before


def _tree(folder: Path) -> dict[Path, float]:
    return {path: path.lstat().st_mtime_ns for path in folder.rglob("*") if path.name != "index"}


@pytest.fixture
def bundle(host: Host, tmp_path: Path) -> Path:
    path = tmp_path / "some.bundle"
    path.write_bytes(host.bundle())
    return path


def wanted(host: Host, **changes: object) -> Wanted:
    made = Wanted(
        bases=frozenset([bytes.fromhex(host.base)]),
        tip=bytes.fromhex(host.candidate),
        policy=named("candidate"),
        limits=Limits(),
    )
    return made._replace(**changes)  # type: ignore[arg-type]


def _whole(host: Host) -> Wanted:
    return wanted(host)


def _first_ref(host: Host) -> Wanted:
    return wanted(host, tip=None)


def _full(host: Host) -> Wanted:
    return wanted(host, full=True)


@pytest.mark.parametrize(
    "asked", [_whole, _first_ref, _full], ids=["a tip", "its first ref", "a full seed"]
)
def test_both_verdicts_accept_an_honest_bundle(
    asked: Callable[[Host], Wanted], repository: Repository, bundle: Path, host: Host
) -> None:
    checked = check_bundle(repository, str(bundle), asked(host))
    assert checked.report is not None
    assert checked.report.accepted
    assert (checked.refused, checked.relaxed, checked.klass) == (None, (), 0)
    assert bundle.read_bytes() == host.bundle()


def test_a_link_to_it_will_do(repository: Repository, bundle: Path, host: Host) -> None:
    (bundle.parent / "link").symlink_to(bundle)
    assert check_bundle(repository, f"{bundle.parent}/link", wanted(host)).klass == 0


def test_what_packcheck_refuses_git_is_not_asked_for(
    repository: Repository, bundle: Path, host: Host, tmp_path: Path
) -> None:
    bundle.write_bytes(host.bundle()[:-1])
    with faked(tmp_path, "index-pack", f"touch {tmp_path}/asked"):
        checked = check_bundle(repository, str(bundle), wanted(host))
    assert checked.refused is not None
    assert checked.report is not None
    assert checked.refused.report is checked.report
    assert (checked.relaxed, checked.klass) == (None, codes.CORRUPT)
    assert not (tmp_path / "asked").exists()


def test_what_git_refuses_is_told_with_the_report_of_packcheck(
    repository: Repository, bundle: Path, host: Host, tmp_path: Path
) -> None:
    with faked(tmp_path, "index-pack", "echo 'fatal: no' >&2; exit 128"):
        checked = check_bundle(repository, str(bundle), wanted(host))
    assert checked.refused is not None
    assert checked.refused.code is GIT_REFUSED
    assert checked.report is not None
    assert checked.report.accepted
    assert (checked.relaxed, checked.klass) == ((), GIT_REFUSED.klass)


def test_a_pack_without_a_header_is_no_bundle(
    repository: Repository, bundle: Path, host: Host
) -> None:
    content = host.bundle()
    bundle.write_bytes(content[content.index(b"PACK") :])
    for tip in (None, bytes.fromhex(host.candidate)):
        checked = check_bundle(repository, str(bundle), wanted(host, tip=tip))
        assert checked.refused is not None
        assert checked.refused.code is NOT_A_BUNDLE


@pytest.mark.parametrize("content", [b"", b"garbage", b"# v2 git bundle\n", b"# v9 git bundle\n\n"])
def test_what_has_no_header_that_can_be_read_is_refused(
    content: bytes, repository: Repository, bundle: Path, host: Host
) -> None:
    bundle.write_bytes(content)
    checked = check_bundle(repository, str(bundle), wanted(host, tip=None))
    assert checked.report is not None
    assert checked.klass == checked.report.klass > 0


# --- files that are not read ---------------------------------------------------------------------


def test_a_file_beyond_the_limit_is_not_read(
    repository: Repository, bundle: Path, host: Host, files: Telling
) -> None:
    os.truncate(bundle, 1 << 42)
    files.seen.clear()
    checked = check_bundle(repository, str(bundle), wanted(host))
    assert checked.refused is not None
    assert (checked.report, checked.klass) == (None, codes.LIMIT)
    assert not [told for told in files.seen if told.endswith(" copy")]


def test_a_file_that_grows_while_it_is_copied_is_copied_up_to_the_limit(
    host: Host, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Growing(Files):
        """Whatever is written to the copy is added to what it is copied from."""

        def write(self, descriptor: int, data: bytes | memoryview) -> None:
            written.append(len(data))
            # Not for ever: what is copied beyond the limit is to fail, and not to fill the disk.
            if len(data) == 100 and len(written) < 100:
                with bundle.open("ab") as file:
                    file.write(bytes(100))
            super().write(descriptor, data)

    written: list[int] = []
    monkeypatch.setattr(durable, "_CHUNK", 100)
    bundle.write_bytes(bytes(100))
    with opened(host, tmp_path, World(Growing())) as repository:
        written.clear()
        limits = Limits("candidate", {"pack_bytes": 1_000})
        checked = check_bundle(repository, str(bundle), wanted(host, limits=limits))
    assert (checked.report, checked.klass) == (None, codes.LIMIT)
    assert written.count(100) == 10


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


UNREADABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (Path.unlink, "No such file or directory"),
    "a FIFO": (_fifo, "is not a regular file"),
    "a folder": (_folder, "is not a regular file"),
}


@pytest.mark.parametrize(("put", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_it_cannot_be_read_where_there_is(
    put: Callable[[Path], object], reason: str, repository: Repository, bundle: Path, host: Host
) -> None:
    put(bundle)
    with pytest.raises(ImportFailed, match=reason) as failed:
        check_bundle(repository, str(bundle), wanted(host))
    assert (failed.value.code, failed.value.retry) == (codes.CANNOT_READ, False)


# --- what is not its fault -----------------------------------------------------------------------


@pytest.mark.parametrize("missing", [bytes(20), b"\xff" * 20], ids=["the first", "the last"])
def test_a_base_that_is_not_there_is_told_first(
    missing: bytes, repository: Repository, bundle: Path, host: Host
) -> None:
    bundle.unlink()
    bases = frozenset([bytes.fromhex(host.base), missing])
    with pytest.raises(ImportRefused) as refused:
        check_bundle(repository, str(bundle), wanted(host, bases=bases))
    assert refused.value.code is BASE_MISSING


def test_a_policy_that_git_cannot_follow_is_told_first(
    repository: Repository, bundle: Path, host: Host
) -> None:
    policy = parse('[severity]\nnulInHeader = "note"', "own")
    with pytest.raises(ImportRefused) as refused:
        check_bundle(repository, str(bundle), wanted(host, policy=policy))
    assert refused.value.code is NOT_RELAXABLE


@pytest.mark.parametrize("failing", ["create copy", "write copy", "mkdir objects"])
def test_where_a_file_operation_fails_nothing_stays(
    failing: str, repository: Repository, bundle: Path, host: Host, files: Telling
) -> None:
    files.failing.add(failing)
    repository.reader.close()
    with pytest.raises(ImporterError, match="No space left") as failed:
        check_bundle(repository, str(bundle), wanted(host))
    assert failed.value.code is FILE_FAILED
