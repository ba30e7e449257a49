"""``git candidate show``: a launch, and what the repository says of its receipt."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from importer.steps import import_candidate
from packparse.checks import CATALOG
from tests.candidate.conftest import Run, as_json
from tests.support.launches import LAUNCH, Scene


def test_a_launch_is_shown_before_and_after_its_import(scene: Scene, run: Run) -> None:
    assert run("show", LAUNCH)[1].startswith(f"launch {LAUNCH}: launched\n  issue owner/repo#269")
    scene.run()
    status, out, _ = run("show", LAUNCH)
    assert status == 0
    assert f"  candidate {scene.host.candidate}\n" in out
    assert out.endswith("  the repository has all of it\n")
    found = as_json(run, "show", LAUNCH)
    assert (found["state"], found["proven"], found["fault"]) == ("imported", True, None)
    assert found["receipt"]["objects"]["count"] == 7


def test_a_receipt_that_is_not_true_any_more_is_told(scene: Scene, run: Run) -> None:
    receipt = scene.run().receipt
    (scene.host.common / "objects/pack" / f"{receipt.pack.name}.idx").unlink()
    status, out, _ = run("show", LAUNCH)
    assert status == 5
    assert "NOT TRUE ANY MORE: receiptContradicted" in out
    found = as_json(run, "show", LAUNCH)
    assert (found["proven"], found["fault"]["code"]) == (False, "receiptContradicted")


def test_a_refusal_is_shown(scene: Scene, run: Run) -> None:
    scene.offer(issue="owner/repo#1")
    with pytest.raises(Exception, match="bindingMismatch"):
        scene.run()
    assert "refused at step 3" in run("show", LAUNCH)[1]
    found = as_json(run, "show", LAUNCH)
    assert (found["state"], found["refusal"]["code"]) == ("refused", "bindingMismatch")


def test_what_was_refused_is_shown_with_its_place_and_what_to_do(scene: Scene, run: Run) -> None:
    scene.host.commit({"120000 dir0/out": b"../../etc"})
    scene.offer()
    with scene.opened() as repository, pytest.raises(Exception, match="symlinkEscapes"):
        import_candidate(repository, LAUNCH)
    first, code, remedy = run("show", LAUNCH)[1].splitlines()[-3:]
    assert "  refused at step 6, " in first
    assert first.endswith(", path dir0/out")
    assert ", object " in first
    assert code.startswith("  symlinkEscapes: leaves the tree")
    assert remedy == f"  {CATALOG['symlinkEscapes'].remedy}"


def _moved(scene: Scene) -> list[str]:
    scene.host.repo.rename(scene.folder / "moved")
    return []


def _wrong(scene: Scene) -> list[str]:
    return ["--repo", str(scene.host.producer)]


def _none(scene: Scene) -> list[str]:
    return ["--repo", str(scene.folder)]


NOT_ASKED: dict[str, tuple[Callable[[Scene], list[str]], str, int]] = {
    "was moved": (_moved, "notARepository", 2),
    "is another one": (_wrong, "repositoryChanged", 3),
    "is none": (_none, "notARepository", 2),
}


@pytest.mark.parametrize(("change", "code", "status"), NOT_ASKED.values(), ids=NOT_ASKED)
def test_nothing_is_said_of_a_receipt_where_the_repository(
    change: Callable[[Scene], list[str]], code: str, status: int, scene: Scene, run: Run
) -> None:
    scene.run()
    more = change(scene)
    found, out, _ = run("show", LAUNCH, *more)
    assert found == status
    assert f"  COULD NOT BE PROVEN: {code}: " in out
    assert "--repo" in out.splitlines()[-1]
    told = as_json(run, "show", LAUNCH, *more)
    assert (told["state"], told["proven"], told["fault"]["code"]) == ("imported", None, code)
