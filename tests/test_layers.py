"""The stack of design, section 3, read from the syntax trees: imports go one way.

``packparse`` is the layer that a reviewer must be able to trust alone: only its command-line rooms
touch files, the environment or other programs.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# From the bottom up: each may import those before it. Not all exist yet.
STACK = ("packparse", "manifest", "importer", "candidate")
# What is reviewed as well, but belongs to no layer.
AROUND = ("tests", "bench", "scripts", "corpus")
PACKPARSE = ROOT / "packparse"
# The rooms that may open files, read the environment and start processes.
COMMAND_LINE = {
    "scan.py", "folder.py", "console.py", "cli.py", "__main__.py", "forks.py", "version.py",
}  # fmt: skip
# What reaches outside of the process, or could be used to.
OUTSIDE = {
    "os", "posix", "subprocess", "socket", "io", "pathlib", "shutil", "tempfile", "glob", "fcntl",
    "mmap", "resource", "signal", "ctypes", "multiprocessing", "threading", "asyncio", "ssl",
    "urllib", "http", "importlib", "runpy", "pickle", "marshal", "platform", "locale", "logging",
    "random", "time", "sys",
}  # fmt: skip
OPENERS = {"open", "exec", "eval", "compile", "__import__", "input", "breakpoint", "print"}
LONGEST = 650


def _modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), _name(path))


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            assert node.module is not None
            yield node.module


def _top(name: str) -> str:
    return name.partition(".")[0]


def _runs(tree: ast.Module) -> ast.Module:
    """The tree without what stands under ``if TYPE_CHECKING``, which never runs."""

    class Cut(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
            if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
                return [self.visit(child) for child in node.orelse]
            return self.generic_visit(node)

    cut = Cut().visit(tree)
    assert isinstance(cut, ast.Module)
    return cut


EXISTING = [name for name in STACK if (ROOT / name).is_dir()]
FILES = {_name(path): path for package in EXISTING for path in _modules(package)}
OURS = {_name(path): path for path in _modules("packparse")}
ALL = FILES | {_name(path): path for folder in AROUND for path in _modules(folder)}
INNER = {name: path for name, path in OURS.items() if path.name not in COMMAND_LINE}


def test_the_modules_are_found() -> None:
    assert "packparse/verify.py" in INNER
    assert "packparse/objects/tree.py" in INNER
    assert "packparse/scan.py" in set(OURS) - set(INNER)
    assert {"tests/test_layers.py", "bench/run.py", "scripts/make_docs.py"} <= set(ALL)


@pytest.mark.parametrize("path", FILES.values(), ids=FILES)
def test_imports_go_down_the_stack(path: Path) -> None:
    own = STACK.index(path.relative_to(ROOT).parts[0])
    above = set(STACK[own + 1 :]) | {"tests", "bench", "scripts", "corpus"}
    assert above.intersection(map(_top, _imports(_tree(path)))) == set()


@pytest.mark.parametrize("path", OURS.values(), ids=OURS)
def test_packparse_imports_the_standard_library_zlib_ng_and_itself(path: Path) -> None:
    allowed = sys.stdlib_module_names | {"zlib_ng", "packparse"}
    assert set(map(_top, _imports(_tree(path)))) - allowed == set()


# What one room alone may import: it is the door to what the library is for.
SOLE = {"sh": "importer/git.py", "xxhash": "importer/frames.py", "fcntl": "importer/"}
# What changes files; descriptors of pipes are written to as well.
CHANGING = {
    "chmod", "fchmod", "fsync", "ftruncate", "link", "mkdir", "remove", "rename", "replace",
    "rmdir", "symlink", "truncate", "unlink",
}  # fmt: skip


@pytest.mark.parametrize("path", FILES.values(), ids=FILES)
def test_each_outside_has_one_door(path: Path) -> None:
    tree = _tree(path)
    name = _name(path)
    closed = {library for library, door in SOLE.items() if not name.startswith(door)}
    assert closed.intersection(map(_top, _imports(tree))) == set()
    if name.startswith(("importer/", "candidate/")) and name != "importer/durable.py":
        changing = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "os"
        }
        assert changing & CHANGING == set()


@pytest.mark.parametrize("path", INNER.values(), ids=INNER)
def test_only_the_command_line_reaches_outside(path: Path) -> None:
    tree = _runs(_tree(path))
    assert OUTSIDE.intersection(map(_top, _imports(tree))) == set()
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert names & OPENERS == set()
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert attributes & {"environ", "getenv", "system", "popen"} == set()
    rooms = {f"packparse.{room.removesuffix('.py')}" for room in COMMAND_LINE}
    assert rooms.intersection(_imports(tree)) == set()


@pytest.mark.parametrize("path", FILES.values(), ids=FILES)
def test_no_promise_rests_on_an_assert(path: Path) -> None:
    # `python -O` leaves them out, and hostile bytes must give findings.
    found = [node.lineno for node in ast.walk(_tree(path)) if isinstance(node, ast.Assert)]
    assert found == []


@pytest.mark.parametrize("path", FILES.values(), ids=FILES)
def test_every_module_says_what_it_is_and_what_it_offers(path: Path) -> None:
    tree = _tree(path)
    assert ast.get_docstring(tree)
    if path.name in {"__init__.py", "__main__.py"}:
        return
    (offered,) = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    names: list[str] = ast.literal_eval(offered)
    assert names
    assert len(names) == len(set(names))
    assert not [name for name in names if name.startswith("_")]
    assert set(names) <= _defined(tree)


def _defined(tree: ast.Module) -> set[str]:
    """All names that a module binds at its top, in branches as well."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


@pytest.mark.parametrize("path", ALL.values(), ids=ALL)
def test_no_module_is_too_long_to_review(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST


def test_packages_in_the_wheel_are_those_of_the_stack() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    listed = project["tool"]["setuptools"]["packages"]
    folders = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for package in EXISTING
        for path in _modules(package)
    }
    assert sorted(listed) == sorted(folders)
    assert all((ROOT / package / "py.typed").exists() for package in EXISTING)
    data = project["tool"]["setuptools"]["package-data"]
    for package in EXISTING:
        beside = [
            path for path in (ROOT / package).rglob("*.*") if path.suffix not in {".py", ".pyc"}
        ]
        assert {path.name for path in beside} == set(data[package])
