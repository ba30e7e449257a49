"""Whatever the pages say about the code is compared with the code."""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import NoneType
from typing import Any

import pytest

import packparse.stream
import packparse.verify
from importer.errors import ImportFailed
from packparse import checks
from packparse.cli import main
from packparse.formats import sarif
from packparse.formats.json import as_object
from packparse.limits import SPECS, Limits
from packparse.objectformat import SHA1, SHA256
from packparse.options import Options
from packparse.report import Report
from packparse.table import EntryTable
from packparse.verify import verify_bytes
from scripts import make_docs
from tests.support import bundles, launches, packs
from tests.support.candidates import TIP, Folder, link, on_top, program, submodule
from tests.support.packs import PackBuilder

ROOT = make_docs.ROOT
DOCS = ROOT / "docs"
README = ROOT / "README.md"
ARCHITECTURE = DOCS / "architecture.md"
REPORT = DOCS / "reference" / "report.md"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
PACKAGES = ("packparse", "manifest", "importer", "candidate")

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
EACH = re.MULTILINE | re.DOTALL
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")

# Objects of the report whose keys are data: limits and codes.
MAPS = {"limits": set(SPECS), "finding_counts": set(checks.CATALOG)}
TYPES: dict[str, set[type]] = {
    "string": {str},
    "integer": {int},
    "number": {int, float},
    "boolean": {bool},
    "list": {list},
    "object": {dict},
    "null": {NoneType},
}

packages = pytest.mark.parametrize("package", PACKAGES)
page_names = pytest.mark.parametrize(
    "page", PAGES, ids=[path.relative_to(ROOT).as_posix() for path in PAGES]
)


def read(path: Path) -> str:
    return path.read_text("utf-8")


def section(text: str, title: str) -> str:
    """The part of a page under a heading of the second level."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no section {title}"
    return found[1]


def code_in(text: str) -> list[str]:
    """Each line of a fenced block and each inline piece of code, on one line."""
    whole = (block.replace("\\\n", " ") for _, block in FENCED.findall(text))
    lines = [line.strip() for block in whole for line in block.splitlines()]
    inline = INLINE.findall(FENCED.sub("", text))
    return [*lines, *(" ".join(piece.split()) for piece in inline)]


def anchors_of(text: str) -> set[str]:
    """The anchors of a page's headings, as hosting services make them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


# --- generated pages ----------------------------------------------------------------------------


def test_generated_pages_are_fresh() -> None:
    assert not make_docs.stale(), "run: python scripts/make_docs.py"


def test_the_generator_tells_a_stale_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(make_docs, "FOLDER", tmp_path)
    assert make_docs.main([]) == 0
    assert make_docs.main(["--check"]) == 0
    assert not capsys.readouterr().out
    page = tmp_path / "limits.md"
    page.write_text(read(page).replace("256 MiB", "255 MiB"), "utf-8")
    assert make_docs.main(["--check"]) == 1
    assert "255 MiB" in capsys.readouterr().out


def test_a_check_says_how_it_is_let_pass_and_which_files_show_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = tmp_path / "index.json"
    cases = [
        ("bad/b.pack", "hasDotgit", [], []),
        ("bad/a.pack", "hasDotgit", ["dashName"], []),
        ("bad/a.pack", "hasDotgit", [], []),
        ("good/c.pack", None, [], ["dashName"]),
        ("bad/d.pack", "treeTooDeep", ["hasDotgit"], []),
    ]
    rows = [
        {"file": file, "expected": {"code": code, "also": also, "notes": notes}}
        for file, code, also, notes in cases
    ]
    index.write_text(json.dumps({"cases": rows}), "utf-8")
    monkeypatch.setattr(make_docs, "CORPUS", index)
    page = make_docs.checks_page()
    said = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", page, EACH))
    assert set(said) == set(checks.CATALOG)
    assert '`hasDotgit = "warning"` under `[severity]`' in said["hasDotgit"]
    assert said["hasDotgit"].endswith("- Corpus: `bad/a.pack`, `bad/b.pack`\n\n")
    assert "In the policy `fork` it is an error." in said["dashName"]
    assert said["dashName"].endswith("- Corpus: `bad/a.pack`, `good/c.pack`\n\n")
    assert "`--limit tree_depth=VALUE`" in said["treeTooDeep"]
    assert "It cannot be allowed." in said["badTree"]
    assert said["badTree"].endswith("- Corpus: none.\n\n")
    monkeypatch.setattr(make_docs, "CORPUS", tmp_path / "absent.json")
    assert "- Corpus: `" not in make_docs.checks_page()


