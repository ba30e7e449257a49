"""Files: what is opened, what is read, and that the size is judged before the first byte."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from packparse import scan
from packparse.errors import PackError
from packparse.limits import Limits
from packparse.options import Options
from packparse.progress import Progress
from packparse.scan import open_base_packs, verify_path
from tests.support import packs
from tests.support.bundles import honest_bundle
from tests.support.files import UNREADABLE, one_error, open_descriptors, source
from tests.support.jobs import told

Reads = list[int]


@pytest.fixture
def honest(tmp_path: Path) -> Path:
    path = tmp_path / "honest.pack"
    path.write_bytes(packs.small_honest_pack())
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """The lengths of all reads, sequential or not."""
    seen: Reads = []

    def spy(real: Callable[..., bytes]) -> Callable[..., bytes]:
        def read(*arguments: int) -> bytes:
            data = real(*arguments)
            seen.append(len(data))
            return data

        return read

    monkeypatch.setattr(os, "read", spy(os.read))
    monkeypatch.setattr(os, "pread", spy(os.pread))
    return seen


@pytest.mark.usefixtures("eager")
def test_two_processes_read_what_one_reads(honest: Path) -> None:
    alone, shared = (verify_path(str(honest), Options(jobs=jobs)) for jobs in (1, 2))
    assert told(shared) == told(alone)


# --- what is read -------------------------------------------------------------------------------


def test_a_regular_file_is_verified(honest: Path) -> None:
    report = verify_path(str(honest), Options())
    data = honest.read_bytes()
    assert report.accepted
    assert (report.name, report.bytes) == (str(honest), len(data))
    assert report.sha256 == hashlib.sha256(data).hexdigest()
    assert report.seconds is not None
    assert report.seconds > 0
    assert report.peak_rss_bytes is not None
    assert report.peak_rss_bytes > 1 << 20


def test_a_symbolic_link_to_a_regular_file_is_followed(honest: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.pack"
    link.symlink_to(honest)
    assert verify_path(str(link), Options()).accepted


def test_a_file_longer_than_one_read_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: Reads
) -> None:
    monkeypatch.setattr(scan, "_FIRST", 100)
    monkeypatch.setattr(scan, "_CHUNK", 100)
    path = tmp_path / "x.bundle"
    path.write_bytes(honest_bundle())
    report = verify_path(str(path), Options())
    assert report.accepted
    assert report.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert len(reads) > len(path.read_bytes()) // 100


def test_an_empty_file_is_truncated_and_not_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    report = verify_path(str(path), Options())
    assert one_error(report)[0] == "truncated"
    assert (report.klass, report.bytes) == (1, 0)
    assert report.sha256 == hashlib.sha256(b"").hexdigest()


# --- what is not read ---------------------------------------------------------------------------


# A folder is one of loose objects: tests/packparse/test_folder.py.
FILES = {name: case for name, case in UNREADABLE.items() if "directory" not in name}


@pytest.mark.parametrize(("make", "reason"), FILES.values(), ids=FILES)
def test_what_is_no_readable_file_is_class_6(
    tmp_path: Path, reads: Reads, make: Callable[[Path], Path], reason: str
) -> None:
    report = verify_path(str(make(tmp_path)), Options())
    assert one_error(report) == ("cannotRead", f"the file cannot be read: {reason}")
    assert (report.klass, report.sha256, report.kind) == (6, None, None)
    assert report.seconds is not None
    assert reads == []


def test_what_was_not_read_has_no_length(tmp_path: Path) -> None:
    assert verify_path(str(tmp_path / "missing"), Options()).bytes is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_class_6(honest: Path) -> None:
    honest.chmod(0)
    report = verify_path(str(honest), Options())
    assert one_error(report)[0] == "cannotRead"
    assert "Permission denied" in one_error(report)[1]


@pytest.mark.parametrize("call", ["open", "fstat", "read"])
def test_a_failing_disk_is_class_6(
    honest: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fail(*_arguments: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, call, fail)
    report = verify_path(str(honest), Options())
    monkeypatch.undo()
    assert one_error(report) == ("cannotRead", "the file cannot be read: Input/output error")
    assert report.klass == 6


def test_a_disk_that_fails_at_the_second_look_is_class_6(
    honest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", fail)
    report = verify_path(str(honest), Options())
    assert one_error(report) == ("cannotRead", "the file cannot be read: Input/output error")
    # The first pass was complete: what it learned stays.
    data = honest.read_bytes()
    assert (report.klass, report.kind, report.bytes) == (6, "pack", len(data))
    assert report.sha256 == hashlib.sha256(data).hexdigest()
    assert report.counts["objects"] == 10


def test_what_was_found_before_the_disk_failed_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = packs.PackBuilder()
    bad = pack.add("commit", b"no commit\n")
    blob = pack.add("blob", b"a base that is read again\n")
    pack.add_ofs(blob, packs.delta(26, 3, packs.insert(b"abc")))
    path = tmp_path / "x.pack"
    path.write_bytes(pack.build())

    def fail(*_arguments: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", fail)
    report = verify_path(str(path), Options())
    found = [(f.code.name, f.offset) for f in report.findings.sorted()]
    assert found == [("missingTree", bad.offset), ("cannotRead", None)]
    assert report.klass == 6


def test_a_disk_that_fails_in_the_middle_gives_no_digest_of_a_part(
    honest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, answers = os.read, iter([50, 50])

    def read(descriptor: int, _length: int) -> bytes:
        length = next(answers, None)
        if length is None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(descriptor, length)

    monkeypatch.setattr(os, "read", read)
    report = verify_path(str(honest), Options())
    assert one_error(report)[0] == "cannotRead"
    assert (report.klass, report.kind, report.sha256) == (6, "pack", None)
    assert report.bytes == honest.stat().st_size


def test_an_error_without_words_is_told_as_it_is(
    honest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> bytes:
        message = "no number"
        raise OSError(message)

    monkeypatch.setattr(os, "read", fail)
    assert one_error(verify_path(str(honest), Options()))[1].endswith(": no number")


def test_a_name_with_a_nul_is_class_6() -> None:
    report = verify_path("a\0b", Options())
    assert one_error(report) == ("cannotRead", "the file cannot be read: embedded null byte")
    assert (report.klass, report.name, report.bytes, report.kind) == (6, "a\0b", None, None)


def test_no_descriptor_is_left_open(honest: Path, tmp_path: Path) -> None:
    before = open_descriptors()
    for path in (honest, tmp_path, tmp_path / "missing"):
        verify_path(str(path), Options())
    verify_path(str(honest), Options(limits=Limits(changes={"pack_bytes": 1})))
    assert open_descriptors() == before


# --- the size comes first (PI1, A7) -------------------------------------------------------------


def test_a_file_over_the_limit_is_refused_without_a_read(honest: Path, reads: Reads) -> None:
    size = honest.stat().st_size
    report = verify_path(str(honest), Options(limits=Limits(changes={"pack_bytes": size - 1})))
    assert one_error(report)[0] == "packTooLarge"
    assert (report.klass, report.bytes, report.sha256) == (4, size, None)
    assert reads == []


def test_a_file_at_the_limit_is_read(honest: Path, reads: Reads) -> None:
    size = honest.stat().st_size
    report = verify_path(str(honest), Options(limits=Limits(changes={"pack_bytes": size})))
    assert report.accepted
    assert size in reads


def test_a_file_that_grows_while_it_is_read_has_changed(
    honest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = honest.stat().st_size
    real = os.read

    def growing(descriptor: int, length: int) -> bytes:
        return real(descriptor, length) or b"!"

    answers = iter(range(50))

    def finite(descriptor: int, length: int) -> bytes:
        return growing(descriptor, length) if next(answers, None) is not None else b""

    monkeypatch.setattr(os, "read", finite)
    report = verify_path(str(honest), Options(limits=Limits(changes={"pack_bytes": size + 9})))
    assert report.klass == 6
    code, message = one_error(report)
    assert code == "inputChanged"
    assert message.startswith(f"the file had {size} bytes when it was opened, ")
    # Nothing more is read, and no digest is given for bytes that may change further.
    assert (next(answers), report.bytes, report.sha256) == (2, size, None)


@pytest.mark.parametrize("how", ["touched", "written"])
def test_a_file_that_is_written_to_behind_the_reader_has_changed(
    honest: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    # The same length and, at the second look, the same entries: only the file system knows.
    real = os.read

    def read(descriptor: int, length: int) -> bytes:
        data = real(descriptor, length)
        if data and how == "touched":
            os.utime(honest, ns=(1, 1))
        elif data:
            honest.write_bytes(data)
            os.utime(honest, ns=(2, 2))
        return data

    monkeypatch.setattr(os, "read", read)
    report = verify_path(str(honest), Options())
    assert one_error(report) == ("inputChanged", "the file was written to while it was verified")
    assert report.klass == 6


def test_options_may_be_left_out(honest: Path) -> None:
    assert verify_path(str(honest)).accepted


def test_a_file_that_shrinks_while_it_is_read_has_changed(
    honest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = honest.stat().st_size
    real, answers = os.read, iter([size - 30])

    def read(descriptor: int, _length: int) -> bytes:
        return real(descriptor, next(answers, 0))

    monkeypatch.setattr(os, "read", read)
    report = verify_path(str(honest), Options())
    message = f"the file had {size} bytes when it was opened, and now has fewer"
    assert one_error(report) == ("inputChanged", message)
    assert (report.klass, report.sha256) == (6, None)


def test_a_refused_file_is_not_read_to_its_end(tmp_path: Path, reads: Reads) -> None:
    # Design, section 7: a hostile header costs no more than reading it.
    path = tmp_path / "sparse"
    with path.open("wb") as stream:
        stream.truncate(64 << 20)
    report = verify_path(str(path), Options())
    assert one_error(report)[0] == "badSignature"
    assert sum(reads) <= 4 << 20
    # What was not read to its end has no digest; that of a part would be a false one.
    assert report.sha256 is None
    assert report.bytes == 64 << 20


# --- progress -------------------------------------------------------------------------------------


class Told(Progress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__(None, "never", lambda: 0.0)
        self.calls: list[tuple[str, int, int | None]] = []
        self.cleared = 0

    def __call__(self, phase: str, done: int = 0, total: int | None = None) -> None:
        self.calls.append((phase, done, total))

    def clear(self) -> None:
        self.cleared += 1

    def of(self, phase: str) -> list[tuple[int, int | None]]:
        return [(done, total) for name, done, total in self.calls if name == phase]


def test_progress_is_told_of_the_bytes_that_are_read(
    honest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "_FIRST", 100)
    monkeypatch.setattr(scan, "_CHUNK", 100)
    told = Told()
    assert verify_path(str(honest), Options(), told).accepted
    size = honest.stat().st_size
    steps = [min(at + 100, size) for at in range(0, size, 100)]
    assert told.of("reading") == [(step, size) for step in steps]
    assert told.cleared == 1


def test_progress_is_told_of_the_input_that_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_CHUNK", 1000)
    data = packs.small_honest_pack()
    told = Told()
    with source(data) as descriptor:
        assert verify_path("-", progress=told, standard_input=descriptor).accepted
    # Without a total, since the end is not known; then the copy is read, with one.
    assert told.of("reading") == [(len(data), None), (len(data), len(data))]
    assert told.cleared == 1


def test_progress_is_told_of_base_packs(honest: Path) -> None:
    told = Told()
    with open_base_packs([str(honest)], progress=told):
        size = honest.stat().st_size
        assert told.calls == [("reading a base pack", size, size)]
        assert told.cleared == 1


def test_progress_is_cleared_whatever_happens(tmp_path: Path) -> None:
    told = Told()
    verify_path(str(tmp_path / "missing"), progress=told)
    assert told.cleared == 1
    with pytest.raises(PackError):
        open_base_packs([str(tmp_path / "missing")], progress=told)
    assert told.cleared == 2
