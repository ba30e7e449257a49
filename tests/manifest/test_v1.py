"""The manifest: one byte string is right, each field has its bounds, and nothing else is read."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manifest import v1
from manifest.errors import RecordError
from manifest.launch import Launch
from manifest.ticket import Ticket
from manifest.v1 import Artifact, Manifest, Workspace
from packparse.escape import quote
from tests.support.made import CANDIDATE, KEY, LAUNCH, MANIFEST, MANIFEST_BYTES
from tests.support.manifests import Document, hmac_sha256, opened, sealed, spelt

FIXED = settings(derandomize=True, database=None, max_examples=100)


def refused(data: bytes, code: str, *, key: bytes = KEY) -> str:
    """The message of the refusal."""
    with pytest.raises(RecordError) as caught:
        v1.read(data, key)
    assert caught.value.code.name == code, caught.value.message
    assert caught.value.message.isascii()
    assert caught.value.message.isprintable()
    return caught.value.message


# --- the bytes ----------------------------------------------------------------------------------


def test_the_bytes_are_these_and_no_others() -> None:
    assert v1.write(MANIFEST, KEY) == MANIFEST_BYTES
    assert v1.read(MANIFEST_BYTES, KEY) == MANIFEST


@pytest.mark.parametrize("told", [LAUNCH, Ticket.of(LAUNCH)], ids=["the launch", "its ticket"])
def test_what_is_offered_is_the_last_commit(told: Launch | Ticket) -> None:
    made = v1.offered(told, MANIFEST.artifact, MANIFEST.commits, MANIFEST.workspace)
    assert made == MANIFEST


def test_the_digest_is_the_hmac_of_what_stands_before_it() -> None:
    at = MANIFEST_BYTES.index(b',"mac":"')
    digest = hmac.new(KEY, MANIFEST_BYTES[:at], hashlib.sha256).hexdigest()
    assert MANIFEST_BYTES[at:] == b',"mac":"%b"}\n' % digest.encode()
    assert hmac_sha256(KEY, MANIFEST_BYTES[:at]) == digest


def test_a_manifest_can_be_spelt_without_this_code() -> None:
    assert sealed(spelt(opened(MANIFEST_BYTES)), KEY) == MANIFEST_BYTES


@pytest.mark.parametrize(
    "key", [b"\x5f" * 32, b"\x5e" * 31, b"\x5e" * 33, b""], ids=["other", "short", "long", "none"]
)
def test_it_is_read_with_the_key_of_the_launch_alone(key: bytes) -> None:
    refused(MANIFEST_BYTES, "manifestForged", key=key)


# --- fields -------------------------------------------------------------------------------------

# The path of a field, and values of other types or out of its bounds.
NAMES: list[object] = [
    None, 7, True, [], {}, "", " ", "-x", ".x", "/x", "a b", "a\n", "a\r\n", "a\0", "a" * 129,
    "ä", "\ud800", 'a"b', "a\\b",
]  # fmt: skip
IDS: list[object] = [
    None, 7, [], {}, "", "1" * 39, "1" * 41, "1" * 63, "1" * 65, "A" * 40, "g" * 40,
    "1" * 39 + "\n", " " + "1" * 39, "1" * 40 + "\n", "HEAD", "0x" + "1" * 38, "\uff11" * 40,
]  # fmt: skip
NUMBERS: list[object] = [
    None, "7", True, False, [], {}, -1, -0.0, 7.0, 7.5, 1e3, 2**53, 2**63, 2**64, 10**39,
    float("nan"), float("inf"),
]  # fmt: skip
DIGESTS: list[object] = [
    None, 7, [], {}, "", "3" * 63, "3" * 65, "A" * 64, "g" * 64, "3" * 64 + "\n", "3" * 40,
]  # fmt: skip
FILE_NAMES: list[object] = [
    None, 7, [], {}, "", ".", "..", ".x", "-x", "a/b", "/a", "a b", "a\n", "a\0b", "a" * 101, "ä",
    "a:b", "a\\b",
]  # fmt: skip
BAD: dict[tuple[str, ...], list[object]] = {
    ("format",): [None, 7, [], {}, ""],
    ("issue",): NAMES,
    ("run",): NAMES,
    ("phase",): NAMES,
    ("launch",): [*NAMES, "ab" * 15, "ab" * 17, "AB" * 16, "zz" * 16, "ab" * 16 + "\n"],
    ("repository",): NAMES,
    ("object_format",): [None, 7, [], {}, "", "sha512", "SHA1", "sha-1", "sha1\n"],
    ("base",): IDS,
    ("candidate",): IDS,
    ("artifact",): [None, 7, [], {}, "candidate.bundle"],
    ("artifact", "name"): FILE_NAMES,
    ("artifact", "bytes"): NUMBERS,
    ("artifact", "sha256"): DIGESTS,
    ("artifact", "objects"): NUMBERS,
    ("commits",): [None, 7, {}, "", CANDIDATE, [7], [None], [[]], *([oid] for oid in IDS)],
    ("state",): [None, 7, [], {}, "", "imported", "OFFERED", "offered "],
    ("workspace",): [None, 7, [], {}, ""],
    ("workspace", "dirty"): NUMBERS,
    ("workspace", "paths"): [None, 7, {}, "a", [7], [None], [""], ["a\n"], ["ä"], ["\x7f"], ["\0"]],
}
OUTER = [path[0] for path in BAD if len(path) == 1]


def inner(document: Document, path: tuple[str, ...]) -> Document:
    """The object that has the last key of a path."""
    for name in path[:-1]:
        found = document[name]
        assert isinstance(found, dict)
        document = found
    return document


def changed(path: tuple[str, ...], value: object) -> bytes:
    document = opened(MANIFEST_BYTES)
    inner(document, path)[path[-1]] = value
    return sealed(spelt(document), KEY)


CASES = [
    pytest.param(path, value, id=f"{'.'.join(path)} {value!a:.60}")
    for path, values in BAD.items()
    for value in values
]


@pytest.mark.parametrize(("path", "value"), CASES)
def test_a_field_of_another_type_or_out_of_its_bounds_is_refused(
    path: tuple[str, ...], value: object
) -> None:
    versions = path == ("format",) and value == ""
    refused(changed(path, value), "recordVersion" if versions else "recordInvalid")


@pytest.mark.parametrize("path", BAD, ids=".".join)
def test_a38_a_field_that_is_missing_comes_twice_or_elsewhere_is_refused(
    path: tuple[str, ...],
) -> None:
    document = opened(MANIFEST_BYTES)
    place = inner(document, path)
    value = place.pop(path[-1])
    refused(sealed(spelt(document), KEY), "recordInvalid")
    # At the end, be it of the whole or of the part: the order is one.
    place[path[-1]] = value
    moved = sealed(spelt(document), KEY)
    if moved != MANIFEST_BYTES:
        refused(moved, "recordInvalid")
    spelling = json.dumps(value, separators=(",", ":")).encode()
    pair = b'"%b":%b' % (path[-1].encode(), spelling)
    body = spelt(opened(MANIFEST_BYTES))
    assert body.count(pair) == 1
    refused(sealed(body.replace(pair, pair + b"," + pair), KEY), "recordInvalid")


@pytest.mark.parametrize(
    "path", [(), ("artifact",), ("workspace",)], ids=["outside", "artifact", "workspace"]
)
@pytest.mark.parametrize("name", ["more", "ref", "Issue", "mac", "", "issue\0"], ids=repr)
def test_a_field_more_is_refused(path: tuple[str, ...], name: str) -> None:
    document = opened(MANIFEST_BYTES)
    inner(document, (*path, name))[name] = "x"
    refused(sealed(spelt(document), KEY), "recordInvalid")


def test_every_order_of_two_neighbouring_fields_is_refused() -> None:
    names = list(opened(MANIFEST_BYTES))
    for at in range(len(names) - 1):
        document = opened(MANIFEST_BYTES)
        order = [*names[:at], names[at + 1], names[at], *names[at + 2 :]]
        refused(sealed(spelt({name: document[name] for name in order}), KEY), "recordInvalid")


# --- bounds -------------------------------------------------------------------------------------

GOOD: dict[str, Manifest] = {
    "the longest names": msgspec.structs.replace(
        MANIFEST, issue="a" * 128, run="0._:/#@+=,-", phase="A", repository="9"
    ),
    "ids of sha256": msgspec.structs.replace(
        MANIFEST, object_format="sha256", base="1" * 64, candidate="2" * 64, commits=["2" * 64]
    ),
    "no commits": msgspec.structs.replace(MANIFEST, commits=[]),
    "the most commits": msgspec.structs.replace(
        MANIFEST, commits=[f"{number:040x}" for number in range(10_000)]
    ),
    "the largest numbers": msgspec.structs.replace(
        MANIFEST,
        artifact=Artifact(name="a" * 100, bytes=2**53 - 1, sha256="0" * 64, objects=2**53 - 1),
        workspace=Workspace(dirty=2**53 - 1, paths=[]),
    ),
    "the smallest numbers": msgspec.structs.replace(
        MANIFEST,
        artifact=Artifact(name="a", bytes=0, sha256="f" * 64, objects=0),
        workspace=Workspace(dirty=0, paths=[]),
    ),
    "the most paths": msgspec.structs.replace(
        MANIFEST, workspace=Workspace(dirty=100, paths=["x"] * 100)
    ),
    "the longest path": msgspec.structs.replace(
        MANIFEST, workspace=Workspace(dirty=1, paths=["x" * 16_400])
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_is_within_the_bounds_is_read(name: str) -> None:
    assert v1.read(v1.write(GOOD[name], KEY), KEY) == GOOD[name]


TOO_MUCH: dict[str, Manifest] = {
    "a commit too many": msgspec.structs.replace(
        MANIFEST, commits=[f"{number:040x}" for number in range(10_001)]
    ),
    "a path too many": msgspec.structs.replace(
        MANIFEST, workspace=Workspace(dirty=101, paths=["x"] * 101)
    ),
    "a path too long": msgspec.structs.replace(
        MANIFEST, workspace=Workspace(dirty=1, paths=["x" * 16_401])
    ),
    "a commit twice": msgspec.structs.replace(MANIFEST, commits=[CANDIDATE, CANDIDATE]),
    "more paths than are counted": msgspec.structs.replace(
        MANIFEST, workspace=Workspace(dirty=1, paths=["a", "b"])
    ),
    "a path in quotes that it does not need": msgspec.structs.replace(
        MANIFEST, workspace=Workspace(dirty=1, paths=['"a"'])
    ),
    "a path without the quotes that it needs": msgspec.structs.replace(
        MANIFEST, workspace=Workspace(dirty=1, paths=["a\\b"])
    ),
    "a path with an escape in capitals": msgspec.structs.replace(
        MANIFEST, workspace=Workspace(dirty=1, paths=['"\\N"'])
    ),
    "a path that is one quote": msgspec.structs.replace(
        MANIFEST, workspace=Workspace(dirty=1, paths=['"'])
    ),
    "a path that is two quotes": msgspec.structs.replace(
        MANIFEST, workspace=Workspace(dirty=1, paths=['""'])
    ),
    "a path with an octal number over 255": msgspec.structs.replace(
        MANIFEST, workspace=Workspace(dirty=1, paths=['"\\400"'])
    ),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_is_out_of_bounds_as_a_whole_is_refused(name: str) -> None:
    refused(v1.write(TOO_MUCH[name], KEY), "recordInvalid")


FORMATS: dict[str, Manifest] = {
    "a base": msgspec.structs.replace(MANIFEST, base="1" * 64),
    "a candidate": msgspec.structs.replace(MANIFEST, candidate="2" * 64),
    "a commit": msgspec.structs.replace(MANIFEST, commits=["2" * 64]),
    "all but the name of the format": msgspec.structs.replace(
        MANIFEST, base="1" * 64, candidate="2" * 64, commits=["2" * 64]
    ),
    "the name of the format": msgspec.structs.replace(MANIFEST, object_format="sha256"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_ids_are_those_of_one_object_format(name: str) -> None:
    refused(v1.write(FORMATS[name], KEY), "badObjectId")


def test_the_longest_manifest_of_all_is_read() -> None:
    """All commits with the longer ids, and paths whose every character is escaped twice."""
    longest = msgspec.structs.replace(
        MANIFEST,
        object_format="sha256",
        base="1" * 64,
        candidate="2" * 64,
        commits=[f"{number:064x}" for number in range(10_000)],
        workspace=Workspace(dirty=2**53 - 1, paths=[quote(b"\\" * 8_199)] * 100),
    )
    data = v1.write(longest, KEY)
    assert len(data) <= v1.LARGEST
    assert v1.read(data, KEY) == longest


def test_more_bytes_than_any_manifest_has_are_not_even_looked_at() -> None:
    refused(bytes(v1.LARGEST), "recordInvalid")
    refused(bytes(v1.LARGEST + 1), "manifestTooLarge")
    padded = sealed(MANIFEST_BYTES[: MANIFEST_BYTES.index(b',"mac"')] + b" " * v1.LARGEST, KEY)
    refused(padded, "manifestTooLarge")


# --- spellings ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spelling:
    """Bytes that say the same, or begin so, made of the body that is right."""

    change: Callable[[bytes], bytes]
    code: str = "recordInvalid"


BODY = spelt(opened(MANIFEST_BYTES))
NUMBER = b'"objects":7'


def _number(text: bytes) -> Spelling:
    return Spelling(lambda body: body.replace(NUMBER, b'"objects":' + text))


SPELLINGS: dict[str, Spelling] = {
    "a space behind a comma": Spelling(lambda body: body.replace(b",", b", ", 1)),
    "a space behind a colon": Spelling(lambda body: body.replace(b'"run":', b'"run": ')),
    "a space at the beginning": Spelling(lambda body: b" " + body),
    "a space at the end": Spelling(lambda body: body[:-1] + b" }"),
    "a tab": Spelling(lambda body: body.replace(b",", b",\t", 1)),
    "a line feed inside": Spelling(lambda body: body.replace(b",", b",\n", 1)),
    "an escape of a letter": Spelling(lambda body: body.replace(b'"FIX"', b'"\\u0046IX"')),
    "an escape of a slash": Spelling(lambda body: body.replace(b"owner/repo", b"owner\\/repo")),
    "an escape of a key": Spelling(lambda body: body.replace(b'"run"', b'"r\\u0075n"')),
    "an escape of the label's key": Spelling(
        lambda body: body.replace(b"format", b"\\u0066ormat", 1)
    ),
    "an escape in the label": Spelling(
        lambda body: body.replace(b"packcheck", b"\\u0070ackcheck", 1), "recordVersion"
    ),
    "a number with a fraction": _number(b"7.0"),
    "a number with an exponent": _number(b"7e0"),
    "a number with a zero in front": _number(b"07"),
    "a number with a plus": _number(b"+7"),
    "minus zero": _number(b"-0"),
    "a number of 40 digits": _number(b"1" * 40),
    "a number of 10,000 digits": _number(b"1" * 10_000),
    "no number": _number(b"NaN"),
    "nothing for a number": _number(b""),
    "a comma at the end": Spelling(lambda body: body[:-1] + b",}"),
    "a comment": Spelling(lambda body: body[:-1] + b"/**/}"),
    "single quotes": Spelling(lambda body: body.replace(b'"FIX"', b"'FIX'")),
    "a second object behind it": Spelling(lambda body: body + body),
    "a list of it": Spelling(lambda body: b"[%b]" % body),
    "a list in a list, 100,000 deep": Spelling(
        lambda body: body.replace(b'"commits":[', b'"commits":[' + b"[" * 100_000)
    ),
    "an object in an object, 100,000 deep": Spelling(
        lambda body: body.replace(b'"artifact":{', b'"artifact":' + b'{"name":' * 100_000 + b"{")
    ),
    "a mark of byte order": Spelling(lambda body: b"\xef\xbb\xbf" + body),
    "UTF-8": Spelling(lambda body: body.replace(b"FIX", "FÄX".encode())),
    "no UTF-8": Spelling(lambda body: body.replace(b"FIX", b"F\xffX")),
    "NUL": Spelling(lambda body: body.replace(b"FIX", b"F\0X")),
    "NUL at the end": Spelling(lambda body: body[:-1] + b"\0}"),
    "DEL": Spelling(lambda body: body.replace(b"FIX", b"F\x7fX")),
    "UTF-16": Spelling(lambda body: body.decode().encode("utf-16")),
    "no object": Spelling(lambda _body: b"null"),
    "nothing": Spelling(lambda _body: b""),
    "a brace": Spelling(lambda _body: b"{"),
    "braces": Spelling(lambda _body: b"{}"),
    "a label without an end": Spelling(lambda _body: b'{"format":"packcheck.manifest/1'),
    "a label of 100,000 characters": Spelling(
        lambda body: body.replace(b"packcheck.manifest/1", b"p" * 100_000)
    ),
    "a label of 99 characters": Spelling(
        lambda body: body.replace(b"packcheck.manifest/1", b"p" * 99), "recordVersion"
    ),
    "the next version": Spelling(
        lambda body: body.replace(b"manifest/1", b"manifest/2"), "recordVersion"
    ),
    "a version before": Spelling(
        lambda body: body.replace(b"manifest/1", b"manifest/0"), "recordVersion"
    ),
    "no version": Spelling(lambda body: body.replace(b"manifest/1", b"manifest"), "recordVersion"),
    "the label of a receipt": Spelling(
        lambda body: body.replace(b"manifest/1", b"receipt/1"), "recordVersion"
    ),
    "a label in capitals": Spelling(
        lambda body: body.replace(b"packcheck.", b"PACKCHECK."), "recordVersion"
    ),
    "a label that is not the first": Spelling(
        lambda body: b'{"run":"run-7",' + body.replace(b'"run":"run-7",', b"")[1:]
    ),
    "a second label": Spelling(
        lambda body: body[:-1] + b',"format":"packcheck.manifest/1"}'
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
def test_another_spelling_is_refused_though_the_key_is_right(name: str) -> None:
    spelling = SPELLINGS[name]
    body = spelling.change(BODY)
    assert body != BODY
    refused(sealed(body, KEY), spelling.code)


def test_a38_an_unknown_version_is_told_before_the_key_is_looked_at() -> None:
    """What comes from a newer exporter is not called forged."""
    newer = sealed(BODY.replace(b"manifest/1", b"manifest/2"), b"another key")
    assert "packcheck.manifest/2" in refused(newer, "recordVersion")


ENDS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "no line feed": (lambda data: data[:-1], "recordInvalid"),
    "two line feeds": (lambda data: data + b"\n", "recordInvalid"),
    "a carriage return": (lambda data: data[:-1] + b"\r\n", "recordInvalid"),
    "a space": (lambda data: data + b" ", "recordInvalid"),
    "NUL": (lambda data: data + b"\0", "recordInvalid"),
    "another one": (lambda data: data + data, "manifestForged"),
    "a digest in capitals": (lambda data: data[:-67] + data[-67:].upper(), "recordInvalid"),
    "a digest too short": (lambda data: data[:-4] + data[-3:], "recordInvalid"),
    "a digest too long": (lambda data: data[:-3] + b"0" + data[-3:], "recordInvalid"),
    "a digest that is none": (lambda data: data[:-4] + b"g" + data[-3:], "recordInvalid"),
    "another name of the digest": (
        lambda data: data.replace(b'"mac"', b'"sha256"'), "recordInvalid",
    ),
    "the digest twice": (lambda data: data[:-2] + data[-75:], "manifestForged"),
    "no digest": (lambda data: data[: data.index(b',"mac"')] + b"}\n", "recordInvalid"),
    "the digest alone": (lambda data: data[data.index(b',"mac"') :], "recordInvalid"),
    "nothing": (lambda _data: b"", "recordInvalid"),
    "a line feed alone": (lambda _data: b"\n", "recordInvalid"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_the_end_is_the_digest_and_one_line_feed(name: str) -> None:
    change, code = ENDS[name]
    refused(change(MANIFEST_BYTES), code)


# --- any change at all --------------------------------------------------------------------------


@pytest.mark.parametrize("bit", range(8))
def test_any_bit_that_flips_is_noticed(bit: int) -> None:
    for at in range(len(MANIFEST_BYTES)):
        data = bytearray(MANIFEST_BYTES)
        data[at] ^= 1 << bit
        with pytest.raises(RecordError):
            v1.read(bytes(data), KEY)


def test_any_byte_that_is_lost_or_comes_twice_is_noticed() -> None:
    for at in range(len(MANIFEST_BYTES)):
        for data in (
            MANIFEST_BYTES[:at] + MANIFEST_BYTES[at + 1 :],
            MANIFEST_BYTES[: at + 1] + MANIFEST_BYTES[at:],
            MANIFEST_BYTES[:at],
        ):
            with pytest.raises(RecordError):
                v1.read(data, KEY)


@pytest.mark.parametrize("bit", range(8))
def test_with_the_right_key_any_change_is_refused_or_a_manifest_of_one_spelling(bit: int) -> None:
    """What is authentic may say something else; it says it in the one way, or not at all."""
    for at in range(len(BODY)):
        changed_body = bytearray(BODY)
        changed_body[at] ^= 1 << bit
        data = sealed(bytes(changed_body), KEY)
        try:
            manifest = v1.read(data, KEY)
        except RecordError:
            continue
        assert manifest != MANIFEST
        assert v1.write(manifest, KEY) == data


@given(st.binary(max_size=300))
@FIXED
def test_bytes_of_any_kind_are_refused_by_code_and_by_nothing_else(data: bytes) -> None:
    for candidate in (
        data,
        sealed(data, KEY),
        sealed(b'{"format":"packcheck.manifest/1"' + data, KEY),
    ):
        with pytest.raises(RecordError):
            v1.read(candidate, KEY)


_ALNUM = "abzAZ019"
_names = st.builds(str.__add__, st.sampled_from(_ALNUM), st.text(_ALNUM + "._:/#@+=,-", max_size=9))
_amounts = st.integers(0, 2**53 - 1)


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    fmt, digits = draw(st.sampled_from((("sha1", 40), ("sha256", 64))))
    oids = st.text("0123456789abcdef", min_size=digits, max_size=digits)
    paths = draw(st.lists(st.binary(min_size=1, max_size=40).map(quote), max_size=5))
    return Manifest(
        issue=draw(_names),
        run=draw(_names),
        phase=draw(_names),
        launch=draw(st.text("0123456789abcdef", min_size=32, max_size=32)),
        repository=draw(_names),
        object_format=fmt,  # type: ignore[arg-type]
        base=draw(oids),
        candidate=draw(oids),
        artifact=Artifact(
            name="a" + draw(st.text(_ALNUM + "._-", max_size=9)),
            bytes=draw(_amounts),
            sha256=draw(st.text("0123456789abcdef", min_size=64, max_size=64)),
            objects=draw(_amounts),
        ),
        commits=draw(st.lists(oids, max_size=5, unique=True)),
        state="offered",
        workspace=Workspace(dirty=draw(st.integers(len(paths), 2**53 - 1)), paths=paths),
    )


@given(manifests(), st.binary(min_size=32, max_size=32))
@FIXED
def test_what_is_written_is_read_and_is_what_anybody_would_write(
    manifest: Manifest, key: bytes
) -> None:
    data = v1.write(manifest, key)
    assert v1.read(data, key) == manifest
    assert sealed(spelt(opened(data)), key) == data


@given(manifests(), st.data())
@FIXED
def test_no_two_manifests_share_their_bytes_and_no_byte_is_free(
    manifest: Manifest, data: st.DataObject
) -> None:
    written = v1.write(manifest, KEY)
    at = data.draw(st.integers(0, len(written) - 1))
    byte = data.draw(st.integers(1, 255))
    bent = bytearray(written)
    bent[at] ^= byte
    with pytest.raises(RecordError):
        v1.read(bytes(bent), KEY)
