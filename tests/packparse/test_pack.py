"""A pack whose objects are all known: kinds, sizes and contents by id or number, on demand."""

from __future__ import annotations

import pytest

from packparse.entry import BLOB, COMMIT, TAG, TREE
from packparse.errors import PackError
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from packparse.pack import Pack
from packparse.verify import Verifier
from tests.support import packs
from tests.support.candidates import opened
from tests.support.packs import PackBuilder

GONE = b"\x22" * 20
KINDS = {"commit": COMMIT, "tree": TREE, "blob": BLOB, "tag": TAG}


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_every_object_is_found_by_id_with_kind_size_and_content(fmt: str) -> None:
    example = packs.small_honest(fmt)
    pack = opened(example.pack, Options(object_format=FORMATS[fmt]))
    for number, handle in enumerate(example.handles):
        assert pack.kind(handle.oid) == KINDS[handle.kind]
        assert pack.size(handle.oid) == len(handle.data)
        assert pack.read(handle.oid) == handle.data
        assert pack.content(number) == handle.data


def test_what_the_pack_has_not_is_none() -> None:
    pack = opened(packs.small_honest_pack())
    assert pack.kind(GONE) is None
    assert pack.size(GONE) is None
    assert pack.read(GONE) is None


def test_small_contents_are_kept_for_the_next_question() -> None:
    pack = opened(packs.chain(50).pack)
    before = pack.objects.work
    last = len(pack.table) - 1
    deepest = next(n for n in range(last, 0, -1) if pack.table.kinds[n] == BLOB)
    pack.content(deepest)
    once = pack.objects.work - before
    for _ in range(10):
        pack.content(deepest)
    assert pack.objects.work - before == once


def test_a_small_object_that_stands_alone_is_kept_as_well() -> None:
    builder = PackBuilder()
    blobs = [builder.add("blob", b"%03d" % n) for n in range(600)]
    pack = opened(builder.build())
    for _ in range(5):
        assert pack.read(blobs[0].oid) == b"000"
    assert pack.objects.work == 3
    for blob in blobs * 2:
        assert pack.read(blob.oid) == blob.data
        assert len(pack._kept) <= 256  # noqa: SLF001 - the bound itself


def test_large_contents_are_not_kept() -> None:
    builder = PackBuilder()
    blob = builder.add("blob", b"x" * 20_000)
    pack = opened(builder.build())
    for times in (1, 2, 3):
        pack.read(blob.oid)
        assert pack.objects.work == 20_000 * times


def test_reading_again_and_again_has_a_limit() -> None:
    builder = PackBuilder()
    blob = builder.add("blob", b"x" * 20_000)
    limits = Limits(changes={"restored_bytes": 50_000})
    pack = opened(builder.build(), Options(limits=limits))
    pack.read(blob.oid)
    pack.read(blob.oid)
    with pytest.raises(PackError) as caught:
        pack.read(blob.oid)
    assert caught.value.code.name == "restoredTooMuch"
    assert caught.value.limit is not None
    assert caught.value.limit.as_dict() == {
        "name": "restored_bytes", "value": 50_000, "seen": 60_000,
    }  # fmt: skip


def test_a_base_that_is_not_given_again_is_the_trusted_sides_fault() -> None:
    base = b"the base of a thin pack\n" * 4
    change, _ = packs.edit(base, 4, 4, b"BASE")
    builder = PackBuilder()
    blob = builder.add_ref(packs.outside("blob", base), change)
    data = builder.build()
    answers = [(BLOB, base), None, None]
    seen: list[Pack] = []

    class Spy(Verifier):
        def _judge(self, pack: Pack) -> None:
            seen.append(pack)

    verifier = Spy(Options(read_base=lambda _: answers.pop(0)))
    verifier.feed(data)
    verifier.finish(lambda offset, length: data[offset : offset + length])
    with pytest.raises(PackError) as caught:
        seen[0].read(blob.oid)
    assert caught.value.code.name == "corruptBaseObject"
    assert caught.value.offset == blob.offset


def test_a_file_that_changed_is_told() -> None:
    builder = PackBuilder()
    blob = builder.add("blob", b"content\n")
    data = builder.build()
    now = [data]
    seen: list[Pack] = []

    class Spy(Verifier):
        def _judge(self, pack: Pack) -> None:
            seen.append(pack)

    verifier = Spy(Options())
    verifier.feed(data)
    verifier.finish(lambda offset, length: now[0][offset : offset + length])
    now[0] = packs.flip(data, blob.body + 3)
    with pytest.raises(PackError) as caught:
        seen[0].read(blob.oid)
    assert caught.value.code.name == "inputChanged"
