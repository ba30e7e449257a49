"""Imports that succeed: objects of one pack are added, and nothing else of the host is another.

Of every shape and format of repository, of both kinds of seed, of thin bundles, and of hosts whose
base has oddities that git index-pack --strict refuses: both verdicts have to agree about those.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from importer.errors import ImportRefused
from importer.steps import import_candidate
from manifest.launch import PolicyText
from manifest.v1 import Workspace
from packparse.escape import quote
from tests.support import packs
from tests.support.candidates import Entry, Folder, Store, existing, submodule
from tests.support.gate import (
    CORRUPT,
    FOLDER,
    INCOMPLETE,
    LIMIT,
    OLD,
    POLICY,
    SECRET,
    USAGE,
    Gate,
    made_gate,
)
from tests.support.gitrepo import git, index_pack_strict
from tests.support.launches import Format, launch, make_host
from tests.support.untouched import only_packs_added, untouched

# --- shapes of the host -------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
@pytest.mark.parametrize("shape", ["plain", "bare", "shallow", "worktree"])
def test_only_files_of_one_pack_are_added_to_a_host_of_any_shape(
    shape: str, fmt: Format, tmp_path: Path
) -> None:
    host = make_host(tmp_path, fmt, shape=shape)
    host.commit({"new.txt": b"new\n", "dir0/file0.txt": None})
    host.commit({"100755 tool": b"#!/bin/sh\n"})
    git(host.repo, "update-ref", "FETCH_HEAD", host.base)
    scene = launch(host, tmp_path)
    scene.offer()
    with only_packs_added(host.repo, host.common) as added:
        receipt = scene.run().receipt
    assert {name.partition(".")[2] for name in added} >= {"keep", "pack", "idx"}
    assert receipt.candidate == host.candidate
    shown = git(host.repo, "rev-list", host.candidate, f"^{host.base}").stdout.decode().split()
    assert sorted(shown) == sorted(receipt.commits)
    # Unreachable and kept: nothing may collect it.
    git(host.repo, "gc", "-q", "--prune=now")
    assert git(host.repo, "cat-file", "-t", host.candidate).stdout == b"commit\n"


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_a_thin_bundle_is_completed_with_bases_that_are_counted(
    fmt: Format, tmp_path: Path
) -> None:
    host = make_host(tmp_path, fmt)
    shown = git(host.repo, "show", f"{host.base}:dir0/file0.txt").stdout
    host.commit({"dir0/file0.txt": shown + b"a line more\n"})
    thin, whole = host.bundle(thin=True), host.bundle()
    assert len(thin) < len(whole)
    scene = launch(host, tmp_path)
    scene.offer(thin)
    with only_packs_added(host.repo, host.common):
        receipt = scene.run().receipt
    index = (host.common / f"objects/pack/{receipt.pack.name}.idx").read_bytes()
    shown = git(host.repo, "show-index", f"--object-format={fmt}", input=index).stdout
    assert receipt.pack.appended > 0
    assert len(shown.splitlines()) == receipt.objects.count + receipt.pack.appended


def test_bases_that_git_appends_count_towards_the_limit(tmp_path: Path) -> None:
    """A few bytes of deltas may rest on bases of any size, and these are kept with the pack."""
    host = make_host(tmp_path)
    large = random.Random(7).randbytes(100_000)
    host.commit({"large.bin": large})
    base = host.candidate
    git(host.repo, "fetch", "-q", str(host.producer), f"{base}:refs/heads/next")
    host.base = base
    host.commits.clear()
    host.commit({"large.bin": large + b"more\n"})
    thin = host.bundle(thin=True)
    assert len(thin) < 2_000
    for number, most in enumerate((50_000, 200_000)):
        scene = launch(host, tmp_path, name=f"{number:032x}", limits={"pack_bytes": most})
        scene.offer(thin)
        if most == 50_000:
            with untouched(host.repo, host.common), pytest.raises(ImportRefused) as refused:
                scene.run()
            assert (refused.value.code.name, refused.value.step) == ("packTooLarge", 8)
        else:
            assert scene.run().receipt.pack.bytes > 100_000


@pytest.mark.parametrize(
    "name", [b"a:b", b'"quoted"', b"back\\slash", b"-dash", b"\xff\tb c"], ids=repr
)
def test_a_repository_may_lie_at_any_path(name: bytes, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(name)
    folder.mkdir()
    with made_gate(folder) as gate:
        scene = gate.launch()
        gate.put(scene, gate.honest())
        gate.accept(scene)


def test_what_was_left_uncommitted_is_told_and_never_taken(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    host.commit({"new.txt": b"new\n"})
    scene = launch(host, tmp_path)
    scene.offer(workspace=Workspace(dirty=3, paths=["left.txt", '"\\tab"']))
    with only_packs_added(host.repo, host.common):
        receipt = scene.run().receipt
    assert receipt.candidate == host.candidate
    listed = git(host.repo, "ls-tree", "-r", "--name-only", host.candidate).stdout
    assert b"left" not in listed


@pytest.mark.parametrize("full", [False, True], ids=["depth one", "full"])
def test_a14_a_partial_clone_fetches_nothing(full: bool, tmp_path: Path) -> None:
    """What a promisor has and the host has not is not there: no import asks for it."""
    host = make_host(tmp_path, shape="partial")
    git(host.repo, "config", "remote.origin.uploadpack", f"touch {tmp_path}/asked; false")
    host.commit({"new.txt": b"new\n"})
    scene = launch(host, tmp_path, full=full)
    scene.offer()
    packs = host.common / "objects" / "pack"
    promised = {path.name: path.read_bytes() for path in packs.iterdir()}
    receipt = scene.run().receipt
    assert receipt.candidate == host.candidate
    assert promised.items() < {path.name: path.read_bytes() for path in packs.iterdir()}.items()
    assert not (tmp_path / "asked").exists()
    # A blob that is to be compared, and is not here.
    assert git(host.repo, "cat-file", "-e", f"{host.base}:dir0/file0.txt", check=False).returncode
    assert (tmp_path / "asked").exists()


# --- what the producer was given ----------------------------------------------------------------


def _revert(gate: Gate) -> Folder:
    """A file of the history comes back, which the pack need not bring to who has it."""
    return {**FOLDER, b"old": existing(b"100644", packs.oid("blob", OLD)), b"new": gate.fresh()}


def test_an_older_file_of_the_history_is_there_for_a_full_seed(gate: Gate) -> None:
    scene = gate.launch(full=True)
    gate.put(scene, gate.offered(gate.upon(_revert(gate))))
    assert gate.accept(scene).receipt.objects.count == 3


def test_an_older_file_of_the_history_is_smuggled_for_a_seed_of_depth_one(gate: Gate) -> None:
    scene = gate.launch()
    gate.put(scene, gate.offered(gate.upon(_revert(gate))))
    gate.refuse(scene, "smuggledBase", POLICY, 6)


def test_a_revert_that_brings_the_older_file_is_fine_for_both(gate: Gate) -> None:
    for full in (False, True):
        tree = {**FOLDER, b"old": OLD, b"new": gate.fresh()}
        scene = gate.launch(full=full)
        gate.put(scene, gate.offered(gate.upon(tree)))
        found = gate.accept(scene).receipt.packcheck.found
        assert found == ({"alreadyInBase": 1} if full else {})


def test_a_full_seed_ends_at_its_boundary(gate: Gate) -> None:
    """The producer's clone was shallow: what lies behind the cut was not given."""
    scene = gate.launch(full=True, boundary=[gate.base])
    gate.put(scene, gate.offered(gate.upon(_revert(gate))))
    gate.refuse(scene, "smuggledBase", POLICY, 6)
    scene = gate.launch(full=True, boundary=[gate.root])
    gate.put(scene, gate.offered(gate.upon(_revert(gate))))
    gate.accept(scene)


