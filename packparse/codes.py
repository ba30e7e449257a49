"""Codes: what can be wrong, how bad it is, what it means, what to do. Those of files stand here.

The codes of objects, paths, links and ranges stand in checks.py, which completes the registry that
``packcheck explain``, ``packcheck checks``, docs/reference/checks.md and the tests are made from.
Codes that git has carry git's own fsck message id; the others follow its style. A code's name, its
class and the exit status of that class never change once released.
"""

from __future__ import annotations

__all__ = [
    "BY_NAME", "CLASSES", "CORRUPT", "ENVIRONMENT", "ERROR", "IGNORE", "INCOMPLETE", "LIMIT",
    "NOTE", "POLICY", "RULES", "SEVERITIES", "USAGE", "WARNING", "Code", "fsck", "ours", "register",
]  # fmt: skip

# Classes; the numbers are the exit statuses of the command.
CORRUPT = 1
USAGE = 2
POLICY = 3
LIMIT = 4
INCOMPLETE = 5
ENVIRONMENT = 6

# What a refused file of a class is called, and what the class covers.
CLASSES = {
    CORRUPT: ("corrupt", "container, zlib, delta, object grammar"),
    USAGE: ("usage", ""),
    POLICY: ("policy", "well-formed but not allowed"),
    LIMIT: ("limit", "a limit was passed"),
    INCOMPLETE: ("incomplete", "a base, parent, tree or blob is missing"),
    ENVIRONMENT: ("environment", "cannot read, changed while reading, disk full, interrupted"),
}

# The rule sets: the verdict of git index-pack --strict, and all of that and more.
RULES = ("candidate", "git")

ERROR = "error"
WARNING = "warning"
NOTE = "note"
IGNORE = "ignore"
SEVERITIES = (ERROR, WARNING, NOTE, IGNORE)

RAISE_LIMIT = "Raise the limit with --limit NAME=VALUE if a file of this cost is expected."
REWRITE = "Make the object again with git itself on the sending side."
MEND = "Mend it on the sending side."
LOOK = "Look at it before the commits are used."
ASK_AGAIN = "Ask the sender to make the file again; nothing in it can be trusted."


class Code:
    """One row of the registry.

    ``klass`` is the class of an error of this code, ``severity(rules)`` what it amounts to in the
    rule set. ``since`` is the version of git since which git has the id, empty for ours. A policy
    may set the severity where ``free``: there the verifier can go on without loss.
    """

    __slots__ = ("_candidate", "_git", "free", "klass", "meaning", "name", "remedy", "since")

    def __init__(
        self,
        name: str,
        klass: int,
        meaning: str,
        remedy: str,
        *,
        candidate: str = ERROR,
        git: str = ERROR,
        since: str = "",
        free: bool = False,
    ) -> None:
        self.name = name
        self.klass = klass
        self.meaning = meaning
        self.remedy = remedy
        self.since = since
        self.free = free
        self._candidate = candidate
        self._git = git

    def severity(self, rules: str) -> str:
        """Severity in the rule set ``git`` or ``candidate``."""
        return self._git if rules == "git" else self._candidate

    def __repr__(self) -> str:
        return f"Code({self.name})"


BY_NAME: dict[str, Code] = {}


def register(code: Code) -> Code:
    """Put a code into the registry."""
    BY_NAME[code.name] = code
    return code


def fsck(
    name: str,
    meaning: str,
    *,
    since: str = "2.10",
    klass: int = CORRUPT,
    candidate: str = ERROR,
    git: str = ERROR,
    remedy: str = "",
    free: bool = True,
) -> Code:
    """Register a message id of git's fsck; ``since`` 2.10 stands for that version or an earlier."""
    remedy = remedy or (REWRITE if klass == CORRUPT else MEND)
    return register(
        Code(name, klass, meaning, remedy, candidate=candidate, git=git, since=since, free=free)
    )


def ours(
    name: str,
    meaning: str,
    remedy: str = "",
    *,
    klass: int = CORRUPT,
    candidate: str = ERROR,
    git: str = IGNORE,
    free: bool = True,
) -> Code:
    """Register a code of ours for what is found in objects."""
    remedy = remedy or (REWRITE if klass == CORRUPT else MEND)
    return register(Code(name, klass, meaning, remedy, candidate=candidate, git=git, free=free))


