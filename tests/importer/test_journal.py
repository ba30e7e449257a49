"""One launch, open for work: events are whole or not there, and a torn one is cut by work alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from importer.durable import Files
from importer.errors import (
    JOURNAL_FULL,
    LAUNCH_UNKNOWN,
    LOCK_BUSY,
    STATE_CORRUPT,
    ImportFailed,
    ImportRefused,
)
from importer.frames import frame
from importer.journal import LaunchFile, opened, peeked
from importer.state import State
from importer.world import World
from manifest import receipt as receipts
from manifest.errors import RecordError
from manifest.launch import (
    Discarded,
    Event,
    Launched,
    Publishing,
    Refused,
    Verified,
    encode_event,
)
from tests.support.files import open_descriptors
from tests.support.records import (
    CANDIDATE,
    LAUNCH,
    OTHER,
    launch_record,
    receipt_record,
    refusal_record,
)
from tests.support.worlds import Clock, Telling

VERIFIED = Verified(at=2, artifact="a" * 64, candidate=CANDIDATE)
REFUSED = Refused(at=3, code="originUnsafe")
PUBLISHING = Publishing(at=4, receipt=receipt_record())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder of a launch that was made at second 1."""
    with State(str(tmp_path / "state"), Clock(1).world()) as state:
        state.add(launch_record())
    return tmp_path / "state" / "launches" / LAUNCH


@pytest.fixture
def files() -> Telling:
    return Telling()


@pytest.fixture
def state(place: Path, files: Telling) -> Iterator[State]:
    with State(str(place.parent.parent), World(files)) as opened_state:
        yield opened_state


def events(state: State) -> list[Event]:
    """What is read by somebody else now."""
    with peeked(state, LAUNCH) as file:
        return file.events[1:]


# --- opening -------------------------------------------------------------------------------------


def test_it_begins_with_the_record_of_the_launch(state: State, place: Path) -> None:
    before = open_descriptors()
    with opened(state, LAUNCH, timeout=0) as file:
        assert file.record == launch_record()
        assert file.launched == 1
        assert file.events == [Launched(at=1, record=launch_record())]
        assert file.lock is not None
        assert os.fstat(file.lock).st_ino == (place / "lock").stat().st_ino
    assert open_descriptors() == before


def test_one_process_works_on_it_and_others_read(state: State) -> None:
    clock = Clock()
    before = open_descriptors()
    with opened(state, LAUNCH, timeout=0) as file:
        with State(state.path, clock.world()) as other:
            with (
                pytest.raises(ImportFailed, match=f"for launch {LAUNCH} since") as failed,
                opened(other, LAUNCH, timeout=3),
            ):
                pytest.fail("it is opened")
            with peeked(other, LAUNCH) as seen:
                assert seen.lock is None
                assert seen.record == file.record
        assert failed.value.code is LOCK_BUSY
        assert 3 <= sum(clock.slept) < 3.1
    with opened(state, LAUNCH, timeout=0):
        pass
    assert open_descriptors() == before


@pytest.mark.parametrize("name", [OTHER, "../launches", ""])
def test_a_launch_that_is_not_there_is_unknown(name: str, state: State) -> None:
    before = open_descriptors()
    for opening in (opened(state, name, timeout=0), peeked(state, name)):
        with pytest.raises(ImportRefused) as refused, opening:
            pytest.fail("it is opened")
        assert refused.value.code is LAUNCH_UNKNOWN
    assert open_descriptors() == before


def _journal(*payloads: bytes) -> Callable[[Path], object]:
    data = b""
    for payload in payloads:
        data += frame(payload, len(data))
    return lambda path: path.write_bytes(data)


def _with_a_frame(data: bytes) -> bytes:
    return data + frame(encode_event(VERIFIED), len(data))


def _moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


