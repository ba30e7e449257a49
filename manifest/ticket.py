"""The ticket: what the producer of a launch is told, so that it can export.

It lies in the export folder, where the producer may write, and has no seal: an import never reads
it, and a ticket that somebody bent leads to a manifest that is refused.
docs/reference/ticket-v1.md describes the bytes.
"""

from __future__ import annotations

from manifest.atoms import Digest, FileName, FormatName, LaunchId, Name, Oid
from manifest.codec import Record, decode, encode, made
from manifest.errors import BAD_OBJECT_ID, RECORD_INVALID, RecordError
from manifest.launch import Launch
from manifest.v1 import NAME as MANIFEST
from packparse.objectformat import FORMATS

__all__ = ["LARGEST", "NAME", "SCRIPT", "Ticket", "read", "write"]

NAME = "ticket.json"
# The exporter for images without Python, which lies beside it.
SCRIPT = "export.sh"
# The longest that its fields allow has less than 1,200 bytes.
LARGEST = 4 << 10
# What is not whole yet is called so while an export writes it.
_TEMPORARY = "tmp_"


class Ticket(Record, frozen=True, tag_field="format", tag="packcheck.ticket/1"):
    """The part of a launch record that its producer needs. The text form leaves the key out."""

    issue: Name
    run: Name
    phase: Name
    launch: LaunchId
    repository: Name
    object_format: FormatName
    base: Oid
    artifact: FileName
    key: Digest

    @classmethod
    def of(cls, record: Launch) -> Ticket:
        """The ticket of a launch. Raises RecordError where the producer could not use it."""
        ticket = cls(**{name: getattr(record, name) for name in cls.__struct_fields__})
        return made(ticket)

    def check(self) -> None:
        """Raise RecordError: badObjectId, recordInvalid."""
        digits = FORMATS[self.object_format].width * 2
        if len(self.base) != digits:
            message = f"the base is no id of {self.object_format}, which has {digits} digits"
            raise RecordError(BAD_OBJECT_ID, message)
        if self.artifact in {NAME, SCRIPT, MANIFEST} or self.artifact.startswith(_TEMPORARY):
            message = f"an artifact cannot be called {self.artifact}, as another file is"
            raise RecordError(RECORD_INVALID, message)

    def __repr__(self) -> str:
        return f"Ticket({self.launch}, {self.issue}, {self.run}, {self.phase})"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        """As ``repr`` has it; that of msgspec has the key."""
        return [(name, getattr(self, name)) for name in ("launch", "issue", "run", "phase")]


def write(ticket: Ticket) -> bytes:
    """The bytes of ``ticket.json``. Raises RecordError where they could not be read again."""
    return encode(made(ticket)) + b"\n"


def read(data: bytes) -> Ticket:
    """The ticket in ``data``. Raises RecordError: recordVersion, recordInvalid, badObjectId."""
    if len(data) > LARGEST:
        raise RecordError(RECORD_INVALID, f"a ticket has at most {LARGEST} bytes")
    if not data.endswith(b"\n"):
        raise RecordError(RECORD_INVALID, "it does not end in a line feed")
    return decode(data[:-1], Ticket)
