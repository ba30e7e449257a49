"""Policy files: what they make an error, which paths and people they allow, limits in them."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.host import Host
from corpus.model import Asked, Case, Extra, bad, good
from corpus.writer import DIR, EXE, FILE, LINK, File, Kit, Obj

__all__ = ["cases"]

HOST = "host.pack"
STRICT = b"""\
[severity]
dashName = "error"
mergeCommit = "error"
sensitivePath = "error"
gitattributesActive = "error"
windowsDeviceName = "error"
controlInMessage = "error"
"""
PATHS = b"""\
[paths]
allow = ["README", "docs/**", "private/**"]
deny = ["private/**"]
"""
PEOPLE = b"""\
[identities]
authors = ["*@example.com"]
committers = ["*@example.com"]
"""
SMALL = b"""\
[limits]
commits = 1
"""


def cases(kit: Kit) -> Iterator[Case | Extra]:
    """All cases of this subject, and the policies; what they ask of the host is in closure.py."""
    if kit.fmt != "sha1":
        return
    texts = {"strict": STRICT, "paths": PATHS, "people": PEOPLE, "small": SMALL}
    for name, text in texts.items():
        yield Extra(f"{name}.toml", text)
    for make in (_severities, _paths, _people, _others):
        yield from make(kit)


def _policy(name: str) -> Asked:
    return {"arguments": ("--policy", f"extra/{name}.toml")}


def _with(host: Host, tip: Obj, name: str) -> Asked:
    """A range from the base, under a policy."""
    return {"arguments": (*host.asked(tip), "--policy", f"extra/{name}.toml"), "host": HOST}


def _one(kit: Kit, name: bytes, data: bytes) -> File:
    blob = kit.blob(data)
    root = kit.tree((FILE, name, blob))
    return kit.packed(blob, root, kit.commit(root))


def _severities(kit: Kit) -> Iterator[Case]:
    """The same file is only warned of where no policy says otherwise."""
    origin = "PI8, PE12, PL4"
    plain = "policy-strict-plain"
    yield good(plain, _one(kit, b"name", b"text\n"), origin, **_policy("strict"))
    dash = _one(kit, b"-rf", b"text\n")
    yield bad("policy-strict-dash-name", dash, "dashName", plain, origin, **_policy("strict"))
    device = _one(kit, b"CON", b"text\n")
    yield bad("policy-strict-device-name", device, "windowsDeviceName", plain, origin,
              **_policy("strict"))  # fmt: skip
    attributes = _one(kit, b".gitattributes", b"* filter=evil\n")
    yield bad("policy-strict-filter", attributes, "gitattributesActive",
              "gitattributes-with-own-filter", f"{origin}, PG9", also="sensitivePath",
              **_policy("strict"))  # fmt: skip


def _added(kit: Kit, host: Host, *names: bytes, mode: bytes = FILE) -> tuple[File, Obj]:
    """A candidate that adds one file in folders of these names."""
    blob = kit.blob(b"new\n")
    items = [blob, kit.tree((mode, names[-1], blob))]
    for name in reversed(names[1:-1]):
        items.append(kit.tree((DIR, name, items[-1])))
    if len(names) == 1:
        items = [blob]
    what = mode if len(names) == 1 else DIR
    root = kit.tree(*host.entries(more=((what, names[0], items[-1]),)))
    tip = kit.commit(root, host.base)
    return kit.packed(*items, root, tip), tip


def _paths(kit: Kit) -> Iterator[Case]:
    host = Host(kit)
    origin = "PG13, PI8"
    code = "pathNotAllowed"
    plain = "policy-path-allowed"
    file, tip = _added(kit, host, b"docs", b"new.md")
    yield good(plain, file, origin, **_with(host, tip, "paths"))
    table = {
        "denied": (b"private", b"key"),
        "denied-in-capitals": (b"PRIVATE", b"key"),
        "not-among-the-allowed": (b"src", b"new.py"),
        "denied-deep-down": (b"private", b"a", b"b", b"key"),
    }
    for name, names in table.items():
        file, tip = _added(kit, host, *names)
        yield bad(f"policy-path-{name}", file, code, plain, origin, **_with(host, tip, "paths"))
    link = kit.blob(b"lib")
    root = kit.tree(*host.entries(more=((LINK, b"private", link),)))
    tip = kit.commit(root, host.base)
    file = kit.packed(link, root, tip)
    name = "policy-path-of-a-link-in-the-place-of-a-folder"
    yield bad(name, file, code, plain, origin, **_with(host, tip, "paths"))
    new = kit.blob(b"new\n")
    gone = kit.tree((FILE, b"README", new), (DIR, b"odd", host.odd))
    tip = kit.commit(gone, host.base)
    name = "policy-path-deleted"
    yield bad(name, kit.packed(new, gone, tip), code, plain, origin, **_with(host, tip, "paths"))
    note = ("sensitivePath",)
    sensitive = {
        "a-workflow": (b".github", b"workflows", b"ci.yml"),
        "envrc": (b".envrc",),
        "gitlab-ci": (b".gitlab-ci.yml",),
    }
    for name, names in sensitive.items():
        file, tip = _added(kit, host, *names)
        asked: Asked = {"arguments": host.asked(tip), "host": HOST}
        full = f"policy-sensitive-{name}"
        yield good(full, file, "PG13", notes=note, **asked)
        yield bad(f"{full}-refused", file, "sensitivePath", full, origin,
                  **_with(host, tip, "strict"))  # fmt: skip
    file, tip = _added(kit, host, b"run", mode=EXE)
    asked = {"arguments": host.asked(tip), "host": HOST}
    yield good("policy-new-program", file, "PG14", **asked)
    merge = kit.commit(host.root, host.base, host.right)
    name = "policy-strict-merge"
    between = "closure-merge-of-the-base-s-other-parent"
    yield bad(name, kit.packed(merge), "mergeCommit", between, "PH9, PI8",
              **_with(host, merge, "strict"))  # fmt: skip


def _people(kit: Kit) -> Iterator[Case]:
    origin = "PH8, PI8"
    plain = "policy-people-allowed"
    blob = kit.blob()
    root = kit.tree((FILE, b"file", blob))

    def by(author: bytes = b"A U Thor <author@example.com>", committer: bytes = b"") -> File:
        date = b" 1700000000 +0000"
        commit = kit.commit(root, author=author + date, committer=(committer or author) + date)
        return kit.packed(blob, root, commit)

    yield good(plain, by(), origin, **_policy("people"))
    code = "identityNotAllowed"
    other = b"A U Thor <author@example.net>"
    known = b"A U Thor <author@example.com>"
    table = {
        "author-of-another-domain": by(other, known),
        "committer-of-another-domain": by(known, other),
        "author-of-a-longer-domain": by(b"A <a@example.com.example.net>", known),
        "author-with-the-address-in-his-name": by(b"a@example.com <a@example.net>", known),
    }
    for name, file in table.items():
        yield bad(f"policy-{name}", file, code, plain, origin, **_policy("people"))


def _others(kit: Kit) -> Iterator[Case]:
    blob = kit.blob()
    root = kit.tree((FILE, b"file", blob))
    first = kit.commit(root)
    second = kit.commit(root, first)
    one, two = kit.packed(blob, root, first), kit.packed(blob, root, first, second)
    plain = "policy-limit-within"
    yield good(plain, one, "PI8", **_policy("small"))
    yield bad("policy-limit-over", two, "tooManyCommits", plain, "PI8, PH9", **_policy("small"))
    # A whole history has what once was written; what hurts is refused there as well.
    mirror: Asked = {"arguments": ("--policy", "mirror")}
    sub = kit.tree((FILE, b"x", blob))
    padded = kit.tree((b"040000", b"dir", sub))
    old = kit.packed(blob, sub, padded, kit.commit(padded))
    name = "policy-mirror-of-a-padded-mode"
    yield good(name, old, "case 15", notes=("zeroPaddedFilemode",), **mirror)
    hostile = kit.tree((DIR, b".git", sub))
    file = kit.packed(blob, sub, hostile, kit.commit(hostile))
    plain = "name-of-a-folder"
    yield bad("policy-mirror-of-dotgit", file, "hasDotgit", plain, "case 50", **mirror)
