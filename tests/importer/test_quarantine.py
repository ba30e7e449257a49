"""Step 8: a verdict of git's own, in a folder that git sweeps and that nobody else reads."""

from __future__ import annotations

import os
import random
import stat
from hashlib import sha256
from pathlib import Path

import pytest

from importer import quarantine
from importer.errors import (
    GIT_FAILED,
    GIT_REFUSED,
    ORIGIN_UNSAFE,
    QUARANTINE_SWEPT,
    VERDICTS_DIFFER,
    ImporterError,
    ImportFailed,
    ImportRefused,
)
from importer.quarantine import Indexed
from importer.repository import Repository
from packparse.limits import Limits
from tests.support import packs
from tests.support.fakegit import faked
from tests.support.files import open_descriptors
from tests.support.gitrepo import git
from tests.support.launches import Host, make_host
from tests.support.records import LAUNCH, OTHER
from tests.support.rooms import brought, in_quarantine, opened
from tests.support.scriptgit import FakeGit
from tests.support.worlds import Telling


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """A host for all of them: a quarantine leaves it as it was."""
    made = make_host(tmp_path_factory.mktemp("host"))
    old = git(made.repo, "cat-file", "blob", f"{made.base}:dir0/file0.txt").stdout
    made.commit({"dir0/file0.txt": old + b"more\n", "new.bin": random.Random(0).randbytes(500)})
    return made


def store(host: Host) -> list[str]:
    objects = host.common / "objects"
    return sorted(str(path.relative_to(objects)) for path in objects.rglob("*"))


# --- the folder ----------------------------------------------------------------------------------


def test_it_lies_in_the_shared_store_under_the_name_of_its_launch(
    repository: Repository, host: Host
) -> None:
    before = store(host)
    with quarantine.quarantined(repository, LAUNCH) as name:
        assert name.startswith(quarantine.prefix(LAUNCH))
        assert name.startswith(f"tmp_objdir-candidate-{LAUNCH}-")
        path = host.common / "objects" / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        with quarantine.quarantined(repository, LAUNCH) as second:
            assert second != name
    assert store(host) == before


def test_git_sweeps_what_is_left_of_it(repository: Repository, host: Host) -> None:
    before = store(host)
    (host.common / "objects" / f"{quarantine.prefix(LAUNCH)}left" / "pack").mkdir(parents=True)
    git(host.repo, "prune", "--expire=now")
    assert store(host) == before
    assert repository.objects


@pytest.mark.parametrize(
    "error", [ImportRefused(ORIGIN_UNSAFE, "it"), FileNotFoundError("it"), KeyError("it")], ids=repr
)
def test_it_is_removed_whatever_happened_in_it(
    error: Exception, repository: Repository, host: Host
) -> None:
    before = store(host)
    with pytest.raises(type(error)) as raised, quarantine.quarantined(repository, LAUNCH) as name:
        _fill_and_raise(host.common / "objects" / name, error)
    assert raised.value is error
    assert store(host) == before


def _fill_and_raise(path: Path, error: Exception) -> None:
    (path / "pack").mkdir()
    (path / "pack" / "half").touch()
    raise error


@pytest.mark.parametrize("again", [True, False], ids=["and made anew", "and is gone"])
@pytest.mark.parametrize(
    "error", [ImportFailed(GIT_FAILED, "it"), FileNotFoundError("it")], ids=repr
)
def test_what_fails_in_one_that_was_swept_says_so(
    error: Exception, again: bool, repository: Repository, host: Host
) -> None:
    before = store(host)
    with (
        pytest.raises(ImportFailed) as failed,
        quarantine.quarantined(repository, LAUNCH) as name,
    ):
        _sweep_and_raise(host.common / "objects" / name, again, error)
    assert (failed.value.code, failed.value.retry) == (QUARANTINE_SWEPT, True)
    assert failed.value.__cause__ is error
    assert store(host) == before


def _sweep_and_raise(path: Path, again: bool, error: Exception) -> None:
    # One that is made once this is gone could get its number.
    path.with_name("aside").mkdir()
    path.rmdir()
    if again:
        path.with_name("aside").rename(path)
    else:
        path.with_name("aside").rmdir()
    raise error


