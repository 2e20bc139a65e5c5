"""No class of ``estimators/`` grows beyond what one person holds in mind."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import pytest

from crowdstream import estimators
from crowdstream.models.model import Model

MOST_MEMBERS = 30
"""Methods and properties of a class that users call: the limit set for the third drawing."""

MOST_HOOKS = 12
"""Methods of a class that a subclass is meant to write: the limit set for the third drawing."""

NOT_FOR_USERS = {"make_model"}
"""Public hooks that only the class itself calls."""


def classes() -> Iterator[type]:
    for module in pkgutil.iter_modules(estimators.__path__):
        found = importlib.import_module(f"{estimators.__name__}.{module.name}")
        for thing in vars(found).values():
            if inspect.isclass(thing) and thing.__module__ == found.__name__:
                yield thing


CLASSES = list(classes())
FOR_USERS = [kind for kind in CLASSES if not issubclass(kind, Model)]
"""A model's members are called by estimators, not by users."""


def is_member(kind: type, name: str) -> bool:
    """A method or a property; parameters and attributes, which can be assigned, are none."""
    found = inspect.getattr_static(kind, name)
    if isinstance(found, property):
        return found.fset is None
    return inspect.isroutine(found) or isinstance(found, (classmethod, staticmethod))


def users_members(kind: type) -> set[str]:
    """Own and inherited."""
    names = {name for name in dir(kind) if not name.startswith("_") and is_member(kind, name)}
    return names - NOT_FOR_USERS


def hooks(kind: type, known: list[type]) -> set[str]:
    """What is abstract in a class, and what one of the known classes below it writes anew."""
    written = {
        name
        for below in known
        if issubclass(below, kind) and below is not kind
        for name in vars(below)
        if not name.startswith("__") and hasattr(kind, name) and is_member(kind, name)
    }
    return written | getattr(kind, "__abstractmethods__", set())


@pytest.mark.parametrize("kind", FOR_USERS, ids=lambda kind: kind.__name__)
def test_no_class_has_more_members_than_users_can_hold(kind: type) -> None:
    found = sorted(users_members(kind))
    assert len(found) <= MOST_MEMBERS, f"{len(found)} members, drop or merge some: {found}"


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_no_class_has_more_hooks_than_a_subclass_can_hold(kind: type) -> None:
    found = sorted(hooks(kind, CLASSES))
    assert len(found) <= MOST_HOOKS, f"{len(found)} hooks, hand in a collaborator: {found}"


def test_members_and_hooks_are_counted() -> None:
    class Base:
        attribute = 1
        annotated: int

        def verb(self) -> None: ...

        def hook(self) -> None: ...

        def _inside(self) -> None: ...

        @property
        def learnt_(self) -> int:
            return 0

        @classmethod
        def load(cls) -> None: ...

    class Below(Base):
        def hook(self) -> None: ...

        def _inside(self) -> None: ...

        def more(self) -> None: ...

    assert users_members(Base) == {"verb", "hook", "learnt_", "load"}
    assert users_members(Below) == {"verb", "hook", "learnt_", "load", "more"}
    assert hooks(Base, [Base, Below]) == {"hook", "_inside"}
    assert hooks(Below, [Base, Below]) == set()
    assert "make_model" in hooks(estimators.Estimator, [])
    assert "save" in users_members(estimators.Estimator), "what is inherited counts"
