"""Outlook of an open task: the chance that more labels settle it, and how many it takes.

The labels so far say how hard the task is (`difficulty`), which says how often the next workers
will be right. Their votes are a walk towards the confidence asked for, which recedes with every
label where the crowd errs together. Changes nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from crowdstream.decisions.decision import SettleRule
from crowdstream.estimators.estimator import Estimator
from crowdstream.labels.batch import Ints
from crowdstream.labels.open_task import OpenTask
from crowdstream.models.scorer import Scorer
from crowdstream.monitoring import estimator_view as view
from crowdstream.monitoring.difficulty import GRID, STRONGEST, Strengths
from crowdstream.monitoring.worker_sums import Floats
from crowdstream.stopping import settling

RARE = 1e-3
"""Strengths and classes less likely than this are left out."""

SURE = 0.999
"""Accuracy beyond which no worker is taken to be right, nor below 1 − this."""

ODDS: Floats = np.linspace(-1.0, 16.0, 400)
"""Log-odds of confidence among which that is looked for which known truths correct to a goal."""


class Outlook(NamedTuple):
    """Outlook of a task that takes more labels.

    ``chance``: that it settles. ``labels``: how many come until it settles, or until no more are
    allowed. ``settled``: how many until it settles, if it does.
    """

    chance: float
    labels: float
    settled: float


def outlook(
    crowd: Estimator, task: OpenTask | None, rule: SettleRule, most: int, strengths: Strengths
) -> Outlook:
    """Predict an open task by the rule, with at ``most`` so many labels.

    ``task``: its labels in the crowd's codes, ``None`` without any; ``strengths``: how often tasks
    of each strength occur.
    """
    classes = view.class_count(crowd)
    votes = 0 if task is None else task.size
    scorer, scores = _scores(crowd, task, classes)
    given = _posterior(crowd, task, classes, strengths)
    right = min(max(view.mean_accuracy(crowd), 1.0 - SURE), SURE)
    step = 1.0 if not scorer.identified else math.log(right * (classes - 1) / (1 - right))
    order = np.argsort(-scores, kind="stable")
    lead = float(scores[order[0]] - scores[order[1]])
    counts = votes + np.arange(most + 1)
    bounds = _bounds(scorer, scores - scores[order[0]], lead, rule, counts, classes)
    if lead >= bounds[0] - 1e-9:
        return _sure(crowd, task, rule, most, strengths)
    if most == 0 or not step > 0.0:
        return Outlook(0.0, float(most), math.inf)
    # Of each class how far it is ahead of the leader; of the leader, ahead of the runner-up.
    starts = scores - scores[order[0]]
    starts[order[0]] = lead
    strength, truth = np.nonzero(given > RARE)
    weights = given[strength, truth]
    up = (1.0 + (classes - 1) * GRID[strength] * _mean(crowd, classes)) / classes
    down = (1.0 - up) / (classes - 1)
    return Outlook(
        *settling(starts[truth] / step, weights / weights.sum(), up, down, bounds[1:] / step)
    )


def _sure(
    crowd: Estimator, task: OpenTask | None, rule: SettleRule, most: int, strengths: Strengths
) -> Outlook:
    """Predict a task that is sure enough, unless that is due to newcomers' labels.

    Then it is looked at without these, and needs at least one label more.
    """
    known = view.without_newcomers(crowd, task)
    if known is None:
        return Outlook(1.0, 0.0, 0.0)
    if most == 0:
        return Outlook(0.0, 0.0, math.inf)
    ahead = outlook(crowd, known, rule, most, strengths)
    return Outlook(ahead.chance, max(ahead.labels, 1.0), max(ahead.settled, 1.0))


def _mean(crowd: Estimator, classes: int) -> float:
    """Skill of an average worker, such that no task leaves it without error."""
    return min(max(view.mean_accuracy(crowd) * classes - 1.0, 0.0) / (classes - 1), STRONGEST)


def _scores(crowd: Estimator, task: OpenTask | None, classes: int) -> tuple[Scorer, Floats]:
    """Return the crowd's scorer and the scores of the classes.

    Where votes are only counted, the scores are the votes.
    """
    if task is None:
        return view.score_task(crowd, OpenTask("", 0))[0], np.zeros(classes)
    scorer, scores = view.score_task(crowd, task)
    found = scores[0, :classes].copy()
    return scorer, found if scorer.identified else np.exp(found) - 1.0


def _posterior(
    crowd: Estimator, task: OpenTask | None, classes: int, strengths: Strengths
) -> Floats:
    """P(g, k | labels): of the task's strength and class, one row per strength."""
    found = np.repeat(strengths[:, None] / classes, classes, axis=1)
    if task is not None and task.size:
        skills = np.clip(view.skills_of(crowd), -STRONGEST / (classes - 1.0), STRONGEST)
        given = view.open_labels(crowd, task)
        share = GRID[:, None] * skills[given.workers]
        likely = np.repeat((1.0 - share)[:, :, None], classes, axis=2)
        likely[:, np.arange(given.labels.size), given.labels] = 1.0 + (classes - 1.0) * share
        logs = np.log(np.maximum(likely, 1e-12)).sum(axis=1)
        found *= np.exp(logs - logs.max())
    return np.asarray(found / found.sum())


def _bounds(
    scorer: Scorer, behind: Floats, lead: float, rule: SettleRule, counts: Ints, classes: int
) -> Floats:
    """Return how far ahead a class must be to be settled, after each number of labels.

    With weights, ``softmax(scores/(1 + (m − 1) ρ))`` must reach the goal; the other classes count
    as so many rivals as near as the runner-up. Without, ``(votes + 1)/(m + K)`` must.
    """
    goal = 2.0 if rule.confidence is None else rule.confidence
    if not scorer.identified:
        found = 2.0 * (goal * (counts + classes) - 1.0) - counts
    else:
        odds = _goal_odds(scorer, goal)
        scale = 1.0 + np.maximum(counts - 1, 0) * scorer.rho
        now = np.exp(behind / scale[0])
        rivals = max((now.sum() - 1.0) * math.exp(lead / scale[0]), 1.0)
        found = scale * (odds + math.log(rivals))
    return np.asarray(np.where(counts < max(rule.min_labels, 1), math.inf, found))


def _goal_odds(scorer: Scorer, goal: float) -> float:
    """The log-odds that confidence must have before known truths correct it."""
    if scorer.calibrate is None:
        return math.log(goal / (1.0 - goal)) if goal < 1.0 else math.inf
    reached = np.flatnonzero(scorer.calibrate(1.0 / (1.0 + np.exp(-ODDS))) >= goal)
    return float(ODDS[reached[0]]) if reached.size else math.inf
