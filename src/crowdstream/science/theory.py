"""The mathematics of the paper as pure functions: what its theorems promise a crowd, and what
the best vote can reach. Knows nothing of labels, streams or estimators.

The model: n labellers; labeller i answers a task with probability α (``alpha``) and is then wrong
with probability p_i (``p``), independently. Its reliability is ``θ_i = 1 − 2 p_i``; the crowd's
*signal* is ``Σ θ_i = n (1 − 2q)``, with q the mean of p.

Where the paper slips, the functions follow what its proofs give:

- The transformation that changes nothing one can see is ``p ↦ 1 − p`` (printed ``1 − 2p``).
- Assumption 1, q < ½ − 1/n, is more than is needed. All proofs hold as soon as no labeller holds
  half of the signal, ``Σ θ > 2 max θ``, which it implies; see `gamma`.
- Theorem 1 asks ε ≤ 1/20. Its proof gives ε ≤ 1/(20 √γ), and a larger ε is no likelier to be
  exceeded; see `theorem_1`.
- Propositions 4 and 5 are not true as printed (4 loses a factor 2; in 5, p² + (1 − p)² is at least
  ½ and not at most). Lemma 2, which rests on them, is; see `lemma_2`.
- In Theorem 2, λ needs a factor 1/n and must not count beyond 2, and task t is decided with what
  t − 1 tasks have taught; see `theorem_2`.
- Theorem 3 forgets that its average starts at 0; see `drift_bias`.
- In Corollary 3 the powers of log n are 1/3 (printed 3); see `best_beta`.
- Hoeffding's bound on a weighted vote needs ``Σ w_i θ_i > 0``; see `weighted_error_bound`.

A bound on a probability is never above 1, a radius around an error rate neither: where the paper
promises nothing, that is what it says.

References
----------
T. Bonald and R. Combes, A Streaming Algorithm for Crowdsourced Data Classification, 2016.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdstream.errors import InputError
from crowdstream.validation import check_number

Floats: TypeAlias = NDArray[np.float64]

ATOMS = 2**20
"""The most values the vote of half a crowd may take for an exact answer: that is 24 labellers of
different weights, 40 if all of them always answer, any number if they share a few weights."""

TIE = 1e-14
"""A vote below this part of ``Σ |w|`` is a tie: a sum of 40 logarithms is no more exact. Should it
not be one, tossing a coin raises the error rate of the best vote by less than that."""

SAMPLES = 100_000
"""Tasks drawn where an exact answer is out of reach: a standard error of 0.0016 at the worst."""

CELLS = 2_000_000
"""Tasks times labellers drawn at a time."""


class Bounds(NamedTuple):
    """A number between two: the same two if it is known."""

    low: float
    high: float


class ErrorRate(NamedTuple):
    """The probability of a wrong decision; exact if its standard error is 0."""

    value: float
    standard_error: float


class RegretBound(NamedTuple):
    """At most so much more likely to err on task t than the best vote; so many more errors by t."""

    simple: float
    cumulative: float


class Region(NamedTuple):
    """Between which error rates each labeller's lies."""

    low: Floats
    high: Floats


# Agreement rates and their inversion ---------------------------------------------------------


def agreement_rates(p: ArrayLike) -> Floats:
    """How often each labeller agrees with another who answers the same task (equation 2).

    ``a_i = 1/(n−1) Σ_{j≠i} (p_i p_j + (1−p_i)(1−p_j)) = ½ + θ_i (Σθ − θ_i) / (2(n−1))``

    >>> agreement_rates([0.0, 0.0, 0.5]).tolist()
    [0.75, 0.75, 0.5]
    """
    reliability = 1 - 2 * _error_rates(p, least=2)
    others = (reliability.sum() - reliability) / (reliability.size - 1)
    return np.asarray(0.5 + reliability * others / 2)


def v_0(agreements: ArrayLike) -> float:
    """Where the fixed-point equation begins to make sense (section 3).

    ``v_0(a) = max(4(n−1)/n² · max_i (2a_i − 1), 0)``

    >>> v_0([0.75, 0.75, 0.5])
    0.4444444444444444
    """
    return _v_0(_offsets(_agreements(agreements)))


