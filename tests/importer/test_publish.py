"""Steps 9 and 10: a pack is visible whole or not at all, kept while somebody rests on it."""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from importer import publish
from importer.errors import (
    BASE_MISSING,
    RECEIPT_CONTRADICTED,
    STATE_CORRUPT,
    STORE_CORRUPT,
    ImporterError,
    ImportFailed,
    ImportRefused,
)
from importer.quarantine import Indexed
from importer.repository import Repository
from importer.world import World
from manifest.receipt import Pack, Receipt
from packparse.objectformat import FORMATS
from tests.support.files import open_descriptors
from tests.support.gitrepo import git
from tests.support.launches import Host
from tests.support.records import LAUNCH, OTHER, receipt_record
from tests.support.rooms import Quarantined, brought, in_quarantine, opened
from tests.support.worlds import Telling


@pytest.fixture
def made(repository: Repository, host: Host) -> Iterator[Quarantined]:
    """The candidate's pack in its quarantine."""
    with in_quarantine(repository, host.bundle(), brought(host)) as quarantined:
        yield quarantined


def packs(host: Host) -> Path:
    return host.common / "objects" / "pack"


def named(made: Quarantined, name: str) -> Pack:
    indexed = made.indexed
    return Pack(
        name=name,
        bytes=indexed.bytes,
        sha256=indexed.digests[".pack"],
        index=indexed.digests[".idx"],
        appended=indexed.appended,
    )


def link(
    repository: Repository, made: Quarantined, name: str = "pack-ours", launch: str = LAUNCH
) -> Pack:
    pack = named(made, name)
    with repository.world.files.folder("pack", at=made.folder) as folder:
        publish.link(repository, made.indexed, pack, launch, at=folder)
    return pack


def receipt(host: Host, pack: Pack, **changes: object) -> Receipt:
    fields: dict[str, object] = {
        "base": host.base, "candidate": host.candidate, "commits": list(host.commits), "pack": pack,
    }  # fmt: skip
    return receipt_record(**(fields | changes))  # type: ignore[arg-type]


def sees(host: Host, oid: str) -> bool:
    return git(host.repo, "cat-file", "-e", oid, check=False).returncode == 0


# --- the name ------------------------------------------------------------------------------------


def stem(indexed: Indexed, number: int) -> str:
    text = f"git-candidate {number} {indexed.stem}".encode()
    return f"pack-{FORMATS['sha1'].new(text).hexdigest()}"


def test_a_pack_gets_a_name_of_ours_and_not_the_one_that_git_gives_it(
    repository: Repository, made: Quarantined
) -> None:
    assert publish.choose(repository, made.indexed) == stem(made.indexed, 0)
    assert publish.choose(repository, made.indexed) == stem(made.indexed, 0)
    assert made.indexed.stem not in {stem(made.indexed, 0), stem(made.indexed, 1)}
    other = made.indexed._replace(stem="pack-" + "1" * 40)
    assert publish.choose(repository, other) != stem(made.indexed, 0)


def test_a_pack_that_is_kept_by_us_keeps_its_name(
    repository: Repository, made: Quarantined
) -> None:
    link(repository, made, publish.choose(repository, made.indexed), OTHER)
    assert publish.choose(repository, made.indexed) == stem(made.indexed, 0)


def test_a_pack_that_lost_its_keep_is_left_to_git(
    repository: Repository, made: Quarantined, host: Host
) -> None:
    for number in range(3):
        name = publish.choose(repository, made.indexed)
        assert name == stem(made.indexed, number)
        link(repository, made, name)
        (packs(host) / f"{name}.keep").unlink()


def test_a_keep_that_somebody_else_made_under_our_name_is_told(
    repository: Repository, made: Quarantined, host: Host
) -> None:
    (packs(host) / f"{stem(made.indexed, 0)}.keep").touch()
    with pytest.raises(ImportFailed) as failed:
        publish.choose(repository, made.indexed)
    assert failed.value.code is STATE_CORRUPT


