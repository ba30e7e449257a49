"""What a process is asked for that does a part of the work, and who starts it; forks.py does."""

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Sequence
    from typing import Any

    Column = bytes | bytearray | array[int]
    # Sends a head (numbers, texts, bytes, None, and tuples and lists of them), then columns.
    Send = Callable[[object, Sequence[Column]], None]
    Task = Callable[[Send], None]

__all__ = ["Worker", "Workers"]


class Worker(ABC):
    """A process that runs a task, which may send several times."""

    @abstractmethod
    def head(self) -> Any:  # noqa: ANN401 - what the task sent
        """The next head that was sent. Raises PackError: workerFailed."""

    @abstractmethod
    def column(self, target: bytearray | array[int]) -> None:
        """Put the next column behind ``target``. Raises PackError: workerFailed."""

    @abstractmethod
    def end(self) -> None:
        """Say that all was received that the task sends: the process ends by itself."""

    @abstractmethod
    def stop(self) -> None:
        """End the process, whatever it is doing; nothing more is wanted of it."""


class Workers(ABC):
    """Starts processes; ``jobs`` is how many may work at one time, this one included."""

    jobs: int

    @abstractmethod
    def start(self, task: Task) -> Worker:
        """Run ``task`` in a process of its own. Raises PackError: workerFailed."""
