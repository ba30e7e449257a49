"""Targets of symbolic links: what is wrong anywhere, how high they climb (A13, PG10)."""

from __future__ import annotations

import pytest

from packparse import links, pathcodes
from packparse.codes import ERROR, IGNORE, POLICY, Code

ABSOLUTE = pathcodes.SYMLINK_ABSOLUTE
INTO_GIT = pathcodes.SYMLINK_INTO_GIT
BAD = pathcodes.SYMLINK_BAD_TARGET
TOO_LONG = pathcodes.SYMLINK_TOO_LONG


def codes_of(target: bytes) -> list[Code]:
    return [oddity.code for oddity in links.read_target(target).oddities]


# --- wherever the link stands -------------------------------------------------------------------

HOSTILE = {
    "the root": (b"/", ABSOLUTE),
    "a file of the system": (b"/etc/passwd", ABSOLUTE),
    "two slashes": (b"//server/share", ABSOLUTE),
    "a backslash": (b"\\windows", ABSOLUTE),
    "a share on Windows": (b"\\\\server\\share", ABSOLUTE),
    "a device path on Windows": (b"\\\\?\\C:\\x", ABSOLUTE),
    "a drive": (b"C:\\x", ABSOLUTE),
    "a drive in small letters, with a slash": (b"c:/x", ABSOLUTE),
    "the folder that a drive is in": (b"D:x", ABSOLUTE),
    "a drive that is a digit (CVE-2019-1351)": (b"1:c", ABSOLUTE),
    "a drive that is no ASCII (CVE-2019-1351)": ("\u00e9:c".encode(), ABSOLUTE),
    "the repository": (b".git", INTO_GIT),
    "its hooks": (b".git/hooks", INTO_GIT),
    "its hooks from a folder": (b"../.git/hooks/post-checkout", INTO_GIT),
    "the repository of a submodule": (b"sub/.git/config", INTO_GIT),
    "its last part": (b"sub/.git", INTO_GIT),
    "a slash at the end": (b".git/", INTO_GIT),
    "capitals": (b"x/.GIT/hooks", INTO_GIT),
    "a backslash before": (b"x\\.git\\hooks", INTO_GIT),
    "both separators": (b"x/y\\.git/hooks", INTO_GIT),
    "a short name of NTFS": (b"git~1/hooks", INTO_GIT),
    "a short name where others are taken": (b"git~2/hooks", INTO_GIT),
    "a stream of NTFS": (b".git::$INDEX_ALLOCATION/hooks", INTO_GIT),
    "dots and spaces that NTFS ignores": (b".git . /hooks", INTO_GIT),
    "nothing": (b"", BAD),
    "a line feed": (b"x\ny", BAD),
    "a line feed at the end": (b"x\n", BAD),
    "an escape": (b"\x1b[2Jx", BAD),
    "DEL": (b"x\x7f", BAD),
    "a control of the second set": ("x\x9b31m".encode(), BAD),
    "a NUL": (b"x\0y", BAD),
    "a NUL at the end": (b"x\0", BAD),
    "text turned around": ("a\u202etxt.sh".encode(), BAD),
    "an isolate": ("a\u2066b".encode(), BAD),
    "a character of no width": ("a\u200bb".encode(), BAD),
    "a word joiner": ("a\u2060b".encode(), BAD),
    "a soft hyphen": ("a\u00adb".encode(), BAD),
    "a byte order mark": ("\ufeffa".encode(), BAD),
    "a filler that shows nothing": ("\u3164".encode(), BAD),
    "a tag character": ("a\U000e0041".encode(), BAD),
    "a selector behind a letter": ("a\ufe0f".encode(), BAD),
    "a blank of Braille": ("\u2800".encode(), BAD),
    "one byte more than a path may have": (b"x" * 4096, TOO_LONG),
    "one byte more with its slashes": (b"abc/" * 1024, TOO_LONG),
    "a mebibyte": (b"x" * (1 << 20), TOO_LONG),
}
HONEST = {
    "a neighbour": b"x",
    "a neighbour by way of its own folder": b"./x",
    "a file in a folder": b"a/b/c.txt",
    "a folder, with a slash at its end": b"a/",
    "a slash too many": b"a//b",
    "its own folder": b".",
    "the folder above": b"..",
    "a file beside the folder": b"../x",
    "a colon after two letters": b"ab:c",
    "a colon after two digits": b"10:c",
    "a colon first": b":x",
    "a letter and a slash, then a colon": b"a/b:c",
    "a name that begins like .git": b".github/workflows",
    "the file that git ignores by": b".gitignore",
    "a name that ends like .git": b"x.git/y",
    "git without its dot": b"git/x",
    "a short name of another file": b"gitab~1",
    "a backslash in a name": b"a\\b",
    "a space and letters that are no ASCII": "caf\u00e9 \u6f22\u5b57".encode(),
    "bytes that are no UTF-8": b"caf\xe9",
    "a picture": "\U0001f600".encode(),
    "a picture and which of its shapes is meant": "\u2764\ufe0f.svg".encode(),
    "two dots within a name": b"a..b",
    "three dots": b".../x",
    "as much as a path may have": b"x" * 4095,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_target_has_one_fault(name: str) -> None:
    target, code = HOSTILE[name]
    assert codes_of(target) == [code]


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_target_has_none(name: str) -> None:
    assert codes_of(HONEST[name]) == []


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (ABSOLUTE, "symlinkAbsolute"),
        (INTO_GIT, "symlinkIntoGit"),
        (BAD, "symlinkBadTarget"),
        (TOO_LONG, "symlinkTooLong"),
    ],
)
def test_names_and_severities(code: Code, name: str) -> None:
    assert code.name == name
    assert code.klass == POLICY
    assert (code.severity("candidate"), code.severity("git")) == (ERROR, IGNORE)


