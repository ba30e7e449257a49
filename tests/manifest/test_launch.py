"""What is recorded of a launch: round trips, what may be recorded at all, and no key in a log."""

from __future__ import annotations

import msgspec
import pytest

from manifest.codec import decode, encode, made
from manifest.errors import RecordError
from manifest.launch import (
    Discarded,
    Event,
    Folder,
    Launch,
    Launched,
    PolicyText,
    Preparing,
    Publishing,
    Ready,
    Refused,
    Seed,
    Verified,
    decode_event,
    encode_event,
)
from packparse.errors import MisuseError
from packparse.escape import quote
from packparse.policies import TEXTS
from tests.support.made import CANDIDATE, LAUNCH, RECEIPT

replace = msgspec.structs.replace

EVENTS: dict[str, Event] = {
    "launched": Launched(at=1, record=LAUNCH),
    "preparing": Preparing(at=1),
    "ready": Ready(at=2),
    "verified": Verified(at=2, artifact="3" * 64, candidate=CANDIDATE),
    "publishing": Publishing(at=3, receipt=RECEIPT),
    "refused": Refused(at=5, code="symlinkEscapes"),
    "discarded": Discarded(at=6),
}


def refused(record: Launch) -> str:
    with pytest.raises(RecordError) as caught:
        made(record)
    return caught.value.code.name


def test_a_launch_is_read_as_it_was_written() -> None:
    data = encode(LAUNCH)
    assert data.startswith(b'{"format":"packcheck.launch/1","launch":"abab')
    assert decode(data, Launch) == LAUNCH
    assert made(LAUNCH) == LAUNCH


def test_every_kind_of_event_is_among_these() -> None:
    assert {type(event) for event in EVENTS.values()} == set(Event.__subclasses__())


@pytest.mark.parametrize("state", EVENTS)
def test_an_event_is_read_as_it_was_written(state: str) -> None:
    data = encode_event(EVENTS[state])
    assert data.startswith(b'{"state":"%b","at":' % state.encode())
    assert decode_event(data) == EVENTS[state]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"null",
        b'{"state":"unknown","at":1}',
        b'{"state":"discarded"}',
        b'{"state":"discarded","at":-1}',
        b'{"state":"discarded","at":1,"more":2}',
        b'{"at":1,"state":"discarded"}',
        b'{"state":"discarded","at":1} ',
        b'{"kind":"discarded","at":1}',
        b'{"state":"discarded',
        b'{"state":"launched","at":1,"record":{}}',
        b'{"state":"refused","at":1,"code":"a b"}',
        b'{"state":"d\xc4\xb1scarded","at":1}',
    ],
)
def test_what_is_no_event_is_refused(data: bytes) -> None:
    with pytest.raises(RecordError) as caught:
        decode_event(data)
    assert caught.value.code.name == "recordInvalid"


def test_an_event_that_holds_a_launch_is_checked_as_the_launch_is() -> None:
    event = Launched(at=1, record=replace(LAUNCH, base="1" * 64))
    for task in (lambda: decode_event(encode(event)), lambda: encode_event(event)):
        with pytest.raises(RecordError) as caught:
            task()
        assert caught.value.code.name == "badObjectId"


@pytest.mark.parametrize("shown", [repr, str, "{}".format], ids=["repr", "str", "format"])
def test_no_text_form_shows_the_key(shown: object) -> None:
    assert callable(shown)
    for record in (LAUNCH, EVENTS["launched"], [LAUNCH], {"a": EVENTS["launched"]}):
        text = shown(record)
        assert "owner/repo#269" in text
        assert LAUNCH.key not in text


def test_an_error_about_a_launch_does_not_show_the_key() -> None:
    for change in ({"base": "1" * 64}, {"key": "5e" * 31}, {"limits": {"nothing": 1}}):
        with pytest.raises(RecordError) as caught:
            made(replace(LAUNCH, **change))
        assert "5e5e5e" not in str(caught.value)
        assert "5e5e5e" not in repr(caught.value)


