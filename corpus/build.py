"""Make the corpus: all files and index.json.

    python -m corpus.build                  write everything
    python -m corpus.build --check          make everything in memory and compare with what is there
    python -m corpus.build --measure-git    write everything, and ask the installed git anew

Without ``--measure-git`` the verdicts of git are kept, as long as the bytes are the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from corpus import MODULES
from corpus.model import Case, Extra, of_format
from corpus.writer import Kit

__all__ = ["ROOT", "collect", "load_index", "main", "render"]

ROOT = Path(__file__).resolve().parent
FOLDERS = ("good", "bad", "bundles", "extra")
FORMATS = ("sha1", "sha256")
INDEX = "index.json"


def collect() -> tuple[list[Case], list[Extra]]:
    """All cases and extra files, in the order of the modules; sha256 after sha1."""
    cases: list[Case] = []
    extras: list[Extra] = []
    for module in MODULES:
        for fmt in FORMATS:
            kit = Kit(fmt)
            made = list(module.cases(kit))
            extras += [item for item in made if isinstance(item, Extra)]
            wanted = [item for item in made if isinstance(item, Case)]
            if fmt != "sha1":
                wanted = _doubled(wanted)
            cases += [of_format(case, kit) for case in wanted]
    return cases, extras


def _doubled(cases: list[Case]) -> list[Case]:
    """The cases that are wanted in another format, and the neighbours that they need."""
    names = {case.name for case in cases if case.both}
    names |= {case.neighbour for case in cases if case.both}
    return [case for case in cases if case.name in names]


def render(verdicts: dict[str, object]) -> dict[str, bytes]:
    """All files by their path in the corpus; ``verdicts`` are git's, by the name of the case."""
    cases, extras = collect()
    files = {f"extra/{extra.name}": extra.data for extra in extras}
    used = "".join(argument for case in cases for argument in case.arguments)
    files = {path: data for path, data in files.items() if path in used}
    rows = []
    for case in cases:
        path = _place(case, files)
        files[path] = case.file.data
        rows.append(_row(case, path, verdicts.get(case.name)))
    _refuse_repeats([case.name for case in cases])
    index = {"schema": "packcheck.corpus/1", "git": "2.39.5", "cases": rows}
    files[INDEX] = (json.dumps(index, indent=1) + "\n").encode("ascii")
    return files


def _place(case: Case, files: dict[str, bytes]) -> str:
    """Where the file of a case lies; cases of the same bytes share one."""
    same = [path for path, data in files.items() if data == case.file.data]
    if same and not same[0].startswith("extra/"):
        return same[0]
    if case.bundle:
        return f"bundles/{case.name}.bundle"
    return f"{'bad' if case.code else 'good'}/{case.name}.pack"


def _refuse_repeats(names: list[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        message = f"names that come twice: {', '.join(repeated)}"
        raise ValueError(message)


def _row(case: Case, path: str, verdict: object) -> dict[str, object]:
    expected = {
        "verdict": "refused" if case.code else "accepted",
        "class": case.klass,
        "code": case.code or None,
        "also": list(case.also),
        "notes": list(case.notes),
        "offset": case.offset,
    }
    return {
        "name": case.name,
        "file": path,
        "sha256": hashlib.sha256(case.file.data).hexdigest(),
        "origin": list(case.origin),
        "rules": case.rules,
        "arguments": list(case.arguments),
        "expected": expected,
        "neighbour": case.neighbour or None,
        "git": verdict,
        "git_host": f"extra/{case.host}" if case.host else None,
        "git_differs": case.parity or None,
    }


def load_index() -> dict[str, dict[str, object]]:
    """The rows of index.json by name; none where there is no index yet."""
    path = ROOT / INDEX
    if not path.exists():
        return {}
    return {row["name"]: row for row in json.loads(path.read_bytes())["cases"]}


def _kept_verdicts() -> dict[str, object]:
    made = {case.name: hashlib.sha256(case.file.data).hexdigest() for case in collect()[0]}
    rows = load_index()
    return {
        name: rows[name]["git"]
        for name, digest in made.items()
        if name in rows and rows[name]["sha256"] == digest
    }


def stored() -> dict[str, bytes]:
    """All files that lie in the corpus now, by their path in it."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*"))]
    paths += [path for path in [ROOT / INDEX] if path.exists()]
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}


def _differences(made: dict[str, bytes]) -> Iterator[str]:
    there = stored()
    yield from (f"missing: {path}" for path in sorted(made.keys() - there.keys()))
    yield from (f"not made by the generator: {path}" for path in sorted(there.keys() - made.keys()))
    for path in sorted(made.keys() & there.keys()):
        if made[path] != there[path]:
            yield f"differs: {path}"


def _write(made: dict[str, bytes]) -> None:
    for path in stored().keys() - made.keys():
        (ROOT / path).unlink()
    for path, data in made.items():
        place = ROOT / path
        place.parent.mkdir(exist_ok=True)
        if not place.exists() or place.read_bytes() != data:
            place.write_bytes(data)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns 1 where ``--check`` found a difference."""
    parser = argparse.ArgumentParser(prog="python -m corpus.build", allow_abbrev=False)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--measure-git", action="store_true", help="ask the installed git anew")
    parsed = parser.parse_args(arguments)
    verdicts = _kept_verdicts()
    if parsed.measure_git:
        from corpus.measure import measure  # noqa: PLC0415 - needs git

        verdicts = measure(*collect())
    made = render(verdicts)
    if parsed.check:
        found = list(_differences(made))
        sys.stdout.write("".join(f"{line}\n" for line in found))
        return bool(found)
    _write(made)
    total = sum(map(len, made.values()))
    sys.stdout.write(f"{len(made)} files, {total} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
