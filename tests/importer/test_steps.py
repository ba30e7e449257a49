"""The steps of an import: their order, their numbers, what they cost, and what they give away."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from importer import layout, publish, steps
from importer.errors import (
    FILE_FAILED,
    JOURNAL_FULL,
    LAUNCH_DISCARDED,
    ORIGIN_UNSAFE,
    OTHER_CANDIDATE,
    RECEIPT_CONTRADICTED,
    ImporterError,
    ImportFailed,
    ImportRefused,
)
from importer.journal import opened
from importer.launches import discard, recover_all, show
from importer.lock import L1
from importer.quarantine import digest
from importer.steps import ImportResult, Step, import_candidate
from importer.verdict import object_list_digest
from importer.world import World
from manifest import receipt as receipts
from manifest import v1
from manifest.launch import Preparing
from manifest.receipt import Receipt
from packparse import version
from packparse.codes import POLICY, Code
from tests.support.fakegit import faked
from tests.support.files import is_held, open_descriptors
from tests.support.gitrepo import git as real_git
from tests.support.launches import KEY, LAUNCH, Host, Scene, copy_host, launch, make_host
from tests.support.worlds import Clock, Telling

# All but what is done before the first one, of which nobody is told.
STEPS = list(Step)[1:]


@pytest.fixture(scope="module")
def mould(tmp_path_factory: pytest.TempPathFactory) -> Host:
    host = make_host(tmp_path_factory.mktemp("host"))
    host.commit({"new.txt": b"new\n"})
    host.commit({"new.txt": b"newer\n", "120000 link": b"new.txt"})
    return host


@pytest.fixture
def host(mould: Host, tmp_path: Path) -> Host:
    return copy_host(mould, tmp_path)


@pytest.fixture
def scene(host: Host, tmp_path: Path) -> Scene:
    made = launch(host, tmp_path)
    made.offer()
    return made


def run(scene: Scene, world: World | None = None, **options: object) -> ImportResult:
    with scene.opened(world) as repository:
        return import_candidate(repository, LAUNCH, **options)  # type: ignore[arg-type]


def packs_of(scene: Scene) -> Path:
    return scene.host.common / "objects" / "pack"


def lose_pack(scene: Scene, receipt: Receipt) -> None:
    """What somebody does who removes files of a repository by hand."""
    for path in packs_of(scene).glob(f"{receipt.pack.name}.*"):
        path.unlink()


# --- their order and their time ------------------------------------------------------------------


def test_they_are_told_in_their_order_and_each_takes_its_time(scene: Scene) -> None:
    told: list[Step] = []
    at: dict[Step, float] = {}
    clock = Clock(step=0.001)

    def on_step(step: Step) -> None:
        told.append(step)
        at[step] = clock.at

    result = run(scene, clock.world(), on_step=on_step)
    assert told == STEPS == list(range(1, 12))
    assert list(result.seconds) == list(Step)
    for step in STEPS[1:-1]:
        # It ends when the next one is told of, and looks at the clock as it begins.
        assert result.seconds[step] == pytest.approx(at[Step(step + 1)] - at[step])
    assert 0 < result.held < result.seconds[Step.PUBLISH]


def test_the_list_of_objects_is_hashed_before_the_lock_is_taken(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(oids: tuple[bytes, ...]) -> str:
        held.append((scene.host.common / L1).exists() and is_held(scene.host.common / L1))
        return object_list_digest(oids)

    held: list[bool] = []
    monkeypatch.setattr(steps, "object_list_digest", listed)
    assert run(scene).receipt.objects.sha256
    assert held == [False]


def test_a_published_pack_is_hashed_once_by_whoever_asks_for_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = run(scene).receipt
    hashed: list[str] = []

    def noted(descriptor: int) -> str:
        hashed.append(Path(f"/proc/self/fd/{descriptor}").readlink().suffix)
        return digest(descriptor)

    monkeypatch.setattr(publish, "digest", noted)
    assert run(scene).receipt == receipt
    assert sorted(hashed) == [".idx", ".pack"]
    hashed.clear()
    with scene.opened() as repository:
        assert [one.error for one in recover_all(repository, prove=True)] == [None]
        assert sorted(hashed) == [".idx", ".pack"]
        hashed.clear()
        recover_all(repository)
    assert hashed == []


def test_a_base_that_goes_before_the_lock_is_taken_is_missed(scene: Scene) -> None:
    """The base is asked for under L1 once more."""
    objects = scene.host.common / "objects"

    def lose(step: Step) -> None:
        if step == Step.PUBLISH:
            for path in [*objects.glob("pack/*.pack"), *objects.glob("pack/*.idx")]:
                path.unlink()

    before = set(packs_of(scene).glob("*.keep"))
    with pytest.raises(ImportRefused) as refused:
        run(scene, on_step=lose)
    assert (refused.value.code.name, refused.value.step) == ("baseMissing", 9)
    assert set(packs_of(scene).glob("*")) - before == set()


def test_a_lack_of_memory_is_typed_and_tells_the_step(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object) -> str:
        raise MemoryError

    monkeypatch.setattr(steps, "object_list_digest", fail)
    before = open_descriptors()
    with pytest.raises(ImportFailed) as failed:
        run(scene)
    assert (failed.value.code.name, failed.value.retry) == ("outOfMemory", False)
    assert failed.value.step == Step.GIT
    assert open_descriptors() == before


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_what_fails_in_a_step_has_its_number_and_is_done_by_the_next_import(
    step: Step, scene: Scene
) -> None:
    def fail(reached: Step) -> None:
        if reached == step:
            raise OSError("no luck")

    before = open_descriptors()
    with pytest.raises(ImportFailed) as failed:
        run(scene, on_step=fail)
    assert (failed.value.code, failed.value.step, failed.value.retry) == (FILE_FAILED, step, True)
    assert str(failed.value) == f"fileFailed (step {step}): no luck"
    assert open_descriptors() == before
    with scene.opened() as repository:
        assert show(repository.state, LAUNCH).refusal is None
    assert run(scene).receipt.candidate == scene.host.candidate


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_what_is_refused_in_a_step_leaves_a_refusal_with_its_number(
    step: Step, scene: Scene
) -> None:
    def refuse(reached: Step) -> None:
        if reached == step:
            raise ImportRefused(ORIGIN_UNSAFE, "it is a FIFO")

    before = open_descriptors()
    with pytest.raises(ImportRefused) as refused:
        run(scene, Clock(77).world(), on_step=refuse)
    assert refused.value.step == step
    assert open_descriptors() == before
    with scene.opened() as repository:
        shown = show(repository.state, LAUNCH)
    assert shown.refusal is not None
    assert (shown.refusal.step, shown.refusal.code, shown.refusal.at) == (step, "originUnsafe", 77)
    assert shown.refusal.message == "it is a FIFO"
    # The digest is known once the artifact was read.
    digest = sha256(scene.host.bundle()).hexdigest() if step >= Step.VERIFY else None
    assert shown.refusal.artifact == digest
    assert run(scene).receipt.candidate == scene.host.candidate


def test_nothing_stays_open_after_an_import(scene: Scene) -> None:
    before = open_descriptors()
    with scene.opened() as repository:
        repository.reader.close()
        opened = open_descriptors()
        for _ in range(3):
            import_candidate(repository, LAUNCH)
            repository.reader.close()
            assert open_descriptors() == opened
    assert open_descriptors() == before


def test_what_was_offered_stays_as_it_is(scene: Scene) -> None:
    before = {path.name: path.read_bytes() for path in scene.export.iterdir()}
    run(scene)
    assert {path.name: path.read_bytes() for path in scene.export.iterdir()} == before


def test_git_inherits_the_lock_of_the_launch(scene: Scene, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    script = f'ls -l /proc/self/fd | grep -o "/launches/.*/lock" >{seen}; exec "$real" "$@"'
    with faked(tmp_path, "index-pack", script):
        run(scene)
    assert seen.read_text() == f"/launches/{LAUNCH}/lock\n"


# --- done once -----------------------------------------------------------------------------------


def test_a32_an_import_that_is_done_begins_no_step_and_no_index_pack(
    scene: Scene, tmp_path: Path
) -> None:
    first = run(scene)
    assert first.report is not None
    told: list[Step] = []
    files = Telling()
    with (
        faked(tmp_path, "index-pack", "echo 'fatal: called again' >&2; exit 1"),
        scene.opened(World(files)) as repository,
    ):
        files.seen.clear()
        again = import_candidate(repository, LAUNCH, on_step=told.append)
        assert again == (first.receipt, None, {}, 0.0)
        assert told == []
        # The lock of the launch, and what a crash could have left.
        assert files.seen == ["create lock", "truncate lock", "write lock"]


def test_a35_an_import_whose_pack_was_lost_is_done_again_with_the_same_receipt(
    scene: Scene,
) -> None:
    first = run(scene, Clock(50).world())
    lose_pack(scene, first.receipt)
    again = run(scene, Clock(99).world())
    assert again.receipt == first.receipt
    assert again.report is not None
    assert list(again.seconds) == list(Step)
    with scene.opened() as repository:
        publish.read_back(repository, first.receipt)
    keep = packs_of(scene) / f"{first.receipt.pack.name}.keep"
    assert keep.read_text() == f"git-candidate.keep/1\n{LAUNCH}\n"


def test_another_candidate_is_not_taken_for_the_one_that_was_lost(scene: Scene) -> None:
    first = run(scene)
    lose_pack(scene, first.receipt)
    scene.host.commit({"other": b"other\n"})
    scene.offer()
    with pytest.raises(ImportRefused) as refused:
        run(scene)
    assert (refused.value.code, refused.value.step) == (OTHER_CANDIDATE, Step.PUBLISH)
    told = f"the receipt is for {first.receipt.candidate}, here is {scene.host.candidate}"
    assert refused.value.message == told
    assert list(packs_of(scene).glob("*.keep")) == []


def test_another_bundle_of_the_same_candidate_is_not_taken_for_the_one_of_the_receipt(
    scene: Scene,
) -> None:
    # git would make the same pack of it; but the receipt names the bytes that were verified.
    first = run(scene)
    lose_pack(scene, first.receipt)
    scene.offer(scene.host.bundle(ref="refs/heads/another"))
    with pytest.raises(ImportRefused) as refused:
        run(scene)
    assert (refused.value.code, refused.value.step) == (OTHER_CANDIDATE, Step.PUBLISH)
    scene.offer()
    assert run(scene).receipt == first.receipt


@pytest.mark.parametrize("part", ["sha256", "index"], ids=["pack", "index"])
def test_a35_another_file_made_of_the_same_artifact_contradicts_the_receipt(
    part: str, scene: Scene
) -> None:
    first = run(scene).receipt
    lose_pack(scene, first)
    pack = msgspec.structs.replace(first.pack, **{part: "0" * 64})
    other = msgspec.structs.replace(first, pack=pack)
    receipt = scene.state / "launches" / LAUNCH / "receipt.json"
    receipt.write_bytes(receipts.write_receipt(other))
    with pytest.raises(ImportRefused, match="git makes another pack or index") as refused:
        run(scene)
    assert (refused.value.code, refused.value.step) == (RECEIPT_CONTRADICTED, Step.PUBLISH)
    assert list(packs_of(scene).glob("*.keep")) == []
    assert list(packs_of(scene).glob(f"{first.pack.name}.*")) == []


def test_nothing_is_imported_under_a_launch_that_was_discarded(scene: Scene) -> None:
    with scene.opened() as repository:
        discard(repository, LAUNCH)
        with pytest.raises(ImportRefused, match="was discarded") as refused:
            import_candidate(repository, LAUNCH)
        assert show(repository.state, LAUNCH).state == "discarded"
    assert refused.value.code is LAUNCH_DISCARDED


def test_a_launch_whose_preparation_did_not_end_is_given_up_by_an_import(scene: Scene) -> None:
    with scene.opened() as repository:
        with opened(repository.state, LAUNCH, timeout=0) as file:
            file.append(Preparing(at=1))
        with pytest.raises(ImportRefused, match="was discarded") as refused:
            import_candidate(repository, LAUNCH)
        assert show(repository.state, LAUNCH).state == "discarded"
    assert (refused.value.code, refused.value.step) == (LAUNCH_DISCARDED, Step.BEFORE)


# --- what the receipt says -----------------------------------------------------------------------


@pytest.mark.parametrize("thin", [False, True], ids=["whole", "thin"])
@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_a_receipt_says_what_git_says(fmt: str, thin: bool, tmp_path: Path) -> None:
    host = make_host(tmp_path, "sha256" if fmt == "sha256" else "sha1")
    old = real_git(host.repo, "cat-file", "blob", f"{host.base}:dir0/file0.txt").stdout
    host.commit({"dir0/file0.txt": old + b"more\n"})
    host.commit({"dir0/file0.txt": old})
    scene = launch(host, tmp_path, world=Clock(10).world())
    bundle = host.bundle(thin=thin)
    scene.offer(bundle)
    receipt = run(scene, Clock(20).world()).receipt

    path = packs_of(scene) / receipt.pack.name
    pack = path.with_suffix(".pack").read_bytes()
    index = path.with_suffix(".idx").read_bytes()
    shown = real_git(host.repo, "show-index", f"--object-format={fmt}", input=index).stdout
    found = {line.split()[1].decode() for line in shown.splitlines()}
    listed = real_git(host.repo, "rev-list", "--objects", host.candidate, f"^{host.base}").stdout
    brought = {line.split()[0] for line in listed.decode().splitlines()}
    assert brought <= found
    assert (receipt.pack.bytes, receipt.pack.sha256) == (len(pack), sha256(pack).hexdigest())
    assert receipt.pack.index == sha256(index).hexdigest()
    assert receipt.pack.appended == len(found) - receipt.objects.count
    assert (receipt.pack.appended > 0) == thin
    ours = real_git(host.producer, "rev-list", "--objects", host.candidate, f"^{host.base}").stdout
    names = sorted(line.split()[0] for line in ours.splitlines())
    lines = b"".join(name + b"\n" for name in names)
    assert receipt.objects == receipts.Objects(count=len(names), sha256=sha256(lines).hexdigest())

    assert (receipt.base, receipt.candidate) == (host.base, host.candidate)
    assert receipt.commits == host.commits
    assert receipt.artifact.sha256 == sha256(bundle).hexdigest()
    assert (receipt.artifact.bytes, receipt.object_format) == (len(bundle), fmt)
    assert receipt.times == receipts.Times(launched=10, verified=20, published=20)
    assert receipt.git == receipts.GitVerdict(version=layout.version(), relaxed=[])
    assert receipt.packcheck == receipts.PackcheckVerdict(
        version=version.installed() or "", policy="candidate", found={}
    )
    record = scene.record
    for name in ("launch", "issue", "run", "phase", "repository"):
        assert getattr(receipt, name) == getattr(record, name)


# --- what it gives away --------------------------------------------------------------------------


def spoilt(scene: Scene, how: str) -> None:
    """Let what was offered be refused, or fail."""
    artifact, document = scene.export / scene.record.artifact, scene.export / v1.NAME
    if how == "forged":
        scene.offer(key="00" * 32)
    elif how == "damaged":
        document.write_bytes(document.read_bytes()[:-9])
    elif how == "another run":
        scene.offer(run="run-8")
    elif how == "corrupt":
        content = artifact.read_bytes()
        scene.offer(content[:-30] + bytes(30))
    elif how == "missing":
        artifact.unlink()


def texts(error: BaseException) -> Iterator[str]:
    """All that a person or a log may see of an error, and of what it came from."""
    seen: BaseException | None = error
    while seen is not None:
        yield from (str(seen), repr(seen), repr(seen.args), repr(getattr(seen, "__notes__", "")))
        yield repr(getattr(seen, "report", ""))
        seen = seen.__cause__ or seen.__context__


@pytest.mark.parametrize(
    "how", ["honest", "forged", "damaged", "another run", "corrupt", "missing", "full"]
)
def test_the_key_is_in_the_journal_and_nowhere_else(
    how: str, scene: Scene, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    spoilt(scene, how)
    files = Telling(["write tmp_staged"] if how == "full" else [])
    said: list[str] = []
    try:
        said.append(repr(run(scene, World(files))))
    except ImporterError as error:
        said += texts(error)
    assert (how == "honest") == (len(said) == 1)
    with scene.opened() as repository:
        shown = show(repository.state, LAUNCH)
        said += [repr(shown), str(shown), repr(shown.record), f"{shown.record}"]
    said += [caplog.text, *capfd.readouterr()]
    assert [text for text in said if KEY in text] == []
    secret = (KEY.encode(), bytes.fromhex(KEY))
    found = {path.name for path in scene.folder.rglob("*") if path.is_file() and not
             path.is_symlink() and any(key in path.read_bytes() for key in secret)}  # fmt: skip
    assert found == {"journal"}


HOSTILE = {
    "an escape": "\x1b]0;owned\x07",
    "a line feed": "a\nrefs/heads/main",
    "a mark that turns text around": "a\u202eb",
    "bytes that are no text": "a\udcffb",
}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_untrusted_text_is_escaped_wherever_it_is_shown(name: str, tmp_path: Path) -> None:
    host = make_host(tmp_path)
    quoted = "".join(f"\\{byte:03o}" for byte in os.fsencode(name))
    host.commit({f'"{quoted}/.git"': b"x"})
    scene = launch(host, tmp_path)
    scene.offer()
    with pytest.raises(ImportRefused) as refused:
        run(scene)
    with scene.opened() as repository:
        refusal = show(repository.state, LAUNCH).refusal
    assert refusal is not None
    assert refusal.findings
    said = [str(refused.value), refused.value.message, refusal.message]
    for finding in refusal.findings:
        said += [finding.message, finding.path or ""]
    assert any("\\" in text for text in said)
    assert [text for text in said if not (text.isascii() and text.isprintable())] == []
    stored = (scene.state / "launches" / LAUNCH / "refusal.json").read_bytes()
    assert stored[:-1].decode("ascii").isprintable()


# --- refusals that cannot be recorded -------------------------------------------------------------


@pytest.mark.parametrize(
    "failing", ["write tmp_refusal.json", "rename tmp_refusal.json refusal.json", "write journal"]
)
def test_a_refusal_that_cannot_be_recorded_is_raised_all_the_same(
    failing: str, scene: Scene
) -> None:
    scene.offer(run="run-8")
    before = open_descriptors()
    with pytest.raises(ImportRefused, match="bindingMismatch") as refused:
        run(scene, World(Telling([failing])))
    assert open_descriptors() == before
    assert refused.value.__notes__ == [
        "the refusal could not be recorded: [Errno 28] No space left on device"
    ]
    with scene.opened() as repository:
        shown = show(repository.state, LAUNCH)
    # Nothing says that it was refused before it can be told why.
    assert shown.state == "launched"
    assert (shown.refusal is not None) == (failing == "write journal")


def test_a_refusal_that_breaks_the_bounds_of_a_record_is_raised_all_the_same(
    scene: Scene,
) -> None:
    odd = Code("no code", POLICY, "", "")

    def refuse(_step: Step) -> None:
        raise ImportRefused(odd, "it")

    with pytest.raises(ImportRefused) as refused:
        run(scene, on_step=refuse)
    assert refused.value.code is odd
    (note,) = refused.value.__notes__
    assert note.startswith("the refusal could not be recorded: recordInvalid")
    assert run(scene).receipt.candidate == scene.host.candidate


def test_a_refusal_that_a_full_journal_has_no_room_for_is_raised_all_the_same(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importer.journal._RESERVE", 64 << 20)
    scene.offer(run="run-8")
    with pytest.raises(ImportRefused, match="bindingMismatch") as refused:
        run(scene)
    (note,) = refused.value.__notes__
    assert note.startswith("the refusal could not be recorded: journalFull")


def test_a_launch_whose_journal_is_full_can_be_discarded_and_no_more(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importer.journal._RESERVE", 64 << 20)
    with pytest.raises(ImportFailed) as failed:
        run(scene)
    assert (failed.value.code, failed.value.step) == (JOURNAL_FULL, Step.JOURNAL)
    assert not failed.value.retry
    assert list(packs_of(scene).glob("*.keep")) == []
    with scene.opened() as repository:
        assert discard(repository, LAUNCH).state == "discarded"
