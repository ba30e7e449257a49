"""Rows A19, A21 and A24: what somebody planted in the host decides nothing, and runs nothing.

What only misleads git (replace refs, grafts, a shallow file, a commit graph) makes no difference to
an import; a base whose bytes are not what its id says is refused.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from importer.errors import ImporterError, ImportFailed, ImportRefused
from importer.launches import proven
from importer.steps import Step, import_candidate
from manifest.receipt import Receipt
from tests.support import packs
from tests.support.candidates import Store, existing
from tests.support.gate import (
    ENVIRONMENT,
    FOLDER,
    POLICY,
    SECRET,
    Gate,
    Names,
    Offer,
    made_gate,
    opened_gate,
)
from tests.support.gitrepo import git, init
from tests.support.untouched import only_packs_added, untouched

CONTENT = b"the same in each of these\n"


def _offer(gate: Gate) -> Offer:
    """The same candidate for every host, also a thin one's delta on a file of the base."""
    base = packs.outside("blob", b"file b\n" * 40, gate.fmt)
    delta, result = packs.edit(base.data, 0, 4, CONTENT)
    candidate = gate.upon({**FOLDER, b"new": CONTENT, b"thin": result})
    pack = packs.PackBuilder(gate.fmt)
    for oid, (kind, data) in candidate.new.objects.items():
        if data == result:
            pack.add_ref(base, delta)
        elif oid not in gate.store.objects:
            pack.add(kind, data)
    return gate.offered(candidate, pack=pack.build())


def _plain(receipt: Receipt) -> Receipt:
    """A receipt without what no two imports share."""
    return msgspec.structs.replace(receipt, launch="ab" * 16, times=None)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Receipt]:
    """The receipts of a host that nobody planted anything in, for both kinds of seed."""
    receipts = {}
    for full in (False, True):
        with made_gate(tmp_path_factory.mktemp("undisturbed")) as gate:
            scene = gate.launch(full=full)
            gate.put(scene, _offer(gate))
            receipts[full] = _plain(gate.run(scene).receipt)
    return receipts


# --- A21: what misleads git ---------------------------------------------------------------------


def _replace(repo: Path, names: Names) -> None:
    """Another commit in the place of the base, and another file in that of one of its files."""
    git(repo, "update-ref", f"refs/replace/{names.base.hex()}", names.side.hex())
    blob = packs.oid("blob", b"file b\n" * 40).hex()
    other = packs.oid("blob", SECRET).hex()
    git(repo, "update-ref", f"refs/replace/{blob}", other)
    assert git(repo, "cat-file", "blob", blob).stdout == SECRET


def _graft(repo: Path, names: Names) -> None:
    """The base gets another parent, and so does the root."""
    info = repo / ".git/info"
    info.mkdir(exist_ok=True)
    (info / "grafts").write_text(f"{names.base.hex()} {names.side.hex()}\n")
    assert _parents(repo, names) == names.side.hex()


def _shallow(repo: Path, names: Names) -> None:
    (repo / ".git/shallow").write_text(f"{names.base.hex()}\n")
    assert _parents(repo, names) == ""


def _parents(repo: Path, names: Names) -> str:
    told = git(repo, "rev-list", "--parents", "-1", names.base.hex()).stdout.decode()
    return " ".join(told.split()[1:])


def _commit_graph(repo: Path, names: Names) -> None:
    """A graph in which the base builds on another branch; git believes it."""
    git(repo, "commit-graph", "write", "--reachable")
    path = repo / ".git/objects/info/commit-graph"
    data = bytearray(path.read_bytes())
    chunks = {
        bytes(data[at : at + 4]): struct.unpack_from(">Q", data, at + 4)[0]
        for at in range(8, 8 + 12 * data[6], 12)
    }
    oids = sorted(names)
    # A row is the tree, the places of two parents, and what is known of its time.
    row = chunks[b"CDAT"] + oids.index(names.base) * 36
    assert data[row + 20 : row + 24] == oids.index(names.root).to_bytes(4, "big")
    data[row + 20 : row + 24] = oids.index(names.side).to_bytes(4, "big")
    data[-20:] = hashlib.sha1(data[:-20]).digest()
    path.chmod(0o644)
    path.write_bytes(data)
    assert _parents(repo, names) == names.side.hex()


def _alternates(repo: Path, names: Names) -> None:
    """Another store is asked as well, which has an object of its own."""
    foreign = init(repo.parent / "foreign")
    git(foreign, "hash-object", "-w", "--stdin", input=b"of a foreign store\n")
    (repo / ".git/objects/info").mkdir(exist_ok=True)
    (repo / ".git/objects/info/alternates").write_text(f"{foreign}/.git/objects\n")
    assert names


