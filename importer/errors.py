"""What an import ends with when it does not end with a receipt.

``ImportRefused``: the artifact, its manifest or its place is not as it has to be; the code says
why. ``ImportFailed``: something around it did not work; the step says where, and ``retry`` whether
the same import may simply be tried again. Both leave the shared store as it was, or with a whole
pack in it, and the artifact where it is.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from importer.durable import UnsafeFileError
from manifest.errors import RecordError, refusal
from packparse.codes import CORRUPT, ENVIRONMENT, INCOMPLETE, LIMIT, POLICY, USAGE
from packparse.escape import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from packparse.codes import Code
    from packparse.report import Report

__all__ = ["ImportFailed", "ImportRefused", "ImporterError", "translated"]


class ImporterError(Exception):
    """The base of both, with three attributes.

    ``code`` has a ``name``, a ``klass``, which is the exit status of a command, and a ``remedy``.
    ``message`` is printable ASCII; ``str`` gives both. ``step`` is that of the import, 0 outside
    of its steps.
    """

    def __init__(self, code: Code, message: str, *, step: int = 0) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.step = step

    def __str__(self) -> str:
        where = f" (step {self.step})" if self.step else ""
        return f"{self.code.name}{where}: {self.message}"


class ImportRefused(ImporterError):  # noqa: N818 - the name is part of the interface
    """Refused. ``report`` is packcheck's, where the artifact was looked into."""

    def __init__(
        self, code: Code, message: str, *, step: int = 0, report: Report | None = None
    ) -> None:
        super().__init__(code, message, step=step)
        self.report = report


class ImportFailed(ImporterError):  # noqa: N818 - the name is part of the interface
    """Failed. ``retry`` says whether trying again without any change may succeed."""

    def __init__(self, code: Code, message: str, *, step: int = 0, retry: bool = True) -> None:
        super().__init__(code, message, step=step)
        self.retry = retry


_TRY_AGAIN = "Try again; the artifact is kept, and nothing half done is visible."

# The origin
ORIGIN_CHANGED = refusal(
    "originChanged",
    POLICY,
    "The export folder is not the one of the launch record: another one has its path.",
    "Look at who replaced it, and launch again.",
)
ORIGIN_UNSAFE = refusal(
    "originUnsafe",
    POLICY,
    "What stands in the export folder is a link, a FIFO, a device, a file with other names, or "
    "lies on another file system.",
    "Put a plain file there.",
)
ARTIFACT_MISSING = refusal(
    "artifactMissing",
    INCOMPLETE,
    "The artifact that the manifest names is not in the export folder.",
    "Run the export again.",
)
ARTIFACT_SIZE_MISMATCH = refusal(
    "artifactSizeMismatch",
    POLICY,
    "The artifact has another number of bytes than the manifest says.",
    "Run the export again.",
)
ARTIFACT_HASH_MISMATCH = refusal(
    "artifactHashMismatch",
    POLICY,
    "The artifact has another SHA-256 than the manifest says.",
    "Run the export again.",
)
ARTIFACT_COUNT_MISMATCH = refusal(
    "artifactCountMismatch",
    POLICY,
    "The artifact holds another number of objects, or other commits, than the manifest says, or "
    "has them in another order: each comes after its parents.",
    "Run the export again.",
)
ARTIFACT_CHANGED = refusal(
    "artifactChanged",
    ENVIRONMENT,
    "The artifact or the manifest was written to, or replaced, while it was read.",
    "Import once the producer has ended.",
)

NOT_A_BUNDLE = refusal(
    "notABundle",
    POLICY,
    "The artifact is a pack by itself; a bundle has the header that names the base and the ref.",
    "Export a bundle.",
)

# The verdicts
NOT_RELAXABLE = refusal(
    "notRelaxable",
    USAGE,
    "A policy excuses what git index-pack --strict refuses and cannot be told to pass "
    "(nulInHeader, unterminatedHeader).",
    "Take the severity out of the policy.",
)
GIT_REFUSED = refusal(
    "gitRefused",
    CORRUPT,
    "packcheck accepts the pack and git index-pack --strict does not.",
    "Report it: one of them is wrong, and until it is known which, nothing is imported.",
)
VERDICTS_DIFFER = refusal(
    "verdictsDiffer",
    CORRUPT,
    "git found other objects in the pack than packcheck.",
    "Report it: one of them is wrong, and until it is known which, nothing is imported.",
)

# The repository
REPOSITORY_CHANGED = refusal(
    "repositoryChanged",
    POLICY,
    "The repository is not the one of the launch record.",
    "Give the repository that the launch was made for; where it was moved, the place where it is "
    "now, with --repo.",
)
NOT_A_REPOSITORY = refusal(
    "notARepository",
    USAGE,
    "The folder is no repository, or its layout is not one that is written to.",
    "Give the folder of a repository, with --repo; its git common dir must be no symbolic link.",
)
BASE_MISSING = refusal(
    "baseMissing",
    INCOMPLETE,
    "The base, or something of the seeded set, is not in the repository any more.",
    "Look at the id; if it is right, bring the base back (fetch it, or restore it from a backup), "
    "and try again.",
)
SEED_TOO_LARGE = refusal(
    "seedTooLarge",
    LIMIT,
    "The candidate names an object of the repository that is not in the base's tree, and the "
    "history is too long to be searched for it.",
    "Have the producer hand over the object as well, or launch with a seed of depth one.",
)
STORE_CORRUPT = refusal(
    "storeCorrupt",
    ENVIRONMENT,
    "An object, or a published pack, of the repository is not what its name says.",
    "Run git fsck in the repository, and restore what it names.",
)

