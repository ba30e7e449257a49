"""What starting takes and what a verification loads: both are part of the product (design, 7)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import zlib_ng

from tests.support.bundles import bundle, honest_bundle
from tests.support.packs import PackBuilder, commit_bytes, edit, tree_bytes

ROOT = Path(__file__).resolve().parents[2]
NEVER = {"msgspec", "dataclasses", "typing", "pathlib", "inspect", "importlib.metadata", "sh"}
NEVER |= {"shutil", "tomllib", "unicodedata", "tempfile", "urllib", "urllib.parse"}
# What only some files need.
SELDOM = {
    f"packparse.{name}"
    for name in (
        "ahead", "basepack", "changes", "climb", "compare", "dotnames", "explain", "folder",
        "follow", "forks", "formats.json", "formats.sarif", "knownlist", "links", "loose", "modes",
        "objects.config", "objects.gitattributes", "objects.gitmodules", "objects.identity",
        "objects.lfs", "objects.tag", "objects.treecheck", "paths", "portion", "progress", "share",
        "special", "submodules", "trees", "winding",
    )
}  # fmt: skip

# Verifying a bundle of 100 objects, in times of `python -c pass`. The aim of the design is 2.5;
# 3.6 to 4.0 is what is reached, by version of Python, and the rest is for noise. In the same
# measure `import re` is 0.5, argparse 0.5, OpenSSL's hashes 0.25, zlib-ng 0.15, the 52 rooms of
# packparse 0.9, and the objects 0.6, patterns included.
MOST = 4.3
# Rounds until the fastest runs are as fast as they get.
LEAST_ROUNDS, MOST_ROUNDS = 8, 60

_SCRIPT = """\
import sys
sys.path[:0] = sys.argv[1:3]
from packparse.cli import main
status = main(sys.argv[3:])
print(*sorted(sys.modules), file=sys.stderr)
sys.exit(status)
"""


def loaded(*arguments: str) -> tuple[int, str, set[str]]:
    """Exit status, output and modules of ``packcheck`` in an interpreter that loads nothing else.

    ``-I -S`` keeps out what the environment and site-packages load into every interpreter.
    """
    site = str(Path(zlib_ng.__file__).resolve().parents[1])
    env = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    command = [sys.executable, "-I", "-S", "-c", _SCRIPT, str(ROOT), site, *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, set(done.stderr.split())


def hundred() -> bytes:
    """A bundle of 100 objects, as a small candidate has them: nothing odd, a quarter are deltas."""
    pack = PackBuilder()
    text = b"".join(b"line %d of the text\n" % n for n in range(40))
    ignored, old = pack.add("blob", b"*.o\n"), pack.add("blob", text)
    parents: list[bytes] = []
    root = b""
    for n in range(24):
        if n:
            old = pack.add_ofs(old, edit(old.data, 20 * n, 4, b"edit %d, that is, here" % n)[0])
        more = pack.add("blob", b"file %d\n" % n)
        entries = ((b".gitignore", ignored), (b"more.txt", more), (b"text", old))
        content = tree_bytes((b"100644", name, blob.oid) for name, blob in entries)
        root = pack.add("tree", content).oid
        parents = [pack.add("commit", commit_bytes(root, parents)).oid]
    words = (b"one", b"two", b"three")
    tips = [pack.add("commit", commit_bytes(root, parents, message=word)) for word in words]
    return bundle(pack.build(), [(tip.hex, f"refs/heads/b{n}") for n, tip in enumerate(tips)])


def processor_time(*arguments: str) -> float:
    """Seconds that Python takes for these arguments: processor time, as other tests run beside."""
    env = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) as process:
        _pid, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime


def test_a_small_bundle_takes_little_longer_than_starting_python(tmp_path: Path) -> None:
    path = tmp_path / "hundred.bundle"
    path.write_bytes(hundred())
    script = "import sys; from packparse.__main__ import run; sys.exit(run())"
    verify, nothing = ("-c", script, "verify", str(path)), ("-c", "pass")
    # The first run may have to compile the modules.
    processor_time(*verify)
    least = {verify: float("inf"), nothing: float("inf")}
    for done in range(MOST_ROUNDS):
        for command, fastest in least.items():
            least[command] = min(fastest, processor_time(*command))
        if done >= LEAST_ROUNDS and least[verify] <= MOST * least[nothing]:
            break
    assert least[verify] <= MOST * least[nothing]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "x.bundle"
    path.write_bytes(honest_bundle())
    return str(path)


def test_a_verification_as_text_loads_nothing_slow(file: str) -> None:
    status, output, modules = loaded("verify", file)
    assert (status, "accepted, 10 objects" in output) == (0, True)
    assert {"packparse.verify", "packparse.formats.text", "zlib_ng.zlib_ng"} <= modules
    assert modules & (NEVER | {"json", "packparse.formats.json"}) == set()


def test_what_only_some_files_need_is_loaded_for_these_alone(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('extends = "candidate"\n')
    pack = PackBuilder()
    blob = pack.add("blob", b"x")
    names = [b"Caf\xc3\xa9", b"caf\xc3\xa9"]
    pack.add("tree", tree_bytes((b"100644", name, blob.oid) for name in names))
    path = tmp_path / "x.pack"
    path.write_bytes(pack.build())
    status, output, modules = loaded("verify", "--policy", str(policy), str(path))
    assert (status, "caseCollision" in output) == (3, True)
    assert {"tomllib", "unicodedata"} <= modules


def test_a_range_loads_nothing_slow(tmp_path: Path) -> None:
    # The trees of the range are compared with those of the base.
    base, pack = PackBuilder(), PackBuilder()
    first = base.add("commit", commit_bytes(base.add("tree", b"").oid))
    link = pack.add("blob", b"x")
    entries = [(b"120000", b"link", link.oid), (b"100644", b".gitattributes", link.oid)]
    root = pack.add("tree", tree_bytes(entries))
    tip = pack.add("commit", commit_bytes(root.oid, [first.oid]))
    paths = {name: tmp_path / name for name in ("base.pack", "it.pack")}
    paths["base.pack"].write_bytes(base.build())
    paths["it.pack"].write_bytes(pack.build())
    options = ["--base", first.hex, "--tip", tip.hex, "--base-pack", str(paths["base.pack"])]
    status, output, modules = loaded("verify", *options, str(paths["it.pack"]))
    assert (status, "changed from the base: 2 files" in output) == (0, True)
    assert "packparse.compare" in modules
    assert modules & (NEVER | {"json"}) == set()


def test_what_a_file_has_not_is_not_loaded_for_it(tmp_path: Path) -> None:
    path = tmp_path / "hundred.bundle"
    path.write_bytes(hundred())
    status, output, modules = loaded("verify", str(path))
    assert (status, "accepted, 100 objects" in output) == (0, True)
    assert modules & (SELDOM | {"contextlib"}) == set()


def test_the_rooms_that_are_seldom_loaded_are_there() -> None:
    names = {name.removeprefix("packparse.").replace(".", "/") for name in SELDOM}
    assert [name for name in names if not (ROOT / "packparse" / f"{name}.py").exists()] == []


def test_no_pattern_is_compiled_before_it_is_used() -> None:
    script = "import sys; sys.path[:0] = sys.argv[1:3]; import re, re._compiler; "
    script += "re._compiler.compile = None; import packparse.verify, packparse.basepack, "
    script += "packparse.compare, packparse.folder, packparse.submodules"
    site = str(Path(zlib_ng.__file__).resolve().parents[1])
    command = [sys.executable, "-I", "-S", "-c", script, str(ROOT), site]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_json_is_loaded_only_to_write_json(file: str) -> None:
    status, output, modules = loaded("verify", "--format", "json", file)
    assert (status, output.startswith("{")) == (0, True)
    assert "json" in modules
    assert modules & (NEVER | {"packparse.formats.text"}) == set()


@pytest.mark.parametrize("arguments", [("checks",), ("explain", "trailingBytes")], ids=" ".join)
def test_what_verifies_nothing_loads_no_verifier(arguments: tuple[str, ...]) -> None:
    status, output, modules = loaded(*arguments)
    assert status == 0
    assert "trailingBytes" in output
    assert modules & (NEVER | {"json", "packparse.verify", "packparse.scan"}) == set()


def test_a_program_that_uses_the_library_loads_nothing_slow() -> None:
    script = "import sys; sys.path[:0] = sys.argv[1:3]; import packparse.verify; "
    script += "print(*sys.modules)"
    site = str(Path(zlib_ng.__file__).resolve().parents[1])
    command = [sys.executable, "-I", "-S", "-c", script, str(ROOT), site]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert modules & (NEVER | {"json", "argparse", "packparse.cli", "packparse.scan"}) == set()
