"""Decisions on a scale (stars, low-mid-high), where a vote errs by steps.

The model. Tasks have a true place on the scale, drawn from shares that the crowd has in common.
A worker is of one of a few dozen *kinds*: how far votes stray from the truth (normal or Laplace
noise of some spread, rounded to a place and cut off at the ends) and which share of them is random.
How common each kind is, is learnt from the whole crowd, so a worker with few votes counts as the
crowd does. Votes on a task and the votes of a worker inform each other by belief propagation: what
a vote says of its worker is judged by the other votes on the task, and what it says of its task by
the other votes of the worker. That keeps the posterior calibrated where tasks or workers have few
votes (see benchmarks/ordinal.py).

The decision. The median of the votes stands unless another class is both likelier and nearer to the
truth in expectation. Knows neither estimators nor files; names only where tables are decided.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions import SettleRule, value_series
from crowdstream.defaults import MIN_LABELS, SETTLE
from crowdstream.errors import InputError
from crowdstream.labels import (
    UNKNOWN,
    ArrowTable,
    ClassLabel,
    LabelBatch,
    Table,
    Truths,
    Vocabulary,
    code_table,
    in_kind,
    kind_of,
)
from crowdstream.labels.batch import Codes, Ints
from crowdstream.labels.scale import scale_of
from crowdstream.labels.tables import select_columns

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

LEAST_SPREAD = 0.25
"""Smallest spread of a kind, in steps: 95 % of the votes are the truth itself."""

SPREAD_RATIO = math.sqrt(2.0)
"""Ratio of one kind's spread to the next one's. Halfway between two kinds, the spread is off by
19 %, less than 20 votes of one worker can tell."""

RANDOM_SHARES = (0.01, 0.3)
"""Shares of random votes of a kind. The first keeps every vote possible. A third value in between
made decisions no better in simulation."""

PLACE_PRIOR = 30.0
"""Tasks that each place is taken to have had before the first. With few, the shares are fitted
to noise where votes stray by two steps, and with two votes a task decisions are worse than the
plain median. In benchmarks/ordinal.py (1,500 tasks) 30 is better than 1 and 10; 60 is as good."""

KIND_PRIOR = 1.0
"""Workers, spread evenly over the kinds, that are taken to have been there before the first."""

PLACE_PASSES = 30
"""Passes in which the places' shares are fitted to each kind in turn: later ones change little."""

PASSES = 6
"""Passes of belief propagation: between 4 and 16, errors in simulation stay the same (within a
third of a standard error, on five cells of benchmarks/ordinal.py)."""

KIND_PASSES = 30
"""Passes in which the kinds' frequencies are fitted within each of those. With 5, workers alike
with 20 votes each are not yet seen to be alike (Laplace noise of two steps, 15 votes a task: 0.008
more wrong decisions than the plain median); 100 are as good as 30."""

RARE_KIND = 1e-3
"""Share of the workers below which a kind is dropped after the first pass: it saves most of the
time and changes fewer than one decision in 200 in simulation."""

MOST_PATTERNS = 4096
"""Different sets of votes that the first fit is made from. More tell no more of a few dozen
numbers; they are drawn by a hash of the votes, so that no order of rows matters."""

CHUNK = 1 << 15
"""Labels or tasks that are worked on at a time: their numbers fit into a processor's cache."""

LEAST_CHANCE = 1e-20
"""Probabilities below this are raised to it before they are multiplied in single precision, whose
smallest numbers (from 1e-38 down) take a processor many times as long."""

ROUNDING = 1e-6
"""Probabilities and distances that differ by less are taken for equal: messages are kept in single
precision, and rows in another order are added in another order."""


