"""The thin, crash-safe shell around native git: from an export folder to objects and a receipt.

The door for programs::

    with State(folder) as state, Repository(path, state) as repository:
        result = import_candidate(repository, launch)

``import_candidate`` raises ``ImportRefused`` or ``ImportFailed`` and nothing else; both have a
``code``. ``recover_all``, ``proven`` and ``discard`` are what else is done about a launch.
"""

from importer.errors import ImportFailed, ImportRefused
from importer.launches import discard, proven, recover_all
from importer.repository import Repository
from importer.state import State
from importer.steps import ImportResult, Step, import_candidate

__all__ = [
    "ImportFailed",
    "ImportRefused",
    "ImportResult",
    "Repository",
    "State",
    "Step",
    "discard",
    "import_candidate",
    "proven",
    "recover_all",
]
