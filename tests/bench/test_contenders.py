"""Each contender by itself: how it is called, and which of its runs count."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench import contenders, together
from bench.contenders import RELAXED_IDS, Beside, Dulwich, IndexPack, Packcheck, Strictness
from bench.fsck import Fsck
from bench.inputs import Input, from_argument
from bench.place import Call, End, Place, last_line
from bench.results import BESIDE, CONTENDERS, DULWICH, FSCK, GIT_ONE, PACKCHECK_ONE, About, Row
from bench.run import Bench, Plan
from tests.bench.made import about
from tests.support import packs

OURS = [sys.executable, "-m", "packparse"]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def pack_in(folder: Path, data: bytes) -> Input:
    file = folder / "it.pack"
    file.write_bytes(data)
    return from_argument(str(file), folder / "input")


def one_round(
    folder: Path, pack: bytes, *names: str, ours: list[str] = OURS, beside: list[str] | None = None
) -> Row:
    plan = Plan(ours, names, 1, beside)
    return Bench(folder, plan, lambda _message: None).compare(pack_in(folder, pack))


def ended(folder: Path, code: int, stdout: bytes = b"", stderr: bytes = b"") -> End:
    end = End(code, folder / "stdout", folder / "stderr")
    end.stdout.write_bytes(stdout)
    end.stderr.write_bytes(stderr)
    return end


def history_with(mode: bytes, name: bytes) -> bytes:
    """A pack of one commit with one file in a folder of this mode and name."""
    builder = packs.PackBuilder()
    blob = builder.add("blob", b"text\n")
    inner = builder.add("tree", packs.tree_bytes([(b"100644", b"file", blob.oid)]))
    outer = builder.add("tree", packs.tree_bytes([(mode, name, inner.oid)]))
    builder.add("commit", packs.commit_bytes(outer.oid))
    return builder.build()


# --- packcheck ------------------------------------------------------------------------------------


def test_packcheck_gets_its_jobs_and_the_format(place: Place) -> None:
    item = Input(about(), Path("x.bundle"), Path("x.pack"))
    call = Packcheck(place, item, ["ours"], 2, "--policy", "mirror").call()
    expected = "ours verify --policy mirror --jobs 2 --limits history x.bundle"
    assert call.command == expected.split()
    assert "PYTHONDONTWRITEBYTECODE" not in call.env
    told = Input(About("x", 1, 1, "sha256"), item.file, item.pack)
    assert Packcheck(place, told, ["ours"], 1).call().command[-3:-1] == [
        "--object-format",
        "sha256",
    ]


def test_old_histories_are_measured_under_the_policy_for_them(tmp_path: Path) -> None:
    pack = history_with(b"040000", b"folder")
    row = one_round(tmp_path, pack, PACKCHECK_ONE, GIT_ONE, FSCK, beside=OURS)
    assert row.relaxed
    assert {name: outcome.failure for name, outcome in row.outcomes.items()} == {
        PACKCHECK_ONE: None,
        GIT_ONE: None,
        # It says that the mode is odd, and has looked at all four objects.
        FSCK: None,
        # Without a policy it is refused, after all of it was looked at.
        BESIDE: None,
    }


def test_packcheck_itself_may_not_refuse_what_it_has_looked_at(tmp_path: Path) -> None:
    row = one_round(tmp_path, history_with(b"40000", b".git"), PACKCHECK_ONE, beside=OURS)
    failure = row.outcomes[PACKCHECK_ONE].failure
    assert failure is not None
    assert failure.startswith("exit 3: ")
    assert row.outcomes[BESIDE].failure is None


# What it is asked for is older than policies and jobs.
STANDS_IN = (
    "import sys; print({text!r}); "
    "sys.exit({code} if sys.argv[1:-1] == ['verify', '--limits', 'history'] else 9)"
)


@pytest.mark.parametrize(
    ("text", "code", "counts"),
    [
        ("accepted", 0, True),
        ("pack, sha1: 3 commits, 4 trees, 2 blobs, 1 tags; 0", 1, True),
        ("pack, sha1: 3 commits, 4 trees, 2 blobs, 1 tags; 0", 3, True),
        ("pack, sha1: 3 commits, 4 trees, 2 blobs, 1 tags; 0", 4, False),
        ("pack, sha1: 3 commits, 4 trees, 1 blobs, 1 tags; 0", 1, False),
        ("unexpected", 1, False),
    ],
    ids=[
        "accepted",
        "refused as corrupt after all objects",
        "refused by policy after all objects",
        "stopped by a limit",
        "refused before the end",
        "no report",
    ],
)
def test_which_runs_of_another_version_count(
    tmp_path: Path, text: str, code: int, *, counts: bool
) -> None:
    beside = [sys.executable, "-c", STANDS_IN.format(text=text, code=code)]
    row = one_round(tmp_path, packs.small_honest_pack(), beside=beside)
    assert row.outcomes[BESIDE].failure == (None if counts else f"exit {code}: {text}")
    assert row.failed != counts


def test_another_version_that_could_take_more_is_told_to_take_one_process(place: Place) -> None:
    item = pack_in(place.folder, packs.small_honest_pack())
    beside = Beside(place, item, [sys.executable, "-c", "print('  --jobs N')"])
    beside.prepare()
    assert beside.call().command[3:-1] == ["verify", "--jobs", "1", "--limits", "history"]


# --- git ------------------------------------------------------------------------------------------


def test_git_is_relaxed_once_and_for_old_oddities_alone(place: Place) -> None:
    item = pack_in(place.folder, packs.small_honest_pack())
    strictness = Strictness()
    one, two = (IndexPack(place, item, threads, strictness) for threads in (1, 2))
    assert "--strict" in one.call().command
    assert not one.again(ended(place.folder, 128, b"", b"error: object: gitmodulesUrl: no\n"))
    old = ended(place.folder, 128, b"", b"fatal: object: badTimezone: no\n")
    assert one.again(old)
    assert not one.again(old)
    relaxed = "--strict=" + ",".join(f"{known}=ignore" for known in RELAXED_IDS)
    assert relaxed in two.call().command
    assert "--threads=2" in two.call().command


def test_git_may_print_the_id_of_the_pack_and_nothing_else(place: Place) -> None:
    contender = IndexPack(place, pack_in(place.folder, b"PACK"), 1, Strictness())
    assert contender.failure(ended(place.folder, 0, b"ab" * 20 + b"\n")) is None
    more = ended(place.folder, 0, b"ab" * 20 + b"\nmore\n")
    assert contender.failure(more) == "unexpected output: more"


def test_a_run_leaves_no_index(place: Place) -> None:
    item = pack_in(place.folder, packs.small_honest_pack())
    contender = IndexPack(place, item, 1, Strictness())
    _, end = place.measure(contender.call())
    assert contender.failure(end) is None
    assert item.pack.with_suffix(".idx").exists()
    contender.clear()
    assert not item.pack.with_suffix(".idx").exists()


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_fsck_walks_from_what_nothing_names(place: Place, fmt: str) -> None:
    example = packs.small_honest(fmt)
    contender = Fsck(place, pack_in(place.folder, example.pack))
    contender.prepare()
    _, end = place.measure(contender.call())
    assert contender.failure(end) is None
    (refs,) = contender.call().folder.glob("refs/bench/*")
    tips = {handle.hex for handle in example.handles if handle is example.tag}
    assert {refs.read_text("ascii").strip()} == tips


@pytest.mark.parametrize(
    ("code", "stdout", "failure"),
    [
        (0, b"", None),
        (4, b"", "exit 4: why"),
        (0, b"missing blob 12\n", "unexpected output: missing blob 12"),
    ],
    ids=["as before", "another status", "something is not there"],
)
def test_fsck_has_to_end_as_when_it_named_every_object(
    place: Place, code: int, stdout: bytes, failure: str | None
) -> None:
    contender = Fsck(place, pack_in(place.folder, packs.small_honest_pack()))
    assert contender.failure(ended(place.folder, code, stdout, b"why\n")) == failure


def test_fsck_has_to_name_every_object(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    contender = Fsck(place, pack_in(place.folder, packs.small_honest_pack()))
    monkeypatch.setattr("bench.fsck._FSCK", ["true"])
    with pytest.raises(contenders.NotReadyError, match="exit 0 after 0 objects"):
        contender.prepare()


# --- dulwich --------------------------------------------------------------------------------------

# As much of dulwich as the script asks for: a pack is lines, and one of them is odd.
DULWICH_FILES = {
    "__init__": "",
    "errors": """