def _loose(repo: Path, _names: Names) -> None:
    """Every object is loose, and the files of git are in no pack."""
    packs_folder = repo / ".git/objects/pack"
    aside = repo.parent / "packs"
    packs_folder.rename(aside)
    packs_folder.mkdir()
    for pack in aside.glob("*.pack"):
        git(repo, "unpack-objects", "-q", input=pack.read_bytes())


PLANTS: dict[str, Callable[[Path, Names], None]] = {
    "A21 replace refs": _replace,
    "A21 grafts": _graft,
    "A21 a shallow file": _shallow,
    "A21 a forged commit graph": _commit_graph,
    "A21 alternates to a foreign store": _alternates,
    "loose objects": _loose,
}


@pytest.mark.parametrize("full", [False, True], ids=["depth-one", "full"])
@pytest.mark.parametrize("name", PLANTS)
def test_a21_what_misleads_git_changes_no_receipt(
    name: str,
    full: bool,
    copied: Path,
    mould: tuple[Path, Store, Names],
    undisturbed: dict[bool, Receipt],
) -> None:
    _folder, store, names = mould
    PLANTS[name](copied / "host", names)
    with opened_gate(copied, store, names) as gate:
        scene = gate.launch(full=full)
        gate.put(scene, _offer(gate))
        assert _plain(gate.accept(scene).receipt) == undisturbed[full]


@pytest.mark.parametrize("name", ["A21 replace refs", "A21 grafts", "A21 a forged commit graph"])
def test_a21_what_misleads_git_makes_no_descendant(
    name: str, copied: Path, mould: tuple[Path, Store, Names]
) -> None:
    """Git says that the base descends from the other branch; a commit on that is none of ours."""
    _folder, store, names = mould
    PLANTS[name](copied / "host", names)
    with opened_gate(copied, store, names) as gate:
        new = Store()
        tip = new.commit({**FOLDER, b"new": CONTENT}, names.side)
        for full in (False, True):
            scene = gate.launch(full=full)
            gate.put(scene, gate.offered(gate.of(new, tip)))
            gate.refuse(scene, "smuggledBase", POLICY, 6)


def test_a21_an_object_of_a_foreign_store_is_smuggled_like_any_other(
    copied: Path, mould: tuple[Path, Store, Names]
) -> None:
    _folder, store, names = mould
    _alternates(copied / "host", names)
    blob = packs.oid("blob", b"of a foreign store\n")
    with opened_gate(copied, store, names) as gate:
        scene = gate.launch()
        gate.put(scene, gate.offered(gate.upon({b"x": existing(b"100644", blob)})))
        gate.refuse(scene, "smuggledBase", POLICY, 6)


# --- A21: objects that are not what their ids say -----------------------------------------------


def _base_tree(store: Store, names: Names) -> bytes:
    return bytes.fromhex(store.objects[names.base][1][5:45].decode())


def _rewrite(repo: Path, oid: bytes, kind: str, data: bytes) -> None:
    """A loose object with another content under the old id, which git gives without a word."""
    path = repo / ".git/objects" / oid.hex()[:2] / oid.hex()[2:]
    path.chmod(0o644)
    path.write_bytes(zlib.compress(b"%s %d\0" % (kind.encode(), len(data)) + data))
    assert git(repo, "cat-file", kind, oid.hex()).stdout == data


def _other_commit(store: Store, names: Names) -> tuple[bytes, str, bytes]:
    return names.base, "commit", store.objects[names.side][1]


def _other_tree(store: Store, names: Names) -> tuple[bytes, str, bytes]:
    data = store.objects[_base_tree(store, names)][1]
    secret = packs.oid("blob", SECRET)
    return _base_tree(store, names), "tree", data[:-20] + secret


def _other_blob(_store: Store, _names: Names) -> tuple[bytes, str, bytes]:
    content = b"file b\n" * 40
    return packs.oid("blob", content), "blob", content.replace(b"b", b"B")