class ScaleVotes(NamedTuple):
    """Decisions of many tasks on a scale, in codes.

    Attributes
    ----------
    winners
        Class codes; −1 for a task without votes or known truth.
    confidences
        Posterior probability of the winner.
    margins
        Its lead over the most probable other class. Negative where the median is not the most
        probable class.
    scores
        Posterior mean of the truth, in the places' units.
    steps
        Expected distance between the decision and the truth, in steps of the scale: two
        neighbouring classes are one step apart, whatever their numbers are.
    spreads
        Mean distance of a worker's votes from the truth, in steps, by worker code. Where votes are
        not weighted it is the crowd's for everybody.
    """

    winners: Codes
    confidences: Floats
    margins: Floats
    scores: Floats
    steps: Floats
    spreads: Floats


def decide_on_scale(
    batch: LabelBatch, places: NDArray[np.float64], *, weighted: bool = True
) -> ScaleVotes:
    """Decide tasks whose classes lie on a scale.

    The median of the votes is the middle vote or, between two equal halves, the class in the middle
    between them (the lower of two such). If votes are weighted, another class is decided where it
    is at least as probable and nearer to the truth in expectation; only classes that somebody
    chose, or that lie between two equal halves, are eligible. A task of known truth is decided as
    that, and teaches how far its workers stray.

    Parameters
    ----------
    batch
        The labels, grouped by task; ``truths`` are known places.
    places
        Where the class with each code lies. Only their order and, for the scores, their values
        count.
    weighted
        Whether workers are told apart. If False, the plain median of the votes is decided;
        confidences then take all workers to be alike.

    Returns
    -------
    ScaleVotes
        The decisions.

    Examples
    --------
    >>> stars = np.array([4, 4, 4, 0, 0, 0, 4], np.int32)
    >>> workers = np.array([0, 1, 2, 3, 4, 0, 1], np.int32)
    >>> batch = LabelBatch(np.array([0, 5, 7]), workers, stars)
    >>> decide_on_scale(batch, np.arange(1.0, 6.0), weighted=False).winners.tolist()
    [4, 2]
    """
    values, ranks = np.unique(places, return_inverse=True)
    codes = _code_of_rank(batch, ranks, values.size)
    given = _ranked(batch, ranks)
    workers = int(batch.workers.max(initial=-1)) + 1
    if not values.size:
        nothing = np.zeros(len(batch))
        none = np.full(len(batch), UNKNOWN, np.int32)
        return ScaleVotes(none, nothing, nothing, nothing, nothing, np.zeros(workers))
    kinds = make_kinds(values.size)
    crowd = _fit_crowd(given, kinds)
    if weighted and given.labels.size:
        posterior, spreads = _propagate(given, kinds, crowd, workers)
    else:
        posterior, spreads = _alike(given, kinds, crowd, workers)
    return _decide(given, posterior, values, codes, spreads, weighted)


# The labels as ranks ----------------------------------------------------------------------------


class _Ranked(NamedTuple):
    """Votes and truths as ranks on the scale from 0 up; ``tasks``: the task of every vote."""

    starts: Ints
    tasks: Ints
    workers: Codes
    labels: Ints
    truths: Ints

    @property
    def size(self) -> int:
        return self.starts.size - 1


def _ranked(batch: LabelBatch, ranks: Ints) -> _Ranked:
    first, last = int(batch.starts[0]), int(batch.starts[-1])
    labels, workers = batch.labels[first:last], batch.workers[first:last]
    tasks = np.repeat(np.arange(len(batch)), batch.sizes)
    starts = batch.starts - first
    given = labels >= 0
    if not given.all():
        labels, workers, tasks = labels[given], workers[given], tasks[given]
        starts = np.append(0, np.cumsum(np.bincount(tasks, minlength=len(batch))))
    truths = batch.known_truths
    known = np.where(truths >= 0, ranks[truths] if ranks.size else -1, -1)
    return _Ranked(starts, tasks, workers, ranks[labels], known)


def _code_of_rank(batch: LabelBatch, ranks: Ints, size: int) -> Codes:
    """Return each rank's class code: of several classes at one place, the most frequent one."""
    labels = batch.labels[batch.starts[0] : batch.starts[-1]]
    counts = np.bincount(labels[labels >= 0], minlength=ranks.size)
    codes = np.zeros(size, np.int32)
    order = np.argsort(counts, kind="stable")
    codes[ranks[order]] = order
    return codes