class ChecksumMismatch(Exception): pass
class ObjectFormatException(Exception): pass
""",
    "object_format": "SHA1, SHA256 = 'one', 'two'",
    "pack": """
from pathlib import Path
from dulwich.errors import ChecksumMismatch, ObjectFormatException

class Item:
    def __init__(self, line): self.line = line
    def check(self):
        if self.line == "odd": raise ObjectFormatException

class PackData:
    def __init__(self, path, format):
        self.lines, self.format = Path(path).read_text().split(), format
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def check(self):
        if self.format != "two": raise ChecksumMismatch

class PackInflater:
    @staticmethod
    def for_pack_data(data): return map(Item, data.lines)
""",
}


@pytest.fixture
def stands_in(place: Place) -> Place:
    folder = place.folder / "site" / "dulwich"
    folder.mkdir(parents=True)
    for name, text in DULWICH_FILES.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    place.our_env["PYTHONPATH"] = str(folder.parent)
    return place


@pytest.mark.parametrize(
    ("fmt", "objects", "failure"),
    [
        ("sha256", 3, None),
        ("sha256", 30, "unexpected output: 3 objects, 1 of them odd"),
        ("sha1", 3, "exit 1: dulwich.errors.ChecksumMismatch"),
    ],
    ids=["all objects, one of them odd", "not all of them", "refused"],
)
def test_dulwich_has_to_look_at_every_object(
    stands_in: Place, fmt: str, objects: int, failure: str | None
) -> None:
    file = stands_in.folder / "x.pack"
    file.write_text("blob\nodd\ntree\n", "ascii")
    item = Input(About("x", 1, objects, fmt), file, file)
    contender = Dulwich(stands_in, item)
    _, end = stands_in.measure(contender.call())
    assert contender.failure(end) == failure


@pytest.mark.parametrize("there", [True, False], ids=["installed", "not installed"])
def test_dulwich_runs_where_it_can_be_imported(
    monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: there or None)
    assert contenders.installed() == [n for n in CONTENDERS if there or n != DULWICH]


# --- running --------------------------------------------------------------------------------------

HOLDS = "held = b'x' * (40 << 20); print(flush=True); input()"
STARTS_TWO = f"""
import subprocess, sys
hold = [sys.executable, "-S", "-c", {HOLDS!r}]
many = [subprocess.Popen(hold, stdin=-1, stdout=-1) for _ in range(2)]
for one in many:
    one.stdout.readline()
