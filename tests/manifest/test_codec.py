"""Records as bytes: one spelling, a digest at its end, and no error but the promised one."""

from __future__ import annotations

import hashlib
from typing import Annotated

import pytest
from msgspec import Meta

from manifest.atoms import Amount, Name
from manifest.codec import Record, decode, encode, hmac_sha256, made, seal, sha256, split, unseal
from manifest.errors import RECORD_INVALID, RecordError
from tests.support import manifests


class Part(Record, frozen=True):
    """A part of a sample."""

    number: Amount


class Sample(Record, frozen=True, tag_field="format", tag="packcheck.sample/1"):
    """A record with each kind of field."""

    name: Name
    text: Annotated[str, Meta(max_length=100)]
    part: Part
    parts: Annotated[list[Part], Meta(max_length=2)]
    more: dict[str, int]

    def check(self) -> None:
        """Raise RecordError where the name is that of the text."""
        if self.name == self.text:
            raise RecordError(RECORD_INVALID, "twice the same")


class Event(Record, frozen=True, tag_field="state", tag="begun"):
    """A record with another first key."""

    at: Amount


SAMPLE = Sample(name="a", text="b c", part=Part(number=1), parts=[Part(number=2)], more={"x": 3})
SPELT = (
    b'{"format":"packcheck.sample/1","name":"a","text":"b c",'
    b'"part":{"number":1},"parts":[{"number":2}],"more":{"x":3}}'
)
DIGEST = hashlib.sha256(SPELT[:-1]).hexdigest()
SEALED = SPELT[:-1] + b',"sha256":"%b"}\n' % DIGEST.encode()


def code_of(task: object, *arguments: object) -> str:
    assert callable(task)
    with pytest.raises(RecordError) as caught:
        task(*arguments)
    assert caught.value.message.isascii()
    assert caught.value.message.isprintable()
    return caught.value.code.name


def test_a_record_has_one_spelling() -> None:
    assert encode(SAMPLE) == SPELT
    assert decode(SPELT, Sample) == SAMPLE
    assert seal(SAMPLE, "sha256", sha256) == SEALED
    assert unseal(SEALED, Sample, "sha256", sha256) == SAMPLE
    assert split(SEALED, "sha256") == (SPELT, DIGEST)


def test_keys_of_a_mapping_are_sorted() -> None:
    one = Sample(name="a", text="b", part=Part(number=1), parts=[], more={"y": 1, "x": 2})
    assert b'"more":{"x":2,"y":1}' in encode(one)
    assert decode(encode(one), Sample) == one
    swapped = encode(one).replace(b'"x":2,"y":1', b'"y":1,"x":2')
    assert code_of(decode, swapped, Sample) == "recordInvalid"


def test_a_first_key_of_another_name_is_a_label_as_well() -> None:
    assert decode(b'{"state":"begun","at":1}', Event) == Event(at=1)
    assert code_of(decode, b'{"state":"ended","at":1}', Event) == "recordVersion"
    assert code_of(decode, b'{"format":"begun","at":1}', Event) == "recordInvalid"


def test_what_is_only_true_of_the_whole_is_checked() -> None:
    assert code_of(decode, SPELT.replace(b'"b c"', b'"a"'), Sample) == "recordInvalid"


UNMADE: dict[str, Sample] = {
    "a name out of its bounds": Sample(name="-", text="", part=Part(number=1), parts=[], more={}),
    "a list that is too long": Sample(
        name="a", text="", part=Part(number=1), parts=[Part(number=1)] * 3, more={}
    ),
    "the same twice": Sample(name="a", text="a", part=Part(number=1), parts=[], more={}),
    "text that is not ASCII": Sample(name="a", text="ä", part=Part(number=1), parts=[], more={}),
    "text that is not Unicode": Sample(
        name="a", text="\udcff", part=Part(number=1), parts=[], more={}
    ),
    "a number that is too large for JSON": Sample(
        name="a", text="", part=Part(number=2**70), parts=[], more={}
    ),
    "another type": Sample(name="a", text=7, part=Part(number=1), parts=[], more={}),  # type: ignore[arg-type]
    "a type that JSON does not have": Sample(
        name="a", text=object(), part=Part(number=1), parts=[], more={}  # type: ignore[arg-type]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNMADE)
def test_a_record_that_could_not_be_read_again_cannot_be_made(name: str) -> None:
    """A constructor checks nothing."""
    assert code_of(made, UNMADE[name]) == "recordInvalid"


def test_a_record_that_can_be_read_again_is_made() -> None:
    assert made(SAMPLE) == SAMPLE


def test_a_damaged_record_has_another_digest_and_is_not_decoded() -> None:
    damaged = SEALED.replace(b'"b c"', b'["""')
    assert unseal(damaged, Sample, "sha256", sha256) is None


def test_a_record_under_a_digest_that_is_right_is_decoded_and_refused() -> None:
    body = SPELT.replace(b'"number":1', b'"number":-1')
    data = body[:-1] + b',"sha256":"%b"}\n' % sha256(body[:-1]).encode()
    assert code_of(unseal, data, Sample, "sha256", sha256) == "recordInvalid"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"}\n",
        SEALED[:-1],
        SEALED + b"\n",
        SEALED[-76:],
        SEALED.replace(b'"sha256"', b'"mac"'),
        SEALED[:-4] + b"G" + SEALED[-3:],
        SEALED[:-4] + b"F" + SEALED[-3:],
        SEALED[:-4] + SEALED[-3:],
        SEALED[:-3] + b"]\n",
    ],
)
def test_bytes_that_do_not_end_in_a_digest_are_no_record(data: bytes) -> None:
    assert code_of(split, data, "sha256") == "recordInvalid"


@pytest.mark.parametrize("key", [b"", b"k", b"\x5e" * 32, b"\0" * 64])
def test_the_digests_are_those_of_the_standards(key: bytes) -> None:
    for data in (b"", b"abc", bytes(1_000)):
        assert hmac_sha256(key)(data) == manifests.hmac_sha256(key, data)
        assert sha256(data).encode() == manifests.sha256_hex(data)
