"""The command: exit status by class, several files, usage errors that say what to do."""

from __future__ import annotations

import errno
import gc
import importlib.metadata
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from packparse import __main__, checks, codes, console, limits, scan
from packparse.cli import main
from packparse.options import Options
from packparse.progress import Progress
from packparse.report import Report
from tests.support import packs
from tests.support.bundles import honest_bundle
from tests.support.commands import FILES, ROOT, child, closing, run, write_files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file for each class, which is also where the command runs."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- verify -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("klass", [0, 1, 3, 4, 5, 6])
def test_the_exit_status_is_the_class(capsys: pytest.CaptureFixture[str], klass: int) -> None:
    status, out, err = run(capsys, "verify", str(klass))
    assert (status, err) == (klass, "")
    verdict = "accepted" if klass == 0 else "refused"
    assert out.startswith(f"{klass}: {verdict}, ")
    assert klass == 0 or f" refused, class {klass} ({codes.CLASSES[klass][0]})\n" in out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("files", "status"),
    [("00", 0), ("01", 1), ("10", 1), ("0341", 4), ("53", 5), ("6010", 6), ("0543", 5)],
)
def test_of_several_files_the_highest_counts_and_all_are_reported(
    capsys: pytest.CaptureFixture[str], files: str, status: int
) -> None:
    got, out, _ = run(capsys, "verify", *files)
    assert got == status
    shown = [line.partition(":")[0] for line in out.splitlines() if not line.startswith(" ")]
    assert shown == list(files)


@pytest.mark.usefixtures("folder")
def test_json_is_one_line_for_each_file(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "verify", "--format", "json", "0", "5", "6")
    reports = [json.loads(line) for line in out.splitlines()]
    assert status == 6
    assert [r["class"] for r in reports] == [0, 5, 6]
    assert [r["input"]["name"] for r in reports] == ["0", "5", "6"]
    assert [r["verdict"] for r in reports] == ["accepted", "refused", "refused"]


@pytest.mark.usefixtures("folder")
def test_the_rules_decide(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "verify", "--rules", "candidate", "3")[0] == 3
    assert run(capsys, "verify", "--rules", "git", "3")[0] == 0


def test_a_sha256_pack_needs_to_be_told(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "p").write_bytes(packs.blob_pack(b"some text", fmt="sha256"))
    (folder / "b").write_bytes(honest_bundle("sha256"))
    status, out, _ = run(capsys, "verify", "p")
    assert status == 1
    assert "packChecksumMismatch" in out
    assert "the sha1 checksum" in out
    assert run(capsys, "verify", "--object-format", "sha256", "p", "b")[0] == 0
    assert run(capsys, "verify", "b")[0] == 0
    status, out, _ = run(capsys, "verify", "--object-format", "sha1", "b")
    assert status == 1
    assert "objectFormatMismatch" in out


# --- limits -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("objects=10", "objects", 10),
        ("objects=5k", "objects", 5 << 10),
        ("pack_bytes=3M", "pack_bytes", 3 << 20),
        ("pack-bytes=2m", "pack_bytes", 2 << 20),
        ("object_bytes=1G", "object_bytes", 1 << 30),
        ("links=1K", "links", 1 << 10),
    ],
)
def test_a_limit_is_changed(
    capsys: pytest.CaptureFixture[str], text: str, name: str, value: int
) -> None:
    status, out, _ = run(capsys, "verify", "--format=json", "--limit", text, "0")
    assert status == 0
    assert json.loads(out)["limits"] == {**limits.Limits().as_dict(), name: value}


@pytest.mark.usefixtures("folder")
def test_the_last_of_several_limits_counts_on_top_of_the_preset(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("--limits=history", "--limit=objects=1", "--limit=refs=7", "--limit=objects=10")
    status, out, _ = run(capsys, "verify", "--format=json", *arguments, "0")
    shown = json.loads(out)["limits"]
    assert status == 0
    assert shown == {**limits.Limits("history").as_dict(), "objects": 10, "refs": 7}


@pytest.mark.usefixtures("folder")
def test_a_limit_is_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "verify", "--limit", "objects=9", "0")
    assert status == 4
    assert "10 objects, the limit is 9; raise it with --limit objects=VALUE\n" in out
    assert run(capsys, "verify", "--limit", "objects=10", "0")[0] == 0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("objects", "VALUE is a whole number and may end in k, M or G"),
        ("objects=", "VALUE is a whole number and may end in k, M or G"),
        ("objects=k", "VALUE is a whole number and may end in k, M or G"),
        ("objects=-1", "VALUE is a whole number and may end in k, M or G"),
        ("objects=1.5", "VALUE is a whole number and may end in k, M or G"),
        ("objects=1T", "VALUE is a whole number and may end in k, M or G"),
        ("objects=0x10", "VALUE is a whole number and may end in k, M or G"),
        ("objects=1_000", "VALUE is a whole number and may end in k, M or G"),
        ("objects=\u0661", "VALUE is a whole number and may end in k, M or G"),
        ("objects= 1", "VALUE is a whole number and may end in k, M or G"),
        ("=5", "known: pack_bytes, objects"),
        ("object=5", "known: pack_bytes, objects"),
        ("pack=1", "known: pack_bytes, objects"),
        ("__class__=1", "known: pack_bytes, objects"),
    ],
)
def test_a_bad_limit_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], text: str, hint: str
) -> None:
    status, out, err = run(capsys, "verify", "--limit", text, "0")
    assert (status, out) == (2, "")
    assert err.startswith("packcheck: ")
    assert hint in err


