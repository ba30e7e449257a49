"""How far long work has come: one line on a terminal, now and then a line in a log.

Nothing is said in the first second. After that a terminal shows one line, which is written anew at
most ten times a second and taken away at the end; anything else gets a plain line at most once a
second, if it is to get any. Both the stream and the clock are the caller's. A stream that cannot be
written to ends the telling and never the work.
"""

from __future__ import annotations

from packparse.errors import MisuseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class TextStream(Protocol):
        """What is used of a text stream such as ``sys.stderr``."""

        def write(self, text: str, /) -> object:
            """Write text."""

        def flush(self) -> object:
            """Write out what is held back."""

        def isatty(self) -> bool:
            """Whether this is a terminal."""


__all__ = ["MODES", "Progress"]

# When to tell: on a terminal, everywhere, nowhere.
MODES = ("auto", "always", "never")

_QUIET = 1.0
_TERMINAL_STEP = 0.1
_PLAIN_STEP = 1.0
# A line that is wider would wrap, and could not be taken away.
_WIDEST = 79


class Progress:
    """Tells how far one piece of work after the other has come.

    Call it with a phase ("reading", whose counts are bytes, or any other word), how much is done,
    and how much there is in all, or None. Call :meth:`clear` at the end of each piece of work: it
    takes the line away, and the next piece has its own quiet second. ``mode`` is one of
    :data:`MODES`, ``stream`` may be None, ``clock`` counts seconds. Raises nothing but MisuseError,
    and that for an unknown mode only.
    """

    def __init__(self, stream: TextStream | None, mode: str, clock: Callable[[], float]) -> None:
        if mode not in MODES:
            message = f"unknown mode {mode!r}; known: {', '.join(MODES)}"
            raise MisuseError(message)
        self._stream = stream
        self._clock = clock
        self._terminal = stream is not None and _is_terminal(stream)
        if mode == "never" or (mode == "auto" and not self._terminal):
            self._stream = None
        self._step = _TERMINAL_STEP if self._terminal else _PLAIN_STEP
        self._next: float | None = None
        self._shown = 0

    def __call__(self, phase: str, done: int = 0, total: int | None = None) -> None:
        """Say where the work is; mostly this only looks at the clock."""
        if self._stream is None:
            return
        now = self._clock()
        if self._next is None:
            self._next = now + _QUIET
        if now < self._next:
            return
        self._next = now + self._step
        line = f"packcheck: {_describe(phase, done, total)}"[:_WIDEST]
        if self._terminal:
            # Spaces over what a longer line left.
            self._write("\r" + line.ljust(self._shown))
            self._shown = len(line)
        else:
            self._write(line + "\n")

    def clear(self) -> None:
        """Say that a piece of work is over; an empty line is left on a terminal."""
        self._next = None
        if self._shown:
            self._write("\r" + " " * self._shown + "\r")
            self._shown = 0

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # ValueError is what a closed file raises.
            self._stream = None


def _is_terminal(stream: TextStream) -> bool:
    try:
        return stream.isatty()
    except (OSError, ValueError):
        return False


def _describe(phase: str, done: int, total: int | None) -> str:
    percent = f" {min(done, total) * 100 // total} %" if total else ""
    if phase == "reading":
        counts = _mebibytes(done) + (f" of {_mebibytes(total)}" if total else "") + " MiB"
    elif total:
        counts = f"{done} of {total}"
    else:
        counts = str(done) if done else ""
    return f"{phase}{percent}" + (f" ({counts})" if counts else "")


def _mebibytes(count: int) -> str:
    return f"{count / (1 << 20):.1f}"
