"""Step 6: packcheck's verdict, what it excuses, and what git has to be told of that."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256

import pytest

from importer import layout
from importer.base import SeededSet, StoreReader
from importer.errors import NOT_A_BUNDLE, NOT_RELAXABLE, ImportRefused
from importer.verdict import Found, Verdict, check_policy, leading, object_list_digest
from packparse import checks, codes
from packparse.codes import Code
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.policy import Policy, named, parse
from tests.support import packs
from tests.support.bundles import bundle
from tests.support.candidates import TIP, Candidate, Store, on_top


class Reader:
    """A host's objects in memory, as the reader of a store gives them."""

    def __init__(self, store: Store) -> None:
        self.read = store.read

    def about(self, oid: bytes) -> tuple[int, int] | None:
        found = self.read(oid)
        return None if found is None else (found[0], len(found[1]))

    def read_all(self, oids: Iterable[bytes]) -> Iterator[tuple[int, bytes] | None]:
        return map(self.read, oids)


def judged(
    made: Candidate,
    data: bytes | None = None,
    *,
    policy: Policy | None = None,
    limits: Limits | None = None,
    candidate: bytes | None = None,
    piece: int = 1 << 20,
) -> Found:
    """The verdict of a candidate, by default on the bundle of an honest producer."""
    reader: StoreReader = Reader(made.host)  # type: ignore[assignment]
    object_format = FORMATS[made.host.fmt]
    tip = made.tips[TIP]
    data = bundled(made) if data is None else data
    verdict = Verdict(
        reader,
        SeededSet(reader, object_format, made.bases),
        object_format=object_format,
        bases=frozenset(made.bases),
        candidate=candidate or tip,
        policy=policy or named("candidate"),
        limits=limits or Limits(),
        name="candidate.bundle",
        length=len(data),
    )
    for at in range(0, len(data), piece):
        verdict.feed(data[at : at + piece])
    return verdict.finish(lambda at, length: data[at : at + length])


def bundled(made: Candidate) -> bytes:
    fmt = made.host.fmt
    return bundle(
        made.pack()[0],
        [(made.tips[TIP].hex(), "refs/heads/candidate")],
        [base.hex() for base in made.bases],
        2 if fmt == "sha1" else 3,
        [] if fmt == "sha1" else [f"object-format={fmt}"],
    )


def plain(fmt: str = "sha1") -> Candidate:
    return on_top({b"a": b"a"}, {b"a": b"b"}, {b"a": b"c", b"new": b"new"}, fmt=fmt)


# --- what is found -------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_of_a_candidate_it_finds_its_objects_its_commits_and_where_its_pack_is(
    fmt: str, piece: int
) -> None:
    made = plain(fmt)
    data = bundled(made)
    found = judged(made, piece=piece)
    assert found.report.accepted
    assert set(found.oids) == set(made.new.objects)
    kinds = {oid: kind for oid, (kind, _data) in made.new.objects.items()}
    assert found.commits == {oid for oid, kind in kinds.items() if kind == "commit"}
    assert (found.bases, found.relaxed) == (frozenset(), ())
    assert found.begin == data.index(b"PACK")


def test_of_a_thin_pack_it_finds_the_bases() -> None:
    host, new, builder = Store(), Store(), packs.PackBuilder()
    content = b"a line\n" * 40
    start = host.commit({b"a": content})
    tip = new.commit({b"a": content + b"more\n"}, start)
    base = packs.outside("blob", content)
    delta, _ = packs.edit(content, len(content), 0, b"more\n")
    builder.add_ref(base, delta)
    for kind, data in new.objects.values():
        if kind != "blob":
            builder.add(kind, data)
    thin = Candidate(host, new, (start,), {TIP: tip})
    found = judged(thin, bundle(builder.build(), [(tip.hex(), "refs/heads/x")], [start.hex()]))
    assert found.bases == {base.oid}
    assert set(found.oids) == set(new.objects)


def test_the_digest_of_a_list_is_what_a_shell_makes_of_it() -> None:
    oids = tuple(sorted(plain().new.objects, reverse=True))
    lines = "".join(f"{oid.hex()}\n" for oid in oids)
    listed = subprocess.run(["sort"], input=lines.encode(), capture_output=True, check=True,
                            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})  # fmt: skip
    assert object_list_digest(oids) == sha256(listed.stdout).hexdigest()
    assert object_list_digest(()) == sha256(b"").hexdigest()


# --- what is refused -----------------------------------------------------------------------------


