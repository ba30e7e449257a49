"""Standard input: verified as a file is, kept in private, bounded, and nothing left behind."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from packparse.limits import Limits
from packparse.options import Options
from packparse.report import Report
from packparse.scan import verify_path
from tests.support import packs
from tests.support.bundles import honest_bundle
from tests.support.files import one_error, open_descriptors, source

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def honest(tmp_path: Path) -> Path:
    path = tmp_path / "honest.pack"
    path.write_bytes(packs.small_honest_pack())
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the one for temporary files."""
    path = tmp_path / "tmp"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    return path


def piped(data: bytes, options: Options | None = None) -> Report:
    with source(data) as descriptor:
        return verify_path("-", options, standard_input=descriptor)


def facts(report: Report) -> dict[str, object]:
    """What a report says of a file, but for its name and the cost."""
    kept = vars(report).copy()
    for name in ("name", "seconds", "peak_rss_bytes", "limits", "findings"):
        del kept[name]
    found = report.findings.sorted()
    return kept | {"findings": [(f.code, f.severity, f.offset, f.message) for f in found]}


PIPED = {
    "a pack": packs.small_honest_pack(),
    "a bundle": honest_bundle(),
    "a bundle of the other format": honest_bundle("sha256"),
    "nothing": b"",
    "no pack": b"no pack\n",
    "a cut pack": packs.small_honest_pack()[:-30],
    "a damaged pack": packs.flip(packs.small_honest_pack(), 100),
    # Only where the length is known is this seen, so the copy's length counts.
    "a count that cannot be": packs.many_objects_header(1000),
    "a pack with bytes after it": packs.small_honest_pack() + b"x",
}


@pytest.mark.parametrize("name", PIPED)
def test_standard_input_is_verified_as_a_file_is(folder: Path, tmp_path: Path, name: str) -> None:
    data = PIPED[name]
    path = tmp_path / "file"
    path.write_bytes(data)
    report = piped(data)
    assert facts(report) == facts(verify_path(str(path)))
    assert report.name == "-"
    assert report.bytes == len(data)
    assert report.seconds is not None
    assert list(folder.iterdir()) == []


def test_bytes_after_the_end_are_refused_on_a_pipe_as_well() -> None:
    # PA6: git index-pack --stdin accepts them.
    report = piped(packs.small_honest_pack() + b"x")
    assert one_error(report)[0] == "trailingBytes"


def test_the_process_reads_its_own_standard_input(folder: Path) -> None:
    # Larger than a pipe holds, and in pieces as they come.
    data = packs.blob_pack(os.urandom(300_000))
    script = (
        "import json, sys; from packparse.scan import verify_path; report = verify_path('-'); "
        "print(json.dumps([report.name, report.klass, report.bytes, report.sha256]))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, input=data, env=env, capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout) == ["-", 0, len(data), hashlib.sha256(data).hexdigest()]
    assert list(folder.iterdir()) == []


def test_a_file_of_that_name_has_another_one(
    honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest.rename(tmp_path / "-")
    monkeypatch.chdir(tmp_path)
    with source(b"no pack") as descriptor:
        assert verify_path("./-", standard_input=descriptor).accepted
        assert not verify_path("-", standard_input=descriptor).accepted


def test_standard_input_may_be_a_file_that_was_read_in_part(honest: Path) -> None:
    # As after { head -c 5; packcheck verify -; } < FILE: what is left is what is verified.
    data = b"12345" + honest.read_bytes()
    honest.write_bytes(data)
    with honest.open("rb", buffering=0) as stream:
        stream.read(5)
        assert verify_path("-", standard_input=stream.fileno()).bytes == len(data) - 5


@pytest.mark.parametrize("more", [0, 1])
def test_standard_input_up_to_the_limit_is_verified(folder: Path, more: int) -> None:
    data = packs.small_honest_pack()
    limits = Limits(changes={"pack_bytes": len(data) - more})
    report = piped(data, Options(limits=limits))
    if not more:
        assert report.accepted
        return
    code, message = one_error(report)
    assert code == "packTooLarge"
    assert message.startswith(f"standard input has at least {len(data)} bytes, the limit is ")
    assert list(folder.iterdir()) == []


def test_endless_input_ends_at_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # PI1: no more is read, or kept, than shows that there is too much.
    real, reads = os.read, list[int]()

    def read(file: int, length: int) -> bytes:
        data = real(file, length)
        reads.append(len(data))
        return data

    monkeypatch.setattr(os, "read", read)
    limit = (2 << 20) + 100
    descriptor = os.open("/dev/zero", os.O_RDONLY)
    before = open_descriptors()
    try:
        options = Options(limits=Limits(changes={"pack_bytes": limit}))
        report = verify_path("-", options, standard_input=descriptor)
    finally:
        os.close(descriptor)
    (finding,) = report.findings.sorted()
    assert finding.limit is not None
    assert finding.limit.as_dict() == {"name": "pack_bytes", "value": limit, "seen": limit + 1}
    assert (report.klass, report.kind) == (4, None)
    # How long it is nobody knows, and of what is no whole there is no digest.
    assert (report.bytes, report.sha256) == (None, None)
    assert sum(reads) == limit + 1
    assert list(folder.iterdir()) == []
    assert open_descriptors() == before - 1


def test_the_copy_is_private_and_has_no_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    seen = []

    def write(descriptor: int, data: bytes) -> int:
        status = os.fstat(descriptor)
        seen.append((list(folder.iterdir()), status.st_nlink, status.st_mode & 0o777))
        return real(descriptor, data)

    with source(packs.small_honest_pack()) as descriptor:
        monkeypatch.setattr(os, "write", write)
        assert verify_path("-", standard_input=descriptor).accepted
    assert seen == [([], 0, 0o600)]


def test_a_disk_that_takes_a_little_at_a_time_gets_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    data = packs.small_honest_pack()
    with source(data) as descriptor:
        monkeypatch.setattr(os, "write", lambda file, piece: real(file, piece[:7]))
        report = verify_path("-", standard_input=descriptor)
    assert report.accepted
    assert report.sha256 == hashlib.sha256(data).hexdigest()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("room", [0, 100])
def test_a_full_disk_is_class_6_and_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    real, answers = os.write, iter([room] if room else [])

    def write(descriptor: int, data: bytes) -> int:
        length = next(answers, None)
        if length is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data[:length])

    before = open_descriptors()
    with source(packs.small_honest_pack()) as descriptor:
        monkeypatch.setattr(os, "write", write)
        report = verify_path("-", standard_input=descriptor)
        monkeypatch.undo()
    message = f"standard input cannot be copied to a file in {folder}: No space left on device"
    assert one_error(report) == ("cannotRead", message)
    assert (report.klass, report.name, report.bytes, report.sha256) == (6, "-", None, None)
    assert list(folder.iterdir()) == []
    assert open_descriptors() == before


def test_a_real_bound_on_files_is_class_6(folder: Path) -> None:
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); "
        "from packparse.scan import verify_path; report = verify_path('-'); "
        "print(report.klass, report.findings.sorted()[0].message)"
    )
    # Measuring coverage could not write its file either.
    env = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    env |= {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, input=bytes(5000), env=env, capture_output=True, check=True, timeout=60
    )
    expected = f"6 standard input cannot be copied to a file in {folder}: File too large\n"
    assert done.stdout.decode() == expected
    assert list(folder.iterdir()) == []