print(flush=True)
input()
for one in many:
    one.communicate(b"end")
"""


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc")
def test_the_memory_of_two_processes_is_that_of_both() -> None:
    command = [sys.executable, "-c", STARTS_TWO]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert 80 << 10 < together.held(child.pid) < 130 << 10
        child.communicate(b"end")
    assert together.held(child.pid) == 0


def test_the_highest_of_all_looks_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([5, 9, 7])
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:

        def held(process: int) -> int:
            assert process == child.pid
            seen = next(looks, 0)
            if not seen and child.stdin is not None:
                child.stdin.close()
            return seen

        monkeypatch.setattr(together, "held", held)
        assert together.watch(child) == 9


def test_where_nothing_is_told_nothing_is_held(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    children = tmp_path / "1" / "task" / "1" / "children"
    children.parent.mkdir(parents=True)
    children.write_text("2 3 ", "ascii")
    (tmp_path / "2").mkdir()
    (tmp_path / "2" / "smaps_rollup").write_text("Rss: 9 kB\nPss: 4 kB\n", "ascii")
    (tmp_path / "3").mkdir()
    (tmp_path / "3" / "smaps_rollup").write_text("Rss: 9 kB\n", "ascii")
    monkeypatch.setattr(together, "_PROC", tmp_path)
    assert together.held(1) == 4


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (b"one\ntwo\n\n", "two"),
        (b"\x1b[31mred\xff\n", "?[31mred?"),
        (b"", ""),
        (b"x" * 5_000, "x" * 200),
    ],
    ids=["the last line", "nothing for a terminal", "nothing", "the end of a long one"],
)
def test_what_a_run_says_is_one_line(tmp_path: Path, printed: bytes, said: str) -> None:
    file = tmp_path / "said"
    file.write_bytes(printed)
    assert last_line(file) == said


def test_a_failure_names_no_path_of_the_machine(place: Place) -> None:
    end = ended(place.folder, 7, b"", f"fatal: {place.folder}/it.pack is bad\n".encode())
    assert place.failure(end) == "exit 7: fatal: /it.pack is bad"
    assert place.failure(ended(place.folder, 7)) == "exit 7: no output"


def test_a_helper_that_cannot_start_is_no_result(place: Place) -> None:
    call = Call(["no-such-command-anywhere"], place.folder, place.our_env)
    with pytest.raises(subprocess.CalledProcessError):
        place.measure(call)