def _refused(made: Candidate, data: bytes | None = None, **options: object) -> ImportRefused:
    with pytest.raises(ImportRefused) as refused:
        judged(made, data, **options)  # type: ignore[arg-type]
    return refused.value


def test_it_is_refused_with_the_first_error_of_the_class_that_leads() -> None:
    made = on_top({b"a": b"a"}, {b"a": b"b", b".git": b"x", b"..": b"x"})
    refused = _refused(made)
    assert refused.report is not None
    first = leading(refused.report)
    errors = [f for f in refused.report.findings.sorted() if f.severity == codes.ERROR]
    assert len(errors) > 1
    assert first is next(f for f in errors if f.code.klass == refused.report.klass)
    assert refused.code is first.code
    assert refused.message == f"{first.message} (at offset {first.offset})"


def test_a_class_leads_whatever_else_there_is() -> None:
    made = on_top({b"a": b"a"}, {b"a": b"b", b".git": b"x"})
    data = bundled(made)
    refused = _refused(made, data[:-1] + bytes([data[-1] ^ 1]))
    assert refused.report is not None
    assert refused.code.klass == refused.report.klass == codes.CORRUPT


def test_a_candidate_that_is_another_one_is_refused_and_no_place_is_named() -> None:
    refused = _refused(plain(), candidate=b"\1" * 20)
    assert refused.code.name == "missingTip"
    assert refused.report is not None
    assert refused.message == leading(refused.report).message


def test_a_pack_without_a_header_is_no_bundle() -> None:
    made = plain()
    refused = _refused(made, made.pack()[0])
    assert refused.code is NOT_A_BUNDLE
    assert refused.report is not None
    # What the verdict is named after is in its report.
    assert (refused.report.klass, refused.report.accepted) == (NOT_A_BUNDLE.klass, False)
    assert leading(refused.report).code is NOT_A_BUNDLE


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b" HEAD\n", checks.UNEXPECTED_REFS),
        (b" refs/tags/candidate\n", checks.UNEXPECTED_REFS),
        (b" refs/heads/candidate\n", codes.FILTERED_BUNDLE),
    ],
    ids=["of HEAD", "of a tag", "with a filter"],
)
def test_a_header_is_refused_and_the_report_says_so(line: bytes, code: Code) -> None:
    made = plain()
    data = bundled(made).replace(b" refs/heads/candidate\n", line)
    if code is codes.FILTERED_BUNDLE:
        data = data.replace(b"# v2 git bundle\n", b"# v3 git bundle\n@filter=blob:none\n")
    refused = _refused(made, data)
    assert refused.report is not None
    assert (refused.code, refused.report.klass) == (code, code.klass)
    assert refused.message.startswith(leading(refused.report).message)


def test_a_policy_may_ignore_a_filter_and_is_not_changed() -> None:
    made = plain()
    data = bundled(made).replace(b"# v2 git bundle\n", b"# v3 git bundle\n@filter=blob:none\n")
    policy = Policy("own", severities={codes.FILTERED_BUNDLE: codes.NOTE})
    assert _refused(made, data, policy=policy).code is codes.FILTERED_BUNDLE
    assert policy.severities == {codes.FILTERED_BUNDLE: codes.NOTE}
    policy = Policy("own", severities={codes.FILTERED_BUNDLE: codes.IGNORE})
    assert judged(made, data, policy=policy).report.accepted


def test_without_a_candidate_the_refs_of_the_header_say_what_it_brings() -> None:
    made = plain()
    reader: StoreReader = Reader(made.host)  # type: ignore[assignment]
    data = bundled(made)
    verdict = Verdict(
        reader, SeededSet(reader, FORMATS["sha1"], made.bases), object_format=FORMATS["sha1"],
        bases=frozenset(made.bases), candidate=None, policy=named("candidate"), limits=Limits(),
        name="it", length=len(data),
    )  # fmt: skip
    verdict.feed(data)
    found = verdict.finish(lambda at, length: data[at : at + length])
    assert set(found.oids) == set(made.new.objects)


# --- what is excused, and what git is told of it -------------------------------------------------


