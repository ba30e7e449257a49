"""The bench runs at a tiny scale, and its table says what it measured."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
import sys
from pathlib import Path

import pytest

from bench import __main__ as command
from bench import shapes, table
from bench.inputs import Input, InputError, from_argument, from_shape
from bench.results import CONTENDERS, GIT_ONE, GIT_TWO, PACKCHECK, Outcome, Row, Run, geometric_mean
from bench.run import Bench
from packparse.verify import verify_bytes
from tests.support import gitrepo, packs
from tests.support.bundles import bundle, honest_bundle

# The blobs of 8 MiB take their time.
COMMITS = {shape.about: 1 if name == "large-blobs" else 2 for name, shape in shapes.SHAPES.items()}
SHAPES = ["many-small", "small-trees", "long-chains", "large-blobs", "edited-tree"]
FACTS = {"date": "2026-01-02", "cpu": "one"}


# --- running it ---------------------------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same shapes, with only the first few commits of each."""
    for name, shape in shapes.SHAPES.items():

        def stream(rng: random.Random, scale: int, whole: shapes.Shape = shape) -> shapes.Stream:
            return itertools.islice(whole.stream(rng, scale), COMMITS[whole.about])

        monkeypatch.setitem(shapes.SHAPES, name, dataclasses.replace(shape, stream=stream))


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    return command.main()


@pytest.mark.usefixtures("tiny")
def test_a_round_on_one_shape_measures_every_contender(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved = tmp_path / "out.json"
    arguments = ("--shapes", "many-small", "--rounds", "1", "--json", str(saved))
    assert run(monkeypatch, *arguments) == 0
    out, err = capsys.readouterr()
    report = json.loads(saved.read_text("utf-8"))
    (row,) = report["inputs"]
    assert (report["schema"], report["rounds"]) == ("packcheck.bench/1", 1)
    assert (row["name"], row["object_format"], row["relaxed"]) == ("many-small", "sha1", False)
    assert set(row["outcomes"]) == set(CONTENDERS)
    for outcome in row["outcomes"].values():
        assert outcome["failure"] is None
        (single,) = outcome["runs"]
        assert single["seconds"] > 0
        assert single["peak_kib"] > 1024
    assert row["ratio"] > 0
    assert "many-small" in out
    assert "(1 of 1 inputs)" in out
    assert "made many-small" in err


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_makes_a_pack_that_is_accepted(tmp_path: Path, name: str) -> None:
    made = from_shape(name, "small", tmp_path)
    report = verify_bytes(made.pack.read_bytes())
    assert report.accepted
    assert report.counts["commits"] == COMMITS[shapes.SHAPES[name].about]
    assert report.counts["objects"] == made.objects
    assert made.size == report.bytes


def test_all_shapes_are_tried() -> None:
    assert list(shapes.SHAPES) == SHAPES


def test_a_contender_that_fails_is_named_with_its_last_line(tmp_path: Path) -> None:
    file = tmp_path / "it.pack"
    file.write_bytes(packs.flip(packs.small_honest_pack(), -1))
    item = Input("broken", file, file, "sha1", 10)
    packcheck = [sys.executable, "-m", "packparse"]
    row = Bench(tmp_path, packcheck, 1, lambda _message: None).compare(item)
    assert row.failed
    assert row.ratio is None
    for outcome in row.outcomes.values():
        assert outcome.failure is not None
        assert outcome.failure.startswith("exit ")
        assert str(tmp_path) not in outcome.failure


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_an_argument_may_be_a_pack_a_bundle_or_a_repository(tmp_path: Path, fmt: str) -> None:
    pack = packs.small_honest_pack(fmt)
    (tmp_path / "x.pack").write_bytes(pack)
    (tmp_path / "x.bundle").write_bytes(honest_bundle(fmt))
    repo = gitrepo.init(tmp_path / "repo", fmt)
    gitrepo.make_history(repo, commits=2, files=2)
    for number, name in enumerate(("x.pack", "x.bundle", "repo")):
        item = from_argument(str(tmp_path / name), tmp_path / str(number))
        assert (item.name, item.object_format) == (name, fmt)
        assert item.pack.read_bytes()[:4] == b"PACK"
        if name != "repo":
            assert item.pack.read_bytes() == pack
            assert item.objects == 10


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"neither", "neither a pack nor a bundle"),
        (b"", "neither a pack nor a bundle"),
        (b"# v2 git bundle\n", "no pack in this bundle"),
        (bundle(b"", [], ["ab" * 20]), "has prerequisites"),
        (None, "neither a file nor a repository"),
    ],
    ids=["text", "empty", "no pack", "prerequisites", "missing"],
)
def test_an_argument_that_cannot_be_used_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    data: bytes | None,
    words: str,
) -> None:
    path = tmp_path / "x"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError, match=words):
        from_argument(str(path), tmp_path / "1")
    assert run(monkeypatch, str(path)) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [("--rounds", "0"), ("--shapes", "nonsense"), ("--scale", "huge")], ids=" ".join
)
def test_a_usage_error_is_2(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, str],
) -> None:
    with pytest.raises(SystemExit) as stop:
        run(monkeypatch, *arguments)
    assert stop.value.code == 2
    assert arguments[0] in capsys.readouterr().err


