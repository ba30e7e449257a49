"""What the pages say of `git candidate`, of imports and of recovery is what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import candidate.launch
import importer.steps
from candidate import sandbox
from candidate.cli import main
from importer import place
from importer.steps import Step
from manifest.errors import REGISTRY
from manifest.launch import Event
from packparse import checks
from tests.docs.test_docs import DOCS, fields_of, read, section
from tests.support.exports import make_producer
from tests.support.launches import Scene, launch, make_host

COMMANDS = DOCS / "reference" / "git-candidate.md"
IMPORT = DOCS / "concepts" / "import.md"
LAUNCHING = DOCS / "concepts" / "launch.md"
# What another page describes.
ELSEWHERE = ("packcheck", "receipt", "refusal")


def fields_in(command: str) -> set[str]:
    title = "Errors in JSON" if command == "error" else f"`git candidate {command}`"
    text = section(read(COMMANDS), title)
    return set(re.findall(r"^\| `([\w.\[\]]+)` \| [\w ]+ \|", text, re.MULTILINE))


def told(capsys: pytest.CaptureFixture[str], scene: Scene, *arguments: str) -> dict[str, object]:
    """What a command prints as JSON; each is asked for the state folder."""
    state = [] if arguments[0] == "check" else ["--state", str(scene.state)]
    main([*arguments, "--format", "json", *state])
    answer: dict[str, object] = json.loads(capsys.readouterr().out)
    return answer


def names_of(answer: object) -> set[str]:
    """The fields of an answer, but those that another page describes."""
    names = {name for name, _ in fields_of(answer)}
    return {name for name in names if name.partition(".")[0] not in ELSEWHERE or "." not in name}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    host = make_host(tmp_path)
    host.commit({"new.txt": b"new\n"})
    made = launch(host, tmp_path)
    made.offer()
    return made


def test_the_fields_of_each_answer_are_described(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    name = scene.record.launch
    (scene.folder / "x.bundle").write_bytes(scene.host.bundle())
    repository = ["--repo", str(scene.host.repo), "--base", scene.host.base]
    checked = told(capsys, scene, "check", *repository, str(scene.folder / "x.bundle"))
    assert names_of(checked) == fields_in("check")
    scene.run()
    for keep in (scene.host.common / "objects" / "pack").glob("*.keep"):
        keep.with_suffix(".idx").unlink()
    shown = told(capsys, scene, "show", name)
    assert names_of(shown) == fields_in("show")
    assert shown["proven"] is False
    listed = told(capsys, scene, "list")
    items = listed["launches"]
    assert isinstance(items, list)
    (item,) = items
    assert names_of(item) == fields_in("discard")
    assert {*listed} == {field for field in fields_in("list") if "." not in field}
    discarded = told(capsys, scene, "discard", name)
    assert names_of(discarded) == fields_in("discard")
    (scene.state / "launches" / name / "journal").write_bytes(b"no journal")
    assert names_of(told(capsys, scene, "recover")) == fields_in("recover")
    listed = told(capsys, scene, "list")
    assert names_of(listed) == fields_in("list")
    assert names_of(told(capsys, scene, "show", "no launch")) == fields_in("error")


def test_the_fields_of_what_an_export_answers_are_described(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, producer = make_producer(tmp_path)
    producer.commit({"new": "new\n"})
    assert producer.by_command("--format", "json") == 0
    assert names_of(json.loads(capsys.readouterr().out)) == fields_in("export")


def test_the_fields_of_what_a_launch_an_import_and_the_demo_answer_are_described(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CANDIDATE_STATE", str(tmp_path / "state"))
    host = make_host(tmp_path)
    arguments = ("--repo", str(host.repo), "--base", host.base, "--into", str(tmp_path / "one"))
    work = "git commit -q --allow-empty -m x; sh $GIT_CANDIDATE_EXPORT/export.sh"
    main(["launch", "--format", "json", *arguments, "--sandbox", "off", "--", "sh", "-c", work])
    launched = json.loads(capfd.readouterr().out)
    assert names_of(launched) == fields_in("launch")
    main(["import", "--format", "json", launched["launch"]])
    assert names_of(json.loads(capfd.readouterr().out)) == fields_in("import")
    main(["demo", "--format", "json"])
    assert names_of(json.loads(capfd.readouterr().out)) == fields_in("demo")


def test_the_states_are_those_of_the_journal() -> None:
    text = section(read(COMMANDS), "The states of a launch")
    states = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    events = {str(kind.__struct_config__.tag) for kind in Event.__subclasses__()}
    # That an import is done is said by its receipt.
    assert sorted(states) == sorted({*events, "imported"})


def test_the_state_folder_is_that_of_the_code(scene: Scene) -> None:
    scene.run()
    told = section(read(COMMANDS), "The state folder")
    found = {path.relative_to(scene.state).as_posix() for path in scene.state.rglob("*")}
    found = {path.replace(scene.record.launch, "ID") for path in found} - {"work/lock"}
    said = set(re.findall(r"^((?:format|lock|launches|work)\S*)", told, re.MULTILINE))
    assert found <= {"launches", "launches/ID", *(path.rstrip("/") for path in said)}


# --- the steps ----------------------------------------------------------------------------------


def test_the_steps_are_those_of_the_code() -> None:
    in_code = re.findall(r"^    (\d+) +(.+)$", importer.steps.__doc__ or "", re.MULTILINE)
    text = section(read(IMPORT), "The eleven steps")
    assert re.findall(r"^(\d+)\. (.+)$", text, re.MULTILINE) == in_code
    assert [int(number) for number, _ in in_code] == list(Step)[1:]


def test_the_steps_of_a_launch_are_those_of_the_code() -> None:
    in_code = re.findall(r"^    (\d)  (.+)$", candidate.launch.__doc__ or "", re.MULTILINE)
    text = section(read(LAUNCHING), "In what order it is made")
    assert re.findall(r"^(\d)\. (.+)$", text, re.MULTILINE) == in_code
    assert in_code


def test_what_a_producer_is_given_is_that_of_the_code() -> None:
    text = section(read(LAUNCHING), "What a producer gets")
    parts = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert parts == [place.SOURCE, place.WORKSPACE, place.EXPORT, place.HOME, place.MARK]
    told = re.search(r"an environment of (.+?),? and nothing", read(LAUNCHING), re.DOTALL)
    assert told
    world = sandbox.bare("/x", ["true"])
    assert re.findall(r"`(\w+)`", told[1]) == list(world.environment)


def test_every_refusal_has_its_step_and_links_to_what_it_means() -> None:
    text = section(read(IMPORT), "What each step refuses")
    rows = re.findall(r"^\| (\d+|any|before) \| (.+) \|$", text, re.MULTILINE)
    assert [row for row, _ in rows] == [
        "before",
        *(str(int(step)) for step in list(Step)[1:]),
        "any",
    ]
    named = re.findall(r"\[`(\w+)`\]\(\.\./reference/(\w+)\.md#(\w+)\)", text)
    assert all(anchor == code.lower() for code, _, anchor in named)
    pages = {code: page for code, page, _ in named}
    assert {code for code, page in pages.items() if page == "refusals"} == set(REGISTRY)
    assert {code for code, page in pages.items() if page == "checks"} <= set(checks.CATALOG)


def test_the_guide_has_each_code_that_an_operator_meets_after_a_crash() -> None:
    text = read(DOCS / "guides" / "recover-after-a-crash.md")
    for code in REGISTRY.values():
        if code.klass in {5, 6}:
            assert f"`{code.name}`" in text, code


# --- the threat model ---------------------------------------------------------------------------

TESTS = Path(__file__).resolve().parents[1]
THREATS = DOCS / "security" / "threat-model.md"


def test_each_promise_names_tests_that_exist() -> None:
    rows = re.findall(
        r"^\| (.+) \| (`.+`) \|$", section(read(THREATS), "The promises"), re.MULTILINE
    )
    assert len(rows) > 20
    for promise, shown in rows:
        for named in re.findall(r"`([^`]+)`", shown):
            file, _, function = named.partition("::")
            assert function.startswith("test_"), promise
            assert f"\ndef {function}(" in (TESTS / file).read_text("utf-8"), promise