def test_a_target_may_have_several_faults() -> None:
    assert codes_of(b"/x/.git/\n" + b"y" * 5000) == [TOO_LONG, BAD, ABSOLUTE, INTO_GIT]


def test_a_character_that_hfs_ignores_hides_neither_itself_nor_the_name() -> None:
    for target in (".g\u200cit/hooks", "x\\.g\u200cit"):
        assert codes_of(target.encode()) == [BAD, INTO_GIT]


def test_a_target_is_looked_at_beyond_what_most_systems_take() -> None:
    found = links.read_target(b"x/" * 20_000 + b"../" * 5_000 + b".git")
    assert [oddity.code for oddity in found.oddities] == [TOO_LONG, INTO_GIT]
    assert found.through == (b"x",)


def test_what_stands_behind_a_nul_is_no_part_of_the_name_before() -> None:
    # The system reads `.git` and `..` alone.
    assert INTO_GIT in codes_of(b".git\0x")
    assert links.read_target(b"..\0x").climbs == 1


# --- climbs and through -------------------------------------------------------------------------

CLIMBS = {
    "nothing": (b"", 0, ()),
    "a neighbour": (b"x", 0, ()),
    "the folder of the link": (b".", 0, ()),
    "the folder above": (b"..", 1, ()),
    "a file beside the folder": (b"../x", 1, ()),
    "two folders up": (b"../../x", 2, ()),
    "up, with dots between": (b"./../..", 2, ()),
    "up, with slashes too many": (b"..//..//x", 2, ()),
    "up and a slash at the end": (b"../", 1, ()),
    "back over a name": (b"a/../b", 0, (b"a",)),
    "back over the only name": (b"a/..", 0, (b"a",)),
    "back over a name and further": (b"a/../../b", 1, (b"a",)),
    "back over a name that a dot follows": (b"a/./../b", 0, (b"a",)),
    "back over two names": (b"a/b/../../c", 0, (b"b", b"a")),
    "back over the second name alone": (b"a/b/../c", 0, (b"b",)),
    "back over one name twice": (b"a/../a/../b", 0, (b"a",)),
    "back over two names, one after the other": (b"a/../b/../c", 0, (b"a", b"b")),
    "up, and back over a name": (b"../a/../b", 1, (b"a",)),
    "up again behind a name": (b"../a/../../b", 2, (b"a",)),
    "down and up to where it was": (b"../a/b/c", 1, ()),
    "three dots, which are a name": (b".../../x", 0, (b"...",)),
    "two dots and a letter": (b"..a/x", 0, ()),
    "up by a backslash": (b"..\\x", 1, ()),
    "up by both separators": (b"..\\../x", 2, ()),
    "up on Windows, which drops a space": (b".. /x", 1, ()),
    "up on Windows, which drops spaces and dots": (b"a/.. . /.. ./x", 1, (b"a",)),
    "nowhere on Windows, which drops a space": (b". /../../y", 2, (b". ",)),
    "two dots and a space within a name": (b".. a/x", 0, ()),
    "back by a backslash": (b"a\\..\\b", 0, (b"a",)),
    "a backslash in a name, read as one name": (b"a\\b/../../x", 1, (b"a\\b", b"b", b"a")),
    "two dots behind a backslash": (b"a/x\\..\\..\\..", 1, (b"x", b"a")),
    "a name behind a NUL, which no system reads": (b"a\0/../../..", 0, ()),
}  # fmt: skip


