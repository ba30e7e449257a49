"""Packs that git writes and accepts: we accept them under both rule sets and find the same ids."""

from __future__ import annotations

import functools
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from packparse.codes import RULES
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from tests.differential.compare import ours
from tests.support import gitrepo, packs
from tests.support.gitrepo import EPOCH, git

ROOT = Path(__file__).resolve().parents[2]
KINDS = {name.encode(): number for name, number in packs.KIND_NUMBERS.items()}


def agree(repo: Path, pack: bytes, fmt: str = "sha1", *, objects: int = 0) -> None:
    """Check that git accepts a pack of at least so many objects, and that we say the same."""
    verdict = gitrepo.index_pack_strict(repo, pack)
    assert verdict.accepted, verdict.stderr
    assert len(verdict.oids) >= objects
    for rules in RULES:
        mine = ours(pack, rules, fmt)
        assert mine.accepted, (rules, mine.codes)
        assert mine.oids == verdict.oids, rules


# --- the histories ------------------------------------------------------------------------------


def import_stream(fmt: str) -> bytes:
    """A branch beside main with every mode, big blobs, a big tree, an empty tree and merges."""
    rng = random.Random(7)
    big = rng.randbytes(1 << 20) + bytes(3 << 20)
    files = [
        (b"100755", b"bin/run", b"#!/bin/sh\n"),
        (b"120000", b"link", b"dir0/file0.txt"),
        (b"100644", b"empty", b""),
        (b"100644", b"big/a", big),
        (b"100644", b"big/b", big[:700_000] + b"other bytes" + big[650_000:]),
        (b"100644", b"names/\xc3\xa9t\xc3\xa9 caf\xc3\xa9", b"utf-8\n"),
        *((b"100644", b"wide/%05d" % n, b"%d\n" % (n % 50)) for n in range(5_200)),
    ]
    out = [_commit(b"side", b"every mode")]
    out += [b"M %s inline %s\n%s" % (mode, path, _data(data)) for mode, path, data in files]
    out.append(b"M 160000 %s sub/module\n" % (b"12" * packs.oid_length(fmt)))
    for number in range(4):
        # Twins of the wide tree that differ in one entry: food for deltas of trees.
        out.append(_commit(b"side", b"edit %d" % number))
        out.append(b"M 100644 inline wide/%05d\n%s" % (number * 1_000, _data(b"edited\n")))
    out.append(_commit(b"side", b"merge") + b"merge refs/heads/main\n")
    out.append(_commit(b"other", b"start", b"refs/heads/main~3"))
    out.append(b"M 100644 inline other\n" + _data(b"other\n"))
    out.append(_commit(b"octopus", b"octopus", b"refs/heads/main"))
    out.append(b"merge refs/heads/side\nmerge refs/heads/other\n")
    out.append(_commit(b"cleared", b"no files", b"refs/heads/other") + b"deleteall\n")
    return b"".join([*out, b"done\n"])


def _commit(branch: bytes, message: bytes, start: bytes = b"") -> bytes:
    head = b"commit refs/heads/%s\ncommitter A <a@example.com> %d +0100\n" % (branch, EPOCH)
    return head + _data(message) + (b"from %s\n" % start if start else b"")


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that gives the repository of an object format, made at the first call."""
    root = tmp_path_factory.mktemp("histories")
    return functools.cache(lambda fmt: _make(root / fmt, fmt))


def _make(repo: Path, fmt: str) -> Path:
    gitrepo.init(repo, fmt, bare=True)
    tips = gitrepo.make_history(repo, commits=120, files=12, seed=3)
    git(repo, "fast-import", "--quiet", "--done", input=import_stream(fmt))
    for name, target in (
        ("annotated", "main"),
        ("nested", "annotated"),
        ("of-tree", "main^{tree}"),
        ("of-blob", "main:dir0/file0.txt"),
    ):
        git(repo, "tag", "-a", "-m", f"tag {name}", name, target)
    git(repo, "tag", "light", "main~5")
    many = [f"create refs/tags/many/{n} {tips[n % len(tips)]}\n" for n in range(400)]
    git(repo, "update-ref", "--stdin", input="".join(many).encode())
    return repo


# --- the ways of writing ------------------------------------------------------------------------

FRESH = ("--no-reuse-delta", "--no-reuse-object")
SMALL_FILES = ("-c", "core.bigFileThreshold=4k")

# (configuration, options of pack-objects)
WAYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "as it comes": ((), ()),
    "with offset deltas": ((), ("--delta-base-offset",)),
    "with reference deltas only": ((), (*FRESH, "--depth=50")),
    "with nothing reused": ((), (*FRESH, "--delta-base-offset")),
    "without deltas": ((), (*FRESH, "--window=0")),
    "at depth 1": ((), (*FRESH, "--depth=1", "--delta-base-offset")),
    "at compression 0": (("-c", "core.compression=0", "-c", "pack.compression=0"), FRESH),
    "at compression 1": (("-c", "core.compression=1", "-c", "pack.compression=1"), FRESH),
    "at compression 9": (("-c", "core.compression=9", "-c", "pack.compression=9"), FRESH),
    "with large files whole": (SMALL_FILES, (*FRESH, "--delta-base-offset")),
    "by path": (("-c", "pack.useSparse=true"), ("--sparse", "--delta-base-offset")),
    "with islands of refs": (("-c", "pack.island=refs/heads/(.*)"), ("--delta-islands",)),
}


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("way", WAYS)
def test_a_pack_written(
    histories: Callable[[str], Path], empty: dict[str, Path], fmt: str, way: str
) -> None:
    config, options = WAYS[way]
    command = ("pack-objects", "--revs", "--all", "--stdout", "-q", "--threads=1", *options)
    pack = git(histories(fmt), *config, *command).stdout
    agree(empty[fmt], pack, fmt, objects=700)


@pytest.fixture(scope="module")
def deep_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with one file that is edited so often that chains can grow long."""
    repo = gitrepo.init(tmp_path_factory.mktemp("deep") / "repo", bare=True)
    gitrepo.make_history(repo, commits=300, files=1, seed=11)
    return repo