def test_one_that_cannot_be_made_is_a_file_operation_that_fails(
    repository: Repository, files: Telling, host: Host
) -> None:
    before = store(host)
    with pytest.raises(OSError, match="No space left"):
        _enter_failing(repository, files)
    assert store(host) == before


def _enter_failing(repository: Repository, files: Telling) -> None:
    repository.world.token = lambda size: b"\1" * size
    files.failing.add(f"mkdir {quarantine.prefix(LAUNCH)}{'01' * 6}")
    with quarantine.quarantined(repository, LAUNCH):
        pytest.fail("it is made")


# --- what git makes of a pack --------------------------------------------------------------------


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_the_facts_of_a_pack_are_those_of_its_files(fmt: str, tmp_path: Path) -> None:
    host = make_host(tmp_path, "sha256" if fmt == "sha256" else "sha1")
    host.commit({"new": b"new\n"})
    bundle = host.bundle()
    pack = bundle[bundle.index(b"PACK") :]
    with (
        opened(host, tmp_path) as repository,
        in_quarantine(repository, bundle, brought(host)) as made,
    ):
        width = repository.object_format.width
        stem = f"pack-{pack[-width:].hex()}"
        digests = {
            ending: sha256((made.path / "pack" / f"{stem}{ending}").read_bytes()).hexdigest()
            for ending in (".idx", ".pack")
        }
        assert made.indexed == Indexed(stem, len(pack), digests, 0)
        assert digests[".pack"] == sha256(pack).hexdigest()
        assert (made.path / "pack" / f"{made.indexed.stem}.pack").read_bytes() == pack


def test_a_thin_pack_is_completed_with_the_bases_that_it_may_rest_on(
    repository: Repository, host: Host
) -> None:
    every = git(host.repo, "rev-list", "--objects", host.base).stdout.decode().splitlines()
    old = [bytes.fromhex(line.split()[0]) for line in every]
    bundle = host.bundle(thin=True)
    with in_quarantine(repository, bundle, brought(host), bases=old) as made:
        appended = made.indexed.appended
        assert appended
        assert made.indexed.bytes > len(bundle) - bundle.index(b"PACK")
    with (
        pytest.raises(ImportRefused, match=f"found {appended} others") as refused,
        in_quarantine(repository, bundle, brought(host), bases=[bytes(20)]),
    ):
        pytest.fail("it is taken")
    assert refused.value.code is VERDICTS_DIFFER


def test_its_files_are_durable(repository: Repository, host: Host, files: Telling) -> None:
    with in_quarantine(repository, host.bundle(), brought(host)) as made:
        assert [told for told in files.seen if told.startswith("fsync pack-")] == [
            f"fsync {made.indexed.stem}.idx", f"fsync {made.indexed.stem}.pack",
        ]  # fmt: skip


def test_another_list_of_objects_than_git_found_is_another_verdict(
    repository: Repository, host: Host
) -> None:
    before, descriptors = store(host), open_descriptors()
    every = brought(host)
    missing, *fewer = every
    for expected, told in (
        ({*every, bytes(20)}, "git did not find 1, and found 0 others"),
        (fewer, "git did not find 0, and found 1 others"),
        ({bytes(20), *fewer}, "git did not find 1, and found 1 others"),
        ((), f"git did not find 0, and found {len(every)} others"),
    ):
        with (
            pytest.raises(ImportRefused, match=told) as refused,
            in_quarantine(repository, host.bundle(), expected),
        ):
            pytest.fail("it is taken")
        assert refused.value.code is VERDICTS_DIFFER
    assert missing in every
    assert store(host) == before
    assert open_descriptors() == descriptors


def test_what_git_refuses_is_refused_and_leaves_nothing(repository: Repository, host: Host) -> None:
    made = packs.PackBuilder()
    made.add("tree", b"100644 .git\0" + bytes(19) + b"\1")
    before, descriptors = store(host), open_descriptors()
    with (
        pytest.raises(ImportRefused, match="git index-pack: ") as refused,
        in_quarantine(repository, made.build(), ()),
    ):
        pytest.fail("it is taken")
    assert refused.value.code is GIT_REFUSED
    assert store(host) == before
    assert open_descriptors() == descriptors