# What is rewritten, and the step that reads it.
REWRITTEN: dict[str, tuple[Callable[[Store, Names], tuple[bytes, str, bytes]], int]] = {
    "A21 the base": (_other_commit, 5),
    "A21 the tree of the base": (_other_tree, 6),
    "A21 a file of the base that a delta rests on": (_other_blob, 6),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_a21_a_loose_object_of_the_base_that_was_rewritten_is_refused(
    name: str, copied: Path, mould: tuple[Path, Store, Names]
) -> None:
    _folder, store, names = mould
    make, step = REWRITTEN[name]
    _loose(copied / "host", names)
    _rewrite(copied / "host", *make(store, names))
    with opened_gate(copied, store, names) as gate:
        scene = gate.launch()
        gate.put(scene, _offer(gate))
        gate.refuse(scene, "storeCorrupt", ENVIRONMENT, step, failed=True)


def test_a21_a_rewritten_tree_makes_nothing_of_another_branch_a_part_of_the_base(
    copied: Path, mould: tuple[Path, Store, Names]
) -> None:
    """It would name the other branch's file: a producer could then build on that."""
    _folder, store, names = mould
    _loose(copied / "host", names)
    _rewrite(copied / "host", *_other_tree(store, names))
    with opened_gate(copied, store, names) as gate:
        scene = gate.launch()
        taken = existing(b"100644", packs.oid("blob", SECRET))
        gate.put(scene, gate.offered(gate.upon({**FOLDER, b"taken": taken})))
        gate.refuse(scene, "storeCorrupt", ENVIRONMENT, 6, failed=True)


def _damage(repo: Path, path: Path, oid: bytes) -> None:
    """Change a byte of an object in the pack of the host."""
    listed = git(repo, "verify-pack", "-v", str(path)).stdout.decode().splitlines()
    offset = next(int(line.split()[4]) for line in listed if line.startswith(oid.hex()))
    path.chmod(0o644)
    path.write_bytes(packs.flip(path.read_bytes(), offset + 12, 0xFF))


@pytest.mark.parametrize("what", ["base", "root"])
def test_a21_a_damaged_pack_of_the_host_is_refused_where_it_is_read(
    what: str, copied: Path, mould: tuple[Path, Store, Names]
) -> None:
    _folder, store, names = mould
    (path,) = (copied / "host/.git/objects/pack").glob("*.pack")
    whole = path.read_bytes()
    _damage(copied / "host", path, getattr(names, what))
    with opened_gate(copied, store, names) as gate:
        scene = gate.launch()
        gate.put(scene, _offer(gate))
        if what == "root":
            # Not a part of what the producer was given: nobody asks for it.
            gate.accept(scene)
            return
        damaged = path.read_bytes()
        for _again in range(2):
            gate.refuse(scene, "storeCorrupt", ENVIRONMENT, 5, failed=True)
        # The process that reads has ended each time; another one takes its place.
        path.write_bytes(whole)
        gate.accept(scene)
        assert path.read_bytes() != damaged


# --- A19: what is published is read back --------------------------------------------------------


def test_a19_a_pack_that_changes_between_publication_and_receipt_is_refused(
    own: Gate,
) -> None:
    scene = own.launch()
    own.put(scene, own.honest())
    before = set((own.repo / ".git/objects/pack").iterdir())

    def on_step(step: Step) -> None:
        if step == Step.READ_BACK:
            (path,) = (
                path
                for path in (own.repo / ".git/objects/pack").glob("*.pack")
                if path not in before
            )
            path.chmod(0o644)
            path.write_bytes(packs.flip(path.read_bytes(), 20))

    with pytest.raises(ImportFailed) as caught:
        own.run(scene, on_step=on_step)
    assert (caught.value.code.name, caught.value.step) == ("storeCorrupt", 10)
    with pytest.raises(ImporterError) as caught_again:
        proven(own.repository, scene.record.launch)
    assert caught_again.value.code.name == "noReceipt"


# --- A37: what it rests on is there when it is published ----------------------------------------


def test_a37_a_base_that_goes_while_git_looks_is_missed_before_anything_is_published(
    own: Gate,
) -> None:
    scene = own.launch()
    own.put(scene, own.honest())
    folder, aside = own.repo / ".git/objects/pack", own.folder / "aside"

    def on_step(step: Step) -> None:
        if step == Step.PUBLISH:
            # What git gc --prune=now does once no ref leads to the base any more.
            shutil.copytree(folder, aside)
            for path in folder.iterdir():
                path.unlink()

    with pytest.raises(ImportRefused) as caught:
        own.run(scene, on_step=on_step)
    assert (caught.value.code.name, caught.value.step) == ("baseMissing", 9)
    assert [*folder.iterdir()] == []
    shutil.copytree(aside, folder, dirs_exist_ok=True)
    own.accept(scene)


# --- A24: nothing of the host's runs ------------------------------------------------------------

HOOKS = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit",
    "prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge",
    "pre-push", "pre-receive", "update", "proc-receive", "post-receive", "post-update",
    "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite",
    "fsmonitor-watchman", "post-index-change",
)  # fmt: skip
# Settings that name something to run.
RUN = (
    "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass",
    "core.gitProxy", "core.alternateRefsCommand", "diff.external", "gpg.program",
    "uploadpack.packObjectsHook", "filter.all.clean", "filter.all.smudge", "filter.all.process",
    "diff.all.textconv", "merge.all.driver", "credential.helper", "interactive.diffFilter",
    "sequence.editor", "trailer.all.command",
)  # fmt: skip