@pytest.mark.parametrize(
    "name", ["hasDotgit", "dashName", "mergeCommit", "tooManyFiles", "badTree"]
)
def test_the_command_explains_a_check_as_the_page_does(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["explain", name]) == 0
    page = read(DOCS / "reference" / "checks.md").replace("`", "")
    part = page[page.index(f"### {name}\n") :]
    printed = capsys.readouterr().out
    for line in ("What to do", "To let it pass"):
        said = re.search(rf"^- {line}: (.+)$", part, re.MULTILINE)
        assert said
        assert f"  {line}: {said[1]}\n" in printed


def test_every_id_of_git_is_a_check_or_is_said_not_to_be_one() -> None:
    text = section(read(DOCS / "reference" / "checks.md"), "Ids of git that no object can have")
    never = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    ids = {code.name for code in checks.CATALOG.values() if code.since}
    assert not ids.intersection(never)
    assert f"git's fsck has {len(ids) + len(never)} message ids" in text


# --- links, commands and options ----------------------------------------------------------------


@page_names
def test_every_relative_link_resolves(page: Path) -> None:
    for target in LINK.findall(FENCED.sub("", read(page))):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        if anchor:
            assert anchor in anchors_of(read(path)), target


@page_names
def test_every_make_target_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", read(ROOT / "Makefile"), re.MULTILINE))
    named = {
        name for piece in code_in(read(page)) for name in re.findall(r"\bmake ([a-z]+)", piece)
    }
    assert named <= targets


# The commands of each program, and the page that shows their help.
PROGRAMS = {
    "packcheck": (("", "verify", "explain", "checks"), "command-line.md"),
    "git candidate": (
        (
            "",
            "launch",
            "export",
            "import",
            "check",
            "recover",
            "show",
            "list",
            "discard",
            "explain",
            "demo",
        ),
        "git-candidate.md",
    ),
}


@page_names
def test_every_command_and_option_exists(page: Path) -> None:
    options = {program: options_of(program) for program in PROGRAMS}
    for part in (part for line in code_in(read(page)) for part in line.split(" | ")):
        # What a producer is started with is no option of ours.
        piece = part.partition(" -- ")[0]
        if piece.startswith("--") and page.name != "differences.md":
            assert any(set(OPTION.findall(piece)) <= known for known in options.values()), piece
        for name, (commands, _) in PROGRAMS.items():
            assert set(re.findall(rf"\b{name} ([a-z]+)", piece)) <= set(commands), piece
            if name in piece:
                assert set(OPTION.findall(piece)) <= options[name], piece


@functools.cache
def options_of(program: str) -> set[str]:
    return {
        name
        for command in PROGRAMS[program][0]
        for name in OPTION.findall(help_of(command, program))
    }


def help_of(command: str, program: str = "packcheck") -> str:
    """The help text that the page of a program shows; its freshness is tested above."""
    title = f"`{program} {command}".strip() + "`"
    block = FENCED.search(section(read(DOCS / "reference" / PROGRAMS[program][1]), title))
    assert block
    return block[2]


# --- README -------------------------------------------------------------------------------------


def run_example(title: str, names: dict[str, Any]) -> None:
    (example,) = [
        block for kind, block in FENCED.findall(section(read(README), title)) if kind == "python"
    ]
    exec(compile(example, "README.md", "exec"), names)  # noqa: S102


