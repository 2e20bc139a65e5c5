"""The teacher read from agreement sums, and what its skills say. Knows codes only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdstream.models.scoring_loops import FamilyPowers
from crowdstream.models.teacher_loops import Teacher
from crowdstream.sums.agreement import AgreementSums
from crowdstream.sums.rows import CAP_SKILL

Floats = NDArray[np.float64]


CAP_ALONE = 0.9
"""Skill beyond which a vote counts no more where agreement alone decides between very many classes.
On simulated crowds of 200 to 6,000 classes and three labels per task 0.8 to 0.98 gave the same
errors to 0.1 points, and 0.6 two points more."""


LEAN_ALONE = 0.25
"""What the logarithm of a place's share of the labels counts there. If errors fall on all classes
alike it should be 1, if they fall on classes as often as these are true 0; on simulated crowds of
the first kind, in between and of the second, 120 to 6,000 classes and three labels per task, 0.25
took 0.5 to 1.2, 0.2 to 0.7 and −0.5 to −0.2 points off the errors."""


def new_teacher(sums: AgreementSums, powers: FamilyPowers) -> Teacher:
    """A teacher that has read nothing yet."""
    k = sums.classes
    return Teacher(sums.loops, powers, np.full(k, 1.0 / k), np.zeros(k), np.empty(k))


def renew_teacher(teacher: Teacher, sums: AgreementSums, unit: float) -> None:
    """Let a teacher read the sums, in which the newest task counts ``unit``."""
    teacher.renew(sums.workers, unit, np.empty((max(sums.workers, 1), 3)))


def read_teacher(sums: AgreementSums, unit: float) -> Teacher:
    """A teacher that has read the sums, in which the newest task counts ``unit``."""
    teacher = new_teacher(sums, FamilyPowers(sums.loops, np.empty(0)))
    renew_teacher(teacher, sums, unit)
    return teacher


def skills_of(teacher: Teacher, workers: int) -> Floats:
    """The skills of the first workers."""
    found = np.empty(workers)
    teacher.fill_skills(found)
    return found


def error_rates(skills: Floats, classes: int) -> Floats:
    """Error rates of workers with these skills, kept between 0 and 1."""
    return np.clip((1.0 - skills) * (1.0 - 1.0 / classes), 0.0, 1.0)


def vote_weights(skills: Floats, classes: int, cap: float = CAP_SKILL) -> Floats:
    """log(s (K − 1)/(1 − s)), s = 1/K + (1 − 1/K) ψ, with skills ψ kept in [0, ``cap``]."""
    return np.log(vote_odds(skills, classes, cap))


def vote_odds(skills: Floats, classes: int, cap: float = CAP_SKILL) -> Floats:
    """s (K − 1)/(1 − s), s = 1/K + (1 − 1/K) ψ, with skills ψ kept in [0, ``cap``]."""
    kept = np.clip(skills, 0.0, cap)
    return np.asarray((1 + (classes - 1) * kept) / (1 - kept))


READ = ("unit", "mean", "spread", "strength", "surplus", "met", "all_met", "evidence", "V")
READ_WHOLE = ("met_workers", "groups", "main")
"""What a teacher has read, as it is saved by name; the last are whole numbers."""


def pack_teacher(teacher: Teacher) -> dict[str, NDArray[np.generic]]:
    """Return what a teacher has read, as arrays by name."""
    found = {name: np.array(getattr(teacher, name)) for name in (*READ, *READ_WHOLE)}
    return found | {"shares": np.array(teacher.f)}


def unpack_teacher(teacher: Teacher, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Take over what `pack_teacher` gave."""
    for name in (*READ, *READ_WHOLE):
        setattr(teacher, name, arrays[name].item())
    np.asarray(teacher.f)[:] = arrays["shares"]
