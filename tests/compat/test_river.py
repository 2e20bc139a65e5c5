"""The example with river runs, and says that ours is right more often than majority vote."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples/river_pipeline.py"


def test_a_crowd_in_a_river_pipeline() -> None:
    if importlib.util.find_spec("river") is None:
        pytest.skip("river is not here: pip install river")
    found = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=True)
    right = {name: float(x) for name, x in re.findall(r"(\w+) +([\d.]+)%", found.stdout)}
    assert set(right) == {"MajorityVote", "AgreementBased", "Adaptive"}
    # 1,500 decisions: a standard error of the difference is at most 1.3 points
    assert min(right["AgreementBased"], right["Adaptive"]) > right["MajorityVote"] + 4
