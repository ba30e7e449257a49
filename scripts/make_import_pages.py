"""The pages of docs/reference about imports that come from the code: refusals, `git candidate`.

They are written by make_docs.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The script also runs where the package is not installed.
sys.path.insert(0, str(ROOT))

import candidate.errors  # noqa: E402, F401 - adds its codes to the registry, and so does
import importer.errors  # noqa: E402, F401 - this one
from manifest.errors import REGISTRY  # noqa: E402 - needs the path set above
from packparse import codes  # noqa: E402
from scripts.help_texts import help_text  # noqa: E402

_NOTICE = "<!-- Made by scripts/make_docs.py. Change the source it reads, not this page. -->\n\n"

_REFUSALS_INTRO = """\
# Refusals

An import that does not end with a receipt ends with one code, and so does an export that writes
no manifest.
It is one of those below, or one of the [checks](checks.md) where packcheck's verdict refuses the
artifact.
A code is never renamed and never used again for something else.

The class of a code is the exit status of a command that ends with it.
Where something is wrong with the candidate, its manifest or its place, the import is refused, and a
[refusal](receipt-v1.md#fields-of-a-refusal) is recorded in the launch, if that could be opened.
Where something around it did not work, it failed, and nothing is recorded.
`git candidate explain CODE` says the same as this page.
In both cases no ref, no configuration and no index was changed, no half pack is visible, and the
artifact is where it was.

[Importing a candidate](../concepts/import.md#what-each-step-refuses) says which step refuses what;
[the guide](../guides/recover-after-a-crash.md) what to do after a crash.
"""

_COMMAND_INTRO = """\
# git candidate

`git candidate` looks after the candidates of a repository: it gives a producer one commit, takes
what it made, shows what was imported, and cleans up after what died.
It is an executable named `git-candidate`; git finds it where it is on the path.
Without that, `python3 -m candidate` is the same.
git takes `git candidate --help` for itself and looks for a manual page, so ask with `-h`.

Answers go to standard output, complaints to standard error.
The texts below are what `--help` prints on a terminal of 80 columns.

Programs use [the library](importer.md) instead.

## The state folder

Launches, their keys and receipts lie in a folder of the controller's own:

```text
format                  what the layout is: packcheck.state/1
lock                    held while a new folder is labelled
launches/ID/lock        held by whoever works on the launch, and by the git that it runs
launches/ID/journal     the launch record with its key, and what happened since
launches/ID/receipt.json
launches/ID/refusal.json
work/                   folders for temporary files of commands and imports that run
```

`--state DIR` names it, else the variable `GIT_CANDIDATE_STATE`, else it is `git-candidate` in
`XDG_STATE_HOME` or in `~/.local/state`.
It is made for the first launch; the other commands make none, and where there is none they end with
`stateMissing`.
It must belong to the user who asks, have mode 0700, be no symbolic link, and lie in no repository;
anything else is `stateUnsafe`.
Whoever can write there can forge a receipt, and whoever can read there has the keys.

## Errors in JSON

With `--format json` the answer is one object in one line, and so is what is said where there is no
answer.
The text on standard error and the exit status are the same as without.
A wrong argument, an interrupt and an error of the system have no code.
What is no command or option is told on standard error alone, with the usage.

| field of the JSON object | type | meaning |
| --- | --- | --- |
| `schema` | string | Always `git-candidate.error/1`. |
| `code` | string or null | A [refusal](refusals.md) or a [check](checks.md), if it has one. |
| `class` | integer | The exit status. |
| `message` | string | The same for people. |
| `remedy` | string or null | What to do. |

## The states of a launch

| state | what happened last |
| --- | --- |
"""
_STATES = {
    "launched": "The launch was recorded by a program; its producer may have started.",
    "preparing": (
        "The launch was recorded, and what its producer is given is being made. Where nobody is "
        "making it any more, `git candidate recover` gives it up."
    ),
    "ready": "All that the producer is given is there; it may have started.",
    "verified": "packcheck accepted the candidate. Nothing is published.",
    "publishing": (
        "Files of the pack may stand in the shared store. An import is there at the moment, "
        "or died there, or was taken back by `git candidate recover`."
    ),
    "imported": "There is a receipt.",
    "refused": "The last import was refused. It can be tried again.",
    "discarded": "The launch was given up. Nothing is imported under it any more.",
}

_EXPORT_TEXT = """\
This is for the producer, inside of its sandbox.
It writes a bundle of the commits from the base to `--tip`, and the
[manifest](manifest-v1.md) beside it, into the export folder; the [ticket](ticket-v1.md) in there
says what the launch is.
Where there is no Python, `sh /export/export.sh` does the same from inside of the workspace, and
writes [the same bytes](ticket-v1.md#the-script).

Uncommitted work is never exported: how many paths there are is told, and noted in the manifest with
the first 100 of them.
It may be run again, after more commits or after it was killed.
The old manifest goes before the new artifact gets its name, and the new one comes last, so a
manifest is always beside the artifact that it speaks of.

Never run it in the workspace of a producer that you do not trust: git does what the configuration
of a workspace says.
"""
_EXPORT_FIELDS = (
    ("schema", "string", "Always `git-candidate.export/1`."),
    ("launch", "string", "The id of the launch."),
    ("base", "string", "The base."),
    ("candidate", "string", "The commit that was exported."),
    ("commits", "integer", "How many commits there are from the base to it."),
    ("artifact", "object", "The bundle, as the [manifest](manifest-v1.md#fields) has it."),
    ("artifact.name", "string", "Its name in the export folder."),
    ("artifact.bytes", "integer", "Its size."),
    ("artifact.sha256", "string", "Its SHA-256."),
    ("artifact.objects", "integer", "The number of objects in its pack."),
    ("workspace", "object", "What is not exported, since it is not committed."),
    ("workspace.dirty", "integer", "How many paths there are."),
    ("workspace.paths", "list", "The first of them, [quoted](manifest-v1.md#paths)."),
)  # fmt: skip

_CHECK_TEXT = """\
Gives both verdicts on a bundle that need not come from a launch, and imports nothing.
The bundle is copied first, so both verdicts are about the same bytes.
git indexes the pack in a temporary folder, with the repository as its alternate.

`--seed` says what the producer was given: with `depth-one` the base and its tree, with `full` the
history as well.
What the bundle names beyond that is refused as [`smuggledBase`](checks.md#smuggledbase), though the
repository has it.
A revert to an old file can name one that git knows the other side to have, and leaves out; it does
in a clone with bitmaps.
The bundle has to be a range from the bases to `--tip`.
Without `--tip` that is the commit of its first ref that is no base, which is the bundle's own
claim; where there are several refs, the answer says which was taken, and that the others are
`unexpectedRefs`: a candidate is one branch.

A candidate is asked for more than any bundle: a header, refs that are branches, and no filter.
`HEAD` is no branch, so what `git bundle create x.bundle BASE..HEAD` makes is `unexpectedRefs`.
Bundle a branch, `git bundle create x.bundle BASE..topic`; where there is none,
`git branch topic` makes it.

The first verdict looks the same as that of [`packcheck verify`](command-line.md#packcheck-verify).
git is asked only where packcheck accepts.
It uses no state folder.
"""
_CHECK_FIELDS = (
    ("schema", "string", "Always `git-candidate.check/1`."),
    ("verdict", "string", "`accepted` or `refused`."),
    ("class", "integer", "0 when accepted, else the class of the refusal."),
    ("code", "string or null",
     "A [refusal](refusals.md) or a [check](checks.md); null when accepted."),
    ("message", "string or null", "The same for people; null when accepted."),
    ("packcheck", "object or null",
     "[The report](report.md). Null where the file is larger than the limit."),
    ("git", "object or null", "What git was asked. Null where packcheck refuses."),
    ("git.version", "string", "The version of git."),
    ("git.relaxed", "list",
     "The fsck ids that git was told to pass, since the first verdict excused them."),
    ("chosen", "string or null",
     "The ref that was taken for the tip; null with `--tip`, and where there is one ref."),
)  # fmt: skip

_RECOVER_TEXT = """\
Goes through all launches of the state folder, whatever their repository.
Where an import died, its publication is finished or taken back, and what it left is removed.
A launch that died before it was ready is given up, and its folder removed.
[The guide](../guides/recover-after-a-crash.md) shows it.

A launch on which somebody works is waited for, ten seconds at most, and then is `lockBusy`: its
import recovers it by itself.
One launch that cannot be recovered does not stop the others; the exit status is the highest class
of what could not be done.

Then the repository is asked whether it still has what each receipt says, as `show` does for one.
That reads every published pack; those of launches that were discarded are left out.

A repository is known by what it is and not by its path.
It is looked for wherever one of its launches was recorded, and at `--repo DIR`.
Where it cannot be opened, each of its launches is told of with the reason;
[the guide](../guides/recover-after-a-crash.md#a-repository-that-was-moved-or-deleted) says what to
do.
"""
_RECOVER_FIELDS = (
    ("schema", "string", "Always `git-candidate.recover/1`."),
    ("launches", "list",
     "One item for each launch."),
    ("launches[].launch", "string", "The id of the launch."),
    ("launches[].state", "string", "Its state now; empty where it could not be told."),
    ("launches[].removed", "list", "The names of files and folders that were removed."),
    ("launches[].error", "object or null",
     "Why it could not be recovered; with `imported`: why its receipt is not true, or not proven."),
    ("launches[].error.code", "string", "A [refusal](refusals.md)."),
    ("launches[].error.message", "string", "The same for people."),
)  # fmt: skip

_LAUNCH_FIELDS = (
    ("schema", "string", "Always `git-candidate.launch/1`."),
    ("launch", "string", "The id of the launch."),
    ("state", "string", "Its [state](#the-states-of-a-launch)."),
    ("launched", "integer", "When it was recorded, in seconds since the epoch."),
    ("issue", "string", "What the controller calls the issue. So are the next three."),
    ("run", "string", "The run."),
    ("phase", "string", "The phase."),
    ("repository", "string", "The repository."),
    ("common_dir", "string",
     "The common folder of the repository, [quoted](manifest-v1.md#paths)."),
    ("export", "string", "The export folder, quoted."),
    ("object_format", "string", "`sha1` or `sha256`."),
    ("base", "string", "The base."),
    ("seed", "string", "`depth-one` or `full`."),
    ("receipt", "object or null",
     "[The receipt](receipt-v1.md#fields-of-a-receipt), without its seal."),
    ("refusal", "object or null",
     "[The last refusal](receipt-v1.md#fields-of-a-refusal), without its seal."),
    ("proven", "boolean or null",
     "Whether the repository has all of the receipt; null where it was not asked or could not be."),
    ("fault", "object or null",
     "What is wrong, where `proven` is false, or why the repository could not be asked."),
)  # fmt: skip

_LAUNCHED_FIELDS = (
    *_LAUNCH_FIELDS,
    ("source", "string", "The tree of the base, to be read, quoted."),
    ("workspace", "string", "The private repository, quoted."),
    ("command", "string or null",
     "How the COMMAND is started, for a shell; null where there is none."),
)  # fmt: skip

_SHOW_TEXT = """\
Shows a launch: everything but its key.
Where its state is `imported`, the repository is asked whether it still has what the receipt says.
If not, or where it cannot be asked, the exit status is the class of what is wrong.
A repository that was moved is given with `--repo`.
"""
_SHOW_FIELDS = (
    *_LAUNCH_FIELDS,
    ("fault.code", "string", "A [refusal](refusals.md)."),
    ("fault.message", "string", "The same for people."),
)  # fmt: skip

_LIST_TEXT = """\
Lists the launches, one a line: id, state, when it was recorded, issue, phase, and the candidate
where there is a receipt.
Launches that cannot be read come last; they make the exit status 6 and hide no others.
"""
_LIST_FIELDS = (
    ("schema", "string", "Always `git-candidate.list/1`."),
    ("launches", "list",
     "Launches, each with the fields that [`discard`](#git-candidate-discard) gives."),
    ("damaged", "list", "Launches that cannot be read."),
    ("damaged[].launch", "string", "The id of the launch."),
    ("damaged[].error", "object", "Why it cannot be read."),
    ("damaged[].error.code", "string", "A [refusal](refusals.md)."),
    ("damaged[].error.message", "string", "The same for people."),
)  # fmt: skip

_DISCARD_TEXT = """\
Gives up a launch.
Its line in the `.keep` of the published pack goes, and the file with the last line.
From then on git may collect the pack, so whoever wants the commits makes a ref before.
A folder that `git candidate launch` made goes with the artifact, and with work that was not
exported.
The state folder keeps the journal and the receipt.
A repository that was moved is given with `--repo`.
"""

_EXPLAIN_TEXT = """\
Says of a [refusal](refusals.md) or a [check](checks.md) what it means, and what to do about it.
"""
_EXPLAIN_FIELDS = (
    ("schema", "string", "Always `git-candidate.explain/1`."),
    ("code", "string", "The code."),
    ("class", "integer", "Its class, which is the exit status of a command that refuses for it."),
    ("meaning", "string", "What it means."),
    ("remedy", "string", "What to do."),
)  # fmt: skip

_LAUNCH_TEXT = """\
Gives a producer one commit of a repository; [launching a producer](../concepts/launch.md) says what
that is, and [the guide](../guides/import-a-candidate.md) shows it.

`--base` is the full id of a commit that the repository has.
`--into` is a folder that is empty or not there yet; the folder above it has to be there.
It lies outside of every repository and of the state folder, and nobody else may write to it.

The policy and the limits are those that the candidate is judged by when it is imported; they are
recorded with the launch, the text of a policy file as well.
The names are what the manifest repeats: up to 128 letters, digits and `._:/#@+=,-`.

What the COMMAND behind `--` prints goes where ours does; with `--format json` all of it goes to
standard error, and standard output has the answer alone.
A COMMAND that ends with another status than 0 is [`producerFailed`](refusals.md#producerfailed);
the launch is there all the same.
`--print-command` gives one line for a shell, for whoever starts producers by other means; it may be
used again and again while the launch is not discarded.
"""
_IMPORT_TEXT = """\
Takes the candidate that lies in the export folder of a launch into its repository, by [eleven
steps](../concepts/import.md#the-eleven-steps).
Where it was imported before, and the repository still has all of it, the answer is the same and
nothing is done.

The answer is that of `git candidate show`, and the line that shows the commits.
A candidate that is refused stays where it is; `git candidate show` repeats why.
A repository that was moved is given with `--repo`.
"""
_DEMO_TEXT = """\
Shows the whole way in a temporary folder, which is removed afterwards.
Where bubblewrap makes no sandbox it says why, and goes on with an ordinary process.
With `--format json` what happens is told on standard error.
The exit status is 0 if all of it ended as it must, else 3.
"""
_DEMO_FIELDS = (
    ("schema", "string", "Always `git-candidate.demo/1`."),
    ("well", "boolean", "Whether all of it ended as it must."),
    ("candidate", "string", "The commit that was imported."),
    ("sandboxed", "boolean", "Whether the producer was in a sandbox."),
    ("reason", "string or null", "Why not, if it was not."),
    ("refusals", "list", "One item for each hostile artifact."),
    ("refusals[].title", "string", "What it tries."),
    ("refusals[].expected", "string", "The code that it has to be refused for."),
    ("refusals[].code", "string", "The code that it was refused for; empty where it was imported."),
    ("refusals[].message", "string", "The same for people."),
    ("changed", "list", "Files of the host that are not as they were before; there are none."),
)  # fmt: skip

_COMMANDS = {
    "": ("The commands that exist, and what the exit status means.\n", ()),
    "launch": (_LAUNCH_TEXT, _LAUNCHED_FIELDS),
    "export": (_EXPORT_TEXT, _EXPORT_FIELDS),
    "import": (_IMPORT_TEXT, _LAUNCH_FIELDS),
    "check": (_CHECK_TEXT, _CHECK_FIELDS),
    "recover": (_RECOVER_TEXT, _RECOVER_FIELDS),
    "show": (_SHOW_TEXT, _SHOW_FIELDS),
    "list": (_LIST_TEXT, _LIST_FIELDS),
    "discard": (_DISCARD_TEXT, _LAUNCH_FIELDS),
    "explain": (_EXPLAIN_TEXT, _EXPLAIN_FIELDS),
    "demo": (_DEMO_TEXT, _DEMO_FIELDS),
}


def refusals_page() -> str:
    """All codes of records and imports by class, in the order of the registry."""
    parts = [_REFUSALS_INTRO]
    for klass, (name, _text) in codes.CLASSES.items():
        members = [code for code in REGISTRY.values() if code.klass == klass]
        if members:
            parts.append(f"## Class {klass}: {name}\n")
            parts += [
                f"### `{code.name}`\n\n{code.meaning}\n\n- What to do: {code.remedy}\n"
                for code in members
            ]
    return _NOTICE + "\n".join(parts)


def git_candidate_page() -> str:
    """The help of every command, as it is printed, and what its JSON has."""
    states = "".join(f"| `{name}` | {meaning} |\n" for name, meaning in _STATES.items())
    parts = [_COMMAND_INTRO + states]
    for command, (text, fields) in _COMMANDS.items():
        words = ["git candidate", command] if command else ["git candidate"]
        shown = help_text("candidate", command)
        parts.append(f"## `{' '.join(words)}`\n\n{text}\n```text\n{shown}```\n{_table(fields)}")
    return _NOTICE + "\n".join(parts)


def _table(fields: Iterable[tuple[str, str, str]]) -> str:
    rows = "".join(f"| `{name}` | {kind} | {meaning} |\n" for name, kind, meaning in fields)
    head = "\n| field of the JSON object | type | meaning |\n| --- | --- | --- |\n"
    return f"{head}{rows}" if rows else ""
