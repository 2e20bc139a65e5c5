"""Packages that not every installation has."""

from __future__ import annotations

import importlib.util

from crowdstream.errors import CrowdstreamError


def need(*packages: str, extra: str) -> None:
    """Refuse to begin without packages of an extra."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise CrowdstreamError(f"this needs {package}: pip install 'crowdstream[{extra}]'")
