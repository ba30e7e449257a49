"""Codes of what is looked for in objects, links and ranges; the registry is whole from here.

Codes with a ``since`` are fsck message ids of git, with the severity of ``index-pack --strict``,
which turns warnings into errors and leaves information a warning. Ours are found under the rule
set ``candidate`` alone. Their severity there answers: can it hurt the host or a reader of it
(error), or is it only unusual (warning)? A note is a fact for a reviewer.
"""

from __future__ import annotations

from packparse import pathcodes
from packparse.codes import (
    ERROR,
    IGNORE,
    INCOMPLETE,
    LIMIT,
    LOOK,
    NOTE,
    POLICY,
    RAISE_LIMIT,
    WARNING,
    fsck,
    ours,
)  # fmt: skip

__all__ = ["CATALOG"]

# All codes: those of files and of paths are registered as their modules are loaded.
CATALOG = pathcodes.REGISTERED

_HAND_OVER = "Hand over exactly the commits from the base to the tip, and what they bring."

# Commits and tags: what links need; without it an object cannot be gone on with
MISSING_TREE = fsck("missingTree", "A commit does not begin with a tree line.", free=False)
BAD_TREE_SHA1 = fsck("badTreeSha1", "The id in a commit's tree line is malformed.", free=False)
BAD_PARENT_SHA1 = fsck(
    "badParentSha1", "The id in a commit's parent line is malformed.", free=False
)
TAG_MISSING_OBJECT = fsck(
    "missingObject", "A tag does not begin with an object line.", free=False
)  # fmt: skip
BAD_OBJECT_SHA1 = fsck(
    "badObjectSha1", "The id in a tag's object line is malformed.", free=False
)  # fmt: skip
MISSING_TYPE_ENTRY = fsck(
    "missingTypeEntry", "A tag has no type line after its object line.", free=False
)
MISSING_TYPE = fsck("missingType", "A tag's type line does not end.", free=False)
BAD_TYPE = fsck("badType", "A tag's type is not one of git's four.", free=False)
BAD_TREE = fsck("badTree", "A tree cannot be taken apart into entries.", free=False)

# Commits and tags: headers
NUL_IN_HEADER = fsck("nulInHeader", "A NUL byte stands among the headers of a commit or tag.")
UNTERMINATED_HEADER = fsck(
    "unterminatedHeader", "The headers of a commit or tag do not end in a line feed."
)
MISSING_AUTHOR = fsck("missingAuthor", "A commit has no author line after its parents.")
MULTIPLE_AUTHORS = fsck("multipleAuthors", "A commit has several author lines.")
MISSING_COMMITTER = fsck("missingCommitter", "A commit has no committer line after its author.")
NUL_IN_COMMIT = fsck("nulInCommit", "A commit has a NUL byte in its message.")
MISSING_TAG_ENTRY = fsck("missingTagEntry", "A tag has no name line after its type.")
MISSING_TAG = fsck("missingTag", "A tag's name line does not end.")
TAG_TOO_SHORT = ours(
    "tagTooShort",
    "A tag is shorter than any that git writes: git refuses fewer than 64 bytes (88 with SHA-256).",
    git=ERROR,
)
BAD_TAG_NAME = fsck(
    "badTagName", "A tag's name is no valid ref name.", candidate=WARNING, git=WARNING
)
MISSING_TAGGER_ENTRY = fsck(
    "missingTaggerEntry",
    "A tag has no tagger line. Tags of the first years of git have none.",
    candidate=WARNING,
    git=WARNING,
)
BAD_GPGSIG = fsck("badGpgsig", "The signature header of a tag does not end.", since="2.52")
BAD_HEADER_CONTINUATION = fsck(
    "badHeaderContinuation", "A continued header line of a tag does not end.", since="2.52"
)
EXTRA_HEADER_ENTRY = fsck(
    "extraHeaderEntry",
    "A tag has a header that git does not know.",
    since="2.31",
    candidate=WARNING,
    git=IGNORE,
)
DUPLICATE_PARENTS = ours("duplicateParents", "A commit names the same parent twice.")
MISPLACED_HEADER = ours(
    "misplacedHeader",
    "A header that git reads in one place alone stands in another, in other capitals or twice: "
    "another reader may take it (CVE-2026-45022 shape).",
)
UPPER_CASE_ID = ours(
    "upperCaseId", "An id is written in capitals: two spellings of one link, of two commit ids."
)
CONTROL_IN_HEADER = ours(
    "controlInHeader",
    "A control or bidirectional character stands in an identity or another header: what a reader "
    "is shown is not what is there.",
)
CONTROL_IN_MESSAGE = ours(
    "controlInMessage",
    "A control or bidirectional character stands in a message, such as the escape that terminals "
    "obey.",
    LOOK,
    candidate=WARNING,
)
UNKNOWN_HEADER = ours(
    "unknownHeader",
    "A commit has a header that git does not know. Some tools write one (jj: change-id).",
    LOOK,
    candidate=WARNING,
)
MALFORMED_HEADER = ours(
    "malformedHeader",
    "An encoding, gpgsig or mergetag header, or a continued line, is not formed as git forms it, "
    "comes twice, or names an encoding that does not keep ASCII.",
    LOOK,
    candidate=WARNING,
)
NOT_UTF8 = ours(
    "notUtf8",
    "A commit or tag is neither UTF-8 nor does it name another encoding.",
    "None is needed.",
    candidate=NOTE,
)

