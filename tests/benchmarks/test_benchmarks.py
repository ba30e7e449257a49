"""How long the layers take, each by itself; ``make microbench`` times them.

Among the tests each runs once and untimed, so that they cannot rot; what they give is compared, so
that nothing is timed that fails early.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zlib import compress

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from packparse.closure import Range
from packparse.connectivity import check_links
from packparse.delta import read_sizes, rebuild
from packparse.findings import Findings
from packparse.inflate import Inflate, inflate_whole
from packparse.limits import Limits
from packparse.objectformat import SHA1
from packparse.objects import commit
from packparse.objects.tree import TreeReader
from packparse.options import Options
from packparse.outside import Outside
from packparse.places import Places
from packparse.stream import PackStream
from packparse.verify import verify_bytes
from tests.benchmarks import history
from tests.support.candidates import Candidate, opened
from tests.support.packs import blob_pack

ROOT = Path(__file__).resolve().parents[2]

Blobs = Callable[[], list[bytes]]


# --- inflate and scan -----------------------------------------------------------------------------


@pytest.mark.benchmark(group="inflate")
def test_inflate_small_entries(benchmark: BenchmarkFixture) -> None:
    texts = history.texts(500, 4)
    entries = [(compress(text) + b"what follows" * 10, len(text)) for text in texts]

    def run() -> list[bytes]:
        found = (inflate_whole(window, size) for window, size in entries)
        return [one[0] for one in found if one is not None]

    assert benchmark(run) == texts


@pytest.mark.benchmark(group="inflate")
def test_inflate_a_large_entry_in_pieces(benchmark: BenchmarkFixture) -> None:
    (text,) = history.texts(1, 20_000)
    stream = compress(text)

    def run() -> int:
        machine = Inflate(len(text), lambda _piece: None)
        for start in range(0, len(stream), 1 << 16):
            machine.feed(stream[start : start + (1 << 16)], 0)
        return machine.produced

    assert benchmark(run) == len(text)


def scan(pack: bytes) -> int:
    stream = PackStream(Limits("history"), length=len(pack))
    found = sum(1 for _ in stream.feed(pack))
    stream.close()
    return found


SCANNED: dict[str, Blobs] = {
    "small": lambda: history.texts(1_000, 3),
    "large": lambda: history.texts(4, 8_000),
}


@pytest.mark.benchmark(group="scan")
@pytest.mark.parametrize("blobs", SCANNED.values(), ids=SCANNED)
def test_scan_a_pack_of_blobs(benchmark: BenchmarkFixture, blobs: Blobs) -> None:
    contents = blobs()
    assert benchmark(scan, blob_pack(*contents)) == len(contents)


# --- deltas ---------------------------------------------------------------------------------------


@pytest.mark.benchmark(group="delta")
def test_rebuild_from_deltas(benchmark: BenchmarkFixture) -> None:
    pairs = [(base, delta, *read_sizes(delta)) for base, delta in history.deltas(300)]

    def run() -> list[int]:
        made = (rebuild(delta, start, base, size)[0] for base, delta, _, size, start in pairs)
        return list(map(len, made))

    assert benchmark(run) == [len(base) + 240 for base, *_ in pairs]


@pytest.mark.benchmark(group="delta")
@pytest.mark.parametrize(("chains", "depth"), [(200, 3), (3, 200)], ids=["flat", "deep"])
def test_verify_chains_of_deltas(benchmark: BenchmarkFixture, chains: int, depth: int) -> None:
    pack = history.pack_of_chains(chains, depth)
    options = Options(limits=Limits("history"))
    report = benchmark(verify_bytes, pack, options)
    assert report.accepted
    assert report.counts["deltas"] == chains * depth


# --- objects --------------------------------------------------------------------------------------

TREES: dict[str, Blobs] = {
    "versions of one tree": lambda: history.trees(300, 40),
    "trees unlike each other": lambda: history.unlike_trees(100, 40),
    "one long tree": lambda: history.trees(1, 10_000),
}


@pytest.mark.benchmark(group="trees")
@pytest.mark.parametrize("made", TREES.values(), ids=TREES)
def test_check_trees(benchmark: BenchmarkFixture, made: Blobs) -> None:
    contents = made()

    def run() -> int:
        # A new one each time: what it remembers is part of the work.
        reader = TreeReader(20, Limits("history"))
        found = [reader.read(content) for content in contents]
        assert not any(links.oddities for links in found)
        return sum(links.entries for links in found)

    assert benchmark(run) >= 40 * len(contents)


@pytest.mark.benchmark(group="commits")
def test_check_commits(benchmark: BenchmarkFixture) -> None:
    contents, limits = history.commits(500), Limits("history")

    def run() -> int:
        assert not any(commit.oddities(content, 20) for content in contents)
        return sum(len(commit.links(content, 20, limits)[1]) for content in contents)

    assert benchmark(run) == 20 * len(contents)


# --- links and ranges -----------------------------------------------------------------------------


def options_of(made: Candidate) -> Options:
    given = made.given or set()
    return Options(
        limits=Limits("history"),
        bases=frozenset(made.bases),
        tips=made.tips,
        known=lambda oid: 0 if oid in given else None,
        read_base=made.host.read,
    )


def outside_of(options: Options) -> Outside:
    return Outside(
        SHA1,
        known=options.known,
        read_base=options.read_base,
        base_info=options.base_info,
        bases=options.bases,
        prerequisites=frozenset(),
    )


@pytest.mark.benchmark(group="closure")
def test_check_links(benchmark: BenchmarkFixture) -> None:
    made = history.candidate(300)
    options = options_of(made)
    pack = opened(made.pack()[0], options)

    def run() -> Findings:
        findings = Findings()
        outside = outside_of(options)
        check_links(pack.table, pack.links, findings, outside=outside, places=Places())
        return findings

    assert benchmark(run).sorted() == []


@pytest.mark.benchmark(group="closure")
def test_check_a_range(benchmark: BenchmarkFixture) -> None:
    made = history.candidate(300)
    options = options_of(made)
    pack = opened(made.pack()[0], options)

    def run() -> tuple[Findings, int]:
        findings = Findings()
        commits = Range(pack, outside_of(options), options.tips, asked=True)
        commits.check(findings)
        return findings, len(commits.commits)

    findings, commits = benchmark(run)
    assert (findings.sorted(), commits) == ([], 300)


@pytest.mark.benchmark(group="closure")
def test_verify_a_candidate(benchmark: BenchmarkFixture) -> None:
    made = history.candidate(100)
    pack, _ = made.pack()
    assert benchmark(verify_bytes, pack, options_of(made)).accepted


# --- starting -------------------------------------------------------------------------------------


@pytest.mark.benchmark(group="startup")
def test_start_and_verify_next_to_nothing(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    file = tmp_path / "one.pack"
    file.write_bytes(blob_pack(b"one\n"))
    command = [sys.executable, "-m", "packparse", "verify", str(file)]
    done = benchmark(subprocess.run, command, cwd=ROOT, capture_output=True, check=False)
    assert b"accepted, 1 objects" in done.stdout


@pytest.mark.benchmark(group="startup")
def test_start_the_interpreter_alone(benchmark: BenchmarkFixture) -> None:
    assert benchmark(subprocess.run, [sys.executable, "-c", "pass"], check=True).returncode == 0
