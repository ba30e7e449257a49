"""What the controller records of a launch, and what happened to it since: the journal's contents.

A launch record holds the key of the launch. Its text form (``repr``) leaves the key out, so that
no message or log shows it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal

from msgspec import Meta

from manifest.atoms import (
    COMMITS,
    Amount,
    CodeName,
    Digest,
    FileName,
    FormatName,
    LaunchId,
    Name,
    Oid,
    QuotedPath,
    unpack_path,
)
from manifest.codec import Record, decode, encode, made
from manifest.errors import BAD_OBJECT_ID, RECORD_INVALID, RecordError
from manifest.receipt import Receipt
from packparse.errors import MisuseError
from packparse.escape import quote, unquote
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.policy import Policy, named, parse

__all__ = [
    "Discarded", "Event", "Folder", "Launch", "Launched", "PolicyText", "Preparing", "Publishing",
    "Ready", "Refused", "Seed", "Verified", "decode_event", "encode_event",
]  # fmt: skip


class Folder(Record, frozen=True):
    """A directory, by its path and by what the system calls it."""

    path: QuotedPath
    device: Amount
    inode: Amount

    def check(self) -> None:
        """Raise RecordError (recordInvalid) where the path is not an absolute one, quoted."""
        path = unpack_path(self.path) or ""
        if not path.startswith("/") or "\0" in path:
            raise RecordError(RECORD_INVALID, "a folder is not an absolute path, quoted")

    @property
    def location(self) -> str:
        """The path, as the system takes it."""
        return unpack_path(self.path) or ""


class Seed(Record, frozen=True):
    """The seeded set: the base alone, with its tree, or its whole history as well.

    ``boundary`` are commits of the history whose parents were not given.
    """

    kind: Literal["depth-one", "full"]
    boundary: Annotated[list[Oid], Meta(max_length=COMMITS)]


class PolicyText(Record, frozen=True):
    """A policy: one that ships, by its name alone, or a name and TOML, quoted as a path is."""

    name: Annotated[str, Meta(pattern=r"^[ -~]{1,200}\Z")]
    text: Annotated[str, Meta(max_length=1 << 20, pattern=r"^[ -~]*\Z")] = ""

    @classmethod
    def of(cls, name: str, toml: str) -> PolicyText:
        """A policy of one's own, from its TOML; ``name`` is what reports call it."""
        return cls(name, quote(toml.encode()))

    def made(self) -> Policy:
        """The policy. Raises MisuseError where it is none."""
        return _made(self.name, self.text)


@lru_cache(maxsize=16)
def _made(name: str, quoted: str) -> Policy:
    """A policy, and with it the patterns that it compiles when it is first used."""
    if not quoted:
        return named(name)
    raw = unquote(quoted)
    if raw is None:
        raise MisuseError(f"policy {name}: its text is not quoted as a path is")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise MisuseError(f"policy {name}: its text is not UTF-8") from None
    return parse(text, name)


class Launch(Record, frozen=True, tag_field="format", tag="packcheck.launch/1"):
    """Everything that the controller knows of one launch before its producer starts.

    ``limits`` are those that differ from the policy's. ``export`` is the one folder where an
    artifact may lie, ``common_dir`` that of the repository it is for.
    """

    launch: LaunchId
    issue: Name
    run: Name
    phase: Name
    repository: Name
    object_format: FormatName
    base: Oid
    seed: Seed
    export: Folder
    common_dir: Folder
    artifact: FileName
    policy: PolicyText
    limits: dict[str, Amount]
    key: Digest

    def check(self) -> None:
        """Raise RecordError: badObjectId, recordInvalid."""
        digits = FORMATS[self.object_format].width * 2
        if any(len(oid) != digits for oid in (self.base, *self.seed.boundary)):
            message = f"an id is not one of {self.object_format}, which has {digits} digits"
            raise RecordError(BAD_OBJECT_ID, message)
        self.export.check()
        self.common_dir.check()
        try:
            self.made_limits()
        except MisuseError as error:
            raise RecordError(RECORD_INVALID, str(error)) from None

    def made_limits(self) -> Limits:
        """The limits of this launch: those of the policy, with its own on top."""
        policy = self.policy.made()
        return policy.made_limits(None, self.limits)

    def __repr__(self) -> str:
        return f"Launch({self.launch}, {self.issue}, {self.run}, {self.phase})"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        """As ``repr`` has it; that of msgspec has the key."""
        return [(name, getattr(self, name)) for name in ("launch", "issue", "run", "phase")]


class Event(Record, frozen=True, tag_field="state"):
    """Something that happened to a launch, ``at`` seconds since the epoch."""

    at: Amount


class Launched(Event, frozen=True, tag="launched"):
    """The first event: what the launch is. Unless it is being prepared its producer may start."""

    record: Launch

    def check(self) -> None:
        """Raise RecordError as the record does."""
        self.record.check()


class Preparing(Event, frozen=True, tag="preparing"):
    """The folder that the export folder is in is made by us, and is not whole yet.

    It holds everything that the producer is given. Until ``Ready`` no producer may start.
    """


class Ready(Event, frozen=True, tag="ready"):
    """The folder is whole, and durable: the producer may start."""


class Verified(Event, frozen=True, tag="verified"):
    """packcheck accepts this artifact, and git is about to be asked; nothing is published."""

    artifact: Digest
    candidate: Oid


class Publishing(Event, frozen=True, tag="publishing"):
    """From here on files of the pack may stand in the shared store.

    ``receipt`` is the one that is written once all of them do: recovery needs nothing else.
    """

    receipt: Receipt


class Refused(Event, frozen=True, tag="refused"):
    """An import was refused; the artifact is kept, and may be looked at and tried again."""

    code: CodeName


class Discarded(Event, frozen=True, tag="discarded"):
    """Nothing rests on the launch any more."""


_ALL = (Launched, Preparing, Ready, Verified, Publishing, Refused, Discarded)
_TYPES: dict[str, type[Event]] = {str(kind.__struct_config__.tag): kind for kind in _ALL}


def encode_event(event: Event) -> bytes:
    """The one spelling of an event. Raises RecordError (recordInvalid) where it cannot be read."""
    return encode(made(event))


def decode_event(data: bytes) -> Event:
    """The event that ``data`` spells. Raises RecordError: recordInvalid."""
    label = data[len(b'{"state":"') :].partition(b'"')[0].decode("ascii", "replace")
    kind = _TYPES.get(label)
    if kind is None or not data.startswith(b'{"state":"'):
        raise RecordError(RECORD_INVALID, "it is no event of a launch")
    return decode(data, kind)
