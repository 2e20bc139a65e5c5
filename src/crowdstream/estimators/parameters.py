"""Constructor arguments that several estimators share, and what each may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from crowdstream.errors import InputError
from crowdstream.labels import WorkerId, clean_id
from crowdstream.validation import SEED, Check, number, one_of

Ties: TypeAlias = Literal["coin", "lowest"]
"""How ties are broken."""

Families: TypeAlias = "Mapping[str, str] | Mapping[int, str] | Mapping[WorkerId, str]"
"""Workers who do not judge independently of one another, by the name of their family."""


def check_families(name: str, families: object) -> None:
    """Refuse what is not a mapping of workers to families."""
    if families is None:
        return
    if not isinstance(families, Mapping):
        raise InputError(name, "a mapping of worker to family", repr(families))
    for worker, family in families.items():
        if clean_id(worker, f"{name}, worker") is None or not isinstance(family, str):
            raise InputError(f"{name}[{worker!r}]", "the name of a family, str", repr(family))


CHECKS: Mapping[str, Check] = {
    "memory": number(1.0, 1e15, open_low=True, optional=True),
    "families": check_families,
    "ties": one_of("coin", "lowest"),
    "seed": SEED,
}
"""An argument of this name means the same wherever it occurs."""
