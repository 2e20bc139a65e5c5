"""The product beside the paper's algorithm, on the same labels: where they differ, we are wrong.

Three programs run the algorithm: `crowdstream.reference`, the print line by line; `batch`, which
the experiments use; and `AgreementBased`, which users run. They share no code, so that a slip in
one of them is a difference here, and not a verdict on the paper.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

import crowdstream as cs
from crowdstream import reference
from crowdstream.simulation import Simulated
from crowdstream_lab.experiments import batch
from crowdstream_lab.experiments.common import Claim, Floats, Use

SAME = 1e-8
"""Largest difference of error rates, as `AgreementBased` promises. Measured, it is 1e-13."""

EDGE = 1e-7
"""Margin of existence of a solution: below it the last bit decides, and nothing is compared."""

CLEAR, TIED = 1e-6, 1e-12
"""A lead above the first is a decision, below the second a tie; between them rounding decides.
Weights may differ by the first: near p = 0, 1e-13 of p̂ is as much."""

PART = 20
"""Tasks learnt at once by `learn_many`."""

TASKS = 80
"""Tasks of a stream that is compared: with ten workers most have a solution from the tenth on."""

EMPTY = 0.5
"""The error rate of everybody where there is no solution."""

Ints = NDArray[np.int64]


def stream(
    name: str, p: Floats, *, alpha: float = 1.0, beta: float = 0.0, clip: float = 0.0, seed: int = 0
) -> Use:
    """Draw a stream of the paper's model: ``p`` are n error rates, or one row of them per task."""
    rng = np.random.default_rng(seed)
    shape = (TASKS, p.shape[-1])
    truth = rng.choice([-1.0, 1.0], (TASKS, 1))
    return Use(name, truth * batch.draw(rng, shape, p[:TASKS], alpha), alpha, beta, clip)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without the warning that votes are counted: where there is no solution that is asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cs.NotIdentifiable)
        yield


def compare(use: Use) -> list[Claim]:
    """One promise of ours that holds, or one for each thing in which the programs differ."""
    print_ = Trace.of(use)
    with quietly():
        checks = (_estimates, _weights, _decisions, _vectorised)
        wrong = [line for check in checks for line in check(use, print_)]
    wanted = (
        f"as the plain transcription: p̂ to {SAME:g}, decisions, ties, majority vote without a "
        "solution; by every way of learning, and by the vectorised form that draws the charts"
    )
    if wrong:
        return [Claim(text, wanted, measured, False, "ours") for text, measured in wrong]
    return [
        Claim(
            f"`AgreementBased` is the paper's algorithm here ({use.name}).",
            wanted,
            f"the same after each of {len(use.x)} tasks; {int(print_.solved.sum())} times with a "
            f"solution, {int((print_.leads == 0).sum())} ties",
            True,
            "ours",
        )
    ]


def stream_errors(right: Floats) -> Floats:
    """Errors of `Adaptive` where every task is decided before it is learnt; a tie counts ½.

    ``right`` are labels times the truth, as `batch` has them: paths, tasks, workers.
    """
    found = np.empty(right.shape[:2])
    with quietly():
        for path, errors in zip(right, found, strict=True):
            # Classes change sides at random, or one of them would never be right.
            truth = np.random.default_rng(len(path)).choice([-1.0, 1.0], (len(path), 1))
            table = cs.Adaptive().stream_many(_columns(path * truth).columns(), settle=None)
            missed = table["label"].to_numpy() != (truth[:, 0] > 0)
            errors[:] = np.where(table["margin"].to_numpy() == 0, 0.5, missed)
    return found


# The print ---------------------------------------------------------------------------------------


class Printed(reference.AB):
    """The plain transcription, whose error rates are computed once per task."""

    rates: Floats

    def __init__(self, n: int, alpha: float, beta: float) -> None:
        super().__init__(n, alpha, beta)
        self.rates = np.full(n, EMPTY)

    def learn(self, answers: ArrayLike) -> None:
        """Learn a task."""
        super().learn(answers)
        self.rates = reference.error_rates(self.a)

    @property
    def error_rates(self) -> Floats:
        """p̂(t)."""
        return self.rates


