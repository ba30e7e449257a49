"""Loose objects as git writes them, and what git says of damaged ones."""

from __future__ import annotations

import random
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from packparse import codes
from packparse.folder import verify_folder
from packparse.limits import Limits
from packparse.loose import LooseVerifier
from packparse.objectformat import FORMATS, SHA1, SHA256
from packparse.options import Options
from packparse.report import Report
from tests.support import packs
from tests.support.gitrepo import git, init, make_history, pack_revs
from tests.support.loose import Loose, history, loose, write

LEVELS = (-1, 0, 1, 9)


def unpacked(path: Path, fmt: str = "sha1", level: int = -1) -> Path:
    """A repository of some commits, a tag and no pack; returns its path."""
    source = init(path / "source", fmt)
    tip = make_history(source, commits=5, files=12, seed=level)[-1]
    git(source, "tag", "-a", "-m", "message", "v1", tip)
    target = init(path / "target", fmt, bare=True)
    setting = f"core.looseCompression={level}"
    git(target, "-c", setting, "unpack-objects", "-q", input=pack_revs(source))
    return target


def ids(repo: Path) -> list[str]:
    """The ids of all objects that git finds, sorted."""
    command = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]
    return sorted(git(repo, *command).stdout.decode().split())


def found(objects: Path, fmt: str) -> list[str]:
    """The ids of all objects that are found in a folder, sorted."""

    def read(oid: bytes, feed: Callable[[bytes], None]) -> None:
        feed((objects / oid.hex()[:2] / oid.hex()[2:]).read_bytes())

    names = sorted(bytes.fromhex(p.parent.name + p.name) for p in objects.glob("??/*"))
    verifier = LooseVerifier(Options(), read)
    verifier.choose({SHA1: 0, SHA256: 0, FORMATS[fmt]: len(names)})
    verifier.begin(0)
    for oid in names:
        verifier.take(oid)
    verifier.finish()
    return [oid.hex() for oid in verifier.table.sorted_ids()]


def fsck(repo: Path) -> bool:
    """Whether git finds nothing wrong."""
    return git(repo, "fsck", "--strict", "--no-dangling", check=False).returncode == 0


# --- what git writes ----------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("fmt", FORMATS)
def test_what_git_unpacks_is_accepted(tmp_path: Path, fmt: str, level: int) -> None:
    repo = unpacked(tmp_path, fmt, level)
    assert fsck(repo)
    # As it lies there: with empty folders for packs and whatever else git has made.
    report = verify_folder(str(repo / "objects"))
    assert (report.klass, report.findings.sorted()) == (0, [])
    assert report.object_format == fmt
    listed = ids(repo)
    assert found(repo / "objects", fmt) == listed
    assert report.counts["objects"] == len(listed) > 20
    files = [path for path in (repo / "objects").rglob("*") if path.is_file()]
    assert report.bytes == sum(path.stat().st_size for path in files)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 1_000, 100_000])
def test_what_git_hashes_is_accepted(tmp_path: Path, level: int, size: int) -> None:
    repo = init(tmp_path / "repo", bare=True)
    content = random.Random(size).randbytes(size)
    setting = f"core.looseCompression={level}"
    done = git(repo, "-c", setting, "hash-object", "-w", "--stdin", input=content)
    assert verify_folder(str(repo / "objects")).accepted
    assert found(repo / "objects", "sha1") == [done.stdout.decode().strip()]


@pytest.mark.parametrize("fmt", FORMATS)
def test_git_takes_what_the_tests_write(tmp_path: Path, fmt: str) -> None:
    # The other way round: the helper of these tests is no dialect.
    repo = init(tmp_path / "repo", fmt, bare=True)
    objects = write(repo / "objects", history(fmt))
    assert fsck(repo)
    assert ids(repo) == sorted(item.oid.hex() for item in history(fmt))
    assert verify_folder(str(objects)).accepted


def test_a_small_push_in_its_quarantine(tmp_path: Path) -> None:
    """Git unpacks up to 100 objects; a hook sees them before they are let in."""
    host, producer, copy = tmp_path / "host", tmp_path / "producer", tmp_path / "copy"
    init(producer)
    base = make_history(producer, commits=2, files=3)[-1]
    init(host, bare=True)
    git(host, "unpack-objects", "-q", input=pack_revs(producer))
    git(host, "update-ref", "refs/heads/main", base)
    hook = host / "hooks" / "pre-receive"
    hook.parent.mkdir()
    hook.write_text(f'#!/bin/sh\ncp -R "$GIT_QUARANTINE_PATH" "{copy}"\n')
    hook.chmod(0o755)
    git(producer, "reset", "-q", "--hard", base)
    (producer / "new").write_text("new\n")
    git(producer, "add", "new")
    git(producer, "commit", "-q", "-m", "new")
    tip = git(producer, "rev-parse", "HEAD").stdout.decode().strip()
    git(producer, "push", "-q", str(host), "HEAD:refs/heads/main")

    listed = git(producer, "rev-list", "--objects", base).stdout.decode().splitlines()
    known = {bytes.fromhex(line.split()[0]): 0 for line in listed}
    options = Options(
        tips={b"refs/heads/main": bytes.fromhex(tip)},
        bases=frozenset({bytes.fromhex(base)}),
        known=known.get,
    )
    report = verify_folder(str(copy), options)
    assert report.accepted
    assert report.counts["objects"] == 3
    assert found(copy, "sha1") == sorted(set(ids(host)) - {oid.hex() for oid in known})


