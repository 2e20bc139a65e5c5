"""What an `Adaptive` is made of inside, for tests that look there."""

from __future__ import annotations

import crowdstream as cs
from crowdstream.models.committee import Committee
from crowdstream.models.reading import Reading


def committee_of(crowd: cs.Estimator) -> Committee:
    """Its model, while it has few enough classes."""
    assert isinstance(crowd._model, Committee)
    return crowd._model


def reading_of(crowd: cs.Estimator) -> Reading:
    """Teacher and students."""
    return committee_of(crowd).reading