def _script(path: Path, mark: Path) -> None:
    path.write_text(f"#!/bin/sh\necho $0 >> '{mark}'\ncat\n")
    path.chmod(0o755)


def test_a24_no_hook_filter_or_monitor_of_the_host_runs(
    copied: Path, mould: tuple[Path, Store, Names]
) -> None:
    _folder, store, names = mould
    repo, mark = copied / "host", copied / "mark"
    hooks = repo / ".git/hooks"
    hooks.mkdir()
    for hook in HOOKS:
        _script(hooks / hook, mark)
    _script(copied / "run", mark)
    for setting in RUN:
        git(repo, "config", setting, str(copied / "run"))
    git(repo, "config", "core.hooksPath", str(hooks))
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/attributes").write_text("* filter=all diff=all merge=all\n")
    # What was planted works: git itself runs it.
    git(repo, "update-ref", "refs/heads/probe", names.base.hex())
    assert mark.exists()
    mark.unlink()
    with opened_gate(copied, store, names) as gate:
        scene = gate.launch()
        rules = b"* filter=all diff=all merge=all\n"
        candidate = gate.upon({**FOLDER, b".gitattributes": rules, b"new": CONTENT})
        gate.put(scene, gate.offered(candidate))
        with only_packs_added(repo, repo / ".git"):
            mark.unlink(missing_ok=True)
            import_candidate(gate.repository, scene.record.launch)
        refused = gate.launch()
        gate.put(refused, gate.offered(gate.upon({b".git": CONTENT})))
        gate.refuse(refused, "hasDotgit", POLICY, 6)
        proven(gate.repository, scene.record.launch)
    assert not mark.exists()


@pytest.mark.parametrize("shared", ["group", "all", "0660", "umask"])
def test_a24_files_are_for_those_who_share_the_repository(
    shared: str, copied: Path, mould: tuple[Path, Store, Names]
) -> None:
    """core.sharedRepository is the one setting that is asked for: git would give the same modes."""
    _folder, store, names = mould
    repo = copied / "host"
    git(repo, "config", "core.sharedRepository", shared)
    (made,) = (repo / ".git/objects/pack").glob("*.pack")
    expected = _mode_of_git(repo)
    with opened_gate(copied, store, names) as gate:
        scene = gate.launch()
        gate.put(scene, _offer(gate))
        stem = gate.accept(scene).receipt.pack.name
    for ending in (".pack", ".idx", ".keep"):
        path = made.with_name(stem + ending)
        assert path.stat().st_mode & 0o777 == expected, ending


def _mode_of_git(repo: Path) -> int:
    """The mode of a pack that git itself makes there."""
    other = repo.with_name("other")
    shutil.copytree(repo, other, symlinks=True)
    done = git(other, "pack-objects", ".git/objects/pack/pack", "--all", input=b"")
    name = done.stdout.decode().strip()
    return (other / f".git/objects/pack/pack-{name}.pack").stat().st_mode & 0o777


def test_a24_the_environment_of_the_caller_is_not_that_of_git(
    own: Gate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No GIT_ variable of the caller's reaches git: each of these would lead it elsewhere."""
    elsewhere = init(tmp_path / "elsewhere")
    for name, value in {
        "GIT_DIR": f"{elsewhere}/.git",
        "GIT_OBJECT_DIRECTORY": f"{elsewhere}/.git/objects",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{elsewhere}/.git/objects",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "fsck.hasDotgit",
        "GIT_CONFIG_VALUE_0": "ignore",
        "GIT_TRACE": f"{tmp_path}/trace",
        "GIT_INDEX_FILE": f"{elsewhere}/index",
    }.items():
        monkeypatch.setenv(name, value)
    with untouched(elsewhere):
        scene = own.launch()
        own.put(scene, own.honest())
        result = own.run(scene)
    assert not (tmp_path / "trace").exists()
    assert os.path.lexists(own.repo / ".git/objects/pack" / f"{result.receipt.pack.name}.pack")