@pytest.mark.usefixtures("folder")
def test_a_limit_of_five_thousand_digits_is_a_usage_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, err = run(capsys, "verify", "--limit", "objects=" + "9" * 5000, "0")
    assert (status, out) == (2, "")
    assert err.startswith("packcheck: ")


# --- usage --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ((), "required: COMMAND"),
        (("verify",), "required: FILE"),
        (("nonsense",), "invalid choice: 'nonsense'"),
        (("verify", "--rules", "strict", "0"), "invalid choice: 'strict'"),
        (("verify", "--limits", "none", "0"), "invalid choice: 'none'"),
        (("verify", "--object-format", "md5", "0"), "invalid choice: 'md5'"),
        (("verify", "--format", "xml", "0"), "invalid choice: 'xml'"),
        (("verify", "--progress", "maybe", "0"), "invalid choice: 'maybe'"),
        (("verify", "--base", "--tip", "0"), "argument --base: expected one argument"),
        (("verify", "--pol", "fork", "0"), "unrecognized arguments"),
        (("verify", "--rule", "git", "0"), "unrecognized arguments"),
        (("verify", "--nonsense", "0"), "unrecognized arguments: --nonsense"),
        (("explain",), "required: CODE"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_usage_error_is_2_and_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], hint: str
) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert hint in err
    assert "usage: packcheck" in err


def test_the_help_is_as_wide_as_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def help_for(columns: str, terminal: int | None) -> str:
        def get_terminal_size() -> os.terminal_size:
            if terminal is None:
                raise OSError
            return os.terminal_size((terminal, 24))

        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setattr(os, "get_terminal_size", get_terminal_size)
        return run(capsys, "verify", "--help")[1]

    narrow, wide, usual = help_for("60", 200), help_for("200", 60), help_for("80", 200)
    assert narrow.count("\n") > usual.count("\n") > wide.count("\n")
    assert help_for("", 60) == help_for("x", 60) == help_for("0", 60) == narrow
    assert help_for("", None) == help_for("0", 0) == usual


def test_the_help_lists_every_exit_status_and_limit(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "verify", "--help")
    assert status == 0
    for klass in range(7):
        assert f"\n  {klass}  " in out
    assert all(name in out for name in limits.SPECS)
    options = "base tip known base-pack policy rules limits limit object-format format progress"
    assert all(f"--{name} " in out for name in options.split())


def test_the_version_is_that_of_the_distribution(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", {"packcheck": "1.2.3"}.__getitem__)
    assert run(capsys, "--version") == (0, "packcheck 1.2.3\n", "")


def test_a_version_that_is_not_known_is_no_crash(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A checkout that is run without being installed.
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    status, out, _ = run(capsys, "--version")
    assert status == 0
    assert out.startswith("packcheck ")


# --- explain and checks -------------------------------------------------------------------------


@pytest.mark.parametrize("code", checks.CATALOG.values(), ids=lambda c: c.name)
def test_every_code_is_explained(capsys: pytest.CaptureFixture[str], code: codes.Code) -> None:
    status, out, err = run(capsys, "explain", code.name)
    assert (status, err) == (0, "")
    assert out.startswith(f"{code.name} (class {code.klass}, {codes.CLASSES[code.klass][0]})\n")
    assert code.meaning in out
    assert f"What to do: {code.remedy}" in out
    for rules in ("candidate", "git"):
        assert f"{rules} rules: {code.severity(rules)}" in out


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("trailingByte", "did you mean trailingBytes"),
        ("TrailingBytes", "did you mean trailingBytes"),
        ("zzz", "see packcheck checks"),
        ("\x1b[31m", "see packcheck checks"),
    ],
)
def test_an_unknown_code_is_a_usage_error_with_a_hint(
    capsys: pytest.CaptureFixture[str], name: str, hint: str
) -> None:
    status, out, err = run(capsys, "explain", name)
    assert (status, out) == (2, "")
    assert hint in err
    assert "\x1b" not in err