# --- publishing ----------------------------------------------------------------------------------


def _order(made: Quarantined, *endings: str) -> list[str]:
    return [
        "unlink tmp_pack-ours.keep", "create tmp_pack-ours.keep", "write tmp_pack-ours.keep",
        "chmod tmp_pack-ours.keep", "fsync tmp_pack-ours.keep",
        "rename tmp_pack-ours.keep pack-ours.keep", "fsync pack",
        *(f"link {made.indexed.stem}{ending} pack-ours{ending}" for ending in endings),
        "fsync pack",
    ]  # fmt: skip


def test_it_is_kept_first_and_visible_last_and_then_durable(
    repository: Repository, made: Quarantined, files: Telling, host: Host
) -> None:
    files.seen.clear()
    link(repository, made)
    assert files.seen == _order(made, ".pack", ".idx")
    assert sees(host, host.candidate)
    assert (packs(host) / "pack-ours.keep").read_text() == f"git-candidate.keep/1\n{LAUNCH}\n"
    assert git(host.repo, "fsck", "--full").returncode == 0


def test_a_reverse_index_goes_before_the_index(
    repository: Repository, made: Quarantined, files: Telling
) -> None:
    (made.path / "pack" / f"{made.indexed.stem}.rev").touch()
    files.seen.clear()
    digests = made.indexed.digests | {".rev": "0" * 64}
    link(repository, made._replace(indexed=made.indexed._replace(digests=digests)))
    assert files.seen == _order(made, ".pack", ".rev", ".idx")


@pytest.mark.parametrize("failing", range(10))
def test_whatever_fails_it_is_visible_whole_or_not_at_all_and_can_be_done_again(
    failing: int, repository: Repository, made: Quarantined, files: Telling, host: Host
) -> None:
    order = _order(made, ".pack", ".idx")
    told = order[failing]
    files.seen.clear()
    files.failing = {f"{told}#{order[: failing + 1].count(told)}"}
    before = open_descriptors()
    with pytest.raises(OSError, match="No space left"):
        link(repository, made)
    assert open_descriptors() == before
    assert (
        publish.is_visible(repository, "pack-ours") == (failing == 9) == sees(host, host.candidate)
    )
    assert git(host.repo, "fsck", "--full").returncode == 0
    # What was done is taken back, but for a pack that somebody may use by now.
    left = {path.suffix for path in packs(host).glob("pack-ours*")}
    assert left == ({".idx", ".pack"} if failing == 9 else set())
    files.failing.clear()
    link(repository, made)
    assert sees(host, host.candidate)
    assert sorted(path.name for path in packs(host).glob("pack-ours*")) == [
        "pack-ours.idx", "pack-ours.keep", "pack-ours.pack",
    ]  # fmt: skip


@pytest.mark.parametrize("ending", [".pack", ".idx"])
def test_a_file_that_is_there_is_the_same_or_is_told(
    ending: str, repository: Repository, made: Quarantined, host: Host
) -> None:
    before = open_descriptors()
    there = packs(host) / f"pack-ours{ending}"
    size = (made.path / "pack" / f"{made.indexed.stem}{ending}").stat().st_size
    there.write_bytes(bytes(size + 1))
    with pytest.raises(ImportFailed, match=f"pack-ours{ending} is there already") as failed:
        link(repository, made)
    assert (failed.value.code, failed.value.retry) == (STORE_CORRUPT, False)
    there.write_bytes(bytes(size))
    if ending == ".pack":
        # Of the same size it is read back later, when L1 is free.
        link(repository, made)
    else:
        with pytest.raises(ImportFailed, match=f"pack-ours{ending} is there already"):
            link(repository, made)
    assert there.read_bytes() == bytes(size)
    assert open_descriptors() == before


