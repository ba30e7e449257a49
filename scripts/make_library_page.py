"""The page of docs/reference on the door of the importer, made from its docstrings.

It is written by make_docs.py.
"""

from __future__ import annotations

import enum
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The script also runs where the package is not installed.
sys.path.insert(0, str(ROOT))

import importer  # noqa: E402 - needs the path set above

_NOTICE = "<!-- Made by scripts/make_docs.py. Change the source it reads, not this page. -->\n\n"

_INTRO = """\
# The library `importer`

These names are what a program imports from `importer`; everything else of the package may change.
Objects are used by one thread, and by the process that made them.
[The README](../../README.md#import-from-python) has an example of an import,
[launch records](launch-record.md#recorded-from-python) one of a launch.

Whatever is refused or fails raises one of [the errors](#the-errors), also where a state folder or a
repository is opened.
`packparse.errors.MisuseError` is for the caller's own mistakes: what is closed, and what can be no
path.
"""
_SECTIONS = {
    "Folders": ("State", "Repository", "folder_record"),
    "An import": ("import_candidate", "ImportResult", "Step"),
    "Launches and receipts": (
        "show", "Shown", "listed", "Listing", "proven", "recover_all", "Recovered", "discard",
    ),
    "The errors": ("ImporterError", "ImportRefused", "ImportFailed"),
}  # fmt: skip
# Of classes that have more methods than are for programs.
_METHODS = {"State": ("add", "close"), "Repository": ("close",)}


def library_page() -> str:
    """Every name of the door, with its signature and what its docstring says."""
    told = [name for names in _SECTIONS.values() for name in names]
    if sorted(told) != sorted(importer.__all__):
        raise SystemExit(f"not in a section: {sorted(set(importer.__all__) ^ set(told))}")
    parts = [_INTRO]
    for title, names in _SECTIONS.items():
        parts.append(f"## {title}\n")
        parts += [_entry(name, getattr(importer, name)) for name in names]
    return _NOTICE + "\n".join(parts)


def _entry(name: str, thing: type | Callable[..., object]) -> str:
    text = f"### `{name}`\n\n```python\n{_shape(name, thing)}\n```\n\n{_prose(thing)}\n"
    for method in _METHODS.get(name, ()):
        found = getattr(thing, method)
        text += f"\n```python\n{_signature(f'{name}.{method}', found)}\n```\n\n{_prose(found)}\n"
    return text


def _shape(name: str, thing: type | Callable[..., object]) -> str:
    """How it is called; of what a program is given, what is in it."""
    if isinstance(thing, type) and issubclass(thing, enum.Enum):
        return "\n".join([f"class {name}(IntEnum):", *(f"    {m.name} = {m.value}" for m in thing)])
    if isinstance(thing, type) and issubclass(thing, tuple):
        fields = [f"    {each}: {kind}" for each, kind in inspect.get_annotations(thing).items()]
        return "\n".join([f"class {name}(NamedTuple):", *map(_unquoted, fields)])
    return _signature(name, thing)


def _unquoted(field: str) -> str:
    return re.sub(r"ForwardRef\('(.+)'\)", r"\1", field)


def _signature(name: str, thing: type | Callable[..., object]) -> str:
    signature = inspect.signature(thing)
    parameters = [each for each in signature.parameters.values() if each.name != "self"]
    if isinstance(thing, type):
        signature = signature.replace(return_annotation=inspect.Signature.empty)
    text = str(signature.replace(parameters=parameters)).replace("'", "")
    if len(name + text) <= 100:
        return name + text
    inner, _, tail = text[1:].rpartition(")")
    pieces = re.split(r", (?=\w+:|\*,)", inner)
    return "\n".join([f"{name}(", *(f"    {each}," for each in pieces), f"){tail}"])


def _prose(thing: object) -> str:
    text = inspect.getdoc(thing) or ""
    return re.sub(r":\w+:`([^`]+)`", r"`\1`", text).replace("``", "`")
