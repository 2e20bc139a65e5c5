"""The map in CONTRIBUTING.md is true: each thing is defined in the file it names, and only there.

The files are parsed, not imported alone: what a compiled loop has for other loops is no attribute
in Python. What how-it-works.md and the diagram name is held against the source too.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/crowdstream"
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
ROW = re.compile(r"^\| (?P<thing>[^|]+) \| `(?P<path>[^`]+\.py)` \| (?P<names>`[^|]+`) \|$", re.M)
MAP = {found["thing"]: found for found in ROW.finditer(TEXT)}

THINGS = {
    "the interval", "the tie coin", "the fallback to majority", "gold", "the drift alarm",
    "the family discount", "the command line's JSON", "the paper's fixed point",
    "the forgetting scale", "when a decision is settled", "vocabulary growth", "CSV quoting",
    "state versioning", "calibration", "savings",
    "a confidence", "own labels left out", "when readings are renewed", "what a newcomer weighs",
    "gold counts five times", "why a task closed", "how many threads run",
    "which method a name means", "the default of settle, and other defaults", "a repeated webhook",
    "the words of advice", "what a saved array means", "the loop of a stream",
    "the tasks of a stream in columns", "very many classes",
}  # fmt: skip
"""Things that a newcomer must find; the map may have more."""

NAMESAKES = {
    "ADVICE": {
        "report/questions_table.py": "the title of a column",
    },
    "AGAINST": {
        "monitoring/rows.py": "the place of a column",
    },
    "Answers": {
        "labels/label.py": "one task's answers, by worker",
    },
    "backup": {
        "cli/backup.py": "the command",
    },
    "Comparisons": {
        "cli/preferences.py": "options of a command",
    },
    "Crowd": {
        "monitoring/__init__.py": "a type variable",
        "simulation/model.py": "parameters of a simulation",
        "spark/batch.py": "a type variable",
    },
    "ACCURACY": {
        "rates/records.py": "what a rate is of",
    },
    "Drift": {
        "simulation/drifts.py": "how a simulated worker changes",
    },
    "EVIDENCE": {
        "monitoring/rows.py": "the place of a column",
        "monitoring/dependence.py": "what pairs must explain before one is left out",
    },
    "expected_errors": {
        "serve/readings.py": "a project's, by the same function",
    },
    "FAR": {
        "labels/readers/sheet_extents.py": "how far a sheet's cells reach",
    },
    "fit": {
        "panel/bradley_terry.py": "ratings of items",
        "spark/batch.py": "an estimator, on a cluster",
    },
    "FLAGS": {
        "labels/readers/crowd_forms.py": "how a check box is written",
        "stream/rows.py": "the place of a column",
    },
    "GOLD": {
        "labels/readers/appen.py": "how columns of correct answers end",
        "models/horizon_loops.py": "the place of a column",
        "monitoring/rows.py": "the place of a column",
        "schedule.py": "growth in gold after which scores are weighed anew",
    },
    "jury": {
        "cli/jury.py": "the command",
    },
    "kind_of": {
        "serialization.py": "of saved bytes",
    },
    "LEVEL": {
        "monitoring/missing.py": "a test's rate of false alarms",
    },
    "MAJORITY": {
        "savings/result.py": "the name of a way to buy labels",
    },
    "Model": {
        "simulation/model.py": "what labels are drawn from",
    },
    "NO_ANSWER": {
        "labels/readers/inspect_log.py": "what that log writes for none",
    },
    "pack": {
        "serve/answers.py": "answers to requests",
    },
    "PAGE": {
        "serve/pages.py": "the folder of the page",
        "serve/server.py": "rows of a list",
        "sync/argilla.py": "rows asked for at a time",
        "sync/label_studio.py": "rows asked for at a time",
    },
    "PLACES": {
        "report/printing.py": "where browsers are installed",
    },
    "Rates": {
        "rates/records.py": "shares corrected by gold",
    },
    "reason_of": {
        "models/identifying_loops.py": "why a crowd cannot be identified",
    },
    "REASONS": {
        "models/fallback.py": "why a crowd cannot be identified",
        "statements/advice.py": "codes of reasons for advice",
        "wording.py": "their words",
    },
    "savings": {
        "cli/savings.py": "the command",
    },
    "Scoring": {
        "cli/report.py": "options of a command",
        "cli/run.py": "options of a command",
        "cli/savings.py": "options of a command",
    },
    "solve": {
        "reference.py": "the printed algorithm, which tests compare with",
    },
    "Stream": {
        "serve/events.py": "a response of server-sent events",
    },
    "sync": {
        "spark/stream_folder.py": "a folder with the disk",
    },
    "unpack": {
        "serve/answers.py": "answers to requests",
    },
}
"""Names on the map that other files have too, for another thing, and for which."""


def names_in(body: list[ast.stmt], within: str = "") -> Iterator[str]:
    """Names that statements define, those of classes' bodies with the class before them."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield within + node.name
        elif isinstance(node, ast.ClassDef):
            yield within + node.name
            yield from names_in(node.body, f"{within}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for part in ast.walk(target):
                    if isinstance(part, ast.Name):
                        yield within + part.id
        elif isinstance(node, ast.If):
            yield from names_in(node.body + node.orelse, within)


@functools.cache
def defined() -> dict[str, set[str]]:
    """Every name that the package defines, and the files that do."""
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for name in names_in(ast.parse(path.read_text("utf-8")).body):
            found.setdefault(name, set()).add(path.relative_to(SOURCE).as_posix())
    return found


def test_the_things_are_on_it() -> None:
    assert set(MAP) >= THINGS, THINGS - set(MAP)


def test_every_row_of_the_table_is_read() -> None:
    table = TEXT.partition("| what you look for |")[2].partition("\n\n")[0]
    assert table.count("\n") - 1 == len(MAP), "a row in another form, or two things of one name"


@pytest.mark.parametrize("thing", MAP)
def test_each_has_one_home(thing: str) -> None:
    home = MAP[thing]["path"]
    importlib.import_module("crowdstream." + home.removesuffix(".py").replace("/", "."))
    for name in re.findall(r"`([^`]+)`", MAP[thing]["names"]):
        assert home in defined().get(name, ()), f"{name} is not defined in {home}"
        first = name.partition(".")[0]
        others = defined()[first] - {home} - set(NAMESAKES.get(first, ()))
        assert not others, f"{first} is defined in {others} too"


def test_namesakes_are_there() -> None:
    """A name that has gone is no longer excused."""
    for name, files in NAMESAKES.items():
        assert set(files) <= defined()[name], name


# The diagram ---------------------------------------------------------------------------------


def test_the_diagram_is_the_order_that_is_checked() -> None:
    diagram = re.search(r"^    (labels → .*)$", TEXT, re.M)
    assert diagram is not None
    drawn = [re.findall(r"\w+", part) for part in diagram[1].split("→")]
    assert len(drawn) > 6
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each.get("containers") == ["crowdstream"])
    place = {name: -k for k, layer in enumerate(layers) for name in re.findall(r"\w+", layer)}
    for before, after in pairwise(drawn):
        assert max(place[name] for name in before) < min(place[name] for name in after)


