"""The bench runs at a tiny scale, and its table says what it measured."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
import shlex
import sys
from pathlib import Path

import pytest

from bench import __main__ as command
from bench import shapes, table
from bench.inputs import Input, InputError, from_argument, from_shape
from bench.results import (
    BESIDE,
    CONTENDERS,
    GIT_ONE,
    GIT_TWO,
    PACKCHECK,
    Outcome,
    Row,
    Run,
    geometric_mean,
)
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
    row = Bench(tmp_path, OURS, 1, lambda _message: None, beside=OURS).compare(item)
    assert row.failed
    assert row.ratio is None
    assert len(row.outcomes) == 4
    for outcome in row.outcomes.values():
        assert outcome.failure is not None
        assert outcome.failure.startswith("exit ")
        assert str(tmp_path) not in outcome.failure


OURS = [sys.executable, "-m", "packparse"]


@pytest.mark.usefixtures("tiny")
def test_another_version_runs_in_the_same_rounds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved = tmp_path / "out.json"
    arguments = ("--shapes", "long-chains", "--rounds", "2", "--json", str(saved))
    assert run(monkeypatch, *arguments, "--beside", shlex.join(OURS)) == 0
    (made,) = json.loads(saved.read_text("utf-8"))["inputs"]
    assert set(made["outcomes"]) == {*CONTENDERS, BESIDE}
    assert len(made["outcomes"][BESIDE]["runs"]) == 2
    assert made["beside_ratio"] > 0
    assert made["beside_cpu_ratio"] > 0
    assert "packcheck / beside" in capsys.readouterr().out


def one_round(folder: Path, pack: bytes, beside: list[str]) -> Row:
    file = folder / "it.pack"
    file.write_bytes(pack)
    objects = int.from_bytes(pack[8:12], "big")
    item = Input("it", file, file, "sha1", objects)
    return Bench(folder, OURS, 1, lambda _message: None, beside=beside).compare(item)


def test_packcheck_measures_old_histories_under_the_policy_for_them(tmp_path: Path) -> None:
    row = one_round(tmp_path, history_with(b"040000", b"folder"), OURS)
    assert row.outcomes[PACKCHECK].failure is None
    assert row.relaxed
    # Without a policy it is refused, after all of it was looked at.
    assert row.outcomes[BESIDE].failure is None
    assert row.beside_ratio is not None


def test_packcheck_itself_may_not_refuse_what_it_has_looked_at(tmp_path: Path) -> None:
    row = one_round(tmp_path, history_with(b"40000", b".git"), OURS)
    failure = row.outcomes[PACKCHECK].failure
    assert failure is not None
    assert failure.startswith("exit 3: ")
    assert row.outcomes[BESIDE].failure is None


def history_with(mode: bytes, name: bytes) -> bytes:
    """A pack of one commit with one file in a folder of this mode and name."""
    builder = packs.PackBuilder()
    blob = builder.add("blob", b"text\n")
    inner = builder.add("tree", packs.tree_bytes([(b"100644", b"file", blob.oid)]))
    outer = builder.add("tree", packs.tree_bytes([(mode, name, inner.oid)]))
    builder.add("commit", packs.commit_bytes(outer.oid))
    return builder.build()


# What it is asked for is older than policies.
STANDS_IN = (
    "import sys; print({text!r}); "
    "sys.exit({code} if sys.argv[1:-1] == ['verify', '--limits', 'history'] else 9)"
)


@pytest.mark.parametrize(
    ("text", "code", "counts"),
    [
        ("accepted", 0, True),
        ("pack, sha1: 3 commits, 4 trees, 2 blobs, 1 tags; 0", 1, True),
        ("pack, sha1: 3 commits, 4 trees, 2 blobs, 1 tags; 0", 3, True),
        ("pack, sha1: 3 commits, 4 trees, 2 blobs, 1 tags; 0", 4, False),
        ("pack, sha1: 3 commits, 4 trees, 1 blobs, 1 tags; 0", 1, False),
        ("unexpected", 1, False),
    ],
    ids=[
        "accepted",
        "refused as corrupt after all objects",
        "refused by policy after all objects",
        "stopped by a limit",
        "refused before the end",
        "no report",
    ],
)
def test_which_runs_of_another_version_count(
    tmp_path: Path, text: str, code: int, *, counts: bool
) -> None:
    beside = [sys.executable, "-c", STANDS_IN.format(text=text, code=code)]
    row = one_round(tmp_path, packs.small_honest_pack(), beside)
    assert row.outcomes[BESIDE].failure == (None if counts else f"exit {code}: {text}")
    assert row.failed != counts
    assert (row.beside_ratio is not None) == counts


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
    ratios = [made.ratio for made in rows]
    assert geometric_mean(ratios) == pytest.approx(1.0)
    assert geometric_mean(ratios[:1]) == pytest.approx(0.25)
    assert geometric_mean(ratios[3:]) is None


def test_the_ratio_to_another_version_is_of_wall_and_of_processor_time() -> None:
    made = row(outcome(3.0, 1.0, 2.0), outcome(4.0))
    assert (made.beside_ratio, made.beside_cpu_ratio) == (None, None)
    made.outcomes[BESIDE] = Outcome([Run(8.0, 0.5, 0.1, 1)])
    made.outcomes[PACKCHECK] = Outcome([Run(2.0, 1.0, 0.2, 1)])
    assert made.beside_ratio == pytest.approx(0.25)
    assert made.beside_cpu_ratio == pytest.approx(2.0)
    made.outcomes[BESIDE].failure = "exit 4"
    assert (made.beside_ratio, made.beside_cpu_ratio) == (None, None)


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


def test_another_version_has_its_columns_in_the_table() -> None:
    made = row(outcome(1.5), outcome(1.0))
    made.outcomes[PACKCHECK] = Outcome([Run(1.5, 1.1, 0.1, 20 << 10)])
    made.outcomes[BESIDE] = Outcome([Run(1.0, 0.7, 0.1, 9 << 10)])
    shown = table.render(FACTS, [made], 1, markdown=True).splitlines()
    cells = dict(zip(*(shown[line].strip("|").split("|") for line in (3, 5)), strict=True))
    assert {name.strip(): cell.strip() for name, cell in cells.items()} == {
        "input": "in",
        "MB": "2.5",
        "objects": "12,345",
        "packcheck (s)": "1.50 (1.50-1.50)",
        "git, 1 thread (s)": "1.00 (1.00-1.00)",
        "git, 2 threads (s)": "1.00 (1.00-1.00)",
        "beside (s)": "1.00 (1.00-1.00)",
        "packcheck / git 1": "1.50",
        "packcheck / beside": "1.50",
        "the same, CPU": "1.50",
        "packcheck (MiB)": "20",
        "git, 1 thread (MiB)": "20",
        "git, 2 threads (MiB)": "20",
        "beside (MiB)": "9",
    }
    assert shown[-2:] == [
        "Geometric mean of packcheck / beside: 1.50 (1 of 1 inputs)",
        "Geometric mean of packcheck / beside, CPU: 1.50 (1 of 1 inputs)",
    ]


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