# Identities and dates
MISSING_NAME_BEFORE_EMAIL = fsck(
    "missingNameBeforeEmail", "An identity begins with its e-mail address: no name, no space."
)
BAD_NAME = fsck("badName", "The name of an identity has an angle bracket.")
MISSING_EMAIL = fsck("missingEmail", "An identity has no e-mail address in angle brackets.")
MISSING_SPACE_BEFORE_EMAIL = fsck(
    "missingSpaceBeforeEmail", "No space stands before the e-mail address of an identity."
)
BAD_EMAIL = fsck("badEmail", "The e-mail address of an identity does not end.")
MISSING_SPACE_BEFORE_DATE = fsck(
    "missingSpaceBeforeDate", "No space stands between e-mail address and date."
)
BAD_DATE = fsck("badDate", "The date of an identity is not a number and a space.")
ZERO_PADDED_DATE = fsck("zeroPaddedDate", "The date of an identity begins with zeros.")
BAD_DATE_OVERFLOW = fsck("badDateOverflow", "The date of an identity does not fit into 63 bits.")
BAD_TIMEZONE = fsck("badTimezone", "The zone of an identity is not a sign and four digits.")
IMPLAUSIBLE_DATE = ours(
    "implausibleDate",
    "A date is past the year 2099: it sorts before everything else, and hides what is new.",
    LOOK,
    candidate=WARNING,
)
IMPLAUSIBLE_TIMEZONE = ours(
    "implausibleTimezone",
    "A zone is more than 14 hours from UTC, or has more than 59 minutes.",
    LOOK,
    candidate=WARNING,
)

# What is in trees
NULL_SHA1 = fsck("nullSha1", "A tree entry has an id of zeros.")
ZERO_PADDED_FILEMODE = fsck(
    "zeroPaddedFilemode",
    "A mode begins with a zero, as some hosting tools once wrote it.",
)
BAD_FILEMODE = fsck(
    "badFilemode",
    "A mode is of a known kind, and has other permission bits than git writes.",
    candidate=WARNING,
    git=WARNING,
)
UNKNOWN_FILEMODE = ours(
    "unknownFilemode",
    "A mode is of no kind that git has, or longer than six digits: readers make different things "
    "of it.",
)
DUPLICATE_ENTRIES = fsck(
    "duplicateEntries", "A tree has two entries of one name, be one a file and one a folder."
)
TREE_NOT_SORTED = fsck("treeNotSorted", "The entries of a tree are not in git's order.")

