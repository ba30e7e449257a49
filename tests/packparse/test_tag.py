"""What a tag links to: one object of the kind it says, or git's id for what is wrong."""

from __future__ import annotations

import pytest

from packparse import codes
from packparse.codes import Code
from packparse.entry import BLOB, COMMIT, TAG, TREE
from packparse.errors import PackError
from packparse.objects import tag
from tests.support.packs import tag_bytes


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
    "no content": (b"", codes.TAG_MISSING_OBJECT),
    "the type first": (b"type blob\n" + LINE, codes.TAG_MISSING_OBJECT),
    "an empty line first": (b"\n" + LINE, codes.TAG_MISSING_OBJECT),
    "no space after object": (b"object" + HEX + b"\n", codes.TAG_MISSING_OBJECT),
    "no id": (b"object \ntype blob\n", codes.BAD_OBJECT_SHA1),
    "a short id": (b"object " + HEX[:-1] + b"\ntype blob\n", codes.BAD_OBJECT_SHA1),
    "a long id": (b"object " + HEX + b"00\ntype blob\n", codes.BAD_OBJECT_SHA1),
    "an id of the other format": (
        b"object " + oid(1, 32).hex().encode() + b"\ntype blob\n",
        codes.BAD_OBJECT_SHA1,
    ),
    "an id of odd length": (b"object abc\ntype blob\n", codes.BAD_OBJECT_SHA1),
    "an id that is no number": (b"object " + b"z" * 40 + b"\ntype blob\n", codes.BAD_OBJECT_SHA1),
    "an object line without its end": (b"object " + HEX, codes.BAD_OBJECT_SHA1),
    "an object line that ends in CR LF": (
        b"object " + HEX + b"\r\ntype blob\n",
        codes.BAD_OBJECT_SHA1,
    ),
    "a hundred thousand digits": (b"object " + b"a" * 100_000, codes.BAD_OBJECT_SHA1),
    "nothing after the object": (LINE, codes.MISSING_TYPE_ENTRY),
    "the tag line second": (LINE + b"tag v1\ntype blob\n", codes.MISSING_TYPE_ENTRY),
    "an empty line second": (LINE + b"\ntype blob\n", codes.MISSING_TYPE_ENTRY),
    "a type line without its end": (LINE + b"type blob", codes.MISSING_TYPE),
    "a type line cut after the word": (LINE + b"type ", codes.MISSING_TYPE),
    "an empty type": (LINE + b"type \n", codes.BAD_TYPE),
    "an unknown type": (LINE + b"type gitlink\n", codes.BAD_TYPE),
    "a type in capitals": (LINE + b"type Blob\n", codes.BAD_TYPE),
    "a type with a space behind": (LINE + b"type blob \n", codes.BAD_TYPE),
    "a type that ends in CR LF": (LINE + b"type blob\r\n", codes.BAD_TYPE),
    "a type with a NUL": (LINE + b"type blob\0\n", codes.BAD_TYPE),
    "the name of an entry that is no object": (LINE + b"type ofs-delta\n", codes.BAD_TYPE),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_malformed_tag_is_refused_with_gits_id(name: str) -> None:
    data, code = REFUSED[name]
    assert refusal(data).code is code
    assert code.klass == 1


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (codes.TAG_MISSING_OBJECT, "missingObject"),
        (codes.BAD_OBJECT_SHA1, "badObjectSha1"),
        (codes.MISSING_TYPE_ENTRY, "missingTypeEntry"),
        (codes.MISSING_TYPE, "missingType"),
        (codes.BAD_TYPE, "badType"),
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
