"""Spellings of .git and of the files that git reads by name (A12; PF2 to PF7; case 50).

The same tables are put to git itself in tests/differential/test_names.py.
"""

from __future__ import annotations

import pytest

from packparse import dotnames

# What HFS+ ignores: sixteen characters.
HFS_IGNORED = [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
# Their neighbours, and others that no reader sees.
HFS_KEPT = [0x200B, 0x2010, 0x2029, 0x202F, 0x2069, 0x2070, 0xFEFE, 0xFF00, 0x00AD, 0x180E, 0x2060]

DOTGIT = {
    "the name itself": b".git",
    "capitals": b".GIT",
    "some capitals": b".gIt",
    "a dot at the end": b".git.",
    "a space at the end": b".git ",
    "dots and spaces at the end": b".git . ..",
    "a stream": b".git:x",
    "the default stream of a folder": b".git::$INDEX_ALLOCATION",
    "a space, then a stream": b".git :x",
    "the short name": b"git~1",
    "the short name in capitals": b"GIT~1",
    "the short name and a dot": b"git~1.",
    "the short name and a stream": b"git~1::$DATA",
    "a path on Windows": b".git\\hooks",
    "a path": b".git/hooks",
    "a path after spaces": b".git /hooks",
    "after a backslash": b"a\\.git",
    "after the last of many backslashes": b"a\\b\\\\.GIT",
    "after a backslash, in the middle": b"a\\.git\\config",
    "after a backslash, before a slash": b"a\\.git/config",
    "a short name after a backslash": b"a\\git~1 ",
    "an ignored character first": "\u200c.git".encode(),
    "an ignored character last": ".git\u206f".encode(),
    "a byte order mark first": "\ufeff.git".encode(),
    "ignored characters everywhere": "\u200d.\u202eG\u206fi\u200et\u202a".encode(),
    "ignored characters, then a slash": ".g\u200cit\u200c/x".encode(),
    "bytes that are no UTF-8 behind": b".git\xff",
    "half a character behind": b".git\xe2\x80",
    "an overlong slash behind": b".git\xc0\xaf",
    "a surrogate behind": b".git\xed\xa0\x80",
    "past the last code point": b".git\xf4\x90\x80\x80",
    "U+FFFE behind": b".git\xef\xbf\xbe",
    "U+FFFF behind, then more": b".git\xef\xbf\xbfmore",
    "an ignored character cut in two behind": b".git\xe2\x80x\x8c",
    "half a character, an ignored one, the other half": b".git\xc3\xe2\x80\x8c\xa9",
}
NOT_DOTGIT = {
    "empty": b"",
    "a dot": b".",
    "no dot": b"git",
    "cut short": b".gi",
    "a letter more": b".gitx",
    "a usual file": b".github",
    "two dots before": b"..git",
    "a space before": b" .git",
    "a letter after dots": b".git. x",
    "the second short name": b"git~2",
    "the tenth short name": b"git~10",
    "a short name with a dot": b".git~1",
    "a short name and a letter": b"git~1x",
    "a tilde alone": b"git~",
    "after a slash": b"a/.git",
    "after a backslash, a letter more": b"a\\.gitx",
    "after a backslash, with an ignored character": "a\\.g\u200cit".encode(),
    "before a colon": b"x:.git",
    "U+FFFD behind": ".git\ufffd".encode(),
    "a letter behind": ".git\u00e9".encode(),
    "the last code point behind": ".git\U0010ffff".encode(),
    "an ignored character cut in two inside": b".g\xe2\x80it\x8c",
    "bytes that are no UTF-8 inside": b".g\xffit",
    "bytes that are no UTF-8 in front": b"\xff.git",
    "a slash inside": b".g/it",
    "a dotless i": ".g\u0131t".encode(),
    "a capital i with a dot": ".g\u0130t".encode(),
    "fullwidth letters": ".\uff47it".encode(),
    "a space inside the ignored characters": ".git\u200c x".encode(),
    "a dot after an ignored character": ".git\u200c.".encode(),
}

# Each with the stem and the checksum of its short names.
FILES = {
    b".gitmodules": (dotnames.is_dotgitmodules, b"gitmod", b"gi7eba"),
    b".gitattributes": (dotnames.is_dotgitattributes, b"gitatt", b"gi7d29"),
    b".gitignore": (dotnames.is_dotgitignore, b"gitign", b"gi250a"),
    b".mailmap": (dotnames.is_dotmailmap, b"mailma", b"maba30"),
}
# FILE is the name, STEM and SUM what short names are made from, CUT the first half of SUM.
IS_FILE = {
    "the name itself": b"FILE",
    "a dot and a space at the end": b"FILE. ",
    "a stream": b"FILE:x",
    "a backslash in a stream": b"FILE:x\\y",
    "spaces, then a stream": b"FILE  ::$DATA",
    "the first short name": b"STEM~1",
    "the fourth short name": b"STEM~4",
    "a short name and a stream": b"STEM~2 .:x",
    "the checksum": b"SUM~1",
    "the checksum and another number": b"SUM~9",
    "the checksum and a dot": b"SUM~1.",
    "a number of three digits": b"CUT~102",
    "a number alone": b"~1000000",
    "an ignored character last": "FILE\u200d".encode(),
    "an ignored character first": "\u202eFILE".encode(),
    "a path": b"FILE/x",
    "bytes that are no UTF-8 behind": b"FILE\xff",
}
IS_NO_FILE = {
    "a letter more": b"FILEx",
    "no dot": b"STEM",
    "the short name number zero": b"STEM~0",
    "the short name number five": b"STEM~5",
    "a short name of two digits": b"STEM~10",
    "a short name and a letter": b"STEM~1x",
    "the checksum, number zero": b"SUM~0",
    "the checksum, no number": b"SUM~",
    "the checksum and two digits": b"SUM~10",
    "a number that begins with zero": b"CUT~012",
    "a number with a letter": b"CUT~1a2",
    "a number with a second tilde": b"CUT~1~2",
    "nine letters": b"CUT~1023",
    "seven letters": b"CUT~10",
    "another checksum": b"gi0000~1",
    "a number too short": b"~100000",
    "a path on Windows": b"FILE\\x",
    "after a slash": b"a/FILE",
    "bytes that are no UTF-8 in front": b"\xffFILE",
}
BEHIND = {
    "after a backslash": b"a\\FILE",
    "after two backslashes": b"a\\b\\FILE",
    "after a backslash alone": b"\\FILE",
    "after a backslash, with a stream": b"a\\FILE :x\\y",
    "a short name after a backslash": b"a\\STEM~1",
    "a checksum after a backslash": b"a\\SUM~1 ",
}
NOT_BEHIND = {
    "after a backslash, as a folder": b"a\\FILE\\x",
    "after a backslash, a letter more": b"a\\FILEx",
    "after a backslash, with an ignored character": "a\\FILE\u200c".encode(),
    "after a backslash, before a slash": b"a\\FILE/x",
}


def spelled(form: bytes, file: bytes) -> bytes:
    """Return a form of the tables for one file."""
    _, stem, checksum = FILES[file]
    form = form.replace(b"CUT", checksum[:4]).replace(b"SUM", checksum)
    return form.replace(b"FILE", file).replace(b"STEM", stem)


def forms(*tables: dict[str, bytes]) -> dict[str, tuple[bytes, bytes]]:
    """Return (file, name) of each form for each file."""
    return {
        f"{file.decode()}, {case}": (file, spelled(form, file))
        for table in tables
        for case, form in table.items()
        for file in FILES
    }


@pytest.mark.parametrize("name", DOTGIT.values(), ids=DOTGIT)
def test_a_spelling_of_dotgit_is_known(name: bytes) -> None:
    assert dotnames.is_dotgit(name)


@pytest.mark.parametrize("name", NOT_DOTGIT.values(), ids=NOT_DOTGIT)
def test_a_neighbour_of_dotgit_is_let_pass(name: bytes) -> None:
    assert not dotnames.is_dotgit(name)


@pytest.mark.parametrize("point", HFS_IGNORED, ids=hex)
def test_what_hfs_ignores_is_ignored(point: int) -> None:
    assert dotnames.is_dotgit(f".g{chr(point)}it".encode())
    assert dotnames.is_dotgitmodules(f".git{chr(point)}modules".encode())


@pytest.mark.parametrize("point", HFS_KEPT, ids=hex)
def test_what_hfs_keeps_is_kept(point: int) -> None:
    assert not dotnames.is_dotgit(f".g{chr(point)}it".encode())
    assert not dotnames.is_dotgitmodules(f".git{chr(point)}modules".encode())


IS = forms(IS_FILE)
IS_NOT = forms(IS_NO_FILE, NOT_BEHIND)
IS_BEHIND = forms(BEHIND)


@pytest.mark.parametrize(("file", "name"), IS.values(), ids=IS)
def test_a_spelling_of_a_file_is_known(file: bytes, name: bytes) -> None:
    for changed in (name, name.upper(), name.swapcase()):
        assert FILES[file][0](changed)
        assert file in dotnames.aliases(changed)


@pytest.mark.parametrize(("file", "name"), IS_NOT.values(), ids=IS_NOT)
def test_a_neighbour_of_a_file_is_let_pass(file: bytes, name: bytes) -> None:
    assert not FILES[file][0](name)
    assert dotnames.aliases(name) == ()


@pytest.mark.parametrize(("file", "name"), IS_BEHIND.values(), ids=IS_BEHIND)
def test_after_a_backslash_git_looks_for_gitmodules_alone(file: bytes, name: bytes) -> None:
    assert FILES[file][0](name) is (file == b".gitmodules")
    assert dotnames.aliases(name) == (file,)


def test_a_number_alone_is_a_short_name_of_all_files() -> None:
    assert dotnames.aliases(b"~1000000") == dotnames.DOTFILES


SHORT = {
    "the second": b"git~2",
    "the ninth, in capitals": b"GIT~9",
    "the tenth": b"git~10",
    "the last of eight letters": b"git~9999",
    "with a dot": b"git~2.",
    "with a stream": b"git~2:x",
    "as a path": b"git~2\\config",
    "after a backslash": b"a\\git~3",
    "the checksum": b"gi2837~1",
    "the checksum in capitals": b"GI2837~2 ",
    "the checksum, cut for a longer number": b"gi283~12",
}
NOT_SHORT = {
    "what git knows": b"git~1",
    "what git knows, in capitals": b"GIT~1.",
    "number zero": b"git~0",
    "a number that begins with zero": b"git~02",
    "no number": b"git~",
    "a letter": b"git~a",
    "nine letters": b"git~10000",
    "a letter more": b"git~2x",
    "another checksum": b"gi7eba~1",
    "a backup file": b"git~",
    "a dot before": b".git~2",
}


@pytest.mark.parametrize("name", SHORT.values(), ids=SHORT)
def test_another_short_name_of_dotgit_is_known(name: bytes) -> None:
    # PF5
    assert dotnames.is_short_dotgit(name)
    assert not dotnames.is_dotgit(name)


@pytest.mark.parametrize("name", NOT_SHORT.values(), ids=NOT_SHORT)
def test_a_neighbour_of_a_short_name_is_let_pass(name: bytes) -> None:
    assert not dotnames.is_short_dotgit(name)


def checksum(name: str) -> str:
    """Return the four digits that NTFS puts into a short name once ~4 is taken."""
    total = 0
    for letter in name:
        total = (total * 37 + ord(letter)) & 0xFFFF
    mixed = total * 314159269 & 0xFFFFFFFF
    mixed = abs(mixed - (mixed >> 31 << 32))
    return f"{(mixed - (mixed * 1152921497 >> 60) * 1000000007) & 0xFFFF:04x}"[::-1]


def test_the_checksum_of_dotgit_is_made_like_those_in_git() -> None:
    for file, (is_file, _, known) in FILES.items():
        assert checksum(file.decode()) == known[-4:].decode()
        assert is_file(known + b"~1")
    assert dotnames.is_short_dotgit(f"gi{checksum('.git')}~1".encode())