def v(agreements: ArrayLike) -> float | None:
    """The solution of ``v = f(a, v)``, by bisection; None if there is none (Propositions 2 and 3).

    ``f(a, v) = (Σ √δ_i / (n−2))²`` with ``δ_i = v − 4(n−1)/n² · (2a_i − 1)``. For a crowd's own
    agreement rates it is ``(1 − 2q)²``, q being the mean error rate.

    >>> v(agreement_rates([0.1, 0.2, 0.3, 0.2]))
    0.36
    """
    rates = _agreements(agreements)
    offsets = _offsets(rates)
    low = _v_0(offsets)
    if _excess(offsets, low) > 0:
        return None
    # Every δ_i is at least v − v_0, so f(a, v) ≥ n²/(n−2)² (v − v_0), which is v at the upper end.
    high = max(2 * float(rates.max()) - 1, low)
    while low < (middle := (low + high) / 2) < high:
        if _excess(offsets, middle) > 0:
            high = middle
        else:
            low = middle
    return middle


def error_rates_from_agreements(agreements: ArrayLike) -> Floats | None:
    """The error rates that agreement rates tell, the paper's φ; None if none do (Proposition 3).

    ``p_i = ½ + n/4 (√δ_i − √v)``. Estimated agreement rates may lead out of [0, 1]; nothing is
    clipped here.

    >>> error_rates_from_agreements(agreement_rates([0.1, 0.2, 0.3, 0.2])).round(12).tolist()
    [0.1, 0.2, 0.3, 0.2]
    >>> error_rates_from_agreements([1.0, 0.75, 0.75]) is None
    True
    """
    rates = _agreements(agreements)
    fixed = v(rates)
    if fixed is None:
        return None
    return _g(rates, fixed)


def _g(agreements: Floats, v: float) -> Floats:
    """The paper's g: error rates from agreement rates and v."""
    return 0.5 + agreements.size / 4 * (np.sqrt(v - _offsets(agreements)) - math.sqrt(v))


def _offsets(agreements: Floats) -> Floats:
    """``v − δ_i``."""
    n = agreements.size
    return 4 * (n - 1) / n**2 * (2 * agreements - 1)


def _v_0(offsets: Floats) -> float:
    return max(float(offsets.max()), 0.0)


def _excess(offsets: Floats, v: float) -> float:
    """Of the sign of ``f(a, v) − v``, which grows with v."""
    return float(np.sqrt(v - offsets).sum()) - (offsets.size - 2) * math.sqrt(v)


# What makes a crowd easy -----------------------------------------------------------------------


def assumption_1(p: ArrayLike) -> bool:
    """Whether the mean error rate is below ``½ − 1/n``: the paper's Assumption 1.

    >>> assumption_1([0.1, 0.1, 0.1, 0.5]), assumption_1([0.0, 0.5, 0.5, 0.5])
    (True, False)
    """
    rates = _error_rates(p, least=3)
    return bool(rates.mean() < 0.5 - 1 / rates.size)


def gamma(p: ArrayLike) -> float:
    """How far the crowd is from not being identifiable: 1 at best, 0 if it is not.

    ``γ = v(a) − v_0(a)``, which is ``((Σθ − 2 max θ) / n)²``. It is above 0 as long as nobody holds
    half of the signal, ``Σθ > 2 max θ``; under Assumption 1, ``Σθ > 2``, it always is.

    >>> gamma([0.0, 0.0, 0.0, 0.0]), gamma([0.0, 0.5, 0.5, 0.5])
    (0.25, 0.0)
    """
    reliability = 1 - 2 * _error_rates(p, least=3)
    left = float(reliability.sum() - 2 * reliability.max())
    return (max(left, 0.0) / reliability.size) ** 2


def eta(p: ArrayLike) -> float:
    """The paper's ``η = min p_i (1 − p_i)``: 0 if somebody is always right or always wrong.

    >>> eta([0.2, 0.5])
    0.16000000000000003
    """
    rates = _error_rates(p)
    return float((rates * (1 - rates)).min())


