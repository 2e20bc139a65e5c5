"""What importing the package costs, and what it promises by name."""

from __future__ import annotations

import subprocess
import sys

import crowdstream as cs


def test_the_import_is_light() -> None:
    code = "import sys, crowdstream; print(*sorted(set(sys.modules) & {'numba','polars','rich'}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "", "numba and polars are loaded when first needed"


def test_the_public_names_are_there_and_sorted_as_ruff_wants() -> None:
    assert all(hasattr(cs, name) for name in cs.__all__)
    assert cs.__version__
