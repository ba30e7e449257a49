"""Policies: which severities, limits, paths and people are wanted, on top of the rule set.

A policy file is TOML; docs/reference/policy.md says what it may hold. Whatever is wrong in one is a
MisuseError that names the policy, the key and what is allowed there. No I/O: the text comes from
the caller. The policies that ship by name are in policies.py.
"""

from __future__ import annotations

from packparse import checks, codes
from packparse.errors import MisuseError
from packparse.escape import quote, shorten
from packparse.globs import Globs, IdentityGlobs
from packparse.limits import PRESETS, SPECS, Limits, amount
from packparse.policies import SENSITIVE, TEXTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from packparse.codes import Code

__all__ = ["Policy", "named", "parse"]

_KEYS = ("extends", "severity", "limits", "paths", "identities")
_LISTS = {"paths": ("allow", "deny", "sensitive"), "identities": ("authors", "committers")}
# Before the name of a list: what follows is added to it.
_ADDED = "more_"
_LONGEST_SHOWN = 60
_LARGEST = 10**20
_WORDS = {severity: severity for severity in codes.SEVERITIES} | {"warn": codes.WARNING}


class Policy:
    """What is wanted of a file. ``Policy()`` is the default, ``candidate``; immutable by custom.

    ``severities`` go before those of the rule set. ``limits`` are changes on top of
    ``limits_preset``. ``allow``, ``deny`` and ``sensitive`` are globs of paths, ``authors`` and
    ``committers`` of people; each is false where it is empty. Raises MisuseError for a malformed
    glob, and for a code whose severity is not free.
    """

    __slots__ = (
        "allow", "authors", "committers", "deny", "limits", "limits_preset", "name", "sensitive",
        "severities",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - all are named, and have a default
        self,
        name: str = "candidate",
        *,
        severities: Mapping[Code, str] | None = None,
        limits: Mapping[str, int] | None = None,
        limits_preset: str = "candidate",
        allow: Iterable[str] = (),
        deny: Iterable[str] = (),
        sensitive: Iterable[str] = SENSITIVE,
        authors: Iterable[str] = (),
        committers: Iterable[str] = (),
    ) -> None:
        self.name = name
        self.severities = dict(severities or {})
        for code in self.severities:
            if not code.free:
                raise _misuse(name, f"severity.{code.name}", _why_fixed(code))
        self.limits = dict(limits or {})
        self.limits_preset = limits_preset
        # Leave is given by the letter; what is denied or watched must not slip by in another
        # spelling that some file system takes for the same.
        self.allow = Globs(allow, broad=False)
        self.deny = Globs(deny, broad=True)
        self.sensitive = Globs(sensitive, broad=True)
        self.authors = IdentityGlobs(authors)
        self.committers = IdentityGlobs(committers)
        lists: dict[str, Globs | IdentityGlobs] = {
            "paths.allow": self.allow,
            "paths.deny": self.deny,
            "identities.authors": self.authors,
            "identities.committers": self.committers,
        }
        if self.sensitive.texts is not SENSITIVE:
            lists["paths.sensitive"] = self.sensitive
        for key, globs in lists.items():
            try:
                globs.check()
            except MisuseError as error:
                raise _misuse(name, key, str(error)) from None

    def chosen_severities(self) -> dict[Code, str]:
        """The severities to go before those of a rule set.

        Whoever lists paths or people wants them kept, also under the rules of git, where no other
        check of this project counts.
        """
        chosen = {}
        if self.allow or self.deny:
            chosen[checks.PATH_NOT_ALLOWED] = codes.ERROR
        if self.authors or self.committers:
            chosen[checks.IDENTITY_NOT_ALLOWED] = codes.ERROR
        return chosen | self.severities

    def refuses_path(self, path: bytes) -> str | None:
        """Why a path that changed is not allowed, in printable ASCII; None if it is.

        It must match no glob of ``deny``, and one of ``allow`` if there are any.
        """
        denied = self.deny.first(path)
        if denied is not None:
            return f"denied by {quote(denied.encode())}"
        if self.allow and self.allow.first(path) is None:
            return "matches none of the globs that the policy allows"
        return None

    def is_sensitive(self, path: bytes) -> bool:
        """Whether a change of ``path`` is something to look at."""
        return self.sensitive.first(path) is not None

    def allows_author(self, identity: bytes) -> bool:
        """Whether ``identity``, which is ``Name <email>``, may be the author of a commit."""
        return not self.authors or self.authors.match(identity)

    def allows_committer(self, identity: bytes) -> bool:
        """Whether ``identity``, which is ``Name <email>``, may be the committer of a commit."""
        return not self.committers or self.committers.match(identity)

    def made_limits(
        self, preset: str | None = None, changes: Mapping[str, int] | None = None
    ) -> Limits:
        """All limits, where a preset and changes that a caller asks for go before the policy's."""
        return Limits(preset or self.limits_preset, self.limits | dict(changes or {}))

    def as_dict(self) -> dict[str, object]:
        """All of it as plain data, in the layout of a policy file, severities sorted by code."""
        severities = {code.name: severity for code, severity in self.severities.items()}
        return {
            "severity": dict(sorted(severities.items())),
            "limits": {"preset": self.limits_preset, **dict(sorted(self.limits.items()))},
            **{
                section: {key: [*getattr(self, key).texts] for key in keys}
                for section, keys in _LISTS.items()
            },
        }


def named(name: str) -> Policy:
    """The policy that ships under ``name``: candidate, fork or mirror."""
    if name == "candidate":
        return Policy()
    if name not in TEXTS:
        raise MisuseError(f"no policy {name!a} ships{_hint(name, TEXTS)}")
    return parse(TEXTS[name], name)


