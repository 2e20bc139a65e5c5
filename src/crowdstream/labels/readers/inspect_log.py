"""inspect_ai: the log of an evaluation → `Answer`.

Scorers are the workers; where a score has the votes of a panel in its metadata, the panel's members
are, and the score made of them is none. Keys of a score's value are questions, and so are those of
a panel member's vote. Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypedDict

from crowdstream.labels.readers.answer import (
    Answer,
    Reading,
    Tool,
    items,
    label_of,
    mapping,
    name_of,
    seconds_of,
)

NO_ANSWER = "N"
"""The value of a score where the model gave none."""

PANEL = "panel"
"""The key of a score's metadata with the votes of a panel."""

VOTES = ("value", "label", "verdict", "vote", "score", "grade")
JUDGES = ("judge", "model", "name", "worker")
"""Keys of a panel's vote, if it is an object, for its label and its judge."""

REMARKS = ("explanation", "reason", "reasoning", "rationale", "comment", "metadata")
"""Keys of a panel's vote that are no questions, where it has a verdict per criterion."""


def _tell(record: Mapping[str, object]) -> str | None:
    samples = [mapping(sample) for sample in items(record.get("samples"))]
    if any("scores" in sample for sample in samples):
        return "it has samples with scores"
    evaluation = mapping(record.get("eval"))
    if "run_id" in evaluation and "task" in evaluation:
        return "it has eval with run_id and task"
    return None


def _answers(log: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    samples = [mapping(sample) for sample in items(log.get("samples"))]
    several = any(sample.get("epoch") not in (None, 1) for sample in samples)
    for place, sample in enumerate(samples):
        yield from _scores(sample, reading, f"samples[{place}].", several)


def _scores(
    sample: Mapping[str, object], reading: Reading, path: str, several: bool
) -> Iterator[Answer]:
    """The scores of one sample; where there are several epochs, each is a task of its own."""
    task = name_of(sample.get("id"))
    if task is None:
        reading.complain(f"{path}id", "a sample's id", sample.get("id"))
        return
    if several:
        task = f"{task} (epoch {name_of(sample.get('epoch')) or 1})"
    at = seconds_of(sample.get("completed_at"))
    for scorer, found in mapping(sample.get("scores")).items():
        score = mapping(found)
        panel = mapping(score.get("metadata")).get(PANEL)
        votes = list(_panel(scorer, panel)) or [(scorer, score.get("value"))]
        for worker, value in votes:
            yield from _vote(Answer(task, worker, None, at=at), value)


def _panel(scorer: str, panel: object) -> Iterator[tuple[str, object]]:
    """Judge and vote of a panel: by name, or a list of votes that may name their judges."""
    if isinstance(panel, Mapping):
        for judge, vote in panel.items():
            yield judge, _verdict(vote)
    for place, vote in enumerate(items(panel)):
        judge = name_of(_of(mapping(vote), JUDGES)) or f"{scorer}[{place}]"
        yield judge, _verdict(vote)


def _verdict(vote: object) -> object:
    """The value of a panel's vote, or its values by criterion."""
    if not isinstance(vote, Mapping):
        return vote
    if any(key in vote for key in VOTES):
        return _of(vote, VOTES)
    return {key: value for key, value in vote.items() if key not in (*JUDGES, *REMARKS)}


def _of(found: Mapping[str, object], keys: tuple[str, ...]) -> object:
    return next((found[key] for key in keys if key in found), None)


def _vote(answer: Answer, value: object) -> Iterator[Answer]:
    """A score may be one value, or one per criterion: then each is a question."""
    values = value if isinstance(value, Mapping) else {"": value}
    for question, one in values.items():
        label = label_of(one)
        yield answer._replace(label=None if label == NO_ANSWER else label, question=question)


class _Sample(TypedDict, total=False):
    """Parts of a sample that are read: not its events, which may be most of a log."""

    id: object
    epoch: object
    completed_at: object
    scores: object


class _Log(TypedDict, total=False):
    """Parts of a log that are read."""

    samples: list[_Sample]


LOG = Tool("inspect-ai", "a log of inspect_ai", _tell, _answers, document=True, shape=_Log)
