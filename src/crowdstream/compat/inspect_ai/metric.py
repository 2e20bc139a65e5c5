"""`effective_judges` as a metric of inspect_ai."""

from __future__ import annotations

from collections.abc import Mapping
from logging import getLogger

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from crowdstream.compat.inspect_ai.scores import PANEL, TARGET_TEXT
from crowdstream.labels import ClassLabel
from crowdstream.panel import effective_judges as joint_errors

logger = getLogger(__name__)


@metric(scores="unreduced")
def effective_judges(truth: str = TARGET_TEXT) -> Metric:
    """A metric: how many independent judges a panel is worth, by its errors against the truth.

    For scores that keep their panel: of `learned_vote` over scorers named by `judge`, or of
    `rescore`. A judge errs where its verdict is not the truth; see `cs.effective_judges`. Left out
    are values that are not defined, such as for judges who never err, and a warning says why.

    Parameters
    ----------
    truth
        A key of the samples' metadata that holds the true verdict, or "target": the target that
        `judge` has noted.

    Examples
    --------
    >>> from inspect_ai.scorer import Score
    >>> panels = [{"a": "C", "b": "C"}, {"a": "C", "b": "I"}, {"a": "I", "b": "I"}] * 10
    >>> scores = [
    ...     SampleScore(score=Score(value="C", metadata={"panel": panel, "target": "C"}))
    ...     for panel in panels
    ... ]
    >>> found = effective_judges()(scores)
    >>> round(found["correlation"], 2), round(found["effective_judges"], 2)
    (0.5, 1.33)
    """

    def compute(scores: list[SampleScore]) -> Value:
        votes: dict[int, dict[str, ClassLabel | None]] = {}
        gold: dict[str | int, ClassLabel] = {}
        for place, sample in enumerate(scores):
            about = sample.score.metadata or {}
            kept = about if truth == TARGET_TEXT else (sample.sample_metadata or {})
            answers, true = about.get(PANEL), kept.get(truth)
            if isinstance(answers, Mapping) and true is not None:
                votes[place] = {who: None if x is None else str(x) for who, x in answers.items()}
                gold[place] = str(true)
        if not votes:
            logger.warning("effective_judges: no score has a panel and a truth (see judge())")
            return {}
        found = joint_errors(votes, gold)
        for note in found.notes:
            logger.warning("effective_judges: %s", note)
        shown: dict[str, str | int | float | bool | None] = {"workers": found.workers}
        if found.effective is not None and found.correlation is not None:
            shown["effective_judges"] = found.effective.value
            shown["effective_judges_low"] = found.effective.low
            shown["effective_judges_high"] = found.effective.high
            shown["correlation"] = found.correlation.value
        return shown

    return compute
