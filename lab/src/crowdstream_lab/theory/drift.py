"""Guarantees for workers who change: Theorem 3, Corollaries 2 and 3."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from crowdstream.extension import check_number
from crowdstream_lab.theory.checks import check_alpha, check_error_rates, divide
from crowdstream_lab.theory.crowd import gamma
from crowdstream_lab.theory.estimation import deviation_of, leeway_of, lemma_1, radius_of


def drift_bias(sigma: float, beta: float, tasks: float = math.inf) -> float:
    """Bound the mean error of forgetful agreement rates if p moves by sigma a task.

    ``‖E â^β(t) − a(t)‖∞ ≤ 2σ/β + (1−β)^t``. The last term is not in the paper's Proposition 7: its
    average starts at 0 and takes some 1/β tasks to forget it. Long after (the default) it is gone.

    Parameters
    ----------
    sigma
        How far an error rate moves from one task to the next at most, from 0 to 1.
    beta
        How fast to forget: the weight of the newest task, above 0 and at most 1.
    tasks
        The number of tasks seen, from 0; by default infinitely many.

    Examples
    --------
    >>> round(drift_bias(1e-6, 0.01), 6), round(drift_bias(1e-6, 0.01, tasks=100), 4)
    (0.0002, 0.3662)
    """
    check_number("sigma", sigma, 0, 1)
    check_number("beta", beta, 0, 1, open_low=True)
    check_number("tasks", tasks, 0, math.inf)
    return float(2 * sigma / beta + (1 - beta) ** tasks)


def theorem_3_holds(p: ArrayLike, sigma: float, beta: float, tasks: float = math.inf) -> bool:
    """Return True if Theorem 3 promises anything: the bias is below ``γ/80``.

    Parameters
    ----------
    sigma, beta, tasks
        As for `drift_bias`.
    p
        The error rates of at least three workers at task t, each from 0 to 1.

    Examples
    --------
    >>> theorem_3_holds([0.05] * 20, sigma=1e-7, beta=1e-4)
    True
    """
    return drift_bias(sigma, beta, tasks) < gamma(p) / 80


def theorem_3(
    p: ArrayLike,
    alpha: float,
    sigma: float,
    beta: float,
    epsilon: float,
    tasks: float = math.inf,
) -> float:
    """Bound the chance that some error rate is off by ``epsilon`` or more while they drift.

    ``P(‖p̂(t) − p(t)‖∞ ≥ 4 γ^(−3/2) (e + b)) ≤ 2n exp(−2 e² α⁴ / β)`` for ``e + b ≤ γ/80``, b being
    the `drift_bias` (Theorem 3; p and γ are those of task t). Here ``epsilon`` is the whole of
    ``4 γ^(−3/2) (e + b)``, as in Theorem 1. Of the algorithm as printed only:
    ``AgreementBased(answer_rate=α, memory=1/β, shrinkage=0, clip=0)``.

    Parameters
    ----------
    p, sigma, beta, tasks
        As for `theorem_3_holds`.
    alpha
        The probability that a worker answers a task, above 0 and at most 1.
    epsilon
        A distance between true and estimated error rates, above 0.

    Examples
    --------
    >>> round(theorem_3([0.05] * 20, 1.0, sigma=1e-8, beta=1e-5, epsilon=0.05), 4)
    0.5365
    """
    rates = check_error_rates(p, least=3)
    check_number("epsilon", epsilon, 0, math.inf, open_low=True)
    leeway = leeway_of(gamma(rates), epsilon) - drift_bias(sigma, beta, tasks)
    return lemma_1(rates.size, alpha, 1 / beta, max(leeway, 0.0))


def drift_accuracy(
    p: ArrayLike,
    alpha: float,
    sigma: float,
    beta: float,
    delta: float,
    tasks: float = math.inf,
) -> float:
    """Bound how far off error rates are while they drift, with probability ``1 − delta``.

    Theorem 3 solved for its accuracy: ``4 γ^(−3/2) (√(β log(2n/δ) / 2) / α² + b)``, or 1 if the
    bracket is above γ/80.

    Parameters
    ----------
    p, alpha, sigma, beta, tasks
        As for `theorem_3`.
    delta
        The probability that the promise is broken, above 0 and at most 1.

    Examples
    --------
    >>> round(drift_accuracy([0.05] * 20, 1.0, sigma=1e-8, beta=1e-5, delta=0.1), 4)
    0.0562
    """
    rates = check_error_rates(p, least=3)
    bias = drift_bias(sigma, beta, tasks)
    return radius_of(gamma(rates), deviation_of(rates.size, alpha, 1 / beta, delta) + bias)


def corollary_2(p: ArrayLike, alpha: float, sigma: float, beta: float) -> float:
    """The order of the estimation error under drift, without its constant (Corollary 2).

    ``γ^(−3/2) (√(β log n) / α² + σ/β)``

    Parameters
    ----------
    p, alpha, sigma, beta
        As for `theorem_3`.

    Examples
    --------
    >>> round(corollary_2([0.05] * 20, 1.0, sigma=1e-8, beta=1e-5), 4)
    0.0122
    """
    rates = check_error_rates(p, least=3)
    check_alpha(alpha)
    check_number("sigma", sigma, 0, 1)
    check_number("beta", beta, 0, 1, open_low=True)
    spread = divide(math.sqrt(beta * math.log(rates.size)), alpha**2)
    return divide(spread + sigma / beta, gamma(rates) ** 1.5)


def best_beta(alpha: float, sigma: float, n: int) -> float:
    """Return the speed of forgetting that follows the drift, and no faster (Corollary 3).

    ``β = α^(4/3) σ^(2/3) / (log n)^(1/3)``, which makes the two terms of Corollary 2 equal, but no
    more than 1. (The paper prints ``(log n)³``: they are then out of balance.)

    Parameters
    ----------
    alpha, sigma
        As for `theorem_3`.
    n
        The number of workers, at least 3.

    Examples
    --------
    >>> round(best_beta(1.0, 1e-4, 10), 5)
    0.00163
    """
    check_alpha(alpha)
    check_number("sigma", sigma, 0, 1)
    check_number("n", n, 3, math.inf, whole=True)
    return min(1.0, float(alpha ** (4 / 3) * sigma ** (2 / 3) / math.log(n) ** (1 / 3)))


def corollary_3(p: ArrayLike, alpha: float, sigma: float) -> float:
    """The order of the estimation error under drift with the best β (Corollary 3).

    ``γ^(−3/2) α^(−4/3) σ^(1/3) (log n)^(1/3)`` (printed ``(log n)³``).

    Parameters
    ----------
    p, alpha, sigma
        As for `theorem_3`.

    Examples
    --------
    >>> round(corollary_3([0.05] * 20, 1.0, sigma=1e-8), 4)
    0.0058
    """
    rates = check_error_rates(p, least=3)
    check_alpha(alpha)
    check_number("sigma", sigma, 0, 1)
    order = (sigma * math.log(rates.size)) ** (1 / 3)
    return divide(order, gamma(rates) ** 1.5 * alpha ** (4 / 3))
