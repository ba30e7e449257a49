"""Records of launches, receipts and refusals that are in order, for tests that need no repository.

The keyword arguments take the place of fields; nothing checks them here.
"""

from __future__ import annotations

import msgspec

from manifest.launch import Launch
from manifest.receipt import Receipt, Refusal
from tests.support import made
from tests.support.made import BASE, CANDIDATE

__all__ = ["BASE", "CANDIDATE", "KEY", "LAUNCH", "OTHER", "launch_record", "receipt_record",
           "refusal_record"]  # fmt: skip

LAUNCH = made.LAUNCH_ID
OTHER = "cd" * 16
KEY = made.KEY.hex()


def launch_record(launch: str = LAUNCH, **changes: object) -> Launch:
    return msgspec.structs.replace(made.LAUNCH, launch=launch, **changes)


def receipt_record(launch: str = LAUNCH, **changes: object) -> Receipt:
    return msgspec.structs.replace(made.RECEIPT, launch=launch, **changes)


def refusal_record(launch: str = LAUNCH, **changes: object) -> Refusal:
    return msgspec.structs.replace(made.REFUSAL, launch=launch, **changes)
