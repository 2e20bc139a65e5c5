"""The map in CONTRIBUTING.md is true: the fifteen things are where it says, and can be imported."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
ROW = re.compile(r"^\| (?P<thing>[^|]+) \| `(?P<path>[^`]+\.py)` \| (?P<names>`[^|]+`) \|$", re.M)
MAP = {found["thing"]: found for found in ROW.finditer(TEXT)}

THINGS = {
    "the interval", "the tie coin", "the fallback to majority", "gold", "the drift alarm",
    "the family discount", "the command line's JSON", "the paper's fixed point",
    "the forgetting scale", "the stop rule", "vocabulary growth", "CSV quoting",
    "state versioning", "calibration", "savings",
}  # fmt: skip


def test_the_fifteen_things_are_on_it() -> None:
    assert set(MAP) >= THINGS, THINGS - set(MAP)


@pytest.mark.parametrize("thing", MAP)
def test_each_has_one_home(thing: str) -> None:
    path = ROOT / "src/crowdstream" / MAP[thing]["path"]
    assert path.is_file()
    module = importlib.import_module(
        "crowdstream." + MAP[thing]["path"].removesuffix(".py").replace("/", ".")
    )
    for name in re.findall(r"`([^`]+)`", MAP[thing]["names"]):
        found: object = module
        for part in name.split("."):
            found = getattr(found, part)


WALK = (ROOT / "docs/how-it-works.md").read_text("utf-8").partition("## The path of a label")[2]
STEPS = re.findall(
    r"`((?:labels|sums|estimators|decisions|stream)\.[\w.]+)`", WALK.partition("\n## ")[0]
)


def test_the_walk_has_its_steps() -> None:
    assert len(STEPS) > 15


@pytest.mark.parametrize("step", STEPS)
def test_each_step_of_the_walk_exists(step: str) -> None:
    parts = step.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module("crowdstream." + ".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return
    raise AssertionError(f"no module for {step}")