def test_checks_lists_every_code_once(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "checks")
    head, *rows = [line.split() for line in out.splitlines()]
    assert (status, err) == (0, "")
    assert head == ["code", "class", "candidate", "git"]
    expected = [
        [c.name, str(c.klass), c.severity("candidate"), c.severity("git")]
        for c in checks.CATALOG.values()
    ]
    assert rows == expected


# --- interruptions ------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_an_interruption_is_class_6(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_path: str, _options: Options, _progress: Progress | None) -> Report:
        raise KeyboardInterrupt

    monkeypatch.setattr(scan, "verify_path", interrupted)
    assert run(capsys, "verify", "0") == (6, "", "packcheck: interrupted\n")


def test_a_reader_that_has_gone_is_class_6_without_a_word(folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        status, _, err = child("verify", "0", "0", cwd=folder, stdout=writer)
    finally:
        os.close(writer)
    assert (status, err) == (6, "")


# Every command that writes; each as the whole of a program, whose stdout Python closes at the end.
COMMANDS = {
    "verify": ("verify", "0"),
    "verify of two": ("verify", "0", "4"),
    "verify as JSON": ("verify", "--format=json", "0"),
    "explain": ("explain", "truncated"),
    "checks": ("checks",),
}


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("arguments", [*COMMANDS.values(), ("--version",)], ids=" ".join)
def test_a_full_disk_is_class_6_and_no_traceback(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], unbuffered: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with Path("/dev/full").open("w") as full:
        status, _, err = child(*arguments, cwd=folder, stdout=full.fileno())
    assert (status, err) == (6, "packcheck: No space left on device\n")


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_closed_standard_output_is_class_6_and_no_traceback(
    folder: Path, arguments: tuple[str, ...]
) -> None:
    done = child(*arguments, cwd=folder, wrapper=closing(">&-"))
    assert done == (6, "", "packcheck: standard output is closed\n")


CLOSED = {
    "standard error": "2>&-",
    "standard input": "<&-",
    "standard input and error": "<&- 2>&-",
}


@pytest.mark.parametrize("closed", CLOSED.values(), ids=CLOSED)
@pytest.mark.parametrize("klass", FILES)
def test_what_else_is_closed_is_no_matter_for_the_verdict(
    folder: Path, klass: int, closed: str
) -> None:
    status, out, err = child("verify", str(klass), cwd=folder, wrapper=closing(closed))
    assert (status, err) == (klass, "")
    assert out == child("verify", str(klass), cwd=folder)[1]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(("explain", "nope"), 2), (("verify", "--nope"), 2)],
    ids=["no such code", "no such option"],
)
def test_nor_for_how_else_it_ends(folder: Path, arguments: tuple[str, ...], status: int) -> None:
    assert child(*arguments, cwd=folder, wrapper=closing("2>&-")) == (status, "", "")


_OPENED = """
import os, sys
from packparse import console
def work():
    assert os.open("/", os.O_RDONLY) > 2
    os.write(2, b"heard by nobody")
    return 0
sys.exit(console.run("x", work))
"""


@pytest.mark.parametrize(
    ("closed", "ended"),
    [
        ("<&-", (0, b"heard by nobody")),
        ("2>&-", (0, b"")),
        ("<&- 2>&-", (0, b"")),
        ("<&- >&- 2>&-", (6, b"")),
    ],
)
def test_no_file_gets_the_number_of_a_stream_that_is_closed(
    folder: Path, closed: str, ended: tuple[int, bytes]
) -> None:
    command = [*closing(closed), sys.executable, "-c", _OPENED]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == ended


_FAILING = """
import sys
from packparse import cli, scan
def fail(*_):
    raise {error}
scan.verify_path = fail
sys.exit(cli.main(["verify", "0"]))
"""


@pytest.mark.parametrize(
    ("error", "reason"),
    [("MemoryError", "out of memory"), ("OSError(5, 'Input/output error')", "Input/output error")],
    ids=["memory", "disk"],
)
def test_what_the_machine_lacks_is_class_6_and_no_traceback(
    folder: Path, error: str, reason: str
) -> None:
    command = [sys.executable, "-c", _FAILING.format(error=error)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr == f"packcheck: {reason}\n"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "packcheck: out of memory\n"),
        (OSError(5, "Input/output error"), "packcheck: Input/output error\n"),
        (BrokenPipeError(), ""),
    ],
    ids=["memory", "disk", "pipe"],
)
def test_what_fails_during_a_run_is_class_6_and_lets_go_of_the_output(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    said: str,
) -> None:
    def fail(_path: str, _options: Options, _progress: Progress | None) -> Report:
        raise error

    closed: list[bool] = []
    monkeypatch.setattr(scan, "verify_path", fail)
    monkeypatch.setattr(console, "_close_stdout", lambda: closed.append(True))
    assert run(capsys, "verify", "0") == (6, "", said)
    assert closed == [True]


