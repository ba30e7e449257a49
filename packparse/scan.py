"""Files for the verifier: the room that opens and reads them, by descriptor.

A file is opened once; its size is compared with the limit before the first byte is read, and the
second look at deltas reads from the same descriptor.
"""

from __future__ import annotations

import os
import resource
import stat
import time

from packparse import codes
from packparse.errors import PackError
from packparse.verify import Options, Verifier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.report import Report

__all__ = ["verify_path"]

_CHUNK = 1 << 20


def verify_path(path: str, options: Options | None = None) -> Report:
    """Verify the file at ``path``; what cannot be read is a finding of class 6."""
    options = options or Options()
    begun = time.perf_counter()
    verifier = Verifier(options, name=path)
    try:
        descriptor = _descriptor(path)
        try:
            verifier = _open(descriptor, path, options)
            before = _stamp(descriptor)
            while not verifier.refused and (chunk := os.read(descriptor, _CHUNK)):
                verifier.feed(chunk)
            report = verifier.finish(lambda at, length: os.pread(descriptor, length, at))
            if _stamp(descriptor) != before:
                message = "the file was written to while it was verified"
                verifier.refuse(PackError(codes.INPUT_CHANGED, message))
        finally:
            os.close(descriptor)
    except OSError as error:
        # What was found before stays in the report.
        reason = error.strerror or str(error)
        verifier.refuse(PackError(codes.CANNOT_READ, f"the file cannot be read: {reason}"))
        report = verifier.finish(lambda _at, _length: b"")
    report.seconds = round(time.perf_counter() - begun, 6)
    # Linux counts in KiB.
    report.peak_rss_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return report


def _descriptor(path: str) -> int:
    try:
        # O_NONBLOCK: opening a FIFO must not wait for a writer.
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except ValueError as error:
        # A name with a NUL.
        raise OSError(str(error)) from None


def _stamp(descriptor: int) -> tuple[int, int, int]:
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _open(descriptor: int, path: str, options: Options) -> Verifier:
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        return Verifier(options, name=path, length=status.st_size)
    verifier = Verifier(options, name=path)
    verifier.refuse(PackError(codes.CANNOT_READ, "the file cannot be read: not a regular file"))
    return verifier