def lambda_(weights: ArrayLike) -> Bounds:
    """The closest vote that is not a tie: the least nonzero ``|Σ w_i x_i| / n``, x_i in {−1, 0, 1}.

    Exact for up to 24 different weights, fewer if shared (`ATOMS`): low and high are then the same.
    Beyond, nothing but 0 is known to be below it, and ``high`` is the closest vote among the
    labellers of least weight. Theorem 2 needs the low side. Votes below `TIE` count as ties;
    infinite weights are never part of a close vote. No vote but ties: infinity. (The paper prints
    it without the 1/n its proof needs.)

    >>> lambda_([1.0, 1.0, 1.5, 4.0])
    Bounds(low=0.125, high=0.125)
    """
    given = _weights(weights)
    sizes = np.abs(given[np.isfinite(given)])
    parts = [
        sizes[group].mean() * np.arange(-group.size, group.size + 1) for group in _alike(sizes)
    ]
    # A part has three values at least, so no more parts than this can be within the limit.
    fitting = parts[: round(2 * math.log(ATOMS, 3)) + 1]
    while not _within_reach(fitting):
        fitting = fitting[:-1]
    left, right = (_outer(np.add, half, 0.0) for half in _halves(fitting))
    right = np.append(np.sort(right), math.inf)
    # The first sum above a tie; those below are the same ones with the sign changed.
    tie = TIE * float(sizes.sum())
    closest = right[np.searchsorted(right, tie - left, side="right")] + left
    least = float(closest.min()) / given.size
    return Bounds(least if len(fitting) == len(parts) else 0.0, least)


# Guarantees on the estimated error rates -------------------------------------------------------


def lemma_1(n: int, alpha: float, tasks: float, epsilon: float) -> float:
    """How likely some agreement rate is off by ``epsilon`` or more, at most (Lemma 1).

    ``P(‖â(t) − a‖∞ ≥ ε) ≤ 2n exp(−2 ε² α⁴ t)``. With forgetting, around its mean, ``t = 1/β``
    (Proposition 8).

    >>> round(lemma_1(10, 1.0, 1000, 0.06), 4)
    0.0149
    """
    check_number("n", n, 3, math.inf, whole=True)
    _check_alpha(alpha)
    check_number("tasks", tasks, 0, math.inf)
    check_number("epsilon", epsilon, 0, math.inf)
    if epsilon == 0:
        return 1.0
    return min(1.0, 2 * n * math.exp(-2 * epsilon**2 * alpha**4 * tasks))


def lemma_2(p: ArrayLike, epsilon: float) -> float:
    """How far off the error rates can be if no agreement rate is off by more than ``epsilon``.

    ``‖p̂ − p‖∞ ≤ 4 γ^(−3/2) ε`` if ``ε ≤ γ/80`` (Lemma 2). Else nothing is promised: 1, which error
    rates clipped to [0, 1] never exceed.

    That â has a fixed point cannot rest on Propositions 4 and 5, but follows from Proposition 2.
    No δ_i and no v_0 moves by more than ``κ = 8(n−1)ε/n²``, so ``f(â, v_0 + κ)`` is at most
    ``f(a, v_0 + 2κ)``; and as the slope of f(a, ·) is at least ``n²/(n−2)²``, that is at most
    ``v_0 + κ``, which is at least v_0(â), whenever ``ε ≤ γ/4``.

    >>> round(lemma_2([0.0] * 20, 0.001), 5)
    0.00549
    """
    check_number("epsilon", epsilon, 0, math.inf)
    return _radius(gamma(p), epsilon)


def theorem_1(p: ArrayLike, alpha: float, tasks: float, epsilon: float) -> float:
    """How likely some error rate is off by ``epsilon`` or more after so many tasks, at most.

    ``P(‖p̂(t) − p‖∞ ≥ ε) ≤ 2n exp(−γ³ α⁴ t ε² / 8)`` (Theorem 1). The paper asks ε ≤ 1/20; its proof
    gives ε ≤ 1/(20 √γ), and the bound there is also one for all that is larger.

    >>> round(theorem_1([0.05] * 20, 1.0, 50_000, 0.05), 4)
    0.4848
    """
    rates = _error_rates(p, least=3)
    check_number("epsilon", epsilon, 0, math.inf, open_low=True)
    return lemma_1(rates.size, alpha, tasks, _leeway(gamma(rates), epsilon))


