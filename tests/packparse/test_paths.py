"""What is odd about single names of a tree, and which names of one tree collide."""

from __future__ import annotations

import itertools
import random
import re
import unicodedata

import pytest

from packparse import pathcodes as codes
from packparse import paths
from packparse.codes import ERROR, Code
from packparse.escape import quote
from packparse.oddity import Oddity
from packparse.signs import PLAIN_NAME
from tests.packparse.test_dotnames import BEHIND, DOTGIT, FILES, IS_FILE, SHORT, spelled

FILE = 0o100644
LINK = 0o120000
FOLDER = 0o040000
SUBMODULE = 0o160000
MODES = {"file": FILE, "program": 0o100755, "link": LINK, "folder": FOLDER, "submodule": SUBMODULE}


def found(name: bytes, mode: int = FILE) -> set[str]:
    return {oddity.code.name for oddity in paths.name_oddities(name, mode)}


# --- single names -------------------------------------------------------------------------------

# Of each code, hostile names and honest neighbours.
Cases = dict[str, bytes]
RULES: dict[Code, tuple[Cases, Cases]] = {
    codes.FULL_PATHNAME: (
        {"a slash": b"a/b", "a slash alone": b"/", "a slash last": b"a/"},
        {"no slash": b"ab", "a backslash": b"a\\b", "a division slash": "a\u2215b".encode()},
    ),
    codes.EMPTY_NAME: ({"nothing": b""}, {"a letter": b"a", "a space": b" "}),
    codes.HAS_DOT: ({"a dot": b"."}, {"two dots": b"..", "a dot and a letter": b".a"}),
    codes.HAS_DOTDOT: (
        {"two dots": b".."},
        {"a dot": b".", "three dots": b"...", "two dots and a letter": b"..a"},
    ),
    codes.HAS_DOTGIT: (
        DOTGIT,
        {"a usual folder": b".github", "no dot": b"git", "the second short name": b"git~2"},
    ),
    codes.LARGE_PATHNAME: ({"4,097 bytes": b"n" * 4097}, {"4,096 bytes": b"n" * 4096}),
    codes.BACKSLASH_TRAVERSAL: (
        {
            "up and into git (CVE-2019-1354)": b"a\\..\\..\\.git\\x",
            "first": b"..\\a",
            "last": b"a\\..",
            "with spaces and dots that Windows drops": b"a\\.. .\\b",
            "before a slash": b"../a\\b",
        },
        {
            "dots in a name": b"a\\b..c",
            "dots before a name": b"a\\..b",
            "dots after a name": b"a..\\b",
            "a slash and no backslash": b"../a",
            "one dot": b"a\\.\\b",
        },
    ),
    codes.CONTROL_IN_NAME: (
        {
            "a newline": b"a\nb",
            "a tab": b"a\tb",
            "a carriage return last": b"a\r",
            "an escape sequence": b"\x1b[31m",
            "the first control": b"\x01",
            "the last control": b"\x1f",
            "DEL": b"a\x7f",
            "the first of C1": "a\x80".encode(),
            "the C1 that begins sequences": "\x9b31m".encode(),
            "the last of C1": "\x9fa".encode(),
        },
        {
            "a space": b"a b",
            "a no-break space": "a\xa0b".encode(),
            "a tilde": b"a~",
            "letters with bytes like C1": "\u0142\u0680\u4080".encode(),
        },
    ),
    codes.WINDOWS_DEVICE_NAME: (
        {
            "CON": b"CON",
            "a mixed case": b"cOn",
            "PRN": b"prn",
            "AUX with an extension": b"aux.c",
            "NUL with an extension": b"nul.txt",
            "with two extensions": b"nul.tar.gz",
            "with a space": b"nul ",
            "with spaces and an extension": b"con  .txt",
            "with a stream": b"con:x",
            "COM1": b"com1",
            "COM9": b"COM9.log",
            "a raised one": "com\u00b9".encode(),
            "a raised three": "LPT\u00b3.x".encode(),
            "LPT0": b"lpt0",
            "LPT9": b"lpt9",
            "CONIN$": b"CONIN$",
            "CONOUT$": b"conout$.txt",
            "after a backslash": b"a\\nul",
            "before a backslash": b"nul\\a",
        },
        {
            "a word": b"console",
            "an extension": b"a.con",
            "a word of Latin": b"auxilium.c",
            "a digit too many": b"com12",
            "a number zero": b"com0",
            "no digit": b"lpt",
            "a raised four": "com\u2074".encode(),
            "a space, then a letter": b"con x",
            "a dollar": b"con$",
            "a dash": b"nul-x",
        },
    ),
    codes.WINDOWS_FORBIDDEN_NAME: (
        {
            **{f"the character {c}": b"a" + c.encode() + b"b" for c in '<>:"|?*\\'},
            "a stream": b"a:b",
            "a dot last": b"a.",
            "a space last": b"a ",
            "three dots": b"...",
            "a space alone": b" ",
        },
        {
            "a dot inside": b"a.b",
            "a space inside": b"a b",
            "a space first": b" a",
            "a dot, which has its own code": b".",
            "two dots, which have their own code": b"..",
            "what shells read and file systems take": b"a;b&c'd`e(f)[g]{h}#i%j!k=l@m+n,o^p$q~",
        },
    ),
    codes.SHORT_NAME_ALIAS: (
        SHORT,
        {"the first, which git knows": b"git~1", "a backup": b"git~", "a word": b"git2"},
    ),
    codes.NOT_UTF8_NAME: (
        {
            "Latin-1": b"caf\xe9",
            "half a character": b"a\xe2\x82",
            "overlong": b"\xc0\xae\xc0\xae",
            "a surrogate": b"\xed\xa0\x80",
            "past the last code point": b"\xf4\x90\x80\x80",
        },
        {"UTF-8": "caf\u00e9".encode(), "past the first plane": "\U0001f600".encode()},
    ),
    codes.DASH_NAME: (
        {"an option": b"-rf", "a long option": b"--help", "a dash": b"-"},
        {"a dash inside": b"a-b", "a dash last": b"a-", "another dash": "\u2013a".encode()},
    ),
    codes.GITMODULES_ALIAS: (
        {
            "capitals": b".GitModules",
            "a short name": b"gi7eba~1",
            "after a backslash": b"a\\.gitmodules",
            "an ignored character": ".gitmod\u200cules".encode(),
            "a long s, which APFS folds": ".gitmodule\u017f".encode(),
            "a character that ext4 ignores": ".git\u00admodules".encode(),
        },
        {"the name itself": b".gitmodules", "a letter more": b".gitmodules2"},
    ),
    codes.GITATTRIBUTES_ALIAS: (
        {
            "capitals": b".GITATTRIBUTES",
            "a short name": b"gitatt~1",
            "after a backslash (PF7)": b"a\\.gitattributes",
            "a long s, which APFS folds": ".gitattribute\u017f".encode(),
        },
        {"the name itself": b".gitattributes", "in a stream": b"x:.gitattributes"},
    ),
    codes.DOTFILE_ALIAS: (
        {
            "capitals": b".gitIgnore",
            "a dot last": b".mailmap.",
            "after a backslash (PF7)": b"a\\.gitignore",
            "another after a backslash (PF7)": b"a\\maba30~1",
        },
        {"a name itself": b".gitignore", "the other": b".mailmap", "no dot": b"mailmap"},
    ),
}
HOSTILE = {
    f"{code.name}: {k}": (code, n) for code, (bad, _) in RULES.items() for k, n in bad.items()
}
HONEST = {f"{code.name}: {k}": (code, n) for code, (_, ok) in RULES.items() for k, n in ok.items()}


