"""Every public name says what it is for, what it takes, and shows it in an example that runs.

That the examples run is tested by collecting them (see ``testpaths`` in pyproject.toml).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

import crowdstream as cs
from crowdstream import extension
from crowdstream_lab import baselines, datasets, theory

RESULTS = {
    "AgreementReport", "DriftAlarm", "EffectiveJudges", "Gate", "GateCheck", "GoldCheck",
    "Identifiability", "IdentifiabilityReport", "Intake", "JudgesOnGold", "Jury", "Label",
    "Preferences", "Rate", "Rates", "RunComparison",
}  # fmt: skip
"""Records that users are given and do not make; their fields are documented."""


MODULES: tuple[ModuleType, ...] = (
    cs.charts,
    cs.metrics,
    cs.writers,
    datasets,
    extension,
    theory,
)
"""Public modules, whose own names count and not what they import. Their records describe all fields
and show an example too, so that none has to be exempt."""


def defined_in(module: ModuleType) -> Iterator[tuple[str, Callable[..., object]]]:
    for name, found in inspect.getmembers(module):
        if name.startswith("_") or not (inspect.isfunction(found) or inspect.isclass(found)):
            continue
        if found.__module__.startswith(module.__name__):
            yield name, found


def with_methods(name: str, found: type) -> Iterator[tuple[str, Callable[..., object]]]:
    if name not in RESULTS:
        yield name, found
    for method, value in inspect.getmembers(found, inspect.isroutine):
        home = getattr(inspect.unwrap(value), "__module__", "") or ""
        if not method.startswith("_") and home.startswith("crowdstream"):
            yield f"{name}.{method}", value


def public() -> Iterator[tuple[str, Callable[..., object]]]:
    names = [(name, getattr(cs, name)) for name in cs.__all__]
    for module in MODULES:
        prefix = module.__name__.rpartition(".")[2]
        names += [(f"{prefix}.{name}", found) for name, found in defined_in(module)]
    for name, found in names:
        if inspect.isfunction(found):
            yield name, found
        elif inspect.isclass(found) and not issubclass(found, BaseException):
            yield from with_methods(name, found)


PUBLIC = dict(public())
BASELINES = {name: getattr(baselines, name) for name in baselines.__all__}


def taken(found: Callable[..., object]) -> set[str]:
    return set(inspect.signature(found).parameters) - {"self", "args", "kwargs"}


def described(doc: str) -> set[str]:
    """The names in the section on parameters, which stand where nothing is indented."""
    section = doc.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    lines = [line for line in section.splitlines() if line and not line.startswith(" ")]
    return {name.strip(" *") for line in lines for name in line.split(",")}


@pytest.mark.parametrize("name", PUBLIC)
def test_it_has_parameters_and_an_example(name: str) -> None:
    doc = inspect.getdoc(PUBLIC[name]) or ""
    assert len(doc.splitlines()[0]) > 10, "a first line that says what it is"
    if name != "Decision":
        missing = taken(PUBLIC[name]) - described(doc)
        assert not missing, f"not described: {missing}"
    assert ">>>" in doc, "an example"


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_describes_parameters_of_its_own(name: str) -> None:
    found = BASELINES[name]
    own = taken(found) & set(vars(found).get("__annotations__", {}))
    missing = own - described(inspect.getdoc(found) or "")
    assert not missing, f"not described: {missing}"


@pytest.mark.parametrize(
    "name", [name for name in cs.__all__ if isinstance(getattr(cs, name), type)]
)
def test_its_properties_are_documented(name: str) -> None:
    for member, value in inspect.getmembers(getattr(cs, name)):
        if isinstance(value, property) and not member.startswith("_"):
            assert inspect.getdoc(value), member