FIRST = encode_event(Launched(at=1, record=launch_record()))
CORRUPT: dict[str, tuple[Callable[[Path], object], str]] = {
    "there is none": (lambda path: path.unlink(), "the journal: there is none"),
    "it is empty": (lambda path: path.write_bytes(b""), "the journal: it has no whole frame"),
    "its first frame is torn": (
        lambda path: os.truncate(path, 30), "the journal: it has no whole frame",
    ),
    "it begins with another event": (
        _journal(encode_event(VERIFIED)), "the journal: the first event is no launch",
    ),
    "a frame is damaged": (
        lambda path: path.write_bytes(_with_a_frame(path.read_bytes() + b"x" * 40)),
        "the journal: the frame at byte",
    ),
    "a frame is no event": (
        _journal(FIRST, b"{}"), "the journal: recordInvalid: it is no event of a launch",
    ),
    "an event is not known": (
        _journal(FIRST, b'{"state":"forged","at":1}'), "the journal: recordInvalid: it is no event",
    ),
    "an event has a field too many": (
        _journal(FIRST, b'{"state":"discarded","at":1,"by":"me"}'), "the journal: recordInvalid:",
    ),
    "it is a link": (_moved, "journal is a symbolic link"),
    "it has another name": (
        lambda path: path.with_name("second").hardlink_to(path), "journal is a file with 2 names",
    ),
    "it is a FIFO": (_fifo, "journal is a FIFO"),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "message"), CORRUPT.values(), ids=CORRUPT)
def test_a_journal_is_corrupt_where(
    damage: Callable[[Path], object], message: str, state: State, place: Path
) -> None:
    damage(place / "journal")
    before = open_descriptors()
    for opening in (opened(state, LAUNCH, timeout=0), peeked(state, LAUNCH)):
        with pytest.raises(ImportFailed) as failed, opening:
            pytest.fail("it is opened")
        assert (failed.value.code, failed.value.retry) == (STATE_CORRUPT, False)
        assert failed.value.message.startswith(message)
    assert open_descriptors() == before
    assert state.names() == [LAUNCH]


