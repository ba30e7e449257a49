"""Receipts: what was imported, and why it was believed; and what was refused.

A receipt is written once, after the objects are durable in the shared store. It is the only thing
that says that an import is done, and the store is asked again whenever it is read.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

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
    Sentence,
)
from manifest.codec import Record, made, seal, sha256, unseal
from manifest.errors import RECORD_INVALID, RecordError
from manifest.v1 import Artifact

__all__ = [
    "FINDINGS", "LARGEST", "LONGEST_PATH", "GitVerdict", "Objects", "Pack", "PackcheckVerdict",
    "Receipt", "Refusal", "RefusedFor", "Times", "read_receipt", "read_refusal", "write_receipt",
    "write_refusal",
]  # fmt: skip

# 10,000 commits with SHA-256 ids, or what is said of as many findings as are listed.
LARGEST = 8 << 20
_KEY = "sha256"
R = TypeVar("R", bound=Record)
# Of one refusal; the report of the import has all of them.
FINDINGS = 100
# Quoted. The limits of a launch may let longer ones through.
LONGEST_PATH = 20_000


class Pack(Record, frozen=True):
    """The published pack: its name, its size, and the SHA-256 of it and of its index.

    ``appended`` counts the bases that a thin pack was completed with.
    """

    name: FileName
    bytes: Amount
    sha256: Digest
    index: Digest
    appended: Amount


class Objects(Record, frozen=True):
    """The objects of the candidate: how many, and the SHA-256 of their sorted ids.

    That is of the ids in hexadecimal, each with a line feed, as ``git show-index | cut`` gives.
    """

    count: Amount
    sha256: Digest


class PackcheckVerdict(Record, frozen=True):
    """The first verdict: which policy, and how often each code was found that is no error."""

    version: Annotated[str, Meta(max_length=100, pattern=r"^[ -~]*\Z")]
    policy: Annotated[str, Meta(max_length=200, pattern=r"^[ -~]*\Z")]
    found: dict[CodeName, Amount]


class GitVerdict(Record, frozen=True):
    """The second verdict: which git, and the fsck ids that the first verdict excused."""

    version: Annotated[str, Meta(max_length=100, pattern=r"^[ -~]*\Z")]
    relaxed: Annotated[list[CodeName], Meta(max_length=200)]


class Times(Record, frozen=True):
    """Seconds since the epoch."""

    launched: Amount
    verified: Amount
    published: Amount


class Receipt(Record, frozen=True, tag_field="format", tag="packcheck.receipt/1"):
    """An import that is done. ``commits`` are those from the base to the candidate."""

    launch: LaunchId
    issue: Name
    run: Name
    phase: Name
    repository: Name
    state: Literal["imported"]
    object_format: FormatName
    base: Oid
    candidate: Oid
    commits: Annotated[list[Oid], Meta(max_length=COMMITS)]
    artifact: Artifact
    pack: Pack
    objects: Objects
    packcheck: PackcheckVerdict
    git: GitVerdict
    times: Times


class RefusedFor(Record, frozen=True):
    """One error: where it is, and what it is, as in packcheck's report."""

    code: CodeName
    offset: Amount | None
    oid: Oid | None
    path: Annotated[str, Meta(max_length=LONGEST_PATH, pattern=r"^[ -~]*\Z")] | None
    message: Sentence


class Refusal(Record, frozen=True, tag_field="format", tag="packcheck.refusal/1"):
    """An import that was refused at ``step``, with the code that leads and its class."""

    launch: LaunchId
    issue: Name
    run: Name
    phase: Name
    repository: Name
    base: Oid
    step: Annotated[int, Meta(ge=0, le=11)]
    code: CodeName
    klass: Annotated[int, Meta(ge=1, le=6)]
    message: Sentence
    artifact: Digest | None
    findings: Annotated[list[RefusedFor], Meta(max_length=FINDINGS)]
    at: Amount


def write_receipt(receipt: Receipt) -> bytes:
    """The bytes of a receipt. Raises RecordError (recordInvalid) where a field is out of bounds."""
    return seal(made(receipt), _KEY, sha256)


def read_receipt(data: bytes) -> Receipt:
    """The receipt in ``data``. Raises RecordError: recordVersion, recordInvalid."""
    return _checked(unseal(data, Receipt, _KEY, sha256))


def write_refusal(refusal: Refusal) -> bytes:
    """The bytes of a refusal. Raises RecordError (recordInvalid) as ``write_receipt`` does."""
    return seal(made(refusal), _KEY, sha256)


def read_refusal(data: bytes) -> Refusal:
    """The refusal in ``data``. Raises RecordError: recordVersion, recordInvalid."""
    return _checked(unseal(data, Refusal, _KEY, sha256))


def _checked(record: R | None) -> R:
    if record is None:
        raise RecordError(RECORD_INVALID, "its sha256 is not that of its bytes: it is damaged")
    return record
