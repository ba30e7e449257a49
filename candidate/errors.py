"""What a launch, a sandbox or an export ends with when it does not end well.

The codes stand in the registry of all records and imports (manifest/errors.py).
"""

from __future__ import annotations

from importer.errors import BASE_MISSING, ImporterError, ImportRefused
from manifest.errors import refusal
from packparse.codes import ENVIRONMENT, INCOMPLETE, LIMIT, POLICY, USAGE

__all__ = ["CandidateError", "missing"]


class CandidateError(ImporterError):
    """Not launched, not run or not exported; its ``code`` says why. ``step`` is always 0."""


def missing(oid: bytes) -> ImportRefused:
    """What is raised where the host lacks an object that a producer has to be given."""
    message = f"{oid.hex()}, which belongs to the base, is not in the repository"
    return ImportRefused(BASE_MISSING, message)


# The export, in the producer's world
TICKET_MISSING = refusal(
    "ticketMissing",
    INCOMPLETE,
    "The export folder has no ticket, which says what the launch is and holds its key.",
    "Give the export folder of the launch, with --to; in the sandbox it is /export.",
)
NO_WORKSPACE = refusal(
    "noWorkspace",
    USAGE,
    "The folder to export from is no work tree of a git repository.",
    "Run it in the workspace of the launch; in the sandbox it is /workspace.",
)
TIP_UNKNOWN = refusal(
    "tipUnknown",
    USAGE,
    "The revision to export names no commit of the workspace.",
    "Commit the work first, or name a branch or a commit.",
)
EXPORT_TOO_LARGE = refusal(
    "exportTooLarge",
    LIMIT,
    "The workspace has more commits on top of the base than a manifest can list.",
    "Squash commits that belong together.",
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

# The launch
TREE_UNSAFE = refusal(
    "treeUnsafe",
    POLICY,
    "The tree of the base has an entry that cannot be a file: a name such as .git or two dots, a "
    "name that a folder has twice, a link to nothing, or an unknown mode.",
    "Launch from another commit; packcheck verify says all that is wrong with this one.",
)
FOLDER_TAKEN = refusal(
    "folderTaken",
    USAGE,
    "The folder that was named for a launch has something in it.",
    "Name a new or an empty folder; where a launch of yours was killed there, run git candidate "
    "recover first.",
)
FOLDER_UNSAFE = refusal(
    "folderUnsafe",
    USAGE,
    "The folder that was named for a launch lies in a repository or in the state folder, or is "
    "one that others may write to.",
    "Name a folder of your own, outside of every repository.",
)

# The sandbox
SANDBOX_MISSING = refusal(
    "sandboxMissing",
    ENVIRONMENT,
    "bubblewrap (bwrap) is not there, or the system does not let it make a sandbox; nothing was "
    "started.",
    "Install bubblewrap and allow user namespaces, start the producer in a container of your own, "
    "or say --sandbox off where the producer may see all that you see.",
)
SANDBOX_UNSAFE = refusal(
    "sandboxUnsafe",
    USAGE,
    "A folder that the producer was to be shown holds what it must not see, or lies in it: the "
    "repository, the state folder, or the folder of a launch.",
    "Name the folder of the tool alone.",
)
PRODUCER_FAILED = refusal(
    "producerFailed",
    ENVIRONMENT,
    "The producer was started, and ended with another status than 0.",
    "Look at what it said; the launch stays as it is, and may be exported and imported all the "
    "same.",
)
