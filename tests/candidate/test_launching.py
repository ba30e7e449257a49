"""``git candidate launch`` and ``import``: what they say, and what they leave to others."""

from __future__ import annotations

import json
import shlex
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from candidate import cli
from candidate.commands.importing import STEPS
from importer.launches import show
from importer.state import State
from importer.steps import Step
from tests.support.gitrepo import git
from tests.support.launched import bubblewrap
from tests.support.launches import Host, copy_host, make_host

COMMIT = "echo new > new; git add new; git commit -qm new; sh $GIT_CANDIDATE_EXPORT/export.sh"


@pytest.fixture(scope="module")
def made_host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return make_host(tmp_path_factory.mktemp("host"))


class Desk:
    """A host and a state folder, and whoever types commands."""

    def __init__(self, folder: Path, host: Host, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.host = host
        self._capfd = capfd

    def type(self, *arguments: str) -> tuple[int, str, str]:
        try:
            status = cli.main(arguments)
        except SystemExit as ended:
            status = int(ended.code or 0)
        out, err = self._capfd.readouterr()
        return status, out, err

    def launch(self, *more: str, into: str = "one") -> tuple[int, str, str]:
        return self.type(
            "launch", "--repo", str(self.host.repo), "--base", self.host.base,
            "--into", str(self.folder / into), *more,
        )  # fmt: skip

    def as_json(self, *arguments: str) -> dict[str, Any]:
        status, out, err = self.type(*arguments, "--format", "json")
        assert (status, err) == (0, "")
        told: dict[str, Any] = json.loads(out)
        return told


@pytest.fixture
def desk(
    tmp_path: Path, made_host: Host, capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Desk:  # fmt: skip
    monkeypatch.setenv("GIT_CANDIDATE_STATE", str(tmp_path / "state"))
    return Desk(tmp_path, copy_host(made_host, tmp_path), capfd)


def only_launch(desk: Desk) -> str:
    with State(str(desk.folder / "state")) as state:
        (name,) = state.names()
    return name


def test_a_launch_says_what_it_made_and_what_comes_next(desk: Desk) -> None:
    status, out, err = desk.launch("--issue", "owner/repo#1", "--run", "r", "--phase", "FIX")
    name = only_launch(desk)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"launch {name}: ready"
    assert lines[1] == "  issue owner/repo#1, run r, phase FIX"
    assert lines[-2] == f"  workspace {desk.folder}/one/workspace"
    assert lines[-1].endswith(f"git candidate import {name}")


def test_in_json_it_has_the_folders_and_not_the_key(desk: Desk) -> None:
    status, out, _ = desk.launch("--format", "json", "--seed", "full", "--repository", "owner/repo")
    told = json.loads(out)
    with State(str(desk.folder / "state")) as state:
        key = show(state, told["launch"]).record.key
    assert (status, told["state"], told["seed"], told["command"]) == (0, "ready", "full", None)
    assert told["workspace"] == f"{desk.folder}/one/workspace"
    assert told["source"] == f"{desk.folder}/one/source"
    assert told["export"] == f"{desk.folder}/one/export"
    assert key not in out


@pytest.mark.parametrize("sandbox", ["required", "off"])
def test_a_producer_is_started_and_what_it_exports_is_imported(desk: Desk, sandbox: str) -> None:
    if sandbox == "required":
        bubblewrap()
    status, out, err = desk.launch(
        "--sandbox", sandbox, "--progress", "always", "--", "sh", "-c", COMMIT
    )
    assert status == 0, err
    assert err.splitlines() == [
        f"git candidate: {what}"
        for what in (
            "reading the base", "writing the tree", "writing the repository",
            "the producer begins", "the producer has ended",
        )
    ]  # fmt: skip
    assert "exported candidate" in out
    name = only_launch(desk)
    status, out, err = desk.type("import", name, "--progress", "always")
    assert status == 0, err
    assert err.splitlines() == [
        f"git candidate: step {step} of 11, {STEPS[step]}" for step in STEPS
    ]
    candidate = out.split("  candidate ")[1].split("\n")[0]
    assert out.endswith(f"  git --git-dir={desk.host.repo}/.git log {candidate}\n")
    assert git(desk.host.repo, "log", "--format=%s", "-1", candidate).stdout == b"new\n"
    told = desk.as_json("import", name)
    assert (told["state"], told["proven"]) == ("imported", True)
    assert told["receipt"]["candidate"] == candidate


def test_every_step_of_an_import_has_a_name() -> None:
    assert set(STEPS) == set(Step) - {Step.BEFORE}


def test_what_a_producer_writes_is_no_part_of_an_answer_in_json(desk: Desk) -> None:
    status, out, err = desk.launch(
        "--sandbox", "off", "--format", "json", "--", "sh", "-c", "echo hello"
    )
    assert (status, err) == (0, "hello\n")
    assert json.loads(out)["state"] == "ready"


def test_a_producer_that_fails_is_class_6_and_the_launch_is_there(desk: Desk) -> None:
    status, _, err = desk.launch("--sandbox", "off", "--", "sh", "-c", "exit 3")
    assert status == 6
    assert "producerFailed: it ended with status 3" in err
    assert desk.as_json("show", only_launch(desk))["state"] == "ready"


def test_a_sandbox_that_is_missing_is_class_6_and_nothing_is_launched(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(desk.folder))
    status, out, err = desk.launch("--", "true")
    assert (status, out) == (6, "")
    assert "sandboxMissing" in err
    assert "--sandbox off" in err
    assert not (desk.folder / "one").exists()
    assert not (desk.folder / "state").exists()


@pytest.mark.parametrize("sandbox", ["required", "off"])
def test_the_command_is_printed_instead(desk: Desk, sandbox: str) -> None:
    if sandbox == "required":
        bubblewrap()
    producer = ["sh", "-c", 'pwd; echo "$1"', "x", "it's"]
    status, out, _ = desk.launch("--sandbox", sandbox, "--print-command", "--", *producer)
    assert status == 0
    line = out.splitlines()[-1]
    assert shlex.split(line)[-5:] == producer
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=True)
    where = "/workspace" if sandbox == "required" else f"{desk.folder}/one/workspace"
    assert done.stdout.decode() == f"{where}\nit's\n"
    told = json.loads(
        desk.launch(
            "--sandbox", sandbox, "--print-command", "--format", "json", "--", *producer, into="two"
        )[1]
    )
    assert told["command"] == line.replace(f"{desk.folder}/one", f"{desk.folder}/two")


def test_tools_are_shown_and_secrets_are_not(desk: Desk) -> None:
    bubblewrap()
    tools = desk.folder / "tools"
    tools.mkdir()
    (tools / "x").write_bytes(b"a tool\n")
    look = ["--", "cat", f"{tools}/x"]
    status, out, _ = desk.launch("--read-only", str(tools), *look)
    assert status == 0
    assert out.endswith("a tool\n")
    below = desk.host.repo / "dir0"
    for secret in (below, desk.host.repo, desk.folder / "state", desk.folder / "two", desk.folder):
        status, _, err = desk.launch(
            "--repo", str(below), "--read-only", str(secret), *look, into="two"
        )
        assert status == 2
        assert "sandboxUnsafe" in err
    assert not (desk.folder / "two").exists()


MISTAKES = {
    "no base": (["--into", "x"], "--base"),
    "a base that is no id": (["--into", "x", "--base", "HEAD"], "--base"),
    "no folder": (["--base", "12" * 20], "--into"),
    "a command to print, and none": (
        ["--base", "12" * 20, "--into", "x", "--print-command"], "give the COMMAND behind --"
    ),
    "a policy that is none": (
        ["--base", "12" * 20, "--into", "x", "--policy", "nothing"], "no policy 'nothing'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_class_2_and_says_what_to_do(desk: Desk, name: str) -> None:
    arguments, told = MISTAKES[name]
    status, out, err = desk.type("launch", "--repo", str(desk.host.repo), *arguments)
    assert (status, out) == (2, "")
    assert told in err


def test_a_policy_and_limits_are_those_of_the_launch(desk: Desk) -> None:
    policy = desk.folder / "my policy.toml"
    policy.write_text('[severity]\nmissingEmail = "error"\n[limits]\ncommits = 7\n')
    status, _, err = desk.launch(
        "--policy", str(policy), "--limits", "history", "--limit", "parents=3"
    )
    assert (status, err) == (0, "")
    with State(str(desk.folder / "state")) as state:
        record = show(state, only_launch(desk)).record
    limits = record.made_limits()
    assert (limits.commits, limits.parents, limits.files) == (7, 3, 100_000_000)
    assert record.policy.name == str(policy)
    assert record.policy.made().severities


def test_the_home_of_the_state_is_made_for_the_first_launch(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_CANDIDATE_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(desk.folder / "a" / "b"))
    status, _, err = desk.launch()
    assert (status, err) == (0, "")
    made = desk.folder / "a" / "b"
    assert (made / "git-candidate" / "launches").is_dir()
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_a_refusal_of_an_import_is_the_answer_of_the_command(desk: Desk) -> None:
    desk.launch()
    name = only_launch(desk)
    status, out, err = desk.type("import", name)
    assert (status, out) == (5, "")
    assert "manifestMissing (step 2): there is no manifest.json" in err
    (desk.folder / "one" / "export" / "manifest.json").symlink_to("/etc/passwd")
    status, out, err = desk.type("import", name, "--format", "json")
    assert status == 3
    assert json.loads(out)["code"] == "originUnsafe"
