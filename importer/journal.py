"""One launch, open for work: its record, what happened to it, its receipt.

The journal is a file of frames (frames.py), each made durable before work goes on that rests on it,
and whole or not there in any case. Whoever opens it for work holds the lock of the launch, which
the git processes of that work inherit: the lock is free once all of them have ended, also where
their parent was killed.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from importer.durable import TEMPORARY
from importer.errors import JOURNAL_FULL, STATE_CORRUPT, ImportFailed
from importer.frames import DamagedError, frame, frames
from importer.lock import held
from importer.state import JOURNAL
from manifest import receipt as receipts
from manifest.errors import RecordError
from manifest.launch import Discarded, Event, Launch, Launched, decode_event, encode_event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from importer.state import State
    from manifest.receipt import Receipt, Refusal

__all__ = ["LaunchFile", "opened", "peeked"]

# What is read, and so what is written: some ten thousand imports that failed.
_LARGEST = 64 << 20
# That is left for the launch to be discarded.
_RESERVE = 1 << 10
_RECEIPT = "receipt.json"
_REFUSAL = "refusal.json"

E = TypeVar("E", bound=Event)


class LaunchFile:
    """The files of one launch.

    ``events`` are all that happened, ``record`` is what the first of them says. Where the launch
    was not opened for work, ``lock`` is None and nothing may be written.
    """

    def __init__(self, state: State, folder: int, lock: int | None) -> None:
        self.folder = folder
        self.lock = lock
        self._state = state
        self._files = state.world.files
        self.events, self._end, self._torn = self._load()
        first = self.events[0]
        if not isinstance(first, Launched):
            raise _damaged("the first event is no launch")
        self.record: Launch = first.record
        self.launched = first.at
        # A process that died may have left a whole frame that is not durable.
        self._durable = False

    def last(self, *kinds: type[E]) -> E | None:
        """The last event of these kinds; None where there is none."""
        return next((event for event in reversed(self.events) if isinstance(event, kinds)), None)

    def _load(self) -> tuple[list[Event], int, bool]:
        data = self._state.read(JOURNAL, at=self.folder, most=_LARGEST)
        if data is None:
            raise _damaged("there is none")
        try:
            payloads, end = frames(data)
            events = [decode_event(payload) for payload in payloads]
        except (DamagedError, RecordError) as error:
            raise _damaged(str(error)) from None
        if not events:
            raise _damaged("it has no whole frame")
        return events, end, end < len(data)

    def append(self, event: Event) -> None:
        """Add an event, durably.

        Raises RecordError (recordInvalid) for an event that could not be read again, ImportFailed
        (journalFull).
        """
        data = frame(encode_event(event), self._end)
        if self._end + len(data) > _LARGEST - (0 if isinstance(event, Discarded) else _RESERVE):
            message = f"the journal of launch {self.record.launch} has no room for another event"
            raise ImportFailed(JOURNAL_FULL, message, retry=False)
        descriptor = self._files.open_shared(JOURNAL, at=self.folder, mode=0o600)
        try:
            if self._torn:
                self._files.cut(descriptor, self._end)
            if not self._durable:
                # Only the last frame may be torn.
                self._files.sync(descriptor)
            # Until all of it is durable, what is written is a torn frame.
            self._torn = True
            os.lseek(descriptor, self._end, os.SEEK_SET)
            self._files.write(descriptor, data)
            self._files.sync(descriptor)
        finally:
            os.close(descriptor)
        self._torn = False
        self._durable = True
        self._end += len(data)
        self.events.append(event)

    def harden(self) -> None:
        """Make durable what was read, which a process that died may have left undone."""
        descriptor = self._files.open_shared(JOURNAL, at=self.folder, mode=0o600)
        try:
            self._files.sync(descriptor)
        finally:
            os.close(descriptor)

    def receipt(self) -> Receipt | None:
        """The receipt; None where there is none. Raises ImportFailed: stateCorrupt."""
        data = self._state.read(_RECEIPT, at=self.folder, most=receipts.LARGEST)
        try:
            return None if data is None else receipts.read_receipt(data)
        except RecordError as error:
            raise ImportFailed(STATE_CORRUPT, f"the receipt: {error}", retry=False) from None

    def refusal(self) -> Refusal | None:
        """The last refusal; None where there is none. Raises ImportFailed: stateCorrupt."""
        data = self._state.read(_REFUSAL, at=self.folder, most=receipts.LARGEST)
        try:
            return None if data is None else receipts.read_refusal(data)
        except RecordError as error:
            raise ImportFailed(STATE_CORRUPT, f"the refusal: {error}", retry=False) from None

    def write_receipt(self, receipt: Receipt) -> None:
        """Publish the receipt, which is written once."""
        data = receipts.write_receipt(receipt)
        self._files.write_once(_RECEIPT, data, at=self.folder)

    def write_refusal(self, refusal: Refusal) -> None:
        """Publish a refusal in the place of an earlier one."""
        self._files.replace(_REFUSAL, receipts.write_refusal(refusal), at=self.folder)

    def sweep(self) -> list[str]:
        """Remove temporary files that a crash left; their names."""
        left = [name for name in self._files.names(self.folder) if name.startswith(TEMPORARY)]
        return [name for name in left if self._files.sweep(name, at=self.folder, folder=False)]


@contextmanager
def opened(state: State, name: str, *, timeout: float) -> Iterator[LaunchFile]:
    """A launch, open for work by this process alone.

    Raises ImportRefused (launchUnknown), ImportFailed (lockBusy, stateCorrupt).
    """
    with (
        state.launch_folder(name) as folder,
        held(state.world, "lock", at=folder, who=f"launch {name}", timeout=timeout) as lock,
    ):
        yield LaunchFile(state, folder, lock)


@contextmanager
def peeked(state: State, name: str) -> Iterator[LaunchFile]:
    """A launch as it is now, to be read while others may work on it."""
    with state.launch_folder(name) as folder:
        yield LaunchFile(state, folder, None)


def _damaged(reason: str) -> ImportFailed:
    return ImportFailed(STATE_CORRUPT, f"the journal: {reason}", retry=False)
