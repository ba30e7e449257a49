"""The console blocks of the guides and concepts: what they show is what happens.

``python -m tests.docs.test_guides FOLDER`` prints what the guide has to show, made in FOLDER.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import pytest

from candidate.export import export
from importer import launches, lock
from importer.steps import Step
from importer.world import World
from tests.docs.test_docs import DOCS, FENCED, README, read
from tests.support import dying
from tests.support.consoles import Console, blocks, comparable
from tests.support.gitrepo import git, init
from tests.support.launched import bubblewrap
from tests.support.launches import Scene, commit, launch, make_host

GUIDE = DOCS / "guides" / "recover-after-a-crash.md"
IMPORT = DOCS / "concepts" / "import.md"
LAUNCH = "4b7e0c1d9a2f46538c1e7d5b90a3f264"
OTHERS = ("1f0c55d2a4b94e0f8d7be3a6c2910475", "9a6d7f1be2034c58b1f0a2c94e7d3856")
# What happens before a block of a section is typed in; what is entered ends with the test.
Hook = Callable[[Scene, ExitStack], object]


def make(folder: Path) -> Scene:
    host = make_host(folder)
    host.commit({"src/new.txt": b"hello\n", "100755 run.sh": b"#!/bin/sh\n"})
    host.commit({"src/new.txt": b"hello again\n"})
    scene = launch(host, folder, name=LAUNCH, world=at(1))
    scene.offer()
    return scene


def at(minute: int) -> World:
    """A world in which it is that minute: launches are listed by when they were recorded."""
    return World(now=lambda: 1_796_080_000.0 + 60 * minute)


def nothing(_scene: Scene, _stack: ExitStack) -> None:
    pass


def imported(scene: Scene, _stack: ExitStack) -> None:
    scene.run()


def died(scene: Scene, _stack: ExitStack) -> None:
    """Three imports died; each is of another candidate, since equal packs are shared."""
    first, last = (_beside(scene, name, 2 * number) for number, name in enumerate(OTHERS))
    dying.die_at(first, Step.PUBLISH)
    dying.die_linking(scene, ".idx")
    dying.die_at(last, Step.RECEIPT)


def _beside(scene: Scene, name: str, minute: int) -> Scene:
    host = dataclasses.replace(scene.host, commits=[])
    host.commit({f"file{minute}.txt": b"new\n"})
    made = launch(host, scene.folder, name=name, world=at(minute))
    made.offer()
    return made


def locked(scene: Scene, stack: ExitStack) -> None:
    repository = stack.enter_context(scene.opened())
    folder = stack.enter_context(repository.state.launch_folder(LAUNCH))
    held = lock.held(repository.world, "lock", at=folder, who=f"launch {LAUNCH}", timeout=1)
    stack.enter_context(held)
    stack.enter_context(mock.patch.object(launches, "_SHORT_PATIENCE", 0))


def damaged(path: Path) -> None:
    path.chmod(0o600)
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)


def damaged_journal(scene: Scene, _stack: ExitStack) -> None:
    scene.run()
    damaged(_file(scene, "journal"))


def damaged_receipt(scene: Scene, stack: ExitStack) -> None:
    scene.run()
    before = _file(scene, "receipt.json").read_bytes()
    damaged(_file(scene, "receipt.json"))
    stack.callback(lambda: _check(_file(scene, "receipt.json").read_bytes() == before))


def damaged_pack(scene: Scene, _stack: ExitStack) -> None:
    scene.run()
    damaged(_published(scene, ".pack"))


def lost_pack(scene: Scene, _stack: ExitStack) -> None:
    scene.run()
    move_pack_away(scene)


def move_pack_away(scene: Scene) -> None:
    for ending in (".idx", ".pack", ".rev"):
        path = _published(scene, ending)
        if path.exists():
            path.unlink()


def published_again(scene: Scene, _stack: ExitStack) -> None:
    before = _file(scene, "receipt.json").read_bytes()
    move_pack_away(scene)
    scene.run()
    _check(_file(scene, "receipt.json").read_bytes() == before)


def lost_base(scene: Scene, _stack: ExitStack) -> None:
    scene.run()
    # All else that is there: the host was packed once.
    for path in (scene.host.common / "objects" / "pack").iterdir():
        if path.stem != _published(scene, ".pack").stem:
            path.unlink()
    for path in (scene.host.common / "refs" / "heads").iterdir():
        path.unlink()


def lost_receipt(scene: Scene, _stack: ExitStack) -> None:
    scene.run()
    _file(scene, "receipt.json").unlink()


def _file(scene: Scene, name: str) -> Path:
    return scene.state / "launches" / LAUNCH / name


def _published(scene: Scene, ending: str) -> Path:
    (keep,) = (scene.host.common / "objects" / "pack").glob("*.keep")
    return keep.with_suffix(ending)


def _check(holds: object) -> None:
    assert holds


SECTIONS: dict[str, list[Hook]] = {
    "What a crash looks like": [died],
    "A lock that is held": [locked],
    "A damaged journal": [damaged_journal],
    "A damaged receipt": [damaged_receipt],
    "A damaged pack": [damaged_pack, published_again],
    "The repository lost what was imported": [lost_pack],
    "The repository lost the base": [lost_base, nothing],
    "A receipt that is lost": [lost_receipt],
    "A repository that was moved or deleted": [imported],
}


def part(text: str, title: str) -> str:
    """What follows a heading of any level, up to the next one."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def transcripts(text: str, title: str, hooks: list[Hook], folder: Path) -> list[str]:
    """What the blocks of a section print now, each after its hook."""
    scene = make(folder)
    variables = {"BASE": scene.host.base, "CANDIDATE": scene.host.candidate}
    console = Console(folder, variables)
    printed = []
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, GIT_CANDIDATE_STATE=str(scene.state)))
        for shown, hook in zip(blocks(part(text, title)), hooks, strict=True):
            hook(scene, stack)
            printed.append(console.transcript([shown]))
    return printed