class Trace(NamedTuple):
    """Trace of the paper's algorithm; row t of ``agreed`` and ``rates`` is after t tasks.

    ``votes``: the decision on each task before it is learnt; ``leads``: 0 for a tie, −1 where it is
    not compared. ``near``: whether a rounding decides if there is a solution after t tasks.
    """

    agreed: Floats
    rates: Floats
    near: NDArray[np.bool_]
    votes: Ints
    leads: Floats

    @classmethod
    def of(cls, use: Use) -> Trace:
        """Run the print."""
        crowd = Printed(use.x.shape[1], use.alpha, use.beta)
        agreed, rates, near = [crowd.a], [crowd.rates], [False]
        votes, leads = [], []
        for x in use.x:
            votes.append(crowd.decide(x))
            leads.append(-1.0 if near[-1] or not crowd.t else _lead(crowd.rates, x))
            crowd.learn(x)
            agreed.append(crowd.a)
            rates.append(crowd.rates)
            near.append(abs(reference.excess(crowd.a, 0.0)) < EDGE)
        return cls(*map(np.array, (agreed, rates, near, votes, leads)))

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Mask of the tasks after which there is a solution."""
        return np.asarray((self.rates != EMPTY).any(axis=1))


def _lead(p: Floats, x: Floats) -> float:
    """Return how far a vote is from a tie, which is 0; −1 where a rounding of p̂ decides."""
    given = p[x != 0]
    if not given.size or min(np.abs(given).min(), np.abs(1 - given).min()) < EDGE:
        return -1.0  # nobody answered, or a weight that is infinite or nearly so
    if (p == EMPTY).all():
        return float(abs(x.sum()))
    certain = np.where(p <= 0, 1.0, np.where(p >= 1, -1.0, 0.0)) @ x
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.where((p > 0) & (p < 1), np.log(1 / p - 1), 0.0)
    lead = abs(float(certain or weights @ x))
    return 0.0 if lead < TIED else lead if lead > CLEAR else -1.0


# Error rates -------------------------------------------------------------------------------------


def _crowd(use: Use, clip: float = 0.0) -> cs.AgreementBased:
    """`AgreementBased` without what the paper does not have."""
    memory = 1 / use.beta if use.beta else None
    return cs.AgreementBased(answer_rate=use.alpha, memory=memory, shrinkage=0, clip=clip)


def _answers(x: Floats) -> dict[int, int | None]:
    return {i: int(v) if v else None for i, v in enumerate(x.tolist())}


def _rows(x: Floats) -> list[tuple[int, int, int | None]]:
    return [(t, i, v) for t, task in enumerate(x) for i, v in _answers(task).items()]


def _columns(x: Floats) -> Simulated:
    """The labels in codes: 0 for −1, 1 for +1."""
    task, worker = np.nonzero(x)
    said = (x[task, worker] > 0).astype(np.int64)
    return Simulated(0, x.shape[1], task, worker, said, np.zeros(len(x), np.int64), np.zeros(1))


def _rates(crowd: cs.AgreementBased) -> Floats:
    """p̂, not clipped, by the number of the worker; ½ where the crowd fell back to majority."""
    skills = crowd.skills_
    found = np.array([skills[i] for i in range(len(skills))])
    return (1 - found) / 2 if crowd.identifiable_ else np.full(found.size, EMPTY)


def _ways(use: Use) -> Iterator[tuple[str, int, Floats]]:
    """p̂ by each way of learning, after so many tasks."""
    crowd = _crowd(use)
    for t, x in enumerate(use.x):
        crowd.learn_one(_answers(x))
        yield "learn_one", t + 1, _rates(crowd)
    crowd, columns = _crowd(use), _columns(use.x).columns()
    for t in range(0, len(use.x), PART):
        crowd.learn_many(columns.part(t, min(t + PART, len(use.x))))
        yield "learn_many", min(t + PART, len(use.x)), _rates(crowd)
    rows, last = _rows(use.x), len(use.x)
    yield "fit", last, _rates(_crowd(use).fit(rows))
    crowd = _crowd(use)
    crowd.stream_many(rows, settle=None)
    yield "stream_many", last, _rates(crowd)


def _estimates(use: Use, found: Trace) -> Iterator[tuple[str, str]]:
    """Yield where error rates differ: with a solution, and without one."""
    wrong: dict[bool, list[tuple[float, str, int, Floats]]] = {True: [], False: []}
    for way, t, rates in _ways(use):
        off = float(np.abs(rates - found.rates[t]).max())
        if not off <= SAME and not found.near[t]:
            wrong[bool(found.solved[t])].append((off, way, t, rates))
    if wrong[True]:
        off, way, t, _ = max(wrong[True], key=lambda case: case[0])
        # With more tasks agreement rates differ more between workers, and so tell more.
        last, rates = max(((t, rates) for _, _, t, rates in wrong[True]), key=lambda case: case[0])
        text = f"`AgreementBased` disagrees with the paper's {_rule(use)} ({use.name})."
        why = _explain(rates, found.agreed[last], use.beta)
        yield text, f"{way}: p̂ off by {off:.2g} after {t} tasks; {why}"
    if wrong[False]:
        off, way, t, _ = max(wrong[False], key=lambda case: case[0])
        text = f"`AgreementBased` does not fall back to p̂ = ½ as the paper does ({use.name})."
        yield text, f"{way}: p̂ off by {off:.2g} after {t} tasks, which have no solution"


def _rule(use: Use) -> str:
    """Say what a stream like this one tries beyond the fixed point."""
    if use.beta:
        return f"forgetting, Section 5, β = {use.beta:g}"
    if use.alpha < 1:
        return f"answer rate, 1/α² in Section 3, α = {use.alpha:g}"
    return "fixed point, Section 3"


def _explain(rates: Floats, agreed: Floats, beta: float) -> str:
    """Say how far error rates are from what the agreement rates imply.

    Error rates p tell agreement rates a(p), by equation (2), in which no fixed point has a part. If
    these are a straight line in â, the solution is right and something was scaled or shifted.
    """
    if (rates == EMPTY).all():
        return "it finds no solution"
    theta = 1 - 2 * rates  # of estimates, which may be outside of [0, 1]
    back = 0.5 + theta * (theta.sum() - theta) / (2 * (theta.size - 1))
    slope, shift = np.polyfit(agreed, back, 1)
    if np.abs(slope * agreed + shift - back).max() > 1e-6:
        also = ", or its β is another" if beta else ""
        return f"it does not solve v = f(â, v), with its n − 2{also}"
    if abs(slope - 1) < 1e-6:
        return f"it solves it for agreement rates moved by {shift:+.3f}, as by another n − 1"
    if abs(shift) < 1e-6:
        return f"it solves it for agreement rates times {slope:.3f}, as by another α² or β"
    if abs(shift - (1 - slope) / 2) < 1e-6 and slope > 0:
        return f"it solves it, and every 1 − 2p̂ is {np.sqrt(slope):.3f} times the paper's"
    return f"it solves it for other agreement rates, {slope:.3f} â {shift:+.3f}"


def _weights(use: Use, found: Trace) -> Iterator[tuple[str, str]]:
    """Weights at the end: log(1/p̂ − 1) where that is finite, and equal without a solution."""
    table = _crowd(use).fit(_rows(use.x)).workers().sort("worker")
    weights, p = table["weight"].to_numpy(), found.rates[-1]
    if found.near[-1]:
        return
    inside = (p > EDGE) & (p < 1 - EDGE)
    wanted = np.log(1 / p[inside] - 1) if found.solved[-1] else np.full(int(inside.sum()), 1.0)
    off = float(np.abs(weights[inside] - wanted).max(initial=0.0))
    if not off <= CLEAR:
        text = f"`AgreementBased` disagrees with the paper's weights, log(1/p̂ − 1) ({use.name})."
        yield text, f"off by {off:.2g} after {len(use.x)} tasks"


# Decisions ---------------------------------------------------------------------------------------


def _decided(use: Use) -> Iterator[tuple[str, Ints, Floats]]:
    """Labels and margins by each way of deciding a task before it is learnt."""
    table = _crowd(use).stream_many(_rows(use.x), settle=None)
    yield "stream_many", table["label"].to_numpy(), table["margin"].to_numpy()
    crowd, found = _crowd(use), []
    for x in use.x:
        found.append(crowd.decide_one(_answers(x), settle=None))
        crowd.learn_one(_answers(x))
    yield "decide_one", *_split(found)
    run, found = cs.Stream(_crowd(use), settle=None), []
    for t, x in enumerate(use.x):
        for worker, label in _answers(x).items():
            last = run.observe(t, worker, label, at=0)
        found.append(last)
        run.close(t)
    yield "Stream.observe", *_split(found)


def _split(found: list[cs.Decision]) -> tuple[Ints, Floats]:
    labels = np.array([decision.label or 0 for decision in found])
    return labels, np.array([decision.margin for decision in found])


def _decisions(use: Use, found: Trace) -> Iterator[tuple[str, str]]:
    """Decisions that differ, by what they try: the weighted vote, majority vote, ties."""
    ways = list(_decided(use))
    clear, majority = found.leads > 0, ~found.solved[:-1]
    kinds = {
        "disagrees with the paper's weighted vote, Section 3": clear & ~majority,
        "disagrees with the paper's majority vote where there is no solution": clear & majority,
        "decides where the paper has a tie": found.leads == 0,
    }
    for rule, where in kinds.items():
        wrong = {}
        for way, labels, margins in ways:
            other = margins != 0 if "tie" in rule else labels != found.votes
            wrong[way] = np.flatnonzero(where & other)
        shown = [
            f"{way}: on {tasks.size} of {int(where.sum())} tasks, first {tasks[0]}"
            for way, tasks in wrong.items()
            if tasks.size
        ]
        if shown:
            yield f"`AgreementBased` {rule} ({use.name}).", "; ".join(shown)


# The vectorised form -----------------------------------------------------------------------------


def _vectorised(use: Use, found: Trace) -> Iterator[tuple[str, str]]:
    """Check what the experiments compute for all repetitions at once."""
    agreed = batch.agreements(use.x, use.alpha, use.beta)
    off = float(np.abs(agreed - found.agreed[1:]).max())
    if not off <= SAME:
        text = f"`experiments.batch` disagrees with the paper's agreement rates ({use.name})."
        yield text, f"â off by {off:.2g}: its n − 1, α² or β"
    rates = batch.error_rates(found.agreed[1:])
    gap = np.abs(rates - found.rates[1:]).max(axis=1)[~found.near[1:]]
    if not gap.max(initial=0.0) <= SAME:
        text = f"`experiments.batch` disagrees with the paper's fixed point ({use.name})."
        yield text, f"p̂ off by {gap.max():.2g}: its n − 2 or n − 1"
    errors = batch.vote_errors(use.x, found.rates[:-1])  # of a truth that is always +1
    wanted = (1 - found.votes) / 2
    other = np.flatnonzero((found.leads >= 0) & (errors != wanted))
    if other.size:
        text = f"`experiments.batch` disagrees with the paper's vote ({use.name})."
        yield text, f"on {other.size} of {len(wanted)} tasks, first {other[0]}"
    if use.clip:
        yield from _clipped(use, found)


def _clipped(use: Use, found: Trace) -> Iterator[tuple[str, str]]:
    """Decisions with error rates kept from 0 and 1, which the print does not have."""
    errors = batch.vote_errors(use.x, found.rates[:-1], use.clip)
    table = _crowd(use, use.clip).stream_many(_rows(use.x), settle=None)
    missed = (table["label"].to_numpy() < 0).astype(float)
    ours = np.where(table["margin"].to_numpy() == 0, 0.5, missed)
    other = np.flatnonzero((found.leads >= 0) & (ours != errors))
    if other.size:
        text = f"`AgreementBased` and `experiments.batch` differ with a clip ({use.name})."
        yield text, f"on {other.size} of {len(errors)} tasks, first {other[0]}"
