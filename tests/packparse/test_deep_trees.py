"""Trees in trees: what is gone through for one of them is not gone through for each."""

from __future__ import annotations

import pytest

from packparse.graph import LinkColumn
from packparse.limits import Limits
from packparse.options import Options
from packparse.pack import Pack
from packparse.verify import verify_bytes
from tests.support import packs

SUBMODULE = (b"160000", b"module", b"\1" * 20)


def chain(entry: tuple[bytes, bytes, bytes], folders: int, *blobs: bytes) -> bytes:
    """A pack with one commit, and an entry that lies so many folders deep."""
    pack = packs.PackBuilder()
    for blob in blobs:
        pack.add("blob", blob)
    tree = pack.add("tree", packs.tree_bytes([entry]))
    for _ in range(folders):
        tree = pack.add("tree", packs.tree_bytes([(b"40000", b"d", tree.oid)]))
    pack.add("commit", packs.commit_bytes(tree.oid))
    return pack.build()


def found(data: bytes, depth: int) -> set[str]:
    report = verify_bytes(data, Options(limits=Limits("candidate", {"tree_depth": depth})))
    return {finding.code.name for finding in report.findings.sorted()}


@pytest.mark.parametrize(
    ("folders", "depth", "expected"),
    [
        pytest.param(6, 128, set(), id="it climbs no higher than the root: accepted"),
        pytest.param(4, 128, {"symlinkEscapes"}, id="it climbs above the root"),
        pytest.param(6, 3, {"treeTooDeep"}, id="it lies deeper than a tree may"),
    ],
)
def test_a_link_that_climbs_five_folders(folders: int, depth: int, expected: set[str]) -> None:
    target = b"../../../../../x"
    link = (b"120000", b"link", packs.oid("blob", target))
    assert found(chain(link, folders, target), depth) == expected


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(chain(SUBMODULE, 600), id="a submodule"),
        pytest.param(
            chain((b"120000", b"link", packs.oid("blob", b"../" * 600)), 600, b"../" * 600),
            id="a link that climbs",
        ),
    ],
)
def test_no_more_passes_than_a_tree_may_be_deep(
    monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    passes: list[int] = []
    links_to = LinkColumn.links_to

    def counted(self: LinkColumn, wanted: set[bytes]) -> object:
        passes.append(len(wanted))
        return links_to(self, wanted)

    monkeypatch.setattr(LinkColumn, "links_to", counted)
    assert "treeTooDeep" in found(data, 20)
    # The paths of findings are looked for up to 128 folders.
    assert len(passes) < 128 + 2 * 20


def test_no_tree_is_read_for_each_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # The longest name and the deepest folder are in different places, so names have to be read.
    pack = packs.PackBuilder()
    blob = pack.add("blob", b"x\n")
    pack.add("tree", packs.tree_bytes([(b"100644", b"n" * 250, blob.oid)]))
    deep = pack.add("tree", packs.tree_bytes([(b"100644", b"f", blob.oid)]))
    for _ in range(20):
        deep = pack.add("tree", packs.tree_bytes([(b"40000", b"d", deep.oid)]))
    for number in range(50):
        own = (b"100644", b"own%d" % number, blob.oid)
        pack.add("tree", packs.tree_bytes([(b"40000", b"d", deep.oid), own]))
    reads: list[bytes] = []
    read = Pack.read

    def counted(self: Pack, oid: bytes) -> bytes | bytearray | None:
        reads.append(oid)
        return read(self, oid)

    monkeypatch.setattr(Pack, "read", counted)
    assert verify_bytes(pack.build()).accepted
    # Each is read once to learn what is below it, and once when that is known.
    assert 70 < len(reads) <= 2 * 72
