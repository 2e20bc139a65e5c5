"""`learned_vote`: a score reducer that weighs judges by what was learnt of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from inspect_ai.scorer import Score, ScoreReducer, Value, score_reducer

from crowdstream.compat.inspect_ai.scores import JUDGE, PANEL, verdict_of
from crowdstream.errors import InputError
from crowdstream.estimators import Adaptive, Estimator
from crowdstream.estimators.state import load_crowd
from crowdstream.labels import ClassLabel


@score_reducer
def learned_vote(
    crowd: str | None = None, judges: list[str] | None = None, learn: bool | None = None
) -> ScoreReducer:
    """A score reducer: the panel's vote, every judge weighed by what was learnt of it.

    A reducer sees the scores of one sample and nothing else, so what it knows of the judges must
    come from before. With ``crowd``, a saved state (``cs.Adaptive().fit(votes).save(path)``), it
    decides by that and, unless asked to, learns nothing: the same scores give the same vote,
    whatever the order in which samples are done. Without, it begins with equal weights and learns
    every sample after having decided it, as a stream would: nothing is looked at twice, the first
    samples are majority votes, and since samples are done in any order, a second run may differ
    where a vote is close. If the whole log is at hand, `rescore` is better: every sample is then
    decided by all of them.

    For `Epochs(n, reducer)` the scores of a sample come from one scorer: they are taken for judges
    called 1 to n, all alike in the long run, and the vote is about a majority vote.

    Parameters
    ----------
    crowd
        The path of a saved crowd whose workers are the judges, by their names.
    judges
        Their names in the order of the scorers, for scorers that `judge` did not name. If scores
        are missing then, nobody can tell whose: each of that sample counts as that of a stranger.
    learn
        Whether to learn from the samples: by default only without ``crowd``.

    Examples
    --------
    >>> vote = learned_vote(judges=["a", "b", "c"])
    >>> found = vote([Score(value="C"), Score(value="I"), Score(value="C")])
    >>> found.value, found.metadata["panel"]
    ('C', {'a': 'C', 'b': 'I', 'c': 'C'})
    """
    state = Adaptive() if crowd is None else _load(crowd)
    learns = crowd is None if learn is None else learn

    def reduce(scores: list[Score]) -> Score:
        ballot = _ballot(scores, judges)
        decision = state.decide_one(ballot.answers)
        if learns:
            state.learn_one(ballot.answers)
        return _reduced(scores, ballot, decision.label, decision.confidence)

    return reduce


def _load(path: str) -> Estimator:
    if not Path(path).is_file():
        raise InputError("crowd", "the file of a saved crowd", repr(path))
    found = load_crowd(path)
    if not isinstance(found, Estimator):
        raise InputError("crowd", "a saved crowd", type(found).__name__)
    return found


class _Ballot(NamedTuple):
    """Verdicts on a sample by judge, as classes and as they were said."""

    answers: dict[str, ClassLabel | None]
    values: dict[str, Value]


def _ballot(scores: list[Score], judges: list[str] | None) -> _Ballot:
    answers: dict[str, ClassLabel | None] = {}
    values: dict[str, Value] = {}
    for place, score in enumerate(scores):
        name = (score.metadata or {}).get(JUDGE)
        if name is None and judges is not None:
            name = judges[place] if len(judges) == len(scores) else f"stranger {place + 1}"
        name = str(place + 1) if name is None else str(name)
        answers[name] = verdict_of(score, name)
        values[name] = score.value
    return _Ballot(answers, values)


def _reduced(
    scores: list[Score], ballot: _Ballot, label: ClassLabel | None, confidence: float
) -> Score:
    """The vote as a score: as the judges wrote it, with answer and words of one who agrees."""
    kept = {**(scores[0].metadata or {}), PANEL: ballot.answers}
    kept.pop(JUDGE, None)
    if label is None:
        return Score.unscored(reason="scoring_failed", metadata=kept)
    names = list(ballot.answers)
    first = next((k for k, name in enumerate(names) if ballot.answers[name] == label), None)
    if first is None:  # a class that none of these judges named
        return Score(value=label, metadata={**kept, "confidence": confidence})
    like = scores[first]
    return Score(
        value=ballot.values[names[first]],
        answer=like.answer,
        explanation=like.explanation,
        metadata={**kept, "confidence": confidence},
    )
