"""``git candidate``: what its commands say, in text and JSON, and their exit statuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from candidate import cli
from candidate.commands.common import CODES
from importer.errors import GIT_FAILED, ImportFailed
from importer.state import State
from packparse import version
from tests.candidate.conftest import Run, as_json
from tests.support.fakegit import faked
from tests.support.gitrepo import git, init
from tests.support.launches import LAUNCH, Host, Scene, launch

ROOT = Path(__file__).resolve().parents[2]


def check(scene: Scene, *more: str) -> list[str]:
    bundle = str(scene.export / scene.record.artifact)
    return ["check", bundle, "--repo", str(scene.host.repo), "--base", scene.host.base, *more]


# --- check ------------------------------------------------------------------------------------


def test_check_gives_both_verdicts_and_imports_nothing(scene: Scene, run: Run) -> None:
    status, out, _ = run(*check(scene))
    assert status == 0
    assert "candidate.bundle: accepted, 7 objects checked\n" in out
    assert out.endswith("index-pack --strict accepts\n")
    there = git(scene.host.repo, "cat-file", "-e", scene.host.candidate, check=False)
    assert there.returncode != 0


def test_check_in_json_has_the_report_and_what_git_was_told(scene: Scene, run: Run) -> None:
    found = as_json(run, *check(scene))
    assert found["schema"] == "git-candidate.check/1"
    assert (found["verdict"], found["class"], found["code"]) == ("accepted", 0, None)
    assert found["packcheck"]["counts"]["objects"] == 7
    assert found["git"]["relaxed"] == []


@pytest.mark.parametrize(
    ("damage", "status", "code"),
    [
        (lambda data: data + b"x", 1, "trailingBytes"),
        (lambda data: data[:-30], 1, "truncated"),
        (lambda data: data[data.index(b"PACK") :], 3, "notABundle"),
        (lambda data: data.replace(b"refs/heads/candidate", b"refs/heads/../x"), 1, "badRefName"),
        (lambda data: re.sub(rb"\n[0-9a-f]+ refs/heads/candidate", b"", data), 3, "unexpectedRefs"),
    ],
    ids=[
        "a byte too many",
        "thirty bytes less",
        "a pack without a header",
        "a bad ref",
        "no ref at all",
    ],
)
def test_check_refuses_with_the_code_and_its_class(
    scene: Scene, run: Run, damage: Callable[[bytes], bytes], status: int, code: str
) -> None:
    bundle = scene.export / scene.record.artifact
    bundle.write_bytes(damage(bundle.read_bytes()))
    found = as_json(run, *check(scene))
    assert (found["verdict"], found["class"], found["code"]) == ("refused", status, code)
    assert run(*check(scene))[0] == status


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--tip", "0" * 40], 5, "asked for 0000"),
        (["--limit", "objects=2"], 4, "the header claims 7 objects, the limit is 2"),
        (["--limit", "pack-bytes=10"], 4, "packTooLarge"),
    ],
    ids=["another tip", "too many objects", "too many bytes to be copied"],
)
def test_check_takes_the_options_of_packcheck(
    scene: Scene, run: Run, options: list[str], status: int, words: str
) -> None:
    found, out, err = run(*check(scene, *options))
    assert (found, words in out + err) == (status, True)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (b" refs/heads/candidate", b" HEAD", "unexpectedRefs"),
        (b" refs/heads/candidate", b" refs/tags/x", "unexpectedRefs"),
        (b"# v2 git bundle\n", b"# v3 git bundle\n@filter=blob:none\n", "filteredBundle"),
        (None, b"", "notABundle"),
    ],
    ids=["HEAD", "a tag", "a filter", "no header"],
)
def test_a_header_that_is_refused_is_nowhere_called_accepted(
    scene: Scene, run: Run, old: bytes | None, new: bytes, code: str
) -> None:
    bundle = scene.export / scene.record.artifact
    data = bundle.read_bytes()
    header = data[: data.index(b"PACK")] if old is None else old
    bundle.write_bytes(data.replace(header, new, 1))
    status, out, _ = run(*check(scene))
    kind = "incomplete" if status == 5 else "policy"
    assert out.splitlines()[0].endswith(f": refused, class {status} ({kind})")
    assert f"error: {code}" in out
    assert "accepted" not in out
    found = as_json(run, *check(scene))
    assert found["code"] == code
    assert found["packcheck"]["verdict"] == "refused"
    assert found["packcheck"]["finding_counts"] == {code: 1}


def test_what_git_refuses_is_told_beside_the_report_of_packcheck(
    scene: Scene, run: Run, tmp_path: Path
) -> None:
    with faked(tmp_path, "index-pack", "echo 'fatal: no luck' >&2; exit 128"):
        status, out, _ = run(*check(scene))
    first, *_, git_says, refused, remedy = out.splitlines()
    assert (status, first.endswith(": accepted, 7 objects checked")) == (1, True)
    assert git_says.endswith("index-pack --strict refuses")
    assert refused == "refused: gitRefused: git index-pack: fatal: no luck"
    assert remedy == f"  {CODES['gitRefused'].remedy}"


def test_check_reads_no_standard_input(scene: Scene, run: Run) -> None:
    status, out, err = run("check", "-", *check(scene)[2:])
    assert (status, out) == (2, "")
    assert err == "git candidate: standard input is not read: give a file\n"


def test_a_file_beyond_the_limit_is_named(scene: Scene, run: Run) -> None:
    bundle = scene.export / scene.record.artifact
    status, out, _ = run(*check(scene, "--limit", "pack_bytes=100"))
    assert (status, out.startswith(f"refused: packTooLarge: {bundle} has ")) == (4, True)


def test_check_asks_for_the_base_first(scene: Scene, run: Run) -> None:
    bundle = str(scene.export / scene.record.artifact)
    status, _, err = run("check", bundle, "--repo", str(scene.host.repo), "--base", "1" * 40)
    assert status == 5
    assert err.startswith("git candidate: baseMissing: the commit 1111")


def test_a_revert_to_an_old_file_needs_the_full_seed(scene: Scene, run: Run) -> None:
    host = scene.host
    old = git(host.repo, "rev-list", "--max-parents=0", "HEAD").stdout.decode().strip()
    changed = git(host.repo, "diff", "--name-only", old, "HEAD").stdout.decode().split()[0]
    blob = git(host.repo, "rev-parse", f"{old}:{changed}").stdout.decode().strip()
    content = git(host.repo, "cat-file", "blob", blob).stdout
    host.commits.clear()
    host.commit({changed: content})
    # As git leaves out what the other side has: the old blob is not in the pack.
    data = host.bundle()
    (scene.export / scene.record.artifact).write_bytes(_without(host.producer, host, blob, data))
    status, out, _ = run(*check(scene))
    assert (status, "smuggledBase" in out) == (3, True)
    assert "say --seed full" in out.splitlines()[-1]
    status, out, _ = run(*check(scene, "--seed", "full"))
    assert (status, "--seed" in out) == (0, False)


def test_what_no_seed_has_is_no_matter_of_the_seed(scene: Scene, run: Run) -> None:
    host, content = scene.host, b"of another branch\n"
    blob = git(host.repo, "hash-object", "-w", "--stdin", input=content).stdout.decode().strip()
    host.commits.clear()
    host.commit({"taken": content})
    data = _without(host.producer, host, blob, host.bundle())
    (scene.export / scene.record.artifact).write_bytes(data)
    status, out, _ = run(*check(scene, "--seed", "full"))
    assert (status, "smuggledBase" in out, "--seed" in out) == (3, True, False)


def test_of_several_refs_one_that_is_no_base_is_the_tip(scene: Scene, run: Run) -> None:
    bundle = scene.export / scene.record.artifact
    data, host = bundle.read_bytes(), scene.host
    ref = f"{host.candidate} refs/heads/candidate\n".encode()
    bundle.write_bytes(data.replace(ref, f"{host.base} refs/heads/base\n".encode() + ref))
    told = (
        "the tip is taken to be that of refs/heads/candidate; bundle that branch alone, "
        "or the one that is meant\n"
    )
    status, out, _ = run(*check(scene))
    assert (status, "unexpectedRefs" in out, out.endswith(told)) == (3, True, True)
    assert as_json(run, *check(scene))["chosen"] == "refs/heads/candidate"
    assert told not in run(*check(scene, "--tip", host.candidate))[1]
    # What a producer calls it is shown escaped.
    odd = "refs/heads/\u202eodd".encode()
    bundle.write_bytes(data.replace(ref, ref.replace(b"refs/heads/candidate", odd) + ref))
    assert 'refs/heads/\\342\\200\\256odd"; bundle' in run(*check(scene))[1]
    # A header of one ref leaves nothing to choose.
    bundle.write_bytes(data)
    assert told not in run(*check(scene))[1]


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--base", "main"], 2, "in lower case, as git rev-parse main prints it\n"),
        (["--base", "1" * 64], 2, "the repository has ids of sha1, which have 40 digits\n"),
        (["--tip", "1" * 64], 2, "the repository has ids of sha1, which have 40 digits\n"),
        (["--frob"], 2, "git candidate check: error: unrecognized arguments: --frob\n"),
        (
            ["--policy", "nowhere.toml"],
            6,
            "the policy nowhere.toml cannot be read: No such file or directory\n",
        ),
    ],
    ids=[
        "a name",
        "a base of SHA-256",
        "a tip of SHA-256",
        "an option that there is not",
        "a policy that there is not",
    ],
)
def test_check_says_how_it_is_asked(
    scene: Scene, run: Run, options: list[str], status: int, words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    try:
        found, out, err = run(*check(scene, *options))
    except SystemExit as stopped:
        found, (out, err) = int(stopped.code or 0), capsys.readouterr()
        assert err.startswith("usage: git candidate check [-h]")
    assert (found, out) == (status, "")
    assert words in err


@pytest.mark.parametrize("option", ["--base", "--tip"])
def test_check_takes_no_id_of_sha_1_for_one_of_sha_256(
    option: str, scene: Scene, run: Run, tmp_path: Path
) -> None:
    other = init(tmp_path / "other", "sha256")
    status, _, err = run(
        *check(scene)[:2], "--repo", str(other), "--base", "1" * 64, option, "1" * 40
    )
    told = f"{option} {'1' * 40}: the repository has ids of sha256, which have 64 digits\n"
    assert (status, told in err) == (2, True)


@pytest.mark.parametrize("kind", ["tree", "blob"])
def test_a_base_that_is_no_commit_is_told_what_it_is(scene: Scene, run: Run, kind: str) -> None:
    name = "HEAD^{tree}" if kind == "tree" else "HEAD:dir0/file0.txt"
    oid = git(scene.host.repo, "rev-parse", name).stdout.decode().strip()
    status, _, err = run(*check(scene, "--base", oid))
    assert (status, f"baseMissing: {oid} is a {kind}, and no commit\n" in err) == (5, True)


def _without(repo: Path, host: Host, blob: str, bundle: bytes) -> bytes:
    listed = git(repo, "rev-list", "--objects", "--no-object-names", host.candidate,
                 f"^{host.base}").stdout.decode().split()  # fmt: skip
    wanted = "".join(f"{oid}\n" for oid in listed if oid != blob).encode()
    pack = git(repo, "pack-objects", "--stdout", "-q", input=wanted).stdout
    return bundle[: bundle.index(b"PACK")] + pack


# --- launches ---------------------------------------------------------------------------------


def test_no_command_shows_the_key(scene: Scene, run: Run) -> None:
    scene.run()
    for arguments in (["show", LAUNCH], ["list"], ["recover"], ["discard", LAUNCH]):
        for form in ("text", "json"):
            assert scene.record.key not in "".join(run(*arguments, "--format", form)[1:])


@pytest.mark.parametrize("command", ["show", "discard"])
@pytest.mark.parametrize("name", ["f" * 32, "nonsense", "../launches", ""])
def test_an_unknown_launch_is_a_usage_error(run: Run, command: str, name: str) -> None:
    status, out, err = run(command, name)
    assert (status, out) == (2, "")
    assert err.startswith("git candidate: launchUnknown: there is no launch")


def test_the_list_has_every_launch_and_hides_none_behind_a_damaged_one(
    scene: Scene, run: Run
) -> None:
    other = launch(scene.host, scene.folder, name="cd" * 16)
    scene.run()
    assert [line.split()[1] for line in run("list")[1].splitlines()] == ["imported", "launched"]
    journal = scene.state / "launches" / other.record.launch / "journal"
    data = bytearray(journal.read_bytes())
    data[20] ^= 1
    journal.write_bytes(bytes(data) + b"more")
    status, out, _ = run("list")
    assert status == 6
    assert "imported" in out.splitlines()[0]
    assert "DAMAGED stateCorrupt" in out.splitlines()[1]
    (damaged,) = as_json(run, "list")["damaged"]
    assert (damaged["launch"], damaged["error"]["code"]) == (other.record.launch, "stateCorrupt")
    status, out, _ = run("recover")
    assert (status, "imported" in out, "stateCorrupt" in out) == (6, True, True)
    told = {one["launch"]: one["error"] for one in as_json(run, "recover")["launches"]}
    assert told[LAUNCH] is None
    assert told[other.record.launch]["code"] == "stateCorrupt"


def test_discard_may_be_done_twice(scene: Scene, run: Run) -> None:
    receipt = scene.run().receipt
    keep = scene.host.common / "objects/pack" / f"{receipt.pack.name}.keep"
    assert keep.exists()
    for _ in range(2):
        assert run("discard", LAUNCH)[1].startswith(f"launch {LAUNCH}: discarded\n")
        assert not keep.exists()
    assert as_json(run, "discard", LAUNCH)["state"] == "discarded"
    assert as_json(run, "show", LAUNCH)["proven"] is None


def test_a_state_folder_that_is_not_there_is_named_and_not_made(scene: Scene, run: Run) -> None:
    full = scene.state.rename(scene.folder / "old")
    for command in ("list", "recover", "show", "discard"):
        status, out, err = run(command, *([LAUNCH] if command in {"show", "discard"} else []))
        assert (status, out) == (2, "")
        assert err.startswith(f"git candidate: stateMissing: there is no folder {scene.state}\n")
        assert not scene.state.exists()
    scene.state.mkdir(mode=0o700)
    assert run("list")[2].startswith(f"git candidate: stateMissing: {scene.state} is empty\n")
    assert not [*scene.state.iterdir()]
    assert [*(full / "launches").iterdir()]


def test_a_state_folder_without_a_name_is_not_taken_for_the_usual_one(
    scene: Scene, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CANDIDATE_STATE", str(scene.state))
    assert run("list", "--state", "")[:2] == (2, "")


@pytest.mark.parametrize("command", ["list", "recover"])
def test_a_state_without_launches_is_named(scene: Scene, run: Run, command: str) -> None:
    scene.state.rename(scene.folder / "old")
    State(str(scene.state)).close()
    assert run(command) == (0, f"there are no launches in {scene.state}\n", "")


# --- the command itself -----------------------------------------------------------------------


def test_it_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"git candidate {version.installed() or '(not installed)'}\n"


def test_it_is_a_command_of_git(scene: Scene, tmp_path: Path) -> None:
    # As the installed script does, for the git of this machine.
    script = tmp_path / "bin" / "git-candidate"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m candidate "$@"\n')
    script.chmod(0o755)
    env = os.environ | {"PATH": f"{script.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["git", "candidate", "list", "--state", str(scene.state)],
        env=env, cwd=tmp_path, capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith(LAUNCH.encode())


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"GIT_CANDIDATE_STATE": "mine"}, "mine"),
        ({"XDG_STATE_HOME": "xdg"}, "xdg/git-candidate"),
        ({"HOME": "home"}, "home/.local/state/git-candidate"),
    ],
    ids=["its own variable", "the one of XDG", "the home folder"],
)
def test_the_state_folder_has_a_place_of_its_own(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variables: dict[str, str],
    place: str,
) -> None:
    for name in ("GIT_CANDIDATE_STATE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    State(str(tmp_path / place)).close()
    assert cli.main(["list"]) == 0
    assert capsys.readouterr().out == f"there are no launches in {tmp_path / place}\n"


def test_without_a_home_a_state_folder_has_to_be_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GIT_CANDIDATE_STATE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert cli.main(["list"]) == 2
    assert capsys.readouterr().err == (
        "git candidate: there is no home folder to keep the state in; give --state DIR\n"
    )


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (KeyboardInterrupt(), 6, "interrupted"),
        (OSError(28, "No space left on device"), 6, "No space left on device"),
        (ImportFailed(GIT_FAILED, "why"), 6, "gitFailed: why"),
    ],
    ids=["an interrupt", "a full disk", "a failure"],
)
def test_what_stops_the_work_is_class_6(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    status: int,
    text: str,
) -> None:
    def fail(_parsed: object) -> int:
        raise error

    monkeypatch.setattr("candidate.commands.listing.run", fail)
    assert cli.main(["list"]) == status
    told = capsys.readouterr()
    assert (told.out, told.err.startswith(f"git candidate: {text}")) == ("", True)
    assert cli.main(["list", "--format", "json"]) == status
    again = capsys.readouterr()
    assert again.err == told.err
    found = json.loads(again.out)
    assert found["message"] == text.rpartition(": ")[2]
    assert found == {
        "schema": "git-candidate.error/1",
        "code": error.code.name if isinstance(error, ImportFailed) else None,
        "class": status,
        "message": found["message"],
        "remedy": error.code.remedy if isinstance(error, ImportFailed) else None,
    }


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["show", "f" * 32], 2, "launchUnknown"),
        (["discard", "f" * 32], 2, "launchUnknown"),
        (["check", "no.bundle", "--base", "main"], 2, None),
        (["check", "no.bundle", "--base", "1" * 40, "--repo", "nowhere"], 2, "notARepository"),
    ],
    ids=["an unknown launch", "one to be discarded", "a wrong id", "no repository"],
)
def test_an_error_is_an_object_as_well(
    run: Run, arguments: list[str], status: int, code: str | None
) -> None:
    found, out, err = run(*arguments, "--format", "json")
    told = json.loads(out)
    assert (found, told["class"], told["code"]) == (status, status, code)
    assert told["message"] in err
    assert out.count("\n") == 1


def test_a_reader_that_has_gone_is_no_error_to_tell(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(_parsed: object) -> int:
        raise BrokenPipeError

    monkeypatch.setattr("candidate.commands.listing.run", fail)
    saved = os.dup(1)
    try:
        assert cli.main(["list"]) == 6
    finally:
        os.dup2(saved, 1)
        os.close(saved)
    assert capfd.readouterr().err == ""
