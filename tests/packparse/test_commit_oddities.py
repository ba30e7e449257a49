"""All that can be wrong with the headers and the text of a commit, in git's words or in ours."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from packparse import checks, codes
from packparse.objects import commit
from tests.support.packs import IDENT, commit_bytes, tag_bytes


def oid(number: int, width: int = 20) -> bytes:
    return bytes([number]) * width


SIGNATURE = b"""\
-----BEGIN PGP SIGNATURE-----

iQIzBAABCAAdFiEEkYg+Eeg9wp0UEE207dRDWQkwVu4FAmpRB8sACgkQ7dRDWQkw
=abcd
-----END PGP SIGNATURE-----
"""


def header(name: bytes, value: bytes) -> bytes:
    """A header as git writes it: lines after the first begin with a space."""
    lines = value.removesuffix(b"\n").split(b"\n")
    return name + b" " + b"\n ".join(lines) + b"\n"


def made(
    extra: bytes = b"",
    *,
    author: bytes | None = IDENT,
    committer: bytes | None = IDENT,
    message: bytes = b"message\n",
) -> bytes:
    """A commit with one parent; ``extra`` are headers behind the committer."""
    parents = [oid(1)]
    return commit_bytes(
        oid(0xAB), parents, author=author, committer=committer, extra=extra, message=message
    )


def named(name: str) -> bytes:
    return name.encode() + b" <a@x> 1700000000 +0000"


def odd(data: bytes, width: int = 20) -> list[tuple[str, bytes]]:
    """The oddities as (code, detail), in their order; both ways to find them must agree."""
    found = commit.oddities(data, width)
    assert found == commit.oddities_exactly(data, width)
    assert found == commit.oddities(bytearray(data), width)
    assert len(set(found)) == len(found)
    for oddity in found:
        assert oddity.message.isascii()
        assert oddity.message.isprintable()
        assert len(oddity.message) < 1_200
        assert len(oddity.detail) <= 200
    return [(oddity.code.name, oddity.detail) for oddity in found]


GPGSIG = header(b"gpgsig", SIGNATURE)
MERGED = tag_bytes(oid(1), message=b"v1\n" + SIGNATURE)
TREE_LINE = b"tree " + oid(0xAB).hex().encode() + b"\n"
PARENT_LINE = b"parent " + oid(1).hex().encode() + b"\n"
AUTHOR_LINE = b"author " + IDENT + b"\n"
COMMITTER_LINE = b"committer " + IDENT + b"\n"

HONEST = {
    "one parent": made(),
    "no parent": commit_bytes(oid(0xAB)),
    "two parents": commit_bytes(oid(0xAB), [oid(1), oid(2)]),
    "sixty-six parents": commit_bytes(oid(0xAB), [oid(n + 1) for n in range(66)]),
    "no message": made(message=b""),
    "no empty line and no message": made().removesuffix(b"\nmessage\n"),
    "a message of empty lines": made(message=b"\n\n\n"),
    "a message without a last line feed": made(message=b"message"),
    "tabs and form feeds in the message": made(message=b"a\tb\n\fc\n"),
    "a message that ends its lines in CR LF": made(message=b"a\r\n\r\nb\r\n"),
    "a message that ends a line in CR CR LF": made(message=b"a\r\r\nb\r"),
    "a message that looks like headers": made(
        message=TREE_LINE + PARENT_LINE + AUTHOR_LINE + COMMITTER_LINE
    ),
    "a message in many scripts": made(message="d\u00e9j\u00e0 \u65e5\u672c \u05e9".encode()),
    "a name in Hebrew": made(author=named("\u05d3\u05d5\u05d3")),
    "a name with a joiner of zero width": made(author=named("\u0915\u094d\u200d\u0937")),
    "a name with a non-joiner of zero width": made(author=named("\u0646\u0627\u200c\u0645")),
    "a name with an emoji that is joined": made(author=named("\U0001f469\u200d\U0001f4bb")),
    "a name with a tab": made(author=named("A\tU")),
    "a signature": made(GPGSIG),
    "a signature and an empty line, as GitHub writes it": made(
        header(b"gpgsig", SIGNATURE + b"\n")
    ),
    "a signature with a comment that is not ASCII": made(
        header(b"gpgsig", SIGNATURE.replace(b"\n\n", b"\nComment: \xc3\xa9\n\n"))
    ),
    "a signature of lines in CR LF (case 71)": made(
        header(b"gpgsig", SIGNATURE.replace(b"\n", b"\r\n"))
    ),
    "a signature by SSH": made(header(b"gpgsig", SIGNATURE.replace(b"PGP", b"SSH"))),
    "a signature by X.509": made(
        header(b"gpgsig", SIGNATURE.replace(b"PGP SIGNATURE", b"SIGNED MESSAGE"))
    ),
    "signatures for both formats": made(GPGSIG + header(b"gpgsig-sha256", SIGNATURE)),
    "a tag that was merged": made(header(b"mergetag", MERGED)),
    "three tags that were merged (case 71)": made(header(b"mergetag", MERGED) * 3),
    "a merged tag with a message in CR LF": made(
        header(b"mergetag", tag_bytes(oid(1), message=b"a\r\nb\r\n"))
    ),
    "a merged tag without a message": made(
        header(b"mergetag", tag_bytes(oid(1), message=b"", separator=b""))
    ),
    "a merged tag without a tagger": made(header(b"mergetag", tag_bytes(oid(1), tagger=None))),
    "UTF-8 by name": made(b"encoding UTF-8\n", message=b"\xc3\xa9"),
    "utf-8 by name and a signature": made(b"encoding utf-8\n" + GPGSIG),
    "another encoding, which is named": made(
        b"encoding ISO-8859-1\n", author=b"J\xfcrgen <j@x> 1700000000 +0000", message=b"\xe9\n"
    ),
    "Chinese in GBK": made(b"encoding GBK\n", message="\u4e2d\u6587".encode("gbk")),
    "Chinese in GB18030": made(b"encoding GB18030\n", message="\u4e2d\u00fc".encode("gb18030")),
    "Japanese in Shift_JIS": made(b"encoding SHIFT-JIS\n", message="\u8868\u793a".encode("sjis")),
    "quotation marks of Windows, in its encoding": made(
        b"encoding windows-1252\n", message=b"\x93a\x94"
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_commit_has_nothing_odd(name: str) -> None:
    assert odd(HONEST[name]) == []


def test_ids_of_the_other_format_are_as_good() -> None:
    tree, parents = oid(0xAB, 32), [oid(1, 32), oid(2, 32)]
    assert odd(commit_bytes(tree, parents), 32) == []
    assert odd(commit_bytes(tree, parents * 2), 32) == [("duplicateParents", b"parent")]


# What git refuses; the ids are git's own.
GIT = {
    "a NUL in the author": (made(author=named("A\0U")), "nulInHeader", b""),
    "a NUL in a header that git skips": (made(b"x a\0b\n"), "nulInHeader", b""),
    "a NUL, and no empty line after the headers": (
        made().removesuffix(b"\nmessage\n") + b"x \0\n",
        "nulInHeader",
        b"",
    ),
    "headers that do not end": (made().removesuffix(b"\n\nmessage\n"), "unterminatedHeader", b""),
    "headers that do not end in a line feed": (
        made().removesuffix(b"\nmessage\n") + b"x",
        "unterminatedHeader",
        b"",
    ),
    "no author": (made(author=None), "missingAuthor", b"author"),
    "no author and no committer": (
        made(author=None, committer=None),
        "missingAuthor",
        b"author",
    ),
    "the author behind the committer": (made(AUTHOR_LINE, author=None), "missingAuthor", b"author"),
    "a header before the author": (
        TREE_LINE + b"x y\n" + AUTHOR_LINE + COMMITTER_LINE + b"\n",
        "missingAuthor",
        b"author",
    ),
    "an empty line before the author": (
        TREE_LINE + b"\n" + AUTHOR_LINE + COMMITTER_LINE + b"\n",
        "missingAuthor",
        b"author",
    ),
    "a continued line before the author": (
        TREE_LINE + b" x\n" + AUTHOR_LINE + COMMITTER_LINE + b"\n",
        "missingAuthor",
        b"author",
    ),
    "an author in capitals": (
        made().replace(b"\nauthor ", b"\nAuthor "),
        "missingAuthor",
        b"author",
    ),
    "two authors": (
        TREE_LINE + AUTHOR_LINE * 2 + COMMITTER_LINE + b"\n",
        "multipleAuthors",
        b"author",
    ),
    "no committer": (made(committer=None), "missingCommitter", b"committer"),
    "a parent before the committer (A15)": (
        TREE_LINE + AUTHOR_LINE + PARENT_LINE + COMMITTER_LINE + b"\n",
        "missingCommitter",
        b"committer",
    ),
    "a continued author": (
        TREE_LINE + AUTHOR_LINE + b" x\n" + COMMITTER_LINE + b"\n",
        "missingCommitter",
        b"committer",
    ),
    "a bad author": (made(author=b"A <a@x>"), "missingSpaceBeforeDate", b"author"),
    "a bad committer": (
        made(committer=b"A <a@x> 1700000000 -700"),
        "badTimezone",
        b"committer",
    ),
    "an author with CR LF": (made(author=IDENT + b"\r"), "badTimezone", b"author"),
    "a NUL in the message (case 76)": (made(message=b"a\0b\n"), "nulInCommit", b""),
    "a NUL alone as the message": (made(message=b"\0"), "nulInCommit", b""),
}


@pytest.mark.parametrize("name", GIT)
def test_what_git_refuses_has_gits_id(name: str) -> None:
    data, code, detail = GIT[name]
    assert (code, detail) in odd(data)
    assert codes.BY_NAME[code].severity("git") == codes.ERROR
    assert codes.BY_NAME[code].severity("candidate") == codes.ERROR


def test_all_faults_of_one_commit_are_found() -> None:
    data = made(b"x y\n", author=b"A", committer=b"B", message=b"\0\x1b")
    assert odd(data) == [
        ("missingEmail", b"author"),
        ("missingEmail", b"committer"),
        ("unknownHeader", b"x"),
        ("nulInCommit", b""),
        ("controlInMessage", b""),
    ]


BIDI = "\u202e"
UPPER = oid(0xAB).hex().upper().encode()

# What only the candidate rules look at: all that is found in the commit. Honest neighbours stand
# in HONEST.
OURS: dict[str, tuple[bytes, list[tuple[str, bytes]]]] = {
    # Ids and their places
    "the same parent twice (A15)": (
        commit_bytes(oid(0xAB), [oid(1), oid(1)]),
        [("duplicateParents", b"parent")],
    ),
    "the first parent again as the last": (
        commit_bytes(oid(0xAB), [oid(1), oid(2), oid(1)]),
        [("duplicateParents", b"parent")],
    ),
    "the same parent in capitals": (
        commit_bytes(oid(0xAB), [oid(0xAB), UPPER]),
        [("upperCaseId", b"parent"), ("duplicateParents", b"parent")],
    ),
    "a tree in capitals": (commit_bytes(UPPER, [oid(1)]), [("upperCaseId", b"tree")]),
    "the last of the capitals": (
        commit_bytes(oid(0xEF).hex().encode()[:-1] + b"F", [oid(1)]),
        [("upperCaseId", b"tree")],
    ),
    "a capital in a parent": (
        commit_bytes(oid(1), [oid(0xAB).hex().encode()[:-1] + b"B"]),
        [("upperCaseId", b"parent")],
    ),
    "a parent behind the committer (A15)": (made(PARENT_LINE), [("misplacedHeader", b"parent")]),
    "a parent behind a signature": (made(GPGSIG + PARENT_LINE), [("misplacedHeader", b"parent")]),
    "a second tree": (made(TREE_LINE), [("misplacedHeader", b"tree")]),
    "a second committer": (made(COMMITTER_LINE), [("misplacedHeader", b"committer")]),
    "a second author behind the committer": (made(AUTHOR_LINE), [("misplacedHeader", b"author")]),
    "all four once more, and again": (
        made((TREE_LINE + PARENT_LINE + AUTHOR_LINE + COMMITTER_LINE) * 2),
        [
            ("misplacedHeader", b"author"),
            ("misplacedHeader", b"committer"),
            ("misplacedHeader", b"parent"),
            ("misplacedHeader", b"tree"),
        ],
    ),
    "a second parent in capitals": (made(b"Parent x\n"), [("misplacedHeader", b"parent")]),
    "a second parent with a tab": (made(b"parent\tx y\n"), [("misplacedHeader", b"parent")]),
    "a second parent without a value": (made(b"parent\n"), [("misplacedHeader", b"parent")]),
    # Identities
    "a date past 2099": (
        made(author=b"A <a@x> 4102444800 +0000"),
        [("implausibleDate", b"author")],
    ),
    "a zone a minute too far east": (
        made(author=b"A <a@x> 1700000000 +1401"),
        [("implausibleTimezone", b"author")],
    ),
    "a zone of ninety-nine hours (peers 7)": (
        made(committer=b"A <a@x> 1700000000 +9999"),
        [("implausibleTimezone", b"committer")],
    ),
    # Control characters
    "an escape in the author (peers 7)": (
        made(author=named("A\x1b[31m")),
        [("controlInHeader", b"author")],
    ),
    "a carriage return in the author": (
        made(author=named("A\rB")),
        [("controlInHeader", b"author")],
    ),
    "a DEL in the committer": (
        made(committer=named("A\x7f")),
        [("controlInHeader", b"committer")],
    ),
    "an override in the author": (
        made(author=named(BIDI + "A")),
        [("controlInHeader", b"author")],
    ),
    "an escape in both identities": (
        made(author=named("\x1b"), committer=named("\x1b")),
        [("controlInHeader", b"author"), ("controlInHeader", b"committer")],
    ),
    "an escape in an encoding": (
        made(b"encoding \x1b\n"),
        [("malformedHeader", b"encoding"), ("controlInHeader", b"encoding")],
    ),
    "an escape in a signature": (
        made(header(b"gpgsig", SIGNATURE.replace(b"=abcd", b"\x1b[2J"))),
        [("controlInHeader", b"gpgsig")],
    ),
    "a carriage return inside of a line of a signature": (
        made(header(b"gpgsig", SIGNATURE.replace(b"=abcd", b"a\rb"))),
        [("controlInHeader", b"gpgsig")],
    ),
    "an escape in a merged tag": (
        made(header(b"mergetag", tag_bytes(oid(1), message=b"\x1b\n"))),
        [("controlInHeader", b"mergetag")],
    ),
    "an escape in an unknown header": (
        made(b"x \x1b\n"),
        [("unknownHeader", b"x"), ("controlInHeader", b"x")],
    ),
    "an escape in the name of a header": (
        made(b"\x1b y\n"),
        [("unknownHeader", b"\x1b"), ("controlInHeader", b"\x1b")],
    ),
    "an unknown header with CR LF": (
        made(b"x y\r\n"),
        [("unknownHeader", b"x"), ("controlInHeader", b"x")],
    ),
    "an escape in the message": (made(message=b"\x1b[31mred"), [("controlInMessage", b"")]),
    "a carriage return inside of a line of the message": (
        made(message=b"good\rbad\n"),
        [("controlInMessage", b"")],
    ),
    "an override in the message": (
        made(message=f"a {BIDI} b".encode()),
        [("controlInMessage", b"")],
    ),
    "a C1 control in a Latin-1 message, as git log shows it": (
        made(b"encoding ISO-8859-1\n", message=b"\x9b31m"),
        [("controlInMessage", b"")],
    ),
    "a C1 control in a Latin-1 name, as git log shows it": (
        made(b"encoding latin1\n", author=b"\x9b31m <a@x> 1700000000 +0000"),
        [("controlInHeader", b"author")],
    ),
    "an override in GB18030": (
        made(b"encoding gb18030\n", message=BIDI.encode("gb18030")),
        [("controlInMessage", b"")],
    ),
    "an override in UTF-8 under another encoding": (
        made(b"encoding GBK\n", message=BIDI.encode()),
        [("controlInMessage", b"")],
    ),
    "an override beside a byte that is not UTF-8": (
        made(message=b"\xff" + BIDI.encode()),
        [("controlInMessage", b""), ("notUtf8", b"")],
    ),
    # Headers that git does not know, or not so
    "a change-id of jj (case 71)": (made(b"change-id kkmp\n"), [("unknownHeader", b"change-id")]),
    "headers of Mercurial": (
        made(b"HG:extra a\nHG:extra b\nHG:rename c\n"),
        [("unknownHeader", b"HG:extra"), ("unknownHeader", b"HG:rename")],
    ),
    "a known header in capitals": (made(b"GPGSIG x\n"), [("unknownHeader", b"GPGSIG")]),
    "an unknown header of two lines": (made(b"x y\n z\n"), [("unknownHeader", b"x")]),
    "a long name": (made(b"n" * 300 + b" x\n"), [("unknownHeader", b"n" * 200)]),
    "a header without a space": (made(b"header\n"), [("malformedHeader", b"")]),
    "a continued line before any header": (made(b" x\n"), [("malformedHeader", b"")]),
    "two encodings": (
        made(b"encoding UTF-8\nencoding UTF-8\n"),
        [("malformedHeader", b"encoding")],
    ),
    "an encoding of two lines": (
        made(b"encoding UTF-8\n UTF-16\n"),
        [("malformedHeader", b"encoding")],
    ),
    "an encoding without a name": (made(b"encoding \n"), [("malformedHeader", b"encoding")]),
    "an encoding without a space": (made(b"encoding\n"), [("malformedHeader", b"encoding")]),
    "an encoding in which ASCII is not ASCII": (
        made(b"encoding UTF-7\n", message=b"+ABs-[31m\n"),
        [("malformedHeader", b"encoding")],
    ),
    "an encoding that is an option of iconv": (
        made(b"encoding UTF-8//IGNORE\n"),
        [("malformedHeader", b"encoding")],
    ),
    "a signature that is none (peers 7)": (
        made(b"gpgsig garbage\n"),
        [("malformedHeader", b"gpgsig")],
    ),
    "an empty signature (case 70)": (made(b"gpgsig \n"), [("malformedHeader", b"gpgsig")]),
    "a signature without its end": (
        made(header(b"gpgsig", SIGNATURE.rpartition(b"-----END")[0])),
        [("malformedHeader", b"gpgsig")],
    ),
    "a signature with another end": (
        made(header(b"gpgsig", SIGNATURE.replace(b"END PGP", b"END SSH"))),
        [("malformedHeader", b"gpgsig")],
    ),
    "two signatures in one header": (
        made(header(b"gpgsig", SIGNATURE * 2)),
        [("malformedHeader", b"gpgsig")],
    ),
    "text behind a signature": (
        made(header(b"gpgsig", SIGNATURE + b"\nhidden\n")),
        [("malformedHeader", b"gpgsig")],
    ),
    "tabs behind a signature, which make the id a vanity": (
        made(header(b"gpgsig", SIGNATURE.rstrip() + b"\t\t\n")),
        [("malformedHeader", b"gpgsig")],
    ),
    "text before a signature": (
        made(header(b"gpgsig", b"hidden\n" + SIGNATURE)),
        [("malformedHeader", b"gpgsig")],
    ),
    "a signature that is repeated (case 70)": (
        made(GPGSIG * 3),
        [("malformedHeader", b"gpgsig")],
    ),
    "a signature for SHA-256 that is none": (
        made(b"gpgsig-sha256 x\n"),
        [("malformedHeader", b"gpgsig-sha256")],
    ),
    "a merged tag that is none (peers 7)": (
        made(b"mergetag garbage\n"),
        [("malformedHeader", b"mergetag")],
    ),
    "a good merged tag and a bad one": (
        made(header(b"mergetag", MERGED) + b"mergetag x\n"),
        [("malformedHeader", b"mergetag")],
    ),
    "a merged tag without a name": (
        made(header(b"mergetag", tag_bytes(oid(1), name=None))),
        [("malformedHeader", b"mergetag")],
    ),
    "a merged tag by nobody": (
        made(header(b"mergetag", tag_bytes(oid(1), tagger=b"nobody"))),
        [("malformedHeader", b"mergetag")],
    ),
    # Encodings that are not named
    "a message that is not UTF-8 (case 77)": (made(message=b"\xe9\n"), [("notUtf8", b"")]),
    "an author that is not UTF-8 (case 77)": (
        made(author=b"J\xfcrgen <j@x> 1700000000 +0000"),
        [("notUtf8", b"")],
    ),
    "a message that is not the UTF-8 it says": (
        made(b"encoding UTF-8\n", message=b"\xe9\n"),
        [("notUtf8", b"")],
    ),
    "a surrogate in the message": (made(message=b"\xed\xa0\x80\n"), [("notUtf8", b"")]),
}


@pytest.mark.parametrize("name", OURS)
def test_what_only_we_look_for(name: str) -> None:
    data, expected = OURS[name]
    assert odd(data) == expected
    for code, _ in expected:
        assert codes.BY_NAME[code].severity("git") != codes.ERROR


CONTROLS = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u061c", "\u200e", "\u200f"]
CONTROLS += [*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))]
# The first and the last that is let through beside each range, and joiners.
PLAIN = " ~\xa0\u061b\u061d\u200b\u200c\u200d\u2010\u2029\u202f\u2065\u206a\ufeff\U000e0020"


@pytest.mark.parametrize("char", [*CONTROLS, *PLAIN], ids=lambda char: f"U+{ord(char):04X}")
def test_every_control_character_is_told_from_its_neighbours(char: str) -> None:
    hides = char in CONTROLS and char not in "\t\n\f"
    assert (("controlInMessage", b"") in odd(made(message=f"a{char}b".encode()))) == hides
    if char != "\n":
        hides = char in CONTROLS and char != "\t"
        found = odd(made(author=named(f"a{char}b")))
        assert (("controlInHeader", b"author") in found) == hides


@pytest.mark.parametrize("char", [*CONTROLS[0x20:], *PLAIN], ids=lambda char: f"U+{ord(char):04X}")
def test_every_control_character_is_found_in_gb18030(char: str) -> None:
    found = odd(made(b"encoding gb18030\n", message=char.encode("gb18030")))
    assert found == ([("controlInMessage", b"")] if char in CONTROLS else [])


KEEPING = """
    us-ascii ISO-8859-15 iso8859-1 Latin-1 KOI8-R CP1251 windows-1250 cp866 GB2312 gbk BIG5 EUC-JP
    euc-kr Shift_JIS UTF8 utf-8 cp932
