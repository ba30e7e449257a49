"""Which version of the distribution is installed."""

from __future__ import annotations

__all__ = ["installed"]


def installed() -> str | None:
    """The version that is installed; None when this runs from its source."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("packcheck")
    except PackageNotFoundError:
        return None
