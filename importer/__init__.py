"""The thin, crash-safe shell around native git: from an export folder to objects and a receipt.

The door for programs::

    with State(folder) as state, Repository(path, state) as repository:
        result = import_candidate(repository, launch)

All three raise ``ImportRefused`` or ``ImportFailed``, which have a ``code``. ``show``, ``listed``,
``proven``, ``recover_all`` and ``discard`` are what else is done about launches.
"""

from importer.errors import ImporterError, ImportFailed, ImportRefused
from importer.launches import (
    Listing,
    Recovered,
    Shown,
    discard,
    listed,
    proven,
    recover_all,
    show,
)
from importer.repository import Repository, folder_record
from importer.state import State
from importer.steps import ImportResult, Step, import_candidate

__all__ = [
    "ImportFailed",
    "ImportRefused",
    "ImportResult",
    "ImporterError",
    "Listing",
    "Recovered",
    "Repository",
    "Shown",
    "State",
    "Step",
    "discard",
    "folder_record",
    "import_candidate",
    "listed",
    "proven",
    "recover_all",
    "show",
]
