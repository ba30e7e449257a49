"""The writers must be right before anything is judged by them: git and zlib say so."""

from __future__ import annotations

import os
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import bundles, gitrepo, packs
from tests.support.aside import aside
from tests.support.packs import PackBuilder

FORMATS = ("sha1", "sha256")
TEXT = b"some text to be compressed, " * 30


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Return an empty sha1 repository."""
    return gitrepo.init(tmp_path / "repo", bare=True)


# --- honest packs -------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("make", [packs.small_honest, lambda fmt: packs.chain(250, fmt)])
def test_honest_examples_are_accepted(
    tmp_path: Path, fmt: str, make: Callable[[str], packs.Example]
) -> None:
    example = make(fmt)
    verdict = gitrepo.index_pack_strict(gitrepo.init(tmp_path / "r", fmt), example.pack)
    assert verdict.accepted, verdict.stderr
    assert verdict.oids == sorted(handle.hex for handle in example.handles)


@pytest.mark.parametrize("fmt", FORMATS)
def test_the_small_example_is_closed(tmp_path: Path, fmt: str) -> None:
    repo, example = gitrepo.init(tmp_path / "r", fmt), packs.small_honest(fmt)
    assert example.tag is not None
    gitrepo.install_pack(repo, example.pack)
    walked = gitrepo.git(repo, "rev-list", "--objects", example.tag.hex).stdout
    assert len(walked.splitlines()) == len(example.handles)
    kinds = [example.pack[handle.offset] >> 4 & 7 for handle in example.handles]
    assert set(kinds) == {1, 2, 3, 4, packs.OFS_DELTA, packs.REF_DELTA}


@pytest.mark.parametrize("fmt", FORMATS)
def test_the_honest_bundle_is_fetched(tmp_path: Path, fmt: str) -> None:
    repo, file = gitrepo.init(tmp_path / "r", fmt), tmp_path / "it.bundle"
    file.write_bytes(bundles.honest_bundle(fmt))
    gitrepo.git(repo, "bundle", "verify", file)
    gitrepo.git(repo, "fetch", "-q", file, "refs/heads/*:refs/in/*", "refs/tags/v1:refs/in/v1")
    assert len(gitrepo.git(repo, "for-each-ref").stdout.splitlines()) >= 2


def test_a_delta_bomb_is_small_and_honest(repo: Path) -> None:
    size = 20_000_001
    pack = packs.delta_bomb(size)
    assert gitrepo.index_pack_strict(repo, pack).accepted
    gitrepo.install_pack(repo, pack)
    command = ("cat-file", "--batch-all-objects", "--batch-check=%(objectsize)")
    sizes = gitrepo.git(repo, *command).stdout.split()
    assert max(map(int, sizes)) == size
    assert len(packs.delta_bomb(512 << 20)) < 1200


def _odd_pack(
    deflate: bytes | None = None, declared_size: int | None = None, header_pad: int = 0
) -> bytes:
    pack = PackBuilder()
    pack.add("blob", TEXT, deflate=deflate, declared_size=declared_size, header_pad=header_pad)
    return pack.build()


ODD_BUT_VALID = {
    "stored": _odd_pack(deflate=packs.stored(TEXT)),
    "padded": _odd_pack(deflate=packs.padded(TEXT, 1000)),
    "flushes": _odd_pack(deflate=packs.several_flushes(TEXT)),
    "overlong header": _odd_pack(header_pad=2),
    "version 3": PackBuilder(version=3).build(),
    "blobs": packs.blob_pack(b"", b"a", b"b"),
}


@pytest.mark.parametrize("name", ODD_BUT_VALID)
def test_odd_but_valid_packs_are_accepted(repo: Path, name: str) -> None:
    verdict = gitrepo.index_pack_strict(repo, ODD_BUT_VALID[name])
    assert verdict.accepted, verdict.stderr


# --- lying packs --------------------------------------------------------------------------------


def _lying_delta(delta_bytes: bytes, distance: int | None = None, base: bytes = TEXT) -> bytes:
    pack = PackBuilder()
    whole = pack.add("blob", base)
    pack.add_ofs(whole if distance is None else distance, delta_bytes)
    return pack.build()


def _between_entries() -> bytes:
    pack = PackBuilder()
    pack.add("blob", b"one")
    pack.raw(b"\0\0\0")
    pack.add("blob", b"two")
    return pack.build()


def _one() -> PackBuilder:
    pack = PackBuilder()
    pack.add("blob", b"one")
    return pack


def _absent_base() -> bytes:
    pack = PackBuilder()
    pack.add_ref(b"\x11" * 20, packs.delta(3, 3, packs.copy(0, 3)))
    return pack.build()


def _refused_tree(*names: bytes) -> bytes:
    pack = PackBuilder()
    blob = pack.add("blob", b"one")
    entries = [(b"100644", name, blob.oid) for name in names]
    pack.add("tree", packs.tree_bytes(entries, ordered=False))
    return pack.build()


def _gitmodules(*, blob_first: bool) -> bytes:
    pack = PackBuilder()
    blob = packs.outside("blob", b'[submodule "../../modules/evil"]\n\tpath = a\n\turl = b\n')
    tree = packs.tree_bytes([(b"100644", b".gitmodules", blob.oid)])
    for kind in ("blob", "tree") if blob_first else ("tree", "blob"):
        pack.add(kind, blob.data if kind == "blob" else tree)
    return pack.build()


N = len(TEXT)
ALL = packs.copy(0, N)
LYING = {
    "count high": _one().build(count=2),
    "count low": _one().build(count=0),
    "many objects": packs.many_objects_header(1000),
    "trailer": _one().build(trailer=b"\0" * 20),
    "no trailer": _one().build(trailer=b""),
    "trailing": _one().build(trailing=b"x"),
    "magic": _one().build(magic=b"PUCK"),
    "version": PackBuilder(version=4).build(),
    "short object": _odd_pack(declared_size=N + 1),
    "long object": _odd_pack(declared_size=N - 1),
    "type 0": packs.reseal(packs.flip(packs.blob_pack(b"one"), 12, 0x30)),
    "type 5": packs.reseal(packs.flip(packs.blob_pack(b"one"), 12, 0x60)),
    "bad adler": _odd_pack(deflate=packs.bad_adler(TEXT)),
    "missing adler": _odd_pack(deflate=packs.missing_adler(TEXT)),
    "raw deflate": _odd_pack(deflate=packs.raw_deflate(TEXT)),
    "gzip": _odd_pack(deflate=packs.gzip_wrapped(TEXT)),
    "dictionary": _odd_pack(deflate=packs.with_dictionary(TEXT)),
    "bytes between": _between_entries(),
    "distance 0": _lying_delta(packs.delta(N, N, ALL), 0),
    "distance to header": _lying_delta(packs.delta(N, N, ALL), len(_odd_pack()) - 20),
    "distance into entry": _lying_delta(packs.delta(N, N, ALL), len(_odd_pack()) - 20 - 12 - 3),
    "base size": _lying_delta(packs.delta(N + 1, N, ALL)),
    "result long": _lying_delta(packs.delta(N, N + 1, ALL)),
    "result short": _lying_delta(packs.delta(N, N - 1, ALL)),
    "copy past base": _lying_delta(packs.delta(N, N, packs.copy(1, N))),
    "opcode 0": _lying_delta(packs.delta(N, N, b"\0", ALL)),
    "cut copy": _lying_delta(packs.delta(N, N, packs.copy(0, N, drop=1))),
    "cut insert": _lying_delta(packs.delta(N, 9, packs.insert(b"abc", opcode=9))),
    "missing base": _absent_base(),
    "tree order": _refused_tree(b"b", b"a"),
    "tree name": _refused_tree(b".git"),
    "gitmodules, blob first": _gitmodules(blob_first=True),
    "gitmodules, tree first": _gitmodules(blob_first=False),
}


@pytest.mark.parametrize("name", LYING)
def test_lying_packs_are_refused(repo: Path, name: str) -> None:
    verdict = gitrepo.index_pack_strict(repo, LYING[name])
    assert not verdict.accepted
    assert verdict.rc != 0


def test_a_verdict_leaves_the_repository_alone(repo: Path) -> None:
    before = sorted(repo.rglob("*"))
    gitrepo.index_pack_strict(repo, packs.small_honest_pack())
    gitrepo.index_pack_strict(repo, LYING["gitmodules, blob first"])
    assert sorted(repo.rglob("*")) == before


# --- numbers, deltas, streams -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "header"),
    [
        (b"\x33", packs.varint_size(3, 3)),
        (b"\xb3\x00", packs.varint_size(3, 3, pad=1)),
        (b"\xb3\x80\x00", packs.varint_size(3, 3, pad=2)),
        (b"\xb0\x01", packs.varint_size(3, 16)),
        (b"\xb0\x81\x00", packs.varint_size(3, 16, pad=1)),
        (b"\x00", packs.ofs_varint(0)),
        (b"\x7f", packs.ofs_varint(127)),
        (b"\x80\x00", packs.ofs_varint(128)),
        (b"\x80\x80\x00", packs.ofs_varint(128 + 128 * 128)),
        (b"\x80\x01", packs.delta_varint(128)),
        (b"\x80\x81\x00", packs.delta_varint(128, pad=1)),
        (b"\x80", packs.copy(0, 0x10000)),
        (b"\xb1\x05\x02\x01", packs.copy(5, 0x0102)),
        (b"\xf0\x00\x00\x00", packs.copy(0, 0, mask=0x70)),
        (b"\xc0\x01", packs.copy(0, 0x10000, mask=0x40)),
    ],
)
def test_numbers_are_spelled_as_the_format_says(expected: bytes, header: bytes) -> None:
    assert expected == header


@pytest.mark.parametrize("size", [0, packs.MAX_COPY + 1])
def test_copy_refuses_a_size_it_cannot_say(size: int) -> None:
    with pytest.raises(ValueError, match=f"copy size {size} has no honest spelling"):
        packs.copy(0, size)


def test_edit_and_replay_agree() -> None:
    for at, cut in ((0, 0), (0, N), (5, 10), (N, 0)):
        delta_bytes, result = packs.edit(TEXT, at, cut, b"new" * 100)
        assert packs.replay(delta_bytes, TEXT) == result
    assert packs.replay(packs.delta(N, N, packs.copy(1, N)), TEXT) is None


@pytest.mark.parametrize("data", [b"", b"x", TEXT, TEXT * 1000])
def test_valid_streams_inflate_to_the_data(data: bytes) -> None:
    streams = [packs.stored(data), packs.padded(data, 0), packs.padded(data, 1000)]
    streams += [packs.several_flushes(data, pieces) for pieces in (1, 2, 7)]
    assert all(zlib.decompress(stream) == data for stream in streams)
    assert zlib.decompress(packs.raw_deflate(data), -15) == data
    assert zlib.decompress(packs.gzip_wrapped(data), 31) == data


def test_broken_streams_are_broken_as_named() -> None:
    with pytest.raises(zlib.error, match="incorrect data check"):
        zlib.decompress(packs.bad_adler(TEXT))
    with pytest.raises(zlib.error, match="incomplete or truncated"):
        zlib.decompress(packs.missing_adler(TEXT))
    with pytest.raises(zlib.error, match="Error 2"):
        zlib.decompress(packs.with_dictionary(TEXT))


def test_a_bomb_is_made_in_constant_memory() -> None:
    tracemalloc.start()
    stream = packs.bomb(64 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
    assert zlib.decompress(stream) == bytes(64 << 20)


# --- bundles and repositories -------------------------------------------------------------------


def test_bundle_lines_are_written_as_given() -> None:
    made = bundles.bundle(
        b"PACK",
        refs=[("aa", "refs/heads/x"), b"raw ref\n"],
        prerequisites=["bb", ("cc", b"why"), b"raw -\n"],
        version=3,
        capabilities=["filter=blob:none", b"raw @\n"],
    )
    assert made == (
        b"# v3 git bundle\n@filter=blob:none\nraw @\n-bb \n-cc why\nraw -\n"
        b"aa refs/heads/x\nraw ref\n\nPACK"
    )
    assert bundles.bundle(b"P", signature=b"#\n", lines=[b"x\r\n"], end=b"") == b"#\nx\r\nP"


@pytest.mark.parametrize("fmt", FORMATS)
def test_history_is_deterministic(tmp_path: Path, fmt: str) -> None:
    first, second = (gitrepo.init(tmp_path / name, fmt) for name in "ab")
    made = gitrepo.make_history(first, commits=30, files=8, seed=5)
    assert made == gitrepo.make_history(second, commits=30, files=8, seed=5)
    assert len(made) == 30
    verdict = gitrepo.index_pack_strict(second, gitrepo.pack_revs(first))
    assert verdict.accepted, verdict.stderr


def test_the_callers_git_variables_are_not_seen(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.bare=x'")
    assert gitrepo.object_format(repo) == "sha1"
    assert gitrepo.git_version() >= (2, 30)


# --- calls that a small process answers ---------------------------------------------------------


def test_a_call_is_answered_by_another_process_which_stays() -> None:
    pid = aside(os.getpid)
    assert pid != os.getpid()
    assert aside(os.getpid) == pid
    assert aside(int, "11", base=3) == 4


def test_what_a_call_raises_is_raised_where_it_was_asked_for() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        aside(int, "x")
    assert aside(int, "1") == 1


def test_what_a_call_prints_is_no_answer() -> None:
    assert aside(print, "printed by a test") is None
