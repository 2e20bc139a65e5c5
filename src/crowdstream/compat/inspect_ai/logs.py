"""Whole logs: verdicts out of them, and the jury's decisions back into them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import inspect_ai
from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState

from crowdstream.compat.inspect_ai.scores import PANEL, TARGET_TEXT, verdict_of
from crowdstream.errors import InputError
from crowdstream.labels import ClassLabel, clean_label
from crowdstream.panel import Jury, jury


def panel_votes(
    samples: EvalLog | Iterable[EvalSample], scorers: Iterable[str] | None = None
) -> dict[str, dict[str, ClassLabel | None]]:
    """The verdicts of a log, as `cs.jury` takes them: sample → {scorer: verdict}.

    Every scorer of the samples is a judge; a score that `learned_vote` made is taken apart again.
    Samples are called by their ids, and in logs of several epochs ``id (epoch n)``.

    Parameters
    ----------
    samples
        A log, or its samples.
    scorers
        The scorers that count, if not all.

    Examples
    --------
    >>> scores = {"a": Score(value="C"), "b": Score(value="I")}
    >>> panel_votes([EvalSample(id="q1", epoch=1, input="?", target="!", scores=scores)])
    {'q1': {'a': 'C', 'b': 'I'}}
    """
    each = (samples.samples or []) if isinstance(samples, EvalLog) else list(samples)
    names = _sample_names(each)
    wanted = None if scorers is None else set(scorers)
    found: dict[str, dict[str, ClassLabel | None]] = {}
    for name, sample in zip(names, each, strict=True):
        answers = found.setdefault(name, {})
        for who, score in (sample.scores or {}).items():
            if wanted is not None and who not in wanted:
                continue
            panel = (score.metadata or {}).get(PANEL)
            if isinstance(panel, Mapping):
                answers.update(panel)
            else:
                answers[who] = verdict_of(score, f"{who}, sample {name}")
    if not any(found.values()):
        raise InputError("log", "samples with scores", "none")
    return found


def _sample_names(samples: list[EvalSample]) -> list[str]:
    several = any(sample.epoch > 1 for sample in samples)
    return [f"{one.id} (epoch {one.epoch})" if several else str(one.id) for one in samples]


class Rescored(NamedTuple):
    """A log with the jury's score beside the others', and what the jury found."""

    log: EvalLog
    jury: Jury

    def __repr__(self) -> str:
        """Show the jury's result alone, since a log has thousands of lines."""
        return f"Rescored(log={self.log.location!r}, jury=\n{self.jury!r})"


def rescore(
    log: EvalLog | str | Path,
    *,
    scorers: Iterable[str] | None = None,
    truth: str | None = None,
    name: str = "jury",
    **options: Any,
) -> Rescored:
    """Decide all samples of a log by the fitted vote of its scorers: `cs.jury` on a log.

    Parameters
    ----------
    log
        A log, or the path of one. It is not changed.
    scorers
        The scorers that are judges, if not all.
    truth
        Where true verdicts are, if anywhere: a key of the samples' metadata (samples without it are
        decided by vote), or "target".
    name
        What the new score is called in the log.
    options
        Any other argument of `cs.jury`, such as ``families`` or ``sure``.

    Returns
    -------
    The log with one more score per sample, metrics included, and what the jury found.

    Examples
    --------
    ::

        found = rescore("logs/panel.eval", truth="human")
        print(found.jury)  # whom to trust, who must look
        write_eval_log(found.log, "logs/panel-decided.eval")
    """
    read = log if isinstance(log, EvalLog) else read_eval_log(str(log))
    samples = read.samples or []
    names = _sample_names(samples)
    votes = panel_votes(samples, scorers)
    gold = _truths(samples, names, truth) if truth is not None else None
    found = jury(votes, gold=gold, **options)
    decided = {row["task"]: row for row in found.decisions.iter_rows(named=True)}
    scores = {
        (str(one.id), one.epoch): _score_of(decided[item], votes[item])
        for item, one in zip(names, samples, strict=True)
    }

    @scorer(metrics=[accuracy(), stderr()], name=name)
    def decided_before() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            return scores[str(state.sample_id), state.epoch]

        return score

    scored = inspect_ai.score(read, decided_before(), action="append", display="none")
    return Rescored(scored, found)


def _score_of(row: Mapping[str, Any], answers: Mapping[str, ClassLabel | None]) -> Score:
    about = {key: row[key] for key in ("confidence", "needs_human", "reason", "votes_agree")}
    about[PANEL] = dict(answers)
    if row["label"] is None:
        return Score.unscored(reason="scoring_failed", metadata=about)
    said = [x for x in answers.values() if x is not None and str(x) == str(row["label"])]
    return Score(value=said[0] if said else row["label"], metadata=about)


def _truths(samples: list[EvalSample], names: list[str], truth: str) -> dict[str | int, ClassLabel]:
    """The true verdicts that the samples carry."""
    found: dict[str | int, ClassLabel] = {}
    for name, sample in zip(names, samples, strict=True):
        value: object = (sample.metadata or {}).get(truth)
        if truth == TARGET_TEXT:
            value = Target(sample.target).text
        label = clean_label(value, f"{truth}, sample {name}")
        if label is not None:
            found[name] = label
    if not found:
        raise InputError("truth", f"samples with {truth!r} in their metadata", "none")
    return found