def test_without_a_folder_for_temporary_files_it_is_class_6(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(**_options: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/x']")

    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "TemporaryFile", fail)
    message = "standard input cannot be copied to a file: No usable temporary directory found in"
    report = piped(b"PACK")
    assert one_error(report)[1].startswith(message)
    assert report.klass == 6


def _a_folder(tmp_path: Path) -> int:
    return os.open(tmp_path, os.O_RDONLY)


def _written_only(tmp_path: Path) -> int:
    return os.open(tmp_path / "x", os.O_WRONLY | os.O_CREAT)


def _closed(tmp_path: Path) -> int:
    descriptor = _a_folder(tmp_path)
    os.close(descriptor)
    return descriptor


UNREADABLE_INPUT = {
    "a folder": (_a_folder, "Is a directory"),
    "a file that is open for writing": (_written_only, "Bad file descriptor"),
    # The lowest free number, so that the copy would get it.
    "a closed descriptor": (_closed, "Bad file descriptor"),
}


@pytest.mark.parametrize("name", UNREADABLE_INPUT)
def test_standard_input_that_cannot_be_read_is_class_6(
    folder: Path, tmp_path: Path, name: str
) -> None:
    make, reason = UNREADABLE_INPUT[name]
    descriptor = make(tmp_path)
    report = verify_path("-", standard_input=descriptor)
    assert one_error(report) == ("cannotRead", f"standard input cannot be read: {reason}")
    assert (report.klass, report.bytes, report.sha256) == (6, None, None)
    assert list(folder.iterdir()) == []
    if name != "a closed descriptor":
        os.close(descriptor)


def test_standard_input_that_was_closed_from_the_start_is_no_other_file(honest: Path) -> None:
    # Number 0 is the next free one then, and goes to the first file that is opened.
    script = (
        "import sys; from packparse.scan import open_base_packs, verify_path; "
        "packs = open_base_packs(sys.argv[1:]); report = verify_path('-'); "
        "print(report.klass, report.findings.sorted()[0].message)"
    )
    command = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-c", script, str(honest)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, capture_output=True, check=True, text=True, timeout=60)
    assert done.stdout == "6 standard input cannot be read: Bad file descriptor\n"


def test_a_pipe_that_fails_in_the_middle_is_class_6(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, answers = os.read, iter([50, 50])

    def read(descriptor: int, _length: int) -> bytes:
        length = next(answers, None)
        if length is None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(descriptor, length)

    with source(packs.small_honest_pack()) as descriptor:
        monkeypatch.setattr(os, "read", read)
        report = verify_path("-", standard_input=descriptor)
        monkeypatch.undo()
    assert one_error(report) == ("cannotRead", "standard input cannot be read: Input/output error")
    assert (report.klass, report.kind, report.bytes, report.sha256) == (6, None, None, None)
    assert list(folder.iterdir()) == []


def test_a_pipe_that_is_not_waited_for_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # The one who starts a process may set its pipes so. The writer comes while we wait.
    data = packs.small_honest_pack()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    pieces = iter([data[:100], data[100:], b""])
    real = select.select

    def wait(readers: list[int], _writers: list[int], _others: list[int]) -> object:
        piece = next(pieces)
        if piece:
            os.write(writing, piece)
        else:
            os.close(writing)
        return real(readers, [], [])

    monkeypatch.setattr(select, "select", wait)
    report = verify_path("-", standard_input=reading)
    os.close(reading)
    assert report.accepted
    assert report.bytes == len(data)


def test_an_interrupt_while_input_is_copied_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(_descriptor: int, _data: bytes) -> int:
        raise KeyboardInterrupt

    before = open_descriptors()
    with source(b"PACK") as descriptor:
        monkeypatch.setattr(os, "write", write)
        with pytest.raises(KeyboardInterrupt):
            verify_path("-", standard_input=descriptor)
        monkeypatch.undo()
    assert list(folder.iterdir()) == []
    assert open_descriptors() == before
