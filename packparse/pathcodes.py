"""Codes of names, special files and symbolic links in trees; see checks.py for what they say."""

from __future__ import annotations

from packparse.codes import BY_NAME, INCOMPLETE, LOOK, NOTE, POLICY, WARNING, fsck, ours

__all__ = ["REGISTERED", "RENAME"]

RENAME = "Rename it on the sending side."
_RETARGET = "Let the link lead to a path inside the tree, or leave it out."

# What is in names
FULL_PATHNAME = fsck("fullPathname", "A name in a tree has a slash.", klass=POLICY, remedy=RENAME)
EMPTY_NAME = fsck("emptyName", "A name in a tree is empty.", klass=POLICY, remedy=RENAME)
HAS_DOT = fsck("hasDot", "A name in a tree is a dot.", klass=POLICY, remedy=RENAME)
HAS_DOTDOT = fsck("hasDotdot", "A name in a tree is two dots.", klass=POLICY, remedy=RENAME)
HAS_DOTGIT = fsck(
    "hasDotgit",
    "A name in a tree is .git on some file system (CVE-2014-9390, CVE-2019-1352, CVE-2019-1353).",
    klass=POLICY,
    remedy=RENAME,
)
LARGE_PATHNAME = fsck(
    "largePathname",
    "A name in a tree has more than 4,096 bytes.",
    since="2.43",
    klass=POLICY,
    remedy=RENAME,
)
BACKSLASH_TRAVERSAL = ours(
    "backslashTraversal",
    "A name has a backslash beside two dots: on Windows it leaves its folder (CVE-2019-1354).",
    RENAME,
    klass=POLICY,
)
CONTROL_IN_NAME = ours(
    "controlInName",
    "A name has a control character: lists of paths and terminals show something else.",
    RENAME,
    klass=POLICY,
)
DECEPTIVE_NAME = ours(
    "deceptiveName",
    "A name has a bidirectional, zero-width or other invisible character: a reviewer reads another "
    "name.",
    RENAME,
    klass=POLICY,
)
WINDOWS_DEVICE_NAME = ours(
    "windowsDeviceName",
    "A name is a device on Windows, such as CON or nul.txt.",
    RENAME,
    klass=POLICY,
    candidate=WARNING,
)
WINDOWS_FORBIDDEN_NAME = ours(
    "windowsForbiddenName",
    "A name has a character that Windows forbids, or ends in a dot or a space.",
    RENAME,
    klass=POLICY,
    candidate=WARNING,
)
SHORT_NAME_ALIAS = ours(
    "shortNameAlias",
    "A name is a short name that NTFS may make for .git when others are taken, such as git~2.",
    RENAME,
    klass=POLICY,
    candidate=WARNING,
)
NOT_UTF8_NAME = ours(
    "notUtf8Name",
    "A name is not UTF-8: systems show and store it differently.",
    RENAME,
    klass=POLICY,
    candidate=WARNING,
)
DASH_NAME = ours(
    "dashName",
    "A name begins with a dash: tools may take it for an option.",
    RENAME,
    klass=POLICY,
    candidate=WARNING,
)
CASE_COLLISION = ours(
    "caseCollision",
    "Two names of one folder differ in upper and lower case alone: on some file systems one "
    "replaces the other.",
    RENAME,
    klass=POLICY,
)
NORMALIZATION_COLLISION = ours(
    "normalizationCollision",
    "Two names of one folder are one in Unicode's normal forms, without what HFS ignores, or "
    "without dots and spaces at the end: on some file systems one replaces the other.",
    RENAME,
    klass=POLICY,
)
SYMLINK_DIRECTORY_COLLISION = ours(
    "symlinkDirectoryCollision",
    "A symbolic link and a folder collide by case or normalisation: files of the folder are "
    "written to where the link leads (CVE-2021-21300, CVE-2024-32002).",
    RENAME,
    klass=POLICY,
)
EMBEDDED_REPOSITORY = ours(
    "embeddedRepository",
    "A folder looks like a bare repository (HEAD, and objects and refs or commondir): git obeys "
    "its configuration, and runs what it says, when somebody enters it.",
    RENAME,
    klass=POLICY,
)
GITMODULES_ALIAS = ours(
    "gitmodulesAlias",
    "A name is .gitmodules on some file system, and not for who reads it.",
    RENAME,
    klass=POLICY,
)
GITATTRIBUTES_ALIAS = ours(
    "gitattributesAlias",
    "A name is .gitattributes on some file system, and not for who reads it.",
    RENAME,
    klass=POLICY,
)
DOTFILE_ALIAS = ours(
    "dotfileAlias",
    "A name is .gitignore or .mailmap on some file system, and not for who reads it.",
    RENAME,
    klass=POLICY,
    candidate=WARNING,
)
GITATTRIBUTES_SYMLINK = fsck(
    "gitattributesSymlink",
    "The name .gitattributes is a symbolic link, which git does not follow.",
    since="2.32",
    klass=POLICY,
    candidate=WARNING,
    git=WARNING,
    remedy=RENAME,
)
GITIGNORE_SYMLINK = fsck(
    "gitignoreSymlink",
    "The name .gitignore is a symbolic link, which git does not follow.",
    since="2.32",
    klass=POLICY,
    candidate=WARNING,
    git=WARNING,
    remedy=RENAME,
)
MAILMAP_SYMLINK = fsck(
    "mailmapSymlink",
    "The name .mailmap is a symbolic link, which git does not follow.",
    since="2.32",
    klass=POLICY,
    candidate=WARNING,
    git=WARNING,
    remedy=RENAME,
)

