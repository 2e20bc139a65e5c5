"""Tells if the loops were compiled when the package was built. Knows nothing of what they do."""

from __future__ import annotations

import warnings
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

REMEDY = (
    "crowdstream's loops are not compiled, so they run many times slower: "
    "install a wheel of it, or a C compiler and then crowdstream again "
    "(pip install --force-reinstall --no-cache-dir)."
)
_warned = False


class NotCompiled(UserWarning):
    """The loops run as Python code: right, but slow."""


def is_compiled() -> bool:
    """Return True if every file of loops has a compiled module beside it, which Python prefers."""
    files = Path(__file__).parent.rglob("*loops.py")
    return all(
        any(file.with_name(file.stem + suffix).exists() for suffix in EXTENSION_SUFFIXES)
        for file in files
    )


def warn_not_compiled() -> None:
    """Say once per process how to make it fast; a file of loops calls this if it runs as Python."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(REMEDY, NotCompiled, stacklevel=2)
