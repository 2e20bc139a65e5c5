"""A file of loops run as the Python it is written in, beside the compiled module."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from types import ModuleType

from crowdstream.compiled import NotCompiled


def uncompiled(module: ModuleType) -> ModuleType:
    """The source of a compiled module, loaded under another name."""
    name = module.__name__.rpartition(".")[2]
    assert module.__file__ is not None
    source = Path(module.__file__).with_name(name + ".py")
    spec = importlib.util.spec_from_file_location(f"uncompiled_{name}", source)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCompiled)
        spec.loader.exec_module(found)
    return found