def test_the_library_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Callable[[str, str, str], bool]] = {}
    run_example("Use it as a library", names)
    monkeypatch.chdir(tmp_path)
    made = on_top({b"a": b"1\n"}, {b"a": b"2\n"})
    (base,), tip = made.bases, made.tips[TIP]
    whole = bundles.bundle(made.pack()[0], [(tip.hex(), "refs/heads/topic")], [base.hex()])
    Path("x.bundle").write_bytes(whole)
    builder = PackBuilder()
    for kind, data in made.host.objects.values():
        builder.add(kind, data)
    Path("base.pack").write_bytes(builder.build())
    Path("known.txt").write_text("".join(f"{oid.hex()}\n" for oid in made.given or ()))
    assert names["verify"]("x.bundle", base.hex(), tip.hex())
    assert capsys.readouterr().out == ""
    assert not names["verify"]("x.bundle", base.hex(), base.hex())
    assert "unexpectedRefs" in capsys.readouterr().out
    Path("x.bundle").write_bytes(whole + b"\0")
    assert not names["verify"]("x.bundle", base.hex(), tip.hex())
    said = f"error trailingBytes {len(whole)} bytes follow the checksum of the pack\n"
    assert capsys.readouterr().out == said


def test_the_example_of_an_import_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Callable[[str, str, str], str | None]] = {}
    run_example("Import from Python", names)
    host = launches.make_host(tmp_path)
    host.commit({"new.txt": b"new\n"})
    scene = launches.launch(host, tmp_path)
    arguments = (str(host.repo), str(scene.state), scene.record.launch)
    assert names["take"](*arguments) is None
    scene.offer()
    assert names["take"](*arguments) == host.candidate
    damaged = scene.state / "launches" / scene.record.launch / "receipt.json"
    damaged.write_bytes(damaged.read_bytes()[1:])
    with pytest.raises(ImportFailed):
        names["take"](*arguments)
    assert capsys.readouterr().out.splitlines() == [
        "manifestMissing, step 2: there is no manifest.json",
        "stateCorrupt: look at it",
    ]


def test_the_exit_status_is_that_of_the_help() -> None:
    said = re.findall(r"^  (\d)  (.+)$", help_of("verify"), re.MULTILINE)
    table = section(read(README), "Verify a whole history")
    assert re.findall(r"^\| (\d) \| (.+) \|$", table, re.MULTILINE) == said


# --- architecture -------------------------------------------------------------------------------


def groups_of_rooms(package: str) -> list[list[str]]:
    """The modules of a package that the page names, by group, as paths below its folder."""
    text = section(read(ARCHITECTURE), f"The rooms of {package}")
    return [
        re.findall(r"^\| `([\w/]+\.py)` \|", part, re.MULTILINE)
        for part in re.split(r"^\*\*.+\*\*$", text, flags=re.MULTILINE)[1:]
    ]


@packages
def test_every_module_has_its_line(package: str) -> None:
    named = [name for group in groups_of_rooms(package) for name in group]
    paths = [path.relative_to(ROOT / package) for path in ROOT.glob(f"{package}/**/*.py")]
    only_docstring = [
        path for path in paths if path.name == "__init__.py" and str(path) not in named
    ]
    assert sorted(named) == sorted(p.as_posix() for p in paths if p not in only_docstring)
    for path in only_docstring:
        assert f"`{path.as_posix()}`" in read(ARCHITECTURE)
        assert len(ast.parse(read(ROOT / package / path)).body) == 1


@packages
def test_rooms_import_from_their_group_or_above(package: str) -> None:
    reachable: set[str] = set()
    for group in groups_of_rooms(package):
        reachable |= {module_name(package, name) for name in group}
        for name in group:
            assert imports_of(package, ROOT / package / name) <= reachable, name


def module_name(package: str, path: str) -> str:
    return f"{package}.{path.removesuffix('.py').replace('/', '.')}"


