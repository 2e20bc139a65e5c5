"""Scores as verdicts of named judges. Knows nothing of votes."""

from __future__ import annotations

import math

from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState

from crowdstream.errors import InputError
from crowdstream.labels import ClassLabel, clean_label, shorten

JUDGE, TARGET, PANEL = "judge", "target", "panel"
"""Keys of a score's metadata: the judge, the truth, and all verdicts of a panel."""

TARGET_TEXT = "target"
"""The ``truth`` that is the sample's target, not a key of its metadata."""


def judge(one: Scorer, name: str) -> Scorer:
    """A scorer that says who it is, and keeps its place in the panel when it gives no score.

    A reducer is handed scores without names, and `multi_scorer` drops a scorer that returned
    ``None``, so that all after it would be taken for their neighbours.

    Parameters
    ----------
    one
        The scorer.
    name
        What it is called, here and in a saved crowd.

    Examples
    --------
    >>> from inspect_ai.scorer import includes, match, multi_scorer
    >>> from crowdstream.compat.inspect_ai import judge, learned_vote
    >>> panel = [judge(match(), "match"), judge(includes(), "includes")]
    >>> together = multi_scorer(panel, reducer=learned_vote())
    """

    @scorer(metrics=[accuracy(), stderr()], name=name)
    def named() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            found = await one(state, target) or Score.unscored(reason="scoring_failed")
            more = {JUDGE: name, TARGET: target.text}
            return found.model_copy(update={"metadata": {**(found.metadata or {}), **more}})

        return score

    return named()


def verdict_of(score: Score, where: str) -> ClassLabel | None:
    """A score as a class; ``None`` if it is unscored.

    >>> verdict_of(Score(value="C"), "match"), verdict_of(Score.unscored(), "match")
    ('C', None)
    """
    value = score.value
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, (str, bool, int, float)):
        return clean_label(value, f"the score of {where}")
    raise InputError(
        f"the score of {where}", "one class: text, a whole number or a bool", shorten(value)
    )
