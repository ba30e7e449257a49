"""Trees with very many oddities: some are told, one stands for the others, in bounded memory."""

from __future__ import annotations

import tracemalloc

import pytest

from packparse.objects import tree
from tests.packparse.test_tree import Entries, files, oid, read, reader, said
from tests.support.packs import tree_bytes


def dashed(count: int, last: bytes = b"") -> Entries:
    return [(b"100644", b"-%06d" % n, oid(n + 1)) for n in range(count)] + files(b"a" + last)


@pytest.mark.parametrize("count", [1_000, 1_001, 3_000])
def test_of_more_than_a_thousand_of_a_kind_one_stands_for_the_others(count: int) -> None:
    found = read(tree_bytes(dashed(count)))[4]
    assert {code for code, *_ in found} == {"dashName"}
    assert len({detail for _code, detail, *_ in found}) == len(found) == min(count, 1_001)
    assert ("more of these" in found[-1][2]) is (count > 1_000)


CHANGED: dict[str, tuple[Entries, bool]] = {
    "another name": (files(b"b"), True),
    "another link": ([(b"120000", b"a", oid(8))], True),
    "another target of the link": ([*files(b"a"), (b"120000", b"l", oid(9))], True),
    "an entry more": (files(b"a", b"z"), True),
    "another content of a plain file": ([(b"100644", b"a", oid(9))], False),
    "the same": (files(b"a"), False),
}


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.heavy
def test_what_is_not_listed_is_that_of_another_tree_only_where_all_is_the_same(name: str) -> None:
    last, differs = CHANGED[name]
    link = [(b"120000", b"l", oid(7))] if name != "another target of the link" else []
    whole = [*dashed(1_500), (b"120000", b"l", oid(7))]
    changed = dashed(1_500)[:-1] + last + link
    first, other = (read(tree_bytes(listed))[4][-1][1] for listed in (whole, changed))
    assert (first != other) is differs


@pytest.mark.heavy
def test_groups_of_links_with_long_names_take_little_memory() -> None:
    group = [b"a" * 240 + ending for ending in (b"", b".", b"..", b" ", b". ")]
    listed = [
        (b"120000", b"%05d" % n + name, oid(n * 5 + m))
        for n in range(2_000)
        for m, name in enumerate(group)
    ]
    data = tree_bytes(listed)
    remembering = reader()
    tracemalloc.start()
    links = remembering.read(data)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(links.oddities) > 2_000
    assert peak < 40 << 20
    assert held < 20 << 20


def test_a_group_of_very_many_links_has_a_short_detail_that_knows_them_all() -> None:
    names = [b"a" + b"." * n for n in range(250)]
    details = []
    for changed in (0, 0, 200):
        listed = [(b"120000", name, oid(n + changed + 1)) for n, name in enumerate(names)]
        found = read(tree_bytes(listed))[4]
        details += [detail for code, detail, *_ in found if code == "normalizationCollision"]
    assert len(details) == 3
    assert details[0] == details[1] != details[2]
    assert max(map(len, details)) < 1_000


def test_names_that_do_not_fit_are_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "_ROW_BYTES", 4_000)
    remembering = reader()
    contents = [tree_bytes([*files(b"%03d" % n), *files(b"-z")]) for n in range(40)]
    for content in contents * 2:
        assert [code for code, *_ in said(remembering.read(content))[4]] == ["dashName"]
