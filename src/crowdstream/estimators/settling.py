"""Votes → decisions on a table or one task, newcomers having no say in what is settled.

A newcomer helps to decide a task; whether the decision is settled must not hang on it. Here it is
found who is one in each way of going through tasks; the rule itself is in `decisions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions.decision import KnownVotes, SettleRule, Vote, Votes, decision_table
from crowdstream.decisions.votes import calibrate, choose
from crowdstream.estimators.state import CrowdState
from crowdstream.labels import UNKNOWN, Vocabulary
from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.models.newcomers import (
    early_labels,
    least_known,
    newcomers,
    strange_labels,
    tasks_of,
    without,
)
from crowdstream.models.scorer import Scorer

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def vote_of(
    crowd: CrowdState, task: LabelBatch, classes: Vocabulary, scorer: Scorer, scores: Floats
) -> Vote:
    """The vote that these scores make of one task, as it is scored."""
    votes = Votes.room(1, scorer.identified)
    choose(task, scores, votes, crowd._places.number(classes), crowd._ties(classes), scorer.rho)
    calibrate(scorer, votes)
    winner = int(votes.winners[0])
    label = None if winner == UNKNOWN else classes[winner]
    return Vote(label, float(votes.confidences[0]), float(votes.margins[0]), scorer.identified)


# Newcomers -----------------------------------------------------------------------------------


def answers_needed(crowd: CrowdState) -> float:
    """The answers from which a worker is no newcomer."""
    model = crowd._model
    return least_known(model.sums, model.unit, model.forgets)


def who_is_new(crowd: CrowdState, own: float = 0.0, others: int = 0) -> Flags:
    """Return which workers are newcomers; ``own``, ``others`` as for `newcomers`."""
    return newcomers(crowd._model.sums, answers_needed(crowd), own, others)


def score_one(crowd: CrowdState, task: LabelBatch, classes: Vocabulary, scores: Floats) -> Scorer:
    """Score one task of these classes, as it is scored, that was not learnt."""
    model = crowd._model
    if crowd._places.folded or len(classes) <= model.sums.classes:
        found = model.score_one(task, scores)
        if found is not None:
            return found
    scorer = crowd._scorer_for(classes)
    scorer.score(task, scores)
    return scorer


def known_vote(
    crowd: CrowdState, task: LabelBatch, classes: Vocabulary, vote: Vote
) -> tuple[Vote, int, float] | None:
    """A vote on one task without its newcomers, of how many labels, what theirs count.

    ``None`` if there are none.
    """
    if not crowd._model.weighs or not vote.identifiable:
        return None
    strange = strange_labels(task, who_is_new(crowd))
    if not strange.size:
        return None
    left = without(task, strange, np.zeros(1, np.int64))
    scores = np.empty((1, max(crowd._places.number(classes), 2)))
    alone = vote_of(crowd, left, classes, score_one(crowd, left, classes, scores), scores)
    return alone, left.labels.size, crowd._model.against


# Tables --------------------------------------------------------------------------------------


def predicted(
    crowd: CrowdState,
    batch: LabelBatch,
    votes: Votes,
    rule: SettleRule,
    classes: Vocabulary,
    learnt: Flags | None = None,
) -> pl.DataFrame:
    """Decisions by these votes on tasks that were not learnt; labels are of these classes.

    ``learnt``: tasks whose labels are among the sums all the same, being open: they say nothing of
    their own workers.
    """

    def strange() -> Ints:
        found = strange_labels(batch, who_is_new(crowd))
        if learnt is None or not learnt.any():
            return found
        more = strange_labels(batch, who_is_new(crowd, crowd._model.unit))
        own = learnt[np.searchsorted(batch.starts, more, side="right") - 1]
        return np.union1d(found, more[own])

    return _decisions(crowd, batch, votes, rule, strange, classes)


def fitted(crowd: CrowdState, batch: LabelBatch, votes: Votes, rule: SettleRule) -> pl.DataFrame:
    """Decisions by these votes on tasks that were fitted: who has few answers in all is new."""
    model = crowd._model
    own = 0.0 if model.forgets else 1.0
    return _decisions(
        crowd, batch, votes, rule, lambda: strange_labels(batch, who_is_new(crowd, own))
    )


def followed(
    crowd: CrowdState, batch: LabelBatch, votes: Votes, rule: SettleRule, new: Flags
) -> pl.DataFrame:
    """Decisions by these votes on tasks gone through in order; ``new``: who was new before it."""
    least = answers_needed(crowd) / crowd._model.unit
    return _decisions(crowd, batch, votes, rule, lambda: early_labels(batch, new, least))


def _decisions(
    crowd: CrowdState,
    batch: LabelBatch,
    votes: Votes,
    rule: SettleRule,
    strange: Callable[[], Ints],
    classes: Vocabulary | None = None,
) -> pl.DataFrame:
    """Decisions by these votes; ``strange``: where the labels of newcomers are.

    Where votes are not weighed, one is like another.
    """
    named = crowd._classes if classes is None else classes

    def hold(sure: Flags) -> Flags:
        if not crowd._model.weighs or not votes.identified or not sure.any():
            return sure
        labels = strange()
        which = tasks_of(batch, labels)
        which = which[sure[which]]
        if which.size:
            left = without(batch, labels, which)
            found = crowd._decide(left, named)
            same = found.winners == votes.winners[which]
            known = KnownVotes(found.confidences, same, left.sizes, crowd._model.against)
            sure[which] = rule.survives(votes.confidences[which], known)
        return sure

    return decision_table(batch, votes, named, rule, hold)
