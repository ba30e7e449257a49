"""A folder of loose objects: what is in it, what is opened, and what is never followed."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from packparse import checks, codes
from packparse.cli import main
from packparse.folder import verify_folder
from packparse.objectformat import FORMATS, SHA256, ObjectFormat
from packparse.options import Options
from packparse.scan import verify_path
from tests.support import packs
from tests.support.files import one_error, open_descriptors, source
from tests.support.loose import Loose, history, loose, of, write
from tests.support.packs import PackBuilder, commit_bytes, tree_bytes
from tests.support.reports import messages, names, with_limits

MIB = 1 << 20
BLOB = loose("blob", b"an object\n")
PACKS_HINT = "; verify each pack by itself, and loose objects without packs"


@pytest.fixture(autouse=True)
def _no_descriptor_is_left() -> Iterator[None]:
    before = open_descriptors()
    yield
    assert open_descriptors() == before


@pytest.fixture
def honest(tmp_path: Path) -> Path:
    return write(tmp_path / "objects", history())


# --- honest folders -----------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("rules", codes.RULES)
def test_an_honest_folder_is_accepted(tmp_path: Path, fmt: str, rules: str) -> None:
    objects = history(fmt)
    path = str(write(tmp_path / "objects", objects))
    report = verify_folder(path, Options(rules=rules))
    assert (report.klass, report.findings.sorted(), report.name) == (0, [], path)
    assert (report.kind, report.object_format) == ("loose objects", fmt)
    assert report.counts["objects"] == len(objects)
    assert report.bytes == sum(len(item.file) for item in objects)
    assert report.sha256 is None


EMPTY = {
    "nothing else": [],
    "an empty pack and info": ["pack", "info"],
    "folders without objects": [f"{n:02x}" for n in range(256)],
}


@pytest.mark.parametrize("folders", EMPTY.values(), ids=EMPTY)
def test_empty_folders_of_git_are_no_finding(honest: Path, folders: list[str]) -> None:
    for name in folders:
        (honest / name).mkdir(exist_ok=True)
    assert verify_folder(str(honest)).findings.sorted() == []


@pytest.mark.parametrize("folders", EMPTY.values(), ids=EMPTY)
def test_a_folder_without_objects_is_accepted(tmp_path: Path, folders: list[str]) -> None:
    for name in folders:
        (tmp_path / name).mkdir()
    report = verify_folder(str(tmp_path))
    assert (report.klass, names(report, "note"), report.bytes) == (0, ["emptyPack"], 0)


def test_permissions_and_times_are_none_of_our_business(honest: Path) -> None:
    for path in honest.rglob("*"):
        os.utime(path, (0, 0))
        path.chmod(0o777)
    assert verify_folder(str(honest)).accepted


def test_a_large_blob_is_read_in_pieces(tmp_path: Path) -> None:
    content = random.Random(1).randbytes(3 * MIB)
    write(tmp_path, [loose("blob", content, level=0)])
    report = verify_folder(str(tmp_path))
    assert (report.klass, report.inflated_bytes) == (0, len(content))


def test_the_order_does_not_depend_on_the_disk(
    honest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(5):
        (honest / f"junk{n}").touch()
        write(honest, [Loose(packs.oid("blob", b"%d" % n), b"")])
    first = messages(verify_folder(str(honest)))
    real = os.scandir

    class Backwards:
        def __init__(self, place: int) -> None:
            with real(place) as entries:
                self.entries = sorted(entries, key=lambda entry: entry.name, reverse=True)

        def __enter__(self) -> list[os.DirEntry[str]]:
            return self.entries

        def __exit__(self, *_what: object) -> None:
            pass

    monkeypatch.setattr(os, "scandir", Backwards)
    assert messages(verify_folder(str(honest))) == first
    assert first == [*sorted(first[:5]), *sorted(first[5:])]


# --- what is no object --------------------------------------------------------------------------

SECRET = b"nobody may read this"


def _elsewhere(path: Path) -> Path:
    """A place outside of the folder, with the same object in it as should be inside."""
    return write(path.parent / "elsewhere", [BLOB, *history()])


def _link_object(path: Path) -> str:
    (path / BLOB.path).parent.mkdir(exist_ok=True)
    (path / BLOB.path).symlink_to(_elsewhere(path) / BLOB.path)
    return f"{BLOB.path} is a symbolic link"


def _link_fan_out(path: Path) -> str:
    (path / BLOB.path[:2]).symlink_to(_elsewhere(path) / BLOB.path[:2])
    return f"{BLOB.path[:2]} is a symbolic link where a folder belongs"


def _link_within(path: Path) -> str:
    inside = history()[0]
    (path / BLOB.path).parent.mkdir(exist_ok=True)
    (path / BLOB.path).symlink_to(Path("..", inside.path))
    return f"{BLOB.path} is a symbolic link"


def _link_loop(path: Path) -> str:
    (path / "ff").symlink_to("ff")
    return "ff is a symbolic link where a folder belongs"


def _link_pack(path: Path) -> str:
    (path / "pack").symlink_to(_elsewhere(path))
    return "pack is a symbolic link where a folder belongs"


def _link_info(path: Path) -> str:
    (path / "info").symlink_to(_elsewhere(path), target_is_directory=True)
    return "info is a symbolic link where a folder belongs"


def _hard_link(path: Path) -> str:
    item = history()[0]
    os.link(path / item.path, path.parent / "second name")
    return f"{item.path} is a file of 2 names (hard links)"


def _fifo(path: Path) -> str:
    (path / BLOB.path).parent.mkdir(exist_ok=True)
    os.mkfifo(path / BLOB.path)
    return f"{BLOB.path} is a FIFO"


def _socket(path: Path) -> str:
    (path / BLOB.path).parent.mkdir(exist_ok=True)
    place = Path.cwd()
    os.chdir(path / BLOB.path[:2])
    try:
        # The path of a socket may have no more than 100 bytes or so.
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(BLOB.path[3:])
    finally:
        os.chdir(place)
    return f"{BLOB.path} is a socket"


def _folder_object(path: Path) -> str:
    (path / BLOB.path).mkdir(parents=True)
    (path / BLOB.path / "file").touch()
    return f"{BLOB.path} is a folder"


def _file(name: str) -> Callable[[Path], str]:
    def make(path: Path) -> str:
        (path / name).parent.mkdir(exist_ok=True, parents=True)
        (path / name).write_bytes(BLOB.file)
        return f"{name} is a file"

    return make


def _fan_out_file(path: Path) -> str:
    shutil.rmtree(path / "ff", ignore_errors=True)
    (path / "ff").write_bytes(b"")
    return "ff is a file where a folder belongs"


def _folder(name: str) -> Callable[[Path], str]:
    def make(path: Path) -> str:
        write(path / name, [BLOB])
        return f"{name} is a folder"

    return make


def _alternates(path: Path) -> str:
    (path / "info").mkdir()
    (path / "info" / "alternates").write_text(f"{_elsewhere(path)}\n")
    return "info/alternates is a file"


def _pack(path: Path) -> str:
    (path / "pack").mkdir()
    (path / "pack" / "pack-1.pack").write_bytes(packs.small_honest_pack())
    return "pack/pack-1.pack is a file"


def _odd_name(path: Path) -> str:
    (path / "\x1b[31m\u202e").touch()
    return '"\\033[31m\\342\\200\\256" is a file'


def _no_utf8(path: Path) -> str:
    Path(os.fsdecode(os.fsencode(path) + b"/\xff")).touch()
    return '"\\377" is a file'


NAME = BLOB.path[3:]
FAN = BLOB.path[:3]
# Case 64 and CVE-2022-39253 (links), case 7 (alternates), A22 (links, FIFOs, hard links).
UNEXPECTED: dict[str, Callable[[Path], str]] = {
    "case 64: an object that is a symbolic link": _link_object,
    "case 64: an object that is a link to another one inside": _link_within,
    "case 64: a folder of objects that is a symbolic link": _link_fan_out,
    "a link to itself": _link_loop,
    "a pack folder that is a symbolic link": _link_pack,
    "an info folder that is a symbolic link": _link_info,
    "A22: an object with a second name": _hard_link,
    "A22: a FIFO": _fifo,
    "a socket": _socket,
    "a folder of an object's name": _folder_object,
    "a file of a folder's name": _fan_out_file,
    "case 7: alternates": _alternates,
    "a pack": _pack,
    "an index of packs": _file("pack/multi-pack-index"),
    "a list of packs": _file("info/packs"),
    "a commit graph": _file("info/commit-graph"),
    "an object beside the folders": _file(BLOB.oid.hex()),
    "an object in the pack folder": _file(f"pack/{NAME}"),
    "an object below info": _file(f"info/{NAME}"),
    "a leftover of git": _file(f"{FAN}tmp_obj_aBcDeF"),
    "a leftover of git beside the folders": _file("tmp_obj_aBcDeF"),
    "a quarantine of git": _folder("tmp_objdir-incoming-aBcDeF"),
    "a name with a digit too few": _file(FAN + NAME[:-1]),
    "a name with a digit too many": _file(f"{FAN}{NAME}0"),
    "a name in capitals": _file(FAN + NAME.upper()),
    "a folder's name in capitals": _folder("AB"),
    "a folder's name of three digits": _folder("abc"),
    "a folder's name of one digit": _folder("a"),
    "a name with a line feed after it": lambda path: _file(f"{FAN}{NAME}\n")(path).replace(
        f"{FAN}{NAME}\n", f'"{FAN}{NAME}\\n"'
    ),
    "a hidden file": _file(".hidden"),
    "a hidden file among objects": _file(f"{FAN}.hidden"),
    "a file": _file("README"),
    "a name that could work on a terminal": _odd_name,
    "a name that is no UTF-8": _no_utf8,
}


@pytest.mark.parametrize("add", UNEXPECTED.values(), ids=UNEXPECTED)
def test_whatever_is_no_object_is_refused_and_not_followed(
    honest: Path, monkeypatch: pytest.MonkeyPatch, add: Callable[[Path], str]
) -> None:
    message = add(honest)
    if message.startswith(("info/", "pack/")):
        message += PACKS_HINT
    opened: list[bytes] = []
    real = os.open

    def open_(path: bytes | str, flags: int, *, dir_fd: int | None = None) -> int:
        assert flags & os.O_NOFOLLOW
        assert (dir_fd is None) == (path == str(honest))
        opened.append(os.fsencode(path))
        return real(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", open_)
    report = verify_folder(str(honest))
    assert one_error(report) == ("unexpectedFile", message)
    assert report.klass == codes.POLICY
    # All objects that are there are verified, and nothing else is opened.
    assert report.counts["objects"] == len(history())
    assert NAME.encode() not in opened
    assert not any(b"/" in name for name in opened[1:])
    assert len(opened) <= 1 + 256 + 2 + 2 * len(history())


@pytest.mark.parametrize("add", UNEXPECTED.values(), ids=UNEXPECTED)
def test_nothing_is_told_of_what_is_behind_it(honest: Path, add: Callable[[Path], str]) -> None:
    # As under the rules of git: what was not verified is not accepted.
    add(honest)
    report = verify_folder(str(honest), Options(rules="git"))
    assert names(report) == ["unexpectedFile"]
    assert len(report.findings.sorted()) == 1


def test_what_is_no_regular_file_is_not_opened(
    honest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A device, say; only root may make one.
    monkeypatch.setattr(stat, "S_ISREG", lambda _mode: False)
    report = verify_folder(str(honest))
    assert names(report) == ["unexpectedFile"] * len(history())
    assert report.counts["objects"] == 0


def test_a_hard_linked_object_is_verified_all_the_same(honest: Path) -> None:
    # git clone --local makes them (case 98).
    item = history()[0]
    os.link(honest / item.path, honest.parent / "second name")
    report = verify_folder(str(honest))
    assert (report.counts["objects"], names(report)) == (10, ["unexpectedFile"])
    (honest.parent / "second name").write_bytes(b"written by its other name")
    assert names(verify_folder(str(honest))) == ["badDeflate", "unexpectedFile"]


@pytest.mark.parametrize("name", [".git", "objects", "HEAD"])
def test_who_gives_a_repository_is_told_which_of_its_folders_is_meant(
    honest: Path, name: str
) -> None:
    (honest / name).mkdir()
    report = verify_folder(str(honest))
    assert names(report) == ["unexpectedFile"]
    assert messages(report)[0].endswith("; of a repository give the folder .git/objects")


def test_everything_unexpected_is_found(tmp_path: Path) -> None:
    for name in ("pack", "info"):
        (tmp_path / name).mkdir()
        for n in range(3):
            (tmp_path / name / f"file{n}").touch()
    report = verify_folder(str(tmp_path))
    assert messages(report) == [
        f"{name}/file{n} is a file{PACKS_HINT}" for name in ("info", "pack") for n in range(3)
    ]
    assert report.findings.sorted()[0].detail == b"info/file0"


def test_what_a_link_would_supply_is_absent(tmp_path: Path) -> None:
    objects = history()
    path = write(tmp_path / "objects", objects)
    elsewhere = _elsewhere(path)
    (path / objects[0].path).unlink()
    (path / objects[0].path).symlink_to(elsewhere / objects[0].path)
    report = verify_folder(str(path))
    assert names(report) == ["absentObject", "unexpectedFile"]


# --- formats ------------------------------------------------------------------------------------


def test_the_names_that_are_fewer_are_unexpected(tmp_path: Path) -> None:
    write(tmp_path, [*history(), *history("sha256")[:4]])
    report = verify_folder(str(tmp_path))
    assert (report.object_format, report.counts["objects"]) == ("sha1", 10)
    assert names(report) == ["unexpectedFile"] * 4
    paths = sorted(item.path for item in history("sha256")[:4])
    assert messages(report) == [f"{path} is a sha256 name among those of sha1" for path in paths]
    shutil.rmtree(tmp_path)
    write(tmp_path, [*history("sha256"), *history()[:4]])
    report = verify_folder(str(tmp_path))
    assert (report.object_format, report.counts["objects"]) == ("sha256", 10)
    assert names(report) == ["unexpectedFile"] * 4
    assert report.bytes == sum(len(item.file) for item in history("sha256"))


@pytest.mark.parametrize("asked", FORMATS.values(), ids=FORMATS)
def test_the_format_that_was_asked_for_must_be_that_of_the_names(
    honest: Path, asked: ObjectFormat
) -> None:
    report = verify_folder(str(honest), Options(object_format=asked))
    if asked is SHA256:
        assert one_error(report)[0] == "objectFormatMismatch"
    else:
        assert report.accepted


# --- damage and limits --------------------------------------------------------------------------


def test_a_damaged_file_is_named_by_its_path(honest: Path) -> None:
    item = history()[3]
    (honest / item.path).write_bytes(item.file + b"x")
    message = f"{item.path}: bytes follow the compressed stream"
    report = verify_folder(str(honest))
    assert names(report) == ["trailingBytes"]
    assert messages(report) == [message]


def test_an_object_under_another_name_is_refused(honest: Path) -> None:
    (honest / BLOB.path).parent.mkdir(exist_ok=True)
    (honest / BLOB.path).write_bytes(history()[0].file)
    assert names(verify_folder(str(honest))) == ["looseIdMismatch"]


def test_the_number_of_entries_is_limited(honest: Path) -> None:
    assert verify_folder(str(honest), with_limits(objects=10)).accepted
    report = verify_folder(str(honest), with_limits(objects=9))
    assert one_error(report)[0] == "tooManyObjects"
    assert report.klass == codes.LIMIT
    # Entries that are no objects cost as much.
    (honest / "junk").touch()
    assert "tooManyObjects" in names(verify_folder(str(honest), with_limits(objects=10)))
    assert names(verify_folder(str(honest), with_limits(objects=11))) == ["unexpectedFile"]


def test_listing_ends_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ab").mkdir()
    for n in range(200):
        (tmp_path / "ab" / f"{n}").touch()
    looked: list[bytes] = []
    real = os.stat

    def status(path: bytes | str, **named: object) -> os.stat_result:
        looked.append(os.fsencode(path))
        return real(path, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", status)
    report = verify_folder(str(tmp_path), with_limits(objects=50))
    code, message = one_error(report)
    assert code == "tooManyObjects"
    assert message.startswith("the folder has at least 51 objects, the limit is 50")
    assert looked == [b"ab"]


def test_the_bytes_of_all_files_are_compared_before_any_is_read(
    honest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = sum(len(item.file) for item in history())
    assert verify_folder(str(honest), with_limits(pack_bytes=size)).accepted

    def never(*_arguments: object) -> bytes:
        raise AssertionError

    monkeypatch.setattr(os, "read", never)
    report = verify_folder(str(honest), with_limits(pack_bytes=size - 1))
    assert one_error(report)[0] == "packTooLarge"
    assert (report.klass, report.bytes) == (codes.LIMIT, size)


def test_a_file_without_content_on_the_disk_is_not_read(tmp_path: Path) -> None:
    # 1 TiB of nothing, in a file that takes no room.
    write(tmp_path, [Loose(BLOB.oid, b"")])
    os.truncate(tmp_path / BLOB.path, 1 << 40)
    report = verify_folder(str(tmp_path))
    assert one_error(report)[0] == "packTooLarge"


# --- ranges and places --------------------------------------------------------------------------


def test_a_small_push_is_verified_as_a_range(tmp_path: Path) -> None:
    # Design, section 8: small pushes arrive as loose objects in the quarantine.
    base = packs.small_honest()
    pack = PackBuilder()
    blob = pack.add("blob", b"new\n")
    tree = pack.add("tree", tree_bytes([(b"100644", b"new", blob.oid)]))
    tip = pack.add("commit", commit_bytes(tree.oid, [base.commit.oid]))
    path = write(tmp_path / "objects", of(pack.handles))
    (path / "pack").mkdir()
    (tmp_path / "base.pack").write_bytes(base.pack)
    (tmp_path / "known").write_text("".join(f"{handle.hex}\n" for handle in base.handles))
    command = [
        "verify", str(path), "--format=json", f"--base={base.commit.hex}", f"--tip={tip.hex}",
        f"--known={tmp_path / 'known'}", f"--base-pack={tmp_path / 'base.pack'}",
    ]  # fmt: skip
    assert main(command) == 0
    write(path, [loose("blob", b"stowaway")])
    assert main(command) == codes.POLICY


def test_findings_have_paths_and_no_offsets(tmp_path: Path) -> None:
    pack = PackBuilder()
    link = pack.add("blob", b"/etc/passwd")
    tree = pack.add("tree", tree_bytes([(b"120000", b"link", link.oid)]))
    pack.add("commit", commit_bytes(tree.oid))
    report = verify_folder(str(write(tmp_path / "objects", of(pack.handles))))
    (finding,) = report.findings.sorted()
    assert (finding.code.name, finding.path) == ("symlinkAbsolute", b"link")
    assert (finding.offset, finding.oid) == (None, link.oid)


# --- the command --------------------------------------------------------------------------------


def test_a_folder_may_be_named_where_a_file_may_be(
    honest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = verify_path(str(honest))
    assert (report.kind, report.klass) == ("loose objects", 0)
    assert report.seconds is not None
    assert report.peak_rss_bytes is not None
    assert main(["verify", str(honest), "--format=json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["input"]["kind"] == "loose objects"
    assert told["input"]["sha256"] is None
    (honest / "info").mkdir()
    (honest / "info" / "alternates").touch()
    for form in ("text", "json", "sarif"):
        assert main(["verify", str(honest), f"--format={form}"]) == codes.POLICY
        assert "info/alternates" in capsys.readouterr().out


def test_standard_input_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "-").mkdir()
    monkeypatch.chdir(tmp_path)
    with source(packs.small_honest_pack()) as descriptor:
        assert verify_path("-", standard_input=descriptor).kind == "pack"
    assert verify_path("./-").kind == "loose objects"


def test_the_command_needs_no_module_for_folders_where_there_is_none(tmp_path: Path) -> None:
    # Start-up time of the usual file.
    file = tmp_path / "it.pack"
    file.write_bytes(packs.small_honest_pack())
    script = (
        "import sys; from packparse.scan import verify_path; verify_path(sys.argv[1]); "
        "print('packparse.folder' in sys.modules)"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script, str(file)], cwd=root, capture_output=True, check=True,
        text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "False\n"


def test_the_code_says_what_to_do() -> None:
    assert "folder of plain objects" in checks.UNEXPECTED_FILE.remedy
