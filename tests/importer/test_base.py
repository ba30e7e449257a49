"""Reading the shared store: nothing is believed before it was hashed, or gets out of step."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import stat
import zlib
from collections.abc import Callable, Iterator
from hashlib import sha1
from pathlib import Path

import pytest

from importer import base, git
from importer.base import StoreReader
from importer.errors import GIT_FAILED, STORE_CORRUPT, ImporterError, ImportFailed
from importer.repository import Repository
from importer.state import State
from importer.world import GIT_SECONDS, World
from packparse.codes import Code
from packparse.entry import BLOB, COMMIT, TAG, TREE
from packparse.objectformat import FORMATS
from tests.support.files import open_descriptors
from tests.support.gitrepo import git as real_git
from tests.support.gitrepo import init, install_pack, listed, make_history, pack_revs
from tests.support.processes import own_processes
from tests.support.scriptgit import FakeGit, bench

NOTHING = bytes(20)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with hundreds of objects in one pack, and a tag; not to be changed."""
    repo = init(tmp_path_factory.mktemp("history") / "repo")
    make_history(repo, 3, 500)
    real_git(repo, "tag", "-a", "-m", "a tag", "v1", "main")
    real_git(repo, "repack", "-adq")
    return repo


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small repository, whose objects are loose but for those of one commit."""
    folder = tmp_path_factory.mktemp("small")
    made = init(folder / "repo")
    make_history(made, 1, 2)
    for name in ("one", "two"):
        (folder / name).write_text(name)
        real_git(made, "hash-object", "-w", str(folder / name))
    return made


@pytest.fixture
def repo(small: Path, tmp_path: Path) -> Path:
    shutil.copytree(small, tmp_path / "repo", symlinks=True)
    return tmp_path / "repo"


@pytest.fixture
def reader(repo: Path, tmp_path: Path) -> Iterator[StoreReader]:
    yield from opened(repo, tmp_path)


@pytest.fixture
def hasty(repo: Path, tmp_path: Path) -> Iterator[StoreReader]:
    """One that does not wait: of a damaged object git may write less than it announced."""
    yield from opened(repo, tmp_path, 0.2)


def opened(repo: Path, folder: Path, seconds: float = GIT_SECONDS) -> Iterator[StoreReader]:
    world = World(git_seconds=seconds)
    with State(str(folder / "state"), world) as state, Repository(str(repo), state) as repository:
        yield repository.reader


def oid(repo: Path, name: str) -> bytes:
    return bytes.fromhex(real_git(repo, "rev-parse", name).stdout.decode())


def loose(repo: Path, name: bytes) -> Path:
    return repo / ".git" / "objects" / name.hex()[:2] / name.hex()[2:]


ONE = sha1(b"blob 3\0one").digest()
TWO = sha1(b"blob 3\0two").digest()


# --- what is there -------------------------------------------------------------------------------


def test_every_object_is_read_as_it_is(history: Path, tmp_path: Path) -> None:
    objects = listed(history)
    assert {kind for kind, _ in objects.values()} == {COMMIT, TREE, BLOB, TAG}
    for reader in opened(history, tmp_path):
        for name in (oid(history, "main"), oid(history, "v1"), oid(history, "main^{tree}")):
            kind, content = objects[name]
            assert reader.about(name) == (kind, len(content))
            assert reader.read(name) == (kind, content)
            assert reader.about(name) == (kind, len(content))
        assert reader.about(NOTHING) is None
        assert reader.read(NOTHING) is None


def test_many_objects_are_read_in_their_order_and_missing_ones_among_them(
    history: Path, tmp_path: Path
) -> None:
    objects = listed(history)
    assert len(objects) > 500
    wanted = []
    for number, name in enumerate(objects):
        wanted += [name] if number % 7 else [name, number.to_bytes(20, "big"), name]
    for reader in opened(history, tmp_path):
        assert list(reader.read_all(wanted)) == [objects.get(name) for name in wanted]
        assert list(reader.read_all([])) == []


def test_all_requests_of_a_batch_fit_into_the_smallest_pipe() -> None:
    longest = len(f"contents {bytes(32).hex()}\n")
    assert base._AT_ONCE * longest <= 4_096  # noqa: SLF001 - that it fits is what it is chosen for


def test_objects_of_the_other_format_are_read(tmp_path: Path) -> None:
    repo = init(tmp_path / "repo", "sha256")
    make_history(repo, 1, 2)
    objects = listed(repo)
    for reader in opened(repo, tmp_path):
        assert dict(zip(objects, reader.read_all(objects), strict=True)) == objects


def test_objects_of_alternates_are_read(history: Path, tmp_path: Path) -> None:
    borrower = tmp_path / "borrower"
    real_git(tmp_path, "clone", "-q", "--shared", "--bare", str(history), str(borrower))
    for reader in opened(borrower, tmp_path):
        given = reader.read(oid(history, "main"))
        assert given is not None
        assert given[0] == COMMIT
        reader.refresh()
        assert reader.read(oid(history, "main")) == given


def test_a_process_is_started_when_it_is_needed_and_ended_with_its_owner(
    repo: Path, tmp_path: Path
) -> None:
    before = open_descriptors()
    for reader in opened(repo, tmp_path):
        unused = open_descriptors()
        reader.close()
        assert reader.about(ONE) == (BLOB, 3)
        assert open_descriptors() > unused
        reader.close()
        reader.close()
        assert open_descriptors() == unused
        assert reader.about(ONE) == (BLOB, 3)
    assert open_descriptors() == before


# --- what may stand in the way -------------------------------------------------------------------


def _replace(repo: Path) -> None:
    real_git(repo, "replace", ONE.hex(), TWO.hex())


def _graft(repo: Path) -> None:
    (repo / ".git" / "info").mkdir(exist_ok=True)
    grafted = f"{oid(repo, 'main').hex()} {'1' * 40}\n"
    (repo / ".git" / "info" / "grafts").write_text(grafted)


def _shallow(repo: Path) -> None:
    (repo / ".git" / "shallow").write_text(f"{oid(repo, 'main').hex()}\n")


def _commit_graph(repo: Path) -> None:
    (repo / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "objects" / "info" / "commit-graph").write_bytes(b"CGPH\1\1\0\0" + bytes(40))


def _configuration(repo: Path) -> None:
    real_git(repo, "config", "core.useReplaceRefs", "true")
    real_git(repo, "config", "core.fsmonitor", "touch ran")
    real_git(repo, "config", "extensions.partialClone", "origin")


PLANTED: dict[str, Callable[[Path], None]] = {
    "a replace ref": _replace,
    "a graft": _graft,
    "a shallow file": _shallow,
    "a forged commit graph": _commit_graph,
    "a configuration": _configuration,
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED)
def test_an_answer_is_not_changed_by(
    plant: Callable[[Path], None], repo: Path, tmp_path: Path
) -> None:
    objects = listed(repo)
    plant(repo)
    for reader in opened(repo, tmp_path):
        assert list(reader.read_all(objects)) == list(objects.values())


def _tampered(content: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.chmod(0o644)
        path.write_bytes(content)

    return write


def _cut(path: Path) -> None:
    path.chmod(0o644)
    os.truncate(path, path.stat().st_size - 3)


def refused(question: Callable[[], object]) -> Code | None:
    """The code of the failure; None where git takes the object for one that is missing."""
    try:
        assert question() is None
    except ImportFailed as failed:
        return failed.code
    return None


TAMPERED: dict[str, Callable[[Path], None]] = {
    "other content of the same length": _tampered(zlib.compress(b"blob 3\0owe")),
    "other content": _tampered(zlib.compress(b"blob 5\0other")),
    "another kind": _tampered(zlib.compress(b"commit 3\0one")),
    "another length in its header": _tampered(zlib.compress(b"blob 9\0one")),
    "no object": _tampered(zlib.compress(b"something 3\0one")),
    "nothing": _tampered(b""),
    "no deflate stream": _tampered(b"something that is no deflate stream"),
    "an end that is missing": _cut,
}


@pytest.mark.parametrize("tamper", TAMPERED.values(), ids=TAMPERED)
def test_a_loose_object_is_not_believed_that_has(
    tamper: Callable[[Path], None], repo: Path, hasty: StoreReader
) -> None:
    tamper(loose(repo, ONE))
    for question in (lambda: hasty.read(ONE), lambda: list(hasty.read_all([TWO, ONE, TWO]))[1]):
        code = refused(question)
        assert code in {None, STORE_CORRUPT, GIT_FAILED}
    # Nothing that was said of it is taken for an answer to another question.
    hasty.refresh()
    assert hasty.read(TWO) == (BLOB, b"two")
    assert list(hasty.read_all([TWO, NOTHING])) == [(BLOB, b"two"), None]


def test_a_tampered_object_is_told_by_its_name(repo: Path, reader: StoreReader) -> None:
    _tampered(zlib.compress(b"blob 3\0owe"))(loose(repo, ONE))
    with pytest.raises(ImportFailed, match=f"storeCorrupt: {ONE.hex()}: ") as failed:
        reader.read(ONE)
    assert not failed.value.retry


def test_a_damaged_pack_gives_no_wrong_object(repo: Path, hasty: StoreReader) -> None:
    real_git(repo, "repack", "-adq")
    real_git(repo, "prune-packed")
    objects = listed(repo)
    (pack,) = (repo / ".git" / "objects" / "pack").glob("*.pack")
    whole = pack.read_bytes()
    pack.chmod(0o644)
    failed = 0
    for at in range(12, len(whole) - 20, len(whole) // 20):
        pack.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        hasty.close()
        hasty.refresh()
        for name, expected in objects.items():
            try:
                assert hasty.read(name) in (expected, None)
            except ImportFailed:
                failed += 1
    assert failed


# --- what changes while it is read ---------------------------------------------------------------


def test_what_was_read_is_not_asked_for_again_until_it_is_refreshed(
    repo: Path, reader: StoreReader
) -> None:
    assert reader.read(ONE) == (BLOB, b"one")
    loose(repo, ONE).unlink()
    assert reader.read(ONE) == (BLOB, b"one")
    assert reader.about(ONE) == (BLOB, 3)
    reader.refresh()
    assert reader.read(ONE) is None
    assert reader.about(ONE) is None


def test_what_appears_is_found(history: Path, repo: Path, reader: StoreReader) -> None:
    tip = oid(history, "main")
    assert reader.read(tip) is None
    install_pack(repo, pack_revs(history, "main"))
    given = reader.read(tip)
    assert given is not None
    assert given[0] == COMMIT


def _remove_packs(repo: Path) -> None:
    for path in (repo / ".git" / "objects" / "pack").iterdir():
        path.unlink()


def test_what_was_in_a_pack_that_is_gone_is_not_found(
    history: Path, repo: Path, reader: StoreReader
) -> None:
    tip = oid(history, "main")
    install_pack(repo, pack_revs(history, "main"))
    reader.refresh()
    assert reader.read(tip) is not None
    _remove_packs(repo)
    reader.refresh()
    assert reader.read(tip) is None


def test_a_pack_that_came_and_went_between_two_looks_is_gone(
    history: Path, repo: Path, reader: StoreReader
) -> None:
    tip = oid(history, "main")
    reader.refresh()
    assert reader.read(ONE) is not None
    install_pack(repo, pack_revs(history, "main"))
    assert reader.read(tip) is not None
    _remove_packs(repo)
    reader.refresh()
    assert reader.read(tip) is None


def test_the_process_goes_on_while_packs_come_and_none_goes(
    history: Path, repo: Path, reader: StoreReader
) -> None:
    reader.refresh()
    assert reader.read(ONE)
    (before,) = children()
    install_pack(repo, pack_revs(history, "main"))
    reader.refresh()
    assert reader.read(oid(history, "main"))
    reader.refresh()
    assert reader.read(TWO)
    assert children() == [before]


def test_the_process_has_limits_of_its_own(reader: StoreReader) -> None:
    assert reader.read(ONE)
    (child,) = children()
    mosts = {
        resource.RLIMIT_AS: 4 << 30, resource.RLIMIT_FSIZE: 1 << 30,
        resource.RLIMIT_CPU: 24 * 3_600, resource.RLIMIT_CORE: 0,
    }  # fmt: skip
    for kind, most in mosts.items():
        theirs = [limit for limit in resource.getrlimit(kind) if limit != resource.RLIM_INFINITY]
        assert resource.prlimit(child, kind) == (min([most, *theirs]),) * 2


@pytest.mark.parametrize("ending", [".pack", ".idx", "multi-pack-index"])
def test_a_part_of_a_pack_that_is_gone_is_enough_for_another_process(
    ending: str, history: Path, repo: Path, reader: StoreReader
) -> None:
    install_pack(repo, pack_revs(history, "main"))
    real_git(repo, "multi-pack-index", "write")
    assert reader.read(oid(history, "main"))
    (before,) = children()
    (part,) = (repo / ".git" / "objects" / "pack").glob(f"*{ending}")
    part.unlink()
    reader.refresh()
    assert reader.read(ONE)
    assert children() != [before]


@pytest.mark.parametrize("endings", [(".pack", ".idx"), (".pack",)], ids=["whole", "in part"])
def test_what_was_in_a_pack_that_was_moved_away_is_not_found(
    endings: tuple[str, ...], history: Path, repo: Path, reader: StoreReader
) -> None:
    """As git's own manual asks for before unpack-objects."""
    tip = oid(history, "main")
    install_pack(repo, pack_revs(history, "main"))
    assert reader.read(tip) is not None
    away = repo.parent / "pack"
    away.mkdir()
    for path in (repo / ".git" / "objects" / "pack").iterdir():
        if path.suffix in endings:
            path.rename(away / path.name)
    reader.refresh()
    assert reader.read(tip) is None