def repacked(source: Path, copy: Path, depth: int, window: int) -> bytes:
    """Return the pack that git repack makes in a copy of a repository."""
    shutil.copytree(source, copy)
    # With two threads the deltas would depend on who is first.
    command = ("-c", "pack.threads=1", "repack", "-a", "-d", "-f", "-q")
    git(copy, *command, f"--depth={depth}", f"--window={window}")
    (pack,) = copy.glob("objects/pack/*.pack")
    return pack.read_bytes()


@pytest.mark.parametrize("window", [0, 1, 10, 250])
@pytest.mark.parametrize("depth", [0, 1, 10, 50, 250, 4095])
def test_a_repository_repacked(
    tmp_path: Path, deep_history: Path, empty: dict[str, Path], depth: int, window: int
) -> None:
    agree(empty["sha1"], repacked(deep_history, tmp_path / "copy", depth, window), objects=900)


def test_the_deepest_chain_is_deep(tmp_path: Path, deep_history: Path) -> None:
    # Otherwise the varied depths above would all show the same.
    pack = repacked(deep_history, tmp_path / "copy", depth=4095, window=10)
    assert ours(pack).report.delta_depth > 250


# --- the kinds of history -----------------------------------------------------------------------

KINDS_OF_HISTORY = {
    "nothing at all": (("main", "^main"), 0),
    "the first commit alone": (("main~119",), 3),
    "a range without its start, from the root": (("main~100",), 20),
    "an annotated tag": (("refs/tags/annotated",), 300),
    "a tag of a tag": (("refs/tags/nested",), 300),
    "a tag of a tree": (("refs/tags/of-tree",), 10),
    "a tag of a blob": (("refs/tags/of-blob",), 2),
    "a lightweight tag": (("refs/tags/light",), 300),
    "every mode, a submodule, big blobs and a wide tree": (("refs/heads/side",), 350),
    "an octopus merge": (("refs/heads/octopus",), 350),
    "an empty tree": (("refs/heads/cleared",), 300),
    "many refs": (tuple(f"refs/tags/many/{n}" for n in range(400)), 300),
}


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("kind", KINDS_OF_HISTORY)
def test_a_history_of(
    histories: Callable[[str], Path], empty: dict[str, Path], fmt: str, kind: str
) -> None:
    revs, objects = KINDS_OF_HISTORY[kind]
    pack = gitrepo.pack_revs(histories(fmt), *revs, options=["--delta-base-offset"])
    agree(empty[fmt], pack, fmt, objects=objects)


def test_a_commit_of_the_empty_tree_that_git_never_wrote(
    tmp_path: Path, empty: dict[str, Path]
) -> None:
    # git knows the empty tree without having it, and still puts it into every pack that needs it.
    repo = gitrepo.init(tmp_path / "repo", bare=True)
    tree = packs.oid("tree", b"").hex()
    commit = git(repo, "commit-tree", "-m", "empty", tree).stdout.decode().strip()
    agree(empty["sha1"], gitrepo.pack_revs(repo, commit), objects=2)


# --- bundles and thin packs ---------------------------------------------------------------------


@pytest.mark.parametrize(("fmt", "version"), [("sha1", 2), ("sha1", 3), ("sha256", 3)])
def test_a_bundle_and_the_pack_in_it(
    tmp_path: Path,
    histories: Callable[[str], Path],
    empty: dict[str, Path],
    fmt: str,
    version: int,
) -> None:
    file = tmp_path / "it.bundle"
    git(histories(fmt), "bundle", "create", "-q", f"--version={version}", file, "--all")
    data = file.read_bytes()
    pack = data[data.index(b"\n\nPACK") + 2 :]
    agree(empty[fmt], pack, fmt, objects=700)
    for rules in RULES:
        mine = ours(data, rules, fmt)
        assert mine.accepted, (rules, mine.codes)
        assert mine.report.kind == "bundle"
        assert mine.oids == ours(pack, rules, fmt).oids