def test_a_journal_that_grew_beyond_all_bounds_is_not_read(
    state: State, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importer.journal._LARGEST", 5_000)
    os.truncate(place / "journal", 1 << 40)
    with pytest.raises(ImportFailed, match="more than 5000 bytes") as failed, peeked(state, LAUNCH):
        pytest.fail("it is opened")
    assert (failed.value.code, failed.value.retry) == (STATE_CORRUPT, False)


@pytest.mark.parametrize("name", ["receipt", "refusal"])
def test_a_record_that_is_longer_than_any_of_ours_is_corrupt(
    name: str, state: State, place: Path
) -> None:
    (place / f"{name}.json").touch()
    os.truncate(place / f"{name}.json", receipts.LARGEST + 1)
    with peeked(state, LAUNCH) as file, pytest.raises(ImportFailed, match="more than") as failed:
        getattr(file, name)()
    assert (failed.value.code, failed.value.retry) == (STATE_CORRUPT, False)


def _fill(file: LaunchFile) -> None:
    for _ in range(100):
        file.append(VERIFIED)


# Whichever event is the one that does not fit any more.
@pytest.mark.parametrize("room", range(1_300, 1_600, 10))
def test_a_full_journal_takes_no_event_but_that_the_launch_is_discarded(
    room: int, state: State, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importer.journal._LARGEST", (place / "journal").stat().st_size + room)
    with opened(state, LAUNCH, timeout=0) as file:
        with pytest.raises(ImportFailed, match="has no room for another event") as failed:
            _fill(file)
        assert (failed.value.code, failed.value.retry) == (JOURNAL_FULL, False)
        taken = [VERIFIED] * (len(file.events) - 1)
        assert taken
        assert events(state) == taken
        file.append(Discarded(at=9))
    # It can still be read.
    assert events(state) == [*taken, Discarded(at=9)]


# --- events --------------------------------------------------------------------------------------


def test_events_are_added_in_their_order_and_read_again(state: State) -> None:
    with opened(state, LAUNCH, timeout=0) as file:
        for event in (VERIFIED, REFUSED, PUBLISHING):
            file.append(event)
            assert events(state) == file.events[1:]
        assert file.last(Verified) == VERIFIED
        assert file.last(Verified, Publishing, Refused) == PUBLISHING
        assert file.last(Discarded) is None
    assert events(state) == [VERIFIED, REFUSED, PUBLISHING]


def test_the_last_of_several_events_counts(state: State) -> None:
    again = Refused(at=9, code="artifactMissing")
    with opened(state, LAUNCH, timeout=0) as file:
        for event in (REFUSED, VERIFIED, again):
            file.append(event)
        assert file.last(Refused) == again


def test_an_event_is_durable_before_work_goes_on(state: State, files: Telling) -> None:
    # Before the first one, too: only the last frame may be torn, and what a process left that died
    # may be whole and not durable.
    with opened(state, LAUNCH, timeout=0) as file:
        files.seen.clear()
        file.append(VERIFIED)
        assert files.seen == ["create journal", "fsync journal", "write journal", "fsync journal"]
        files.seen.clear()
        file.append(PUBLISHING)
        assert files.seen == ["create journal", "write journal", "fsync journal"]


@pytest.mark.parametrize("failing", ["create journal", "write journal", "fsync journal"])
def test_after_an_event_that_could_not_be_added_another_one_can(
    failing: str, state: State, files: Telling
) -> None:
    with opened(state, LAUNCH, timeout=0) as file:
        before = open_descriptors()
        files.failing.add(failing)
        with pytest.raises(OSError, match="No space left"):
            file.append(PUBLISHING)
        assert open_descriptors() == before
        assert file.last(Publishing) is None
        files.failing.clear()
        file.append(REFUSED)
        assert file.events[1:] == [REFUSED] == events(state)


def test_after_an_event_that_was_written_in_part_another_one_can_be_added(
    place: Path, state: State
) -> None:
    class Half(Telling):
        def write(self, descriptor: int, data: bytes | memoryview) -> None:
            if self.failing:
                super().write(descriptor, data[: len(data) // 2])
                raise OSError(28, "No space left on device")
            super().write(descriptor, data)

    files = Half()
    size = (place / "journal").stat().st_size
    with (
        State(state.path, World(files)) as other,
        opened(other, LAUNCH, timeout=0) as file,
    ):
        for _ in range(2):
            files.failing.add("it")
            with pytest.raises(OSError, match="No space left"):
                file.append(PUBLISHING)
            assert (place / "journal").stat().st_size > size
            assert events(state) == []
        files.failing.clear()
        files.seen.clear()
        file.append(REFUSED)
        assert files.seen == [
            "create journal", "truncate journal", "fsync journal", "write journal", "fsync journal",
        ]  # fmt: skip
    assert events(state) == [REFUSED]


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_torn_event_is_cut_when_there_is_another_one_and_not_by_reading(
    cut: int, state: State, place: Path
) -> None:
    with opened(state, LAUNCH, timeout=0) as file:
        file.append(VERIFIED)
        file.append(REFUSED)
    journal = place / "journal"
    os.truncate(journal, journal.stat().st_size - cut)
    before = journal.read_bytes()
    assert events(state) == [VERIFIED]
    with opened(state, LAUNCH, timeout=0) as file:
        assert file.last(Refused) is None
        assert journal.read_bytes() == before
        file.append(PUBLISHING)
    assert events(state) == [VERIFIED, PUBLISHING]


UNREADABLE: dict[str, Event] = {
    "a second before the epoch": Discarded(at=-1),
    "a code that is none": Refused(at=1, code="no code"),
    "a digest that is too short": Verified(at=1, artifact="a", candidate=CANDIDATE),
    "a receipt that breaks its bounds": Publishing(
        at=1, receipt=receipt_record(commits=[CANDIDATE, "main"])
    ),
}


@pytest.mark.parametrize("event", UNREADABLE.values(), ids=UNREADABLE)
def test_an_event_that_could_not_be_read_again_is_not_added(
    event: Event, state: State, place: Path, files: Telling
) -> None:
    with opened(state, LAUNCH, timeout=0) as file:
        before = (place / "journal").read_bytes()
        files.seen.clear()
        with pytest.raises(RecordError, match="recordInvalid"):
            file.append(event)
        assert files.seen == []
        assert (place / "journal").read_bytes() == before
        file.append(VERIFIED)
    assert events(state) == [VERIFIED]


# --- receipts and refusals -----------------------------------------------------------------------


def test_a34_a_receipt_is_written_once(state: State, place: Path, files: Telling) -> None:
    with opened(state, LAUNCH, timeout=0) as file:
        assert file.receipt() is None
        files.seen.clear()
        file.write_receipt(receipt_record())
        assert files.seen[-2:] == ["rename tmp_receipt.json receipt.json", f"fsync {LAUNCH}"]
        assert file.receipt() == receipt_record()
        with pytest.raises(FileExistsError):
            file.write_receipt(receipt_record(run="run-8"))
    assert (place / "receipt.json").read_bytes() == receipts.write_receipt(receipt_record())


def test_the_last_refusal_is_kept(state: State) -> None:
    with opened(state, LAUNCH, timeout=0) as file:
        assert file.refusal() is None
        for step in (4, 5):
            file.write_refusal(refusal_record(step=step))
            assert file.refusal() == refusal_record(step=step)


@pytest.mark.parametrize("name", ["receipt", "refusal"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: os.truncate(path, 100), "the {}: recordInvalid"),
        (lambda path: path.write_bytes(b""), "the {}: recordInvalid"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"FIX", b"FXI")),
         "the {}: recordInvalid: its sha256 is not that of its bytes"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"/1", b"/2", 1)),
         "the {}: recordVersion"),
        (_moved, "{}.json is a symbolic link"),
    ],
    ids=["it is cut", "it is empty", "it was changed", "it is of a later version", "it is a link"],
)  # fmt: skip
def test_a34_what_was_written_is_corrupt_where(
    damage: Callable[[Path], object], message: str, name: str, state: State, place: Path
) -> None:
    with opened(state, LAUNCH, timeout=0) as file:
        file.write_receipt(receipt_record())
        file.write_refusal(refusal_record())
        damage(place / f"{name}.json")
        with pytest.raises(ImportFailed) as failed:
            getattr(file, name)()
    assert (failed.value.code, failed.value.retry) == (STATE_CORRUPT, False)
    assert failed.value.message.startswith(message.format(name))


