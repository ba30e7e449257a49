"""The three policies that ship by name, as the TOML that policy.py reads.

``candidate`` is the default. Its lists stand here as Python as well, so that starting up needs no
TOML. Where a severity is changed the reason stands beside it; what is not named keeps the severity
of the rule set.
"""

from __future__ import annotations

__all__ = ["SENSITIVE", "TEXTS"]

# What makes tools or services run something, or changes what they may do, without anybody asking
# for a build: on a push, on a commit, as a folder is opened or entered.
_WATCHED = (
    (
        "Services that build and deploy run what these say as soon as it is pushed.",
        (
            ".github/workflows/**",
            ".github/actions/**",
            "action.yml",
            "action.yaml",
            ".gitea/workflows/**",
            ".forgejo/workflows/**",
            ".gitlab-ci*",
            "*.gitlab-ci.yml",
            ".gitlab/ci/**",
            ".gitlab/agents/**",
            ".circleci/**",
            "Jenkinsfile*",
            "*.jenkinsfile",
            ".travis.yml",
            "azure-pipelines*.yml",
            "azure-pipelines*.yaml",
            ".azure-pipelines/**",
            ".azuredevops/**",
            "bitbucket-pipelines.yml",
            ".buildkite/**",
            ".drone.*",
            ".woodpecker*",
            ".appveyor.yml",
            "appveyor.yml",
            ".cirrus.*",
            ".semaphore/**",
            ".teamcity/**",
            "bamboo-specs/**",
            ".tekton/**",
            ".prow*",
            ".zuul.*",
            ".zuul.d/**",
            "zuul.d/**",
            ".build.yml",
            ".builds/**",
            "cloudbuild*.yml",
            "cloudbuild*.yaml",
            "buildspec*.yml",
            "codefresh.yml",
            ".readthedocs.*",
            "netlify.toml",
            "vercel.json",
        ),
    ),
    (
        "Who has to review, what is merged by itself, which updates are fetched.",
        (
            "CODEOWNERS",
            ".github/settings.yml",
            ".github/dependabot.yml",
            "renovate.json*",
            ".renovaterc*",
            ".mergify.yml",
            ".github/mergify.yml",
        ),
    ),
    (
        "git runs filters and merges by these, fetches what they name, or is told to include them.",
        (
            ".gitattributes",
            ".gitmodules",
            ".gitconfig",
            ".lfsconfig",
            ".hg/",
            ".jj/",
        ),
    ),
    (
        "Hooks, once they are switched on; also those of a bare repository committed as files.",
        (
            ".githooks/",
            "githooks/",
            ".git-hooks/",
            "git-hooks/",
            "**/hooks/applypatch-msg",
            "**/hooks/commit-msg",
            "**/hooks/fsmonitor-watchman",
            "**/hooks/post-applypatch",
            "**/hooks/post-checkout",
            "**/hooks/post-commit",
            "**/hooks/post-index-change",
            "**/hooks/post-merge",
            "**/hooks/post-receive",
            "**/hooks/post-rewrite",
            "**/hooks/post-update",
            "**/hooks/pre-applypatch",
            "**/hooks/pre-auto-gc",
            "**/hooks/pre-commit",
            "**/hooks/pre-merge-commit",
            "**/hooks/pre-push",
            "**/hooks/pre-rebase",
            "**/hooks/pre-receive",
            "**/hooks/prepare-commit-msg",
            "**/hooks/proc-receive",
            "**/hooks/push-to-checkout",
            "**/hooks/reference-transaction",
            "**/hooks/sendemail-validate",
            "**/hooks/update",
            ".husky/",
            ".huskyrc*",
            ".pre-commit-config.yaml",
            ".pre-commit-hooks.yaml",
            "lefthook*.yml",
            "lefthook*.yaml",
            "lefthook*.toml",
            "lefthook*.json",
            ".lefthook*",
            ".overcommit.yml",
            ".lintstagedrc*",
            "lint-staged.config.*",
            "captainhook.json",
        ),
    ),
    (
        "Shells, debuggers and editors run these as a folder is entered or a file is opened.",
        (
            ".envrc",
            ".env",
            "mise.toml",
            ".mise.toml",
            ".mise/",
            ".autoenv*",
            ".gdbinit",
            ".lldbinit",
            ".exrc",
            ".vimrc",
            ".nvimrc",
            ".nvim.lua",
            ".dir-locals*.el",
            ".Rprofile",
            ".irbrc",
            ".pryrc",
            ".ghci",
            ".pdbrc",
            "sitecustomize.py",
            "usercustomize.py",
        ),
    ),
    (
        "Editors run tasks of an opened folder, and take paths of programs from its settings.",
        (
            "**/.vscode/tasks.json",
            "**/.vscode/settings.json",
            "**/.vscode/launch.json",
            "**/.vscode/mcp.json",
            "*.code-workspace",
            "**/.idea/runConfigurations/**",
            "**/.idea/tools/**",
            "**/.idea/startup.xml",
            "**/.idea/watcherTasks.xml",
            "**/.idea/workspace.xml",
            "*.run.xml",
            "**/.vs/*.json",
            "**/.zed/*.json",
            "**/.fleet/*.json",
            ".externalToolBuilders/",
        ),
    ),
    (
        "Workspaces that are made from a repository run these as they start.",
        (
            ".devcontainer/",
            ".devcontainer.json",
            ".gitpod*",
            ".replit",
            "replit.nix",
            ".idx/",
            ".codesandbox/",
            "devfile.yaml",
            ".devfile.yaml",
        ),
    ),
    (
        "Agents obey these: instructions, permissions, hooks, and servers that they start.",
        (
            ".claude/",
            ".claude.json",
            "CLAUDE*.md",
            ".codex/",
            "AGENT.md",
            "AGENTS*.md",
            ".agent/",
            ".agents/",
            ".cursor/",
            ".cursorrules",
            ".aider*",
            ".mcp.json",
            ".gemini/",
            "GEMINI.md",
            ".github/copilot-instructions.md",
            ".github/instructions/**",
            ".github/prompts/**",
            ".github/agents/**",
            ".github/chatmodes/**",
            ".github/hooks/**",
            ".github/skills/**",
            ".windsurf/",
            ".windsurfrules",
            ".cline*",
            ".roo/",
            ".roomodes",
            ".roorules*",
            ".kilocode*",
            ".continue*",
            ".opencode/",
            "opencode.json*",
            ".qwen/",
            "QWEN.md",
            ".crush/",
            ".crush.json",
            "CRUSH.md",
            "crush.json",
            ".goose/",
            ".goosehints",
            ".junie/",
            ".kiro/",
            ".augment*",
            ".amazonq/",
            ".trae/",
            ".factory/",
            ".openhands/",
        ),
    ),
    (
        "Where packages and tools are fetched from, by which password, and what runs before.",
        (
            ".npmrc",
            "bunfig.toml",
            ".yarnrc*",
            ".yarn/releases/**",
            ".yarn/plugins/**",
            ".pnpmfile.cjs",
            ".pypirc",
            "pip.conf",
            ".condarc",
            ".netrc",
            "nuget.config",
            "**/.cargo/config",
            "**/.cargo/config.toml",
            "**/gradle/wrapper/**",
            ".mvn/",
            ".bazelrc",
            ".bazeliskrc",
            "tools/bazel",
        ),
    ),
)

