"""``git candidate explain``: every code, of packcheck and of imports."""

from __future__ import annotations

import json

import pytest

from candidate import cli
from candidate.commands.common import CODES
from manifest.errors import REGISTRY
from packparse import cli as packcheck
from packparse.checks import CATALOG


def test_no_code_means_two_things() -> None:
    assert not set(CATALOG) & set(REGISTRY)
    assert len(CODES) == len(CATALOG) + len(REGISTRY)


@pytest.mark.parametrize("name", REGISTRY)
def test_a_refusal_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = REGISTRY[name]
    assert cli.main(["explain", name]) == 0
    first, meaning, remedy = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{name} (class {code.klass}, ")
    assert (meaning, remedy) == (f"  {code.meaning}", f"  What to do: {code.remedy}")
    assert cli.main(["explain", name, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": "git-candidate.explain/1", "code": name, "class": code.klass,
        "meaning": code.meaning, "remedy": code.remedy,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["symlinkEscapes", "badDeflate"])
def test_a_check_is_explained_as_packcheck_does(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (cli.main(["explain", name]), packcheck.main(["explain", name])) == (0, 0)
    lines = capsys.readouterr().out.splitlines()
    half = len(lines) // 2
    assert lines[:half] == lines[half:]
    assert lines[0].startswith(f"{name} (class ")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("lockbusy", "; did you mean lockBusy"), ("zzzzzz", "\n")],
    ids=["nearly one", "nothing like one"],
)
def test_what_is_no_code_is_a_usage_error(
    name: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", name]) == 2
    assert capsys.readouterr().err.startswith(f"git candidate: no code {name!r}{hint}")
