"""What a tag links to, or git's id for what is wrong; and all that is odd about the rest of it."""

from __future__ import annotations

import pytest

from packparse import checks, codes
from packparse.codes import Code
from packparse.entry import BLOB, COMMIT, TAG, TREE
from packparse.errors import PackError
from packparse.objects import tag
from tests.support.packs import IDENT, tag_bytes


def oid(number: int, width: int = 20) -> bytes:
    return bytes([number]) * width


HEX = oid(0xAB).hex().encode()
LINE = b"object " + HEX + b"\n"


def refusal(data: bytes, width: int = 20) -> PackError:
    with pytest.raises(PackError) as caught:
        tag.link(data, width)
    return caught.value


@pytest.mark.parametrize("width", [20, 32])
@pytest.mark.parametrize(
    ("kind", "number"), [(b"commit", COMMIT), (b"tree", TREE), (b"blob", BLOB), (b"tag", TAG)]
)
def test_a_tag_links_to_an_object_of_the_kind_it_says(kind: bytes, number: int, width: int) -> None:
    data = tag_bytes(oid(7, width), kind)
    assert tag.link(data, width) == (number, oid(7, width))
    assert tag.link(bytearray(data), width) == (number, oid(7, width))


ACCEPTED = {
    "nothing after the type": LINE + b"type blob\n",
    "an id in capitals, as git reads it": b"object " + HEX.upper() + b"\ntype blob\n",
    "a second object line": LINE + b"type blob\nobject " + oid(1).hex().encode() + b"\n",
    "a second type line": LINE + b"type blob\ntype tree\n",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_first_two_lines_decide(name: str) -> None:
    assert tag.link(ACCEPTED[name], 20) == (BLOB, oid(0xAB))


REFUSED = {
    "no content": (b"", checks.TAG_MISSING_OBJECT),
    "the type first": (b"type blob\n" + LINE, checks.TAG_MISSING_OBJECT),
    "an empty line first": (b"\n" + LINE, checks.TAG_MISSING_OBJECT),
    "no space after object": (b"object" + HEX + b"\n", checks.TAG_MISSING_OBJECT),
    "no id": (b"object \ntype blob\n", checks.BAD_OBJECT_SHA1),
    "a short id": (b"object " + HEX[:-1] + b"\ntype blob\n", checks.BAD_OBJECT_SHA1),
    "a long id": (b"object " + HEX + b"00\ntype blob\n", checks.BAD_OBJECT_SHA1),
    "an id of the other format": (
        b"object " + oid(1, 32).hex().encode() + b"\ntype blob\n",
        checks.BAD_OBJECT_SHA1,
    ),
    "an id of odd length": (b"object abc\ntype blob\n", checks.BAD_OBJECT_SHA1),
    "an id that is no number": (b"object " + b"z" * 40 + b"\ntype blob\n", checks.BAD_OBJECT_SHA1),
    "an object line without its end": (b"object " + HEX, checks.BAD_OBJECT_SHA1),
    "an object line that ends in CR LF": (
        b"object " + HEX + b"\r\ntype blob\n",
        checks.BAD_OBJECT_SHA1,
    ),
    "a hundred thousand digits": (b"object " + b"a" * 100_000, checks.BAD_OBJECT_SHA1),
    "nothing after the object": (LINE, checks.MISSING_TYPE_ENTRY),
    "the tag line second": (LINE + b"tag v1\ntype blob\n", checks.MISSING_TYPE_ENTRY),
    "an empty line second": (LINE + b"\ntype blob\n", checks.MISSING_TYPE_ENTRY),
    "a type line without its end": (LINE + b"type blob", checks.MISSING_TYPE),
    "a type line cut after the word": (LINE + b"type ", checks.MISSING_TYPE),
    "an empty type": (LINE + b"type \n", checks.BAD_TYPE),
    "an unknown type": (LINE + b"type gitlink\n", checks.BAD_TYPE),
    "a type in capitals": (LINE + b"type Blob\n", checks.BAD_TYPE),
    "a type with a space behind": (LINE + b"type blob \n", checks.BAD_TYPE),
    "a type that ends in CR LF": (LINE + b"type blob\r\n", checks.BAD_TYPE),
    "a type with a NUL": (LINE + b"type blob\0\n", checks.BAD_TYPE),
    "the name of an entry that is no object": (LINE + b"type ofs-delta\n", checks.BAD_TYPE),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_malformed_tag_is_refused_with_gits_id(name: str) -> None:
    data, code = REFUSED[name]
    assert refusal(data).code is code
    assert code.klass == 1


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (checks.TAG_MISSING_OBJECT, "missingObject"),
        (checks.BAD_OBJECT_SHA1, "badObjectSha1"),
        (checks.MISSING_TYPE_ENTRY, "missingTypeEntry"),
        (checks.MISSING_TYPE, "missingType"),
        (checks.BAD_TYPE, "badType"),
    ],
)
def test_git_names(code: Code, name: str) -> None:
    assert code.name == name