def _count_votes(given: _Ranked, places: int, tasks: Ints | slice) -> Floats:
    """Return how many votes each place has, one row per task of some."""
    here = np.arange(given.size)[tasks]
    sizes = np.diff(given.starts)[here]
    rows = np.repeat(np.arange(here.size), sizes)
    before = np.append(0, np.cumsum(sizes))[:-1]
    at = np.arange(rows.size) + np.repeat(given.starts[here] - before, sizes)
    counts = np.bincount(rows * places + given.labels[at], minlength=here.size * places)
    return counts.reshape(here.size, places).astype(np.float64)


# The kinds of workers ---------------------------------------------------------------------------


def make_kinds(places: int) -> Floats:
    """Return the probability of a vote (last axis) given the truth, for every kind of worker.

    The spreads reach up to half of the scale; the last kind votes at random.

    >>> make_kinds(5).shape
    (33, 5, 5)
    >>> bool(np.allclose(make_kinds(5).sum(axis=2), 1.0))
    True
    """
    rungs = max(math.ceil(math.log(places / 2.0 / LEAST_SPREAD, SPREAD_RATIO) - 1e-9), 0) + 1
    # The limits between votes, less the truth: by their difference all that is needed is known.
    limits = np.arange(-places, places) + 0.5
    apart = np.arange(1, places) - 1 - np.arange(places)[:, None] + places
    found = []
    for below in (_normal_below, _laplace_below):
        for spread in LEAST_SPREAD * SPREAD_RATIO ** np.arange(rungs):
            inner = below(limits / spread)[apart]
            votes = np.diff(inner, axis=1, prepend=0.0, append=1.0)
            found += [(1.0 - share) * votes + share / places for share in RANDOM_SHARES]
    found.append(np.full((places, places), 1.0 / places))
    return np.array(found)


def _normal_below(z: Floats) -> Floats:
    return np.array([0.5 * math.erfc(-x / math.sqrt(2.0)) for x in z.tolist()])


def _laplace_below(z: Floats) -> Floats:
    """Distribution function of Laplace noise of standard deviation 1."""
    tail = 0.5 * np.exp(-math.sqrt(2.0) * np.abs(z))
    return np.where(z < 0.0, tail, 1.0 - tail)


def _steps(places: int) -> Floats:
    """Return the distance between any two places, in steps."""
    at = np.arange(places, dtype=np.float64)
    return np.abs(at[:, None] - at)


def _stray(kinds: Floats, shares: Floats) -> Floats:
    """Return the mean distance of each kind's votes from the truth, in steps."""
    found: Floats = np.einsum("t,gtv,tv->g", shares, kinds, _steps(shares.size))
    return found


# A crowd of workers alike -----------------------------------------------------------------------


class _Crowd(NamedTuple):
    """The fit of every kind, were all workers of it: its probability and the places' shares."""

    chances: Floats
    shares: Floats


def _fit_crowd(given: _Ranked, kinds: Floats) -> _Crowd:
    """Fit the places' shares to every kind, by EM on the different sets of votes."""
    votes, truths, times = _patterns(given, kinds.shape[1])
    fits = np.empty(len(kinds))
    shares = np.full(kinds.shape[:2], 1.0 / kinds.shape[1])
    for kind, chances in enumerate(kinds):
        likelihood, top = _scaled(votes @ np.log(chances).T, truths)
        for _ in range(PLACE_PASSES):
            per = times / (likelihood @ shares[kind])
            found = shares[kind] * (per @ likelihood) + PLACE_PRIOR
            shares[kind] = found / found.sum()
        fits[kind] = (times * (np.log(likelihood @ shares[kind]) + top)).sum()
        fits[kind] += PLACE_PRIOR * np.log(shares[kind]).sum()
    found = np.exp(fits - fits.max())
    return _Crowd(found / found.sum(), shares)


