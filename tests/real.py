"""Where tests find the real data sets, and what they do without."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = os.environ.get("CROWDSTREAM_DATA", "")
needs_data = pytest.mark.skipif(
    not Path(DATA or "nowhere").is_dir(),
    reason="CROWDSTREAM_DATA does not name a folder of data sets",
)
