"""The bench runs at a tiny scale, in the order it says, and saves what it measured."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from bench import __main__ as command
from bench.contenders import installed
from bench.inputs import Input, from_argument
from bench.results import (
    BESIDE,
    CONTENDERS,
    FOR_GROWTH,
    GIT_ONE,
    PACKCHECK_ONE,
    PACKCHECK_TWO,
    SCALES,
)
from bench.run import Bench, Plan, order
from bench.shapes import SHAPES
from tests.bench.made import about
from tests.support import packs

OURS = [sys.executable, "-m", "packparse"]
# Accepts whatever it is asked about, at once.
QUICK = shlex.join([sys.executable, "-S", "-c", "print('accepted')"])


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    return command.main()


@pytest.mark.usefixtures("tiny")
def test_a_round_on_one_shape_measures_every_contender(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved = tmp_path / "out.json"
    arguments = ("--shapes", "many-small", "--rounds", "1", "--json", str(saved))
    assert run(monkeypatch, *arguments) == 0, capsys.readouterr().out
    out, err = capsys.readouterr()
    report = json.loads(saved.read_text("utf-8"))
    (row,) = report["inputs"]
    assert (report["schema"], report["rounds"]) == ("packcheck.bench/2", 1)
    assert "dulwich" in report["machine"]
    assert (row["about"]["name"], row["about"]["scale"]) == ("many-small", "small")
    assert (row["about"]["object_format"], row["relaxed"]) == ("sha1", False)
    assert list(row["outcomes"]) == installed()
    for outcome in row["outcomes"].values():
        assert outcome["failure"] is None
        (single,) = outcome["runs"]
        assert single["seconds"] > 0
        assert single["peak_kib"] > 1024
    assert all(ratio["least"] > 0 for ratio in row["ratios"].values())
    assert row["ratios"].keys() >= {"packcheck 1 / git 1", "packcheck 2 / git 2"}
    assert "many-small" in out
    assert "(1 of 1)" in out
    assert "made many-small" in err


@pytest.mark.usefixtures("tiny")
def test_shapes_are_made_in_all_sizes_to_see_them_grow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved = tmp_path / "out.json"
    arguments = ["--shapes", "branches", "--growth", "--rounds", "2", "--json", str(saved)]
    arguments += ["--contenders", "packcheck-1,git-1", "--packcheck", QUICK, "--markdown"]
    assert run(monkeypatch, *arguments) == 0
    made = json.loads(saved.read_text("utf-8"))["inputs"]
    assert [item["about"]["scale"] for item in made] == list(SCALES)
    assert {name for item in made for name in item["outcomes"]} == {PACKCHECK_ONE, GIT_ONE}
    out = capsys.readouterr().out
    assert "| growth | objects |" in out
    assert "| branches, large |" in out


@pytest.mark.usefixtures("tiny")
def test_another_version_runs_in_the_same_rounds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved = tmp_path / "out.json"
    arguments = ["--shapes", "many-small", "--rounds", "2", "--json", str(saved)]
    arguments += ["--contenders", "packcheck-1", "--packcheck", QUICK, "--beside", QUICK]
    assert run(monkeypatch, *arguments) == 0
    (made,) = json.loads(saved.read_text("utf-8"))["inputs"]
    assert list(made["outcomes"]) == [PACKCHECK_ONE, BESIDE]
    assert len(made["outcomes"][BESIDE]["runs"]) == 2
    assert set(made["ratios"]) == {"packcheck 1 / beside", "the same, CPU"}
    assert "packcheck 1 / beside" in capsys.readouterr().out


def test_a_contender_that_fails_is_named_with_its_last_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "broken.pack"
    file.write_bytes(packs.flip(packs.small_honest_pack(), -1))
    saved = tmp_path / "out.json"
    arguments = ("--rounds", "1", "--json", str(saved), "--beside", shlex.join(OURS))
    assert run(monkeypatch, str(file), *arguments) == 1
    (made,) = json.loads(saved.read_text("utf-8"))["inputs"]
    assert set(made["outcomes"]) == {*installed(), BESIDE}
    for outcome in made["outcomes"].values():
        assert outcome["failure"].startswith(("exit ", "git index-pack ends with 128"))
        assert str(tmp_path) not in outcome["failure"]
        assert outcome["runs"] == []
    assert "! broken.pack: packcheck, 1 job failed, exit 1: " in capsys.readouterr().out


def test_a_contender_that_fails_later_has_no_number(tmp_path: Path) -> None:
    file = tmp_path / "x.pack"
    file.write_bytes(packs.small_honest_pack())
    # The warm-up and one round are well.
    count = "from pathlib import Path; p = Path('n'); n = len(p.read_text()) if p.exists() else 0"
    fails = [sys.executable, "-c", f"{count}; p.write_text('x' * (n + 1)); exit(n > 1)"]
    plan = Plan(fails, [PACKCHECK_ONE], 4)
    item = from_argument(str(file), tmp_path / "input")
    row = Bench(tmp_path, plan, lambda _message: None).compare(item)
    outcome = row.outcomes[PACKCHECK_ONE]
    assert (outcome.failure, len(outcome.runs)) == ("exit 1: no output", 2)
    assert outcome.seconds is None


def test_each_is_the_first_in_its_turn_and_neighbours_stay_together() -> None:
    names = ["a", "b", "c", "d"]
    rounds = [order(names, number) for number in range(8)]
    assert rounds[:3] == [["a", "b", "c", "d"], ["a", "d", "c", "b"], ["c", "d", "a", "b"]]
    assert all(sorted(made) == names for made in rounds)
    before = {(made.index("a") < made.index("b")) for made in rounds}
    assert before == {True, False}


def test_the_plan_runs_contenders_in_one_order() -> None:
    names = Plan([], [GIT_ONE, PACKCHECK_TWO, PACKCHECK_ONE], 1, ["x"]).names(about())
    assert names == [PACKCHECK_ONE, GIT_ONE, PACKCHECK_TWO, BESIDE]
    assert Plan([], CONTENDERS, 1).names(about(scale="large")) == list(CONTENDERS)


@pytest.mark.parametrize(
    ("scale", "names"),
    [(None, CONTENDERS), ("small", CONTENDERS), ("medium", FOR_GROWTH), ("large", FOR_GROWTH)],
    ids=["an argument", "a small shape", "a larger one", "the largest"],
)
def test_larger_shapes_may_be_for_fewer_contenders(
    scale: str | None, names: tuple[str, ...]
) -> None:
    plan = Plan([], CONTENDERS, 1, larger=FOR_GROWTH)
    assert plan.names(about(scale=scale)) == list(names)


def test_an_argument_that_cannot_be_used_ends_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(monkeypatch, str(tmp_path / "missing")) == 2
    assert "missing: neither a file nor a repository" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--rounds", "0"),
        ("--shapes", "nonsense"),
        ("--scale", "huge"),
        ("--contenders", "git-1,nonsense"),
        ("--growth", "--scale", "large"),
    ],
    ids=" ".join,
)
def test_a_usage_error_is_2(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
) -> None:
    with pytest.raises(SystemExit) as stop:
        run(monkeypatch, *arguments)
    assert stop.value.code == 2
    assert arguments[0] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        pytest.param([], list(SHAPES), id="nothing"),
        pytest.param(["PACK"], [], id="an input"),
        pytest.param(["PACK", "--growth"], list(SHAPES), id="an input and growth"),
        pytest.param(["PACK", "--shapes", "branches"], ["branches"], id="an input and a shape"),
    ],
)
def test_which_shapes_are_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], names: list[str]
) -> None:
    pack = tmp_path / "x.pack"
    pack.write_bytes(packs.small_honest_pack())
    given = from_argument(str(pack), tmp_path / "folder")
    made: list[str] = []

    def make(name: str, _scale: str, _folder: Path) -> Input:
        made.append(name)
        return given

    monkeypatch.setattr(command, "from_argument", lambda *_words: given)
    monkeypatch.setattr(command, "from_shape", make)
    options = command._parser().parse_args(words)  # noqa: SLF001 - what it comes to
    found = command._gather(options, tmp_path)  # noqa: SLF001
    assert list(dict.fromkeys(made)) == names
    assert len(found) == len(made) + ("PACK" in words)


def test_a_contender_that_is_not_installed_cannot_be_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bench.contenders.installed", lambda: [GIT_ONE])
    with pytest.raises(SystemExit) as stop:
        run(monkeypatch, "--contenders", "dulwich,git-1")
    assert stop.value.code == 2
    assert "--contenders: not installed: dulwich" in capsys.readouterr().err


def test_the_help_names_shapes_and_contenders(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        run(monkeypatch, "--help")
    assert stop.value.code == 0
    words = capsys.readouterr().out.split()
    assert {*CONTENDERS, *SHAPES} <= set(words)
