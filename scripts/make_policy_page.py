"""Write docs/reference/policy.md from the code that reads policy files.

``--check`` writes nothing, prints a diff if the page is stale and exits 1. For other scripts,
:func:`policy_page` returns the page.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The script also runs where the package is not installed.
sys.path.insert(0, str(ROOT))

from packparse import checks, codes  # noqa: E402 - needs the path set above
from packparse.limits import PRESETS  # noqa: E402
from packparse.policies import TEXTS  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "policy.md"

_NOTICE = "<!-- Made by scripts/make_policy_page.py. Change the source it reads, not this page. -->"

EXAMPLE = """\
# What our own agents may hand back for the documentation.
extends = "candidate"

[severity]
mergeCommit = "error"      # one line of commits, please
unknownHeader = "ignore"   # our tools write one

[limits]
commits = 10
pack_bytes = "64M"

[paths]
allow = ["docs/**", "*.md"]
deny = ["docs/legal/**"]

[identities]
authors = ["*@example.com", "Doc Bot <bot@docs.example.org>"]
committers = ["Doc Bot <bot@docs.example.org>"]
"""

_TEXT = """\
# Policy files

A policy says what is wanted of a file, on top of the rule set: how bad each finding is, how much
work may be spent, which paths may change, and who may commit.
`--policy` takes the name of one that ships, or a file of your own.
Three ship: `candidate`, which is the default, `fork` and `mirror`; their texts are
[below](#the-policies-that-ship).

A policy file is TOML in UTF-8.
Whatever it holds that is not described here is a usage error, and the message names the key and
what is allowed there.

| key | value | meaning |
| --- | --- | --- |
| `extends` | {names} | The policy to start from; `candidate` if there is none. |
| `severity.CODE` | {severities} | What a finding of this code amounts to. `warn` is read as well. |
| `limits.preset` | {presets} | The column of [limits](limits.md) to start from. |
| `limits.NAME` | a number, or a text such as `"64M"` | One limit; k, M and G multiply by 1,024. |
| `paths.allow` | list of globs | What may change; any path if empty. |
| `paths.deny` | list of globs | What may not change, allowed or not. |
| `paths.sensitive` | list of globs | What somebody is to look at when it changes. |
| `identities.authors` | list of globs | Who may be the author of a commit; anybody if empty. |
| `identities.committers` | list of globs | Who may be its committer; anybody if empty. |

Tables are merged with those of the policy that is extended: what is not named stays.
Lists are replaced as a whole, so `sensitive = []` switches that list off.
With `more_` before its name a list is added to instead, as in `more_sensitive = ["deploy/**"]`.

## Severities

The rule set, `--rules candidate` or `--rules git`, gives each code a severity; both are listed in
[checks](checks.md).
A severity in the policy goes before it, under either rule set; codes that the policy does not name
keep what the rule set says.
An `error` refuses the file, a `warning` or a `note` is reported, `ignore` leaves no trace.

Some codes cannot be set, and naming one in a policy is a usage error; wherever they are looked for
they are errors:

{fixed}

So are the codes of [limits](limits.md), which are set in the table `limits`.

## Limits

The policy's preset is the one used, unless `--limits` names another.
On top of it come the policy's own numbers, and on top of these each `--limit NAME=VALUE`.
Names are written as in [limits](limits.md).

## Paths

The paths of files, symbolic links and submodules that the commits add, change or delete are held
against the globs.
A path that matches a glob of `deny`, or none of `allow` where that list is not empty, is
`pathNotAllowed`; one that matches a glob of `sensitive` is `sensitivePath`.

Globs mean what they mean in a `.gitignore`, and are matched byte for byte:

| glob | matches |
| --- | --- |
| `*.exe` | any name that ends so, in any folder: a glob without a slash matches at any depth |
| `/Makefile`, `docs/*.md` | from the root, where a slash at the beginning or inside fixes it |
| `vendor/` | everything in a folder of that name, at any depth |
| `src/**` | everything in the folder `src` of the root |
| `**/hooks/update` | `hooks/update` in any folder; `a/**/b` has any number of folders between |
| `?`, `[a-f]`, `[!0-9]`, `[[:digit:]]` | one byte, though never a slash |
| `\\*` | a star; in TOML single quotes keep a backslash as it is |

No glob takes back another: one that begins with `!` is a usage error.

Leave is given by the letter.
A glob of `allow` matches whole paths and nothing else.

What is denied or watched is meant more broadly, so that nothing slips by.
A glob of `deny` or `sensitive`

- matches whatever lies below a path that it matches: `vendor` is also everything in it;
- does not tell names apart that some file system takes for the same: `.GitHub/Workflows/x.yml` is
  in `.github/workflows` on many disks. Case does not count, nor Unicode's normal forms, nor
  characters that some systems ignore, nor dots and spaces at the end of a name;
- matches what stands in the place of a folder that it spells out: a link named `.github` brings in
  workflows from wherever it leads.

## Identities

A glob such as `*@example.com` is held against the e-mail address, one such as
`Jane Doe <jane@example.com>` against the name and the address, each with its part.
The case of ASCII letters does not count in the address, and counts in the name.
A star matches anything.
An identity that is not plainly `Name <address>` matches no glob.
Names and addresses are what the producer wrote: the lists keep order, they prove nothing.

## What the base already has

An oddity that the base already has at the same path is inherited.
It is reported as such and never a reason to refuse: where the policy says error, it becomes a note.
So a stricter policy never refuses a candidate for what was there before; and paths that did not
change are held against no glob.
With several bases a path is changed where it is as in none of them, and deleted where all had it.
Without a base everything counts as the candidate's own; sensitive paths are then looked for only
where the policy calls them errors, or has globs in `allow` or `deny`.
Where the trees of the base, or of a bundle's prerequisites, cannot be read, a policy with such
globs is not met: what changed cannot be told.

## Example

```toml
{example}```

It is used as `packcheck verify --policy docs.toml FILE`.

## The policies that ship

{shipped}"""


def policy_page() -> str:
    """The text of the page."""
    fixed = [
        f"`{code.name}`"
        for code in checks.CATALOG.values()
        if not code.free and code.klass != codes.LIMIT
    ]
    shipped = "\n".join(f"### `{name}`\n\n```toml\n{text}```\n" for name, text in TEXTS.items())
    text = _TEXT.format(
        names=_quoted(TEXTS),
        severities=_quoted(codes.SEVERITIES),
        presets=_quoted(PRESETS),
        fixed=textwrap.fill(", ".join(fixed) + ".", 100, break_long_words=False),
        example=EXAMPLE,
        shipped=shipped,
    )
    return f"{_NOTICE}\n\n{text}"


def _quoted(words: tuple[str, ...] | dict[str, str]) -> str:
    return ", ".join(f'`"{word}"`' for word in words)


def stale() -> str:
    """A diff from the page on disk to what it should be; empty if it is fresh."""
    before = PAGE.read_text("utf-8") if PAGE.exists() else ""
    return "".join(
        difflib.unified_diff(
            before.splitlines(keepends=True),
            policy_page().splitlines(keepends=True),
            "docs/reference/policy.md (on disk)",
            "docs/reference/policy.md (made)",
        )
    )


def main(arguments: list[str] | None = None) -> int:
    """Write the page, or with ``--check`` compare it."""
    parser = argparse.ArgumentParser(description="Write docs/reference/policy.md.")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 if it is stale")
    if parser.parse_args(arguments).check:
        difference = stale()
        print(difference, end="")
        return 1 if difference else 0
    PAGE.write_text(policy_page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