def tasks_needed(p: ArrayLike, alpha: float, epsilon: float, delta: float) -> float:
    """How many tasks make all error rates good to ``epsilon`` with probability ``1 − delta``.

    Theorem 1 solved for t: ``8 log(2n/δ) / (γ³ α⁴ ε²)``, rounded up; infinity if γ is 0.

    >>> tasks_needed([0.05] * 20, 1.0, 0.05, 0.1)
    67885.0
    """
    rates = _error_rates(p, least=3)
    _check_alpha(alpha)
    check_number("epsilon", epsilon, 0, math.inf, open_low=True)
    check_number("delta", delta, 0, 1, open_low=True)
    leeway = _leeway(gamma(rates), epsilon)
    needed = _divide(math.log(2 * rates.size / delta), 2 * (leeway * alpha**2) ** 2)
    return needed if math.isinf(needed) else float(math.ceil(needed))


def accuracy(p: ArrayLike, alpha: float, tasks: float, delta: float) -> float:
    """How far off the error rates are after so many tasks, at most, with probability ``1 − delta``.

    Theorem 1 solved for ε: ``√(8 log(2n/δ) / (γ³ α⁴ t))``, or 1 where that is beyond 1/(20 √γ).
    It takes the true p. For a region around an estimate, without it, see `confidence_region`.

    >>> round(accuracy([0.05] * 20, 1.0, 100_000, 0.1), 4)
    0.0412
    """
    rates = _error_rates(p, least=3)
    return _radius(gamma(rates), _deviation(rates.size, alpha, tasks, delta))


def confidence_region(agreements: ArrayLike, alpha: float, tasks: float, delta: float) -> Region:
    """Where the error rates are with probability ``1 − delta``, from estimated agreement rates.

    Theorem 1 does not give it directly, because γ is not known. But Lemma 2 can be read from the
    estimate instead of the truth: its proof asks of the centre only that a solution exists and that
    no agreement rate is above 1. So with ``ε = √(log(2n/δ) / (2 α⁴ t))`` and γ the estimate's, the
    region is ``φ(â) ± 4 γ^(−3/2) ε`` if ``ε ≤ γ/80``, else all of [0, 1]. It supposes, as the paper
    does, a crowd with ``Σθ > 2 max θ``.

    >>> low, high = confidence_region(agreement_rates([0.05] * 20), 1.0, 100_000, 0.1)
    >>> low.round(3).tolist()[0], high.round(3).tolist()[0]
    (0.009, 0.091)
    """
    rates = np.minimum(_agreements(agreements), 1.0)  # no further from the truth than before
    deviation = _deviation(rates.size, alpha, tasks, delta)
    fixed = v(rates)
    radius = 1.0 if fixed is None else _radius(fixed - v_0(rates), deviation)
    if fixed is None or radius == 1.0:
        return Region(np.zeros(rates.size), np.ones(rates.size))
    centre = _g(rates, fixed)
    return Region(np.clip(centre - radius, 0, 1), np.clip(centre + radius, 0, 1))


def corollary_1(p: ArrayLike, alpha: float, tasks: float) -> float:
    """The order of the estimation error, without its constant (Corollary 1).

    ``γ^(−3/2) α^(−2) √(log n / t)``

    >>> round(corollary_1([0.05] * 20, 1.0, 100_000), 4)
    0.0103
    """
    rates = _error_rates(p, least=3)
    _check_alpha(alpha)
    check_number("tasks", tasks, 1, math.inf)
    return _divide(math.sqrt(math.log(rates.size) / tasks), gamma(rates) ** 1.5 * alpha**2)


def _radius(gamma: float, deviation: float) -> float:
    """Lemma 2: from agreement rates to error rates."""
    if gamma == 0 or deviation > gamma / 80:
        return 1.0
    return float(min(1.0, 4 * deviation / gamma**1.5))


def _leeway(gamma: float, epsilon: float) -> float:
    """Lemma 2 the other way: how far off agreement rates may be for error rates good to epsilon."""
    return float(min(epsilon * gamma**1.5 / 4, gamma / 80))


