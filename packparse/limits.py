"""Every cap on cost, in one table: its name, its value in the two presets, and the reason.

A limit is about cost, never about correctness: a file that passes one is refused with class 4,
not called corrupt, and the message says the value seen, the limit and how to raise it. Caps that no
verdict depends on (how many findings are kept, how long a path is looked for) stand where they are
used, and so does the bound of a padded stream, which is a rule and no cost.
``candidate`` is for what one run of a producer hands back, ``history`` for whole repositories.
"""

from __future__ import annotations

from packparse import checks, codes
from packparse.errors import MisuseError, PackError
from packparse.findings import LimitSeen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.codes import Code

__all__ = ["PRESETS", "SPECS", "LimitSpec", "Limits", "amount"]

_K = 1 << 10
_M = 1 << 20
_G = 1 << 30


class LimitSpec:
    """One limit: values of both presets, the unit, the code it refuses with, and why it exists."""

    __slots__ = ("candidate", "code", "history", "name", "reason", "unit")

    def __init__(
        self, name: str, candidate: int, history: int, unit: str, code: Code, reason: str
    ) -> None:
        self.name = name
        self.candidate = candidate
        self.history = history
        self.unit = unit
        self.code = code
        self.reason = reason


_TABLE = (
    LimitSpec(
        "pack_bytes", 256 * _M, 16 * _G, "bytes", codes.PACK_TOO_LARGE,
        "The whole file, checked against its size before the first read; of a folder, all its "
        "files. People who hand over bundles cap them at 25 to 100 MiB; forges refuse a push over "
        "2 GiB.",
    ),
    LimitSpec(
        "objects", 100_000, 50_000_000, "objects", codes.TOO_MANY_OBJECTS,
        "Checked on the twelve header bytes. An entry costs about 64 bytes here and native git "
        "callocs by this number.",
    ),
    LimitSpec(
        "object_bytes", 100 * _M, 4 * _G, "bytes", codes.OBJECT_TOO_LARGE,
        "One object as the entry header declares it, before inflating. Forges refuse a blob over "
        "100 MiB.",
    ),
    LimitSpec(
        "rebuilt_object_bytes", 64 * _M, 512 * _M, "bytes", codes.REBUILT_OBJECT_TOO_LARGE,
        "One object rebuilt from a delta, and its base; the delta may have half as much, and git "
        "writes none that is longer than half its result. All three are in memory at once. git "
        "does not delta over 512 MiB.",
    ),
    LimitSpec(
        "inflated_bytes", 4 * _G, 1024 * _G, "bytes", codes.INFLATED_TOO_MUCH,
        "All entries as declared, inflated in the first pass. Deflate expands 1,032 times, so "
        "without it a legal 256 MiB pack costs minutes of work.",
    ),
    LimitSpec(
        "rebuilt_bytes", 2 * _G, 1024 * _G, "bytes", codes.REBUILT_TOO_MUCH,
        "The results of all deltas. Each delta of a chain may claim a large result from a few "
        "bytes (CVE-2026-53585 shape); an honest pack of 100,000 objects can expand to 170 GB.",
    ),
    LimitSpec(
        "copied_bytes", 8 * _G, 1024 * _G, "bytes", codes.COPIED_TOO_MUCH,
        "Bytes that copy instructions move, the work a delta asks for beyond its own length. It "
        "matters when rebuilt_bytes was raised.",
    ),
    LimitSpec(
        "delta_bytes", 128 * _M, 1024 * _G, "bytes", codes.DELTAS_TOO_LONG,
        "Instructions of all deltas that are run, also where one is run again. An instruction may "
        "make one byte from two and takes 0.3 us, so this is half a minute at most.",
    ),
    LimitSpec(
        "restored_bytes", 8 * _G, 4096 * _G, "bytes", codes.RESTORED_TOO_MUCH,
        "Bases of deltas that are made again because they did not fit into the cache. Honest packs "
        "need next to none of it; a pack of 2 MB can ask for hours.",
    ),
    LimitSpec(
        "delta_depth", 256, 4_095, "deltas", codes.DELTA_TOO_DEEP,
        "Deltas resting on deltas. git writes 50 by default and 4,095 at most, but reads chains "
        "of any length.",
    ),
    LimitSpec(
        "commits", 1_000, 50_000_000, "commits", codes.TOO_MANY_COMMITS,
        "One run of a producer makes a few commits; engines cap a range at 1,000.",
    ),
    LimitSpec(
        "parents", 16, 1_000, "parents", codes.TOO_MANY_PARENTS,
        "An octopus merge of more than 16 parents is a way to hide work from a reviewer; the "
        "largest known honest one has 66.",
    ),
    LimitSpec(
        "tree_entries", 100_000, 1_000_000, "entries", codes.TOO_MANY_TREE_ENTRIES,
        "Entries of one tree. Forges advise 3,000; a tree of this size takes 4 MB.",
    ),
    LimitSpec(
        "links", 1_000_000, 2_000_000_000, "links", codes.TOO_MANY_LINKS,
        "Ids named by all commits, trees and tags, submodules included: each is kept packed in 20 "
        "or 32 bytes. 1,000 commits that each change five folders of 100 entries have half as "
        "many.",
    ),
    LimitSpec(
        "tree_depth", 128, 4_096, "folders", checks.TREE_TOO_DEEP,
        "Folders in folders, the root of the tree included. git's own walkers stop at 2,048, and a "
        "tree of 50,000 passes its fsck.",
    ),
    LimitSpec(
        "files", 1_000_000, 100_000_000, "files", checks.TOO_MANY_FILES,
        "Files and folders of one commit's tree as checked out, counted without expanding it: a "
        "pack of 971 bytes can hold 10,000,000,000 (CVE-2017-15298).",
    ),
    LimitSpec(
        "expanded_bytes", 16 * _G, 16_384 * _G, "bytes", checks.EXPANDED_TOO_LARGE,
        "Bytes of all files of one commit's tree as checked out, counted without expanding it.",
    ),
    LimitSpec(
        "name_bytes", 255, 65_535, "bytes", checks.NAME_TOO_LONG,
        "One name in a tree. No usual file system takes more than 255 bytes; longer ones were "
        "truncated to .git by readers (CVE-2026-111760 shape).",
    ),
    LimitSpec(
        "path_bytes", 4_096, 1 * _M, "bytes", checks.PATH_TOO_LONG,
        "A path from the root of the tree. PATH_MAX of Linux; longer ones overflowed numbers "
        "(CVE-2016-2315 shape).",
    ),
    LimitSpec(
        "message_bytes", 1 * _M, 64 * _M, "bytes", checks.MESSAGE_TOO_LONG,
        "One commit or tag, headers and message. Messages are read by people and by log "
        "formatters (CVE-2022-41903 shape).",
    ),
    LimitSpec(
        "special_bytes", 1 * _M, 100 * _M, "bytes", checks.SPECIAL_FILE_TOO_LARGE,
        "One .gitmodules or .gitattributes, which are read whole.",
    ),
    LimitSpec(
        "bundle_header_bytes", 64 * _K, 64 * _M, "bytes", codes.BUNDLE_HEADER_TOO_LARGE,
        "A candidate's header is one ref and one prerequisite. git reads header lines of 50 MB.",
    ),
    LimitSpec(
        "bundle_line_bytes", 8 * _K, 64 * _K, "bytes", codes.BUNDLE_LINE_TOO_LONG,
        "One header line; a ref name that a file system can hold is under 4 KiB.",
    ),
    LimitSpec(
        "refs", 1_000, 1_000_000, "refs", codes.TOO_MANY_REFS,
        "References and prerequisites, each. Fetching 100,000 refs from a bundle is not linear in "
        "git.",
    ),
)  # fmt: skip

