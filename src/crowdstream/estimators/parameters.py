"""Constructor arguments that several estimators share, and what each may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from crowdstream.defaults import MEMORY_RANGE
from crowdstream.errors import InputError
from crowdstream.labels import WorkerId
from crowdstream.models.families import check_families
from crowdstream.validation import SEED, Check, number, one_of

Families: TypeAlias = "Mapping[str, str] | Mapping[int, str] | Mapping[WorkerId, str]"
"""Workers who do not judge independently of one another, by the name of their family."""


def check_memory(name: str, memory: object) -> None:
    """Refuse what is not a number of tasks to remember."""
    if memory == "auto":
        expected = "a number of tasks, or None: Adaptive() finds out by itself who changes"
        raise InputError(name, expected, repr(memory))
    number(*MEMORY_RANGE, open_low=True, optional=True)(name, memory)


Copying: TypeAlias = Literal["discount", "report"]
"""How to treat workers found to copy: discount their votes, or only report them."""

CHECKS: Mapping[str, Check] = {
    "memory": check_memory,
    "families": check_families,
    "copies": one_of("discount", "report"),
    "ties": one_of("coin", "lowest"),
    "seed": SEED,
}
"""An argument of this name means the same wherever it occurs."""
