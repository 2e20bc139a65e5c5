"""Every public name says what it is for, what it takes, and shows it in an example that runs.

That the examples run is tested by collecting them (see ``testpaths`` in pyproject.toml).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType

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


def undescribed(found: Callable[..., object], names: set[str]) -> list[str]:
    """Return the parameters that the docstring does not describe."""
    return sorted(names - described(inspect.getdoc(found) or ""))


def faults(name: str, found: Callable[..., object]) -> Iterator[str]:
    """Return what the docstring of a public name lacks."""
    doc = inspect.getdoc(found) or ""
    summary = doc.partition("\n")[0]
    if len(summary.split()) < 3 or not summary.endswith((".", ":", "?")):
        yield f"{name}: expected a sentence that says what it is, found {summary!r}"
    if name != "Decision":
        yield from (
            f"{name}: {missing} is not described" for missing in undescribed(found, taken(found))
        )
    if ">>>" not in doc:
        yield f"{name}: no example"


def test_every_public_name_says_what_it_is_for_describes_parameters_and_has_an_example() -> None:
    assert len(PUBLIC) > 200  # that they are found
    assert [fault for name, found in PUBLIC.items() for fault in faults(name, found)] == []


def test_a_name_that_says_too_little_is_found() -> None:
    def short(path: str) -> None:
        """Path."""

    assert list(faults("short", short)) == [
        "short: expected a sentence that says what it is, found 'Path.'",
        "short: path is not described",
        "short: no example",
    ]


def test_baselines_describe_parameters_of_their_own() -> None:
    own = {name: set(vars(found).get("__annotations__", {})) for name, found in BASELINES.items()}
    missing = {
        name: undescribed(found, taken(found) & own[name]) for name, found in BASELINES.items()
    }
    assert {name: names for name, names in missing.items() if names} == {}


def test_properties_are_documented() -> None:
    bare = [
        f"{name}.{member}"
        for name in cs.__all__
        if isinstance(kind := getattr(cs, name), type)
        for member, value in inspect.getmembers(kind)
        if isinstance(value, property) and not member.startswith("_")
        if not inspect.getdoc(value)
    ]
    assert bare == []
