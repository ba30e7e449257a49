"""What the producer was not given is not looked into, so that no report tells what is in it."""

from __future__ import annotations

import pytest

from packparse.formats import json as report_json
from packparse.limits import Limits
from packparse.options import Options
from packparse.report import Report
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.candidates import TIP, Candidate, Entry, Store, errors, existing, refusals
from tests.support.packs import PackBuilder

# Of each kind that a check looks into, with a word that a finding would tell.
MODULES = b'[submodule "hunter2"]\n\tpath = x\n\turl = -https://user:hunter2@internal/x\n'
SECRETS: dict[str, tuple[bytes, bytes, bytes]] = {
    "the target of a link": (b"l", b"120000", b"/srv/hunter2"),
    "a target with a line feed": (b"l", b"120000", b"password=hunter2\n"),
    "a target that climbs": (b"l", b"120000", b"../../hunter2"),
    "submodules": (b".gitmodules", b"100644", MODULES),
    "attributes": (b".gitattributes", b"100644", b"*.hunter2 filter=hunter2\n" + b"x" * 3_000),
}


class Side:
    """A host with a base, an object that is not of the base, and what it was asked to give."""

    def __init__(self) -> None:
        self.host = Store()
        self.base = self.host.commit({b"a": b"a"})
        self.seed = self.host.seed(self.base)
        self.asked: list[bytes] = []

    def verify(self, new: Store, tip: bytes, *given: bytes) -> Report:
        known = self.seed | set(given)
        made = Candidate(self.host, new, (self.base,), {TIP: tip}, known)
        return self.verify_bytes(made.pack()[0], tip, *given)

    def verify_bytes(self, data: bytes, tip: bytes, *given: bytes, **limits: int) -> Report:
        known = self.seed | set(given)
        options = Options(
            tips={TIP: tip},
            bases=frozenset([self.base]),
            read_base=self._read,
            base_info=self._about,
            known=lambda oid: 0 if oid in known else None,
            limits=Limits(changes=limits),
        )
        return verify_bytes(data, options)

    def _read(self, oid: bytes) -> tuple[int, bytes] | None:
        self.asked.append(oid)
        return self.host.read(oid)

    def _about(self, oid: bytes) -> tuple[int, int] | None:
        found = self.host.objects.get(oid)
        return None if found is None else (packs.KIND_NUMBERS[found[0]], len(found[1]))


def told(report: Report) -> str:
    return str(report_json.as_object(report))


@pytest.mark.parametrize(("name", "mode", "content"), SECRETS.values(), ids=SECRETS)
def test_a_file_that_is_looked_into_elsewhere_tells_nothing(
    name: bytes, mode: bytes, content: bytes
) -> None:
    side, new = Side(), Store()
    secret = side.host.put("blob", content)
    tip = new.commit({b"a": b"a", name: existing(mode, secret)}, side.base)
    report = side.verify(new, tip)
    assert ("smuggledBase", secret) in {(f.code.name, f.oid) for f in errors(report)}
    assert "hunter2" not in told(report)
    assert "symlinkNotRead" not in told(report)
    assert secret not in side.asked
    # Given, it is looked into.
    assert "hunter2" in told(side.verify(new, tip, secret))
    assert secret in side.asked


def test_a_folder_tells_no_name() -> None:
    side, new = Side(), Store()
    entry: Entry = existing(b"100644", side.host.put("blob", b"1"))
    hidden = side.host.tree({b"HUNTER2": entry, b"hunter2": entry})
    tip = new.commit({b"a": b"a", b"d": existing(b"40000", hidden)}, side.base)
    report = side.verify(new, tip)
    assert {code for code, _ in refusals(report)} == {"smuggledBase"}
    assert "hunter2" not in told(report).lower()
    assert hidden not in side.asked
    assert "caseCollision" in told(side.verify(new, tip, hidden, packs.oid("blob", b"1")))


def _thin(side: Side, secret: bytes, delta: bytes) -> tuple[bytes, bytes]:
    """A pack with a commit, and a delta on an object of the host; and the id of the commit."""
    new = Store()
    tip = new.commit({b"a": b"a"}, side.base)
    pack = PackBuilder()
    for kind, data in new.objects.values():
        pack.add(kind, data)
    pack.add_ref(packs.outside("blob", secret), delta)
    return pack.build(), tip


@pytest.mark.parametrize("stated", [6, 3], ids=["of the right size", "of a wrong size"])
def test_a_delta_on_it_is_not_run(stated: int) -> None:
    side = Side()
    secret = side.host.put("blob", b"secret")
    # Copies the third byte.
    delta = bytes([stated, 1, 0x91, 2, 1])
    data, tip = _thin(side, b"secret", delta)
    report = side.verify_bytes(data, tip)
    assert [(f.code.name, f.oid) for f in errors(report)] == [("smuggledBase", secret)]
    assert secret not in side.asked
    # Neither the byte, by the id of what it makes, nor the size of the base.
    assert packs.oid("blob", b"c").hex() not in told(report)
    assert "base has" not in told(report)
    if stated == 6:
        given = side.verify_bytes(data, tip, secret)
        assert packs.oid("blob", b"c").hex() in told(given)


@pytest.mark.parametrize(
    ("most", "code"), [(299, "rebuiltObjectTooLarge"), (300, "stowawayObject")]
)
def test_a_base_that_was_given_is_not_read_where_no_delta_may_rest_on_it(
    most: int, code: str
) -> None:
    side = Side()
    secret = side.host.put("blob", b"s" * 300)
    data, tip = _thin(side, b"s" * 300, bytes([0xAC, 2, 1, 0x91, 2, 1]))
    report = side.verify_bytes(data, tip, secret, rebuilt_object_bytes=most)
    assert {name for name, _ in refusals(report)} == {code}
    assert (secret in side.asked) == (most == 300)