@pytest.mark.parametrize("kind", [b"\x1b[31m" + b"x" * 50_000, b"\xff" * 9, "\u202e".encode() * 9])
def test_an_unknown_type_is_shown_short_and_escaped(kind: bytes) -> None:
    message = refusal(LINE + b"type " + kind + b"\n").message
    assert len(message) < 400
    assert message.isascii()
    assert message.isprintable()


# --- what is odd ----------------------------------------------------------------------------------

SIGNATURE = b"-----BEGIN PGP SIGNATURE-----\n\niQIz\n=abcd\n-----END PGP SIGNATURE-----\n"
GPGSIG = b"gpgsig " + SIGNATURE[:-1].replace(b"\n", b"\n ") + b"\n"
TYPED = LINE + b"type commit\n"
NAMED = TYPED + b"tag v1\n"
TAGGER = b"tagger " + IDENT + b"\n"


def made(
    extra: bytes = b"",
    *,
    name: bytes | None = b"v1",
    tagger: bytes | None = IDENT,
    message: bytes = b"message\n",
) -> bytes:
    return tag_bytes(oid(0xAB), name=name, tagger=tagger, extra=extra, message=message)


def odd(data: bytes, width: int = 20) -> list[tuple[str, bytes]]:
    """The oddities as (code, detail), in their order."""
    found = tag.oddities(data, width)
    assert found == tag.oddities(bytearray(data), width)
    assert len(set(found)) == len(found)
    for oddity in found:
        assert oddity.message.isascii()
        assert oddity.message.isprintable()
        assert len(oddity.message) < 1_200
    return [(oddity.code.name, oddity.detail) for oddity in found]