# Links
ABSENT_OBJECT = ours(
    "absentObject",
    "A commit, tree or tag names an object that is neither in the file nor among what the producer "
    "was given; git says: did not receive expected object.",
    "Hand over a complete pack, or a bundle that names its prerequisites, and say with --base or "
    "--known what the producer was given. What a shallow clone (--depth) packs as a whole history "
    "lacks the rest of it.",
    klass=INCOMPLETE,
    git=ERROR,
    free=False,
)
LINK_KIND_MISMATCH = ours(
    "linkKindMismatch",
    "An object is linked to as another kind than it has, for example a blob as a tree.",
    git=ERROR,
    free=False,
)
MISSING_PREREQUISITE = ours(
    "missingPrerequisite",
    "The bundle builds on a commit that the trusted side does not have.",
    "Fetch the commit that is named, or ask for a bundle that does not need it.",
    klass=INCOMPLETE,
    git=ERROR,
    free=False,
)
UNCHECKED_LINKS = ours(
    "uncheckedLinks",
    "Something outside the file is taken on trust: that the prerequisites are there, that objects "
    "which are linked to were given to the producer, or of which kind they are.",
    "Give the list of known objects with --known, with their types or with --base-pack; or make a "
    "policy call this an error.",
    klass=INCOMPLETE,
    candidate=NOTE,
    git=NOTE,
)
LINKS_NOT_CHECKED = ours(
    "linksNotChecked",
    "Links, paths and ranges were not checked, since objects are lost to other findings.",
    "See the other findings.",
    klass=INCOMPLETE,
    candidate=NOTE,
    git=NOTE,
)
MISSING_TIP = ours(
    "missingTip",
    "A ref of the bundle, or a tip that was asked for, names an object that neither the pack nor "
    "a prerequisite supplies.",
    "Make the bundle again from the repository that has the object.",
    klass=INCOMPLETE,
    git=ERROR,
    free=False,
)
BRANCH_NOT_COMMIT = ours(
    "branchNotCommit",
    "A ref under refs/heads/ names an object that is not a commit.",
    "Put the object under a tag, or make the branch name a commit.",
    klass=POLICY,
    git=ERROR,
)

# The range from base to tip
STOWAWAY_OBJECT = ours(
    "stowawayObject",
    "An object in the pack is reached by no commit of the range; what only it names is not listed.",
    _HAND_OVER,
    klass=POLICY,
)
ALREADY_IN_BASE = ours(
    "alreadyInBase",
    "An object in the pack is known to the other side. A plain revert has some.",
    "None is needed.",
    klass=POLICY,
    candidate=NOTE,
)
SMUGGLED_BASE = ours(
    "smuggledBase",
    "A link or a delta rests on an object of the host that the producer was not given: it would "
    "pull another branch's content into its own commit.",
    f"{_HAND_OVER} If the producer was given the whole history, say so: --seed full, or all of it "
    "in the list for --known; a revert made in a clone with bitmaps needs that.",
    klass=POLICY,
    git=ERROR,
    free=False,
)
NOT_DESCENDANT = ours(
    "notDescendant",
    "The tip does not descend from the base by the commits in the file.",
    "Rebase the commits onto the base, or ask with the base they were made on: the file has to "
    "hold all commits after it.",
    klass=POLICY,
)
EMPTY_RANGE = ours(
    "emptyRange",
    "The tip is the base, or a commit that was there before: there is no new one.",
    _HAND_OVER,
    klass=POLICY,
)
ROOT_COMMIT = ours(
    "rootCommit",
    "A commit of the range has no parent, although there is a base to build on.",
    _HAND_OVER,
    klass=POLICY,
)
MERGE_COMMIT = ours(
    "mergeCommit",
    "A commit of the range has several parents.",
    "Rebase the commits.",
    klass=POLICY,
    candidate=IGNORE,
)
TAG_OBJECT = ours(
    "tagObject",
    "The file holds an annotated tag, where commits from a base to a tip were asked for.",
    _HAND_OVER,
    klass=POLICY,
)
UNEXPECTED_REFS = ours(
    "unexpectedRefs",
    "The bundle does not have exactly one ref, that of the tip that was asked for.",
    "Make the bundle of one branch that ends in the tip.",
    klass=POLICY,
)
UNEXPECTED_PREREQUISITES = ours(
    "unexpectedPrerequisites",
    "The bundle builds on other commits than the base that was asked for.",
    "Make the bundle with the base as its only prerequisite, or ask with each of them as --base.",
    klass=POLICY,
)
IDENTITY_NOT_ALLOWED = ours(
    "identityNotAllowed",
    "An author or committer is not among those that the policy allows.",
    "Commit under an allowed identity, or add it to the policy file.",
    klass=POLICY,
)
PATH_NOT_ALLOWED = ours(
    "pathNotAllowed",
    "A path that changed is denied by the policy, or not among those it allows.",
    "Leave the path out of the commits, or change the policy file.",
    klass=POLICY,
)
SENSITIVE_PATH = ours(
    "sensitivePath",
    "A path changed that makes tools or services run something, such as a workflow of CI.",
    LOOK,
    klass=POLICY,
    candidate=WARNING,
)
BASE_NOT_COMPARED = ours(
    "baseNotCompared",
    "The base's trees could not be read, or would have cost too much: what is inherited from the "
    "base was not told from what is new.",
    "Give the base's objects with --base-pack.",
    klass=INCOMPLETE,
    candidate=NOTE,
)