def parse(text: str, name: str, *, base: Policy | None = None) -> Policy:
    """Read the text of a policy file; ``name`` stands in messages.

    Tables merge with those of what the file extends, lists replace. ``base`` is what it extends
    where it does not say so itself; by default ``candidate``.
    """
    file = _File(name, text)
    base = file.base() or base or Policy()
    preset, limits = file.limits()
    globs = {
        section: {key: getattr(base, key).texts for key in keys} for section, keys in _LISTS.items()
    }
    return Policy(
        name,
        severities=base.severities | file.severities(),
        limits=base.limits | limits,
        limits_preset=preset or base.limits_preset,
        **file.lists("paths", globs["paths"]),
        **file.lists("identities", globs["identities"]),
    )


class _File:
    """A policy file, taken apart. Every method raises MisuseError for what is wrong in its part."""

    def __init__(self, name: str, text: str) -> None:
        # Loading it takes as long as verifying a small pack.
        import tomllib

        self._name = name
        try:
            self._tables: dict[str, object] = tomllib.loads(text)
        except RecursionError:
            raise self._fail("", "tables and lists lie in each other too deeply") from None
        except ValueError as error:
            # Syntax, with line and column, or a number that Python does not read.
            raise self._fail("", ascii(str(error))[1:-1]) from None
        self._known("", self._tables, _KEYS)

    def base(self) -> Policy | None:
        """The policy that the file says it extends."""
        if "extends" not in self._tables:
            return None
        return named(self._word("extends", self._tables["extends"], TEXTS))

    def severities(self) -> dict[Code, str]:
        """What the table ``severity`` sets."""
        found = {}
        for name, value in self._table("severity").items():
            key = _dotted("severity", name)
            code = checks.CATALOG.get(name)
            if code is None:
                hint = _hint(name, checks.CATALOG, "packcheck checks lists them")
                raise self._fail(key, f"there is no such code{hint}")
            found[code] = _WORDS[self._word(key, value, _WORDS)]
        return found

    def limits(self) -> tuple[str | None, dict[str, int]]:
        """The preset and the numbers that the table ``limits`` sets."""
        table = self._table("limits")
        self._known("limits", table, ("preset", *SPECS))
        preset = None
        if "preset" in table:
            preset = self._word("limits.preset", table.pop("preset"), PRESETS)
        return preset, {name: self._limit(name, value) for name, value in table.items()}

    def lists(self, section: str, before: dict[str, Iterable[str]]) -> dict[str, Iterable[str]]:
        """The lists of globs in a table: each in the place of one in ``before``, or added to it."""
        table = self._table(section)
        self._known(section, (name.removeprefix(_ADDED) for name in table), before)
        texts = {name: self._texts(f"{section}.{name}", table[name]) for name in table}
        found: dict[str, Iterable[str]] = {}
        for name, kept in before.items():
            added = texts.get(_ADDED + name)
            listed = texts.get(name, kept)
            found[name] = listed if added is None else (*listed, *added)
        return found

    def _texts(self, key: str, value: object) -> list[str]:
        items = value if isinstance(value, list) else [value]
        texts = [item for item in items if isinstance(item, str)]
        if value != texts:
            raise self._fail(key, f"is {_shown(value)}; it is to be a list of texts")
        return texts

    def _table(self, section: str) -> dict[str, object]:
        value = self._tables.get(section, {})
        if not isinstance(value, dict):
            raise self._fail(section, f"is {_shown(value)}; it is to be a table, [{section}]")
        return dict(value)

    def _known(self, section: str, table: Iterable[str], known: Iterable[str]) -> None:
        known = tuple(known)
        for name in table:
            if name not in known:
                raise self._fail(_dotted(section, name), f"is not known{_hint(name, known)}")

    def _word(self, key: str, value: object, known: Iterable[str]) -> str:
        if not isinstance(value, str) or value not in known:
            raise self._fail(key, f"is {_shown(value)}; allowed are {', '.join(known)}")
        return value

    def _limit(self, name: str, value: object) -> int:
        number = amount(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < _LARGEST:
            allowed = 'a whole number, or a text such as "64M" with k, M or G at its end'
            raise self._fail(f"limits.{name}", f"is {_shown(value)}; allowed is {allowed}")
        try:
            Limits("candidate", {name: number})
        except MisuseError as error:
            raise self._fail(f"limits.{name}", str(error)) from None
        return number

    def _fail(self, key: str, fault: str) -> MisuseError:
        return _misuse(self._name, key, fault)


def _why_fixed(code: Code) -> str:
    for name, spec in SPECS.items():
        if spec.code is code:
            return f"is the code of a limit; set limits.{name} instead"
    return "cannot be set; it is an error wherever it is looked for"


def _misuse(name: str, key: str, fault: str) -> MisuseError:
    where = f"policy {shorten(name.encode(errors='surrogateescape'))}: "
    return MisuseError(f"{where}{key}: {fault}" if key else f"{where}{fault}")


def _dotted(section: str, name: str) -> str:
    name = shorten(name.encode())
    return f"{section}.{name}" if section else name


def _shown(value: object) -> str:
    try:
        shown = ascii(value)
    except ValueError:
        return "a number of thousands of digits"
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}..."


def _hint(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The end of a message about an unknown name: the names that are spelled alike, or all."""
    import difflib

    # Words are often right but for case.
    by_low = {word.lower(): word for word in known}
    low = name.lower()
    near = [low] if low in by_low else difflib.get_close_matches(low, by_low, n=3)
    if near:
        return f"; did you mean {' or '.join(by_low[word] for word in near)}?"
    return f"; {otherwise or 'known: ' + ', '.join(by_low.values())}"