# .gitmodules and submodules
GITMODULES_SYMLINK = fsck(
    "gitmodulesSymlink",
    "The name .gitmodules is a symbolic link.",
    since="2.18",
    klass=POLICY,
    remedy=RENAME,
)
GITMODULES_BLOB = fsck(
    "gitmodulesBlob", "The name .gitmodules is no file.", since="2.18", klass=POLICY, remedy=RENAME
)
GITMODULES_MISSING = fsck(
    "gitmodulesMissing",
    "The content of a .gitmodules is not there to be checked.",
    since="2.18",
    klass=INCOMPLETE,
    remedy="Hand over the file's content as well.",
)
GITMODULES_LARGE = fsck(
    "gitmodulesLarge",
    "A .gitmodules is too large to be checked.",
    since="2.19",
    klass=POLICY,
)
GITMODULES_PARSE = fsck(
    "gitmodulesParse",
    "A .gitmodules cannot be parsed: readers that go on after the fault see more than was checked.",
    since="2.18",
    klass=POLICY,
    git=WARNING,
)
GITMODULES_NAME = fsck(
    "gitmodulesName",
    "A submodule's name is empty or climbs out of .git/modules (CVE-2018-11235).",
    since="2.18",
    klass=POLICY,
)
GITMODULES_URL = fsck(
    "gitmodulesUrl",
    "A submodule's URL is an option, or misleads curl or a credential helper (CVE-2018-17456, "
    "CVE-2020-5260, CVE-2020-11008).",
    since="2.20",
    klass=POLICY,
)
GITMODULES_PATH = fsck(
    "gitmodulesPath",
    "A submodule's path begins with a dash (CVE-2018-17456).",
    since="2.20",
    klass=POLICY,
)
GITMODULES_UPDATE = fsck(
    "gitmodulesUpdate",
    "A submodule's update setting is a command (CVE-2019-19604).",
    since="2.25",
    klass=POLICY,
)
GITMODULES_UNSAFE_NAME = ours(
    "gitmodulesUnsafeName",
    "A submodule's name has a control or invisible character, is absolute, or has a part that is "
    ".git.",
    klass=POLICY,
)
GITMODULES_UNSAFE_PATH = ours(
    "gitmodulesUnsafePath",
    "A submodule's path is absolute or empty, climbs, has a part that is .git, or has a control "
    "or invisible character such as a carriage return at its end (CVE-2025-48384).",
    klass=POLICY,
)
GITMODULES_UNSAFE_URL = ours(
    "gitmodulesUnsafeUrl",
    "A submodule's URL has a control or invisible character or a backslash, asks for a helper "
    "program (ext::), gives ssh an option, or has more than 1,024 bytes (CVE-2017-1000117, "
    "CVE-2024-52006, CVE-2023-29007).",
    klass=POLICY,
)
GITMODULES_NESTED_NAMES = ours(
    "gitmodulesNestedNames",
    "The name of one submodule is, or lies inside, that of another, capitals aside: its repository "
    "would lie in the other's (CVE-2019-1387).",
    klass=POLICY,
)
GITMODULES_DUPLICATE = ours(
    "gitmodulesDuplicate",
    "A submodule's setting comes twice, or two submodules have one path (CVE-2019-1349): readers "
    "take different ones.",
    klass=POLICY,
)
GITLINK = ours(
    "gitlinkEntry",
    "A submodule: a commit of another repository is checked out there, once somebody asks for it.",
    LOOK,
    klass=POLICY,
    candidate=NOTE,
)
GITLINK_WITHOUT_ENTRY = ours(
    "gitlinkWithoutEntry",
    "A submodule has no entry in .gitmodules: nobody can tell where it comes from.",
    LOOK,
    klass=POLICY,
    candidate=WARNING,
)
SUBMODULE_PATH_CONFLICT = ours(
    "submodulePathConflict",
    "The path of a submodule in .gitmodules is, or leads through, a file, folder or link that is "
    "tracked.",
    klass=POLICY,
)

