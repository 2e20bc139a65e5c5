"""Guarantees on the regret: Theorem 2."""

from __future__ import annotations

import math
from typing import NamedTuple

from numpy.typing import ArrayLike

from crowdstream.extension import check_number
from crowdstream_lab.theory.checks import check_alpha, check_classes, check_error_rates, divide
from crowdstream_lab.theory.crowd import as_two_classes, eta, gamma, lambda_
from crowdstream_lab.theory.estimation import leeway_of, lemma_1
from crowdstream_lab.theory.votes import optimal_weights


class RegretBound(NamedTuple):
    """At most so much more likely to err on task t than the best vote; so many more errors by t.

    Parameters
    ----------
    simple
        How much more likely an error on task t is, from 0 to 1.
    cumulative
        How many more errors are expected on the tasks up to t, from 0 to t.

    Examples
    --------
    >>> RegretBound(simple=1.0, cumulative=50.0).cumulative
    50.0
    """

    simple: float
    cumulative: float


def theorem_2(p: ArrayLike, alpha: float, tasks: float, *, classes: int = 2) -> RegretBound:
    """Bound how much worse than the best vote decisions are: on task t, and by then.

    ``r(t) ≤ 2n exp(−γ³ α⁴ c² (t−1) / 8)`` and ``R(t) ≤ 16n / (γ³ α⁴ c²)``, for all t, with
    ``c = ¼ min(λη, 1/5)`` (Theorem 2). The paper prints t, but task t is decided with the weights
    of the t − 1 before; the bound on R holds all the same. In c, λ counts up to 2, where the
    proof's ``min(|W|/2, 1)`` is 1. With λ out of reach of `lambda_`, or η = 0, nothing is promised:
    1, and as many errors as tasks. Of the algorithm as printed only:
    ``AgreementBased(answer_rate=α, shrinkage=0, clip=0)``. With K classes that are confused evenly
    it holds with ``Kc/(2(K−1))`` for c, γ of `as_two_classes` and λ of ``optimal_weights(p, K)``
    (docs/maths.md).

    Parameters
    ----------
    p
        The error rates of at least three workers, each from 0 to 1.
    alpha
        The probability that a worker answers a task, above 0 and at most 1.
    tasks
        The number t of the task, at least 1.
    classes
        The number K of classes, at least 2.

    Examples
    --------
    >>> round(theorem_2([0.1] * 5, 1.0, math.inf).cumulative)
    66906550
    >>> round(theorem_2([0.1] * 5, 1.0, math.inf, classes=3).cumulative)
    47776460
    """
    rates = check_error_rates(p, least=3)
    check_alpha(alpha)
    check_number("tasks", tasks, 1, math.inf)
    check_classes(classes)
    closest = min(lambda_(optimal_weights(rates, classes)).low, 2.0)
    off = min(closest * eta(rates), 1 / 5) / 4 * classes / (2 * (classes - 1))
    leeway = leeway_of(gamma(as_two_classes(rates, classes)), off)
    simple = lemma_1(rates.size, alpha, tasks - 1, leeway)
    return RegretBound(simple, min(tasks, divide(rates.size, (leeway * alpha**2) ** 2)))
