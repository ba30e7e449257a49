"""The pages on records describe what the code takes, and their examples are verified."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from msgspec import Meta

from manifest import atoms, receipt, ticket, v1
from manifest.codec import Record
from manifest.launch import Launch
from packparse.escape import quote
from tests.docs.test_docs import DOCS, FENCED, ROOT, read, section
from tests.support.consoles import Console, blocks, comparable
from tests.support.gitrepo import git
from tests.support.launches import Scene, launch, make_host

MANIFEST = read(DOCS / "reference" / "manifest-v1.md")
LAUNCHES = read(DOCS / "reference" / "launch-record.md")
RECEIPT = read(DOCS / "reference" / "receipt-v1.md")
TICKET = read(DOCS / "reference" / "ticket-v1.md")
KINDS = ("Name", "LaunchId", "Oid", "Digest", "FileName", "FormatName", "Amount", "QuotedPath")
CODE = r"^[A-Za-z0-9]{1,64}\Z"
ROW = re.compile(r"^\| `([\w.\[\]]+)` \| (.+?) \| .+ \|$", re.MULTILINE)

# --- fields -------------------------------------------------------------------------------------


def told(hint: object) -> str:
    """A type as the tables have it."""
    for name in KINDS:
        if hint == getattr(atoms, name):
            return f"`{name}`"
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        (inner,) = (one for one in arguments if one is not type(None))
        comma = "," if " " in told(inner) else ""
        return f"{told(inner)}{comma} or null"
    if origin is Literal:
        return " or ".join(f'`"{one}"`' for one in arguments)
    if origin is dict:
        return f"map of {told(arguments[1])}"
    if origin is Annotated:
        return of_annotated(*arguments)
    assert isinstance(hint, type)
    return f"`{hint.__name__}`"


def of_annotated(inner: object, meta: Meta) -> str:
    if get_origin(inner) is list:
        of = told(get_args(inner)[0])
        return f"list of {'codes' if of == 'code' else of}, at most {meta.max_length:,}"
    if inner is int:
        return f"number from {meta.ge} to {meta.le}"
    if meta.pattern == CODE:
        return "code"
    if meta.max_length is None:
        (longest,) = re.findall(r"\{\d,(\d+)\}\\Z", meta.pattern or "")
        return f"string of at most {longest} characters"
    return f"string of at most {meta.max_length:,} characters"


def fields_of(kind: type[Record], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, hint in get_type_hints(kind, include_extras=True).items():
        yield prefix + name, told(hint)
        arguments = get_args(hint)
        items = get_origin(hint) is Annotated and get_origin(arguments[0]) is list
        inner = get_args(arguments[0])[0] if items else hint
        if isinstance(inner, type) and issubclass(inner, Record):
            yield from fields_of(inner, f"{prefix}{name}{'[]' if items else ''}.")


@pytest.mark.parametrize(
    ("text", "title", "kind", "seal"),
    [
        pytest.param(MANIFEST, "Fields", v1.Manifest, "mac", id="of a manifest"),
        pytest.param(RECEIPT, "Fields of a receipt", receipt.Receipt, "sha256", id="of a receipt"),
        pytest.param(RECEIPT, "Fields of a refusal", receipt.Refusal, "sha256", id="of a refusal"),
        pytest.param(LAUNCHES, "Fields", Launch, "", id="of a launch"),
        pytest.param(TICKET, "Fields", ticket.Ticket, "", id="of a ticket"),
    ],
)
def test_the_fields_are_those_of_the_record(
    text: str, title: str, kind: type[Record], seal: str
) -> None:
    label = f'`"{kind.__struct_config__.tag}"`'
    expected = [("format", label), *fields_of(kind), *[(seal, "`Digest`")] * bool(seal)]
    assert ROW.findall(section(text, title)) == expected


def test_the_kinds_have_the_bounds_of_the_code() -> None:
    table = section(MANIFEST, "Kinds")
    rows = dict(re.findall(r"^\| `(\w+)` \| \w+ \| (.+) \|$", table, re.MULTILINE))
    assert tuple(rows) == KINDS
    for name in KINDS:
        said = rows[name].replace("\\|", "|")
        hint = getattr(atoms, name)
        if name == "FormatName":
            assert said == " or ".join(f"`{one}`" for one in get_args(hint))
        elif name == "Amount":
            meta = get_args(hint)[1]
            assert said == f"{meta.ge} to {meta.le:,}"
        else:
            meta = get_args(hint)[1]
            longest = meta.max_length
            length = f"{meta.min_length} to {longest:,} characters, " if longest else ""
            assert said == f"{length}`{meta.pattern}`"
    assert f"The whole file has at most {v1.LARGEST:,} bytes." in MANIFEST


def test_a_code_is_what_is_said_of_it() -> None:
    hint = get_type_hints(receipt.Refusal, include_extras=True)["code"]
    assert get_args(hint)[1].pattern == CODE
    assert f"`{CODE}`" in RECEIPT


# --- the example of a ticket --------------------------------------------------------------------


def test_the_example_is_the_ticket_of_the_launch_that_the_manifest_is_from() -> None:
    (line,) = [block for kind, block in FENCED.findall(TICKET) if kind == "json"]
    shown = ticket.read(line.encode())
    assert ticket.write(shown) == line.encode()
    _, manifest, key = example()
    assert shown.key == key
    assert shown.artifact == manifest.artifact.name
    for name in set(shown.__struct_fields__) - {"key", "artifact"}:
        assert getattr(shown, name) == getattr(manifest, name)
    assert f"The whole file has at most {ticket.LARGEST:,} bytes." in TICKET


# --- the example of a manifest ------------------------------------------------------------------


def example() -> tuple[bytes, v1.Manifest, str]:
    (line,) = [block for kind, block in FENCED.findall(MANIFEST) if kind == "json"]
    (key,) = re.findall(r"^`([0-9a-f]{64})`", section(MANIFEST, "Example"), re.MULTILINE)
    return line.encode(), v1.read(line.encode(), bytes.fromhex(key)), key


def artifact() -> Path:
    (name,) = re.findall(r"`(corpus/[\w/.-]+)`", section(MANIFEST, "Example"))
    return ROOT / str(name)


def test_the_example_is_authentic_and_speaks_of_the_file_that_is_named() -> None:
    data, manifest, key = example()
    assert v1.write(manifest, bytes.fromhex(key)) == data
    bundle = artifact().read_bytes()
    assert manifest.artifact.bytes == len(bundle)
    assert manifest.artifact.sha256 == sha256(bundle).hexdigest()
    assert f"-{manifest.base} ".encode() in bundle
    assert f"{manifest.candidate} refs/heads/main".encode() in bundle


def test_the_script_writes_what_the_code_writes(tmp_path: Path) -> None:
    _, manifest, key = example()
    clean = msgspec.structs.replace(manifest, workspace=v1.Workspace(dirty=0, paths=[]),
                                    commits=[manifest.base, manifest.candidate])  # fmt: skip
    (script,) = [block for kind, block in FENCED.findall(MANIFEST) if kind == "sh"]
    (tmp_path / "candidate.bundle").write_bytes(artifact().read_bytes())
    (tmp_path / "commits.txt").write_text("".join(f"{oid}\n" for oid in clean.commits))
    variables = {
        name.upper(): getattr(clean, name)
        for name in ("issue", "run", "phase", "launch", "repository", "base", "candidate")
    }
    variables |= {"FORMAT": clean.object_format}
    subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "KEY": key, **variables},
        check=True,
    )
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"candidate.bundle", "commits.txt", "manifest.json"}
    assert (tmp_path / "manifest.json").read_bytes() == v1.write(clean, bytes.fromhex(key))


def test_paths_are_quoted_as_the_page_shows_it() -> None:
    rows = re.findall(
        r"^\| `([0-9a-f ]+)` \| `(.+)` \| `(.+)` \|$", section(MANIFEST, "Paths"), re.MULTILINE
    )
    assert len(rows) == 5
    for digits, quoted, written in rows:
        assert quote(bytes.fromhex(digits)) == quoted
        assert msgspec.json.encode(quoted).decode() == written


# --- launches from Python -----------------------------------------------------------------------


def test_a_launch_that_the_page_records_is_imported(tmp_path: Path) -> None:
    names: dict[str, Callable[[str, str, str, str], Launch]] = {}
    (example,) = [block for kind, block in FENCED.findall(LAUNCHES) if kind == "python"]
    exec(compile(example, "launch-record.md", "exec"), names)  # noqa: S102
    host = make_host(tmp_path)
    host.commit({"new.txt": b"new\n"})
    (tmp_path / "export").mkdir()
    state, repo, export = (str(tmp_path / name) for name in ("state", "host", "export"))
    record = names["record"](state, repo, export, host.base)
    scene = Scene(host, tmp_path, record)
    scene.offer()
    assert scene.run().receipt.launch == record.launch


# --- the commands of the page on receipts -------------------------------------------------------


@pytest.fixture(scope="module", params=["whole", "thin"])
def imported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A launch whose candidate came as a whole pack or as a thin one."""
    folder = tmp_path_factory.mktemp("imported")
    host = make_host(folder)
    before = git(host.repo, "cat-file", "blob", "HEAD:dir0/file0.txt").stdout
    host.commit({"dir0/file0.txt": before + b"changed\n"})
    scene = launch(host, folder)
    scene.offer(host.bundle(thin=request.param == "thin"))
    scene.run()
    return scene