# How it works --------------------------------------------------------------------------------

PAGE = (ROOT / "docs/how-it-works.md").read_text("utf-8")
WALK = PAGE.partition("## The path of a label")[2].partition("\n## ")[0]
STEPS = re.findall(r"`((?:labels|sums|models|estimators|decisions|stream)\.[\w.]+)`", WALK)


def test_the_walk_has_its_steps() -> None:
    assert len(STEPS) > 15


@pytest.mark.parametrize("step", STEPS)
def test_each_step_of_the_walk_exists(step: str) -> None:
    parts = step.split(".")
    for end in range(len(parts), 0, -1):
        file = SOURCE.joinpath(*parts[:end]).with_suffix(".py")
        if file.is_file():
            home, name = file.relative_to(SOURCE).as_posix(), ".".join(parts[end:])
            assert not name or home in defined().get(name, ()), f"{name} is not in {home}"
            return
        if file.with_suffix("").is_dir():
            package = importlib.import_module("crowdstream." + ".".join(parts[:end]))
            assert hasattr(package, parts[end]), f"{parts[end]} is not in {package.__name__}"
            return
    raise AssertionError(f"no module for {step}")


def test_ten_ideas_are_enough_to_change_adaptive() -> None:
    section = PAGE.partition("## To change Adaptive")[2].partition("\n## ")[0]
    ideas = re.findall(r"^\d+\. .*(?:\n   .*)*", section, re.M)
    assert 0 < len(ideas) <= 10
    for idea in ideas:
        files = re.findall(r"`([\w/]+\.py)`", idea)
        assert files, f"without a file: {idea}"
        for file in files:
            assert (SOURCE / file).is_file(), file
