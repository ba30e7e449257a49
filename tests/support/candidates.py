"""Write the host's objects and a candidate's on top of them, in memory, and verify the pack.

A folder is a dictionary of names: bytes are a file, a dictionary is a folder, an `Entry` is
anything else. What the producer was given stays out of the pack, as git leaves it out, unless a
test says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from packparse.findings import Finding
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from packparse.pack import Pack
from packparse.policy import Policy
from packparse.report import Report
from packparse.verify import Verifier, verify_bytes
from tests.support import packs
from tests.support.packs import Handle, PackBuilder

Folder = Mapping[bytes, "bytes | Entry | Folder"]
TIP = b"refs/heads/main"


@dataclass(frozen=True, slots=True)
class Entry:
    """A tree entry: a mode, and a raw id or the content of a new blob."""

    mode: bytes
    content: bytes = b""
    oid: bytes | None = None


def link(target: bytes) -> Entry:
    """Return a symbolic link."""
    return Entry(b"120000", target)


def program(content: bytes) -> Entry:
    """Return an executable file."""
    return Entry(b"100755", content)


def submodule(oid: bytes = b"\x07" * 20) -> Entry:
    """Return a submodule at a commit."""
    return Entry(b"160000", oid=oid)


def existing(mode: bytes, oid: bytes) -> Entry:
    """Return an entry that names an object by its raw id."""
    return Entry(mode, oid=oid)


class Store:
    """Objects of one side by raw id, each with kind and content, in the order they were put in."""

    def __init__(self, fmt: str = "sha1") -> None:
        self.fmt = fmt
        self.objects: dict[bytes, tuple[str, bytes]] = {}

    def put(self, kind: str, data: bytes) -> bytes:
        """Put an object in; return its raw id."""
        name = packs.oid(kind, data, self.fmt)
        self.objects[name] = kind, data
        return name

    def raw_tree(self, *entries: tuple[bytes, bytes, bytes], ordered: bool = True) -> bytes:
        """Put a tree in as it stands: (mode, name, raw id) of each entry."""
        return self.put("tree", packs.tree_bytes(entries, ordered=ordered))

    def tree(self, folder: Folder) -> bytes:
        """Put a folder in with all that is below it; return the id of its tree."""
        return self.raw_tree(*(self._entry(name, node) for name, node in folder.items()))

    def _entry(self, name: bytes, node: bytes | Entry | Folder) -> tuple[bytes, bytes, bytes]:
        if isinstance(node, bytes):
            return b"100644", name, self.put("blob", node)
        if isinstance(node, Entry):
            oid = self.put("blob", node.content) if node.oid is None else node.oid
            return node.mode, name, oid
        return b"40000", name, self.tree(node)

    def commit(
        self, tree: bytes | Folder, *parents: bytes, message: bytes = b"message\n", **more: bytes
    ) -> bytes:
        """Put a commit in; its tree is a folder or the id of one."""
        root = tree if isinstance(tree, bytes) else self.tree(tree)
        return self.put("commit", packs.commit_bytes(root, parents, message=message, **more))

    def read(self, oid: bytes) -> tuple[int, bytes] | None:
        """Kind and content of an object: the seam `read_base`."""
        found = self.objects.get(oid)
        return None if found is None else (packs.KIND_NUMBERS[found[0]], found[1])

    def seed(self, *commits: bytes, full: bool = False) -> set[bytes]:
        """The ids given with commits: of each the tree's objects, or its history's (`full`)."""
        found: set[bytes] = set()
        waiting = list(commits)
        while waiting:
            oid = waiting.pop()
            if oid in found or oid not in self.objects:
                continue
            found.add(oid)
            kind, data = self.objects[oid]
            waiting += links_of(kind, data, packs.oid_length(self.fmt), parents=full)
        return found


def links_of(kind: str, data: bytes, width: int, *, parents: bool) -> list[bytes]:
    """The ids that an honest commit or tree names, the commits' parents only if asked for."""
    if kind == "commit":
        lines = data.split(b"\n\n")[0].splitlines()
        wanted = (b"tree ", b"parent ") if parents else (b"tree ",)
        return [
            bytes.fromhex(line.split()[1].decode()) for line in lines if line.startswith(wanted)
        ]
    found = []
    at = 0
    while kind == "tree" and at < len(data):
        name_end = data.index(b"\0", at) + 1
        if not data[at : at + 6].lstrip(b"0").startswith(b"160000"):
            found.append(data[name_end : name_end + width])
        at = name_end + width
    return found


@dataclass
class Candidate:
    """A candidate on a host: `new` holds what the producer wrote.

    `given` are the ids that the producer was given, by default the tree of each base; None is no
    list at all. `overlap` are ids of the host that are in the pack all the same.
    """

    host: Store
    new: Store
    bases: tuple[bytes, ...]
    tips: dict[bytes, bytes]
    given: set[bytes] | None = field(default_factory=set)
    overlap: Iterable[bytes] = ()

    def pack(self) -> tuple[bytes, dict[bytes, Handle]]:
        """The pack as a producer would make it, and its entries by id."""
        builder = PackBuilder(self.host.fmt)
        made: dict[bytes, Handle] = {}
        for oid in self.overlap:
            made[oid] = builder.add(*self.host.objects[oid])
        for oid, (kind, data) in self.new.objects.items():
            if oid not in made and (self.given is None or oid not in self.given):
                made[oid] = builder.add(kind, data)
        return builder.build(), made

    def verify(
        self,
        *,
        policy: Policy | None = None,
        limits: Limits | None = None,
        read: bool = True,
        rules: str = "candidate",
        data: bytes | None = None,
    ) -> Report:
        """Verify it; without `read` the host gives no objects."""
        given = self.given
        known = None if given is None else lambda oid: 0 if oid in given else None
        options = Options(
            rules=rules,
            limits=limits,
            policy=policy,
            object_format=FORMATS[self.host.fmt],
            tips=self.tips,
            bases=frozenset(self.bases),
            known=known,
            read_base=self.host.read if read else None,
        )
        return verify_bytes(self.pack()[0] if data is None else data, options)


def on_top(
    base: Folder | bytes,
    *changes: Folder | bytes,
    host: Store | None = None,
    overlap: Iterable[bytes] = (),
    fmt: str = "sha1",
) -> Candidate:
    """Return a candidate whose commits have the trees `changes`, one upon the other, on `base`."""
    host = host or Store(fmt)
    start = host.commit(base, message=b"base\n")
    new = Store(fmt)
    tip = start
    for number, tree in enumerate(changes):
        tip = new.commit(tree, tip, message=b"commit %d\n" % number)
    return Candidate(host, new, (start,), {TIP: tip}, host.seed(start), overlap)


def opened(data: bytes, options: Options | None = None) -> Pack:
    """The pack as it is judged: all objects known, and none judged yet."""
    seen: list[Pack] = []

    class Spy(Verifier):
        def _judge(self, pack: Pack) -> None:
            seen.append(pack)

    verifier = Spy(options or Options(limits=Limits("history")))
    verifier.feed(data)
    verifier.finish(lambda offset, length: data[offset : offset + length])
    return seen[0]


def refusals(report: Report) -> list[tuple[str, bytes | None]]:
    """Code and path of each error."""
    return [(f.code.name, f.path) for f in errors(report)]


def errors(report: Report) -> list[Finding]:
    """The findings that refuse."""
    return [f for f in report.findings.sorted() if f.severity == "error"]


def inherited(report: Report) -> list[tuple[str, bytes | None]]:
    """Code and path of what the base has as well."""
    return [(f.code.name, f.path) for f in report.findings.sorted() if f.inherited]