INVALID: dict[str, tuple[Launch, str]] = {
    "a base of the other format": (replace(LAUNCH, base="1" * 64), "badObjectId"),
    "a boundary of the other format": (
        replace(LAUNCH, seed=Seed(kind="full", boundary=["1" * 64])), "badObjectId",
    ),
    "the other format": (replace(LAUNCH, object_format="sha256"), "badObjectId"),
    "a seed of no kind": (
        replace(LAUNCH, seed=Seed(kind="half", boundary=[])), "recordInvalid",  # type: ignore[arg-type]
    ),
    "an export that is no path from the root": (
        replace(LAUNCH, export=Folder(path="exports/7", device=1, inode=2)), "recordInvalid",
    ),
    "a common folder that is no path from the root": (
        replace(LAUNCH, common_dir=Folder(path="a", device=1, inode=2)), "recordInvalid",
    ),
    "an export that is not quoted": (
        replace(LAUNCH, export=Folder(path='"/a"', device=1, inode=2)), "recordInvalid",
    ),
    "a limit that there is not": (replace(LAUNCH, limits={"nothing": 1}), "recordInvalid"),
    "a limit that is too large": (
        replace(LAUNCH, limits={"objects": 2**40}), "recordInvalid",
    ),
    "a key that is too short": (replace(LAUNCH, key="5e" * 31), "recordInvalid"),
    "an artifact that is a path": (replace(LAUNCH, artifact="a/b"), "recordInvalid"),
    "a policy that there is not": (
        replace(LAUNCH, policy=PolicyText(name="nothing")), "recordInvalid",
    ),
    "a policy that is no TOML": (
        replace(LAUNCH, policy=PolicyText(name="ours", text="[")), "recordInvalid",
    ),
    "a policy that is not quoted": (
        replace(LAUNCH, policy=PolicyText(name="ours", text='extends = "candidate"')),
        "recordInvalid",
    ),
    "a policy that is not UTF-8": (
        replace(LAUNCH, policy=PolicyText(name="ours", text=quote(b'extends = "\xff"'))),
        "recordInvalid",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INVALID)
def test_a_launch_that_could_not_be_worked_with_is_refused(name: str) -> None:
    record, code = INVALID[name]
    assert refused(record) == code


def test_the_key_is_in_no_representation() -> None:
    assert LAUNCH.launch in repr(LAUNCH)
    for shown in (repr(LAUNCH), str(LAUNCH.__rich_repr__()), f"{LAUNCH}", str([LAUNCH])):
        assert LAUNCH.key not in shown


def test_a_folder_is_where_the_system_has_it() -> None:
    assert LAUNCH.common_dir.location == "/h\u00e4/.git"
    assert Folder(path=r'"/\377"', device=1, inode=2).location == "/\udcff"
    assert Folder(path='"/a"', device=1, inode=2).location == ""


def test_the_limits_of_a_launch_go_before_those_of_its_policy() -> None:
    policy = PolicyText(name="ours", text=quote(b"[limits]\ncommits = 7\nobjects = 8\n"))
    limits = replace(LAUNCH, policy=policy).made_limits()
    assert (limits.commits, limits.objects) == (3, 8)


@pytest.mark.parametrize("name", TEXTS)
def test_a_policy_that_ships_is_named(name: str) -> None:
    assert PolicyText(name=name).made().name == name


def test_a_policy_of_ones_own_is_quoted() -> None:
    text = '[paths]\ndeny = ["ä/**"]\n'
    policy = PolicyText(name="ours", text=quote(text.encode())).made()
    assert policy.name == "ours"
    assert policy.refuses_path("ä/b".encode()) is not None


@pytest.mark.parametrize("text", ['extends = "candidate"', '"', '"\\400"', quote(b"\xff")])
def test_a_text_that_is_damaged_is_no_policy_at_all(text: str) -> None:
    """Least of all the empty one, which would let through what the real one refuses."""
    with pytest.raises(MisuseError, match="ours"):
        PolicyText(name="ours", text=text).made()
