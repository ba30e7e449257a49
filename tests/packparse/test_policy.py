"""Policies: what a file may hold, what is said about the rest, and the three that ship."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from packparse import checks, codes, pathcodes
from packparse.codes import Code
from packparse.errors import MisuseError
from packparse.limits import SPECS, Limits, amount
from packparse.policies import SENSITIVE, TEXTS
from packparse.policy import Policy, named, parse
from scripts import make_policy_page

BARE = Policy("bare", sensitive=())
every_policy = pytest.mark.parametrize("name", TEXTS)


def misuse(text: str, name: str = "x.toml") -> str:
    with pytest.raises(MisuseError) as caught:
        parse(text, name)
    message = str(caught.value)
    assert message.startswith("policy ")
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 1000
    return message


# --- what a file may hold -----------------------------------------------------------------------


def test_a_policy_says_severities_limits_paths_and_people() -> None:
    policy = parse(make_policy_page.EXAMPLE, "docs.toml")
    assert policy.name == "docs.toml"
    assert policy.severities == {
        checks.MERGE_COMMIT: codes.ERROR,
        checks.UNKNOWN_HEADER: codes.IGNORE,
    }
    assert policy.limits == {"commits": 10, "pack_bytes": 64 << 20}
    assert policy.limits_preset == "candidate"
    assert policy.refuses_path(b"docs/a.md") is None
    assert policy.refuses_path(b"src/a.py") == "matches none of the globs that the policy allows"
    assert policy.refuses_path(b"docs/legal/a.md") == "denied by docs/legal/**"
    assert policy.is_sensitive(b".github/workflows/a.yml")
    assert policy.allows_author(b"Jane <jane@example.com>")
    assert policy.allows_author(b"Doc Bot <bot@docs.example.org>")
    assert not policy.allows_author(b"Jane <jane@docs.example.org>")
    assert policy.allows_committer(b"Doc Bot <bot@docs.example.org>")
    assert not policy.allows_committer(b"Jane <jane@example.com>")


def test_an_empty_file_is_the_default_by_another_name() -> None:
    policy = parse("", "x")
    assert policy.as_dict() == Policy().as_dict()
    assert (policy.name, Policy().name) == ("x", "candidate")


def test_without_lists_every_path_and_everybody_is_allowed() -> None:
    policy = Policy()
    assert not policy.allow
    assert not policy.deny
    assert not policy.authors
    assert not policy.committers
    assert policy.refuses_path(b".github/workflows/a.yml") is None
    assert policy.allows_author(b"no identity at all")
    assert policy.allows_committer(b"")


def test_what_denies_is_told_in_printable_ascii() -> None:
    policy = Policy(deny=["\xe9*"])
    assert policy.refuses_path(b"\xc3\xa9t") == 'denied by "\\303\\251*"'


def test_deny_goes_before_allow_and_reads_broadly_where_allow_does_not() -> None:
    policy = Policy(allow=["Src/**"], deny=["src/secret/"])
    assert policy.refuses_path(b"Src/a") is None
    assert policy.refuses_path(b"src/a") is not None
    assert policy.refuses_path(b"Src/Secret/a") == "denied by src/secret/"
    assert policy.refuses_path(b"Src/Secret") == "denied by src/secret/"


SEVERITIES = {
    "error": "error",
    "warning": "warning",
    "warn": "warning",
    "note": "note",
    "ignore": "ignore",
}


@pytest.mark.parametrize("word", SEVERITIES)
def test_a_severity_can_be_set(word: str) -> None:
    policy = parse(f'[severity]\ncaseCollision = "{word}"', "x")
    assert policy.severities == {pathcodes.CASE_COLLISION: SEVERITIES[word]}


FREE = [code for code in checks.CATALOG.values() if code.free]
FIXED = [code for code in checks.CATALOG.values() if not code.free]


def test_every_free_code_can_be_set() -> None:
    text = "[severity]\n" + "".join(f'{code.name} = "note"\n' for code in FREE)
    assert parse(text, "x").severities == dict.fromkeys(FREE, "note")


@pytest.mark.parametrize("code", FIXED, ids=[code.name for code in FIXED])
def test_a_code_that_is_not_free_cannot_be_set(code: Code) -> None:
    message = misuse(f'[severity]\n{code.name} = "error"')
    assert f"severity.{code.name}" in message
    limits = [name for name, spec in SPECS.items() if spec.code is code]
    if code.klass == codes.LIMIT:
        assert message.endswith(f"is the code of a limit; set limits.{limits[0]} instead")
    else:
        assert message.endswith("cannot be set; it is an error wherever it is looked for")
    with pytest.raises(MisuseError):
        Policy(severities={code: "error"})


@pytest.mark.parametrize("name", SPECS)
def test_every_limit_can_be_set(name: str) -> None:
    assert parse(f"[limits]\n{name} = 0", "x").limits == {name: 0}
    assert parse(f'[limits]\n{name} = "64M"', "x").limits == {name: 64 << 20}


AMOUNTS = {
    "0": 0, "100": 100, "1k": 1024, "1K": 1024, "64M": 64 << 20, "2g": 2 << 30, "007": 7,
    "": None, "M": None, "1T": None, "1 M": None, " 1": None, "-1": None, "+1": None, "1.5M": None,
    "1_000": None, "\u0661": None, "\xb2": None, "9" * 19: 10**19 - 1, "9" * 20: None, "1kk": None,
}  # fmt: skip


@pytest.mark.parametrize("text", AMOUNTS)
def test_an_amount_is_a_number_with_or_without_a_letter(text: str) -> None:
    assert amount(text) == AMOUNTS[text]


def test_limits_come_from_the_preset_the_policy_and_the_caller_in_this_order() -> None:
    policy = parse('[limits]\npreset = "history"\ncommits = 10\nrefs = 5', "x")
    history = Limits("history").as_dict()
    assert policy.made_limits().as_dict() == history | {"commits": 10, "refs": 5}
    made = policy.made_limits("candidate", {"refs": 7}).as_dict()
    assert made == Limits().as_dict() | {"commits": 10, "refs": 7}
    assert policy.limits == {"commits": 10, "refs": 5}


# --- extending ----------------------------------------------------------------------------------


def test_tables_merge_and_lists_replace() -> None:
    base = parse(
        '[severity]\nmergeCommit = "error"\nlfsPointer = "error"\n'
        '[limits]\npreset = "history"\ncommits = 1\nrefs = 2\n'
        '[paths]\nallow = ["a"]\ndeny = ["b"]\n[identities]\nauthors = ["*@a"]',
        "base",
    )
    policy = parse(
        '[severity]\nlfsPointer = "ignore"\ndashName = "note"\n[limits]\nrefs = 3\n'
        '[paths]\ndeny = ["c"]\nsensitive = []\n[identities]\ncommitters = ["*@b"]',
        "x",
        base=base,
    )
    assert policy.as_dict() == {
        "severity": {"dashName": "note", "lfsPointer": "ignore", "mergeCommit": "error"},
        "limits": {"preset": "history", "commits": 1, "refs": 3},
        "paths": {"allow": ["a"], "deny": ["c"], "sensitive": []},
        "identities": {"authors": ["*@a"], "committers": ["*@b"]},
    }


@every_policy
def test_a_file_extends_a_policy_that_ships(name: str) -> None:
    policy = parse(f'extends = "{name}"\n[limits]\ncommits = 3', "x", base=BARE)
    expected = named(name)
    assert policy.severities == expected.severities
    assert policy.sensitive.texts == expected.sensitive.texts
    assert policy.limits == expected.limits | {"commits": 3}
    assert policy.limits_preset == expected.limits_preset


# --- what is wrong in a file --------------------------------------------------------------------

# Text of a file: what the message says, the key first.
WRONG = {
    "a key nobody knows": ("foo = 1", "foo: is not known; known: extends, severity, limits"),
    "a table in the plural": ("[severities]", "severities: is not known; did you mean severity or"),
    "a key with an escape": ('"\\u001b[m" = 1', '"\\033[m": is not known'),
    "a key of a thousand letters": (f"{'a' * 1000} = 1", "... (1000 bytes): is not known"),
    "a code in the wrong case": (
        '[severity]\nhasDotGit = "error"',
        "severity.hasDotGit: there is no such code; did you mean hasDotgit?",
    ),
    "a code with a slip": (
        '[severity]\nmergeComit = "error"',
        "severity.mergeComit: there is no such code; did you mean mergeCommit or",
    ),
    "a code unlike any": (
        '[severity]\nzzz = "error"',
        "severity.zzz: there is no such code; packcheck checks lists them",
    ),
    "a code beyond ASCII": ('[severity]\n"\xe9" = "error"', 'severity."\\303\\251": there is no'),
    "a severity nobody knows": (
        '[severity]\nmergeCommit = "fatal"',
        "severity.mergeCommit: is 'fatal'; allowed are error, warning, note, ignore",
    ),
    "a severity in capitals": ('[severity]\nmergeCommit = "Error"', "is 'Error'; allowed are"),
    "a severity that is a number": ("[severity]\nmergeCommit = 2", "is 2; allowed are error"),
    "a severity that is a table": ("[severity.mergeCommit]\na = 1", "severity.mergeCommit: is {"),
    "severities without a table": ('severity = "error"', "severity: is 'error'; it is to be a ta"),
    "a list of tables": ("[[limits]]\ncommits = 1", "limits: is [{"),
    "a limit nobody knows": (
        "[limits]\ncommit = 1",
        "limits.commit: is not known; did you mean commits?",
    ),
    "a limit that is true": (
        "[limits]\ncommits = true",
        "limits.commits: is True; allowed is a wh",
    ),
    "a limit that is a fraction": ("[limits]\ncommits = 1.0", "limits.commits: is 1.0; allowed is"),
    "a limit below zero": ("[limits]\ncommits = -1", "limits.commits: is -1; allowed is"),
    "a limit that is no amount": (
        '[limits]\ncommits = "1T"',
        "limits.commits: is '1T'; allowed is",
    ),
    "a limit past 32 bits": ('[limits]\nobjects = "4G"', "limits.objects: limit objects must be"),
    "a limit of twenty-one digits": (f"[limits]\ncommits = 1{'0' * 20}", "limits.commits: is 1000"),
    "a limit of a million bits": (
        f"[limits]\ncommits = 0x{'f' * 250_000}",
        "limits.commits: is a number of thousands of digits; allowed is",
    ),
    "a preset nobody knows": (
        '[limits]\npreset = "large"',
        "limits.preset: is 'large'; allowed are candidate, history",
    ),
    "a list nobody knows": ("[paths]\nalow = []", "paths.alow: is not known; did you mean allow?"),
    "a list that is a text": ('[paths]\ndeny = "a"', "paths.deny: is 'a'; it is to be a list"),
    "a list with a number": ('[paths]\ndeny = ["a", 1]', "paths.deny: is ['a', 1]; it is to be"),
    "a glob in allow": ('[paths]\nallow = ["a//b"]', "paths.allow: glob 'a//b' has a part that"),
    "a glob in deny": ('[paths]\ndeny = ["a["]', "paths.deny: glob 'a[' has a [ without"),
    "a glob in sensitive": ('[paths]\nsensitive = ["!a"]', "paths.sensitive: glob '!a' begins"),
    "a glob in authors": (
        '[identities]\nauthors = ["Jane"]',
        "identities.authors: glob 'Jane' has",
    ),
    "a glob in committers": ('[identities]\ncommitters = [""]', "identities.committers: glob ''"),
    "a person nobody knows": (
        "[identities]\nauthor = []",
        "identities.author: is not known; did you mean authors?",
    ),
    "a base that does not ship": (
        'extends = "forks"',
        "extends: is 'forks'; allowed are candidate, fork, mirror",
    ),
    "two bases": ('extends = ["fork"]', "extends: is ['fork']; allowed are"),
    "a line without a value": ("[limits]\ncommits =", "x.toml: Invalid value (at end of document)"),
    "a line that is no TOML": ("[limits]\ncommits 10", "(at line 2, column 9)"),
    "a key twice": ("a = 1\na = 2\nb = 3", "(at line 2, column 6)"),
    "a NUL": ("a = '\0'", "(at line 1, column 6)"),
    "lists without an end": (f"a = {'[' * 5000}", "too deeply"),
    "a number of ten thousand digits": (f"a = {'9' * 10_000}", "digits"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_misuse_that_names_the_key(name: str) -> None:
    text, words = WRONG[name]
    message = misuse(text)
    assert message.startswith("policy x.toml: ")
    assert words in message


def test_a_name_with_odd_bytes_is_shown_safely() -> None:
    assert misuse("foo = 1", "\x1b[m\udcff").startswith('policy "\\033[m\\377": foo: ')


# --- those that ship ----------------------------------------------------------------------------


def test_the_default_is_what_its_text_says() -> None:
    said = parse(TEXTS["candidate"], "candidate", base=BARE)
    assert said.as_dict() == Policy().as_dict()
    assert named("candidate").as_dict() == Policy().as_dict()


def test_the_default_needs_no_toml() -> None:
    code = (
        "import sys; before = set(sys.modules); from packparse.policy import Policy; Policy();"
        "print({'tomllib', 'difflib', 'unicodedata'} & set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_an_unknown_name_is_misuse() -> None:
    with pytest.raises(MisuseError, match="did you mean mirror"):
        named("miror")
    with pytest.raises(MisuseError, match="known: candidate, fork, mirror"):
        named("")


@every_policy
def test_a_text_that_ships_is_read_under_its_name(name: str) -> None:
    assert named(name).name == name


@every_policy
def test_a_text_gives_a_reason_for_all_it_sets(name: str) -> None:
    text = TEXTS[name]
    assert text.startswith(f"# {name}: ")
    for block in text.split("\n\n"):
        lines = [line.strip() for line in block.splitlines()]
        sets = [line for line in lines if line[:1] not in {"", "[", "]", "#"}]
        trivial = ("extends = ", "preset = ")
        if any(not line.startswith(trivial) for line in sets):
            assert any(line.startswith("#") for line in lines), block


@every_policy
def test_no_text_sets_what_holds_anyway(name: str) -> None:
    severities = tomllib.loads(TEXTS[name]).get("severity", {})
    for key, severity in severities.items():
        assert severity != checks.CATALOG[key].severity("candidate"), key


def test_fork_is_stricter_than_candidate_throughout() -> None:
    order = codes.SEVERITIES
    for code, severity in named("fork").severities.items():
        assert order.index(severity) < order.index(code.severity("candidate")), code
    made = named("fork").made_limits().as_dict()
    assert all(made[name] <= value for name, value in Limits().as_dict().items())


@pytest.mark.parametrize(
    "code",
    [checks.SENSITIVE_PATH, pathcodes.GITLINK, pathcodes.GITATTRIBUTES_ACTIVE],
    ids=lambda code: code.name,
)
def test_fork_refuses_what_needs_trust(code: Code) -> None:
    assert named("fork").severities[code] == codes.ERROR


def test_fork_lets_merges_pass() -> None:
    assert named("fork").severities[checks.MERGE_COMMIT] == codes.NOTE


def test_mirror_makes_nothing_an_error() -> None:
    policy = named("mirror")
    assert codes.ERROR not in policy.severities.values()
    assert policy.limits_preset == "history"
    assert not policy.sensitive


# Honest histories have them: cases 14-16, 52, 65, 70, 71, 73, 74, 76, 79, 80, and public reports.
HONEST = (
    "zeroPaddedFilemode", "badFilemode", "badTimezone", "missingSpaceBeforeDate", "badDate",
    "zeroPaddedDate", "badDateOverflow", "missingNameBeforeEmail", "missingSpaceBeforeEmail",
    "missingEmail", "badEmail", "badName", "multipleAuthors", "missingTaggerEntry", "nulInCommit",
    "duplicateEntries", "treeNotSorted", "nullSha1", "duplicateObject", "largePathname",
    "caseCollision", "normalizationCollision", "controlInName", "symlinkAbsolute", "symlinkEscapes",
    "symlinkBadTarget", "gitmodulesParse", "gitmodulesUrl", "gitmodulesPath", "gitmodulesName",
    "gitmodulesUnsafePath", "gitattributesSymlink", "controlInHeader", "malformedHeader",
    "nonCanonicalVarint", "emptyPack", "gitlinkWithoutEntry", "replaceRef", "stowawayObject",
)  # fmt: skip
NEVER = (
    "hasDot", "hasDotdot", "hasDotgit", "fullPathname", "emptyName", "nulInHeader",
    "backslashTraversal", "symlinkDirectoryCollision", "gitmodulesSymlink", "misplacedHeader",
    "unknownFilemode", "badRefName", "gitmodulesMissing", "unterminatedHeader", "unexpectedFile",
    "pathNotAllowed", "identityNotAllowed",
)  # fmt: skip


@pytest.mark.parametrize("rules", codes.RULES)
@pytest.mark.parametrize("name", HONEST)
def test_mirror_takes_what_honest_histories_have(name: str, rules: str) -> None:
    code = checks.CATALOG[name]
    assert named("mirror").severities.get(code, code.severity(rules)) != codes.ERROR


@pytest.mark.parametrize("name", NEVER)
def test_mirror_still_refuses_what_hurts_and_no_honest_history_has(name: str) -> None:
    code = checks.CATALOG[name]
    assert named("mirror").severities.get(code, code.severity("candidate")) == codes.ERROR


# --- what is watched ----------------------------------------------------------------------------

WATCHED = {
    b".github/workflows/ci.yml": b".github/ISSUE_TEMPLATE/ci.yml",
    b".github/actions/x/run.sh": b"src/github/actions/x/run.sh",
    b"tools/x/action.yml": b"tools/x/actions.yml",
    b".gitlab-ci.yml": b"gitlab-ci.md",
    b"ci/build.gitlab-ci.yml": b"ci/build.yml",
    b".gitlab/ci/build.yml": b".gitlab/merge_request_templates/a.md",
    b".circleci/config.yml": b"circleci/config.yml",
    b"Jenkinsfile": b"docs/jenkins.md",
    b"deploy/Jenkinsfile.release": b"deploy/Jenkins",
    b".travis.yml": b"travis.yml",
    b"azure-pipelines-nightly.yml": b"azure.yml",
    b"bitbucket-pipelines.yml": b"pipelines.yml",
    b".buildkite/pipeline.yml": b"buildkite/pipeline.yml",
    b".drone.yml": b"drone.yml",
    b".husky/pre-commit": b"husky/a.txt",
    b"web/.husky/pre-commit": b"web/husky/pre",
    b".githooks/x": b"docs/githooks.md",
    b"lib/x.git/hooks/post-checkout": b"src/hooks/useState.ts",
    b".pre-commit-config.yaml": b"pre-commit.md",
    b"lefthook.yml": b"left.yml",
    b"lefthook-local.yml": b"lefthook.md",
    b"web/.envrc": b"web/envrc.md",
    b".gitconfig": b"gitconfig.md",
    b".gitmodules": b".gitignore",
    b"a/b/.gitattributes": b"a/b/gitattributes",
    b".devcontainer/devcontainer.json": b"devcontainer/x",
    b"web/.vscode/tasks.json": b"web/.vscode/extensions.json",
    b".vscode/settings.json": b"vscode/settings.json",
    b".vscode/launch.json": b".vscode/launch.md",
    b".idea/runConfigurations/a.xml": b".idea/misc.xml",
    b".claude/settings.json": b"claude/settings.json",
    b"web/CLAUDE.md": b"web/CLAUDIA.md",
    b"AGENTS.md": b"AGENCIES.md",
    b".codex/config.toml": b"codex/config.toml",
    b".cursor/rules/a.mdc": b"cursor/rules/a.mdc",
    b".aider.conf.yml": b"aider.md",
    b".mcp.json": b"mcp.md",
    b".npmrc": b"package.json",
    b".yarnrc.yml": b"yarn.lock",
    b".pypirc": b"setup.py",
    b".netrc": b"netrc.py",
    b"docs/CODEOWNERS": b"docs/OWNERS.md",
    b"x/.cargo/config.toml": b"x/Cargo.toml",
    b"gradle/wrapper/gradle-wrapper.jar": b"gradle/libs.versions.toml",
    # The same on a disk that folds case, and a link in a folder's place.
    b".GitHub/Workflows/ci.yml": b".GitHub/Workflow.md",
    b".github": b".gitkeep",
    b"web/.vscode": b"web/vscode",
    b".claude": b"claude",
}


@pytest.mark.parametrize("path", WATCHED, ids=bytes.decode)
def test_pg13_a_path_that_runs_something_is_sensitive(path: bytes) -> None:
    assert Policy().is_sensitive(path)
    assert not Policy().is_sensitive(WATCHED[path])


ORDINARY = (
    b"Makefile", b"README.md", b"src/main.py", b"tests/conftest.py", b"package.json", b"setup.py",
    b"src/app/hooks/useThing.ts", b"docs/index.md", b"Dockerfile", b".gitignore", b".editorconfig",
    b".github/ISSUE_TEMPLATE/bug.md", b".github/PULL_REQUEST_TEMPLATE.md", b"go.mod", b"Cargo.toml",
    b"config/settings.json", b"environment.yml", b"env/a", b"actions/run.ts", b"hooks.py",
)  # fmt: skip


@pytest.mark.parametrize("path", ORDINARY, ids=bytes.decode)
def test_what_runs_only_in_a_build_is_not_sensitive(path: bytes) -> None:
    assert not Policy().is_sensitive(path)


@pytest.mark.parametrize("glob", SENSITIVE)
def test_every_sensitive_glob_matches_what_it_spells(glob: str) -> None:
    Policy(sensitive=[glob])
    path = glob.replace("**/", "x/", glob.startswith("**/")).replace("/**", "/x").replace("*", "z")
    path += "x" if path.endswith("/") else ""
    assert Policy(sensitive=[glob]).is_sensitive(path.encode())


def test_no_sensitive_glob_comes_twice() -> None:
    assert len(set(SENSITIVE)) == len(SENSITIVE)


# --- the page -----------------------------------------------------------------------------------


def test_the_page_is_fresh() -> None:
    assert not make_policy_page.stale(), "run: python scripts/make_policy_page.py"


def test_the_page_shows_all_that_is_shipped_and_every_key() -> None:
    page = make_policy_page.policy_page()
    for text in TEXTS.values():
        assert f"```toml\n{text}```" in page
    for key in ("extends", "limits.preset", "paths.allow", "paths.deny", "paths.sensitive",
                "identities.authors", "identities.committers"):  # fmt: skip
        assert f"| `{key}` |" in page
    assert all(f"`{code.name}`" in page for code in FIXED if code.klass != codes.LIMIT)


def test_the_script_tells_a_stale_page(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = tmp_path_factory.mktemp("page") / "policy.md"
    monkeypatch.setattr(make_policy_page, "PAGE", page)
    assert make_policy_page.main(["--check"]) == 1
    assert "+# Policy files" in capsys.readouterr().out
    assert make_policy_page.main([]) == 0
    assert make_policy_page.main(["--check"]) == 0
    assert not capsys.readouterr().out


ADDED = {
    "to what ships": ('[paths]\nmore_sensitive = ["x"]', "sensitive", (*SENSITIVE, "x")),
    "to a list of its own": ('[paths]\ndeny = ["a"]\nmore_deny = ["b"]', "deny", ("a", "b")),
    "to what it extends": (
        'extends = "fork"\n[paths]\nmore_sensitive = ["x"]', "sensitive",
        (*named("fork").sensitive.texts, "x"),
    ),
    "to nothing": ('[identities]\nmore_authors = ["x <*>"]', "authors", ("x <*>",)),
}  # fmt: skip


@pytest.mark.parametrize("name", ADDED)
def test_globs_are_added_to_a_list(name: str) -> None:
    text, key, wanted = ADDED[name]
    assert tuple(getattr(parse(text, "x.toml"), key).texts) == tuple(wanted)


def test_what_is_added_is_checked_as_any_glob_is() -> None:
    with pytest.raises(MisuseError, match=r"paths\.deny"):
        parse('[paths]\nmore_deny = ["!x"]', "x.toml")
    with pytest.raises(MisuseError, match=r"paths\.more_deny: is 1"):
        parse("[paths]\nmore_deny = 1", "x.toml")