def _code(
    name: str,
    klass: int,
    meaning: str,
    remedy: str = ASK_AGAIN,
    *,
    candidate: str = ERROR,
    git: str = ERROR,
    free: bool = False,
) -> Code:
    return register(Code(name, klass, meaning, remedy, candidate=candidate, git=git, free=free))


# Pack container
BAD_SIGNATURE = _code(
    "badSignature",
    CORRUPT,
    "The input begins neither like a pack (PACK) nor like a bundle (# v2 or # v3 git bundle).",
    "Check that the right file was given: a .pack or .bundle as git writes it, not compressed, and "
    "not the .idx beside it.",
)
BAD_PACK_VERSION = _code("badPackVersion", CORRUPT, "The pack says a version other than 2 and 3.")
TRUNCATED = _code(
    "truncated",
    CORRUPT,
    "The input ends before the pack, or the loose object, does.",
    "Check that the transfer was complete, then ask for the file again.",
)
IMPLAUSIBLE_OBJECT_COUNT = _code(
    "implausibleObjectCount",
    CORRUPT,
    "The header claims more objects than fit into the file: an entry takes 9 bytes at least.",
)
OBJECT_COUNT_MISMATCH = _code(
    "objectCountMismatch",
    CORRUPT,
    "The header claims another number of objects than the pack holds.",
)
PACK_CHECKSUM_MISMATCH = _code(
    "packChecksumMismatch",
    CORRUPT,
    "The checksum at the end of the pack is not the one of its bytes.",
    "Ask for the file again. If it comes from a SHA-256 repository, say --object-format sha256.",
)
TRAILING_BYTES = _code(
    "trailingBytes",
    CORRUPT,
    "Bytes follow the end of the pack, or of a loose object. git index-pack refuses them in a file "
    "and accepts them on standard input.",
)
EMPTY_PACK = _code(
    "emptyPack",
    CORRUPT,
    "The pack, or the folder, holds no object.",
    "None is needed; git accepts it too.",
    candidate=NOTE,
    git=NOTE,
    free=True,
)
DUPLICATE_OBJECT = _code(
    "duplicateObject",
    CORRUPT,
    "The same object comes twice in one pack.",
    "Repack on the sending side (git repack -ad) and hand over again.",
    free=True,
)

# Entry headers and deflate streams
VARINT_OVERFLOW = _code(
    "varintOverflow", CORRUPT, "A number of variable length does not fit into 64 bits."
)
NON_CANONICAL_VARINT = _code(
    "nonCanonicalVarint",
    CORRUPT,
    "A size is written with more bytes than it needs. Some hosting services write such packs.",
    "None is needed.",
    candidate=NOTE,
    git=IGNORE,
    free=True,
)
UNKNOWN_ENTRY_TYPE = _code(
    "unknownEntryType", CORRUPT, "An entry has type 0 or 5, which git does not define."
)
INFLATED_SIZE_MISMATCH = _code(
    "inflatedSizeMismatch",
    CORRUPT,
    "An entry inflates to more or fewer bytes than its header declares.",
)
BAD_DEFLATE = _code(
    "badDeflate",
    CORRUPT,
    "The compressed bytes of an entry are no valid zlib stream, or their Adler-32 is wrong.",
)
PRESET_DICTIONARY = _code(
    "presetDictionary",
    CORRUPT,
    "The zlib stream of an entry asks for a preset dictionary. Packs have none, and git 2.39 "
    "aborts on it.",
)
PADDED_DEFLATE = _code(
    "paddedDeflate",
    CORRUPT,
    "The compressed bytes of an entry are longer than any compressor makes them, by more than "
    "4 KiB: something is hidden in empty blocks, or they are there to cost time.",
    git=IGNORE,
)

