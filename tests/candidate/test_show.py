"""``git candidate show``: a launch, and what the repository says of its receipt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from candidate.commands.show import as_text
from importer.launches import show
from importer.state import State
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


def _no_index(packs: Path, name: str) -> None:
    (packs / f"{name}.idx").unlink()


def _rotten(packs: Path, name: str) -> None:
    path = packs / f"{name}.pack"
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-1])


def _no_base(packs: Path, name: str) -> None:
    for path in packs.iterdir():
        if path.stem != name:
            path.unlink()


UNTRUE: dict[str, tuple[Callable[[Path, str], None], str, int]] = {
    "an index that is gone": (_no_index, "receiptContradicted", 5),
    "a pack that rotted": (_rotten, "storeCorrupt", 6),
    "a base that is gone": (_no_base, "baseMissing", 5),
}


@pytest.mark.parametrize(("change", "code", "status"), UNTRUE.values(), ids=UNTRUE)
def test_a_receipt_that_is_not_true_any_more_is_told(
    change: Callable[[Path, str], None], code: str, status: int, scene: Scene, run: Run
) -> None:
    receipt = scene.run().receipt
    change(scene.host.common / "objects/pack", receipt.pack.name)
    found, out, _ = run("show", LAUNCH)
    assert (found, f"NOT TRUE ANY MORE: {code}" in out) == (status, True)
    told = as_json(run, "show", LAUNCH)
    assert (told["proven"], told["fault"]["code"]) == (False, code)


def test_nobody_is_asked_for_the_receipt_of_a_launch_that_was_discarded(
    scene: Scene, run: Run
) -> None:
    candidate = scene.run().receipt.candidate
    run("discard", LAUNCH)
    scene.host.repo.rename(scene.folder / "moved")
    status, out, _ = run("show", LAUNCH)
    assert (status, f"  candidate {candidate}\n" in out) == (0, True)
    found = as_json(run, "show", LAUNCH)
    assert (found["state"], found["proven"], found["fault"]) == ("discarded", None, None)


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


def test_the_place_of_another_error_than_the_one_that_leads_is_not_shown(
    scene: Scene, run: Run
) -> None:
    scene.host.commit({"120000 dir0/out": b"../../etc"})
    scene.offer()
    with scene.opened() as repository, pytest.raises(Exception, match="symlinkEscapes"):
        import_candidate(repository, LAUNCH)
    with State(str(scene.state)) as state:
        shown = show(state, LAUNCH)
    assert as_text(shown) == run("show", LAUNCH)[1]
    assert shown.refusal is not None
    other = msgspec.structs.replace(shown.refusal, code="missingTree", message="it is not there")
    told = as_text(shown._replace(refusal=other))
    assert "  missingTree: it is not there\n" in told
    assert "dir0/out" not in told


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
