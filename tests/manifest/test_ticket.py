"""The ticket of a producer: one spelling, what it leaves out, and no key in a log."""

from __future__ import annotations

import json

import msgspec
import pytest

from manifest.codec import encode
from manifest.errors import RecordError
from manifest.ticket import LARGEST, Ticket, read, write
from tests.support.made import BASE, LAUNCH, LAUNCH_ID

replace = msgspec.structs.replace

TICKET = Ticket.of(LAUNCH)
BYTES = (
    b'{"format":"packcheck.ticket/1",'
    b'"issue":"owner/repo#269",'
    b'"run":"run-7",'
    b'"phase":"FIX",'
    b'"launch":"abababababababababababababababab",'
    b'"repository":"owner/repo",'
    b'"object_format":"sha1",'
    b'"base":"1111111111111111111111111111111111111111",'
    b'"artifact":"candidate.bundle",'
    b'"key":"' + b"5e" * 32 + b'"}\n'
)


def test_a_ticket_is_one_line_of_json() -> None:
    assert write(TICKET) == BYTES
    assert read(BYTES) == TICKET
    assert (TICKET.launch, TICKET.base) == (LAUNCH_ID, BASE)


def test_what_a_producer_need_not_know_is_not_in_a_ticket() -> None:
    fields = set(json.loads(BYTES)) - {"format"}
    assert set(LAUNCH.__struct_fields__) - fields == {
        "seed", "export", "common_dir", "policy", "limits",
    }  # fmt: skip


def test_the_longest_ticket_is_short_enough_to_be_read() -> None:
    name = "a" * 128
    longest = replace(
        TICKET, issue=name, run=name, phase=name, repository=name, object_format="sha256",
        base="1" * 64, artifact="a" * 100,
    )  # fmt: skip
    assert read(write(longest)) == longest
    assert len(write(longest)) < 1_200 < LARGEST


UNREADABLE = {
    "nothing": (b"", "recordInvalid"),
    "no line feed": (BYTES[:-1], "recordInvalid"),
    "another byte in its place": (BYTES[:-1] + b" ", "recordInvalid"),
    "two line feeds": (BYTES + b"\n", "recordInvalid"),
    "a space": (BYTES.replace(b",", b", ", 1), "recordInvalid"),
    "another label": (BYTES.replace(b"ticket/1", b"ticket/2"), "recordVersion"),
    "a field more": (BYTES.replace(b'"}', b'","more":1}'), "recordInvalid"),
    "a field less": (BYTES.replace(b'"phase":"FIX",', b""), "recordInvalid"),
    "a key that is too short": (BYTES.replace(b"5e" * 32, b"5e" * 31), "recordInvalid"),
    "a base of the other format": (BYTES.replace(b"1" * 40, b"1" * 64), "badObjectId"),
    "the other format": (BYTES.replace(b'"sha1"', b'"sha256"'), "badObjectId"),
    "more than a ticket can have": (b"{" * LARGEST + b"\n", "recordInvalid"),
}


@pytest.mark.parametrize(("data", "code"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_ticket_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(RecordError) as caught:
        read(data)
    assert caught.value.code.name == code
    assert "5e5e" not in str(caught.value)


@pytest.mark.parametrize("more", [0, 1])
def test_more_than_a_ticket_can_have_is_not_looked_at(more: int) -> None:
    told = f"a ticket has at most {LARGEST} bytes" if more else "it does not end in a line feed"
    with pytest.raises(RecordError, match=told):
        read(b"{" * (LARGEST + more))


@pytest.mark.parametrize("name", ["manifest.json", "ticket.json", "export.sh", "tmp_manifest.json"])
def test_no_artifact_has_the_name_of_another_file(name: str) -> None:
    bent = replace(TICKET, artifact=name)
    for task in (lambda: write(bent), lambda: read(encode(bent) + b"\n"),
                 lambda: Ticket.of(replace(LAUNCH, artifact=name))):  # fmt: skip
        with pytest.raises(RecordError, match=f"cannot be called {name}"):
            task()


def test_a_ticket_that_could_not_be_read_again_is_not_made() -> None:
    for change in ({"issue": "a b"}, {"base": "1" * 64}, {"artifact": "a/b"}):
        with pytest.raises(RecordError):
            Ticket.of(replace(LAUNCH, **change))
        with pytest.raises(RecordError):
            write(replace(TICKET, **change))


def test_no_text_form_shows_the_key() -> None:
    for shown in (repr(TICKET), f"{TICKET}", str([TICKET]), str(TICKET.__rich_repr__())):
        assert TICKET.launch in shown
        assert TICKET.key not in shown