# Deltas
DELTA_TRUNCATED = _code(
    "deltaTruncated",
    CORRUPT,
    "A delta ends inside an instruction, or is shorter than the 4 bytes git asks for.",
)
DELTA_BASE_SIZE_MISMATCH = _code(
    "deltaBaseSizeMismatch",
    CORRUPT,
    "A delta says another size for its base than the base has.",
)
DELTA_COPY_OUT_OF_RANGE = _code(
    "deltaCopyOutOfRange",
    CORRUPT,
    "A delta copies bytes from beyond the end of its base.",
)
DELTA_RESERVED_OPCODE = _code(
    "deltaReservedOpcode", CORRUPT, "A delta uses the reserved instruction 0."
)
DELTA_RESULT_SIZE_MISMATCH = _code(
    "deltaResultSizeMismatch",
    CORRUPT,
    "A delta produces more or fewer bytes than it says.",
)
DELTA_BAD_BASE_OFFSET = _code(
    "deltaBadBaseOffset",
    CORRUPT,
    "A delta's base offset is not the start of an earlier entry.",
)
MISSING_DELTA_BASE = _code(
    "missingDeltaBase",
    INCOMPLETE,
    "Deltas rest on an object that is nowhere: a thin pack without its base, or a cycle of deltas.",
    "Give a pack that has the base with --base-pack: bundles with prerequisites are mostly thin. "
    "Or ask for a pack that is not (git pack-objects --revs without --thin).",
)
CORRUPT_BASE_OBJECT = _code(
    "corruptBaseObject",
    ENVIRONMENT,
    "The object that the trusted side gave does not hash to its id, or a base pack is damaged.",
    "Run git fsck on the repository that it was read from.",
)

# Bundle header
BUNDLE_BAD_LINE = _code(
    "bundleBadLine",
    CORRUPT,
    "A line of the bundle header is neither a capability, a prerequisite nor a reference.",
)
BUNDLE_LINE_ENDING = _code(
    "bundleLineEnding",
    CORRUPT,
    "A line of the bundle header ends in a carriage return or a space, which git strips silently.",
    git=IGNORE,
    free=True,
)
BUNDLE_MISSING_PACK = _code(
    "bundleMissingPack",
    CORRUPT,
    "The bundle ends with its header: no pack follows.",
    "Check that the transfer was complete, then ask for the file again.",
)
BUNDLE_MISSING_BLANK_LINE = _code(
    "bundleMissingBlankLine",
    CORRUPT,
    "The bundle's header does not end in the blank line that comes before the pack.",
)
UNKNOWN_CAPABILITY = _code(
    "unknownCapability",
    CORRUPT,
    "The bundle asks for a capability that is not known; gitformat-bundle says to refuse it.",
)
REPEATED_CAPABILITY = _code(
    "repeatedCapability",
    CORRUPT,
    "A capability comes twice. git lets the last one win, other readers may take the first.",
    git=IGNORE,
    free=True,
)
MISPLACED_CAPABILITY = _code(
    "misplacedCapability",
    CORRUPT,
    "A capability comes after a prerequisite or a reference.",
    git=IGNORE,
    free=True,
)
MISPLACED_PREREQUISITE = _code(
    "misplacedPrerequisite",
    CORRUPT,
    "A prerequisite comes after a reference.",
    git=IGNORE,
    free=True,
)
UNKNOWN_OBJECT_FORMAT = _code(
    "unknownObjectFormat",
    CORRUPT,
    "The bundle's object format is neither sha1 nor sha256.",
)
OBJECT_FORMAT_MISMATCH = _code(
    "objectFormatMismatch",
    CORRUPT,
    "The bundle, or the folder, has another object format than the one that was asked for.",
    "Drop --object-format, or give the format that it has.",
)
BAD_FILTER = _code(
    "badFilter",
    CORRUPT,
    "The bundle's filter capability is not a filter that git knows.",
)
FILTERED_BUNDLE = _code(
    "filteredBundle",
    INCOMPLETE,
    "The bundle was made with a filter: objects are left out on purpose.",
    "Objects that are absent are still reported; ask for a bundle without a filter.",
    candidate=NOTE,
    git=NOTE,
    free=True,
)
BAD_REF_NAME = _code(
    "badRefName",
    CORRUPT,
    "A ref name breaks the rules of git check-ref-format.",
    git=IGNORE,
    free=True,
)
DASH_REF_NAME = _code(
    "dashRefName",
    POLICY,
    "A part of a ref name begins with a dash: tools may take it for an option (CVE-2018-17456 "
    "shape).",
    "Rename the ref on the sending side.",
    git=IGNORE,
    free=True,
)
REPLACE_REF = _code(
    "replaceRef",
    POLICY,
    "A ref under refs/replace/ or refs/grafts/ would make git show other objects than the ones "
    "that are named.",
    "Leave these refs out of the bundle.",
    git=IGNORE,
    free=True,
)
CONFLICTING_REF = _code(
    "conflictingRef",
    CORRUPT,
    "The same ref comes twice with different objects.",
    git=IGNORE,
)
DUPLICATE_REF = _code(
    "duplicateRef",
    CORRUPT,
    "The same line comes twice in the bundle's header.",
    "None is needed.",
    candidate=NOTE,
    git=IGNORE,
    free=True,
)

