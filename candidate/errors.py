"""What a launch, a sandbox or an export ends with when it does not end well.

The codes stand in the registry of all records and imports (manifest/errors.py).
"""

from __future__ import annotations

from importer.errors import ImporterError
from manifest.errors import refusal
from packparse.codes import INCOMPLETE, POLICY

__all__ = ["CandidateError"]


class CandidateError(ImporterError):
    """Not launched, not run or not exported; its ``code`` says why. ``step`` is always 0."""


# The export, in the producer's world
TICKET_MISSING = refusal(
    "ticketMissing",
    INCOMPLETE,
    "The export folder has no ticket, which says what the launch is and holds its key.",
    "Give the export folder of the launch, with --to; in the sandbox it is /export.",
)
NOTHING_TO_EXPORT = refusal(
    "nothingToExport",
    INCOMPLETE,
    "The workspace has no commit on top of the base.",
    "Commit the work; what is not committed is never exported.",
)
NOT_ON_BASE = refusal(
    "notOnBase",
    POLICY,
    "The commit to export does not descend from the base of the launch.",
    "Rebase the work onto the base; another base needs another launch.",
)