"""
NOT_KEEPING = "UTF-16 utf-32le UCS-2 IBM037 cp500 ISO-2022-JP HZ x latin-1x"


@pytest.mark.parametrize("encoding", KEEPING.split())
def test_an_encoding_that_keeps_ascii_is_fine(encoding: str) -> None:
    assert odd(made(b"encoding %s\n" % encoding.encode())) == []


@pytest.mark.parametrize("encoding", NOT_KEEPING.split())
def test_an_encoding_that_may_not_keep_ascii_is_named(encoding: str) -> None:
    found = commit.oddities(made(b"encoding %s\n" % encoding.encode()), 20)
    assert [(o.code, o.detail) for o in found] == [(checks.MALFORMED_HEADER, b"encoding")]
    assert encoding in found[0].message


def test_no_more_than_twenty_names_are_listed() -> None:
    extra = b"".join(b"h%02d \x1b\n" % number for number in range(99)) + PARENT_LINE
    found = odd(made(extra))
    assert [name for name, _ in found].count("unknownHeader") == 20
    assert [name for name, _ in found].count("controlInHeader") == 20
    assert ("misplacedHeader", b"parent") in found


@pytest.mark.parametrize("data", [b"", b"\n\n", b"tree ", b"author x", b"\0", TREE_LINE[:-1]])
def test_what_has_no_links_does_no_harm(data: bytes) -> None:
    odd(data)
    commit.identities(data)


# --- the quick way and the exact one --------------------------------------------------------------

# Honest ones as often as all others, so that not all that is made of them is odd.
ALL = [row[0] for row in GIT.values()] + [row[0] for row in OURS.values()]
ALL += [*HONEST.values()] * 3
# Pieces that mean something to a reader of commits.
PIECES = [
    b"\n", b"\n\n", b"\n ", b" ", b"  ", b"<", b">", b"> ", b" <", b"+", b"-", b"0", b"9", b"\0",
    b"\r", b"\r\n", b"\t", b"\f", b"\x1b", b"\x7f", b"\x80", b"\xc2\x9b", b"\xe2\x80\xae", b"\xff",
    b"\xc3\xa9", b"\xd8", b"\x9c", b"tree ", b"parent ", b"author ", b"committer ", b"encoding ",
    b"\nencoding utf-8\n", b"gpgsig ", b"mergetag ", b"-----", b"-----END PGP SIGNATURE-----", b"F",
    b"4102444800", b" +1400\n", b" 01 ", b"x\n", b"object ", b"type ", b"tag ", b"tagger ", b"..",
]  # fmt: skip


def mutated(data: bytes, rng: random.Random) -> bytes:
    """``data`` with one thing changed: a bit, a piece, a line, or the end; headers come first."""
    limit = len(data) if rng.random() < 0.2 else data.find(b"\n\n") + 2
    at = rng.randrange(limit) if limit > 1 else 0
    lines = data.split(b"\n")
    one, other = (rng.randrange(min(len(lines), 8)) for _ in range(2))
    how = rng.randrange(8)
    if how == 0:
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    if how == 1:
        return data[:at] + data[at + rng.randint(1, 4) :]
    if how == 2:
        return data[:at] + rng.choice(PIECES) + data[at:]
    if how == 3:
        piece = rng.choice(PIECES)
        return data[:at] + piece + data[at + len(piece) :]
    if how == 4:
        lines[one], lines[other] = lines[other], lines[one]
    elif how == 5:
        lines.insert(one, lines[other])
    elif how == 6:
        del lines[one]
    else:
        return data[: rng.randrange(len(data))]
    return b"\n".join(lines)


@pytest.mark.parametrize("seed", range(4))
def test_the_quick_way_finds_what_the_exact_one_finds(seed: int) -> None:
    rng = random.Random(seed)
    counts = {True: 0, False: 0}
    for _ in range(4_000):
        data = rng.choice(ALL)
        for _ in range(rng.randint(1, 2)):
            data = mutated(data, rng) or b"\n"
        found = commit.oddities(data, 20)
        assert found == commit.oddities_exactly(data, 20), data
        counts[bool(found)] += 1
    # Both kinds of commits came up.
    assert min(counts.values()) > 200, counts


def quick(data: bytes, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a commit is judged without the exact reading."""
    with monkeypatch.context() as patch:
        patch.setattr(commit, "oddities_exactly", lambda data, width: [data, width])
        return commit.oddities(data, 20) == []