def imports_of(package: str, path: Path) -> set[str]:
    """The modules of its package that a module imports, annotations included."""
    found = set()
    for node in ast.walk(ast.parse(read(path))):
        assert not (isinstance(node, ast.Import) and node.names[0].name.startswith(PACKAGES))
        if isinstance(node, ast.ImportFrom) and node.module:
            folder = (ROOT / node.module.replace(".", "/")).is_dir()
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= set(names) if folder else {node.module}
    return {name for name in found if name.startswith(f"{package}.")}


def test_the_stack_is_the_one_of_the_page() -> None:
    text = section(read(ARCHITECTURE), "The stack")
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(reversed(PACKAGES))


def test_the_checklist_is_that_of_the_code() -> None:
    in_code = re.findall(r"^    (\d+) +(.+)$", packparse.verify.__doc__ or "", re.MULTILINE)
    text = section(read(ARCHITECTURE), "The checklist")
    assert re.findall(r"^(\d+)\. (.+)$", text, re.MULTILINE) == in_code
    assert [number for number, _ in in_code] == [str(n) for n in range(1, len(in_code) + 1)]
    assert in_code


def test_the_states_are_those_of_the_code() -> None:
    in_code = re.findall(r"^    ([A-Z]+) +(.+)$", packparse.stream.__doc__ or "", re.MULTILINE)
    text = section(read(ARCHITECTURE), "The states of PackStream")
    assert re.findall(r"^\| ([A-Z]+) \| (.+) \|$", text, re.MULTILINE) == in_code
    assert in_code


def test_the_bytes_of_an_entry_are_those_of_the_code() -> None:
    text = section(read(ARCHITECTURE), "Entries and links in memory")
    said = dict(re.findall(r"^\| `(\w+)` \| .+ \| ([\d or]+) \|$", text, re.MULTILINE))
    table = EntryTable(SHA1)
    widths = f"{SHA1.width} or {SHA256.width}"
    columns = {
        name: str(getattr(column, "itemsize", 1))
        for name, column in vars(table).items()
        if hasattr(column, "append") and not name.startswith("_")
    }
    assert said == {**columns, "ids": widths, "waiting": widths}
    fixed = sum(int(size) for size in said.values() if size.isdigit())
    assert f"**{fixed + SHA1.width} or {fixed + SHA256.width}**" in text


def test_the_index_lists_every_decision() -> None:
    folder = DOCS / "adr"
    titles = {path.name: read(path).splitlines()[0] for path in folder.glob("[0-9]*.md")}
    rows = re.findall(
        r"^\| \[(\d{4})\]\(([\w.-]+)\) \| (.+) \|$", read(folder / "README.md"), re.MULTILINE
    )
    assert {name: f"# {number}: {title}" for number, name, title in rows} == titles
    assert [name[:4] for name in sorted(titles)] == [f"{n:04}" for n in range(1, len(titles) + 1)]


@pytest.mark.parametrize("path", sorted((DOCS / "adr").glob("[0-9]*.md")), ids=lambda p: p.stem)
def test_a_decision_has_its_three_parts_and_is_short(path: Path) -> None:
    text = read(path)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
    assert len(text.splitlines()) < 60


# --- the report ---------------------------------------------------------------------------------


def example_bundle() -> bytes:
    """The bundle of the page's example: a blob is left out. Stored, so that any zlib agrees."""
    pack = packs.PackBuilder()
    absent = packs.outside("blob", b"left out\n")
    inner = pack.add("tree", packs.tree_bytes([(b"100644", b"main.c", absent.oid)]), level=0)
    root = pack.add("tree", packs.tree_bytes([(b"40000", b"src", inner.oid)]), level=0)
    first = pack.add("commit", packs.commit_bytes(root.oid), level=0)
    second = pack.add("commit", packs.commit_bytes(root.oid, [first.oid]), level=0)
    return bundles.bundle(pack.build(), [(second.hex, "refs/heads/main")])


def example_candidate() -> Report:
    """A report in which every list of changes has an item, and something is inherited."""
    odd: Folder = {b"old": link(b"/usr"), b"file": b"old\n"}
    new: Folder = {
        **odd,
        b"file": b"new\n",
        b".gitattributes": b"*.bin filter=lfs\n",
        b"link": link(b"file"),
        b"module": submodule(),
        b"run": program(b"#!/bin/sh\n"),
    }
    return on_top(odd, new).verify()