def inheriting(**oddities: bytes) -> Candidate:
    """A candidate on a base whose tree, or whose commit, has an oddity."""
    host = Store()
    blob = host.put("blob", b"x")
    below = host.raw_tree((b"100644", b"f", blob))
    mode = oddities.get("mode", b"40000")
    start = host.commit(host.raw_tree((mode, b"d", below), (b"100644", b"g", blob)))
    new = Store()
    changed = new.put("blob", b"y")
    tree = new.raw_tree((mode, b"d", below), (b"100644", b"g", changed))
    fields = {name: value for name, value in oddities.items() if name != "mode"}
    tip = new.commit(tree, start, **fields)
    return Candidate(host, new, (start,), {TIP: tip}, host.seed(start))


def test_what_the_base_has_as_well_is_excused_and_git_is_told_so() -> None:
    found = judged(inheriting(mode=b"040000"))
    assert found.relaxed == ("zeroPaddedFilemode",)
    assert judged(inheriting()).relaxed == ()


BAD_ZONE = b"A U Thor <author@example.com> 1700000000 +00"
NO_EMAIL = b"A U Thor 1700000000 +0000"
POLICIES: dict[str, tuple[str, dict[str, bytes], tuple[str, ...]]] = {
    "a warning": ('[severity]\nbadTimezone = "warning"', {"author": BAD_ZONE}, ("badTimezone",)),
    "a note": ('[severity]\nbadTimezone = "note"', {"committer": BAD_ZONE}, ("badTimezone",)),
    "several": (
        '[severity]\nbadTimezone = "note"\nmissingEmail = "warning"',
        {"author": BAD_ZONE, "committer": NO_EMAIL}, ("badTimezone", "missingEmail"),
    ),
    "what is not looked for": (
        '[severity]\nbadTimezone = "ignore"', {"author": BAD_ZONE}, ("badTimezone",),
    ),
    "what is excused and not there": ('[severity]\nbadTimezone = "note"', {}, ()),
    "what git only warns of": ('[severity]\nmissingTaggerEntry = "note"', {}, ()),
}  # fmt: skip


@pytest.mark.parametrize(("text", "oddities", "relaxed"), POLICIES.values(), ids=POLICIES)
def test_git_is_told_what_a_policy_makes_of(
    text: str, oddities: dict[str, bytes], relaxed: tuple[str, ...]
) -> None:
    found = judged(inheriting(**oddities), policy=parse(text, "own"))
    assert found.relaxed == relaxed


def test_what_no_policy_excuses_is_refused() -> None:
    assert _refused(inheriting(author=BAD_ZONE)).code.name == "badTimezone"


@pytest.mark.parametrize(
    ("version", "relaxed"),
    [("2.9.9", ()), ("2.10", ("badTimezone",)), ("2.39.5", ("badTimezone",)),
     ("10.0.windows.1", ("badTimezone",))],
)  # fmt: skip
def test_a_git_that_does_not_know_a_check_is_not_told_of_it(
    version: str, relaxed: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "version", lambda: version)
    policy = parse('[severity]\nbadTimezone = "note"', "own")
    assert judged(inheriting(author=BAD_ZONE), policy=policy).relaxed == relaxed


FATAL: dict[str, Callable[[bytes], bytes]] = {
    "nulInHeader": lambda commit: commit.replace(b"A U Thor", b"A\0Thor", 1),
    "unterminatedHeader": lambda commit: commit[: commit.index(b"\n\n")],
}


@pytest.mark.parametrize("severity", ["warning", "note", "ignore"])
@pytest.mark.parametrize("name", FATAL)
def test_a_policy_excuses_nothing_that_git_cannot_be_told_to_pass(name: str, severity: str) -> None:
    policy = parse(f'[severity]\n{name} = "{severity}"', "own")
    with pytest.raises(ImportRefused) as refused:
        check_policy(policy)
    assert refused.value.code is NOT_RELAXABLE
    assert refused.value.message == (f"policy own makes a {severity} of {name}, which git refuses")


@pytest.mark.parametrize("name", ["candidate", "fork", "mirror"])
def test_the_policies_that_ship_excuse_nothing_of_that(name: str) -> None:
    check_policy(named(name))
    check_policy(parse('[severity]\nnulInHeader = "error"\nbadTimezone = "note"', "own"))


@pytest.mark.parametrize("name", FATAL)
def test_a_damaged_base_that_is_handed_over_again_is_refused(name: str) -> None:
    host = Store()
    kind, content = host.objects[host.commit({b"a": b"a"})]
    odd = host.put(kind, FATAL[name](content))
    new = Store()
    tip = new.commit({b"a": b"b"}, odd)
    made = Candidate(host, new, (odd,), {TIP: tip}, host.seed(odd), overlap=[odd])
    assert _refused(made).code.name == name