def test_a_history_is_searched_for_an_object_that_is_there_and_not_for_ever(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importer.base._MOST", 8)
    for oid, expected in (
        (packs.oid("blob", SECRET), ("seedTooLarge", LIMIT, 6)),
        (b"\x66" * 20, ("absentObject", INCOMPLETE, 6)),
    ):
        tree = {**FOLDER, b"taken": existing(b"100644", oid), b"new": gate.fresh()}
        scene = gate.launch(full=True)
        gate.put(scene, gate.offered(gate.upon(tree)))
        gate.refuse(scene, *expected)


def test_a_shallow_host_gives_a_full_seed_up_to_its_own_cut(tmp_path: Path) -> None:
    host = make_host(tmp_path, shape="shallow")
    host.commit({"new.txt": b"new\n"})
    scene = launch(host, tmp_path, full=True, boundary=[host.base])
    scene.offer()
    with only_packs_added(host.repo, host.common):
        scene.run()


# --- oddities that the base has -----------------------------------------------------------------

PADDED = b"padded\n"
URL = b'[submodule "s"]\n\tpath = s\n\turl = -u./payload\n'


def _padded(store: Store) -> bytes:
    """A folder with a padded mode, as some hosting tools once wrote it."""
    blob = store.put("blob", PADDED)
    odd = store.put("tree", b"0100644 padded\0" + blob)
    return store.tree({**FOLDER, b"odd": existing(b"40000", odd)})


def _padded_root(store: Store) -> bytes:
    blob = store.put("blob", PADDED)
    rest = store.objects[store.tree(FOLDER)][1]
    return store.put("tree", rest + b"0100644 zz\0" + blob)


def _bad_url(store: Store) -> bytes:
    return store.tree({**FOLDER, b".gitmodules": URL, b"s": submodule()})


def _url_tree(**more: bytes | Entry | Folder) -> Folder:
    new = {name.encode(): node for name, node in more.items()}
    return {**FOLDER, b".gitmodules": URL, b"s": submodule(), **new}


def _with_padded(new: Store, content: bytes, *, also: bool = False) -> bytes:
    """The base's root with its padded mode, and a new file beside it."""
    plain = Store()
    rest = plain.objects[plain.tree({**FOLDER, b"new": content})][1]
    new.put("blob", content)
    padded = packs.oid("blob", PADDED)
    more = b"0100644 zz\0" + padded
    return new.put("tree", rest + more + (b"0100644 zzz\0" + padded if also else b""))


def _run(gate: Gate, new: Store, tree: bytes | Folder) -> list[str]:
    """Import a commit of a tree on the base; the ids that git was told to pass.

    Without being told, it refuses the pack for just these.
    """
    candidate = gate.of(new, new.commit(tree, gate.base))
    verdict = index_pack_strict(gate.repo, candidate.pack()[0])
    scene = gate.launch()
    gate.put(scene, gate.offered(candidate))
    relaxed = gate.accept(scene).receipt.git.relaxed
    assert verdict.accepted == (not relaxed)
    assert all(f"{name}: ".encode() in verdict.stderr for name in relaxed)
    return relaxed


def test_a_padded_mode_of_the_base_is_passed_where_its_tree_is_touched(tmp_path: Path) -> None:
    with made_gate(tmp_path, tree=_padded_root) as gate:
        new = Store()
        assert _run(gate, new, _with_padded(new, gate.fresh())) == ["zeroPaddedFilemode"]


def test_a_padded_mode_that_is_not_touched_is_nobody_s_business(tmp_path: Path) -> None:
    with made_gate(tmp_path, tree=_padded) as gate:
        new = Store()
        odd = packs.oid("tree", b"0100644 padded\0" + packs.oid("blob", PADDED))
        tree = {**FOLDER, b"new": gate.fresh(), b"odd": existing(b"40000", odd)}
        assert _run(gate, new, tree) == []


def test_a_padded_mode_that_the_base_does_not_have_is_refused_beside_one_that_it_has(
    tmp_path: Path,
) -> None:
    """Git is told to pass the id everywhere; ours holds it everywhere else."""
    with made_gate(tmp_path, tree=_padded_root) as gate:
        new = Store()
        tip = new.commit(_with_padded(new, gate.fresh(), also=True), gate.base)
        scene = gate.launch()
        gate.put(scene, gate.offered(gate.of(new, tip)))
        gate.refuse(scene, "zeroPaddedFilemode", CORRUPT, 6)


def test_a_url_of_the_base_that_git_refuses_is_passed_where_it_is_left_alone(
    tmp_path: Path,
) -> None:
    with made_gate(tmp_path, tree=_bad_url) as gate:
        assert _run(gate, Store(), _url_tree(new=gate.fresh())) == ["gitmodulesUrl"]
        # Something beside it moves into a folder.
        moved = {**_url_tree(), b"moved": {b"a": b"file a\n"}}
        del moved[b"a"]
        assert _run(gate, Store(), moved) == ["gitmodulesUrl"]


def test_a_url_of_the_base_that_git_refuses_is_refused_where_it_is_written_again(
    tmp_path: Path,
) -> None:
    with made_gate(tmp_path, tree=_bad_url) as gate:
        again = {**_url_tree(new=gate.fresh()), b".gitmodules": URL.replace(b"payload", b"other")}
        scene = gate.launch()
        gate.put(scene, gate.offered(gate.upon(again)))
        gate.refuse(scene, "gitmodulesUrl", POLICY, 6)
        elsewhere = {**_url_tree(), b"dir": {b".gitmodules": URL}}
        scene = gate.launch()
        gate.put(scene, gate.offered(gate.upon(elsewhere)))
        gate.refuse(scene, "gitmodulesUrl", POLICY, 6)


def test_a_url_of_the_base_that_git_refuses_may_be_taken_out(tmp_path: Path) -> None:
    with made_gate(tmp_path, tree=_bad_url) as gate:
        assert _run(gate, Store(), {**FOLDER, b"new": gate.fresh()}) == []


# A folder with an oddity: modes, names and contents; None stands for an empty folder.
ODD: dict[str, list[tuple[bytes, bytes, bytes | None]]] = {
    "hasDotgit": [(b"100644", b".git", b"x\n")],
    "hasDot": [(b"100644", b".", b"x\n")],
    "hasDotdot": [(b"100644", b"..", b"x\n")],
    "fullPathname": [(b"100644", b"a/b", b"x\n")],
    "duplicateEntries": [(b"100644", b"a", b"x\n"), (b"100644", b"a", b"y\n")],
    "treeNotSorted": [(b"100644", b"b", b"x\n"), (b"100644", b"a", b"y\n")],
    "zeroPaddedFilemode": [(b"0100644", b"a", b"x\n")],
    "gitmodulesSymlink": [(b"120000", b".gitmodules", b"elsewhere")],
    "gitmodulesBlob": [(b"40000", b".gitmodules", None)],
    "gitmodulesName": [(b"100644", b".gitmodules", b'[submodule "../x"]\n\tpath = x\n')],
    "gitmodulesPath": [(b"100644", b".gitmodules", b'[submodule "x"]\n\tpath = -x\n')],
    "gitmodulesUrl": [(b"100644", b".gitmodules", b'[submodule "x"]\n\turl = -x\n')],
    "gitmodulesUpdate": [(b"100644", b".gitmodules", b'[submodule "x"]\n\tupdate = !x\n')],
    "gitattributesBlob": [(b"40000", b".gitattributes", None)],
    "gitattributesLineLength": [(b"100644", b".gitattributes", b"*" * 2_100 + b" text\n")],
}


def _odd_entries(store: Store, code: str) -> bytes:
    """The bytes of the folder's tree, whose objects are put into the store."""
    entries = []
    for mode, name, content in ODD[code]:
        oid = store.put("tree", b"") if content is None else store.put("blob", content)
        entries.append((mode, name, oid))
    return packs.tree_bytes(entries, ordered=False)


def _odd_tree(store: Store) -> bytes:
    folders = {
        code.encode(): existing(b"40000", store.put("tree", _odd_entries(store, code)))
        for code in ODD
    }
    return store.tree({**FOLDER, **folders})


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    """A host whose base has a folder with each oddity."""
    with made_gate(tmp_path_factory.mktemp("odd"), tree=_odd_tree) as made:
        yield made


@pytest.mark.parametrize("code", ODD)
def test_an_oddity_of_the_base_is_passed_where_its_folder_is_touched(code: str, odd: Gate) -> None:
    """A file is added to the folder: its tree is new, and what was odd in it is not."""
    new = Store()
    content = odd.fresh()
    new.put("blob", content)
    more = b"100644 zz\0" + packs.oid("blob", content)
    touched = new.put("tree", _odd_entries(Store(), code) + more)
    known = Store()
    folders = {
        name.encode(): existing(b"40000", known.put("tree", _odd_entries(known, name)))
        for name in ODD
    }
    folders[code.encode()] = existing(b"40000", touched)
    assert _run(odd, new, {**FOLDER, **folders}) == [code]


# --- policies -----------------------------------------------------------------------------------


def _policy(text: str) -> PolicyText:
    return PolicyText(name="ours", text=quote(text.encode()))


@pytest.mark.parametrize("severity", ["warning", "ignore"])
def test_what_a_policy_excuses_git_is_told_to_pass(severity: str, gate: Gate) -> None:
    """Where a finding is ignored it is not looked for; git must not refuse it all the same."""
    policy = _policy(f'[severity]\nzeroPaddedFilemode = "{severity}"\n')
    scene = gate.launch(policy=policy)
    tree = {**FOLDER, b"x": Entry(b"0100644", gate.fresh())}
    gate.put(scene, gate.offered(gate.upon(tree)))
    receipt = gate.accept(scene).receipt
    assert receipt.git.relaxed == ["zeroPaddedFilemode"]
    assert receipt.packcheck.policy == "ours"
    scene = gate.launch(policy=policy)
    tree = {**FOLDER, b"y": Entry(b"0100644", gate.fresh()), b".git": gate.fresh()}
    gate.put(scene, gate.offered(gate.upon(tree)))
    gate.refuse(scene, "hasDotgit", POLICY, 6)


@pytest.mark.parametrize("severity", ["warning", "ignore"])
@pytest.mark.parametrize("code", ["nulInHeader", "unterminatedHeader"])
def test_what_git_never_passes_no_policy_excuses(code: str, severity: str, gate: Gate) -> None:
    scene = gate.launch(policy=_policy(f'[severity]\n{code} = "{severity}"\n'))
    gate.put(scene, gate.honest())
    error = gate.refuse(scene, "notRelaxable", USAGE, 5)
    assert code in error.message


@pytest.mark.parametrize("name", ["candidate", "fork", "mirror"])
def test_each_policy_that_ships_lets_an_honest_candidate_in(name: str, gate: Gate) -> None:
    scene = gate.launch(policy=PolicyText(name=name))
    gate.put(scene, gate.honest())
    assert gate.accept(scene).receipt.packcheck.policy == name


def test_paths_that_a_policy_denies_are_refused(gate: Gate) -> None:
    scene = gate.launch(policy=_policy('[paths]\ndeny = ["ci/**"]\n'))
    gate.put(scene, gate.offered(gate.upon({**FOLDER, b"ci": {b"x": gate.fresh()}})))
    error = gate.refuse(scene, "pathNotAllowed", POLICY, 6)
    assert isinstance(error, ImportRefused)
    assert error.report is not None


# --- again --------------------------------------------------------------------------------------


def test_a32_a_second_import_changes_nothing_and_gives_the_same_receipt(own: Gate) -> None:
    scene = own.launch()
    own.put(scene, own.honest())
    receipt = own.accept(scene).receipt
    with only_packs_added(own.repo, own.repo / ".git") as added:
        again = import_candidate(own.repository, scene.record.launch)
    assert added == []
    assert again.receipt == receipt
    assert again.report is None