RELAXED = {
    "nothing": ([], "--strict"),
    "two checks": (
        ["zeroPaddedFilemode", "badTimezone"],
        "--strict=badTimezone=ignore,zeroPaddedFilemode=ignore",
    ),
}


@pytest.mark.parametrize(("relaxed", "strict"), RELAXED.values(), ids=RELAXED)
def test_git_is_told_the_limits_and_that_it_may_excuse(
    relaxed: list[str],
    strict: str,
    repository: Repository,
    host: Host,
    tmp_path: Path,
    fake: FakeGit,
) -> None:
    limits = Limits("candidate", {"pack_bytes": 1 << 20, "object_bytes": 1 << 19})
    bundle, objects = host.bundle(), host.common / "objects"
    fake.tell()
    with (tmp_path / "kept").open("wb") as kept:
        keep = [kept.fileno()]
        with (
            pytest.raises(ImportRefused, match="more than the name of one pack"),
            in_quarantine(repository, bundle, (), relaxed=relaxed, limits=limits, keep=keep),
        ):
            pytest.fail("it is taken")
        told = fake.told()
        assert kept.fileno() in told["open"]
    command = told["arguments"].index("index-pack")
    assert told["arguments"][command:] == [
        "index-pack", "--stdin", "--fix-thin", "--threads=2", "--max-input-size=1048576", strict,
    ]  # fmt: skip
    assert told["limits"]["AS"][0] == (1 << 30) + 4 * (1 << 19)
    assert told["limits"]["FSIZE"][0] == (1 << 20) + limits.inflated_bytes
    environment = told["environment"]
    assert environment["GIT_OBJECT_DIRECTORY"].startswith(f"{objects}/{quarantine.prefix(LAUNCH)}")
    assert environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] == f'"{objects}"'


NAME = "pack\\t%040d\\n"
ENDS: dict[str, tuple[str, type[ImporterError], str]] = {
    "it is killed": ("kill -9 $$", ImportFailed, "git was ended by signal 9"),
    "it says nothing": ("exit 1", ImportFailed, "git ended with status 1 and said nothing"),
    "it refuses": (
        "echo 'fatal: pack has bad object' >&2; exit 128", ImportRefused,
        "git index-pack: fatal: pack has bad object",
    ),
    "it refuses with escapes": (
        r"printf 'fatal: \033[2J\n' >&2; exit 128", ImportRefused, r'"fatal: \033[2J"',
    ),
    "it writes a line more": (
        f"printf '{NAME}' 1; echo more", ImportRefused, "more than the name of one pack",
    ),
    "it names no pack": ("echo keep", ImportRefused, "more than the name of one pack"),
    "it names two": (
        f"printf '{NAME}{NAME}' 1 2", ImportRefused, "more than the name of one pack",
    ),
    "it names a path": (
        "printf 'pack\\t../../x\\n'", ImportRefused, "more than the name of one pack",
    ),
    "it makes no file": (
        f"mkdir $GIT_OBJECT_DIRECTORY/pack; printf '{NAME}' 1", ImportFailed,
        "git left other files than a pack and its index: []",
    ),
}  # fmt: skip
TEXTS = {
    "no room": "fatal: write error: No space left on device",
    "no permission": "error: unable to create temporary file: Permission denied",
    "a quota": "fatal: write error: Disk quota exceeded",
    "a limit of ours": "fatal: sha1 file write error: File too large",
    "a broken disk": "fatal: read error on input: Input/output error",
    "no memory": "fatal: Out of memory, malloc failed",
    "no address space": "fatal: mmap failed: Cannot allocate memory",
    "too many files": "error: open: Too many open files",
    "a folder that is gone": "fatal: unable to create file: No such file or directory",
    "a disk that nobody may write to": "error: pack/x.pack: Read-only file system",
    "no threads": "fatal: unable to create thread: Resource temporarily unavailable",
}
# What somebody else wrote is no word of git's own.
QUOTED = {
    "an object": "error: object 12: gitmodulesUrl: disallowed url: No space left on device",
    "a warning": "warning: object 12: Permission denied\nfatal: fsck error in packed object",
    "the middle of a line": "fatal: bad name: No space left on device, it says",
}
ENDS |= {
    f"it quotes in {what}": (
        f"echo '{text}' >&2; exit 128", ImportRefused, "git index-pack: ",
    )
    for what, text in QUOTED.items()
}  # fmt: skip
ENDS |= {
    f"it has {what}": (f"echo '{text}' >&2; exit 128", ImportFailed, f"git index-pack: {text}")
    for what, text in TEXTS.items()
}


