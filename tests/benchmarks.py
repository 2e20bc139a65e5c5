"""The benchmarks as modules, for tests of what they measure."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


def load_benchmark(name: str) -> ModuleType:
    """A benchmark's module; the test is skipped where the benchmarks are not distributed."""
    file = FOLDER / f"{name}.py"
    if not file.is_file():
        pytest.skip("the benchmarks are not in this distribution")
    spec = importlib.util.spec_from_file_location(f"{name}_benchmark", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for their names
    spec.loader.exec_module(module)
    return module