@pytest.fixture(scope="module", params=FORMATS)
def thin(
    request: pytest.FixtureRequest,
    histories: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, Path, bytes]:
    """Return an object format, a repository with most of main, and a thin pack of the rest."""
    fmt: str = request.param
    repo = gitrepo.init(tmp_path_factory.mktemp("thin") / fmt, fmt, bare=True)
    gitrepo.install_pack(repo, gitrepo.pack_revs(histories(fmt), "main~20"))
    options = ["--thin", "--delta-base-offset"]
    return fmt, repo, gitrepo.pack_revs(histories(fmt), "main", "^main~20", options=options)


def _kinds(repo: Path) -> dict[bytes, int]:
    command = ("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    lines = git(repo, *command).stdout.splitlines()
    return {bytes.fromhex(oid.decode()): KINDS[kind] for oid, kind in map(bytes.split, lines)}


def _reader(repo: Path) -> Callable[[bytes], tuple[int, bytes] | None]:
    kinds = _kinds(repo)

    def read(oid: bytes) -> tuple[int, bytes] | None:
        if oid not in kinds:
            return None
        name = packs.KIND_NAMES[kinds[oid]]
        return kinds[oid], git(repo, "cat-file", name, oid.hex()).stdout

    return read


@pytest.mark.parametrize("rules", RULES)
def test_a_thin_pack_beside_its_bases(
    tmp_path: Path, thin: tuple[str, Path, bytes], rules: str
) -> None:
    fmt, base, pack = thin
    repo = tmp_path / "copy"
    shutil.copytree(base, repo)
    known = _kinds(base)
    before = set(repo.glob("objects/pack/*.pack"))
    git(repo, "index-pack", "--strict", "--fix-thin", "--stdin", input=pack)
    (completed,) = set(repo.glob("objects/pack/*.pack")) - before
    index = completed.with_suffix(".idx").read_bytes()
    shown = git(repo, "show-index", f"--object-format={fmt}", input=index).stdout
    listed = sorted(line.split()[1].decode() for line in shown.splitlines())

    limits = Limits("history")
    options = Options(
        rules=rules,
        limits=limits,
        object_format=FORMATS[fmt],
        known=known.get,
        read_base=_reader(base),
    )
    mine = ours(pack, options=options)
    assert mine.accepted, mine.codes
    # git appends the bases that the thin pack left out, and nothing else.
    appended = set(listed) - set(mine.oids)
    assert appended
    assert appended <= {oid.hex() for oid in known}
    assert listed == sorted([*mine.oids, *appended])

    options = Options(rules=rules, limits=limits, object_format=FORMATS[fmt], known=known.get)
    whole = ours(completed.read_bytes(), options=options)
    assert whole.accepted, whole.codes
    assert whole.oids == listed


@pytest.mark.parametrize("rules", RULES)
def test_a_thin_pack_without_its_bases(
    empty: dict[str, Path], thin: tuple[str, Path, bytes], rules: str
) -> None:
    fmt, _, pack = thin
    assert not gitrepo.index_pack_strict(empty[fmt], pack).accepted
    assert "missingDeltaBase" in ours(pack, rules, fmt).codes


# --- packs that git did not write ---------------------------------------------------------------


WRITTEN_HERE: dict[str, Callable[[str], packs.Example]] = {
    "with every kind of entry": packs.small_honest,
    "with a chain of 250 deltas": lambda fmt: packs.chain(250, fmt),
    "with the longest chain that git writes": lambda fmt: packs.chain(4_095, fmt),
}


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", WRITTEN_HERE)
def test_a_pack_of_our_own_writer(empty: dict[str, Path], fmt: str, name: str) -> None:
    agree(empty[fmt], WRITTEN_HERE[name](fmt).pack, fmt)


# --- this project -------------------------------------------------------------------------------


def _own_repository() -> Path:
    # The folder above may be a repository, too; the clean environment keeps git from looking there.
    asked = git(ROOT, "rev-parse", "--is-shallow-repository", check=False)
    if asked.returncode:
        pytest.skip("the tests do not stand in a git repository")
    if asked.stdout.strip() == b"true":
        pytest.skip("the repository is a shallow clone: its history is not closed")
    return ROOT


@pytest.mark.parametrize("way", ["as it comes", "with reference deltas only", "without deltas"])
def test_the_history_of_this_project(empty: dict[str, Path], way: str) -> None:
    repo = _own_repository()
    fmt = gitrepo.object_format(repo)
    agree(empty[fmt], gitrepo.pack_revs(repo, options=WAYS[way][1]), fmt)