SENSITIVE = tuple(glob for _reason, globs in _WATCHED for glob in globs)

_WATCHED_TEXT = "".join(
    f"  # {reason}\n" + "".join(f'  "{glob}",\n' for glob in globs) for reason, globs in _WATCHED
)

_CANDIDATE = f"""\
# candidate: what one run of a producer hands back. This is the default.
#
# The severities are those of the rule set. They answer: can it hurt the host or its readers (an
# error), or is it only unusual (a warning)?

[limits]
preset = "candidate"

[paths]
# A change of these is a sensitivePath, a warning: a person is to look. By them tools and services
# run something, or change what they may do, without anybody asking for a build: on a push, on a
# commit, as a folder is opened. What runs when somebody builds or tests (Makefile, package.json,
# conftest.py) is not here: then all of a candidate's code runs.
sensitive = [
{_WATCHED_TEXT}]
"""

_FORK = """\
# fork: what a stranger's fork may bring. Nobody here has told the producer what to do, and whoever
# made it can be asked for it again: so what needs a person's trust is refused, and so is what
# could not be checked.

extends = "candidate"

[severity]
# What runs with the host's rights, or decides who may do what, is the host's to write.
sensitivePath = "error"
gitattributesActive = "error"
# A submodule brings in another repository, of which nothing was verified.
gitlinkEntry = "error"
gitlinkWithoutEntry = "error"
# The content lies on a server and was not handed over: whoever reviews has to fetch it. Projects
# that use LFS need it, and .lfsconfig, which names the server, is a sensitive path.
lfsPointer = "warning"
# A fork merges what went on meanwhile; but a merge may hide a change that neither side made.
mergeCommit = "note"

# Give the objects that are known with --known, and the base's with --base-pack: what cannot be
# checked without them is refused, not noted.
uncheckedLinks = "error"
symlinkNotRead = "error"
specialFileNotRead = "error"
baseNotCompared = "error"
filteredBundle = "error"

# Names that some people here could not check out, or that a tool takes for something else. One is
# enough to break every checkout on such a system, and renaming it costs its author little.
windowsDeviceName = "error"
windowsForbiddenName = "error"
shortNameAlias = "error"
notUtf8Name = "error"
dashName = "error"
dotfileAlias = "error"
gitattributesSymlink = "error"
gitignoreSymlink = "error"
mailmapSymlink = "error"

# Nobody writes these by accident, and each shows one reader something else than another: escapes
# that a terminal obeys, a signature taken from two places, a date that sorts before all others,
# permission bits that some readers put on disk.
controlInMessage = "error"
malformedHeader = "error"
implausibleDate = "error"
implausibleTimezone = "error"
badFilemode = "error"

[limits]
# Reviewers of strangers' work cap what they look at; a whole branch fits.
pack_bytes = "100M"
# A merge of two. An octopus is a way to hide work, and forks have no need of one.
parents = 2
"""