def _patterns(given: _Ranked, places: int) -> tuple[Floats, Ints, Floats]:
    """Return different sets of votes, the truths beside, and how many tasks have each.

    Of very many, some are drawn by their hash, and stand for the others.
    """
    keys = np.random.default_rng(0).integers(1, 2**63, 2 * places + 1, np.uint64)
    sums = np.append(np.uint64(0), np.cumsum(keys[given.labels], dtype=np.uint64))
    hashes = np.diff(sums[given.starts]) + keys[given.truths + places + 1]
    _, firsts, times = np.unique(hashes, return_index=True, return_counts=True)
    weights = times.astype(np.float64)
    if firsts.size > MOST_PATTERNS:
        firsts, weights = firsts[:MOST_PATTERNS], weights[:MOST_PATTERNS]
        weights = weights * (given.size / weights.sum())
    return _count_votes(given, places, firsts), given.truths[firsts], weights


def _scaled(logs: Floats, truths: Ints) -> tuple[Floats, Floats]:
    """Return likelihoods of the places, divided by their largest, and the latter's logarithm.

    Where the truth is known, the other places have none.
    """
    known = np.flatnonzero(truths >= 0)
    if known.size:
        kept = logs[known, truths[known]]
        logs[known] = -np.inf
        logs[known, truths[known]] = kept
    top = logs.max(axis=1)
    logs -= top[:, None]
    return np.exp(logs, out=logs), top


def _posterior(logs: Floats, truths: Ints) -> Floats:
    found, _ = _scaled(logs, truths)
    found /= found.sum(axis=1, keepdims=True)
    return found


def _alike(given: _Ranked, kinds: Floats, crowd: _Crowd, workers: int) -> tuple[Floats, Floats]:
    """Return the tasks' posteriors and the workers' spreads if all workers are of one kind.

    Averaged over the kinds that all may be of: a few votes do not tell which.
    """
    posterior = np.zeros((given.size, kinds.shape[1]))
    spread = 0.0
    likely = np.flatnonzero(crowd.chances >= RARE_KIND)
    chances = crowd.chances[likely] / crowd.chances[likely].sum()
    for kind, chance in zip(likely.tolist(), chances.tolist(), strict=True):
        logs, prior = np.log(kinds[kind]), np.log(crowd.shares[kind])
        for here in _slices(given.size, CHUNK):
            votes = _count_votes(given, prior.size, here)
            posterior[here] += chance * _posterior(votes @ logs.T + prior, given.truths[here])
        spread += chance * float(_stray(kinds[[kind]], crowd.shares[kind])[0])
    return posterior, np.full(workers, spread)


def _slices(size: int, step: int, first: int = 0) -> Iterator[slice]:
    return (slice(at, min(at + step, size)) for at in range(first, size, step))


# Workers that differ ----------------------------------------------------------------------------


def _propagate(given: _Ranked, kinds: Floats, crowd: _Crowd, workers: int) -> tuple[Floats, Floats]:
    """Return the tasks' posteriors and the workers' spreads by belief propagation.

    A message is the logarithm of a vote's probability given each place, as the worker's other votes
    have it; a cavity is the posterior of a vote's task by the other votes on it.
    """
    best = int(crowd.chances.argmax())
    shares = crowd.shares[best]
    votes = _Votes(given, kinds.shape[1])
    # One array holds messages and cavities in turn: each is made from the other, vote by vote.
    exchanged = np.log(kinds[best]).astype(np.float32)[:, votes.labels]
    common = np.full(len(kinds), 1.0 / len(kinds))
    for number in range(PASSES):
        posterior = votes.posterior(exchanged, shares)
        evidence = _ask_workers(votes, posterior, exchanged, kinds, workers)
        common, beliefs = _fit_kinds(evidence, common, votes.present)
        _ask_tasks(votes, exchanged, kinds, beliefs)
        shares = posterior.sum(axis=1) + PLACE_PRIOR
        shares /= shares.sum()
        if number == 0:
            kept = common >= RARE_KIND
            kinds, common = kinds[kept], common[kept]
    posterior = votes.posterior(exchanged, shares)
    return posterior.T.copy(), _stray(kinds, shares) @ beliefs


