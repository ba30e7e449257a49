"""Files that cannot be read, pipes, and what a report says of them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from packparse.report import Report

_NOT_REGULAR = "not a regular file; for a pipe give - and its content as standard input"


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def one_error(report: Report) -> tuple[str, str]:
    (finding,) = report.findings.sorted()
    assert finding.severity == "error"
    return finding.code.name, finding.message


@contextmanager
def source(data: bytes) -> Iterator[int]:
    """A pipe from which these few bytes come, and then the end."""
    reading, writing = os.pipe()
    try:
        assert os.write(writing, data) == len(data)
        os.close(writing)
        yield reading
    finally:
        os.close(reading)


def _missing(tmp_path: Path) -> Path:
    return tmp_path / "missing"


def _directory(tmp_path: Path) -> Path:
    return tmp_path


def _fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "fifo")
    return tmp_path / "fifo"


def _dangling(tmp_path: Path) -> Path:
    (tmp_path / "link").symlink_to("nowhere")
    return tmp_path / "link"


def _loop(tmp_path: Path) -> Path:
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path / "loop"


def _link_to_directory(tmp_path: Path) -> Path:
    (tmp_path / "link").symlink_to(tmp_path)
    return tmp_path / "link"


def _device(_tmp_path: Path) -> Path:
    return Path("/dev/zero")


def _below_a_file(tmp_path: Path) -> Path:
    (tmp_path / "file").touch()
    return tmp_path / "file" / "x"


UNREADABLE = {
    "a missing file": (_missing, "No such file or directory"),
    "a directory": (_directory, _NOT_REGULAR),
    "a FIFO without a writer": (_fifo, _NOT_REGULAR),
    "a link to nowhere": (_dangling, "No such file or directory"),
    "a link to itself": (_loop, "Too many levels of symbolic links"),
    "a link to a directory": (_link_to_directory, _NOT_REGULAR),
    "an endless device": (_device, _NOT_REGULAR),
    "a path below a file": (_below_a_file, "Not a directory"),
}


def is_held(path: Path) -> bool:
    """Whether somebody holds the lock of a file."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def tree(folder: Path) -> list[str]:
    """The paths of all that is below a folder, sorted."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