# Limits
PACK_TOO_LARGE = _code(
    "packTooLarge",
    LIMIT,
    "The file, or all files of the folder, have more bytes than the limit.",
    RAISE_LIMIT,
)
TOO_MANY_OBJECTS = _code(
    "tooManyObjects",
    LIMIT,
    "The pack claims, or the folder has, more objects than the limit.",
    RAISE_LIMIT,
)
OBJECT_TOO_LARGE = _code(
    "objectTooLarge",
    LIMIT,
    "An entry declares more bytes than one object may have.",
    RAISE_LIMIT,
)
REBUILT_OBJECT_TOO_LARGE = _code(
    "rebuiltObjectTooLarge",
    LIMIT,
    "A delta, or the object it makes, is larger than the limit; nothing was allocated for it.",
    RAISE_LIMIT,
)
INFLATED_TOO_MUCH = _code(
    "inflatedTooMuch",
    LIMIT,
    "All entries together inflate to more bytes than the limit.",
    RAISE_LIMIT,
)
REBUILT_TOO_MUCH = _code(
    "rebuiltTooMuch",
    LIMIT,
    "All deltas together make more bytes than the limit.",
    RAISE_LIMIT,
)
COPIED_TOO_MUCH = _code(
    "copiedTooMuch",
    LIMIT,
    "All deltas together copy more bytes than the limit.",
    RAISE_LIMIT,
)
RESTORED_TOO_MUCH = _code(
    "restoredTooMuch",
    LIMIT,
    "Bases of deltas had to be made again, for want of memory to keep them, more often than the "
    "limit allows.",
    RAISE_LIMIT,
)
DELTAS_TOO_LONG = _code(
    "deltasTooLong",
    LIMIT,
    "All deltas together have more bytes of instructions than the limit.",
    RAISE_LIMIT,
)
DELTA_TOO_DEEP = _code(
    "deltaTooDeep", LIMIT, "A chain of deltas is longer than the limit.", RAISE_LIMIT
)
TOO_MANY_COMMITS = _code(
    "tooManyCommits", LIMIT, "The pack holds more commits than the limit.", RAISE_LIMIT
)
TOO_MANY_PARENTS = _code(
    "tooManyParents", LIMIT, "A commit has more parents than the limit.", RAISE_LIMIT
)
TOO_MANY_TREE_ENTRIES = _code(
    "tooManyTreeEntries",
    LIMIT,
    "A tree has more entries than the limit.",
    RAISE_LIMIT,
)
TOO_MANY_LINKS = _code(
    "tooManyLinks",
    LIMIT,
    "All objects together name more objects than the limit.",
    RAISE_LIMIT,
)
BUNDLE_HEADER_TOO_LARGE = _code(
    "bundleHeaderTooLarge",
    LIMIT,
    "The bundle's header has more bytes than the limit.",
    RAISE_LIMIT,
)
BUNDLE_LINE_TOO_LONG = _code(
    "bundleLineTooLong",
    LIMIT,
    "A line of the bundle's header has more bytes than the limit.",
    RAISE_LIMIT,
)
TOO_MANY_REFS = _code(
    "tooManyRefs",
    LIMIT,
    "The bundle has more references or prerequisites than the limit.",
    RAISE_LIMIT,
)

# Environment
INPUT_CHANGED = _code(
    "inputChanged",
    ENVIRONMENT,
    "The file changed while it was read: an entry is not the one of the first pass.",
    "Verify a private copy that nobody else can write.",
)
WORKER_FAILED = _code(
    "workerFailed",
    ENVIRONMENT,
    "A process that looked at a part of the file could not be started, or ended before its work "
    "was done.",
    "Try again; with --jobs 1 no other process is needed.",
)
CANNOT_READ = _code(
    "cannotRead",
    ENVIRONMENT,
    "The input cannot be read, or is not a regular file.",
    "Check the name, the permissions, and for standard input the room in the temporary folder.",
)