@pytest.mark.parametrize("write", ["write_receipt", "write_refusal"])
def test_what_breaks_its_bounds_is_not_written(write: str, state: State, place: Path) -> None:
    before = sorted(place.iterdir())
    records = {
        "write_receipt": receipt_record(run="no name"),
        "write_refusal": refusal_record(message="\x1b[2J"),
    }
    with opened(state, LAUNCH, timeout=0) as file, pytest.raises(RecordError):
        getattr(file, write)(records[write])
    assert sorted(place.iterdir()) == sorted([*before, place / "lock"])


def test_what_a_crash_left_is_swept_and_nothing_else(state: State, place: Path) -> None:
    with opened(state, LAUNCH, timeout=0) as file:
        file.write_receipt(receipt_record())
        (place / "tmp_receipt.json").touch()
        (place / "tmp_staged").symlink_to("receipt.json")
        assert file.sweep() == ["tmp_receipt.json", "tmp_staged"]
        assert file.sweep() == []
        assert Files().names(file.folder) == ["journal", "lock", "receipt.json"]


def test_what_cannot_be_opened_leaves_the_launch_free(state: State, place: Path) -> None:
    (place / "journal").rename(place / "away")
    for _ in range(2):
        with (
            pytest.raises(ImportFailed, match="stateCorrupt"),
            opened(state, LAUNCH, timeout=0),
        ):
            pytest.fail("it is opened")
    (place / "away").rename(place / "journal")
    with opened(state, LAUNCH, timeout=0) as file:
        assert isinstance(file, LaunchFile)
