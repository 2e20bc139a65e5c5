"""Constructor arguments that several estimators share, and what each may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from crowdstream.estimators.families import check_families
from crowdstream.labels import WorkerId
from crowdstream.validation import SEED, Check, number, one_of

Ties: TypeAlias = Literal["coin", "lowest"]
"""How ties are broken."""

Families: TypeAlias = "Mapping[str, str] | Mapping[int, str] | Mapping[WorkerId, str]"
"""Workers who do not judge independently of one another, by the name of their family."""


CHECKS: Mapping[str, Check] = {
    "memory": number(1.0, 1e15, open_low=True, optional=True),
    "families": check_families,
    "ties": one_of("coin", "lowest"),
    "seed": SEED,
}
"""An argument of this name means the same wherever it occurs."""