# The lock
LOCK_UNSAFE = refusal(
    "lockUnsafe",
    POLICY,
    "What stands under the name of the lock is a link, a FIFO, a folder, or a file with other "
    "names; it was not touched.",
    "Look at who put it there, and remove it.",
)
LOCK_BUSY = refusal(
    "lockBusy",
    ENVIRONMENT,
    "Somebody else held the lock until the deadline; the message says who.",
    _TRY_AGAIN,
)

# Launches and receipts
LAUNCH_UNKNOWN = refusal(
    "launchUnknown",
    USAGE,
    "There is no launch of this id in the state folder.",
    "git candidate list shows those that there are; ids are given whole.",
)
LAUNCH_EXISTS = refusal(
    "launchExists",
    USAGE,
    "There is a launch of this id in the state folder already; it stays as it is.",
    "Make a fresh id for each launch.",
)
LAUNCH_DISCARDED = refusal(
    "launchDiscarded",
    POLICY,
    "The launch was discarded; nothing is imported under it any more.",
    "Launch again.",
)
OTHER_CANDIDATE = refusal(
    "otherCandidate",
    POLICY,
    "This launch has a receipt for another candidate; a launch brings one.",
    "Launch again from the candidate that was imported, or discard this launch.",
)
NO_RECEIPT = refusal(
    "noReceipt",
    INCOMPLETE,
    "The launch has no receipt: nothing was imported yet.",
    "Import it; git candidate show tells what happened so far.",
)
RECEIPT_CONTRADICTED = refusal(
    "receiptContradicted",
    INCOMPLETE,
    "The repository does not have what the receipt says was imported.",
    "Import again while the artifact is there.",
)
JOURNAL_FULL = refusal(
    "journalFull",
    LIMIT,
    "So many imports of this launch were begun that its journal can take no more.",
    "Discard the launch, and launch again.",
)
KEEP_FULL = refusal(
    "keepFull",
    LIMIT,
    "So many launches rest on one pack that its .keep can take no more of them.",
    "Discard launches that brought the same candidate.",
)
STATE_CORRUPT = refusal(
    "stateCorrupt",
    ENVIRONMENT,
    "A journal, a receipt or a list of receipts is damaged in a way that a crash does not cause.",
    "Restore that file from a backup; a damaged receipt may be moved away instead, and git "
    "candidate recover makes it anew.",
)
STATE_UNSAFE = refusal(
    "stateUnsafe",
    USAGE,
    "The state folder can be entered by others, is a link, or lies inside a repository.",
    "Give a folder of your own with mode 0700, outside of every repository.",
)
STATE_MISSING = refusal(
    "stateMissing",
    USAGE,
    "There is no state folder at this place, or nothing is in it yet.",
    "Give the folder that launches were recorded in, with --state or GIT_CANDIDATE_STATE; "
    "recording the first launch makes it.",
)

# The environment
FILE_FAILED = refusal(
    "fileFailed",
    ENVIRONMENT,
    "A file operation failed: no room, no permission, or a broken disk.",
    _TRY_AGAIN,
)
GIT_FAILED = refusal(
    "gitFailed",
    ENVIRONMENT,
    "git could not be started, took too long, was killed, or could not write.",
    _TRY_AGAIN,
)
OUT_OF_MEMORY = refusal(
    "outOfMemory",
    ENVIRONMENT,
    "The process that imports was given less memory than the limits of the launch need.",
    "Give it more memory, or launch with lower limits.",
)
QUARANTINE_SWEPT = refusal(
    "quarantineSwept",
    ENVIRONMENT,
    "Somebody removed the folder in which git looked at the pack: git gc --prune=now and git prune "
    "take it for a leftover.",
    "Try again once they have ended; the artifact is kept, and nothing half done is visible.",
)


@contextmanager
def translated(step: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """Let what fails of files, records and memory be one of the two errors, with its step."""
    try:
        yield
    except ImporterError as error:
        error.step = error.step or int(step())
        raise
    except RecordError as error:
        raise ImportRefused(error.code, error.message, step=int(step())) from None
    except UnsafeFileError as error:
        raise ImportFailed(FILE_FAILED, f"a file of ours is {error}", step=int(step())) from None
    except OSError as error:
        raise ImportFailed(FILE_FAILED, _told(error), step=int(step())) from error
    except MemoryError as error:
        message = "there is not enough memory"
        raise ImportFailed(OUT_OF_MEMORY, message, step=int(step()), retry=False) from error


def _told(error: OSError) -> str:
    # The lock of an engine raises what it likes, and a locale may translate the rest.
    text = shorten(str(error.strerror or error).encode("utf-8", "backslashreplace"))
    # Of what is done with a descriptor, such as listing a folder, that is the name.
    named = isinstance(error.filename, str | bytes) and error.filename
    return f"{text} ({shorten(os.fsencode(named))})" if named else text