@pytest.mark.parametrize("ending", [".pack", ".idx"])
def test_a_file_that_appears_after_the_look_is_not_taken_over(
    ending: str,
    repository: Repository,
    made: Quarantined,
    host: Host,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = packs(host) / f"pack-ours{ending}"
    there.write_bytes(b"somebody")
    with monkeypatch.context() as patch:
        patch.setattr(publish, "_parts", lambda *_arguments: [])
        with pytest.raises(FileExistsError):
            link(repository, made)
    assert not (packs(host) / "pack-ours.keep").exists()


@pytest.mark.parametrize(("value", "mode"), [("group", 0o440), ("all", 0o444), ("0640", 0o440)])
def test_its_files_may_be_read_by_those_who_share_the_repository(
    value: str, mode: int, host: Host, tmp_path: Path
) -> None:
    git(host.repo, "config", "core.sharedRepository", value)
    mask = os.umask(0o077)
    try:
        with (
            opened(host, tmp_path) as repository,
            in_quarantine(repository, host.bundle(), brought(host)) as made,
        ):
            link(repository, made)
    finally:
        os.umask(mask)
    modes = {path.suffix: stat.S_IMODE(path.stat().st_mode)
             for path in packs(host).glob("pack-ours*")}  # fmt: skip
    assert modes == dict.fromkeys((".idx", ".keep", ".pack"), mode)


def test_what_is_done_under_the_lock_does_not_grow_with_the_pack(
    host: Host, tmp_path: Path
) -> None:
    done = []
    for number, size in enumerate((10, 2_000_000)):
        files = Telling()
        host.commit({f"blob-{number}": random.Random(number).randbytes(size)})
        with (
            opened(host, tmp_path, World(files)) as repository,
            in_quarantine(repository, host.bundle(), brought(host)) as made,
        ):
            files.seen.clear()
            link(repository, made, f"pack-{number}")
            done.append([told.split()[0] for told in files.seen])
            assert made.indexed.bytes > size
    assert done[0] == done[1]


# --- read back -----------------------------------------------------------------------------------


@pytest.fixture
def published(repository: Repository, made: Quarantined, host: Host) -> Receipt:
    """The receipt of the candidate, whose pack is published."""
    return receipt(host, link(repository, made))


def test_what_is_there_is_whole(repository: Repository, published: Receipt) -> None:
    before = open_descriptors()
    publish.read_back(repository, published)
    assert publish.is_whole(repository, published)
    repository.reader.close()
    assert open_descriptors() <= before


def _write_over(path: Path) -> None:
    content = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(content[:30] + b"\x55" + content[31:])


def _empty(path: Path) -> None:
    path.chmod(0o644)
    os.truncate(path, 0)


def _link_away(path: Path) -> None:
    path.rename(path.with_name("away"))
    path.symlink_to("away")


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


CONTRADICTED: dict[str, tuple[str, Callable[[Path], object], type[ImporterError], str]] = {
    "the pack is gone": (
        ".pack", Path.unlink, ImportRefused, "receiptContradicted: pack-ours.pack is not there",
    ),
    "the index is gone": (
        ".idx", Path.unlink, ImportRefused, "receiptContradicted: pack-ours.idx is not there",
    ),
    "the pack has other bytes": (
        ".pack", _write_over, ImportFailed,
        "storeCorrupt: pack-ours.pack has other bytes than were published",
    ),
    "the pack is empty": (
        ".pack", _empty, ImportFailed,
        "storeCorrupt: pack-ours.pack has other bytes",
    ),
    "the pack is a link": (
        ".pack", _link_away, ImportFailed, "storeCorrupt: pack-ours.pack is a symbolic link",
    ),
    "the pack is a FIFO": (
        ".pack", _fifo, ImportFailed, "storeCorrupt: pack-ours.pack is a FIFO",
    ),
    "the pack is a folder": (
        ".pack", _folder, ImportFailed, "storeCorrupt: pack-ours.pack is a directory",
    ),
    "the index is another one": (
        ".idx", _write_over, ImportFailed,
        "storeCorrupt: pack-ours.idx has other bytes than were published",
    ),
    "the index is empty": (
        ".idx", _empty, ImportFailed, "storeCorrupt: pack-ours.idx has other bytes",
    ),
    "the index is a link": (
        ".idx", _link_away, ImportFailed, "storeCorrupt: pack-ours.idx is a symbolic link",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("ending", "damage", "kind", "message"), CONTRADICTED.values(), ids=CONTRADICTED
)
def test_it_is_told_where(
    ending: str,
    damage: Callable[[Path], object],
    kind: type[ImporterError],
    message: str,
    repository: Repository,
    published: Receipt,
    host: Host,
) -> None:
    damage(packs(host) / f"pack-ours{ending}")
    with pytest.raises(kind) as raised:
        publish.read_back(repository, published)
    assert str(raised.value).startswith(message)
    if kind is ImportRefused:
        assert not publish.is_whole(repository, published)
    else:
        with pytest.raises(kind):
            publish.is_whole(repository, published)
    repository.reader.close()


def test_a_commit_that_is_not_there_contradicts_the_receipt(
    repository: Repository, published: Receipt, host: Host
) -> None:
    tree = git(host.repo, "rev-parse", f"{host.candidate}^{{tree}}").stdout.decode().strip()
    told = {"1" * 40: f"the commit {'1' * 40} is not in", tree: f"{tree} is a tree, and no commit"}
    for other, words in told.items():
        # The last one, and one in between.
        for commits in ([host.candidate, other], [other, host.candidate]):
            wrong = msgspec.structs.replace(published, commits=commits)
            with pytest.raises(ImportRefused, match=words) as refused:
                publish.read_back(repository, wrong)
            assert refused.value.code is RECEIPT_CONTRADICTED
            assert not publish.is_whole(repository, wrong)


def test_a_base_that_is_not_there_is_another_thing(
    repository: Repository, published: Receipt, host: Host
) -> None:
    wrong = msgspec.structs.replace(published, base="2" * 40)
    for ask in (
        lambda: publish.read_back(repository, wrong),
        lambda: publish.is_whole(repository, wrong),
        lambda: publish.check_base(repository, "2" * 40),
    ):
        with pytest.raises(ImportRefused) as refused:
            ask()
        assert refused.value.code is BASE_MISSING
    publish.check_base(repository, host.base)


def test_a_pack_that_a_clone_shares_is_whole(
    repository: Repository, published: Receipt, host: Host, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(host.repo), str(tmp_path / "clone"))
    assert (packs(host) / "pack-ours.pack").stat().st_nlink > 1
    publish.read_back(repository, published)


# --- kept, and let go ----------------------------------------------------------------------------


def test_a_launch_that_somebody_else_published_for_rests_on_it_as_well(
    repository: Repository, published: Receipt, files: Telling, host: Host
) -> None:
    files.seen.clear()
    publish.hold(repository, msgspec.structs.replace(published, launch=OTHER))
    assert files.seen[-2:] == ["rename tmp_pack-ours.keep pack-ours.keep", "fsync pack"]
    keep = packs(host) / "pack-ours.keep"
    assert keep.read_text() == f"git-candidate.keep/1\n{LAUNCH}\n{OTHER}\n"
    assert stat.S_IMODE(keep.stat().st_mode) == 0o444


def test_holding_what_is_gone_keeps_the_name(
    repository: Repository, published: Receipt, host: Host
) -> None:
    (packs(host) / "pack-ours.pack").unlink()
    (packs(host) / "pack-ours.keep").unlink()
    publish.hold(repository, published)
    assert stat.S_IMODE((packs(host) / "pack-ours.keep").stat().st_mode) == 0o444


def test_a_keep_that_was_being_written_is_found(
    repository: Repository, published: Receipt, host: Host
) -> None:
    assert publish.unfinished(repository, published) == []
    (packs(host) / "tmp_pack-ours.keep").touch()
    assert publish.unfinished(repository, published) == ["tmp_pack-ours.keep"]


def test_a_visible_pack_is_left_to_git_once_nobody_rests_on_it(
    repository: Repository, published: Receipt, files: Telling, host: Host
) -> None:
    link_count = sorted(path.name for path in packs(host).glob("pack-ours*"))
    files.seen.clear()
    publish.release(repository, published.pack.name, LAUNCH)
    assert files.seen == ["unlink pack-ours.keep", "fsync pack"]
    assert sees(host, host.candidate)
    assert sorted(path.name for path in packs(host).glob("pack-ours*")) == [
        name for name in link_count if not name.endswith(".keep")
    ]
    files.seen.clear()
    publish.release(repository, published.pack.name, LAUNCH)
    # Whoever let it go may have been killed before that was durable.
    assert files.seen == ["fsync pack"]


def test_half_a_pack_is_taken_away_and_its_keep_last(
    repository: Repository, published: Receipt, files: Telling, host: Host
) -> None:
    (packs(host) / "pack-ours.pack").unlink()
    (packs(host) / "pack-ours.rev").touch()
    files.seen.clear()
    publish.release(repository, published.pack.name, LAUNCH)
    assert files.seen == [
        "unlink pack-ours.idx", "unlink pack-ours.rev", "unlink pack-ours.keep", "fsync pack",
    ]  # fmt: skip
    assert list(packs(host).glob("pack-ours*")) == []


def test_a_folder_under_a_name_of_ours_is_somebody_elses_and_is_left(
    repository: Repository, published: Receipt, host: Host
) -> None:
    for ending in (".pack", ".idx"):
        (packs(host) / f"pack-ours{ending}").unlink()
    for name in ("pack-ours.pack", "tmp_pack-ours.keep"):
        (packs(host) / name).mkdir()
    assert publish.unfinished(repository, published) == []
    publish.release(repository, published.pack.name, LAUNCH)
    left = {path.name for path in packs(host).glob("*pack-ours*")}
    assert left == {"pack-ours.pack", "tmp_pack-ours.keep"}


@pytest.mark.parametrize("half", [True, False], ids=["half a pack", "a visible pack"])
def test_what_another_launch_rests_on_stays(
    half: bool, repository: Repository, made: Quarantined, host: Host
) -> None:
    for launch in (LAUNCH, OTHER):
        link(repository, made, launch=launch)
    if half:
        (packs(host) / "pack-ours.idx").unlink()
    before = {path.name for path in packs(host).glob("pack-ours*")}
    publish.release(repository, "pack-ours", LAUNCH)
    assert {path.name for path in packs(host).glob("pack-ours*")} == before
    assert (packs(host) / "pack-ours.keep").read_text() == f"git-candidate.keep/1\n{OTHER}\n"
    publish.release(repository, "pack-ours", OTHER)
    left = {path.name for path in packs(host).glob("pack-ours*")}
    assert left == (set() if half else before - {"pack-ours.keep"})


def test_a_launch_that_does_not_rest_on_it_lets_nothing_go(
    repository: Repository, published: Receipt, files: Telling
) -> None:
    files.seen.clear()
    publish.release(repository, published.pack.name, OTHER)
    publish.release(repository, "pack-none", LAUNCH)
    assert files.seen == ["fsync pack"] * 2


def test_git_collects_it_once_the_last_one_let_go_and_not_before(
    repository: Repository, made: Quarantined, host: Host
) -> None:
    # git leaves a name alone that has no id in it.
    name = publish.choose(repository, made.indexed)
    for launch in (LAUNCH, OTHER):
        link(repository, made, name, launch)
    publish.release(repository, name, LAUNCH)
    git(host.repo, "gc", "-q", "--prune=now")
    assert sees(host, host.candidate)
    publish.release(repository, name, OTHER)
    git(host.repo, "gc", "-q", "--prune=now")
    assert not sees(host, host.candidate)