def _deviation(n: int, alpha: float, tasks: float, delta: float) -> float:
    """Lemma 1 solved for ε."""
    _check_alpha(alpha)
    check_number("tasks", tasks, 1, math.inf)
    check_number("delta", delta, 0, 1, open_low=True)
    return _divide(math.sqrt(math.log(2 * n / delta) / (2 * tasks)), alpha**2)


# Guarantees on the regret ----------------------------------------------------------------------


def theorem_2(p: ArrayLike, alpha: float, tasks: float) -> RegretBound:
    """How much worse than the best vote the decisions are, at most: on task t, and by then.

    ``r(t) ≤ 2n exp(−γ³ α⁴ c² (t−1) / 8)`` and ``R(t) ≤ 16n / (γ³ α⁴ c²)``, for all t, with
    ``c = ¼ min(λη, 1/5)`` (Theorem 2). The paper prints t, but task t is decided with the weights
    of the t − 1 before; the bound on R holds all the same. In c, λ counts up to 2, where the
    proof's ``min(|W|/2, 1)`` is 1. With λ out of reach of `lambda_`, or η = 0, nothing is promised:
    1, and as many errors as tasks.

    >>> round(theorem_2([0.1] * 5, 1.0, math.inf).cumulative)
    66906550
    """
    rates = _error_rates(p, least=3)
    _check_alpha(alpha)
    check_number("tasks", tasks, 1, math.inf)
    closest = min(lambda_(optimal_weights(rates)).low, 2.0)
    leeway = _leeway(gamma(rates), min(closest * eta(rates), 1 / 5) / 4)
    simple = lemma_1(rates.size, alpha, tasks - 1, leeway)
    return RegretBound(simple, min(tasks, _divide(rates.size, (leeway * alpha**2) ** 2)))


# Guarantees under drift ------------------------------------------------------------------------


def drift_bias(sigma: float, beta: float, tasks: float = math.inf) -> float:
    """How far forgetful agreement rates are off on average, at most, if p moves by sigma a task.

    ``‖E â^β(t) − a(t)‖∞ ≤ 2σ/β + (1−β)^t``. The last term is not in the paper's Proposition 7: its
    average starts at 0 and takes some 1/β tasks to forget it. Long after (the default) it is gone.

    >>> round(drift_bias(1e-6, 0.01), 6), round(drift_bias(1e-6, 0.01, tasks=100), 4)
    (0.0002, 0.3662)
    """
    check_number("sigma", sigma, 0, 1)
    check_number("beta", beta, 0, 1, open_low=True)
    check_number("tasks", tasks, 0, math.inf)
    return float(2 * sigma / beta + (1 - beta) ** tasks)


