"""An argument is a pack, a bundle or a repository, and nothing is written to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.inputs import InputError, from_argument
from packparse.verify import verify_bytes
from tests.support import gitrepo, packs
from tests.support.bundles import bundle, honest_bundle


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_an_argument_may_be_a_pack_a_bundle_or_a_repository(tmp_path: Path, fmt: str) -> None:
    pack = packs.small_honest_pack(fmt)
    (tmp_path / "x.pack").write_bytes(pack)
    (tmp_path / "x.bundle").write_bytes(honest_bundle(fmt))
    repo = gitrepo.init(tmp_path / "repo", fmt)
    gitrepo.make_history(repo, commits=2, files=2)
    for number, name in enumerate(("x.pack", "x.bundle", "repo")):
        item = from_argument(str(tmp_path / name), tmp_path / str(number))
        assert (item.about.name, item.about.object_format) == (name, fmt)
        assert item.about.given
        assert item.pack.read_bytes()[:4] == b"PACK"
        if name != "repo":
            assert item.pack.read_bytes() == pack
            assert (item.about.objects, item.about.size) == (10, len(pack))
            assert item.about.commit is None


def test_a_repository_is_measured_as_what_its_head_reaches(tmp_path: Path) -> None:
    repo = gitrepo.init(tmp_path / "repo")
    first, second = gitrepo.make_history(repo, commits=2, files=1)
    gitrepo.git(repo, "update-ref", "--no-deref", "HEAD", first)
    item = from_argument(str(repo / ".git"), tmp_path / "1")
    assert (item.about.name, item.about.commit) == ("repo", first)
    assert verify_bytes(item.pack.read_bytes()).counts["commits"] == 1
    gitrepo.git(repo, "update-ref", "--no-deref", "HEAD", second)
    assert from_argument(str(repo), tmp_path / "2").about.commit == second


def test_an_argument_may_say_how_it_is_called(tmp_path: Path) -> None:
    file = tmp_path / "x.pack"
    file.write_bytes(packs.small_honest_pack())
    assert from_argument(f"named={file}", tmp_path / "1").about.name == "named"
    odd = file.rename(tmp_path / "a=b.pack")
    assert from_argument(str(odd), tmp_path / "2").about.name == "a=b.pack"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"neither", "neither a pack nor a bundle"),
        (b"", "neither a pack nor a bundle"),
        (b"# v2 git bundle\n", "no pack in this bundle"),
        (bundle(b"", [], ["ab" * 20]), "has prerequisites"),
        (None, "neither a file nor a repository"),
    ],
    ids=["text", "empty", "no pack", "prerequisites", "missing"],
)
def test_an_argument_that_cannot_be_used_is_refused(
    tmp_path: Path, data: bytes | None, words: str
) -> None:
    path = tmp_path / "x"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError, match=words):
        from_argument(str(path), tmp_path / "1")


def test_a_repository_without_a_commit_is_refused(tmp_path: Path) -> None:
    repo = gitrepo.init(tmp_path / "repo")
    with pytest.raises(InputError, match=r"repo: git cannot pack it \(exit 128\)"):
        from_argument(str(repo), tmp_path / "1")