def _ask_workers(
    votes: _Votes, posterior: Floats, exchanged: Singles, kinds: Floats, workers: int
) -> Floats:
    """Turn messages into cavities; return the log-likelihood of every worker's kinds."""
    evidence = np.zeros((len(kinds), workers))
    logs = np.log(np.maximum(posterior, LEAST_CHANCE)).astype(np.float32)
    for here, place in votes.chunks():
        cavity = np.exp(logs[:, votes.tasks[here]] - exchanged[:, here])
        cavity /= cavity.sum(axis=0)
        exchanged[:, here] = cavity
        likelihood = kinds[:, :, place].astype(np.float32) @ cavity
        votes.add_by_worker(evidence, np.log(likelihood, out=likelihood), here)
    return evidence


def _ask_tasks(votes: _Votes, exchanged: Singles, kinds: Floats, beliefs: Floats) -> None:
    """Turn cavities into messages, by what the workers' other votes say of their kinds."""
    single = np.maximum(beliefs, LEAST_CHANCE).astype(np.float32)
    for here, place in votes.chunks():
        chances = kinds[:, :, place].astype(np.float32)
        others = single[:, votes.workers[here]]
        others /= chances @ exchanged[:, here]  # as the vote itself is part of the belief
        found = chances.T @ others
        found /= others.sum(axis=0)
        exchanged[:, here] = np.log(found)


def _fit_kinds(evidence: Floats, common: Floats, present: Codes) -> tuple[Floats, Floats]:
    """Return how common the kinds are, by EM, and the probability of each worker's kinds."""
    likelihood = np.exp(evidence - evidence.max(axis=0))
    voted = likelihood[:, present]
    for _ in range(KIND_PASSES):
        common = common * (voted @ (1.0 / (common @ voted))) + KIND_PRIOR / common.size
        common /= common.sum()
    likelihood *= common[:, None]
    likelihood /= likelihood.sum(axis=0)
    return common, likelihood


def _softmax(logs: Floats) -> Floats:
    logs = np.exp(logs - logs.max(axis=0))
    logs /= logs.sum(axis=0)
    return logs


class _Votes:
    """The votes in order of place, then of worker: those of one place, or worker, lie together."""

    def __init__(self, given: _Ranked, places: int) -> None:
        order = np.lexsort((given.workers, given.labels))
        self.tasks, self.workers = given.tasks[order], given.workers[order]
        self.labels, self.truths = given.labels[order], given.truths
        self.bounds = np.searchsorted(self.labels, np.arange(places + 1)).tolist()
        self.present = np.unique(self.workers)

    def chunks(self) -> Iterator[tuple[slice, int]]:
        """Yield some votes at a time, all on one place, and the place."""
        for place, (first, last) in enumerate(itertools.pairwise(self.bounds)):
            for here in _slices(last, CHUNK, first):
                yield here, place

    def posterior(self, messages: Singles, shares: Floats) -> Floats:
        """Return the posterior of every task (second axis) by the messages to it."""
        size = self.truths.size
        logs: Floats = np.array([np.bincount(self.tasks, row, size) for row in messages])
        logs += np.log(shares)[:, None]
        found = _softmax(logs)
        known = np.flatnonzero(self.truths >= 0)
        found[:, known] = 0.0
        found[self.truths[known], known] = 1.0
        return found

    def add_by_worker(self, sums: Floats, values: Singles, here: slice) -> None:
        """Add some votes' values to their workers' sums."""
        workers = self.workers[here]
        firsts = np.flatnonzero(np.diff(workers, prepend=-1))
        sums[:, workers[firsts]] += np.add.reduceat(values, firsts, axis=1, dtype=np.float64)


# The decision -----------------------------------------------------------------------------------