@pytest.mark.parametrize(("script", "kind", "message"), ENDS.values(), ids=ENDS)
def test_it_is_told_where(
    script: str,
    kind: type[ImporterError],
    message: str,
    repository: Repository,
    host: Host,
    tmp_path: Path,
) -> None:
    before, descriptors = store(host), open_descriptors()
    with (
        faked(tmp_path, "index-pack", f"{script}; exit 0"),
        pytest.raises(kind) as raised,
        in_quarantine(repository, host.bundle(), brought(host)),
    ):
        pytest.fail("it is taken")
    assert raised.value.code is (GIT_FAILED if kind is ImportFailed else GIT_REFUSED)
    assert message in raised.value.message
    assert raised.value.message.isprintable()
    assert store(host) == before
    assert open_descriptors() == descriptors


# After the real one ended, and before it is looked at.
_LATER = '"$real" "$@" || exit; cd "$GIT_OBJECT_DIRECTORY/pack"; chmod +w *; '
TAMPERED: dict[str, tuple[str, str]] = {
    "no index": ("rm *.idx", "git left other files"),
    "no pack": ("rm *.pack", "git left other files"),
    "another file": ("touch pack-x.keep", "git left other files"),
    "a temporary file": ("touch tmp_pack_x", "git left other files"),
    "an index that is cut": ("truncate -s -1 *.idx", "git wrote an index that is not one"),
    "an index that is empty": ("truncate -s 0 *.idx", "git wrote an index that is not one"),
    "an index of another pack": (
        'printf "blob\\n" >/dev/null; cp "{other}" *.idx', "git wrote an index that is not one",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("script", "message"), TAMPERED.values(), ids=TAMPERED)
def test_git_leaves_a_pack_and_its_index_and_not(
    script: str, message: str, repository: Repository, host: Host, tmp_path: Path
) -> None:
    (other,) = (host.common / "objects" / "pack").glob("*.idx")
    before = store(host)
    with (
        faked(tmp_path, "index-pack", f"{_LATER}{script.format(other=other)}; exit 0"),
        pytest.raises(ImportFailed, match=message) as failed,
        in_quarantine(repository, host.bundle(), brought(host)),
    ):
        pytest.fail("it is taken")
    assert failed.value.code is GIT_FAILED
    assert store(host) == before


def test_a_reverse_index_is_taken_along(repository: Repository, host: Host, tmp_path: Path) -> None:
    script = '"$real" -c pack.writeReverseIndex=true "$@"; exit'
    with (
        faked(tmp_path, "index-pack", script),
        in_quarantine(repository, host.bundle(), brought(host)) as made,
    ):
        assert sorted(made.indexed.digests) == [".idx", ".pack", ".rev"]


def test_the_lock_of_the_launch_is_held_while_git_lives(
    repository: Repository, host: Host, tmp_path: Path
) -> None:
    # Of the descriptors that git inherits, the parent closes its own here.
    seen = tmp_path / "seen"
    script = f'ls -l /proc/self/fd | grep -o "/launches/.*" >{seen}; exec "$real" "$@"'
    path = Path(repository.state.path) / "launches" / OTHER
    path.mkdir()
    (path / "lock").touch()
    with (
        faked(tmp_path, "index-pack", script),
        (path / "lock").open("rb") as lock,
        in_quarantine(repository, host.bundle(), brought(host), keep=[lock.fileno()]),
    ):
        assert seen.read_text() == f"/launches/{OTHER}/lock\n"


@pytest.mark.parametrize("length", [0, 1, 1 << 20, (1 << 20) + 1])
def test_a_digest_is_that_of_the_whole_file_wherever_it_stands(length: int, tmp_path: Path) -> None:
    content = os.urandom(length)
    (tmp_path / "file").write_bytes(content)
    with (tmp_path / "file").open("rb", buffering=0) as opened_file:
        opened_file.seek(length // 2)
        assert quarantine.digest(opened_file.fileno()) == sha256(content).hexdigest()