_MIRROR = """\
# mirror: a whole honest history, however old and odd.
#
# Objects cannot be changed without changing every id after them, so what honest histories were ever
# seen to have is a warning. An error is left where no honest history needs it and readers are hurt
# by it: names that leave the tree or enter .git (hasDotgit, hasDotdot, hasDot, fullPathname,
# emptyName, backslashTraversal), a link in the place of a folder (symlinkDirectoryCollision),
# .gitmodules that is not what it seems (gitmodulesSymlink, gitmodulesBlob, gitmodulesAlias) or was
# not there to be checked, headers that two readers read differently (nulInHeader, misplacedHeader,
# upperCaseId), modes of no kind, tags and commits that lack a part which git has always written.

extends = "candidate"

[limits]
preset = "history"

[paths]
# A whole history has changed all of them; nobody is to look at each.
sensitive = []

[severity]
# Packs. Old servers sent an object twice; some tools end lines of a bundle in a carriage return.
duplicateObject = "warning"
bundleLineEnding = "warning"

# Refs. All of a repository are mirrored, also those of replaced objects and oddly named branches.
dashRefName = "warning"
replaceRef = "warning"

# Modes and order of trees, as hosting tools and importers once wrote them.
zeroPaddedFilemode = "warning"
duplicateEntries = "warning"
treeNotSorted = "warning"
nullSha1 = "warning"

# Names. Finder's icons end in a carriage return; names in Persian or with emoji need joiners; the
# Linux kernel has pairs that differ in case alone.
largePathname = "warning"
controlInName = "warning"
deceptiveName = "warning"
caseCollision = "warning"
normalizationCollision = "warning"
# Tools that read repositories keep some as test data.
embeddedRepository = "warning"
gitattributesAlias = "warning"

# Submodules. Old .gitmodules hold slips such as https://host:owner/name, marks of merge conflicts,
# settings twice, and paths where a folder is by now. git checks them again before it uses them.
gitmodulesParse = "warning"
gitmodulesName = "warning"
gitmodulesUrl = "warning"
gitmodulesPath = "warning"
gitmodulesUpdate = "warning"
gitmodulesUnsafeName = "warning"
gitmodulesUnsafePath = "warning"
gitmodulesUnsafeUrl = "warning"
gitmodulesNestedNames = "warning"
gitmodulesDuplicate = "warning"
submodulePathConflict = "warning"

# Attributes that run something are ordinary in a whole history: LFS, diffs of formats.
gitattributesActive = "note"

# Symbolic links. Links to /usr, out of the tree and into .git/hooks were committed by many; where
# links cannot be made, editors left a line feed in one, or the text of a whole file.
symlinkAbsolute = "warning"
symlinkEscapes = "warning"
symlinkIntoGit = "warning"
symlinkBadTarget = "warning"
symlinkTooLong = "warning"

# Commits and tags. Converters wrote names, addresses, dates and zones in many ways.
missingNameBeforeEmail = "warning"
badName = "warning"
missingEmail = "warning"
missingSpaceBeforeEmail = "warning"
badEmail = "warning"
missingSpaceBeforeDate = "warning"
badDate = "warning"
zeroPaddedDate = "warning"
badDateOverflow = "warning"
badTimezone = "warning"
multipleAuthors = "warning"
duplicateParents = "warning"
nulInCommit = "warning"
controlInHeader = "warning"

# Where a range is asked for: branches were rewritten, histories joined, and packs of a repository
# hold objects that no branch reaches any more.
notDescendant = "warning"
stowawayObject = "warning"
emptyRange = "note"
rootCommit = "note"
tagObject = "ignore"
unexpectedRefs = "ignore"
unexpectedPrerequisites = "warning"
"""

TEXTS = {"candidate": _CANDIDATE, "fork": _FORK, "mirror": _MIRROR}