@pytest.mark.parametrize(("code", "name"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_odd_whatever_its_mode(code: Code, name: bytes) -> None:
    # PF1 to PF9, PF13 to PF15, PF20
    for mode in MODES.values():
        oddities = [oddity for oddity in paths.name_oddities(name, mode) if oddity.code is code]
        assert [oddity.detail for oddity in oddities] == [name]
        message = oddities[0].message
        assert message.isascii()
        assert message.isprintable()
        assert len(message) < 1000
        assert quote(name[:60]).strip('"') in message


@pytest.mark.parametrize(("code", "name"), HONEST.values(), ids=HONEST)
def test_an_honest_neighbour_is_not(code: Code, name: bytes) -> None:
    for mode in MODES.values():
        assert code.name not in found(name, mode)


PLAIN = rb"""
a README.md Makefile main.c .travis.yml .github .gitlab-ci.yml ..a a.b.c x86_64 C++ [id] .gitkeep
@types #notes# page(1).html a=b,c {x} it's 100% con2 common prn2 auxiliary nullable.h com.py lpt
gitk git mailmap .mail .gitattributes2 LICENSE^2 `x` !x; &x
""".split()
PLAIN += [b"a b", b" a", b"n" * 255]


def is_plain(name: bytes) -> bool:
    return re.fullmatch(PLAIN_NAME, name, re.DOTALL) is not None


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_name_is_plain(name: bytes) -> None:
    assert is_plain(name)
    assert [found(name, mode) for mode in MODES.values()] == [set()] * len(MODES)


@pytest.mark.parametrize(
    "text",
    [
        "\u00e4.txt",
        "\u65e5\u672c\u8a9e.md",
        "\u0627\u0644.c",
        "n\u0303",
        "\u2764\ufe0f.svg",
        "1\ufe0f\u20e3.png",
    ],
)
def test_names_in_all_languages_are_honest(text: str) -> None:
    assert found(text.encode()) == set()


@pytest.mark.parametrize("name", [b".gitmodules", b".gitattributes", b".gitignore", b".mailmap"])
def test_a_file_that_git_reads_is_not_plain_and_not_odd(name: bytes) -> None:
    assert not is_plain(name)
    assert found(name) == set()


def test_all_that_is_odd_about_a_name_is_said() -> None:
    name = b"-a\\..\\con\n"
    assert found(name) == {
        "backslashTraversal", "controlInName", "dashName", "windowsForbiddenName",
    }  # fmt: skip
    assert found(name[:-1]) == {
        "backslashTraversal", "dashName", "windowsDeviceName", "windowsForbiddenName",
    }  # fmt: skip


# --- links --------------------------------------------------------------------------------------

SYMLINK_CODES = {
    b".gitmodules": "gitmodulesSymlink",
    b".gitattributes": "gitattributesSymlink",
    b".gitignore": "gitignoreSymlink",
    b".mailmap": "mailmapSymlink",
}
LINKS = {
    f"{file.decode()}, {case}": (file, spelled(form, file))
    for file in FILES
    for case, form in IS_FILE.items()
}


@pytest.mark.parametrize(("file", "name"), LINKS.values(), ids=LINKS)
def test_a_file_that_git_reads_must_be_no_link(file: bytes, name: bytes) -> None:
    # PG1, PG2, A14
    for mode in MODES.values():
        assert (SYMLINK_CODES[file] in found(name, mode)) is (mode == LINK)


@pytest.mark.parametrize("mode", [0o120000, 0o120777, 0o120644])
def test_a_link_is_one_whatever_its_other_bits(mode: int) -> None:
    assert found(b".gitmodules", mode) == {"gitmodulesSymlink"}


@pytest.mark.parametrize("form", BEHIND.values(), ids=BEHIND)
def test_after_a_backslash_git_looks_at_links_for_gitmodules_alone(form: bytes) -> None:
    for file, code in SYMLINK_CODES.items():
        assert (code in found(spelled(form, file), LINK)) is (file == b".gitmodules")


# --- characters that no reader sees -------------------------------------------------------------

UNSEEN = [
    0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x2028, 0x2029, 0x2800, 0x3164,
    0xFEFF, 0xFFA0, 0xFFF0, 0xFFF8, 0xFFF9, 0xFFFA, 0xFFFB, 0x1BCA0, 0x1BCA3, 0x1D173, 0x1D17A,
    0xE0000, 0xE0001, 0xE0020, 0xE003F, 0xE0040, 0xE007F, 0xE00FF, 0xE01F0, 0xE0FFF,
    *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070),
]  # fmt: skip
SEEN = [
    0x00AC, 0x00AE, 0x034E, 0x0350, 0x061B, 0x061D, 0x115E, 0x1161, 0x17B3, 0x17B6, 0x180A, 0x1810,
    0x200A, 0x2010, 0x2027, 0x202F, 0x205F, 0x2070, 0x27FF, 0x2801, 0x3000, 0x3163, 0x3165, 0xFEFE,
    0xFF9F, 0xFFA1, 0xFFEF, 0xFFFC, 0xFFFD, 0x1BC9F, 0x1BCA4, 0x1D172, 0x1D17B, 0xDFFFF, 0xE1000,
]  # fmt: skip
SELECTORS = [0x180B, 0x180C, 0x180D, 0x180F, 0xFE00, 0xFE0F, 0xE0100, 0xE013F, 0xE0140, 0xE01EF]


@pytest.mark.parametrize("point", UNSEEN, ids=hex)
def test_a_character_that_no_reader_sees_is_deceptive(point: int) -> None:
    # PF13
    for text in ("a%sb", "%sb", "a%s", "\u00e4%s\u00e4"):
        name = (text % chr(point)).encode()
        assert "deceptiveName" in found(name)


@pytest.mark.parametrize("point", SEEN, ids=hex)
def test_its_neighbours_are_not(point: int) -> None:
    assert "deceptiveName" not in found(f"a{chr(point)}b".encode())


@pytest.mark.parametrize("point", SELECTORS, ids=hex)
def test_a_selector_is_deceptive_where_it_selects_nothing(point: int) -> None:
    selector = chr(point)
    for text in (f"a{selector}", f"{selector}a", f"\u2764{selector}{selector}", f".g{selector}it"):
        assert "deceptiveName" in found(text.encode())
    for text in (f"\u2764{selector}", f"\u2764{selector}a\u2764{selector}", f"1{selector}\u20e3"):
        assert "deceptiveName" not in found(text.encode())


def test_the_order_of_what_is_shown_is_not_turned_round() -> None:
    # All characters with one of the bidirectional classes that do that.
    controls = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    points = [p for p in range(0x110000) if unicodedata.bidirectional(chr(p)) in controls]
    assert len(points) == 9
    assert all("deceptiveName" in found(f"a{chr(point)}b".encode()) for point in points)


def test_no_character_of_a_format_is_overlooked() -> None:
    # Those of Unicode's category Cf that have a shape of their own, or belong to letters.
    shown = {*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD}
    shown.update(range(0x13430, 0x13440))
    points = {p for p in range(0x110000) if unicodedata.category(chr(p)) == "Cf"} - shown
    assert len(points) > 140
    missed = {hex(p) for p in points if "deceptiveName" not in found(f"a{chr(p)}b".encode())}
    assert missed == set()


def test_dotgit_with_anything_unseen_in_it_is_an_error() -> None:
    # ext4 and APFS ignore more than git knows of.
    for point in [*UNSEEN, *SELECTORS]:
        name = f".g{chr(point)}it".encode()
        oddities = paths.name_oddities(name, FOLDER)
        assert any(oddity.code.severity("candidate") == ERROR for oddity in oddities)


# --- the quick path -----------------------------------------------------------------------------


def near_names() -> list[bytes]:
    """Return names of usual and unusual pieces, some plain and some not."""
    pieces = [
        b"a", b".", b"git", b".git", b"modules", b"~1", b" ", b"con", b"com1", b"-", b"ignore",
        b"\\", b"/", b":", b"\x7f", b"\n", b"\xc3\xa4", b"\xe2\x80\x8d", b"NUL", b"$", b"@",
    ]  # fmt: skip
    return [b"".join(parts) for n in range(4) for parts in itertools.product(pieces, repeat=n)]


def test_the_quick_path_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [*near_names(), *PLAIN, *(bytes([first, 97]) for first in range(1, 256))]
    names += [bytes([97, last]) for last in range(1, 256)]
    plain = [name for name in names if is_plain(name)]
    assert len(plain) > 300
    assert len(names) - len(plain) > 1000
    monkeypatch.setattr(paths, "_PLAIN", re.compile(rb"(?!)"))
    assert [name for name in plain if found(name) or found(name, LINK)] == []


def test_the_pattern_of_plain_names_fits_into_that_of_a_tree() -> None:
    entry = re.compile(rb"100644 (" + PLAIN_NAME + rb")\0", re.DOTALL)
    for name in [*near_names(), *PLAIN]:
        # Behind the NUL stands an id, which may begin like a name.
        for behind in (b"", b"a", b".", b"\0"):
            match = entry.match(b"100644 " + name + b"\0" + behind)
            assert (match is not None) is is_plain(name)
            assert match is None or match[1] == name


# --- folding ------------------------------------------------------------------------------------

SAME = {
    "case": (b"README", b"readme"),
    "a dot last": (b"a", b"a."),
    "dots and spaces last": (b"a. .", b"A"),
    "case beyond ASCII": ("\u00c4.txt".encode(), "\u00e4.TXT".encode()),
    "Greek sigmas": ("\u03a3\u03c3".encode(), "\u03c3\u03c2".encode()),
    "sharp s, as APFS folds it": ("stra\u00dfe".encode(), b"STRASSE"),
    "a ligature, as APFS folds it": ("\ufb01le".encode(), b"file"),
    "the sign of Kelvin": ("\u212a".encode(), b"k"),
    "the long s": ("\u017f".encode(), b"S"),
    "composed and decomposed": ("\u00e9".encode(), "e\u0301".encode()),
    "composed capitals and decomposed letters": ("\u1e69".encode(), "S\u0307\u0323".encode()),
    "marks in another order": ("a\u0301\u0316".encode(), "a\u0316\u0301".encode()),
    "a Greek mark that folds to a letter": ("\u03b1\u0345\u0301".encode(), "\u1fb4".encode()),
    "Hangul syllables and letters": ("\ud55c".encode(), "\u1112\u1161\u11ab".encode()),
    "a character that HFS ignores": ("a\u200cb".encode(), b"ab"),
    "a character that ext4 ignores": ("a\u00adb".encode(), b"ab"),
    "a selector": ("\u2764\ufe0f".encode(), "\u2764".encode()),
    "a dot before an ignored character": ("a.\u200d".encode(), b"a"),
    "case beside bytes that are no UTF-8": (b"\xffA", b"\xffa"),
    "case and an accent beside them": ("\u00c4".encode() + b"\xff", "a\u0308".encode() + b"\xff"),
    "case, in a name too long to fold": (b"N" * 2000 + b"\xc3\x84", b"n" * 2000 + b"\xc3\x84"),
}
APART = {
    "other letters": (b"a", b"b"),
    "a dot first": (b"a", b".a"),
    "a dot inside": (b"ab", b"a.b"),
    "a space inside": (b"ab", b"a b"),
    "an accent": ("\u00e9".encode(), b"e"),
    "a dotless i": ("\u0131".encode(), b"i"),
    "a fullwidth letter": ("\uff41".encode(), b"a"),
    "a raised two": ("x\u00b2".encode(), b"x2"),
    "marks that keep their order": ("a\u0301\u0300".encode(), "a\u0300\u0301".encode()),
    "other bytes that are no UTF-8": (b"\xfe", b"\xff"),
    "Latin-1 capitals": (b"\xc4", b"\xe4"),
    "a letter of another script": ("\u0430".encode(), b"a"),
    "a no-break space": ("\u00a0".encode(), b" "),
    "a line separator": ("a\u2028".encode(), b"a"),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_names_that_a_file_system_may_confuse_share_a_key(one: bytes, other: bytes) -> None:
    assert one != other
    assert paths.fold(one) == paths.fold(other)


@pytest.mark.parametrize(("one", "other"), APART.values(), ids=APART)
def test_other_names_do_not(one: bytes, other: bytes) -> None:
    assert paths.fold(one) != paths.fold(other)


def test_a_key_is_decomposed() -> None:
    letters = map(chr, [*range(0xD800), *range(0xE000, 0x20000)])
    cased = [letter for letter in letters if letter.casefold() != letter]
    assert len(cased) > 1000
    for letter in cased:
        assert unicodedata.is_normalized("NFD", paths.fold(letter.encode()).decode())


def test_the_key_of_plain_ascii_is_the_name_in_lower_case() -> None:
    assert [paths.fold(name) for name in PLAIN] == [name.lower() for name in PLAIN]


# --- collisions ---------------------------------------------------------------------------------

CASE = codes.CASE_COLLISION
NORMAL = codes.NORMALIZATION_COLLISION
OVER_LINK = codes.SYMLINK_DIRECTORY_COLLISION
Entries = list[tuple[int, bytes]]
E_COMPOSED, E_DECOMPOSED = "\u00e9".encode(), "e\u0301".encode()

COLLIDING: dict[str, tuple[Entries, Code]] = {
    "two files (PF10)": ([(FILE, b"A"), (FILE, b"a")], CASE),
    "a file and a folder": ([(FILE, b"A"), (FOLDER, b"a")], CASE),
    "two folders": ([(FOLDER, b"A"), (FOLDER, b"a")], CASE),
    "a file and a link": ([(FILE, b"A"), (LINK, b"a")], CASE),
    "two links": ([(LINK, b"A"), (LINK, b"a")], CASE),
    "a file and a submodule": ([(FILE, b"A"), (SUBMODULE, b"a")], CASE),
    "a link and a folder (PF11, CVE-2021-21300)": ([(LINK, b"A"), (FOLDER, b"a")], OVER_LINK),
    "a folder and a link": ([(FOLDER, b"A"), (LINK, b"a")], OVER_LINK),
    "a link and a submodule (CVE-2024-32002)": ([(LINK, b"A"), (SUBMODULE, b"a")], OVER_LINK),
    "a link and what git takes for a submodule": ([(LINK, b"A"), (0o170000, b"a")], OVER_LINK),
    "a link and a folder, in normal forms": (
        [(LINK, E_DECOMPOSED), (FOLDER, E_COMPOSED)],
        OVER_LINK,
    ),
    "a link and a folder of one name": ([(LINK, b"a"), (FOLDER, b"a")], OVER_LINK),
    "normal forms (PF12)": ([(FILE, E_DECOMPOSED), (FILE, E_COMPOSED)], NORMAL),
    "normal forms and case": ([(FILE, E_DECOMPOSED), (FILE, "\u00c9".encode())], NORMAL),
    "what HFS ignores": ([(FILE, b"ab"), (FILE, "a\u200db".encode())], NORMAL),
    "a dot that Windows drops": ([(FILE, b"a"), (FILE, b"a.")], NORMAL),
    "a space that Windows drops": ([(FILE, b"a"), (FILE, b"a ")], NORMAL),
    "case beyond ASCII": ([(FILE, "\u00c9".encode()), (FILE, E_COMPOSED)], CASE),
    "case that changes the length": ([(FILE, b"SS"), (FILE, "\u00df".encode())], CASE),
    "three names, a link among them": (
        [(FILE, b"AA"), (FOLDER, b"Aa"), (LINK, b"aa")],
        OVER_LINK,
    ),
    "a third name that differs by more than case": (
        [(FILE, b"A"), (FILE, b"a"), (FILE, b"a.")],
        NORMAL,
    ),
}
STANDING: dict[str, Entries] = {
    "no names": [],
    "one name": [(FILE, b"a")],
    "two names": [(FILE, b"a"), (FILE, b"b")],
    "an empty name": [(FILE, b""), (FILE, b"a")],
    "one name twice, which has its own code": [(FILE, b"a"), (FOLDER, b"a")],
    "one name twice, beyond ASCII": [(FILE, E_COMPOSED), (FOLDER, E_COMPOSED)],
    "a link and a folder": [(LINK, b"a"), (FOLDER, b"b")],
    "names beyond ASCII": [(FILE, E_COMPOSED), (FILE, b"e"), (FILE, b"E\xff")],
    "a dot last": [(FILE, b"a."), (FILE, b"b")],
    "one name begins with the other": [(FILE, b"a"), (FILE, b"A.c")],
}


def collided(entries: Entries) -> list[Oddity]:
    """The collisions, whose groups are those that the names say."""
    folds = [paths.fold(name) for _mode, name in entries]
    found = list(paths.collisions(entries, folds))
    for oddity, group in found:
        assert len(group) > 1
        names = {entries[number][1] for number in group}
        if not oddity.detail.startswith(b"\0"):
            assert b"\0".join(sorted(names)) == oddity.detail
    return [oddity for oddity, _group in found]


@pytest.mark.parametrize(("entries", "code"), COLLIDING.values(), ids=COLLIDING)
def test_names_collide(entries: Entries, code: Code) -> None:
    names = sorted({name for _, name in entries})
    # Other names beside them make no difference, nor does the order.
    others = [(FILE, b"x"), (FOLDER, b"y"), (LINK, b"z"), (FOLDER, "\u00fc".encode())]
    for listed in (entries, entries[::-1], [*others[:2], *entries, *others[2:]]):
        (oddity,) = collided(listed)
        assert oddity.code is code
        assert oddity.detail == b"\0".join(names)
        assert all(quote(name) in oddity.message for name in names)
        assert oddity.message.isascii()
        assert oddity.message.isprintable()


@pytest.mark.parametrize("entries", STANDING.values(), ids=STANDING)
def test_names_stand_beside_each_other(entries: Entries) -> None:
    assert collided(entries) == []


def test_each_group_is_one_oddity() -> None:
    entries = [(FILE, name) for name in (b"A", b"B", b"a", b"b", b"c")]
    assert [o.detail for o in collided(entries)] == [b"A\0a", b"B\0b"]


def many_cases(count: int) -> list[bytes]:
    """Return so many names that differ in case alone."""
    pairs = zip(b"abcdefghijklmnopq", b"ABCDEFGHIJKLMNOPQ", strict=True)
    return [bytes(letters) for letters in itertools.islice(itertools.product(*pairs), count)]


def test_a_group_of_many_names_is_told_in_few_words() -> None:
    names = many_cases(100_000)
    entries = [(FILE, name) for name in names]
    (oddity,) = collided(entries)
    assert len(oddity.detail) == 65
    assert oddity.detail[:1] == b"\0"
    assert len(oddity.message) < 300
    assert oddity.message.endswith(" and 99997 more")
    random.Random(1).shuffle(entries)
    assert collided(entries) == [oddity]
    # Another group of as many names is another oddity.
    assert collided(entries[1:])[0].detail != oddity.detail


def test_long_names_that_collide_are_cut_in_the_message() -> None:
    names = [b"\xff" * 400 + last for last in (b"a", b"A")]
    (oddity,) = collided([(FILE, name) for name in names])
    assert oddity.detail == b"\0".join(sorted(names))
    assert len(oddity.message) < 1000
    longer = [(FILE, b"\xff" * 40_000 + last) for last in (b"a", b"A")]
    assert len(collided(longer)[0].detail) == 65


# --- hostile bytes ------------------------------------------------------------------------------

SIZE = 1 << 20
REPEATED = [
    b"a", b".", b" ", b"\\", b"/", b":", b"~", b"-", b"\xff", b"\xc2", b"\n", b"\\..", b"\\.git ",
    b"\\git~", b"\\gi7eba~1", b"/con ", b"\xe2\x80\x8c", b"\xef\xb8\x8f", b"\xcc\x81\xcc\x96",
    b"\xef\xbf\xbe", b"\xf3\xa0\x80\x80",
]  # fmt: skip


@pytest.mark.parametrize("piece", REPEATED, ids=repr)
@pytest.mark.heavy
def test_a_name_of_a_mebibyte_is_judged_in_linear_time(piece: bytes) -> None:
    # Were the time quadratic, this would take minutes and more.
    for name in (piece * (SIZE // len(piece)), b".git" + piece * (SIZE // len(piece)) + b"x"):
        assert "largePathname" in found(name, LINK)
        assert paths.fold(name) is not None
        assert collided([(FILE, name), (FILE, name.upper() + b".")])


def test_a_message_says_which_character_is_meant() -> None:
    messages = {o.code.name: o.message for o in paths.name_oddities(b"\xe2\x80\x8ba\x01", FILE)}
    assert "(U+0001)" in messages["controlInName"]
    assert "(U+200B)" in messages["deceptiveName"]
