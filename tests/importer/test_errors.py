"""What an import ends with: two errors, each with a code, a step, and words for a terminal."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from importer import errors
from importer.durable import Files, UnsafeFileError
from importer.errors import (
    FILE_FAILED,
    LOCK_BUSY,
    ORIGIN_UNSAFE,
    ImporterError,
    ImportFailed,
    ImportRefused,
    translated,
)
from manifest.errors import RECORD_INVALID, REGISTRY, RecordError
from packparse.codes import Code

CODES = {code.name: code for code in vars(errors).values() if isinstance(code, Code)}


@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
def test_every_code_is_registered_and_says_what_it_means_and_what_to_do(code: Code) -> None:
    assert REGISTRY[code.name] is code
    assert 1 <= code.klass <= 6
    assert code.meaning.endswith(".")
    assert code.remedy.endswith(".")


def test_an_error_shows_its_code_its_step_and_its_message() -> None:
    assert str(ImportRefused(ORIGIN_UNSAFE, "it is a FIFO", step=4)) == (
        "originUnsafe (step 4): it is a FIFO"
    )
    assert str(ImportFailed(LOCK_BUSY, "held")) == "lockBusy: held"


def test_a_refusal_may_have_a_report_and_a_failure_says_whether_to_try_again() -> None:
    assert ImportRefused(ORIGIN_UNSAFE, "").report is None
    assert ImportFailed(FILE_FAILED, "").retry
    assert not ImportFailed(FILE_FAILED, "", retry=False).retry


# --- translated ----------------------------------------------------------------------------------


def _caught(error: Exception, step: int = 0) -> ImporterError:
    with pytest.raises(ImporterError) as caught, translated(lambda: step):
        raise error
    return caught.value


def test_what_does_not_go_wrong_is_left_alone() -> None:
    with translated():
        done = True
    assert done


def test_an_error_of_ours_gets_the_step_that_it_has_not() -> None:
    raised = ImportRefused(ORIGIN_UNSAFE, "it is a FIFO")
    assert _caught(raised, 4) is raised
    assert raised.step == 4
    assert _caught(raised, 5) is raised
    assert raised.step == 4


def test_a_record_that_is_refused_refuses_the_import() -> None:
    refused = _caught(RecordError(RECORD_INVALID, "a field is missing"), 2)
    assert isinstance(refused, ImportRefused)
    assert (refused.code, refused.step) == (RECORD_INVALID, 2)
    assert refused.message == "a field is missing"


def test_a_file_of_ours_that_is_none_any_more_is_a_file_operation_that_fails() -> None:
    failed = _caught(UnsafeFileError("a symbolic link"), 8)
    assert isinstance(failed, ImportFailed)
    assert (failed.code, failed.step) == (FILE_FAILED, 8)
    assert failed.message == "a file of ours is a symbolic link"


NO_ROOM = os.strerror(errno.ENOSPC)

OPERATIONS: dict[str, tuple[OSError, str]] = {
    "without a name": (OSError(errno.ENOSPC, NO_ROOM), NO_ROOM),
    "on a name": (OSError(errno.ENOSPC, NO_ROOM, "journal"), f"{NO_ROOM} (journal)"),
    "on raw bytes": (OSError(errno.ENOSPC, NO_ROOM, b"a\xff\n"), f'{NO_ROOM} ("a\\377\\n")'),
    "on a name that is no UTF-8": (
        OSError(errno.ENOSPC, NO_ROOM, "a\udcff"), f'{NO_ROOM} ("a\\377")',
    ),
    "on a name that would move the cursor": (
        OSError(errno.ENOSPC, NO_ROOM, "\x1b[2J\u202e"), f'{NO_ROOM} ("\\033[2J\\342\\200\\256")',
    ),
    "on a name that is long": (
        OSError(errno.ENOSPC, NO_ROOM, "x" * 300), f"{NO_ROOM} ({'x' * 200}... (300 bytes))",
    ),
    "on a descriptor": (OSError(errno.EIO, "Input/output error", 7), "Input/output error"),
    "in the words of an engine": (OSError("b\xf6se"), '"b\\303\\266se"'),
    "in words that are no text": (OSError("\udcff"), '"\\\\udcff"'),
}  # fmt: skip


@pytest.mark.parametrize(("error", "message"), OPERATIONS.values(), ids=OPERATIONS)
def test_a_file_operation_that_fails_is_told_in_printable_words(
    error: OSError, message: str
) -> None:
    failed = _caught(error, 9)
    assert isinstance(failed, ImportFailed)
    assert (failed.code, failed.step, failed.retry) == (FILE_FAILED, 9, True)
    assert failed.message == message
    assert failed.message.isascii()
    assert failed.message.isprintable()
    assert failed.__cause__ is error


def test_a_folder_that_cannot_be_listed_is_a_file_operation_that_fails(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        (tmp_path / "file").open() as opened,
        pytest.raises(ImportFailed, match="Not a directory"),
        translated(),
    ):
        Files().names(opened.fileno())


@pytest.mark.parametrize("error", [KeyError("a bug"), KeyboardInterrupt()], ids=repr)
def test_what_is_a_bug_or_a_wish_of_the_user_is_not_hidden(error: BaseException) -> None:
    with pytest.raises(type(error)), translated():
        raise error
