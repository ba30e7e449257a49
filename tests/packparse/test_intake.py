"""What a file is, its header, and its entries, in whatever pieces the bytes come."""

from __future__ import annotations

import pytest

from packparse import codes
from packparse.codes import Code
from packparse.errors import PackError
from packparse.findings import Findings
from packparse.intake import Intake
from packparse.limits import Limits
from packparse.objectformat import FORMATS, SHA1, SHA256, ObjectFormat
from tests.support import packs
from tests.support.bundles import bundle, honest_bundle

PACK = packs.small_honest_pack()


def taken(
    data: bytes, asked: ObjectFormat | None = None, *, cut: int = 1 << 20
) -> tuple[list[tuple[int, int]], list[ObjectFormat], Intake]:
    """Offsets and kinds of all entries, the formats that were told, and the intake at its end."""
    opened: list[ObjectFormat] = []
    intake = Intake(
        Limits(), Findings(), object_format=asked, length=len(data), opened=opened.append
    )
    found = [
        (entry.offset, entry.kind)
        for at in range(0, len(data), cut)
        for entry in intake.feed(data[at : at + cut])
    ]
    intake.close()
    return found, opened, intake


def refusal(data: bytes, asked: ObjectFormat | None = None, *, cut: int = 1 << 20) -> Code:
    with pytest.raises(PackError) as caught:
        taken(data, asked, cut=cut)
    return caught.value.code


KINDS: dict[str, tuple[bytes, ObjectFormat | None, ObjectFormat, bool]] = {
    "a pack": (PACK, None, SHA1, False),
    "a pack of the format asked for": (PACK, SHA1, SHA1, False),
    "a pack of the other format, asked for": (
        packs.small_honest_pack("sha256"), SHA256, SHA256, False,
    ),
    "a bundle": (honest_bundle(), None, SHA1, True),
    "a bundle that says its format": (honest_bundle("sha256"), None, SHA256, True),
    "a bundle of the format asked for": (honest_bundle("sha256"), SHA256, SHA256, True),
}  # fmt: skip


@pytest.mark.parametrize("cut", [1, 7, 1 << 20])
@pytest.mark.parametrize("name", KINDS)
def test_entries_come_from_either_in_whatever_pieces(name: str, cut: int) -> None:
    data, asked, fmt, is_bundle = KINDS[name]
    found, opened, intake = taken(data, asked, cut=cut)
    assert opened == [fmt]
    assert (intake.header is not None) is is_bundle
    assert found[0][0] == data.index(b"PACK") + 12
    assert found == taken(data, asked)[0]
    assert intake.stream is not None


REFUSED: dict[str, tuple[bytes, ObjectFormat | None, Code]] = {
    "nothing": (b"", None, codes.TRUNCATED),
    "neither": (b"neither of both", None, codes.BAD_SIGNATURE),
    "a number sign alone": (b"#", None, codes.TRUNCATED),
    "a bundle of another format than was asked for": (
        honest_bundle("sha256"), SHA1, codes.OBJECT_FORMAT_MISMATCH,
    ),
    "a header and no pack": (bundle(b"", []), None, codes.BUNDLE_MISSING_PACK),
    "half a header": (honest_bundle()[:30], None, codes.TRUNCATED),
    "half a pack": (PACK[:-21], None, codes.TRUNCATED),
    "bytes behind the pack": (PACK + b"x", None, codes.TRAILING_BYTES),
}  # fmt: skip


@pytest.mark.parametrize("cut", [1, 1 << 20])
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_neither_is_refused_in_whatever_pieces(name: str, cut: int) -> None:
    data, asked, code = REFUSED[name]
    assert refusal(data, asked, cut=cut) is code


@pytest.mark.parametrize("fmt", FORMATS)
def test_the_format_is_told_before_the_first_entry(fmt: str) -> None:
    data = honest_bundle(fmt)
    opened: list[ObjectFormat] = []
    intake = Intake(Limits(), Findings(), object_format=None, length=None, opened=opened.append)
    start = data.index(b"PACK")
    assert list(intake.feed(data[:start])) == []
    assert [known.name for known in opened] == [fmt]
    assert next(iter(intake.feed(data[start:]))).offset == start + 12