def theorem_3_holds(p: ArrayLike, sigma: float, beta: float, tasks: float = math.inf) -> bool:
    """Whether Theorem 3 promises anything: the bias is below ``γ/80``, ``2σ/β`` in the long run.

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
    """How likely some error rate is off by ``epsilon`` or more while they drift, at most.

    ``P(‖p̂(t) − p(t)‖∞ ≥ 4 γ^(−3/2) (e + b)) ≤ 2n exp(−2 e² α⁴ / β)`` for ``e + b ≤ γ/80``, b being
    the `drift_bias` (Theorem 3; p and γ are those of task t). Here ``epsilon`` is the whole of
    ``4 γ^(−3/2) (e + b)``, as in Theorem 1.

    >>> round(theorem_3([0.05] * 20, 1.0, sigma=1e-8, beta=1e-5, epsilon=0.05), 4)
    0.5365
    """
    rates = _error_rates(p, least=3)
    check_number("epsilon", epsilon, 0, math.inf, open_low=True)
    leeway = _leeway(gamma(rates), epsilon) - drift_bias(sigma, beta, tasks)
    return lemma_1(rates.size, alpha, 1 / beta, max(leeway, 0.0))


def drift_accuracy(
    p: ArrayLike,
    alpha: float,
    sigma: float,
    beta: float,
    delta: float,
    tasks: float = math.inf,
) -> float:
    """How far off the error rates are while they drift, at most, with probability ``1 − delta``.

    Theorem 3 solved for its accuracy: ``4 γ^(−3/2) (√(β log(2n/δ) / 2) / α² + b)``, or 1 if the
    bracket is above γ/80.

    >>> round(drift_accuracy([0.05] * 20, 1.0, sigma=1e-8, beta=1e-5, delta=0.1), 4)
    0.0562
    """
    rates = _error_rates(p, least=3)
    bias = drift_bias(sigma, beta, tasks)
    return _radius(gamma(rates), _deviation(rates.size, alpha, 1 / beta, delta) + bias)


def corollary_2(p: ArrayLike, alpha: float, sigma: float, beta: float) -> float:
    """The order of the estimation error under drift, without its constant (Corollary 2).

    ``γ^(−3/2) (√(β log n) / α² + σ/β)``

    >>> round(corollary_2([0.05] * 20, 1.0, sigma=1e-8, beta=1e-5), 4)
    0.0122
    """
    rates = _error_rates(p, least=3)
    _check_alpha(alpha)
    check_number("sigma", sigma, 0, 1)
    check_number("beta", beta, 0, 1, open_low=True)
    spread = _divide(math.sqrt(beta * math.log(rates.size)), alpha**2)
    return _divide(spread + sigma / beta, gamma(rates) ** 1.5)


def best_beta(alpha: float, sigma: float, n: int) -> float:
    """How fast to forget: fast enough to follow the drift, no faster (Corollary 3).

    ``β = α^(4/3) σ^(2/3) / (log n)^(1/3)``, which makes the two terms of Corollary 2 equal, but no
    more than 1. (The paper prints ``(log n)³``: they are then out of balance.)

    >>> round(best_beta(1.0, 1e-4, 10), 5)
    0.00163
    """
    _check_alpha(alpha)
    check_number("sigma", sigma, 0, 1)
    check_number("n", n, 3, math.inf, whole=True)
    return min(1.0, float(alpha ** (4 / 3) * sigma ** (2 / 3) / math.log(n) ** (1 / 3)))


def corollary_3(p: ArrayLike, alpha: float, sigma: float) -> float:
    """The order of the estimation error under drift with the best β (Corollary 3).

    ``γ^(−3/2) α^(−4/3) σ^(1/3) (log n)^(1/3)`` (printed ``(log n)³``).

    >>> round(corollary_3([0.05] * 20, 1.0, sigma=1e-8), 4)
    0.0058
    """
    rates = _error_rates(p, least=3)
    _check_alpha(alpha)
    check_number("sigma", sigma, 0, 1)
    order = (sigma * math.log(rates.size)) ** (1 / 3)
    return _divide(order, gamma(rates) ** 1.5 * alpha ** (4 / 3))


# Votes -----------------------------------------------------------------------------------------


def optimal_weights(p: ArrayLike) -> Floats:
    """The weights of the best vote, ``w_i = log(1/p_i − 1)``; ±∞ at p = 0 and 1 (Proposition 1).

    >>> optimal_weights([0.0, 0.25, 0.5, 1.0]).round(4).tolist()
    [inf, 1.0986, 0.0, -inf]
    """
    rates = _error_rates(p)
    with np.errstate(divide="ignore"):
        return np.log1p(-rates) - np.log(rates)


def majority_error_bound(p: ArrayLike, alpha: float = 1.0) -> float:
    """A majority vote is wrong with probability ``exp(−n/2 (α(1−2q))²)`` at most (section 3).

    >>> round(majority_error_bound([0.0] * 10 + [0.5] * 10), 2)
    0.08
    """
    rates = _error_rates(p)
    return weighted_error_bound(rates, np.ones(rates.size), alpha)


def weighted_error_bound(p: ArrayLike, weights: ArrayLike, alpha: float = 1.0) -> float:
    """Hoeffding's bound on the probability that a weighted vote is wrong (section 3).

    ``exp(−½ (α Σ w_i(1−2p_i))² / Σ w_i²)`` if ``Σ w_i(1−2p_i)`` is above 0, else 1.
    Infinite weights are the limit of equal ones that grow.

    >>> p = [0.0] * 10 + [0.5] * 10
    >>> round(weighted_error_bound(p, optimal_weights(p)), 3)
    0.007
    """
    rates = _error_rates(p)
    given = _weights(weights, rates.size)
    _check_alpha(alpha)
    if np.isinf(given).any():
        given = np.where(np.isinf(given), np.sign(given), 0.0)
    mean = alpha * float(given @ (1 - 2 * rates))
    if mean <= 0:
        return 1.0
    return math.exp(-(mean**2) / (2 * float(given @ given)))


def majority_error(p: ArrayLike, alpha: float = 1.0) -> float:
    """The exact probability that a majority vote is wrong, a tie counting ½. O(n²).

    >>> round(majority_error([0.1, 0.1, 0.1]), 12)
    0.028
    """
    rates = _error_rates(p)
    _check_alpha(alpha)
    votes = _votes(rates, alpha)
    return float(votes[: rates.size].sum() + votes[rates.size] / 2)


def vote_error(
    p: ArrayLike,
    weights: ArrayLike,
    alpha: float = 1.0,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
) -> ErrorRate:
    """The probability that a vote with these weights is wrong in a crowd with error rates p.

    Exact up to `ATOMS`, else the mean over so many tasks drawn with this seed. A tie counts ½.
    Infinite weights outvote all others and count as equal among themselves.

    >>> vote_error([0.1, 0.3, 0.3], [1.0, 0.0, 0.0])
    ErrorRate(value=0.1, standard_error=0.0)
    """
    rates = _error_rates(p)
    given = _weights(weights, rates.size)
    _check_alpha(alpha)
    check_number("samples", samples, 2, 10**12, whole=True)
    rates = np.where(given < 0, 1 - rates, rates)  # who is read backwards errs when it is right
    given = np.abs(given)
    first = np.isinf(given)
    leaders = _votes(rates[first], alpha)
    followers = _exact_error(rates[~first], given[~first], alpha)
    if followers is None:
        return _sampled_error(rates, given, alpha, samples, seed)
    middle = leaders.size // 2
    return ErrorRate(float(leaders[:middle].sum() + leaders[middle] * followers), 0.0)


def optimal_error(
    p: ArrayLike, alpha: float = 1.0, *, samples: int = SAMPLES, seed: int = 0
) -> ErrorRate:
    """The least probability of error there is, that of the vote which knows p (Proposition 1).

    Exact or sampled as `vote_error` is.

    >>> optimal_error([0.1, 0.3, 0.3]).value < majority_error([0.1, 0.3, 0.3])
    True
    """
    return vote_error(p, optimal_weights(p), alpha, samples=samples, seed=seed)


def _votes(p: Floats, alpha: float) -> Floats:
    """How likely the sum of right minus wrong answers is −m, …, m."""
    chances = np.ones(1)
    for rate in p:
        chances = np.convolve(chances, [alpha * rate, 1 - alpha, alpha * (1 - rate)])
    return chances


def _exact_error(p: Floats, weights: Floats, alpha: float) -> float | None:
    """By meeting in the middle; None if the vote takes too many values. Weights are finite, ≥ 0."""
    values, chances = [], []
    for group in _alike(weights):
        votes = _votes(p[group], alpha)
        possible = np.flatnonzero(votes)
        values.append(weights[group].mean() * (possible - group.size))
        chances.append(votes[possible])
    if not _within_reach(values):
        return None
    left, right = (_outer(np.add, half, 0.0) for half in _halves(values))
    left_chances, right_chances = (_outer(np.multiply, half, 1.0) for half in _halves(chances))
    order = np.argsort(right)
    right = right[order]
    cumulative = np.concatenate([[0.0], np.cumsum(right_chances[order])])
    tie = TIE * float(weights.sum())
    below = cumulative[np.searchsorted(right, -left - tie, side="left")]
    up_to = cumulative[np.searchsorted(right, -left + tie, side="right")]
    return float(left_chances @ (below + up_to)) / 2


def _sampled_error(p: Floats, weights: Floats, alpha: float, samples: int, seed: int) -> ErrorRate:
    """The mean, over drawn answers, of the chance that the decision on them is wrong.

    That chance follows from the log-odds of the truth given the answers, so the mean varies less
    than a count of errors would.
    """
    rng = np.random.default_rng(seed)
    best = optimal_weights(p)
    total, squares, left = 0.0, 0.0, samples
    while left:
        drawn = rng.random((min(left, max(1, CELLS // p.size)), p.size))
        answers = np.where(drawn < alpha * p, -1.0, np.where(drawn < alpha, 1.0, 0.0))
        decision, log_odds = _score(answers, weights), _score(answers, best)
        agreeing = np.where(decision < 0, -log_odds, log_odds)
        wrong = np.where(decision == 0, 0.5, np.exp(-np.logaddexp(0.0, agreeing)))
        total += float(wrong.sum())
        squares += float(wrong @ wrong)
        left -= len(drawn)
    mean = total / samples
    variance = max(squares / samples - mean**2, 0.0)
    return ErrorRate(mean, math.sqrt(variance / (samples - 1)))


def _score(answers: Floats, weights: Floats) -> Floats:
    """The weighted sum of each row: 0 if a tie, ±∞ if infinite weights decide."""
    first = np.isinf(weights)
    finite = weights[~first]
    score = answers[:, ~first] @ finite
    score[np.abs(score) <= TIE * np.abs(finite).sum()] = 0.0
    lead = answers[:, first] @ np.sign(weights[first])
    return np.where(lead == 0, score, np.copysign(math.inf, lead))


# Meeting in the middle -------------------------------------------------------------------------


def _alike(weights: Floats) -> list[NDArray[np.intp]]:
    """Labellers of the same weight together, lightest first, without those who have none."""
    tie = TIE * weights.sum()
    order = np.argsort(weights)
    order = order[weights[order] > tie]
    groups = np.split(order, np.flatnonzero(np.diff(weights[order]) > tie) + 1)
    return [group for group in groups if group.size]


def _halves(parts: list[Floats]) -> tuple[list[Floats], list[Floats]]:
    """The parts in two lists with about as many combinations each. Only their sizes matter."""
    halves: tuple[list[Floats], list[Floats]] = ([], [])
    logs = [0.0, 0.0]
    for part in sorted(parts, key=len, reverse=True):
        smaller = 0 if logs[0] <= logs[1] else 1
        halves[smaller].append(part)
        logs[smaller] += math.log(part.size)
    return halves


def _within_reach(parts: list[Floats]) -> bool:
    """Whether neither half has more than `ATOMS` combinations."""
    limit = math.log(ATOMS) + 1e-9
    return all(sum(math.log(part.size) for part in half) <= limit for half in _halves(parts))


def _outer(operation: np.ufunc, parts: list[Floats], start: float) -> Floats:
    """All combinations of one value from each part."""
    result = np.full(1, start)
    for part in parts:
        result = operation.outer(result, part).ravel()
    return result


# Checks ----------------------------------------------------------------------------------------


def _vector(name: str, values: ArrayLike, least: int) -> Floats:
    try:
        given = np.asarray(values, float)
    except (TypeError, ValueError):
        raise InputError(name, "a list of numbers", repr(values)) from None
    if given.ndim != 1 or given.size < least:
        found = f"an array of shape {given.shape}"
        raise InputError(name, f"a list of at least {least} numbers", found)
    return given


def _error_rates(p: ArrayLike, least: int = 1) -> Floats:
    given = _vector("p", p, least)
    if not ((given >= 0) & (given <= 1)).all():
        raise InputError("p", "error rates from 0 to 1", str(given.tolist()))
    return given


def _agreements(agreements: ArrayLike) -> Floats:
    """Estimates of agreement rates may be above 1 where not everybody answers."""
    given = _vector("agreements", agreements, 3)
    if not ((given >= 0) & np.isfinite(given)).all():
        raise InputError("agreements", "rates from 0", str(given.tolist()))
    return given


def _weights(weights: ArrayLike, n: int | None = None) -> Floats:
    given = _vector("weights", weights, 1)
    if n not in (None, given.size):
        raise InputError("weights", f"as many as error rates, {n}", str(given.size))
    if np.isnan(given).any():
        raise InputError("weights", "numbers", str(given.tolist()))
    return given


def _check_alpha(alpha: float) -> None:
    check_number("alpha", alpha, 0, 1, open_low=True)


def _divide(above: float, below: float) -> float:
    """Infinity where there is nothing to divide by."""
    return above / below if below > 0 else math.inf
