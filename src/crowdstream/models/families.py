"""Declared families: workers who do not judge independently, and what their votes count together.

Members are not compared with one another when skills are estimated. Where s of them label one task,
each vote counts to the power 1/(1 + (s − 1) ρ) (`scoring_loops.FamilyPowers`): 1 if they err
independently (ρ = 0), one vote for all if they err as one (ρ = 1). Here ρ is measured.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError
from crowdstream.labels import clean_id
from crowdstream.sums.agreement import AgreementSums

Floats = NDArray[np.float64]

CORRELATION, WORTH = 0.3, 20.0
"""ρ of a family before its members have met, and the meetings that this is worth."""


def correlations(sums: AgreementSums, skills: Floats) -> Floats:
    """ρ of each declared family: how often its members agree beyond what their skills explain."""
    pairs, same = sums.relatives.T
    members = [skills[sums.family == family] for family in range(pairs.size)]
    skill = np.array([who.mean() if who.size else 0.0 for who in members])
    expected = 1 / sums.classes + (1 - 1 / sums.classes) * skill**2
    found = (same / np.maximum(pairs, 1e-12) - expected) / np.maximum(1 - expected, 1e-9)
    found = (pairs * np.clip(found, 0.0, 1.0) + WORTH * CORRELATION) / (pairs + WORTH)
    return np.asarray(found)


def check_families(name: str, value: object) -> None:
    """Refuse what is neither ``None`` nor a mapping of workers to the names of their families.

    Parameters
    ----------
    name
        The argument's name.
    value
        What was given.

    Examples
    --------
    >>> check_families("families", {"gpt-a": "gpt", "gpt-b": "gpt"})
    """
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise InputError(name, "a mapping of worker to family", repr(value))
    for worker, family in value.items():
        if clean_id(worker, f"{name}, worker") is None or not isinstance(family, str):
            raise InputError(f"{name}[{worker!r}]", "the name of a family, str", repr(family))
