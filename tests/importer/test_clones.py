"""A clone on the same file system shares files with the store: git gives them other names.

So a file of ours in the store may have several names, and is still what it is; anything but a
regular file is not.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from importer.errors import ImportFailed
from importer.launches import discard, proven
from importer.state import State
from tests.support.gate import Gate
from tests.support.gitrepo import git


def test_a_clone_that_shares_the_files_of_the_store_is_in_nobody_s_way(own: Gate) -> None:
    """Git gives every file of the store another name, those of ours among them."""
    offer = own.honest()
    first, second = own.launch(), own.launch()
    for scene in (first, second):
        own.put(scene, offer)
    stem = own.accept(first).receipt.pack.name
    git(own.folder, "clone", "-q", "--bare", str(own.repo), "clone")
    kept = own.repo / f".git/objects/pack/{stem}.keep"
    assert kept.stat().st_nlink == 2
    # The same pack for another launch, and one of the two goes.
    assert own.run(second).receipt.pack.name == stem
    assert proven(own.repository, first.record.launch).pack.name == stem
    assert own.run(first).receipt.pack.name == stem
    assert discard(own.repository, first.record.launch).state == "discarded"
    assert kept.read_text().splitlines()[1:] == [second.record.launch]
    # The clone has what it was given, and nothing that was written since.
    shared = (own.folder / f"clone/objects/pack/{stem}.keep").read_text()
    assert shared.splitlines()[1:] == [first.record.launch]


def test_a_clone_while_a_pack_is_in_quarantine_is_in_nobody_s_way(
    own: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives what lies there another name, too."""
    scene = own.launch()
    own.put(scene, own.honest())
    files = own.repository.world.files
    names, clone = files.names, own.folder / "clone"

    def cloning(at: int) -> list[str]:
        place = Path(f"/proc/self/fd/{at}").readlink()
        if place.parent.name.startswith("tmp_objdir-") and not clone.exists():
            git(own.folder, "clone", "-q", "--bare", str(own.repo), "clone")
        return names(at)

    with monkeypatch.context() as patch:
        patch.setattr(files, "names", cloning)
        own.accept(scene)
    assert list(clone.glob("objects/tmp_objdir-*/pack/*.pack"))


@pytest.mark.parametrize("what", ["a FIFO", "a link", "a folder"])
def test_a_published_pack_in_whose_place_something_else_stands_is_told_and_not_waited_for(
    what: str, own: Gate
) -> None:
    scene = own.launch()
    own.put(scene, own.honest())
    path = own.repo / f".git/objects/pack/{own.accept(scene).receipt.pack.name}.pack"
    aside = own.folder / "aside"
    path.rename(aside)
    _in_its_place(what, path, aside)
    with pytest.raises(ImportFailed) as caught:
        proven(own.repository, scene.record.launch)
    assert caught.value.code.name == "storeCorrupt"


@pytest.mark.parametrize("what", ["a FIFO", "a link", "a folder"])
def test_a_label_of_the_state_that_is_no_plain_file_is_told_and_not_waited_for(
    what: str, tmp_path: Path
) -> None:
    State(str(tmp_path / "state")).close()
    path = tmp_path / "state/format"
    aside = tmp_path / "aside"
    path.rename(aside)
    _in_its_place(what, path, aside)
    with pytest.raises(ImportFailed) as caught:
        State(str(tmp_path / "state"))
    assert caught.value.code.name == "stateCorrupt"


def _in_its_place(what: str, path: Path, aside: Path) -> None:
    if what == "a FIFO":
        os.mkfifo(path)
    elif what == "a link":
        path.symlink_to(aside)
    else:
        path.mkdir()