def _decide(
    given: _Ranked,
    posterior: Floats,
    values: Floats,
    codes: Codes,
    spreads: Floats,
    weighted: bool,
) -> ScaleVotes:
    size = given.size
    winners, steps = np.empty(size, np.int64), np.empty(size)
    apart = _steps(values.size)
    for here in _slices(size, CHUNK):
        chances = posterior[here]
        votes = _count_votes(given, values.size, here)
        distances = chances @ apart
        chosen = _median(votes) if not weighted else _better(votes, chances, distances)
        truths = given.truths[here]
        chosen = np.where(truths >= 0, truths, chosen)
        winners[here], steps[here] = chosen, distances[np.arange(len(chosen)), chosen]
    rows = np.arange(size)
    confidences = posterior[rows, winners]
    scores = posterior @ values
    posterior[rows, winners] = 0.0
    margins = confidences - posterior.max(axis=1, initial=0.0)
    silent = (np.diff(given.starts) == 0) & (given.truths < 0)
    found = np.where(silent, UNKNOWN, codes[winners]).astype(np.int32)
    return ScaleVotes(found, confidences, margins, scores, steps, spreads)


def _halves(votes: Floats) -> tuple[Ints, Ints]:
    """Return the middle votes: the same one twice unless two equal halves lie apart."""
    sums = np.cumsum(votes, axis=1)
    total = sums[:, -1:]
    return (2.0 * sums >= total).argmax(axis=1), (2.0 * sums > total).argmax(axis=1)


def _median(votes: Floats) -> Ints:
    """Return the middle vote; the class in the middle of two equal halves, the lower of two such.

    >>> _median(np.array([[2, 0, 0, 0, 3], [1, 0, 0, 0, 1], [0, 0, 0, 1, 1]])).tolist()
    [4, 2, 3]
    """
    low, high = _halves(votes)
    middle: Ints = (low + high) // 2
    return middle


def _better(votes: Floats, chances: Floats, distances: Floats) -> Ints:
    """Return the median, or a class that is both as likely and nearer to the truth on average."""
    low, high = _halves(votes)
    median, rows, at = (low + high) // 2, np.arange(len(votes)), np.arange(votes.shape[1])
    allowed = (votes > 0) | ((at >= low[:, None]) & (at <= high[:, None]))
    allowed &= chances >= chances[rows, median][:, None] - ROUNDING
    best: Ints = np.where(allowed, distances, np.inf).argmin(axis=1)
    nearer = distances[rows, best] < distances[rows, median] - ROUNDING
    return np.where(nearer, best, median)


# Tables -----------------------------------------------------------------------------------------