# Limits on objects and trees
MESSAGE_TOO_LONG = ours(
    "messageTooLong",
    "A commit or tag, its headers and message together, has more bytes than the limit.",
    RAISE_LIMIT,
    klass=LIMIT,
    git=ERROR,
    free=False,
)
NAME_TOO_LONG = ours(
    "nameTooLong", "A name in a tree has more bytes than the limit.", RAISE_LIMIT,
    klass=LIMIT, git=ERROR, free=False,
)  # fmt: skip
PATH_TOO_LONG = ours(
    "pathTooLong", "A path has more bytes than the limit.", RAISE_LIMIT,
    klass=LIMIT, git=ERROR, free=False,
)  # fmt: skip
TREE_TOO_DEEP = ours(
    "treeTooDeep", "Folders lie in folders deeper than the limit.", RAISE_LIMIT,
    klass=LIMIT, git=ERROR, free=False,
)  # fmt: skip
TOO_MANY_FILES = ours(
    "tooManyFiles",
    "The tree of a commit expands to more files than the limit (CVE-2017-15298).",
    RAISE_LIMIT,
    klass=LIMIT,
    git=ERROR,
    free=False,
)
EXPANDED_TOO_LARGE = ours(
    "expandedTooLarge",
    "The tree of a commit expands to more bytes than the limit.",
    RAISE_LIMIT,
    klass=LIMIT,
    git=ERROR,
    free=False,
)
SPECIAL_FILE_TOO_LARGE = ours(
    "specialFileTooLarge",
    "A .gitmodules or .gitattributes has more bytes than the limit.",
    RAISE_LIMIT,
    klass=LIMIT,
    git=ERROR,
    free=False,
)

# Loose objects
LOOSE_HEADER = ours(
    "looseHeader",
    "A loose object does not begin with its kind, a space, its size in plain decimal and a NUL.",
    git=ERROR,
    free=False,
)
LOOSE_ID_MISMATCH = ours(
    "looseIdMismatch",
    "A loose object does not hash to the id that its file name says.",
    git=ERROR,
    free=False,
)
UNEXPECTED_FILE = ours(
    "unexpectedFile",
    "A folder of loose objects has an entry that is no object: a link, a pack, or anything else "
    "(CVE-2022-39253).",
    "Hand over a folder of plain objects alone, or a bundle; verify a pack by itself.",
    klass=POLICY,
    git=ERROR,
    free=False,
)
