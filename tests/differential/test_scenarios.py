"""Candidates made by real git on a real host: what must be let in, and what must not.

The host is a repository with history; the producer gets a part of it, commits, and hands over a
bundle. Contracts A13 to A20, peers PG1 to PG14 and PH1 to PH11.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from packparse import checks
from packparse.objectformat import FORMATS
from packparse.options import Options
from packparse.policy import Policy
from packparse.report import Report
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.candidates import errors, inherited, refusals
from tests.support.gitrepo import git, init
from tests.support.packs import PackBuilder
from tests.support.scenes import Files, Repo, Scene, scene, seeded

TREE: Files = {
    ".github/workflows/ci.yml": "on: push\n",
    ".gitattributes": "*.txt text\n",
    "README": "read me\n" * 20,
    "absolute/link": "->/usr/share/data",
    "absolute/other": "other\n",
    "deep/a/b/up": "->../../x",
    "deep/a/b/file": "file\n",
    "deep/x": "x\n",
    "run": "echo run\n",
    "src/main.c": "int main;\n" * 30,
    "src/lib/one.c": "int one;\n",
    "src/lib/two.c": "int two;\n",
}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Repo]:
    """A host of each object format; nothing but blobs is added to them."""
    root = tmp_path_factory.mktemp("hosts")
    return {fmt: written(Repo(root / fmt, fmt)) for fmt in FORMATS}


def written(repo: Repo) -> Repo:
    """History before the base, the base (a merge, branch main), and another branch after it."""
    repo.commit({**TREE, "old": "deleted long ago\n", "README": "the first text\n" * 20}, "first")
    first = repo("rev-parse", "HEAD")
    repo.commit({"old": None, "README": "read me\n" * 20}, "second")
    repo("checkout", "-q", "-b", "side", first)
    repo.commit({"side": "of the side\n"}, "side")
    repo("checkout", "-q", "main")
    repo("merge", "-q", "--no-ff", "-m", "base", "side")
    repo("checkout", "-q", "-b", "other")
    repo.commit({"secret": "of another branch\n", "vault/key": "key\n"}, "other")
    repo("checkout", "-q", "main")
    return repo


SEEDS = {
    "depth-one seed": ("sha1", False),
    "full seed": ("sha1", True),
    "depth-one seed, sha256": ("sha256", False),
}


def on_main(host: Repo, path: Path, *, full: bool) -> Iterator[Scene]:
    made = scene(path, host, host("rev-parse", "main"), full=full)
    yield made
    made.reader.close()


@pytest.fixture(params=list(SEEDS.values()), ids=list(SEEDS))
def scenery(
    request: pytest.FixtureRequest, hosts: dict[str, Repo], tmp_path: Path
) -> Iterator[Scene]:
    fmt, full = request.param
    yield from on_main(hosts[fmt], tmp_path, full=full)


@pytest.fixture(params=FORMATS)
def with_history(
    request: pytest.FixtureRequest, hosts: dict[str, Repo], tmp_path: Path
) -> Iterator[Scene]:
    yield from on_main(hosts[request.param], tmp_path, full=True)


# --- what must be let in --------------------------------------------------------------------------


def edit(repo: Repo) -> str:
    return repo.commit({"src/main.c": "int main;\n" * 30 + "int more;\n"})


def several(repo: Repo) -> str:
    for number in range(5):
        repo.commit({"src/main.c": "int main;\n" * 30 + f"int more{number};\n"})
    return repo("rev-parse", "HEAD")


def nothing(repo: Repo) -> str:
    return repo.commit()


def restored_file(repo: Repo) -> str:
    # The host had this content under this name, long ago.
    return repo.commit({"README": "the first text\n" * 20, "old": "deleted long ago\n"})


def own_revert(repo: Repo) -> str:
    edit(repo)
    repo("revert", "--no-edit", "HEAD")
    return repo("rev-parse", "HEAD")


def renamed_folder(repo: Repo) -> str:
    repo("mv", "src", "source")
    return repo.commit()


def copied_file(repo: Repo) -> str:
    return repo.commit({"copy": "int main;\n" * 30})


def merge(repo: Repo) -> str:
    base = repo("rev-parse", "HEAD")
    left = repo.commit({"left": "l\n"})
    repo("checkout", "-q", base)
    right = repo.commit({"right": "r\n"})
    repo("checkout", "-q", "main")
    repo("merge", "-q", "--no-ff", "-m", "merge", right)
    assert left != right
    return repo("rev-parse", "HEAD")


def evil_merge(repo: Repo) -> str:
    merge(repo)
    repo.write({"evil": "in neither side\n"})
    repo("add", "-A")
    repo("commit", "-q", "--amend", "--no-edit")
    return repo("rev-parse", "HEAD")


def octopus(repo: Repo) -> str:
    base = repo("rev-parse", "HEAD")
    arms = []
    for number in range(4):
        repo("checkout", "-q", base)
        arms.append(repo.commit({f"arm{number}": f"{number}\n"}))
    repo("checkout", "-q", "main")
    repo("merge", "-q", "-m", "octopus", *arms)
    return repo("rev-parse", "HEAD")


def submodule(repo: Repo) -> str:
    modules = '[submodule "lib"]\n\tpath = ext/lib\n\turl = https://host.example/lib\n'
    repo.write({".gitmodules": modules})
    repo("add", "-A")
    oid = ("07" * 32)[: len(repo("rev-parse", "HEAD"))]
    repo("update-index", "--add", "--cacheinfo", f"160000,{oid},ext/lib")
    repo("commit", "-q", "-m", "submodule")
    return repo("rev-parse", "HEAD")


def executable(repo: Repo) -> str:
    return repo.commit({"*run": "echo run\n"})


def beside_an_absolute_link(repo: Repo) -> str:
    return repo.commit({"absolute/other": "another\n"})


def beside_a_link_that_goes_up(repo: Repo) -> str:
    return repo.commit({"deep/a/b/file": "another\n"})


def links_within(repo: Repo) -> str:
    return repo.commit({"src/lib/up": "->../main.c", "now": "->src/lib", "src/self": "->."})


def reverted_base(repo: Repo) -> str:
    repo("revert", "--no-edit", "-m", "1", "HEAD")
    return repo("rev-parse", "HEAD")


def merged_other_parent(repo: Repo) -> str:
    edit(repo)
    side = repo("rev-parse", "main~1^2")
    repo.commit_tree(repo("rev-parse", "main^{tree}"), repo("rev-parse", "main"), side)
    return repo("rev-parse", "main")


def branch_from_before_the_base(repo: Repo) -> str:
    repo("checkout", "-q", "-b", "topic", "main^2")
    repo.commit({"topic": "t\n"})
    repo("checkout", "-q", "main")
    repo("merge", "-q", "--no-ff", "-m", "merge", "topic")
    return repo("rev-parse", "main")


def restored_tree(repo: Repo) -> str:
    return repo.commit_tree(repo("rev-parse", "main^1^1^{tree}"), repo("rev-parse", "main"))


@dataclass(frozen=True)
class Honest:
    """How the producer works, and what may be said of it: codes of notes and warnings."""

    work: Callable[[Repo], str]
    said: frozenset[str] = frozenset()


LINK = "symlinkAbsolute"
AGAIN = "alreadyInBase"
HONEST = {
    "a file changed": Honest(edit),
    "several commits": Honest(several),
    "a commit without any change": Honest(nothing),
    "a file of long ago restored": Honest(restored_file, frozenset({AGAIN})),
    "an edit and its revert": Honest(own_revert),
    "a folder renamed": Honest(renamed_folder),
    # git takes no trouble to find out that the base has it under another name.
    "a file copied": Honest(copied_file, frozenset({AGAIN})),
    "a merge": Honest(merge),
    "an evil merge": Honest(evil_merge),
    "an octopus": Honest(octopus),
    "a submodule": Honest(submodule, frozenset({"gitlinkEntry", "sensitivePath"})),
    "an executable bit": Honest(executable),
    "a file beside an absolute link": Honest(beside_an_absolute_link, frozenset({LINK})),
    "a file beside a link that goes up": Honest(beside_a_link_that_goes_up),
    "links within the tree": Honest(links_within),
}
# These need what lies before the base.
OF_HISTORY = {
    "the revert of the base": Honest(reverted_base, frozenset({AGAIN})),
    "a merge of the base's other parent": Honest(merged_other_parent),
    "a branch from before the base, merged": Honest(
        branch_from_before_the_base, frozenset({AGAIN})
    ),
    "an older tree as a whole": Honest(restored_tree, frozenset({AGAIN})),
}


def let_in(made: Scene, case: Honest) -> None:
    tip = case.work(made.producer)
    for thin in (False, True):
        report = made.judge(tip, thin=thin)
        assert refusals(report) == []
        assert {f.code.name for f in report.findings.sorted()} <= case.said
        assert report.changes is not None
        assert report.changes.compared
    # Of the bytes of the base few are read.
    assert len(made.reader.asked) < 200


@pytest.mark.parametrize("case", HONEST.values(), ids=HONEST)
def test_an_honest_candidate_is_let_in(scenery: Scene, case: Honest) -> None:
    let_in(scenery, case)


@pytest.mark.parametrize("case", OF_HISTORY.values(), ids=OF_HISTORY)
def test_an_honest_candidate_that_knows_history_is_let_in(
    with_history: Scene, case: Honest
) -> None:
    let_in(with_history, case)


@pytest.mark.parametrize("thin", [False, True], ids=["whole", "thin"])
def test_git_takes_what_is_let_in(scenery: Scene, thin: bool, tmp_path: Path) -> None:
    # The second verdict: index-pack beside the host's objects finds the same, and all is there.
    tip = octopus(scenery.producer)
    data = scenery.export(tip, thin=thin)
    assert scenery.verify(tip, data).accepted
    quarantine = init(tmp_path / "quarantine", scenery.host.fmt, bare=True)
    objects = scenery.host.path / ".git" / "objects"
    (quarantine / "objects" / "info" / "alternates").write_text(f"{objects}\n")
    pack = data[data.index(b"\n\nPACK") + 2 :]
    git(quarantine, "index-pack", "--strict", "--fix-thin", "--stdin", input=pack)
    git(quarantine, "rev-list", "--objects", tip)


def test_a_large_folder_renamed_is_let_in(tmp_path: Path) -> None:
    host = Repo(tmp_path / "host")
    base = host.commit({f"old/{n % 20}/file{n}": f"{n}\n" for n in range(600)})
    made = scene(tmp_path, host, base, full=False)
    made.producer("mv", "old", "new")
    tip = made.producer.commit()
    report = made.judge(tip)
    made.reader.close()
    assert report.findings.sorted() == []
    assert report.counts["blobs"] == 0
    assert report.changes is not None
    assert report.changes.files == 1_200


# --- what must not be let in ----------------------------------------------------------------------


def stolen(repo: Repo, name: str, content: str) -> tuple[str, str, list[str]]:
    """A commit that names a blob without bringing it: the tip, the blob, what is handed over."""
    base = repo("rev-parse", "HEAD")
    tip = repo.commit({name: content})
    blob = repo("rev-parse", f"{tip}:{name}")
    listed = repo("rev-list", "--objects", "--no-object-names", tip, f"^{base}").split()
    return tip, blob, [oid for oid in listed if oid != blob]


STOLEN = {
    "of another branch": ("secret", "of another branch\n"),
    "of another branch, under another name": ("mine", "of another branch\n"),
    "deleted before the base": ("old", "deleted long ago\n"),
}


@pytest.mark.parametrize(("name", "content"), STOLEN.values(), ids=STOLEN)
def test_a_blob_that_was_not_given_is_smuggled(scenery: Scene, name: str, content: str) -> None:
    tip, blob, oids = stolen(scenery.producer, name, content)
    report = scenery.verify(tip, scenery.forge(tip, oids))
    if scenery.full and content == "deleted long ago\n":
        # It was given: history has it.
        assert report.findings.sorted() == []
        return
    assert [(f.code.name, f.path) for f in errors(report)] == [("smuggledBase", name.encode())]
    assert errors(report)[0].oid == bytes.fromhex(blob)


def test_a_blob_that_the_host_has_not_is_absent(scenery: Scene) -> None:
    tip, blob, oids = stolen(scenery.producer, "new", "nobody has this\n")
    report = scenery.verify(tip, scenery.forge(tip, oids))
    assert [(f.code.name, f.oid, f.path) for f in errors(report)] == [
        ("absentObject", bytes.fromhex(blob), b"new")
    ]


def test_a_folder_of_another_branch_is_smuggled(scenery: Scene) -> None:
    repo = scenery.producer
    folder = scenery.host("rev-parse", "other:vault")
    tip = repo.commit_tree(repo.tree(("40000", "mine", folder)), scenery.base)
    oids = [tip, repo("rev-parse", f"{tip}^{{tree}}")]
    report = scenery.verify(tip, scenery.forge(tip, oids))
    assert [(f.code.name, f.path) for f in errors(report)] == [("smuggledBase", b"mine")]


def test_a_commit_of_another_branch_is_smuggled(scenery: Scene) -> None:
    repo = scenery.producer
    other = scenery.host("rev-parse", "other")
    root = repo("rev-parse", "HEAD^{tree}")
    # git would ask for the parent; the producer writes what it likes.
    data = git(repo.path, "cat-file", "commit", "HEAD").stdout
    head = f"tree {root}\nparent {scenery.base}\nparent {other}\n".encode()
    tail = data[data.index(b"author ") :]
    tip = repo("hash-object", "-t", "commit", "-w", "--stdin", "--literally", input=head + tail)
    report = scenery.verify(tip, scenery.forge(tip, [tip]))
    assert [(f.code.name, f.oid) for f in errors(report)] == [
        ("smuggledBase", bytes.fromhex(other))
    ]


def test_a_thin_pack_on_another_branch_is_smuggled(scenery: Scene) -> None:
    # PD17: the producer knows the other branch's file, and sends no more than a delta on it.
    repo = scenery.producer
    rng = random.Random(1)
    text = "".join(f"{rng.getrandbits(256):064x}\n" for _ in range(100))
    blob = scenery.host.blob(text)
    assert repo.blob(text) == blob
    tip = repo.commit({"f": text + "and more\n"})
    fmt = scenery.host.fmt
    pack = PackBuilder(fmt)
    change = packs.edit(text.encode(), len(text), 0, b"and more\n")[0]
    pack.add_ref(packs.outside("blob", text.encode(), fmt), change)
    for kind, oid in (("tree", f"{tip}^{{tree}}"), ("commit", tip)):
        pack.add(kind, git(repo.path, "cat-file", kind, oid).stdout)
    report = scenery.verify(tip, scenery.bundle(tip, pack.build()))
    assert [(f.code.name, f.oid) for f in errors(report)] == [("smuggledBase", bytes.fromhex(blob))]


@pytest.mark.parametrize("what", ["blob", "tree", "commit", "tag", "of the host"])
def test_one_object_more_is_a_stowaway(scenery: Scene, what: str) -> None:
    repo = scenery.producer
    tip = edit(repo)
    blob = repo.blob("hidden\n")
    tree = repo.tree(("100644", "hidden", blob))
    repo("tag", "-a", "-m", "tag", "v1", tip)
    hidden = {
        "blob": [blob],
        "tree": [tree, blob],
        "commit": [repo("commit-tree", tree, "-p", scenery.base, "-m", "x"), tree, blob],
        "tag": [repo("rev-parse", "v1")],
        "of the host": [repo("rev-parse", "HEAD:deep/x")],
    }[what]
    report = scenery.verify(tip, scenery.forge(tip, [*scenery.range(tip), *hidden]))
    found = [f.oid for f in errors(report) if f.code is checks.STOWAWAY_OBJECT]
    assert found == [bytes.fromhex(hidden[0])]
    assert all(f.offset is not None for f in errors(report))


MOVED = {
    "an absolute link to another folder": (
        "absolute", "elsewhere", [("symlinkAbsolute", b"elsewhere/link")],
    ),
    "a folder with links that go up, one level up": (
        "deep/a/b", "b", [("symlinkEscapes", b"b/up")],
    ),
    "a folder with links that go up, to another of its depth": ("deep/a/b", "src/lib/b", []),
}  # fmt: skip


@pytest.mark.parametrize(("source", "target", "wanted"), MOVED.values(), ids=MOVED)
def test_a_folder_is_judged_where_it_is_put(
    scenery: Scene, source: str, target: str, wanted: list[tuple[str, bytes]]
) -> None:
    (scenery.producer.path / target).parent.mkdir(exist_ok=True)
    scenery.producer("mv", source, target)
    tip = scenery.producer.commit()
    for thin in (False, True):
        assert refusals(scenery.judge(tip, thin=thin)) == wanted


def test_the_same_absolute_link_in_another_folder_is_refused(scenery: Scene) -> None:
    tip = scenery.producer.commit({"src/link": "->/usr/share/data"})
    assert refusals(scenery.judge(tip)) == [(LINK, b"src/link")]
    # Its own place passes it on.
    tip = scenery.producer.commit({"src/link": None, "absolute/more": "1\n"})
    repo = scenery.producer
    repo.commit_tree(repo("rev-parse", "HEAD^{tree}"), scenery.base)
    report = scenery.judge(repo("rev-parse", "HEAD"))
    assert inherited(report) == [(LINK, b"absolute/link")]


def odd_trees(repo: Repo, text: str) -> dict[str, tuple[str, str]]:
    """Trees that git's own commands do not write, and the code of each."""
    blob, other = repo.blob(text), repo.blob("other\n")
    return {
        "zero-padded": (repo.tree(("0100644", "f", blob)), "zeroPaddedFilemode"),
        "case collision": (
            repo.tree(("100644", "A", blob), ("100644", "a", other)), "caseCollision",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("which", ["zero-padded", "case collision"])
@pytest.mark.parametrize("full", [False, True], ids=["depth-one seed", "full seed"])
def test_an_odd_tree_of_the_base_is_inherited_and_a_new_one_refused(
    tmp_path: Path, which: str, full: bool
) -> None:
    host = Repo(tmp_path / "host")
    folder, code = odd_trees(host, "before\n")[which]
    base = host.commit_tree(host.tree(("40000", "odd", folder)), host.commit({"a": "1\n"}))
    made = scene(tmp_path, host, base, full=full)
    repo = made.producer
    changed, _ = odd_trees(repo, "after\n")[which]
    path = b"odd/f" if which == "zero-padded" else b"odd/A"
    try:
        tip = repo.commit_tree(repo.tree(("40000", "odd", changed)), base)
        report = made.judge(tip)
        assert refusals(report) == []
        assert inherited(report) == [(code, path)]
        for name in ("new", "odd2"):
            root = repo.tree(("40000", name, changed))
            report = made.judge(repo.commit_tree(root, base))
            assert refusals(report) == [(code, path.replace(b"odd", name.encode()))]
        # The folder of the base itself, at another place: nothing of it is in the pack.
        root = repo.tree(("40000", "odd", folder), ("40000", "twin", folder))
        report = made.judge(repo.commit_tree(root, base))
        assert refusals(report) == [(code, path.replace(b"odd", b"twin"))]
    finally:
        made.reader.close()


# --- what a reviewer is shown ---------------------------------------------------------------------


def test_the_report_lists_exactly_what_changed(scenery: Scene) -> None:
    repo = scenery.producer
    files: Files = {
        ".github/workflows/ci.yml": None,
        ".github/workflows/new.yml": "on: schedule\n",
        ".gitattributes": "*.txt text\n*.bin filter=evil\n",
        ".envrc": "export X=1\n",
        "*run": "echo run\n",
        "*bin/tool": "#!/bin/sh\n",
        "now": "->src/lib",
        "absolute/link": "->other",
        "src/main.c": "int big;\n" * 1_000,
    }
    repo.write(files)
    tip = submodule(repo)
    report = scenery.judge(tip)
    changes = report.changes
    assert report.accepted
    assert changes is not None
    assert sorted(changes.executables) == [(b"bin/tool", b""), (b"run", b"")]
    assert sorted(changes.symlinks) == [(b"absolute/link", b"other"), (b"now", b"src/lib")]
    oid = b"\x07" * (len(tip) // 2)
    assert changes.submodules == [(b"ext/lib", oid)]
    assert sorted(changes.sensitive) == [
        (b".envrc", b"added"),
        (b".gitattributes", b"changed"),
        (b".github/workflows/ci.yml", b"deleted"),
        (b".github/workflows/new.yml", b"added"),
        (b".gitmodules", b"added"),
    ]
    assert changes.attributes == [(b".gitattributes", b"*.bin filter=evil")]
    assert changes.largest[0] == (9_000, b"src/main.c")
    assert len(changes.largest) == 8
    assert changes.files == len(files) + 2
    warned = {f.path for f in report.findings.sorted() if f.code is checks.SENSITIVE_PATH}
    assert warned == {path for path, _ in changes.sensitive}


def test_paths_are_judged_by_the_policy_in_every_commit(scenery: Scene) -> None:
    repo = scenery.producer
    repo.commit({"src/main.c": "1\n", ".github/workflows/ci.yml": "on: [push]\n"})
    tip = repo.commit({".github/workflows/ci.yml": "on: push\n"})
    deny, allow = Policy(deny=[".github/**"]), Policy(allow=["src/**"])
    for policy in (deny, allow):
        assert refusals(scenery.judge(tip, policy=policy)) == [
            ("pathNotAllowed", b".github/workflows/ci.yml")
        ]
    tip = repo.commit_tree(repo("rev-parse", f"{tip}^{{tree}}"), scenery.base)
    for policy in (deny, allow):
        assert scenery.judge(tip, policy=policy).accepted


def test_several_tips_and_bases(hosts: dict[str, Repo], tmp_path: Path) -> None:
    host = hosts["sha1"]
    main, other = host("rev-parse", "main"), host("rev-parse", "other")
    made = scene(tmp_path, host, main, full=True)
    listed = "".join(f"{oid}\n" for oid in seeded(host, other, full=True)).encode()
    pack = git(host.path, "pack-objects", "--stdout", "-q", input=listed).stdout
    git(made.producer.path, "unpack-objects", "-q", input=pack)
    repo = made.producer
    one = repo.commit({"one": "1\n"})
    repo("checkout", "-q", "-b", "topic", other)
    two = repo.commit({"two": "2\n"})
    revs = f"{one}\n{two}\n^{main}\n^{other}\n".encode()
    data = git(repo.path, "pack-objects", "--revs", "--stdout", "-q", "--thin", input=revs).stdout
    given = {bytes.fromhex(oid) for oid in made.given | seeded(host, other, full=True)}

    def judged(bases: tuple[str, ...]) -> Report:
        options = Options(
            tips={b"refs/heads/one": bytes.fromhex(one), b"refs/heads/two": bytes.fromhex(two)},
            bases=frozenset(map(bytes.fromhex, bases)),
            known=lambda oid: 0 if oid in given else None,
            read_base=made.reader,
            object_format=FORMATS[host.fmt],
        )
        return verify_bytes(data, options)

    try:
        assert judged((main, other)).findings.sorted() == []
        # The other branch lies on the base, and is known; its new commit does not lie on the base
        # that is asked for but by way of it.
        report = judged((other,))
        assert [(f.code.name, f.oid) for f in errors(report)] == [
            ("notDescendant", bytes.fromhex(one))
        ]
    finally:
        made.reader.close()
