"""What ``packcheck explain`` and the page of checks say of a code beside its meaning.

Since which git there is such a check, and how a file may be let pass in spite of it. Backquotes
mark code, for whoever can show it.
"""

from __future__ import annotations

from functools import cache

from packparse import policy
from packparse.codes import CLASSES, ERROR
from packparse.limits import SPECS
from packparse.policies import TEXTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.codes import Code

__all__ = ["allowing", "described", "origin"]

# The version that also stands for all before it.
_OLDEST = "2.10"
_CHOSEN = {"error": "an error", "warning": "a warning", "note": "a note", "ignore": "ignored"}


def described(code: Code) -> str:
    """All that there is to say of a check, in lines for people."""
    return "\n".join(
        [
            f"{code.name} (class {code.klass}, {CLASSES[code.klass][0]})",
            f"  candidate rules: {code.severity('candidate')}; git rules: {code.severity('git')}",
            f"  {code.meaning}",
            f"  What to do: {code.remedy}",
            f"  To let it pass: {allowing(code).replace('`', '')}",
            f"  {origin(code)}",
        ]
    )


def origin(code: Code) -> str:
    """Whether git's fsck has the code, and since when; a sentence."""
    if not code.since:
        return "git's fsck has no such id for objects."
    earlier = " or an earlier one" if code.since == _OLDEST else ""
    return f"git's fsck has this id since version {code.since}{earlier}."


def allowing(code: Code) -> str:
    """How a file with a finding of this code may be let pass; one or two sentences."""
    names = [name for name, spec in SPECS.items() if spec.code is code]
    if names:
        return (
            f"Raise the limit: `--limit {names[0]}=VALUE`, or `{names[0]}` under `[limits]` in "
            "a policy file."
        )
    if not code.free:
        return "It cannot be allowed."
    if code.severity("candidate") == ERROR:
        text = f'Set `{code.name} = "warning"` under `[severity]` in a policy file.'
    else:
        text = f"It refuses nothing, unless a policy file sets `{code.name}` under `[severity]`."
    shipped = [(named.name, named.severities.get(code)) for named in _shipped()]
    return text + "".join(
        f" In the policy `{name}` it is {_CHOSEN[severity]}."
        for name, severity in shipped
        if severity
    )


@cache
def _shipped() -> tuple[policy.Policy, ...]:
    return tuple(map(policy.named, TEXTS))