# .gitattributes and LFS
GITATTRIBUTES_BLOB = fsck(
    "gitattributesBlob",
    "The name .gitattributes is no file.",
    since="2.39.1",
    klass=POLICY,
    remedy=RENAME,
)
GITATTRIBUTES_MISSING = fsck(
    "gitattributesMissing",
    "The content of a .gitattributes is not there to be checked.",
    since="2.39.1",
    klass=INCOMPLETE,
    remedy="Hand over the file's content as well.",
)
GITATTRIBUTES_LARGE = fsck(
    "gitattributesLarge",
    "A .gitattributes has more than 100 MiB (CVE-2022-23521).",
    since="2.39.1",
    klass=POLICY,
)
GITATTRIBUTES_LINE_LENGTH = fsck(
    "gitattributesLineLength",
    "A line of a .gitattributes has 2,048 bytes or more (CVE-2022-23521).",
    since="2.39.1",
    klass=POLICY,
)
GITATTRIBUTES_ACTIVE = ours(
    "gitattributesActive",
    "A .gitattributes makes the host run or rewrite something: filter, merge, diff, export-subst, "
    "working-tree-encoding.",
    LOOK,
    klass=POLICY,
    candidate=WARNING,
)
LFS_POINTER = ours(
    "lfsPointer",
    "A file is a pointer of Git LFS: its content was not handed over.",
    "Fetch the content by the id in the pointer, from a server that is trusted.",
    klass=POLICY,
    candidate=NOTE,
)

# Symbolic links
SYMLINK_ABSOLUTE = ours(
    "symlinkAbsolute", "A symbolic link leads to an absolute path.", _RETARGET, klass=POLICY
)
SYMLINK_ESCAPES = ours(
    "symlinkEscapes",
    "A symbolic link leaves the tree from the depth where it stands, or by way of another link.",
    _RETARGET,
    klass=POLICY,
)
SYMLINK_INTO_GIT = ours(
    "symlinkIntoGit", "A symbolic link leads into .git, in some spelling.", _RETARGET, klass=POLICY
)
SYMLINK_BAD_TARGET = ours(
    "symlinkBadTarget",
    "The target of a symbolic link is empty, or has a NUL, control or invisible character.",
    _RETARGET,
    klass=POLICY,
)
SYMLINK_TOO_LONG = ours(
    "symlinkTooLong",
    "The target of a symbolic link has more than 4,095 bytes, which no system takes.",
    _RETARGET,
    klass=POLICY,
)
SPECIAL_FILE_NOT_READ = ours(
    "specialFileNotRead",
    "A .gitmodules or .gitattributes lies outside the file and was not read.",
    "Give the base's objects with --base-pack.",
    klass=INCOMPLETE,
    candidate=NOTE,
)
SYMLINK_NOT_READ = ours(
    "symlinkNotRead",
    "The target of a symbolic link lies outside the file and was not read.",
    "Give the base's objects with --base-pack.",
    klass=INCOMPLETE,
    candidate=NOTE,
)

# What is registered once this module is loaded, for checks.py.
REGISTERED = BY_NAME
