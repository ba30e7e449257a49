"""Receipts and refusals: written once, read back, and never believed when damaged."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest

from manifest.errors import RecordError
from manifest.receipt import (
    FINDINGS,
    LARGEST,
    LONGEST_PATH,
    Receipt,
    Refusal,
    RefusedFor,
    read_receipt,
    read_refusal,
    write_receipt,
    write_refusal,
)
from tests.support import manifests
from tests.support.made import RECEIPT, REFUSAL

replace = msgspec.structs.replace


def code_of(task: Callable[..., object], *arguments: object) -> str:
    with pytest.raises(RecordError) as caught:
        task(*arguments)
    return caught.value.code.name


def test_a_receipt_is_one_line_of_json_with_a_digest_of_the_rest() -> None:
    data = write_receipt(RECEIPT)
    assert data.startswith(b'{"format":"packcheck.receipt/1","launch":"abab')
    assert read_receipt(data) == RECEIPT
    document = json.loads(data)
    assert document["objects"] == {"count": 7, "sha256": "7" * 64}
    assert document["git"] == {"version": "2.39.5", "relaxed": ["zeroPaddedFilemode"]}
    at = data.index(b',"sha256":"' + document["sha256"].encode())
    assert document["sha256"].encode() == manifests.sha256_hex(data[:at])


def test_a_refusal_is_one_line_of_json_with_a_digest_of_the_rest() -> None:
    data = write_refusal(REFUSAL)
    assert data.startswith(b'{"format":"packcheck.refusal/1","launch":"abab')
    assert read_refusal(data) == REFUSAL
    assert json.loads(data)["findings"][1] == {
        "code": "trailingBytes",
        "offset": None,
        "oid": None,
        "path": None,
        "message": "more",
    }


@pytest.mark.parametrize(
    ("read", "data"),
    [(read_receipt, write_receipt(RECEIPT)), (read_refusal, write_refusal(REFUSAL))],
    ids=["receipt", "refusal"],
)
def test_any_damage_is_noticed(read: Callable[[bytes], object], data: bytes) -> None:
    codes = set()
    for at in range(len(data)):
        bent = bytearray(data)
        bent[at] ^= 0x01
        codes.add(code_of(read, bytes(bent)))
        codes.add(code_of(read, data[:at]))
    assert codes == {"recordInvalid", "recordVersion"}


def test_one_is_not_read_as_the_other() -> None:
    assert code_of(read_receipt, write_refusal(REFUSAL)) == "recordVersion"
    assert code_of(read_refusal, write_receipt(RECEIPT)) == "recordVersion"


RECEIPTS: dict[str, Receipt] = {
    "another state": replace(RECEIPT, state="offered"),
    "an id that is none": replace(RECEIPT, base="1" * 39),
    "a pack that is a path": replace(RECEIPT, pack=replace(RECEIPT.pack, name="../x")),
    "an index without a digest": replace(RECEIPT, pack=replace(RECEIPT.pack, index="")),
    "a number below zero": replace(RECEIPT, times=replace(RECEIPT.times, published=-1)),
    "a code that is none": replace(RECEIPT, git=replace(RECEIPT.git, relaxed=["a b"])),
    "too many codes": replace(RECEIPT, git=replace(RECEIPT.git, relaxed=["a"] * 201)),
    "a count of what is no code": replace(
        RECEIPT, packcheck=replace(RECEIPT.packcheck, found={"a\n": 1})
    ),
    "a version with a line feed": replace(RECEIPT, git=replace(RECEIPT.git, version="2\n")),
    "too many commits": replace(RECEIPT, commits=["1" * 40] * 10_001),
}


@pytest.mark.parametrize("name", RECEIPTS)
def test_a_receipt_that_could_not_be_read_again_is_not_written(name: str) -> None:
    assert code_of(write_receipt, RECEIPTS[name]) == "recordInvalid"


FINDING = REFUSAL.findings[0]
REFUSALS: dict[str, Refusal] = {
    "no step": replace(REFUSAL, step=-1),
    "a step that there is not": replace(REFUSAL, step=12),
    "no class": replace(REFUSAL, klass=0),
    "a class that there is not": replace(REFUSAL, klass=7),
    "a message with an escape": replace(REFUSAL, message="\x1b[31m"),
    "a message that is too long": replace(REFUSAL, message="x" * 2_001),
    "too many findings": replace(REFUSAL, findings=[FINDING] * (FINDINGS + 1)),
    "a path that is not quoted": replace(REFUSAL, findings=[replace(FINDING, path="\n")]),
    "an artifact that is no digest": replace(REFUSAL, artifact="3" * 40),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_that_could_not_be_read_again_is_not_written(name: str) -> None:
    assert code_of(write_refusal, REFUSALS[name]) == "recordInvalid"


def test_the_longest_of_both_are_short_enough_to_be_read() -> None:
    receipt = replace(RECEIPT, commits=[f"{number:064x}" for number in range(10_000)])
    assert len(write_receipt(receipt)) <= LARGEST
    finding = RefusedFor(
        code="a" * 64,
        offset=2**53 - 1,
        oid="8" * 64,
        path="\\" * LONGEST_PATH,
        message='"' * 2_000,
    )
    refusal = replace(REFUSAL, message='"' * 2_000, findings=[finding] * FINDINGS)
    assert len(write_refusal(refusal)) <= LARGEST
