"""The version of crowdstream-lab, read where the core has it, and the core of that version."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

CORE = Path("..", "src", "crowdstream", "__init__.py")
"""The file of the core that has the version, relative to this one."""

DEPENDENCIES = (
    "altair>=5.5",
    "click>=8.1",
    "numpy>=2.0",
    "pandas>=2.2",
    "polars>=1.32",
    "pooch>=1.8",
    "rich>=13.7",
    "scipy>=1.14",
    "vl-convert-python>=1.7",
)
"""Requirements beside the core."""


class CustomMetadataHook(MetadataHookInterface):
    """Fills in what pyproject.toml leaves open; a source distribution has it written down."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the version and what is needed."""
        text = Path(self.root, CORE).read_text(encoding="utf-8")
        found = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
        assert found is not None, f"{CORE}: expected __version__"
        metadata["version"] = found[1]
        metadata["dependencies"] = [f"crowdstream=={found[1]}", *DEPENDENCIES]
