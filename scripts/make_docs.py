"""Write the generated pages of docs/reference: checks, limits, policies, refusals and commands.

They come from the registries that the program itself uses, so they cannot say anything else; the
files that show a check come from the index of the corpus.
``--check`` writes nothing, prints a diff for each page that is stale and exits 1 if there is one.
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The script also runs where the package is not installed.
sys.path.insert(0, str(ROOT))

from packparse import checks, codes, explain  # noqa: E402 - needs the path set above
from packparse.limits import SPECS, LimitSpec  # noqa: E402
from scripts import make_import_pages, make_library_page, make_policy_page  # noqa: E402
from scripts.help_texts import help_text  # noqa: E402

CORPUS = ROOT / "corpus" / "index.json"
FOLDER = ROOT / "docs" / "reference"

_NOTICE = "<!-- Made by scripts/make_docs.py. Change the source it reads, not this page. -->\n\n"

_CHECKS_INTRO = """\
# Checks

Every finding has one of the codes below.
The same list is printed by `packcheck checks`, one entry of it by `packcheck explain CODE`.
A code is never renamed and never used again for something else.

The class of a code is the exit status that an error of this code leads to.
The two severities are those of `--rules candidate`, which is the default, and of `--rules git`.
A [policy file](policy.md) can change most of them.

- **error**: the file is refused.
- **warning**: unusual or unportable; somebody should look. No reason to refuse.
- **note**: a fact for a reviewer. No reason to refuse.
- **ignore**: not reported in this rule set.

An error that the base has as well, at the same path, is inherited: it becomes a note.