# Entries and links are numbered in 32 bits.
_LARGEST = {"objects": 0xFFFF_FFF0, "links": 0xFFFF_FFF0}
# For all others: numbers of JSON are exact up to here, and sums of some are what the system takes.
_ANY = 2**53 - 1

SPECS = {spec.name: spec for spec in _TABLE}
PRESETS = ("candidate", "history")


_SUFFIXES = {"k": 10, "m": 20, "g": 30}


def amount(text: str) -> int | None:
    """The number that ``text`` says, as in ``100`` or ``64M`` (k, M and G multiply by 1,024).

    None if it says none.
    """
    shift = _SUFFIXES.get(text[-1:].lower(), 0)
    digits = text[:-1] if shift else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        return None
    return int(digits) << shift


class Limits:
    """Values of all limits, one attribute each, named as in :data:`SPECS`; immutable by custom."""

    __slots__ = tuple(SPECS)

    pack_bytes: int
    objects: int
    object_bytes: int
    rebuilt_object_bytes: int
    inflated_bytes: int
    rebuilt_bytes: int
    copied_bytes: int
    delta_bytes: int
    restored_bytes: int
    delta_depth: int
    commits: int
    parents: int
    tree_entries: int
    links: int
    tree_depth: int
    files: int
    expanded_bytes: int
    name_bytes: int
    path_bytes: int
    message_bytes: int
    special_bytes: int
    bundle_header_bytes: int
    bundle_line_bytes: int
    refs: int

    def __init__(self, preset: str = "candidate", changes: dict[str, int] | None = None) -> None:
        """The values of ``preset`` with ``changes`` on top; MisuseError for an unknown name."""
        if preset not in PRESETS:
            message = f"unknown preset {preset!r}; known: {', '.join(PRESETS)}"
            raise MisuseError(message)
        for name, spec in SPECS.items():
            setattr(self, name, spec.candidate if preset == "candidate" else spec.history)
        for name, value in (changes or {}).items():
            if name not in SPECS:
                message = f"unknown limit {name!r}; known: {', '.join(SPECS)}"
                raise MisuseError(message)
            most = _LARGEST.get(name, _ANY)
            if not 0 <= value <= most:
                message = f"limit {name} must be from 0 to {most}"
                raise MisuseError(message)
            setattr(self, name, value)

    def as_dict(self) -> dict[str, int]:
        """All values by name, in the order of the table."""
        return {name: getattr(self, name) for name in SPECS}

    def passed(self, name: str, seen: int, what: str) -> PackError:
        """The refusal for ``seen`` over limit ``name``; ``what`` says what has that much.

        Where counting ends at the limit, ``seen`` is one more than it.
        """
        spec = SPECS[name]
        value = getattr(self, name)
        message = (
            f"{what} {seen} {spec.unit}, the limit is {value}; raise it with --limit {name}=VALUE"
        )
        return PackError(spec.code, message, limit=LimitSeen(name, value, seen))