@pytest.fixture(name="reports")
def make_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[dict[str, object]]:
    """Reports that together show every field, the example of the page first."""
    monkeypatch.chdir(tmp_path)
    Path("example.bundle").write_bytes(example_bundle())
    Path("honest.bundle").write_bytes(bundles.honest_bundle("sha256"))
    outside = packs.outside("commit", b"not here\n")
    bundle = bundles.bundle(packs.blob_pack(b"x\n"), [(outside.hex, "refs/heads/x")], [outside.hex])
    Path("open.bundle").write_bytes(bundle)
    names = ["example.bundle", "honest.bundle", "open.bundle", "absent.bundle"]
    assert main(["verify", "--limit", "parents=0", "--format", "json", *names]) == 6
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [*printed, as_object(verify_bytes(b"neither")), as_object(example_candidate())]


def described() -> dict[str, set[type]]:
    """Each field of the page with the types that it may have."""
    rows = re.findall(
        r"^\| `([^`]+)` \| ([a-z ]+) \|", section(read(REPORT), "Fields"), re.MULTILINE
    )
    return {
        field: set[type]().union(*(TYPES[name] for name in kind.split(" or ")))
        for field, kind in rows
    }


def fields_of(value: object, prefix: str = "") -> list[tuple[str, object]]:
    """All fields in a report with their values; a field of list items carries ``[]``."""
    if isinstance(value, list):
        return [field for item in value if prefix for field in fields_of(item, f"{prefix}[]")]
    if not isinstance(value, dict) or prefix in MAPS:
        return []
    found: list[tuple[str, object]] = []
    for key, item in value.items():
        name = f"{prefix}.{key}" if prefix else key
        found += [(name, item), *fields_of(item, name)]
    return found


def test_every_field_of_the_report_is_described_and_no_other(
    reports: list[dict[str, object]],
) -> None:
    # The ids of the prerequisites are items without fields of their own.
    seen = {name for report in reports for name, _ in fields_of(report)}
    assert seen == set(described())


def test_fields_have_the_types_that_are_described(reports: list[dict[str, object]]) -> None:
    seen: dict[str, set[type]] = {}
    for name, value in (field for report in reports for field in fields_of(report)):
        seen.setdefault(name, set()).add(type(value))
    for name, types in described().items():
        assert seen[name] <= types, name
        assert (NoneType in seen[name]) == (NoneType in types), name


def test_the_keys_of_the_maps_are_limits_and_codes(reports: list[dict[str, object]]) -> None:
    for report in reports:
        assert list(report["limits"]) == list(SPECS)  # type: ignore[call-overload]
        assert set(report["finding_counts"]) <= set(checks.CATALOG)  # type: ignore[call-overload]


def test_the_example_is_what_the_command_prints(reports: list[dict[str, object]]) -> None:
    block = FENCED.search(section(read(REPORT), "Example"))
    assert block
    shown = json.loads(block[2])
    for report in (shown, reports[0]):
        # These two differ from run to run.
        stats = report["stats"]
        assert isinstance(stats, dict)
        stats |= {"seconds": 0, "peak_rss_bytes": 0}
    assert shown == reports[0]


def test_sarif_has_what_is_said_of_it() -> None:
    options = Options(limits=Limits("candidate", {"parents": 0}))
    report = verify_bytes(example_bundle(), options, name="example.bundle")
    printed = sarif.render(report, "1.0.0")
    (run,) = json.loads(printed)["runs"]
    rows = dict(
        re.findall(r"^\| `([\w.]+)` \| (.+) \|$", section(read(REPORT), "SARIF"), re.MULTILINE)
    )
    assert {name.partition(".")[0] for name in rows} == set(run)
    for text in rows.values():
        for name in re.findall(r"`([\w.]+)`", text):
            assert all(f'"{part}":' in printed for part in name.split(".")), name
