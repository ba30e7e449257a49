"""Progress: when something is said, what, where, and that it never hurts the work (PK8)."""

from __future__ import annotations

import io
import os

import pytest

from packparse.errors import MisuseError
from packparse.progress import MODES, Progress


class Screen(io.StringIO):
    """A stream that is a terminal or not, and counts what is written."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal
        self.writes: list[str] = []
        self.flushed = 0

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str, /) -> int:
        self.writes.append(text)
        return super().write(text)

    def flush(self) -> None:
        self.flushed += 1

    def visible(self) -> str:
        """What a terminal of one row shows in the end; a carriage return goes to its start."""
        row: list[str] = []
        at = 0
        for character in self.getvalue():
            if character == "\r":
                at = 0
            else:
                row[at : at + 1] = [character]
                at += 1
        return "".join(row).rstrip()


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def run(
    mode: str, *, terminal: bool, seconds: float, step: float, total: int | None = 1 << 20
) -> Screen:
    """Tell of a reading for some seconds, a step of the clock at a time."""
    screen, clock = Screen(terminal=terminal), Clock()
    progress = Progress(screen, mode, clock)
    count = round(seconds / step)
    for number in range(count + 1):
        clock.now = 1000 + number * step
        progress("reading", number << 10, total)
    return screen


# --- when -----------------------------------------------------------------------------------------

SPOKEN = {
    ("auto", True): True,
    ("auto", False): False,
    ("always", True): True,
    ("always", False): True,
    ("never", True): False,
    ("never", False): False,
}


@pytest.mark.parametrize(("mode", "terminal"), SPOKEN)
def test_the_mode_and_the_stream_decide_whether_anything_is_said(mode: str, terminal: bool) -> None:
    assert bool(run(mode, terminal=terminal, seconds=5, step=0.5).writes) == SPOKEN[mode, terminal]
    assert mode in MODES


@pytest.mark.parametrize("terminal", [True, False])
def test_the_first_second_is_quiet(terminal: bool) -> None:
    assert run("always", terminal=terminal, seconds=0.9, step=0.1).writes == []
    assert len(run("always", terminal=terminal, seconds=1, step=0.25).writes) == 1


@pytest.mark.parametrize(("terminal", "most"), [(True, 91), (False, 10)])
def test_the_rate_is_bounded(terminal: bool, most: int) -> None:
    # A terminal gets ten lines a second at most and anything else one, from second 1 to 10.
    screen = run("always", terminal=terminal, seconds=10, step=1 / 1024)
    assert most - 5 <= len(screen.writes) <= most
    assert screen.flushed == len(screen.writes)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_change_of_phase_does_not_raise_the_rate(terminal: bool) -> None:
    screen, clock = Screen(terminal=terminal), Clock()
    progress = Progress(screen, "always", clock)
    progress("reading", 1)
    clock.now += 1
    for phase in ("reading", "rebuilding", "checking"):
        progress(phase, 1, 2)
    assert len(screen.writes) == 1
    assert "reading" in screen.writes[0]


@pytest.mark.parametrize("terminal", [True, False])
def test_each_piece_of_work_has_its_own_quiet_second(terminal: bool) -> None:
    screen, clock = Screen(terminal=terminal), Clock()
    progress = Progress(screen, "always", clock)
    for _ in range(3):
        progress("reading", 1)
        clock.now += 0.9
        progress("reading", 2)
        progress.clear()
        clock.now += 5
    assert screen.writes == []


# --- what -----------------------------------------------------------------------------------------

M = 1 << 20
LINES: dict[str, tuple[tuple[str, int, int | None], str]] = {
    "bytes of a file": (("reading", 45 * M, 100 * M), "reading 45 % (45.0 of 100.0 MiB)"),
    "bytes of a stream": (("reading", 3 * M // 2, None), "reading (1.5 MiB)"),
    "bytes of an empty file": (("reading", 0, 0), "reading (0.0 MiB)"),
    "deltas": (("rebuilding", 1234, 5678), "rebuilding 21 % (1234 of 5678)"),
    "no delta yet": (("rebuilding", 0, 5678), "rebuilding 0 % (0 of 5678)"),
    "the last delta": (("rebuilding", 5678, 5678), "rebuilding 100 % (5678 of 5678)"),
    "a count without an end": (("checking", 17, None), "checking (17)"),
    "a phase without counts": (("checking", 0, None), "checking"),
    "more than there should be": (("reading", 2 * M, M), "reading 100 % (2.0 of 1.0 MiB)"),
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_says_the_phase_and_how_far_it_is(name: str) -> None:
    call, line = LINES[name]
    for terminal, expected in ((True, f"\rpackcheck: {line}"), (False, f"packcheck: {line}\n")):
        screen, clock = Screen(terminal=terminal), Clock()
        progress = Progress(screen, "always", clock)
        progress(*call)
        clock.now += 1
        progress(*call)
        assert screen.getvalue() == expected


def test_no_line_is_wider_than_a_terminal() -> None:
    screen, clock = Screen(terminal=True), Clock()
    progress = Progress(screen, "auto", clock)
    progress("reading" * 20, 1 << 60, 1 << 70)
    clock.now += 1
    progress("reading" * 20, 1 << 60, 1 << 70)
    assert len(screen.visible()) == 79


def test_a_shorter_line_covers_a_longer_one_and_nothing_is_left_at_the_end() -> None:
    screen, clock = Screen(terminal=True), Clock()
    progress = Progress(screen, "auto", clock)
    seen = []
    for phase, done, total in (
        ("reading", 0, 1 << 40),
        ("reading", 1 << 39, 1 << 40),
        ("checking", 0, None),
        ("rebuilding", 10, 20),
    ):
        progress(phase, done, total)
        seen.append(screen.visible())
        clock.now += 1
    assert seen == [
        "",
        "packcheck: reading 50 % (524288.0 of 1048576.0 MiB)",
        "packcheck: checking",
        "packcheck: rebuilding 50 % (10 of 20)",
    ]
    progress.clear()
    assert screen.visible() == ""
    assert screen.getvalue().endswith("\r")
    assert "\n" not in screen.getvalue()
    # There is nothing to take away any more.
    count = len(screen.writes)
    progress.clear()
    assert len(screen.writes) == count


def test_plain_lines_are_lines_and_stay() -> None:
    screen = run("always", terminal=False, seconds=3, step=1)
    assert screen.getvalue().count("\n") == 3
    assert "\r" not in screen.getvalue()


# --- what goes wrong ------------------------------------------------------------------------------


class Broken(Screen):
    """A stream that fails from a certain write on, and counts the tries."""

    def __init__(self, error: Exception, after: int, *, terminal: bool) -> None:
        super().__init__(terminal=terminal)
        self.error = error
        self.after = after

    def write(self, text: str, /) -> int:
        super().write(text)
        if len(self.writes) > self.after:
            raise self.error
        return len(text)


ERRORS = {
    "a reader that has gone": BrokenPipeError(32, "Broken pipe"),
    "a full disk": OSError(28, "No space left on device"),
    "a terminal that has gone": OSError(5, "Input/output error"),
    "a full pipe that must not be waited for": BlockingIOError(11, "unavailable"),
    "a closed file": ValueError("I/O operation on closed file"),
}


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("name", ERRORS)
def test_a_stream_that_fails_is_left_alone(name: str, after: int, terminal: bool) -> None:
    screen, clock = Broken(ERRORS[name], after, terminal=terminal), Clock()
    progress = Progress(screen, "always", clock)
    for _ in range(10):
        progress("reading", 1)
        clock.now += 1
    progress.clear()
    assert len(screen.writes) == after + 1


def test_a_stream_that_fails_when_it_is_cleared_is_left_alone() -> None:
    screen, clock = Broken(ERRORS["a terminal that has gone"], 1, terminal=True), Clock()
    progress = Progress(screen, "auto", clock)
    progress("reading", 1)
    clock.now += 1
    progress("reading", 1)
    progress.clear()
    progress.clear()
    assert len(screen.writes) == 2


@pytest.mark.parametrize("mode", MODES)
def test_without_a_stream_nothing_is_said(mode: str) -> None:
    # Python sets sys.stderr to None when the descriptor is closed.
    clock = Clock()
    progress = Progress(None, mode, clock)
    progress("reading", 1)
    clock.now += 2
    progress("reading", 1)
    progress.clear()


@pytest.mark.parametrize("mode", MODES)
def test_a_closed_stream_is_no_terminal(mode: str) -> None:
    stream = io.StringIO()
    stream.close()
    clock = Clock()
    progress = Progress(stream, mode, clock)
    for _ in range(3):
        progress("reading", 1)
        clock.now += 1
    progress.clear()


def test_an_unknown_mode_is_misuse() -> None:
    with pytest.raises(MisuseError, match="unknown mode 'sometimes'; known: auto, always, never"):
        Progress(None, "sometimes", Clock())


def test_a_real_terminal_is_known_as_one() -> None:
    main, side = os.openpty()
    clock = Clock()
    with os.fdopen(main, "rb", buffering=0) as reader, os.fdopen(side, "w") as stream:
        progress = Progress(stream, "auto", clock)
        progress("checking")
        clock.now += 1
        progress("checking")
        assert reader.read(100) == b"\rpackcheck: checking"
