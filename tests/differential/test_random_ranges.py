"""Random histories: what git has between two commits is let in, and one object more or less is not.

git is the oracle: ``rev-list`` for the range, ``diff-tree`` for what the report lists.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from packparse import checks
from packparse.report import Report
from tests.support.candidates import errors, refusals
from tests.support.gitrepo import git
from tests.support.scenes import Reader, Repo, Scene, seeded

NAMES = ("a", "b", "c", "d/a", "d/b", "d/e/a", "d/e/b", "f/a", "f/b")


def shuffled(rng: random.Random) -> dict[str, str]:
    """A random tree: few names and contents, so that things move, return and change kind."""
    files: dict[str, str] = {}
    for name in rng.sample(NAMES, rng.randrange(1, len(NAMES))):
        first = name.split("/", maxsplit=1)[0]
        chosen = rng.choice((name, f"*{name}", name.replace("/", "-"), first))
        content = rng.choice(("1\n", "2\n", "3\n" * 40, "->a", "->x"))
        if not any(clashes(chosen.lstrip("*"), other.lstrip("*")) for other in files):
            files[chosen] = content
    return files or {"a": "1\n"}


def clashes(one: str, two: str) -> bool:
    return one == two or one.startswith(f"{two}/") or two.startswith(f"{one}/")


def random_history(repo: Repo, rng: random.Random, commits: int) -> list[str]:
    """Commits of random trees, some of them merges; all ids, parents first."""
    stream = b""
    for number in range(1, commits + 1):
        parents = rng.sample(range(1, number), min(number - 1, rng.choice((1, 1, 1, 2, 3))))
        stream += b"commit refs/heads/n%d\nmark :%d\n" % (number, number)
        stream += b"committer A <a@b.example> %d +0000\n" % (1_700_000_000 + number)
        stream += b"data 2\nm\n"
        for at, parent in enumerate(parents):
            stream += (b"from :%d\n" if at == 0 else b"merge :%d\n") % parent
        stream += b"deleteall\n"
        for name, content in shuffled(rng).items():
            data = content.removeprefix("->").encode()
            mode = b"120000" if content.startswith("->") else b"100644"
            mode = b"100755" if name.startswith("*") and mode == b"100644" else mode
            stream += b"M %b inline %b\n" % (mode, name.lstrip("*").encode())
            stream += b"data %d\n%b\n" % (len(data), data)
    repo("fast-import", "--quiet", "--done", input=stream + b"done\n")
    return [repo("rev-parse", f"refs/heads/n{number}") for number in range(1, commits + 1)]


def diff(repo: Repo, base: str, tip: str) -> list[tuple[str, str, str, str]]:
    """What git says that changed: modes before and after, id after, path."""
    raw = git(repo.path, "diff-tree", "-r", "-z", "--no-renames", base, tip).stdout.decode()
    parts = raw.split("\0")[:-1]
    return [
        (head.split()[0][1:], head.split()[1], head.split()[3], path)
        for head, path in zip(parts[::2], parts[1::2], strict=True)
    ]


@pytest.mark.parametrize("seed", range(8))
def test_random_ranges_are_as_git_has_them(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    host = Repo(tmp_path / "host", "sha256" if seed % 4 == 3 else "sha1")
    commits = random_history(host, rng, 14)
    pairs = [
        (base, tip)
        for base in commits
        for tip in commits
        if base != tip
        and not git(host.path, "merge-base", "--is-ancestor", base, tip, check=False).returncode
    ]
    reader = Reader(host)
    try:
        for base, tip in rng.sample(pairs, min(3, len(pairs))):
            made = Scene(host, host, base, True, reader, seeded(host, base, full=True))
            for thin in (False, True):
                report = made.judge(tip, thin=thin)
                # Histories of their own may be merged in here.
                assert [code for code, _ in refusals(report) if code != "rootCommit"] == []
                check_changes(made, tip, report)
            check_one_less_and_one_more(made, tip, rng)
    finally:
        reader.close()


def check_changes(made: Scene, tip: str, report: Report) -> None:
    changes = report.changes
    assert changes is not None
    listed = diff(made.host, made.base, tip)
    assert changes.files == len(listed)
    assert sorted(path for path, _ in changes.executables) == sorted(
        path.encode() for old, new, _, path in listed if new == "100755" != old
    )
    assert sorted(path for path, _ in changes.symlinks) == sorted(
        path.encode() for _, new, _, path in listed if new == "120000"
    )


def check_one_less_and_one_more(made: Scene, tip: str, rng: random.Random) -> None:
    exact = made.range(tip)
    less = rng.choice(exact)
    report = made.verify(tip, made.forge(tip, [oid for oid in exact if oid != less]))
    if less in made.given:
        assert "absentObject" not in [code for code, _ in refusals(report)]
    elif less == tip:
        assert "missingTip" in [code for code, _ in refusals(report)]
    else:
        assert {code for code, _ in refusals(report)} & {"absentObject", "smuggledBase"}
    # `exact` may leave out what lies in folders of the base; the rest is no part of any commit.
    every = made.host("rev-list", "--objects", "--no-object-names", "--all").split()
    others = sorted(set(every) - set(exact))
    if others:
        more = rng.choice(others)
        report = made.verify(tip, made.forge(tip, [*exact, more]))
        found = [f.oid for f in errors(report) if f.code is checks.STOWAWAY_OBJECT]
        named = made.host("rev-list", "--objects", "--no-object-names", tip).split()
        if more not in named:
            assert bytes.fromhex(more) in found
