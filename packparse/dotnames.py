"""Names that are .git, or a file that git reads by its name, on HFS+ or NTFS.

Source: git's is_hfs_dotgit and is_ntfs_dotgit with their kin (utf8.c, path.c), and what fsck_tree
makes of them: both forms are looked for in the whole name, and the NTFS form of .git and
.gitmodules after each backslash as well (CVE-2014-9390, CVE-2019-1352, CVE-2019-1353,
CVE-2019-1354). HFS+ ignores case and sixteen invisible characters. NTFS ignores case and the dots
and spaces at the end, takes what follows a colon for a stream, and gives short names.
"""

from __future__ import annotations

from packparse import late

__all__ = [
    "DOTFILES", "aliases", "is_dotgit", "is_dotgitattributes", "is_dotgitignore",
    "is_dotgitmodules", "is_dotmailmap", "is_short_dotgit",
]  # fmt: skip

# The files that git reads by their names.
DOTFILES = (b".gitmodules", b".gitattributes", b".gitignore", b".mailmap")

# What all other names are without: a dot or an ignored character of HFS+ at the beginning, the
# tilde of a short name, or a backslash.
_FIRST = frozenset((b".", b"\xe2", b"\xef"))
# U+FFFE and U+FFFF are no characters to git: a name on HFS+ ends there, as it does at other bytes
# that are no UTF-8.
_NO_CHARACTERS = "\ufffe\uffff"
_IGNORED = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)
_GIT_END = late.pattern(rb"[/\\]")
# Names on NTFS behind a backslash. After .git the path may go on, after the others a stream only.
_GIT_BEHIND = late.pattern(rb"\\([.gG][^/\\]{3,}+)")
_FILE_BEHIND = late.pattern(rb"\\([.gGmM~][^:\\]{7,}+)(?!\\)")

# On NTFS a file is known by its name, by the first six letters without a dot and a number up to
# four, and past that by two letters, a checksum and a number; the checksums are those in git.
_GIT = frozenset((b".git", b"git~1"))
_GIT_CHECKSUM = b"gi2837"  # by the function that gives the four others
_CHECKSUMS = dict(zip(DOTFILES, (b"gi7eba", b"gi7d29", b"gi250a", b"maba30"), strict=True))
_SPELLINGS = {
    file: frozenset((file, *(b"%b~%d" % (file[1:7], n) for n in (1, 2, 3, 4)))) for file in DOTFILES
}


def is_dotgit(name: bytes) -> bool:
    """Whether git's fsck takes a tree's name for .git, also after a backslash."""
    if _is_usual(name):
        return False
    return _hfs_key(name) == b".git" or not _GIT.isdisjoint(_dotgit_keys(name))


def is_dotgitmodules(name: bytes) -> bool:
    """Whether git's fsck takes a tree's name for .gitmodules, also after a backslash."""
    return b".gitmodules" in aliases(name)


def is_dotgitattributes(name: bytes) -> bool:
    """Whether git's fsck takes a tree's name for .gitattributes."""
    return _is_file(name, b".gitattributes")


def is_dotgitignore(name: bytes) -> bool:
    """Whether git's fsck takes a tree's name for .gitignore."""
    return _is_file(name, b".gitignore")


def is_dotmailmap(name: bytes) -> bool:
    """Whether git's fsck takes a tree's name for .mailmap."""
    return _is_file(name, b".mailmap")


def aliases(name: bytes) -> tuple[bytes, ...]:
    """Those of DOTFILES that a name may be on HFS+ or NTFS, also after a backslash.

    Wider than git, which looks after backslashes for .gitmodules alone. The name itself counts.
    """
    if _is_usual(name):
        return ()
    hfs, keys = _hfs_key(name), _file_keys(name)
    return tuple(
        file for file in DOTFILES if hfs == file or any(_is_ntfs(key, file) for key in keys)
    )


def is_short_dotgit(name: bytes) -> bool:
    """Whether a file system may make a name for .git where git~1 is taken, such as git~2.

    git does not look for these. Also after a backslash.
    """
    return b"~" in name and any(map(_is_short, _dotgit_keys(name)))


def _is_short(key: bytes) -> bool:
    # NTFS counts to four; other systems count on, up to eight letters.
    stem, _, number = key.partition(b"~")
    counted = stem == b"git" and key != b"git~1" and len(key) <= 8 and _is_number(number)
    return counted or _is_checksum_name(key, _GIT_CHECKSUM)


def _is_usual(name: bytes) -> bool:
    return name[:1] not in _FIRST and b"~" not in name and b"\\" not in name


def _is_file(name: bytes, file: bytes) -> bool:
    if _is_usual(name):
        return False
    return _hfs_key(name) == file or _is_ntfs(_ntfs_key(name), file)


def _is_ntfs(key: bytes, file: bytes) -> bool:
    return key in _SPELLINGS[file] or _is_checksum_name(key, _CHECKSUMS[file])


def _is_checksum_name(key: bytes, prefix: bytes) -> bool:
    """Whether a name has eight letters: the prefix or less of it, a tilde and a number."""
    stem, _, number = key.partition(b"~")
    return len(key) == 8 and _is_number(number) and prefix.startswith(stem)


def _is_number(digits: bytes) -> bool:
    return digits.isdigit() and digits[:1] != b"0"


def _dotgit_keys(name: bytes) -> set[bytes]:
    """What NTFS compares of the first part of a path, and of the parts behind backslashes."""
    return set(map(_ntfs_key, (_GIT_END.split(name, 1)[0], *_GIT_BEHIND.findall(name))))


def _file_keys(name: bytes) -> set[bytes]:
    """What NTFS compares of a name, and of the last part behind a backslash."""
    return set(map(_ntfs_key, (name, *_FILE_BEHIND.findall(name))))


def _ntfs_key(name: bytes) -> bytes:
    """What NTFS compares of a name: not its stream, and no dots and spaces at its end."""
    return name.partition(b":")[0].rstrip(b" .").lower()


def _hfs_key(name: bytes) -> bytes:
    """What HFS+ compares of a name, as far as git reads it; only ASCII is put in lower case."""
    part = name.partition(b"/")[0]
    if part.isascii():
        return part.lower()
    try:
        text = part.decode()
    except UnicodeDecodeError as error:
        text = part[: error.start].decode()
    for end in _NO_CHARACTERS:
        text = text.partition(end)[0]
    return text.translate(_IGNORED).encode().lower()