def test_every_block_of_the_guide_is_run() -> None:
    text = read(GUIDE)
    assert sum(len(blocks(part(text, title))) for title in SECTIONS) == len(blocks(text))


@pytest.mark.parametrize(("title", "hooks"), SECTIONS.items(), ids=SECTIONS)
def test_the_guide_shows_what_happens(tmp_path: Path, title: str, hooks: list[Hook]) -> None:
    text = read(GUIDE)
    printed = "".join(transcripts(text, title, hooks, tmp_path))
    shown = "".join(blocks(part(text, title)))
    assert comparable(printed, tmp_path) == comparable(shown, tmp_path)


def test_an_import_leaves_the_commits_under_their_ids(tmp_path: Path) -> None:
    title = "What an import changes"
    (printed,) = transcripts(read(IMPORT), title, [imported], tmp_path)
    assert [printed] == blocks(part(read(IMPORT), title))


IMPORTING = DOCS / "guides" / "import-a-candidate.md"
SANDBOXED = "In the sandbox"


def importing_transcripts(text: str, folder: Path) -> list[str]:
    """What the blocks of the guide to imports print, one after the other."""
    make_host(folder)
    console = Console(folder, {"GIT_CANDIDATE_STATE": str(folder / "state")})
    with mock.patch.dict(os.environ, console.variables):
        return [console.transcript([shown]) for shown in blocks(text)]


def without_sandbox(text: str) -> str:
    return text.replace(part(text, SANDBOXED), "")


def test_the_guide_to_imports_shows_what_happens(tmp_path: Path) -> None:
    text = without_sandbox(read(IMPORTING))
    printed = "".join(importing_transcripts(text, tmp_path))
    assert comparable(printed, tmp_path) == comparable("".join(blocks(text)), tmp_path)


def test_the_guide_to_imports_shows_what_happens_in_the_sandbox(tmp_path: Path) -> None:
    bubblewrap()
    text = read(IMPORTING)
    section = part(text, SANDBOXED)
    (first, *_) = blocks(text)
    printed = importing_transcripts(
        first.splitlines()[0].join(["```console\n", "\n```\n"]) + section, tmp_path
    )
    shown = "".join(blocks(section))
    assert comparable("".join(printed[1:]), tmp_path) == comparable(shown, tmp_path)