@pytest.mark.parametrize("name", CLIMBS)
def test_a_target_climbs_as_its_letters_say(name: str) -> None:
    target, climbs, through = CLIMBS[name]
    found = links.read_target(target)
    assert (found.climbs, found.through) == (climbs, through)


def test_an_absolute_target_is_read_as_well() -> None:
    # The finding is let pass by some policies; what is said of the rest is as if there were none.
    assert links.read_target(b"/a/../../x").climbs == 1


# --- details, messages, cost --------------------------------------------------------------------


def details(target: bytes) -> set[bytes]:
    return {oddity.detail for oddity in links.read_target(target).oddities}


@pytest.mark.parametrize("target", [b"/etc/passwd", b".git\n", b"/" + b"x" * 4095])
def test_the_detail_is_the_target(target: bytes) -> None:
    assert details(target) == {target}


def test_a_long_detail_is_cut_and_still_tells_targets_apart() -> None:
    one, other = (b"/" + b"x" * 10_000 + end for end in (b"1", b"2"))
    assert details(one) != details(other)
    assert {len(detail) for detail in details(one) | details(other)} == {4096}
    (detail,) = details(one)
    assert detail.startswith(b"/xxx")


@pytest.mark.parametrize(
    "target", [b"\x1b[31m" * 2000, b"/" + "\u202e".encode() * 100, b"\xff/.git", b"", b"/\0"]
)
def test_messages_are_short_and_printable(target: bytes) -> None:
    for oddity in links.read_target(target).oddities:
        assert len(oddity.message) < 1100
        assert oddity.message.isascii()
        assert oddity.message.isprintable()


def test_messages_say_what_is_wrong() -> None:
    messages = [oddity.message for oddity in links.read_target(b"/a/.git").oddities]
    assert messages == [
        "the target /a/.git is absolute",
        "the target /a/.git leads into .git, or a name that may stand for it",
    ]
    assert [oddity.message for oddity in links.read_target(b"").oddities] == ["the target is empty"]


MEBIBYTE = 1 << 20


@pytest.mark.parametrize(
    "piece", [b"/", b"../", b"a/../", b"a\\..\\", b".git/", b".git", b"git~2", b"\xe2\x80", b"\0"]
)
def test_a_mebibyte_of_any_shape_is_read_in_linear_time(piece: bytes) -> None:
    found = links.read_target(piece * (MEBIBYTE // len(piece)))
    assert found.oddities[0].code is TOO_LONG
    assert len(found.oddities) <= 4