# --- arithmetic ---------------------------------------------------------------------------------


def outcome(*seconds: float, peak_mib: int = 20) -> Outcome:
    return Outcome([Run(second, 0.0, 0.0, peak_mib * 1024) for second in seconds])


def row(ours: Outcome, one: Outcome, two: Outcome | None = None, name: str = "in") -> Row:
    contenders = {PACKCHECK: ours, GIT_ONE: one, GIT_TWO: two or outcome(1.0)}
    return Row(name, 2_500_000, 12_345, "sha1", contenders)


def test_the_ratio_is_that_of_the_medians() -> None:
    made = row(outcome(1.0, 9.0, 2.0), outcome(4.0, 3.0, 100.0))
    assert made.ratio == pytest.approx(0.5)
    assert not made.failed


@pytest.mark.parametrize(
    ("ours", "one"),
    [
        (Outcome(failure="exit 1"), outcome(1.0)),
        (outcome(1.0), Outcome([Run(1.0, 0.0, 0.0, 1)], failure="exit 1")),
        (outcome(1.0), Outcome()),
    ],
)
def test_a_failed_contender_has_no_ratio(ours: Outcome, one: Outcome) -> None:
    assert row(ours, one).ratio is None


def test_the_mean_is_geometric_and_of_the_ratios_there_are() -> None:
    rows = [
        row(outcome(1.0), outcome(4.0)),
        row(outcome(4.0), outcome(1.0)),
        row(outcome(4.0), outcome(4.0)),
        row(Outcome(failure="x"), outcome(1.0)),
    ]
    assert geometric_mean(rows) == pytest.approx(1.0)
    assert geometric_mean(rows[:1]) == pytest.approx(0.25)
    assert geometric_mean(rows[3:]) is None


# --- the table ----------------------------------------------------------------------------------


def test_the_plain_table() -> None:
    made = row(outcome(0.5, 1.0, 2.0), outcome(2.0, peak_mib=7), outcome(0.01234))
    assert table.render(FACTS, [made], 3, markdown=False) == (
        "date  2026-01-02\n"
        "cpu   one\n"
        "\n"
        "input   MB  objects     packcheck (s)  git, 1 thread (s)   git, 2 threads (s)"
        "  packcheck / git 1  packcheck (MiB)  git, 1 thread (MiB)  git, 2 threads (MiB)\n"
        "-----  ---  -------  ----------------  -----------------  -------------------"
        "  -----------------  ---------------  -------------------  --------------------\n"
        "in     2.5   12,345  1.00 (0.50-2.00)   2.00 (2.00-2.00)  0.012 (0.012-0.012)"
        "               0.50               20                    7                    20\n"
        "\n"
        "Seconds: median (min-max) of 3 alternating rounds. "
        "MiB: highest peak of resident memory.\n"
        "\n"
        "Geometric mean of packcheck / git with one thread: 0.50 (1 of 1 inputs)\n"
    )


def test_the_markdown_table() -> None:
    made = row(outcome(1.0), outcome(2.0), name="a|b")
    made.relaxed = True
    shown = table.render(FACTS, [made], 1, markdown=True).splitlines()
    assert shown[:3] == ["- date: 2026-01-02", "- cpu: one", ""]
    assert shown[4] == "| --- |" + " ---: |" * 9
    assert shown[5].startswith("| a\\|b (relaxed) | 2.5 | 12,345 | 1.00 (1.00-1.00) |")
    assert any(line.startswith("- a|b (relaxed): git refuses it") for line in shown)


def test_a_failure_is_a_cell_and_a_note() -> None:
    made = row(Outcome(failure="exit 1: broken"), outcome(1.0), Outcome())
    shown = table.render(FACTS, [made], 1, markdown=False)
    assert "! in: packcheck failed, exit 1: broken\n" in shown
    cells = next(line for line in shown.splitlines() if line.startswith("in ")).split()
    assert cells[3] == "failed"
    assert "Geometric mean of packcheck / git with one thread: - (0 of 1 inputs)\n" in shown
