"""What a record is refused for.

The codes are rows of the same kind as those of packparse, in a registry of their own: they say
nothing of a pack. The importer adds its codes to it; docs/reference/refusals.md is made from it.
"""

from __future__ import annotations

from packparse.codes import CORRUPT, INCOMPLETE, LIMIT, POLICY, Code

__all__ = ["REGISTRY", "RecordError", "refusal"]

REGISTRY: dict[str, Code] = {}


def refusal(name: str, klass: int, meaning: str, remedy: str) -> Code:
    """Register a code; ``klass`` is the exit status of a command that refuses for it."""
    code = REGISTRY[name] = Code(name, klass, meaning, remedy)
    return code


class RecordError(Exception):
    """A record is refused: ``code`` says why, ``message`` is printable ASCII."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.message = message


_AGAIN = "Run the export again; nothing in this manifest can be trusted."

MANIFEST_MISSING = refusal(
    "manifestMissing",
    INCOMPLETE,
    "The export folder has no manifest.json.",
    "Wait until the producer has exported; it writes the manifest last.",
)
MANIFEST_TOO_LARGE = refusal(
    "manifestTooLarge",
    LIMIT,
    "The manifest has more bytes than any manifest needs; it was not read.",
    _AGAIN,
)
RECORD_VERSION = refusal(
    "recordVersion",
    POLICY,
    "The label of a record names a format or a version that is not known here.",
    "Use an exporter of the version of this importer.",
)
RECORD_INVALID = refusal(
    "recordInvalid",
    CORRUPT,
    "A record is not spelt as its format says: a field is missing, unknown or out of bounds, or "
    "the bytes are not the one canonical spelling.",
    _AGAIN,
)
MANIFEST_FORGED = refusal(
    "manifestForged",
    POLICY,
    "The manifest was not made with the key of this launch.",
    "Look at how the file came there: it is from another launch, or was changed.",
)
BINDING_MISMATCH = refusal(
    "bindingMismatch",
    POLICY,
    "The manifest speaks of another issue, run, phase, launch, repository, base or artifact than "
    "the launch record.",
    "Import it under the launch that it was made for; the controller's record decides.",
)
BAD_OBJECT_ID = refusal(
    "badObjectId",
    CORRUPT,
    "An object id is not the full, lower-case id of the object format of the launch.",
    "Give whole ids as git rev-parse prints them.",
)
CLAIM_TOO_LARGE = refusal(
    "claimTooLarge",
    LIMIT,
    "The manifest claims more bytes, objects or commits than the limits of the launch allow.",
    "Launch again with higher limits if a candidate of this size is expected.",
)
