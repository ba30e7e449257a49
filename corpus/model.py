"""What a case is: a file, how it is verified, and what must be said of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

from corpus.writer import File, Kit, Obj

__all__ = ["CLASSES", "Asked", "Case", "Extra", "bad", "good", "of_format", "project"]

# The exit statuses of packcheck, and which class each code has; said here once more, since they
# never change once released. Codes that are not listed are of class 1.
CORRUPT, POLICY, LIMIT, INCOMPLETE = 1, 3, 4, 5
_POLICY = """
    backslashTraversal branchNotCommit caseCollision controlInName dashName dashRefName
    deceptiveName embeddedRepository emptyName emptyRange fullPathname gitattributesActive
    gitattributesAlias gitattributesBlob gitattributesLarge gitattributesLineLength
    gitmodulesAlias gitmodulesBlob gitmodulesDuplicate gitmodulesLarge gitmodulesName
    gitmodulesNestedNames gitmodulesParse gitmodulesPath gitmodulesSymlink gitmodulesUnsafeName
    gitmodulesUnsafePath gitmodulesUnsafeUrl gitmodulesUpdate gitmodulesUrl hasDot hasDotdot
    hasDotgit identityNotAllowed largePathname mergeCommit normalizationCollision notDescendant
    pathNotAllowed replaceRef rootCommit sensitivePath smuggledBase stowawayObject
    submodulePathConflict symlinkAbsolute symlinkBadTarget symlinkDirectoryCollision
    symlinkEscapes symlinkIntoGit symlinkTooLong tagObject unexpectedPrerequisites unexpectedRefs
    windowsDeviceName
"""
_LIMIT = """
    bundleHeaderTooLarge bundleLineTooLong copiedTooMuch deltaTooDeep deltasTooLong
    expandedTooLarge inflatedTooMuch messageTooLong nameTooLong objectTooLarge packTooLarge
    pathTooLong rebuiltObjectTooLarge rebuiltTooMuch restoredTooMuch specialFileTooLarge
    tooManyCommits tooManyFiles tooManyLinks tooManyObjects tooManyParents tooManyRefs
    tooManyTreeEntries treeTooDeep
"""
_INCOMPLETE = """
    absentObject gitattributesMissing gitmodulesMissing missingDeltaBase missingPrerequisite
    missingTip
"""
CLASSES = {
    **dict.fromkeys(_POLICY.split(), POLICY),
    **dict.fromkeys(_LIMIT.split(), LIMIT),
    **dict.fromkeys(_INCOMPLETE.split(), INCOMPLETE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case.

    ``code`` is the error that refuses the file, empty where it is accepted; ``also`` are further
    errors that the same bytes must give, ``notes`` warnings and notes that must be among the
    findings. ``offset`` is that of the finding where it is determined. ``neighbour`` names the
    honest case that differs in one thing. ``host`` names the extra pack that git has in its
    repository when it is asked. ``parity`` says why ``--rules git`` and git differ, where they do.
    ``both`` asks for the same case in the other object format. ``klass`` is the class of the file.
    """

    name: str
    file: File
    origin: tuple[str, ...]
    code: str = ""
    also: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    offset: int | None = None
    neighbour: str = ""
    rules: str = "candidate"
    arguments: tuple[str, ...] = ()
    host: str = ""
    parity: str = ""
    both: bool = False
    bundle: bool = False
    klass: int = 0


class Asked(TypedDict, total=False):
    """How a file is asked about."""

    arguments: tuple[str, ...]
    host: str


class More(TypedDict, total=False):
    """What else a case may say; the words are those of Case."""

    notes: tuple[str, ...]
    rules: str
    arguments: tuple[str, ...]
    host: str
    parity: str
    both: bool
    bundle: bool


@dataclass(frozen=True, slots=True)
class Extra:
    """A file that is no case: a list of known objects, a base's pack, a policy."""

    name: str
    data: bytes


def bad(
    name: str,
    file: File | bytes,
    code: str,
    neighbour: str,
    origin: str,
    *,
    at: Obj | int | None = None,
    also: str = "",
    **more: Unpack[More],
) -> Case:
    """A hostile case.

    ``origin`` are rows, cases and CVEs with commas between; ``at`` is the offset of the finding, or
    the object whose entry has it; ``also`` are further codes with spaces between.
    """
    whole = file if isinstance(file, File) else File(file)
    case = Case(
        name=name,
        file=whole,
        origin=tuple(origin.split(", ")),
        code=code,
        also=tuple(also.split()),
        neighbour=neighbour,
        offset=whole.offsets[at.oid] if isinstance(at, Obj) else at,
        klass=min((CLASSES.get(found, CORRUPT) for found in (code, *also.split())), key=_rank),
    )
    return replace(case, **more)


def _rank(klass: int) -> int:
    return (CORRUPT, LIMIT, INCOMPLETE, POLICY).index(klass)


def good(name: str, file: File | bytes, origin: str, **more: Unpack[More]) -> Case:
    """A case that is accepted."""
    whole = file if isinstance(file, File) else File(file)
    return replace(Case(name=name, file=whole, origin=tuple(origin.split(", "))), **more)


def of_format(case: Case, kit: Kit) -> Case:
    """The case as one of the kit's object format: its name says so, and so do its arguments."""
    if not kit.suffix:
        return case
    return replace(
        case,
        name=case.name + kit.suffix,
        neighbour=case.neighbour and case.neighbour + kit.suffix,
        host=case.host and case.host + kit.suffix,
        arguments=(*case.arguments, "--object-format", kit.fmt),
    )


def project(kit: Kit, *entries: tuple[bytes, bytes, Obj], message: bytes = b"A message\n") -> File:
    """A pack of one commit whose tree has these entries."""
    root = kit.tree(*entries)
    seen: dict[bytes, Obj] = {}
    for item in (*(entry[2] for entry in entries), root, kit.commit(root, message=message)):
        seen.setdefault(item.oid, item)
    return kit.packed(*seen.values())
