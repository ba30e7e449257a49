"""Options of the command: what the trusted side asks for and knows, and how it is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from packparse import policy, progress
from packparse.options import Options
from packparse.policy import Policy
from packparse.report import Report
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.bundles import Text, bundle
from tests.support.commands import FILES, child, run, write_files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file for each class, which is also where the command runs."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- the range ----------------------------------------------------------------------------------

BASE = packs.outside("commit", packs.commit_bytes(packs.oid("tree", b"")))
RANGE = packs.small_honest(tagged=False, base=BASE.oid)
OTHER = "cd" * 20


@pytest.fixture
def ranged(folder: Path) -> Path:
    """The folder with a bundle of a range, what its producer was given, and a pack of that."""
    refs: list[tuple[Text, Text] | bytes] = [(RANGE.commit.hex, "refs/heads/main")]
    (folder / "range").write_bytes(bundle(RANGE.pack, refs, [BASE.hex]))
    (folder / "known").write_text(f"{BASE.hex} commit\n{packs.oid('tree', b'').hex()} tree\n")
    pack = packs.PackBuilder()
    pack.add("tree", b"")
    pack.add("commit", BASE.data)
    (folder / "base.pack").write_bytes(pack.build())
    return folder


def found(out: str) -> list[str]:
    return [finding["code"] for finding in json.loads(out)["findings"]]


# arguments -> (status, codes)
ASKED: dict[str, tuple[tuple[str, ...], int, list[str]]] = {
    "nothing": ((), 0, ["uncheckedLinks"]),
    "the range": (("--base", BASE.hex, "--tip", RANGE.commit.hex), 0, ["baseNotCompared"]),
    "the range, its base at hand": (
        ("--base", BASE.hex, "--tip", RANGE.commit.hex, "--base-pack", "base.pack"), 0, [],
    ),
    "two bases": (
        ("--base", BASE.hex, "--base", OTHER, "--tip", RANGE.commit.hex), 0, ["baseNotCompared"],
    ),
    "another tip": (("--tip", OTHER), 5, ["uncheckedLinks", "missingTip"]),
    "what was given": (("--known", "known"), 0, []),
    "the base alone": (("--base", BASE.hex), 0, ["baseNotCompared"]),
    "all of it": (
        ("--base", BASE.hex, "--tip", RANGE.commit.hex, "--known", "known",
         "--base-pack", "base.pack", "--policy", "candidate", "--progress", "never"), 0, [],
    ),
}  # fmt: skip


@pytest.mark.usefixtures("ranged")
@pytest.mark.parametrize("name", ASKED)
def test_a_range_is_asked_for(capsys: pytest.CaptureFixture[str], name: str) -> None:
    arguments, status, codes_found = ASKED[name]
    got, out, err = run(capsys, "verify", "--format=json", *arguments, "range")
    assert (got, err) == (status, "")
    assert found(out) == codes_found


# A3: whole ids in lower case, all of one format.
NO_OIDS = {
    "a short id": "ab" * 19 + "a",
    "an id with a digit more": "ab" * 20 + "a",
    "an id in capitals": "AB" * 20,
    "a name": "main",
    "nothing": "",
    "an id with a line feed": "ab" * 20 + "\n",
    "an id with a space": " " + "ab" * 20,
    "an id in other digits": "\uff11" * 40,
    "a sign": "-" + "a" * 39,
}


@pytest.mark.usefixtures("ranged")
@pytest.mark.parametrize("option", ["--base", "--tip"])
@pytest.mark.parametrize("name", NO_OIDS)
def test_what_is_no_whole_id_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], name: str, option: str
) -> None:
    text = NO_OIDS[name]
    status, out, err = run(capsys, "verify", f"{option}={text}", "range")
    assert (status, out) == (2, "")
    message = f"packcheck: {option} {text}: give the whole id, 40 or 64 digits in lower case"
    assert err.rstrip("\n") in {message, f"{message}, as git rev-parse {text} prints it"}


@pytest.mark.usefixtures("ranged")
@pytest.mark.parametrize(
    "arguments",
    [
        ("--base", "ab" * 20, "--tip", "cd" * 32),
        ("--base", "ab" * 20, "--base", "cd" * 32),
        ("--tip", "ab" * 20, "--object-format", "sha256"),
        ("--base", "ab" * 32, "--object-format=sha1"),
    ],
    ids=" ".join,
)
def test_ids_of_two_formats_are_a_usage_error(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    status, out, err = run(capsys, "verify", *arguments, "range")
    assert (status, out) == (2, "")
    assert err == "packcheck: --base, --tip and --object-format are of different object formats\n"


def test_an_id_says_the_object_format(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    example = packs.small_honest("sha256", tagged=False)
    (folder / "p").write_bytes(example.pack)
    assert run(capsys, "verify", "p")[0] == 1
    assert run(capsys, "verify", "--tip", example.commit.hex, "p")[0] == 0


# (what stands in the file, the option, the status, what is said)
TRUSTED: dict[str, tuple[str | None, str, int, str]] = {
    "no list": (
        None, "--known", 6,
        "cannotRead: the list of known objects trusted cannot be read: No such file or directory",
    ),
    "a list of names": (
        "main\n", "--known", 2, "the list of known objects trusted: line 1: no id of sha1: main",
    ),
    "a list of the other format": (
        "ab" * 32, "--known", 2, "the list of known objects trusted: line 1: an id of sha256",
    ),
    "no base pack": (
        None, "--base-pack", 6,
        "cannotRead: the base pack trusted cannot be read: No such file or directory",
    ),
    "a base pack that is none": (
        "PUCK", "--base-pack", 6, "corruptBaseObject: the base pack trusted cannot be used: ",
    ),
    "no policy": (
        None, "--policy", 2, "no policy 'trusted': give a file, or one of candidate, fork, mirror",
    ),
    "a policy that is no TOML": ("nonsense", "--policy", 2, "policy trusted: "),
    "a policy with an unknown code": (
        '[severity]\nnoSuch = "error"\n', "--policy", 2,
        "policy trusted: severity.noSuch: there is no such code",
    ),
    "a policy that touches what it may not": (
        '[severity]\nbadDeflate = "note"\n', "--policy", 2,
        "policy trusted: severity.badDeflate: cannot be set",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUSTED)
def test_what_the_trusted_side_gives_is_judged_before_the_file(
    capsys: pytest.CaptureFixture[str], ranged: Path, name: str
) -> None:
    text, option, status, said = TRUSTED[name]
    if text is not None:
        (ranged / "trusted").write_text(text)
    got, out, err = run(capsys, "verify", option, "trusted", "range")
    assert (got, out) == (status, "")
    assert err.startswith(f"packcheck: {said}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(("text", "status"), [("", 5), (f"# base\n{BASE.hex}\n", 0)], ids=repr)
def test_links_may_leave_the_file_for_known_objects_alone(
    capsys: pytest.CaptureFixture[str], ranged: Path, text: str, status: int
) -> None:
    (ranged / "list").write_text(text)
    assert run(capsys, "verify", "--known", "list", "range")[0] == status


def thin_packs(folder: Path) -> int:
    """Write two thin packs and a pack of their bases; return the size of a base."""
    given = packs.PackBuilder()
    for name in ("a", "b"):
        thin = packs.PackBuilder()
        base = packs.outside("blob", name.encode() * 1_000)
        thin.add_ref(base, packs.edit(base.data, 0, 1, b"the")[0])
        given.add("blob", base.data)
        (folder / f"thin-{name}").write_bytes(thin.build())
    (folder / "given").write_bytes(given.build())
    return 1_000


def test_a_thin_pack_needs_its_base_pack(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    thin_packs(folder)
    assert run(capsys, "verify", "thin-a")[0] == 5
    assert run(capsys, "verify", "--base-pack", "given", "thin-a", "0", "thin-b")[0] == 0
    (folder / "other").write_bytes(FILES[0])
    assert run(capsys, "verify", "--base-pack=other", "--base-pack=given", "thin-a")[0] == 0
    assert run(capsys, "verify", "--base-pack=other", "thin-a")[0] == 5


def test_what_one_file_asks_of_a_base_pack_leaves_as_much_for_the_next(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    most = thin_packs(folder)
    for over in (0, 1):
        limit = f"--limit=restored_bytes={most - over}"
        got = run(capsys, "verify", limit, "--base-pack", "given", "thin-a", "thin-b")
        assert got[0] == 4 * over
        assert got[1].count(": accepted, ") == 2 * (1 - over)


# --- policies -----------------------------------------------------------------------------------


def test_a_policy_decides(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "lax.toml").write_text('[severity]\ndashRefName = "warn"\n[limits]\nobjects = 10\n')
    status, out, _ = run(capsys, "verify", "--format=json", "--policy", "lax.toml", "3")
    report = json.loads(out)
    assert (status, report["policy"], report["limits"]["objects"]) == (0, "lax.toml", 10)
    assert [(f["code"], f["severity"]) for f in report["findings"]] == [("dashRefName", "warning")]
    # What is asked for by hand goes before the policy.
    for argument, objects in (("--limit=objects=9", 9), ("--limits=history", 10)):
        line = run(capsys, "verify", "--format=json", "--policy=lax.toml", argument, "3")[1]
        assert json.loads(line)["limits"]["objects"] == objects


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["candidate", "fork", "mirror"])
def test_the_policies_that_ship_have_names(capsys: pytest.CaptureFixture[str], name: str) -> None:
    status, out, _ = run(capsys, "verify", "--format=json", "--policy", name, "0")
    report = json.loads(out)
    assert (status, report["policy"]) == (0, name)
    wanted = Policy() if name == "candidate" else policy.named(name)
    assert report["limits"] == wanted.made_limits().as_dict()


# --- all files in one document, and progress ----------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_sarif_is_one_document_for_all_files(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "verify", "--format", "sarif", "0", "5", "6", "1")
    assert (status, err) == (6, "")
    assert out.count("\n") == 1
    (only,) = json.loads(out)["runs"]
    assert [a["location"]["uri"] for a in only["artifacts"]] == ["0", "5", "6", "1"]
    assert [a["properties"]["class"] for a in only["artifacts"]] == [0, 5, 6, 1]
    ids = [result["ruleId"] for result in only["results"] if result["level"] == "error"]
    assert ids == ["missingTip", "cannotRead", "packChecksumMismatch"]
    assert only["invocations"][0]["exitCode"] == 6


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("mode", "told"), [("always", True), ("auto", False), ("never", False)])
def test_progress_is_told_on_standard_error_alone(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    told: bool,
) -> None:
    # Here it is no terminal. Nothing is said in the first second, which is over at once.
    monkeypatch.setattr(progress, "_QUIET", 0)
    monkeypatch.setattr(progress, "_PLAIN_STEP", 0)
    plain = run(capsys, "verify", "0", "1")
    status, out, err = run(capsys, "verify", "--progress", mode, "0", "1")
    assert (status, out) == plain[:2]
    assert bool(err) == told
    assert all(line.startswith("packcheck: ") for line in err.splitlines())
    assert ("packcheck: checking\n" in err) == told


# --- standard input ---


@pytest.mark.parametrize("klass", [0, 1, 4, 5])
def test_the_program_verifies_what_comes_on_standard_input(folder: Path, klass: int) -> None:
    status, out, err = child("verify", "-", cwd=folder, stdin=FILES[klass])
    assert (status, err) == (klass, "")
    assert out.startswith(f"-: {'refused' if klass else 'accepted'}, ")
    _, out, _ = child("verify", "--format=json", "0", "-", cwd=folder, stdin=FILES[klass])
    reports = [json.loads(line) for line in out.splitlines()]
    assert [r["input"]["name"] for r in reports] == ["0", "-"]
    assert [r["class"] for r in reports] == [0, klass]


MISUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "two lists": (
        ("--known", "known", "--known", "known"),
        "--known: give it once; here it is 'known' and 'known'",
    ),
    "two policies": (
        ("--policy", "fork", "--policy", "mirror"),
        "--policy: give it once; here it is 'fork' and 'mirror'",
    ),
    "a list of another base": (
        ("--known", "known", "--base", OTHER),
        f"--known known: the list does not hold the base {OTHER}",
    ),
}


@pytest.mark.usefixtures("ranged")
@pytest.mark.parametrize("name", MISUSED)
def test_options_that_do_not_go_together_are_misused(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    arguments, said = MISUSED[name]
    status, out, err = run(capsys, "verify", *arguments, "range")
    assert (status, out) == (2, "")
    assert said in err


# --- processes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["0", "-1", "257", "two", "1.5", "", "\u0662"])
def test_a_number_of_jobs_that_makes_no_sense_is_a_usage_error(
    folder: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    status, out, err = run(capsys, "verify", f"--jobs={value}", str(folder / "0"))
    assert (status, out) == (2, "")
    assert err == f"packcheck: --jobs {value}: give a whole number from 1 to 256\n"


@pytest.mark.parametrize("known", [True, False], ids=["a mask of processors", "their number alone"])
def test_there_are_as_many_jobs_as_processors(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    asked: list[int] = []

    def verify_path(_path: str, options: Options, _progress: object) -> Report:
        asked.append(options.jobs)
        return verify_bytes(b"")

    monkeypatch.setattr("packparse.scan.verify_path", verify_path)
    if known:
        monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {3, 5, 8})
    else:
        monkeypatch.delattr("os.sched_getaffinity")
        monkeypatch.setattr("os.cpu_count", lambda: 7)
    run(capsys, "verify", str(folder / "0"))
    run(capsys, "verify", "--jobs", "2", str(folder / "0"))
    assert asked == [3 if known else 7, 2]
