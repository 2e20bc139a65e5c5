"""What importing the package costs, and what it promises by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

import crowdstream as cs


def test_the_import_is_light() -> None:
    code = (
        "import sys, crowdstream; print(*set(sys.modules) & {'numba', 'polars', 'numpy', 'rich'})"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "", "what is heavy is loaded when first needed"


def test_the_public_names_are_the_same_everywhere() -> None:
    assert sorted(cs.__all__) == sorted(cs._HOME)
    assert all(getattr(cs, name) is not None for name in cs.__all__)
    assert set(cs.__all__) <= set(dir(cs))


def test_a_wrong_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Majority'"):
        _ = cs.Majority  # type: ignore[attr-defined]


def test_python_m_is_the_command_line() -> None:
    words = [sys.executable, "-m", "crowdstream", "version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert cs.__version__ in done.stdout