Codes that `git fsck` has for objects carry its message id, and the version of git since which it
has it; 2.10 stands for that version or an earlier one.
`--rules git` follows the newest git.
[At the end](#ids-of-git-that-no-object-can-have) are the ids of git that do not occur here.

The corpus is a folder of this repository, with a generator, files that must be refused and honest
neighbours: [corpus](../../corpus/README.md).
The files listed are those that are refused with the code, or in which it is a note or warning; its
index says what each is verified with.
"""

_FSCK_END = """\
## Ids of git that no object can have

git's fsck has 76 message ids, as of version 2.55.
These cannot occur in a pack, a bundle or a loose object, and so are no codes here.

| id | why it cannot occur |
| --- | --- |
"""
# As fsck.h of git has them.
_REFS_ONLY = (
    "badHeadTarget", "badPackedRefEntry", "badPackedRefHeader", "badRefContent", "badRefFiletype",
    "badRefOid", "badReferentName", "badReftableTableName", "emptyPackedRefsFile",
    "packedRefEntryNotTerminated", "packedRefUnsorted", "refMissingNewline", "symlinkRef",
    "symrefTargetIsNotARef", "trailingRefContent",
)  # fmt: skip
_NEVER = {
    **dict.fromkeys(_REFS_ONLY, "It is about the files of a repository's refs."),
    "badRefName": (
        "It is about a repository's refs. The code of this name above is about the refs of a "
        "bundle's header."
    ),
    "unknownType": (
        "It is for an object of no kind; the header of such an entry is refused before, as "
        "`unknownEntryType` or `looseHeader`."
    ),
}

_LIMITS_INTRO = """\
# Limits

A limit bounds cost: memory, time, or what a person has to look at.
It says nothing about correctness.
A file that passes one is refused with class 4, and the message names the value seen, the limit and
the option that raises it.

There are two presets.
`candidate`, the default, is for what one run of a producer hands back.
`history` is for whole repositories; `--limits history` chooses it, and so does a
[policy](policy.md) such as `mirror`.
`--limit NAME=VALUE` changes one limit on top of the preset and of the policy, and may be repeated.
VALUE is a whole number and may end in `k`, `M` or `G`, which multiply by 1,024.
A dash may stand in NAME for an underscore.
A value equal to the limit is allowed, one more is not.

KiB, MiB, GiB and TiB are powers of 1,024.
"""

_COMMAND_INTRO = """\
# Command line

`packcheck` has three commands.
Those of `git candidate` are on [another page](git-candidate.md).
Reports go to standard output, complaints about usage and the progress to standard error.
The texts below are what `--help` prints on a terminal of 80 columns.
"""

_VERIFY_TEXT = """\
Verifies each FILE and prints one report for each.
A FILE is a pack, a bundle, a folder of loose objects laid out as `.git/objects`, or `-` for
standard input, which is copied to a nameless temporary file first.
What is neither a regular file nor a folder is refused with class 6.

`--base` and `--tip` together ask for a range: the file has to hold exactly what the commits from
the base to the tip bring, and a bundle has to have the tips as its refs and no other prerequisite
than the base.
Either alone adds to what a bundle's header says.
Wherever there are tips, be they asked for or the refs of a bundle, an object that none of them
reaches is refused as a stowaway.

`--known` is a list of the objects that the producer was given, one OID or `OID TYPE` a line.
`git rev-list --objects --no-object-names BASE` prints one, and so does
`git cat-file --batch-all-objects --batch-check='%(objectname) %(objecttype)'`.
Without it, what a file with prerequisites or a base names and does not bring is counted and not
checked, and the note `uncheckedLinks` says so.

`--base-pack` is a pack or bundle of the trusted side; a thin one may rest on those before it.
It gives the bases of a thin pack, and the trees and files that the new ones are compared with.
It is no list of what was given, and gives no leave: with `--known`, what the file names and is in
the base pack alone is refused as smuggled.

`--jobs` is how many processes share a file: a part of a pack for each 1 MiB, and of its deltas for
each 1,000 of them.
Smaller files, folders and base packs are read by one.
The report is the same for any number.
Of known objects that are listed without a type it tells the type.

`--policy` is explained in [policy files](policy.md), `--limit` in [limits](limits.md).

`--format text` and `--format json` print a report after each FILE, as described in
[the report](report.md); JSON takes one line each.
`--format sarif` prints one log for all of them at the end.
"""

_EXPLAIN_TEXT = """\
Prints class, severities, meaning and remedy of one code, how a file with it may be let pass, and
since when git's fsck has it.
An unknown code is a usage error; the message names codes that are spelled alike, if there are any.
"""

_CHECKS_TEXT = """\
Prints a table of all codes: name, class, and severity in both rule sets.
The meanings are in [checks](checks.md).
"""

_COMMANDS = {
    "": "The commands that exist, and what the exit status means.\n",
    "verify": _VERIFY_TEXT,
    "explain": _EXPLAIN_TEXT,
    "checks": _CHECKS_TEXT,
}


def checks_page() -> str:
    """All codes by class, in the order of the registry, then the ids of git that are none."""
    files = corpus_files()
    parts = [_CHECKS_INTRO]
    for klass, (name, _text) in codes.CLASSES.items():
        members = [code for code in checks.CATALOG.values() if code.klass == klass]
        if not members:
            continue
        rows = [
            f"| [`{code.name}`](#{code.name.lower()}) | {code.severity('candidate')} "
            f"| {code.severity('git')} | {code.since} |\n"
            for code in members
        ]
        head = "| code | candidate | git | in git since |\n| --- | --- | --- | --- |\n"
        parts.append(f"## Class {klass}: {name}\n\n{head}{''.join(rows)}")
        parts += [_code_section(code, files.get(code.name, [])) for code in members]
    never = "".join(f"| `{name}` | {reason} |\n" for name, reason in sorted(_NEVER.items()))
    parts.append(_FSCK_END + never)
    return _NOTICE + "\n".join(parts)


def _code_section(code: codes.Code, files: list[str]) -> str:
    severities = (
        f"Class {code.klass} ({codes.CLASSES[code.klass][0]}); {code.severity('candidate')} under "
        f"the candidate rules, {code.severity('git')} under the rules of git."
    )
    if code.since:
        severities += f" {explain.origin(code)}"
    shown = ", ".join(f"`{file}`" for file in files) or "none."
    return (
        f"### `{code.name}`\n\n{code.meaning}\n\n- {severities}\n- What to do: {code.remedy}\n"
        f"- To let it pass: {explain.allowing(code)}\n- Corpus: {shown}\n"
    )


def corpus_files() -> dict[str, list[str]]:
    """The files of the corpus that show a code, by its name, each list sorted.

    Those that it refuses; for a code that refuses none, those that it is found in.
    """
    cases = json.loads(CORPUS.read_text("utf-8"))["cases"] if CORPUS.exists() else []
    refused: dict[str, set[str]] = {}
    found: dict[str, set[str]] = {}
    for case in cases:
        expected = case["expected"]
        if expected["code"]:
            refused.setdefault(expected["code"], set()).add(case["file"])
        for name in (*expected["also"], *expected["notes"]):
            found.setdefault(name, set()).add(case["file"])
    return {name: sorted(files) for name, files in (found | refused).items()}


def limits_page() -> str:
    """All limits with both presets, then the reason of each."""
    head = "| name | candidate | history | counted in | code |\n| --- | ---: | ---: | --- | --- |\n"
    rows = "".join(map(_limit_row, SPECS.values()))
    reasons = "\n".join(f"### `{spec.name}`\n\n{spec.reason}\n" for spec in SPECS.values())
    return f"{_NOTICE}{_LIMITS_INTRO}\n## Values\n\n{head}{rows}\n## Reasons\n\n{reasons}"


def _limit_row(spec: LimitSpec) -> str:
    code = spec.code.name
    return (
        f"| [`{spec.name}`](#{spec.name}) | {_amount(spec.candidate, spec.unit)} "
        f"| {_amount(spec.history, spec.unit)} | {spec.unit} "
        f"| [`{code}`](checks.md#{code.lower()}) |\n"
    )


def _amount(value: int, unit: str) -> str:
    if unit == "bytes":
        for name, shift in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
            if value >> shift << shift == value:
                return f"{value >> shift:,} {name}"
    return f"{value:,}"


def command_line_page() -> str:
    """The help of every command, as it is printed."""
    parts = [_COMMAND_INTRO]
    for command, text in _COMMANDS.items():
        words = ["packcheck", command] if command else ["packcheck"]
        shown = help_text("packparse", command)
        parts.append(f"## `{' '.join(words)}`\n\n{text}\n```text\n{shown}```\n")
    return _NOTICE + "\n".join(parts)


PAGES = {
    "checks.md": checks_page,
    "limits.md": limits_page,
    "policy.md": make_policy_page.policy_page,
    "command-line.md": command_line_page,
    "refusals.md": make_import_pages.refusals_page,
    "git-candidate.md": make_import_pages.git_candidate_page,
    "importer.md": make_library_page.library_page,
}


def stale() -> str:
    """A diff from the pages on disk to what they should be; empty if all are fresh."""
    found: list[str] = []
    for name, make in PAGES.items():
        path = FOLDER / name
        before = path.read_text("utf-8") if path.exists() else ""
        found += difflib.unified_diff(
            before.splitlines(keepends=True),
            make().splitlines(keepends=True),
            f"docs/reference/{name} (on disk)",
            f"docs/reference/{name} (made)",
        )
    return "".join(found)


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, or with ``--check`` compare them."""
    parser = argparse.ArgumentParser(description="Write the generated pages of docs/reference.")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 if one is stale")
    if parser.parse_args(arguments).check:
        difference = stale()
        print(difference, end="")
        return 1 if difference else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