HONEST = {
    "as git writes it": made(),
    "a release with a signature in its message": made(message=b"v1\n" + SIGNATURE),
    "a signature for the other format": made(GPGSIG),
    "a signature for SHA-256": made(GPGSIG.replace(b"gpgsig", b"gpgsig-sha256")),
    "a signature in CR LF": made(GPGSIG.replace(b"\n", b"\r\n").replace(b"-\r\n\n", b"-\n")),
    "no message": made(message=b""),
    "no empty line and no message (case 74)": NAMED + TAGGER,
    "a message without a last line feed (case 74)": made(message=b"message"),
    "a message in CR LF": made(message=b"a\r\nb\r\n"),
    "a message that looks like headers": made(message=NAMED + TAGGER),
    "a name with slashes": made(name=b"release/v1.0-rc1"),
    "a name in another script": made(name="\u7248".encode()),
    "a name that begins with a dash": made(name=b"-v1"),
    "a tagger in another script": made(tagger="\u05d3 <d@x> 1700000000 +0200".encode()),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_tag_has_nothing_odd(name: str) -> None:
    assert odd(HONEST[name]) == []


def test_ids_of_the_other_format_are_as_good() -> None:
    assert odd(tag_bytes(oid(1, 32)), 32) == []


# What git refuses (the codes of git are its ids), or looks at, or what only the candidate rules
# look at: all that is found in the tag.
FOUND: dict[str, tuple[bytes, list[tuple[str, bytes]]]] = {
    "a NUL in the name": (
        made(name=b"a\0b"),
        [("nulInHeader", b""), ("badTagName", b"tag"), ("controlInHeader", b"tag")],
    ),
    "a tag that ends in its tagger": (
        (NAMED + TAGGER)[:-1],
        [("unterminatedHeader", b"")],
    ),
    "a tag that ends in its name": (
        NAMED + b"\n",
        [("missingTaggerEntry", b"tagger")],
    ),
    "a tag that ends in its type": (
        TYPED + b"\n" + b"x" * 20,
        [("missingTagEntry", b"tag"), ("missingTaggerEntry", b"tagger")],
    ),
    "a tag without a name": (made(name=None), [("missingTagEntry", b"tag")]),
    "a tag that begins with its tagger": (
        TYPED + TAGGER + b"tag v1\n\n",
        [("missingTagEntry", b"tag"), ("misplacedHeader", b"tag")],
    ),
    "a name that does not end": (
        TYPED + b"tag v1234567",
        [
            ("unterminatedHeader", b""),
            ("missingTag", b"tag"),
            ("missingTaggerEntry", b"tagger"),
        ],
    ),
    "a name that git check-ref-format refuses (A17)": (
        made(name=b"a..b"),
        [("badTagName", b"tag")],
    ),
    "a name with a space": (made(name=b"a b"), [("badTagName", b"tag")]),
    "a name that ends in .lock": (made(name=b"a.lock"), [("badTagName", b"tag")]),
    "no name": (made(name=b""), [("badTagName", b"tag")]),
    "a name with CR LF": (
        made(name=b"v1\r"),
        [("badTagName", b"tag"), ("controlInHeader", b"tag")],
    ),
    "no tagger (case 74)": (made(tagger=None), [("missingTaggerEntry", b"tagger")]),
    "a tagger in capitals": (
        made().replace(b"tagger", b"Tagger"),
        [("missingTaggerEntry", b"tagger"), ("misplacedHeader", b"tagger")],
    ),
    "a tagger without a date (case 74)": (
        made(tagger=b"A <a@x>"),
        [("missingSpaceBeforeDate", b"tagger")],
    ),
    "a tagger without an address": (made(tagger=b"A"), [("missingEmail", b"tagger")]),
    "a tagger without an address, and an extra header": (
        made(b"x y\n", tagger=b"A"),
        [("missingEmail", b"tagger"), ("extraHeaderEntry", b"x")],
    ),
    "a tagger of the year 5138": (
        made(tagger=b"A <a@x> 99999999999 +0000"),
        [("implausibleDate", b"tagger")],
    ),
    "a tagger of no zone on earth": (
        made(tagger=b"A <a@x> 1700000000 +5130"),
        [("implausibleTimezone", b"tagger")],
    ),
    "a signature that does not end": (
        NAMED + TAGGER + b"gpgsig x",
        [("unterminatedHeader", b""), ("badGpgsig", b"gpgsig"), ("malformedHeader", b"gpgsig")],
    ),
    "a signature of which the last line does not end": (
        NAMED + TAGGER + GPGSIG[:-1],
        [("unterminatedHeader", b""), ("badHeaderContinuation", b"gpgsig")],
    ),
    "a signature that is none": (
        made(b"gpgsig-sha256 x\n"),
        [("malformedHeader", b"gpgsig-sha256")],
    ),
    "three signatures (CVE-2026-105437 shape)": (
        made(GPGSIG * 3),
        [("extraHeaderEntry", b"gpgsig")],
    ),
    "a header that git does not know": (made(b"x y\n"), [("extraHeaderEntry", b"x")]),
    "a header behind a signature": (made(GPGSIG + b"x y\n"), [("extraHeaderEntry", b"x")]),
    "an encoding, which tags have not": (
        made(b"encoding ISO-8859-1\n", message=b"\xe9"),
        [("extraHeaderEntry", b"encoding"), ("notUtf8", b"")],
    ),
    "a header without a space": (made(b"x\n"), [("malformedHeader", b"")]),
    "a continued line behind the tagger": (made(b" x\n"), [("malformedHeader", b"")]),
    "all four headers once more": (
        made(NAMED + TAGGER),
        [
            ("misplacedHeader", b"object"),
            ("misplacedHeader", b"tag"),
            ("misplacedHeader", b"tagger"),
            ("misplacedHeader", b"type"),
        ],
    ),
    "an object in capitals": (
        tag_bytes(HEX.upper()),
        [("upperCaseId", b"object")],
    ),
    "an escape in the name": (
        made(name=b"\x1b[2J"),
        [("badTagName", b"tag"), ("controlInHeader", b"tag")],
    ),
    "an override in the name": (
        made(name="v\u202e1".encode()),
        [("controlInHeader", b"tag")],
    ),
    "an escape in the tagger": (
        made(tagger=b"\x1b <a@x> 1700000000 +0000"),
        [("controlInHeader", b"tagger")],
    ),
    "an escape in the message": (made(message=b"\x1b"), [("controlInMessage", b"")]),
    "a NUL in the message, which git lets pass in tags": (
        made(message=b"a\0b"),
        [("controlInMessage", b"")],
    ),
    "a message that is not UTF-8": (made(message=b"\xe9"), [("notUtf8", b"")]),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_is_odd_is_found(name: str) -> None:
    data, expected = FOUND[name]
    assert tag.link(data, 20) == (COMMIT, oid(0xAB))
    assert odd(data) == expected


@pytest.mark.parametrize("width", [20, 32])
def test_git_reads_no_tag_that_is_too_short(width: int) -> None:
    # The last header of the shortest tag that git reads has no room for more than a name.
    start = b"object " + oid(0xAB, width).hex().encode() + b"\ntype blob\n"
    assert ("tagTooShort", b"") in odd(start + b"tag \n", width)
    assert odd(start + b"tag v\n", width) == [("missingTaggerEntry", b"tagger")]
    assert codes.BY_NAME["tagTooShort"].severity("git") == codes.ERROR


def test_no_more_than_twenty_names_are_listed() -> None:
    extra = b"".join(b"h%02d y\n" % number for number in range(99)) + TAGGER
    found = odd(made(extra))
    assert [name for name, _ in found].count("extraHeaderEntry") == 20
    assert ("misplacedHeader", b"tagger") in found


SIZE = 1 << 18
FLOODS = {
    "headers of one letter": made(b"a\n" * (SIZE // 2)),
    "taggers": made(TAGGER * (SIZE // len(TAGGER))),
    "signatures": made(GPGSIG * (SIZE // len(GPGSIG))),
    "lines of a signature": made(b"gpgsig -----BEGIN A-----\n" + b" \n" * (SIZE // 2)),
    "a long name": made(name=b"a/" * (SIZE // 2)),
    "a long bad name": made(name=b"." * SIZE),
    "a long tagger": made(tagger=b"<" * SIZE),
    "carriage returns": made(message=b"\r" * SIZE),
}


@pytest.mark.parametrize("name", FLOODS)
def test_much_of_anything_is_read_in_one_go(name: str) -> None:
    assert 0 < len(odd(FLOODS[name])) < 10 or name == "carriage returns"


@pytest.mark.parametrize("data", [b"", b"\n\n", b"object ", LINE, LINE + b"type blob", b"\0"])
def test_what_has_no_link_does_no_harm(data: bytes) -> None:
    odd(data)
