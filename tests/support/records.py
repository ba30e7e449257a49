"""Records of launches, receipts and refusals that are in order, for tests that need no repository.

The keyword arguments take the place of fields; nothing checks them here.
"""

from __future__ import annotations

import msgspec

from manifest import receipt as receipts
from manifest.launch import Folder, Launch, PolicyText, Seed
from manifest.receipt import Receipt, Refusal
from manifest.v1 import Artifact

LAUNCH = "ab" * 16
OTHER = "cd" * 16
KEY = "5e" * 32
BASE, CANDIDATE = "b" * 40, "c" * 40


def launch_record(launch: str = LAUNCH, **changes: object) -> Launch:
    record = Launch(
        launch=launch,
        issue="owner/repo#269",
        run="run-7",
        phase="FIX",
        repository="owner/repo",
        object_format="sha1",
        base=BASE,
        seed=Seed(kind="depth-one", boundary=[]),
        export=Folder(path="/export", device=1, inode=2),
        common_dir=Folder(path="/repo/.git", device=1, inode=3),
        artifact="candidate.bundle",
        policy=PolicyText(name="candidate"),
        limits={},
        key=KEY,
    )
    return msgspec.structs.replace(record, **changes)


def receipt_record(launch: str = LAUNCH, **changes: object) -> Receipt:
    receipt = Receipt(
        launch=launch,
        issue="owner/repo#269",
        run="run-7",
        phase="FIX",
        repository="owner/repo",
        state="imported",
        object_format="sha1",
        base=BASE,
        candidate=CANDIDATE,
        commits=[CANDIDATE],
        artifact=Artifact(name="candidate.bundle", bytes=10, sha256="a" * 64, objects=3),
        pack=receipts.Pack(
            name="pack-" + "d" * 40, bytes=9, sha256="e" * 64, index="9" * 64, appended=0
        ),
        objects=receipts.Objects(count=3, sha256="f" * 64),
        packcheck=receipts.PackcheckVerdict(version="0.1.0", policy="candidate", found={}),
        git=receipts.GitVerdict(version="2.39.5", relaxed=[]),
        times=receipts.Times(launched=1, verified=2, published=3),
    )
    return msgspec.structs.replace(receipt, **changes)


def refusal_record(launch: str = LAUNCH, **changes: object) -> Refusal:
    refusal = Refusal(
        launch=launch,
        issue="owner/repo#269",
        run="run-7",
        phase="FIX",
        repository="owner/repo",
        base=BASE,
        step=4,
        code="originUnsafe",
        klass=1,
        message="candidate.bundle is a FIFO",
        artifact=None,
        findings=[],
        at=4,
    )
    return msgspec.structs.replace(refusal, **changes)