def ordinal_decisions(
    decisions: ArrowTable,
    labels: Table,
    order: Sequence[ClassLabel] | None = None,
    *,
    weighted: bool = True,
    gold: Truths | None = None,
    places: Mapping[str, float] | None = None,
    settle: float | None = SETTLE,
    min_labels: int = MIN_LABELS,
) -> Any:
    """Decide again, by the median of the votes, tasks whose classes have an order.

    Estimators take classes for names: to them, 1 star is as far from 2 as from 5. On a scale the
    median of the votes is nearer to the truth. Here it is moved by how far each worker's votes
    stray from the truth, which is learnt from the labels: another class is decided where it is both
    at least as probable and nearer to the truth in expectation. It is always one that somebody
    chose, or one between two equal halves of the votes (1 and 5 may give 3).

    Parameters
    ----------
    decisions
        Decisions of an estimator: the table of `fit_predict`.
    labels
        The labels that they come from, as the estimator was given them.
    order
        The classes from one end of the scale to the other. Not needed where they are numbers.
    weighted
        Whether workers are told apart. If False, the plain median of the votes is decided, as
        suits `MajorityVote` or a crowd whose error rates cannot be estimated.
    gold
        True classes of some tasks. They are decided so, and teach how far workers stray.
    places
        Where the classes, by their text, lie on the scale, if not in ``order`` or at their value.
    settle, min_labels
        Confidence and number of labels from which a decision is settled.

    Returns
    -------
    table
        The decisions in the kind of table they came, with ``label``, ``confidence``, ``margin`` and
        ``settled`` by the median, and two columns more: ``score``, the posterior mean of the truth
        (numbers by their value, other classes counted from 0), and ``steps``, the expected distance
        between decision and truth, in steps from one class to the next. Both are null for a task
        without labels.

    Raises
    ------
    InputError
        If a class is not in the order, or tasks of the decisions have no labels in the table.

    Examples
    --------
    >>> import crowdstream as cs
    >>> rows = [("t1", who, stars) for who, stars in zip("abcde", (1, 1, 3, 4, 5))]
    >>> rows += [("t2", who, stars) for who, stars in zip("abcde", (5, 5, 5, 1, 1))]
    >>> decisions = cs.MajorityVote().fit_predict(rows)
    >>> decisions["label"].to_list()
    [1, 5]
    >>> cs.ordinal_decisions(decisions, rows, weighted=False)["label"].to_list()
    [3, 5]
    """
    import polars as pl

    rule = SettleRule.checked(settle, min_labels)
    decided = select_columns(decisions, lambda header: header)
    classes = Vocabulary()
    batch, _ = code_table(labels, Vocabulary(), classes, gold=gold, as_classes=True)
    scale = scale_of(classes, order) if places is None else places
    at = np.array([scale[str(label)] for label in classes], np.float64)
    found = decide_on_scale(batch, at, weighted=weighted)
    known = batch.known_truths >= 0
    settled = known & (rule.confidence is not None)
    if rule.confidence is not None:
        enough = batch.sizes >= rule.min_labels
        settled |= (found.confidences >= rule.confidence) & enough & (found.winners >= 0)
    names = value_series("label", classes.to_list())
    winners = pl.Series(found.winners)
    silent = winners == UNKNOWN
    table = pl.DataFrame(
        {
            "task": value_series("task", batch.tasks).cast(pl.String),
            "label": names.gather(winners.set(silent, None)).cast(decided.schema["label"]),
            "confidence": found.confidences,
            "margin": found.margins,
            "settled": settled,
            "score": pl.Series(found.scores).set(silent, None),
            "steps": pl.Series(found.steps).set(silent, None),
        }
    )
    return in_kind(_in_order(decided, table), kind_of(decisions))


def _in_order(decided: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """Return the decisions with what was decided anew; tasks without labels keep what they had."""
    import polars as pl

    tasks = decided["task"].cast(pl.String)
    if not tasks.equals(table["task"]):
        table = pl.DataFrame({"task": tasks}).join(
            table.with_columns(found=True), on="task", how="left", maintain_order="left"
        )
        if table["found"].null_count():
            missing = tasks.filter(table["found"].is_null())[0]
            raise InputError("labels", "those that the decisions come from", f"none of {missing}")
    anew = table["label"].is_not_null()
    columns = [
        pl.when(anew).then(table[name]).otherwise(decided[name]).alias(name)
        for name in ("label", "confidence", "margin", "settled")
    ]
    return decided.with_columns(*columns, table["score"], table["steps"])


def expected_steps(decisions: ArrowTable) -> float:
    """Return the expected distance of decisions from the truth, in steps of the scale.

    It is the mean of the column ``steps``. Without gold it rests on the labels alone: where workers
    err alike, the truth may be farther.

    Parameters
    ----------
    decisions
        A table of `ordinal_decisions`.

    Returns
    -------
    float
        The mean over the tasks that have labels; 0 where there are none.

    Examples
    --------
    >>> import polars as pl
    >>> expected_steps(pl.DataFrame({"task": ["a", "b"], "steps": [0.1, 0.3]}))
    0.2
    """
    found = select_columns(decisions, lambda header: header)
    if "steps" not in found.columns:
        columns = ", ".join(found.columns)
        raise InputError("decisions", "a column 'steps', as ordinal_decisions makes it", columns)
    mean = found["steps"].mean()
    return float(mean) if isinstance(mean, float) else 0.0
