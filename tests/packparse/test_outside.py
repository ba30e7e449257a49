"""What the trusted side says of objects, and gives: asked late, hashed, never guessed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from packparse import codes
from packparse.entry import BLOB, COMMIT, TAG, TREE
from packparse.errors import MisuseError, PackError
from packparse.objectformat import FORMATS, SHA1, ObjectFormat
from packparse.outside import Outside, checked_kind, checked_object, object_id
from tests.support import packs

OID = packs.oid("blob", b"content\n")
COMMIT_ID = b"\x31" * 20


def outside(
    *,
    known: Callable[[bytes], int | None] | None = None,
    read_base: Callable[[bytes], tuple[int, bytes] | None] | None = None,
    base_info: Callable[[bytes], tuple[int, int] | None] | None = None,
    bases: frozenset[bytes] = frozenset(),
    prerequisites: frozenset[bytes] = frozenset(),
    fmt: ObjectFormat = SHA1,
) -> Outside:
    return Outside(
        fmt,
        known=known,
        read_base=read_base,
        base_info=base_info,
        bases=bases,
        prerequisites=prerequisites,
    )


ONE = frozenset([COMMIT_ID])

# -> listed, open_ended, has_bases, readable
SIDES: dict[str, tuple[Outside, tuple[bool, bool, bool, bool]]] = {
    "nobody": (outside(), (False, False, False, False)),
    "a base": (outside(bases=ONE), (False, True, True, False)),
    "a prerequisite": (outside(prerequisites=ONE), (False, True, True, False)),
    "a list": (outside(known=lambda _: None), (True, False, False, False)),
    "a list and a base": (outside(known=lambda _: None, bases=ONE), (True, False, True, False)),
    "a reader": (outside(read_base=lambda _: None), (False, False, False, True)),
    "all": (
        outside(known=lambda _: 0, read_base=lambda _: None, bases=ONE),
        (True, False, True, True),
    ),
}


@pytest.mark.parametrize(("side", "wanted"), SIDES.values(), ids=SIDES)
def test_what_is_there_to_be_asked(side: Outside, wanted: tuple[bool, ...]) -> None:
    assert (side.listed, side.open_ended, side.has_bases, side.readable) == wanted


def test_a_base_is_a_commit_whatever_the_list_says() -> None:
    side = outside(known=lambda _: BLOB, bases=ONE)
    assert side.kind(COMMIT_ID) == COMMIT
    assert side.kind(OID) == BLOB


def test_a_prerequisite_counts_only_where_nobody_lists() -> None:
    assert outside(prerequisites=ONE).kind(COMMIT_ID) == COMMIT
    assert outside(prerequisites=ONE).kind(OID) is None
    assert outside(prerequisites=ONE, known=lambda _: None).kind(COMMIT_ID) is None
    assert outside(prerequisites=ONE, known=lambda _: 0).kind(COMMIT_ID) == 0


@pytest.mark.parametrize("answer", [None, 0, COMMIT, TREE, BLOB, TAG])
def test_a_kind_is_told_as_it_is(answer: int | None) -> None:
    assert outside(known=lambda _: answer).kind(OID) == answer
    assert checked_kind(answer) == answer


@pytest.mark.parametrize("answer", [True, False, -1, 5, "blob", b"", 1.0, [], (3,)], ids=repr)
def test_what_is_no_kind_is_the_callers_mistake(answer: object) -> None:
    with pytest.raises(MisuseError, match="known"):
        checked_kind(answer)


# --- objects --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("kind", ["commit", "tree", "blob", "tag"])
@pytest.mark.parametrize("size", [0, 1, 16_383, 16_384, 100_000])
def test_an_id_is_that_of_git(fmt: str, kind: str, size: int) -> None:
    data = b"x" * size
    number = packs.KIND_NUMBERS[kind]
    assert object_id(FORMATS[fmt], number, data) == packs.oid(kind, data, fmt)
    assert object_id(FORMATS[fmt], number, bytearray(data)) == packs.oid(kind, data, fmt)


def test_an_object_is_given_as_bytes_and_hashed() -> None:
    side = outside(read_base={OID: (BLOB, bytearray(b"content\n"))}.get)  # type: ignore[arg-type]
    assert side.read(OID) == (BLOB, b"content\n")
    assert side.read(COMMIT_ID) is None
    assert outside().read(OID) is None


@pytest.mark.parametrize(
    "given", [(BLOB, b"other\n"), (TREE, b"content\n"), (TAG, b"content\n"), (BLOB, b"")]
)
def test_what_does_not_hash_to_its_id_is_refused(given: tuple[int, bytes]) -> None:
    # `cat-file --batch` gives a tampered loose object under its old id, with status 0.
    side = outside(read_base=lambda _: given)
    with pytest.raises(PackError) as caught:
        side.read(OID)
    assert caught.value.code is codes.CORRUPT_BASE_OBJECT
    assert caught.value.code.klass == codes.ENVIRONMENT
    assert caught.value.oid == OID


@pytest.mark.parametrize(
    "given",
    [
        b"content\n", 3, (3,), (3, b"", b""), (0, b""), (5, b""), (True, b""), ("blob", b""),
        (3, "text"), (3, None), [3, b"content\n"], (3.0, b"content\n"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_object_is_the_callers_mistake(given: object) -> None:
    with pytest.raises(MisuseError, match="read_base"):
        checked_object(SHA1, OID, given)


# --- sizes ----------------------------------------------------------------------------------------


def test_a_size_is_asked_for_where_somebody_knows_it_and_else_read() -> None:
    read: list[bytes] = []

    def reader(oid: bytes) -> tuple[int, bytes] | None:
        read.append(oid)
        return (BLOB, b"content\n") if oid == OID else None

    asked = outside(read_base=reader, base_info={OID: (BLOB, 8)}.get)
    assert (asked.size(OID), asked.size(COMMIT_ID), read) == (8, None, [])
    assert (outside(read_base=reader).size(OID), read) == (8, [OID])
    assert outside(read_base=reader).size(COMMIT_ID) is None
    assert outside().size(OID) is None


def test_of_kinds_that_were_asked_for_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packparse.outside._KINDS_KEPT", 1)
    asked: list[bytes] = []

    def about(oid: bytes) -> tuple[int, int]:
        asked.append(oid)
        return BLOB, 1

    side = outside(known=lambda _oid: 0, read_base=lambda _oid: None, base_info=about)
    assert [side.kind(oid) for oid in (OID, OID, COMMIT_ID, OID)] == [BLOB] * 4
    assert asked == [OID, COMMIT_ID, OID]