def test_the_example_in_python_launches_and_imports(tmp_path: Path) -> None:
    names: dict[str, Callable[..., str]] = {}
    (example,) = [
        block
        for kind, block in FENCED.findall(part(read(IMPORTING), "From Python"))
        if kind == "python"
    ]
    exec(compile(example, IMPORTING.name, "exec"), names)  # noqa: S102
    host = make_host(tmp_path)
    given = names["give"](str(host.repo), str(tmp_path / "state"), host.base, str(tmp_path / "one"))
    workspace = tmp_path / "one" / "workspace"
    git(workspace, "commit", "-q", "--allow-empty", "-m", "x")
    export(str(workspace), str(tmp_path / "one" / "export"))
    tip = git(workspace, "rev-parse", "HEAD").stdout.decode().strip()
    assert names["take"](str(host.repo), str(tmp_path / "state"), given) == tip


# The sections of the README whose blocks are run, and how many of them are.
README_SECTIONS = {
    "Verify what somebody made from a commit of yours": 2,
    "Ask git as well": 1,
    "Import a candidate": 1,
}


def make_readme(folder: Path) -> Console:
    """A repository, somebody's clone of it with a commit on top, and a launch that was imported."""
    mine = init(folder / "mine")
    text = b"".join(b"line %d of the file\n" % number for number in range(400))
    base = commit(mine, "", {"sub/b.txt": text, "a.txt": b"a\n"})
    git(mine, "update-ref", "refs/heads/main", base)
    git(folder, "clone", "-q", "--bare", "mine", "theirs")
    changed = text.replace(b"line 200 of", b"line 200 in")
    made = commit(folder / "theirs", base, {"sub/b.txt": changed, "100755 run.sh": b"#!/bin/sh\n"})
    git(folder / "theirs", "branch", "-q", "topic", made)
    scene = make(folder)
    scene.run()
    return Console(folder, {"GIT_CANDIDATE_STATE": str(scene.state)})


def readme_transcripts(text: str, folder: Path) -> list[str]:
    console = make_readme(folder)
    with mock.patch.dict(os.environ, console.variables):
        return [
            console.transcript([shown])
            for title, number in README_SECTIONS.items()
            for shown in blocks(part(text, title))[:number]
        ]


def test_the_readme_shows_what_happens(tmp_path: Path) -> None:
    text = read(README)
    printed = "".join(readme_transcripts(text, tmp_path))
    shown = "".join(
        block
        for title, number in README_SECTIONS.items()
        for block in blocks(part(text, title))[:number]
    )
    assert comparable(printed, tmp_path) == comparable(shown, tmp_path)


def test_the_readme_shows_what_the_demo_prints(tmp_path: Path) -> None:
    bubblewrap()
    printed = Console(tmp_path).run("git candidate demo ")
    (shown,) = [
        text for kind, text in FENCED.findall(part(read(README), "Try it")) if kind == "text"
    ]
    # git abbreviates the id of the candidate.
    told = [
        re.sub(r"^  [0-9a-f]{7,} ", "  ID ", text, flags=re.MULTILINE) for text in (printed, shown)
    ]
    assert comparable(told[0], tmp_path) == comparable(told[1], tmp_path)


def made_anew(folder: Path) -> str:
    """The guide with what its commands print now."""
    text = read(GUIDE)
    for number, (title, hooks) in enumerate(SECTIONS.items()):
        place = folder / str(number)
        place.mkdir(parents=True)
        before = part(text, title)
        now = before
        for old, new in zip(blocks(before), transcripts(text, title, hooks, place), strict=True):
            now = now.replace(old, new, 1)
        text = text.replace(before, now.replace(str(place), "/srv"))
    return text


def importing_anew(folder: Path) -> str:
    """The guide to imports with what its commands print now."""
    text = read(IMPORTING)
    folder.mkdir(parents=True)
    before = blocks(text)
    for old, new in zip(before, importing_transcripts(text, folder), strict=True):
        text = text.replace(old, new, 1)
    return text.replace(str(folder), "/srv")


if __name__ == "__main__":
    if sys.argv[2:] == ["importing"]:
        sys.stdout.write(importing_anew(Path(sys.argv[1]).absolute()))
        sys.exit()
    sys.stdout.write(made_anew(Path(sys.argv[1]).absolute()))
    sys.stdout.write("".join(readme_transcripts(read(README), Path(sys.argv[1]).absolute())))