def test_the_seal_is_the_digest_that_the_commands_give(imported: Scene, tmp_path: Path) -> None:
    data = (imported.state / "launches" / imported.record.launch / "receipt.json").read_bytes()
    (tmp_path / "receipt.json").write_bytes(data)
    shown = blocks(section(RECEIPT, "The seal"))
    printed = Console(tmp_path).transcript(shown)
    assert comparable(printed, tmp_path) == comparable("".join(shown), tmp_path)
    assert data.count(printed.splitlines()[-1].encode()) == 1


def imported_pack(scene: Scene) -> int:
    """The size of the pack as the producer wrote it."""
    bundle = (scene.export / scene.record.artifact).read_bytes()
    return len(bundle) - bundle.index(b"PACK")


def test_git_gives_the_list_of_objects(imported: Scene) -> None:
    data = (imported.state / "launches" / imported.record.launch / "receipt.json").read_bytes()
    record = receipt.read_receipt(data)
    folder = imported.host.common / "objects" / "pack"
    (shown,) = blocks(section(RECEIPT, "The list of objects"))
    shown = re.sub(r"pack-[0-9a-f]{40}", record.pack.name, shown)
    shown = shown.replace("head -n 9 ", f"head -n {record.objects.count} ")
    assert (record.pack.appended > 0) == (record.pack.bytes > imported_pack(imported))
    assert Console(folder).transcript([shown]).splitlines()[-1] == record.objects.sha256