def test_packs_of_an_alternate_are_read_anew_each_time(
    history: Path, repo: Path, reader: StoreReader
) -> None:
    (repo / ".git/objects/info").mkdir(exist_ok=True)
    (repo / ".git/objects/info/alternates").write_text(f"{history}/.git/objects\n")
    real_git(history, "repack", "-adq")
    assert reader.read(oid(history, "main")) is not None
    (before,) = children()
    reader.refresh()
    assert reader.read(oid(history, "main")) is not None
    assert children() != [before]


@pytest.mark.parametrize("gone", ["{objects}/pack/pack-x.pack (deleted)", "/elsewhere/pack-x.pack"])
@pytest.mark.parametrize("how", ["_mapped", "_opened"])
def test_what_is_gone_is_noticed_whether_it_is_mapped_or_only_open(
    how: str, gone: str, repo: Path, reader: StoreReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of a large pack git maps a part, and keeps the file open.
    assert reader.read(ONE)
    (before,) = children()
    objects = repo / ".git" / "objects"
    there = {os.fsencode(objects / "pack" / "pack-y.pack")}
    for held, same in ((there, True), ({gone.format(objects=objects).encode()}, False)):
        for function in ("_mapped", "_opened"):
            given = held if function == how else there
            monkeypatch.setattr(git, function, lambda _pid, given=given: given)
        reader.refresh()
        assert reader.read(ONE)
        assert (children() == [before]) == same


def test_where_nobody_can_tell_what_it_holds_there_is_another_process(
    reader: StoreReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(_pid: int) -> list[bytes]:
        raise PermissionError

    assert reader.read(ONE)
    (before,) = children()
    monkeypatch.setattr(git, "_mapped", deny)
    reader.refresh()
    assert reader.read(ONE)
    assert children() != [before]


# --- a process that does not do as it should -----------------------------------------------------


# The processes of hosts that other tests of this worker share.
OTHERS: set[int] = set()


@pytest.fixture(autouse=True)
def _others() -> None:
    OTHERS.clear()
    OTHERS.update(own_processes())


def children() -> list[int]:
    """The processes that were started since the test began."""
    return [pid for pid in own_processes() if pid not in OTHERS]


QUESTIONS: dict[str, Callable[[StoreReader], object]] = {
    "about": lambda reader: reader.about(TWO),
    "read": lambda reader: reader.read(TWO),
    "read_all": lambda reader: list(reader.read_all([TWO, ONE])),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_process_that_died_is_told_and_another_one_answers_the_next_question(
    question: Callable[[StoreReader], object], reader: StoreReader
) -> None:
    assert reader.about(ONE) is not None
    before = open_descriptors()
    (child,) = children()
    os.kill(child, signal.SIGKILL)
    with pytest.raises(ImportFailed, match="git cat-file ended: it said nothing") as failed:
        question(reader)
    assert (failed.value.code, failed.value.retry) == (GIT_FAILED, True)
    assert question(reader)
    assert open_descriptors() == before
    assert len(children()) == 1


def test_answers_that_nobody_took_are_not_those_of_the_next_question(
    repo: Path, reader: StoreReader
) -> None:
    objects = listed(repo)
    answers = reader.read_all([*objects, ONE, TWO])
    assert next(answers) == next(iter(objects.values()))
    answers.close()  # type: ignore[attr-defined]
    assert reader.read(TWO) == (BLOB, b"two")
    assert reader.about(ONE) == (BLOB, 3)


# A script, what is said of it, and whether trying again may help.
ODD_ANSWERS: dict[str, tuple[str, str, bool]] = {
    "it ends": ("echo fatal: broken >&2", "git cat-file ended: fatal: broken", True),
    "it ends in the middle of an object": (
        f"echo {ONE.hex()} blob 900", "git cat-file ended: it said nothing", True,
    ),
    "it says nothing": ("sleep 100", "git cat-file gave no answer in time", True),
    "it writes a line without an end": (
        "exec 3<&0; exec tr '\\0' x </dev/zero", "git cat-file gave an endless line", False,
    ),
    "it speaks of another object": (
        f"echo {TWO.hex()} blob 3; sleep 100", "git cat-file gave an answer that is none", False,
    ),
    "another object is missing": (
        f"echo {TWO.hex()} missing; sleep 100", "git cat-file gave an answer that is none", False,
    ),
    "it names a kind that there is not": (
        f"echo {ONE.hex()} thing 3; sleep 100", "git cat-file gave an answer that is none", False,
    ),
    "it names a size that is none": (
        f"echo {ONE.hex()} blob -3; sleep 100", "git cat-file gave an answer that is none", False,
    ),
    "it writes an empty line": ("echo; sleep 100", "gave an answer that is none", False),
    "it escapes": (
        r"printf '\033[2Jfatal' >&2", r'git cat-file ended: "\033[2Jfatal"', True,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("script", "message", "retry"), ODD_ANSWERS.values(), ids=ODD_ANSWERS)
def test_it_fails_by_code_where(
    script: str,
    message: str,
    retry: bool,
    tmp_path: Path,
    fake: FakeGit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(git, "_GRACE", 0.1)
    before = open_descriptors()
    fake.script(script)
    with bench(tmp_path, seconds=0.2) as made:
        reader = StoreReader(made, FORMATS["sha1"])
        with pytest.raises(ImportFailed) as failed:
            reader.read(ONE)
        reader.close()
    assert failed.value.code is GIT_FAILED
    assert message in failed.value.message
    assert failed.value.retry == retry
    assert open_descriptors() == before
    assert children() == []


def test_a_process_that_cannot_be_started_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    with bench(tmp_path) as made:
        before = open_descriptors()
        reader = StoreReader(made, FORMATS["sha1"])
        with pytest.raises(ImporterError, match="git cannot be started"):
            reader.read(ONE)
        assert open_descriptors() == before
    reader.close()


def test_it_leaves_no_file_in_its_folder(repo: Path, tmp_path: Path) -> None:
    for reader in opened(repo, tmp_path):
        assert reader.about(ONE)
        reader.close()
        assert reader.about(ONE)
        found = [path for path in (tmp_path / "state" / "work").rglob("*")
                 if stat.S_ISREG(path.lstat().st_mode)]  # fmt: skip
        assert {path.name for path in found} == {"lock", "HEAD", "config"}


def test_contents_in_pieces_are_those_of_the_objects(history: Path, tmp_path: Path) -> None:
    objects = listed(history)
    wanted = [*objects, ONE, *objects]
    for reader in opened(history, tmp_path):
        found = [
            None if given is None else (given[0], b"".join(given[1]))
            for given in reader.stream(wanted)
        ]
        assert found == [objects.get(name) for name in wanted]


# --- in pieces -----------------------------------------------------------------------------------

CHUNK = base._CHUNK  # noqa: SLF001 - what is larger comes in pieces
SIZES = {"small": 3, "a piece": CHUNK, "more than a piece": CHUNK + 1, "many": 3 * CHUNK + 5}


def blob(repo: Path, size: int) -> bytes:
    """Write a blob of its own; its id."""
    made = real_git(repo, "hash-object", "-w", "--stdin", input=b"z" * size)
    return bytes.fromhex(made.stdout.decode())


def lengths(reader: StoreReader, oids: list[bytes]) -> list[tuple[int, int, int] | None]:
    """Read a stream: kinds, and the lengths of contents and of their longest pieces."""
    found: list[tuple[int, int, int] | None] = []
    for given in reader.stream(oids):
        pieces = [] if given is None else [len(piece) for piece in given[1]]
        found.append(None if given is None else (given[0], sum(pieces), max(pieces)))
    return found


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_a_stream_keeps_in_step_whatever_is_large_or_missing(
    size: int, repo: Path, reader: StoreReader
) -> None:
    large = blob(repo, size)
    small, told = (BLOB, 3, 3), (BLOB, size, min(size, CHUNK))
    assert lengths(reader, [ONE, large, NOTHING, large, TWO]) == [small, told, None, told, small]
    # Nothing is left over, so the same process answers.
    (before,) = children()
    assert reader.about(TWO) == (BLOB, 3)
    assert lengths(reader, [NOTHING]) == [None]
    assert reader.about(ONE) == (BLOB, 3)
    assert children() == [before]


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_what_is_not_its_content_is_told_at_the_end_of_a_stream(
    size: int, repo: Path, reader: StoreReader
) -> None:
    large = blob(repo, size)
    _tampered(zlib.compress(b"blob %d\0" % size + b"y" * size))(loose(repo, large))
    with pytest.raises(ImportFailed, match=f"storeCorrupt: {large.hex()}: ") as failed:
        lengths(reader, [ONE, large, TWO])
    assert not failed.value.retry
    assert reader.read(TWO) == (BLOB, b"two")


def test_a_content_that_nobody_took_to_its_end_is_no_answer_to_the_next_question(
    repo: Path, reader: StoreReader
) -> None:
    answers = reader.stream([blob(repo, 3 * CHUNK)])
    given = next(answers)
    assert given is not None
    assert len(next(given[1])) == CHUNK
    assert reader.read(TWO) == (BLOB, b"two")


@pytest.mark.parametrize("size", [1, 50, 210, 300])
def test_answers_are_understood_in_whatever_pieces_they_come(
    size: int, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "_CHUNK", size)
    objects = dict(list(listed(history).items())[:100])
    for reader in opened(history, tmp_path):
        assert list(reader.read_all(objects)) == list(objects.values())