def test_standard_error_that_is_closed_is_opened_for_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free = os.open("/", os.O_RDONLY)
    os.close(free)
    monkeypatch.setattr(console, "_STDERR", free)
    monkeypatch.setattr(sys, "stderr", None)
    assert console.run("x", lambda: 0) == 0
    assert os.path.samestat(os.fstat(free), Path(os.devnull).stat())
    assert os.get_inheritable(free)
    assert sys.stderr.fileno() == free
    os.close(free)


def test_without_a_standard_output_nothing_is_begun(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["--version"]) == 6
    assert capsys.readouterr().err == "packcheck: standard output is closed\n"


@pytest.mark.usefixtures("folder")
def test_a_mistake_of_ours_is_class_6_and_asks_for_a_report(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Status 1 would say that the file is corrupt.
    def fail(_path: str, _options: Options, _progress: Progress | None) -> Report:
        message = "not thought of"
        raise RuntimeError(message)

    monkeypatch.setattr(scan, "verify_path", fail)
    status, out, err = run(capsys, "verify", "0")
    assert (status, out) == (6, "")
    assert "RuntimeError: not thought of\n" in err
    assert err.endswith("packcheck: internal error, please report it\n")


@pytest.mark.usefixtures("folder")
def test_standard_input_is_verified_once_at_most(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "verify", "-", "0", "-")
    assert (status, out) == (2, "")
    assert err == "packcheck: standard input can be verified once\n"
    # With a folder before it the name is that of a file.
    assert run(capsys, "verify", "./-")[0] == 6


def test_the_module_runs_nothing_when_it_is_imported(capsys: pytest.CaptureFixture[str]) -> None:
    was_on = gc.isenabled()
    importlib.import_module("packparse.__main__")
    assert capsys.readouterr() == ("", "")
    assert gc.isenabled() is was_on


# --- as a program -------------------------------------------------------------------------------


def test_the_program_says_what_main_says(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert child("verify", "0", "4", cwd=folder) == run(capsys, "verify", "0", "4")


def test_a_name_that_is_no_text_is_shown_escaped(folder: Path) -> None:
    name = os.fsdecode(b"\xff\x1b.pack")
    (folder / name).write_bytes(FILES[0])
    status, out, err = child("verify", name, cwd=folder)
    assert (status, err) == (0, "")
    assert out.startswith('"\\377\\033.pack": accepted')
    _, out, _ = child("verify", "--format=json", name, cwd=folder)
    assert json.loads(out)["input"]["name"] == "\ufffd\x1b.pack"


def test_the_console_script_is_the_module() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert 'packcheck = "packparse.__main__:run"' in text
    entry: Callable[[], int] = __main__.run
    assert entry.__module__ == "packparse.__main__"


@pytest.mark.usefixtures("folder")
def test_garbage_is_collected_while_a_file_is_verified_and_only_then(folder: Path) -> None:
    script = (
        "import gc, sys, packparse.scan as scan, packparse.__main__ as it\n"
        "verify = scan.verify_path\n"
        "def watched(*given):\n"
        "    print(gc.isenabled(), gc.get_freeze_count() > 1000)\n"
        "    return verify(*given)\n"
        "scan.verify_path = watched\n"
        "gc.enable = lambda real=gc.enable: print('on', 'packparse.formats.text' in sys.modules) "
        "or real()\n"
        "status = it.run()\n"
        "print(len(gc.get_objects()) < 100)\n"
        "sys.exit(status)\n"
    )
    command = [sys.executable, "-c", script, "verify", "4", "0"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (4, "")
    assert lines[:2] == ["on True", "True True"]
    assert lines.count("True True") == 2
    assert lines[-1] == "True"


@pytest.mark.usefixtures("folder")
def test_main_leaves_the_collector_of_other_programs_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = gc.isenabled(), gc.get_freeze_count()
    assert run(capsys, "verify", "0")[0] == 0
    assert (gc.isenabled(), gc.get_freeze_count()) == before


def test_an_error_that_cannot_be_told_still_has_its_status(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stderr", Full())
    assert run(capsys, "explain", "noSuchCode")[0] == 2