def test_a_local_clone_shares_its_files(tmp_path: Path) -> None:
    # Case 98: these are hard links, and an honest copy has none.
    repo = unpacked(tmp_path)
    git(tmp_path, "clone", "-q", "--bare", "--local", str(repo), str(tmp_path / "clone"))
    report = verify_folder(str(tmp_path / "clone" / "objects"))
    assert {f.code.name for f in report.findings.sorted()} == {"unexpectedFile"}
    assert report.klass == codes.POLICY
    shutil.copytree(tmp_path / "clone" / "objects", tmp_path / "copy")
    assert verify_folder(str(tmp_path / "copy")).accepted


# --- damage -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """A small repository in which one file at a time is damaged and made whole again."""

    repo: Path
    objects: list[Loose]

    def judge(self, item: Loose, file: bytes) -> tuple[bool, dict[str, Report]]:
        """Whether git accepts the folder with another file for an object, and our reports."""
        path = self.repo / "objects" / item.path
        path.write_bytes(file)
        limits = Limits("history")
        try:
            ours = {
                rules: verify_folder(
                    str(self.repo / "objects"), Options(rules=rules, limits=limits)
                )
                for rules in codes.RULES
            }
            return fsck(self.repo), ours
        finally:
            path.write_bytes(item.file)

    def agree(self, item: Loose, file: bytes) -> bool:
        """Whether the verdicts go together: git's refusals are ours, and the other way round."""
        theirs, ours = self.judge(item, file)
        return ours["git"].accepted == theirs and (theirs or not ours["candidate"].accepted)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    repo = init(tmp_path_factory.mktemp("loose") / "repo", bare=True)
    objects = history()
    write(repo / "objects", objects)
    # Without it git has nothing to say of what is missing.
    git(repo, "update-ref", "refs/tags/v1", objects[-1].oid.hex())
    yield Bench(repo, objects)
    assert fsck(repo)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "an empty file": lambda _data: b"",
    "a cut file": lambda data: zlib.compress(data)[:-5],
    "a file without its checksum": packs.missing_adler,
    "a wrong checksum": packs.bad_adler,
    "a byte after the stream": lambda data: zlib.compress(data) + b"\0",
    "a stream after the stream": lambda data: zlib.compress(data) * 2,
    "no stream": lambda data: data,
    "a gzip member": packs.gzip_wrapped,
    "deflate alone": packs.raw_deflate,
    "a byte more than declared": lambda data: zlib.compress(data + b"x"),
    "a byte less than declared": lambda data: zlib.compress(data[:-1]),
    "another content of that size": lambda data: zlib.compress(data[:-1] + b"\x01"),
    "another object": lambda _data: loose("blob", b"another").file,
    "another kind": lambda data: zlib.compress(b"blob " + data.partition(b" ")[2]),
    "an unknown kind": lambda data: zlib.compress(b"blub " + data.partition(b" ")[2]),
    "a zero before the size": lambda data: zlib.compress(data.replace(b" ", b" 0", 1)),
    "two spaces": lambda data: zlib.compress(data.replace(b" ", b"  ", 1)),
    "a tab for the space": lambda data: zlib.compress(data.replace(b" ", b"\t", 1)),
    "a space after the size": lambda data: zlib.compress(data.replace(b"\0", b" \0", 1)),
    "no NUL": lambda data: zlib.compress(data.partition(b"\0")[0]),
    "nothing in the stream": lambda _data: zlib.compress(b""),
    "a long header": lambda data: zlib.compress(data.partition(b"\0")[0] + b"0" * 40 + b"\0"),
    # These are no damage to git.
    "the fastest level": lambda data: zlib.compress(data, 1),
    "stored": packs.stored,
    "many flushes": packs.several_flushes,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_git_refuses_is_refused(bench: Bench, damage: Callable[[bytes], bytes]) -> None:
    # One of each kind.
    kinds = {zlib.decompress(item.file).split(b" ")[0]: item for item in bench.objects}
    assert len(kinds) == 4
    for item in kinds.values():
        assert bench.agree(item, damage(zlib.decompress(item.file)))


def test_padding_is_refused_by_ours_alone(bench: Bench) -> None:
    item = bench.objects[1]
    file = packs.padded(zlib.decompress(item.file), 2_000)
    theirs, ours = bench.judge(item, file)
    assert (theirs, ours["git"].accepted, ours["candidate"].klass) == (True, True, codes.CORRUPT)


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bits_are_noticed_as_git_does(bench: Bench, seed: int) -> None:
    rng = random.Random(seed)
    item = bench.objects[-1 - 2 * seed]
    positions = {0, 1, *range(len(item.file) - 4, len(item.file))}
    positions |= set(rng.sample(range(len(item.file)), 25))
    for at in sorted(positions):
        assert bench.agree(item, packs.flip(item.file, at, 1 << rng.randrange(8))), at


def test_an_absent_object_is_missed_by_both(bench: Bench) -> None:
    item = bench.objects[1]
    path = bench.repo / "objects" / item.path
    path.unlink()
    try:
        assert not fsck(bench.repo)
        report = verify_folder(str(bench.repo / "objects"))
    finally:
        path.write_bytes(item.file)
    assert report.klass == codes.INCOMPLETE
