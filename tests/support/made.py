"""One honest record of each kind, and the bytes of the manifest, written out by hand."""

from __future__ import annotations

from manifest.launch import Folder, Launch, PolicyText, Seed
from manifest.receipt import (
    GitVerdict,
    Objects,
    Pack,
    PackcheckVerdict,
    Receipt,
    Refusal,
    RefusedFor,
    Times,
)
from manifest.v1 import Artifact, Manifest, Workspace

KEY = bytes.fromhex("5e" * 32)
LAUNCH_ID = "ab" * 16
BASE, FIRST, CANDIDATE = "1" * 40, "4" * 40, "2" * 40
# What all of them are about.
_SUBJECT = {
    "issue": "owner/repo#269",
    "run": "run-7",
    "phase": "FIX",
    "launch": LAUNCH_ID,
    "repository": "owner/repo",
    "base": BASE,
}

MANIFEST = Manifest(
    **_SUBJECT,
    object_format="sha1",
    candidate=CANDIDATE,
    artifact=Artifact(name="candidate.bundle", bytes=1234, sha256="3" * 64, objects=7),
    commits=[FIRST, CANDIDATE],
    state="offered",
    workspace=Workspace(dirty=3, paths=["a b", r'"\303\244\n"']),
)

# The digest is what `openssl dgst -sha256 -mac HMAC -macopt hexkey:5e5e...` gives for the rest.
MANIFEST_BYTES = (
    rb'{"format":"packcheck.manifest/1",'
    rb'"issue":"owner/repo#269",'
    rb'"run":"run-7",'
    rb'"phase":"FIX",'
    rb'"launch":"abababababababababababababababab",'
    rb'"repository":"owner/repo",'
    rb'"object_format":"sha1",'
    rb'"base":"1111111111111111111111111111111111111111",'
    rb'"candidate":"2222222222222222222222222222222222222222",'
    rb'"artifact":{"name":"candidate.bundle","bytes":1234,'
    rb'"sha256":"3333333333333333333333333333333333333333333333333333333333333333",'
    rb'"objects":7},'
    rb'"commits":["4444444444444444444444444444444444444444",'
    rb'"2222222222222222222222222222222222222222"],'
    rb'"state":"offered",'
    rb'"workspace":{"dirty":3,"paths":["a b","\"\\303\\244\\n\""]},'
    rb'"mac":"9700cd69cc161fd091017c56285952db20efec6cb67ef90208e2d71f81b184f2"}'
    b"\n"
)

LAUNCH = Launch(
    **_SUBJECT,
    object_format="sha1",
    seed=Seed(kind="depth-one", boundary=[]),
    export=Folder(path="/exports/7", device=1, inode=2),
    common_dir=Folder(path=r'"/h\303\244/.git"', device=3, inode=4),
    artifact="candidate.bundle",
    policy=PolicyText(name="candidate"),
    limits={"commits": 3},
    key="5e" * 32,
)

RECEIPT = Receipt(
    **_SUBJECT,
    state="imported",
    object_format="sha1",
    candidate=CANDIDATE,
    commits=[FIRST, CANDIDATE],
    artifact=MANIFEST.artifact,
    pack=Pack(name="pack-" + "5" * 40, bytes=1000, sha256="6" * 64, index="9" * 64, appended=0),
    objects=Objects(count=7, sha256="7" * 64),
    packcheck=PackcheckVerdict(version="0.1.0", policy="candidate", found={"badFilemode": 1}),
    git=GitVerdict(version="2.39.5", relaxed=["zeroPaddedFilemode"]),
    times=Times(launched=1, verified=2, published=3),
)

REFUSAL = Refusal(
    **_SUBJECT,
    step=6,
    code="symlinkEscapes",
    klass=3,
    message="it leaves the tree",
    artifact="3" * 64,
    findings=[
        RefusedFor(
            code="symlinkEscapes", offset=150, oid="8" * 40, path="a/b", message="it leaves"
        ),
        RefusedFor(code="trailingBytes", offset=None, oid=None, path=None, message="more"),
    ],
    at=4,
)