USUAL = (
    "one parent", "no parent", "two parents", "no message", "a signature", "a name in Hebrew",
    "a signature and an empty line, as GitHub writes it", "a message in many scripts",
    "a message that ends its lines in CR LF", "UTF-8 by name", "utf-8 by name and a signature",
)  # fmt: skip


@pytest.mark.parametrize("name", USUAL)
def test_what_most_commits_look_like_is_judged_quickly(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert quick(HONEST[name], monkeypatch)


# --- what it costs --------------------------------------------------------------------------------

SIZE = 1 << 18
FLOODS = {
    "headers of one letter": made(b"a\n" * (SIZE // 2)),
    "headers of two": made(b"a \n" * (SIZE // 3)),
    "different headers": made(b"".join(b"%x y\n" % n for n in range(SIZE // 8))),
    "different controls": made(b"".join(b"%x \x1b\n" % n for n in range(SIZE // 8))),
    "one long name": made(b"n" * SIZE + b" x\n"),
    "continued lines": made(b"x y\n" + b" \n" * (SIZE // 2)),
    "continued lines without a header": made(b" \n" * (SIZE // 2)),
    "authors": TREE_LINE + AUTHOR_LINE * (SIZE // len(AUTHOR_LINE)) + b"\n",
    "bad authors": TREE_LINE + b"author x\n" * (SIZE // 9) + b"\n",
    "committers": made(b"committer x\n" * (SIZE // 12)),
    "bad tags": made(b"mergetag object \n" * (SIZE // 17)),
    "tags": made(header(b"mergetag", tag_bytes(oid(1), tagger=None)) * (SIZE // 90)),
    "signatures": made(b"gpgsig -----BEGIN A-----\n -----END A-----\n" * (SIZE // 42)),
    "lines of a signature": made(b"gpgsig -----BEGIN A-----\n" + b" \n" * (SIZE // 2)),
    "a label of a signature": made(b"gpgsig -----BEGIN " + b"A" * SIZE + b"-----\n"),
    "encodings": made(b"encoding x\n" * (SIZE // 11)),
    "a long encoding": made(b"encoding " + b"a" * SIZE + b"\n"),
    "parents": commit_bytes(oid(1), [oid(1)] * (SIZE // 48)),
    "a name": made(author=b"x" * SIZE),
    "brackets": made(author=b"x <" * (SIZE // 3)),
    "digits": made(author=b"A <a@x> " + b"1" * SIZE),
}
FILLERS = {"carriage returns": b"\r", "NULs": b"\0", "half letters": b"\xc2", "lines": b"\n"}
FLOODS |= {name: made(message=byte * SIZE) for name, byte in FILLERS.items()}


@pytest.mark.parametrize("name", FLOODS)
@pytest.mark.heavy
def test_much_of_anything_takes_little_memory(name: str) -> None:
    data = FLOODS[name]
    tracemalloc.start()
    try:
        found = commit.oddities_exactly(data, 20)
        commit.identities(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) <= 45
    # Headers are taken out one at a time; those that git knows are kept.
    assert peak < 40 * len(data)
    odd(data)
