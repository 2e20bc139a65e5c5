"""`crowdstream paper` notices when it is our code that is wrong: each slip ends it with code 1.

A slip is made in a copy of the sources, in the product's own rule, and the command is run by that
copy, uncompiled. So it is the whole way from the rule to the exit code that is tested.
"""

from __future__ import annotations
import __future__

import importlib.machinery
import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import crowdstream
import crowdstream_lab
from crowdstream_lab.experiments import batch
from tests.cli.tool import call

FUTURE = __future__.annotations.compiler_flag
"""Functions of the lab are written with annotations that are not evaluated."""

RUN = """
import sys
import warnings

warnings.simplefilter("ignore")  # that it is not compiled
from crowdstream.cli import main

sys.argv = ["crowdstream", "paper", "ours", "--quick", "-o", sys.argv[1]]
main()
"""


class Slip(NamedTuple):
    """A rule's file, what is written there, what instead, and words of the line that names it."""

    name: str
    file: str
    changes: dict[str, str]
    named: tuple[str, ...]


FIXED_POINT = "models/fixed_point_loops.py"

SLIPS = [
    Slip(
        "n − 2 → n − 1.9",  # by shares: their sum is n − (n − 2)
        FIXED_POINT,
        {"return total - 2.0": "return total - 1.9", "double = -2.0": "double = -1.9"},
        ("disagrees with the paper's fixed point", "does not solve v = f(â, v), with its n − 2"),
    ),
    Slip(
        "n − 1 → n",
        FIXED_POINT,
        {"shift = self.tasks * (self.n - 1.0)": "shift = self.tasks * self.n"},
        ("disagrees with the paper's fixed point", "as by another n − 1"),
    ),
    Slip(
        "α² → α",
        FIXED_POINT,
        {"worth = K / (self.answer_rate * self.answer_rate": "worth = K / (self.answer_rate"},
        ("disagrees with the paper's answer rate, 1/α² in Section 3",),
    ),
    Slip(
        "β × 0.8",
        "estimators/agreement_based.py",
        {", self.memory, self.shrinkage": ", self.memory and self.memory / 0.8, self.shrinkage"},
        ("disagrees with the paper's forgetting, Section 5",),
    ),
    Slip(
        "a biased tie coin",  # the first class wins three of four ties
        "decisions/vote_loops.py",
        {"key = mix(key ^ coin)": "key = mix(key ^ coin) >> (a == 0)"},
        ("The tie coin of `AgreementBased` is not fair",),
    ),
    Slip(
        "no fallback: a worker with most of the signal is believed",
        FIXED_POINT,
        {"self.shares.find(self.n, self.answer_rate == 0.0)": "self.shares.find(self.n, True)"},
        ("does not fall back to p̂ = ½ as the paper does",),
    ),
    Slip(
        "θ × 0.7",
        FIXED_POINT,
        {"own = share * self.signal *": "own = 0.7 * share * self.signal *"},
        ("disagrees with the paper's fixed point", "every 1 − 2p̂ is 0.700 times the paper's"),
    ),
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both packages without what is compiled."""
    folder = tmp_path_factory.mktemp("sources")
    left_out = ("__pycache__", *(f"*{end}" for end in importlib.machinery.EXTENSION_SUFFIXES))
    for package in (crowdstream, crowdstream_lab):
        (place,) = package.__path__
        name = package.__name__
        shutil.copytree(place, folder / name, ignore=shutil.ignore_patterns(*left_out))
    (folder / "run.py").write_text(RUN)
    return folder


def run(sources: Path, output: Path) -> tuple[int, str]:
    """The exit code, and what was printed on one line."""
    done = subprocess.run(
        [sys.executable, str(sources / "run.py"), str(output)],
        # A file that is changed within a second and keeps its size would be taken from a cache.
        env={**os.environ, "PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    return done.returncode, " ".join(done.stdout.split())


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.name)
def test_a_slip_in_our_own_rule_ends_with_one_and_is_named(
    slip: Slip, sources: Path, tmp_path: Path
) -> None:
    file = sources / "crowdstream" / slip.file
    before = changed = file.read_text("utf-8")
    for old, new in slip.changes.items():
        assert changed.count(old) == 1, f"{old!r} should stand once in {slip.file}"
        changed = changed.replace(old, new)
    file.write_text(changed, "utf-8")
    try:
        code, told = run(sources, tmp_path)
    finally:
        file.write_text(before, "utf-8")
    assert code == 1
    assert "our bug, ours:" in told
    assert all(word in told for word in slip.named), told


def test_without_a_slip_it_ends_with_zero(sources: Path, tmp_path: Path) -> None:
    code, told = run(sources, tmp_path)
    assert (code, "our bug" in told) == (0, False)


# In the program that draws the charts ----------------------------------------------------------


def changed(function: Callable[..., Any], changes: dict[str, str]) -> Callable[..., Any]:
    """A function of the lab with another text."""
    text = inspect.getsource(function)
    for old, new in changes.items():
        assert text.count(old) == 1, f"{old!r} should stand once in {function.__name__}"
        text = text.replace(old, new)
    names: dict[str, Any] = {}
    exec(compile(text, "changed", "exec", flags=FUTURE), vars(batch), names)
    return names[function.__name__]


@pytest.mark.parametrize(
    ("name", "changes", "named"),
    [
        ("_solve", {"ratio.shape[1] - 2": "ratio.shape[1] - 1.9"}, "the paper's fixed point"),
        ("agreeing", {"(right.shape[-1] - 1)": "right.shape[-1]"}, "the paper's agreement rates"),
        ("agreeing", {"alpha**2": "alpha"}, "the paper's agreement rates"),
    ],
)
def test_a_slip_in_the_charts_own_program_is_not_held_against_the_paper(
    name: str,
    changes: dict[str, str],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch, name, changed(getattr(batch, name), changes))
    told = call("paper", "fig3", "--quick", "-o", tmp_path)
    assert told.code == 1
    assert f"`experiments.batch` disagrees with {named}" in " ".join(told.out.split())
    row = next(line.split() for line in told.out.splitlines() if line.split()[0] == "fig3")
    assert row[1:4] == ["·", "·", "·"], "no verdict of the figure is given"
    assert "**cannot be told**" in (tmp_path / "paper.md").read_text("utf-8")
