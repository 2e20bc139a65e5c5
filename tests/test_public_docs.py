"""Every public name says what it is for, what it takes, and shows it in an example that runs.

That the examples run is tested by collecting them (see ``testpaths`` in pyproject.toml).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import pytest

import crowdstream as cs

RESULTS = {"DriftAlarm", "Identifiability", "IdentifiabilityReport", "Intake", "Label"}
"""Records that users are given and do not make; their fields are documented."""


def public() -> Iterator[tuple[str, Callable[..., object]]]:
    for name in cs.__all__:
        found = getattr(cs, name)
        if inspect.isfunction(found):
            yield name, found
        elif inspect.isclass(found) and not issubclass(found, BaseException):
            if name not in RESULTS:
                yield name, found
            for method, value in inspect.getmembers(found, inspect.isroutine):
                home = getattr(inspect.unwrap(value), "__module__", "") or ""
                if not method.startswith("_") and home.startswith("crowdstream"):
                    yield f"{name}.{method}", value


PUBLIC = dict(public())


@pytest.mark.parametrize("name", PUBLIC)
def test_it_has_parameters_and_an_example(name: str) -> None:
    doc = inspect.getdoc(PUBLIC[name]) or ""
    assert len(doc.splitlines()[0]) > 10, "a first line that says what it is"
    given = set(inspect.signature(PUBLIC[name]).parameters) - {"self", "args", "kwargs"}
    if given and name != "Decision":
        assert "Parameters\n----------" in doc
        described = doc.partition("Parameters\n----------")[2]
        missing = [word for word in given if word not in described]
        assert not missing, f"not described: {missing}"
    assert ">>>" in doc, "an example"


@pytest.mark.parametrize(
    "name", [name for name in cs.__all__ if isinstance(getattr(cs, name), type)]
)
def test_its_properties_are_documented(name: str) -> None:
    for member, value in inspect.getmembers(getattr(cs, name)):
        if isinstance(value, property) and not member.startswith("_"):
            assert inspect.getdoc(value), member
