"""lm-evaluation-harness: samples that a model answered → `Answer`.

Each model is a worker: its answer is the label, the document's target the truth. The benchmark is
the question. The model is told by the folder of a file, the benchmark by the file's name. Knows
nothing of files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from crowdstream.labels.readers.answer import Answer, Reading, Tool, items, mapping, name_of

FILE = re.compile(r"samples_(?P<task>.+?)_\d{4}-\d\d-\d\dT[\d.-]+")
"""The name of a file: the benchmark and when it was run."""

PLAIN = frozenset({"none", ""})
"""Filters that are no other question than the benchmark itself."""

INVALID = "[invalid]"
"""Value of a filter that finds no answer in what a model wrote."""

LONGEST = 60
"""Characters of an answer that is taken for a class; what is longer is a text."""

WORDS = frozenset({"yes", "no", "maybe", "true", "false"})
"""Choices of more than one character by which labels are named; others are by their number."""

SOLUTION = "####"
"""Mark before the answer in targets that are worked out, as those of GSM8K."""


def _tell(record: Mapping[str, object]) -> str | None:
    if {"doc_id", "target", "filtered_resps"} <= record.keys():
        return "its lines have doc_id, target and filtered_resps"
    return None


def _answers(sample: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    task = name_of(sample.get("doc_id"))
    if task is None:
        reading.complain("doc_id", "a document's number", sample.get("doc_id"))
        return
    named = FILE.fullmatch(reading.file)
    question = named["task"] if named else reading.file
    chosen = name_of(sample.get("filter")) or ""
    if chosen not in PLAIN:
        question = f"{question} ({chosen})"
    worker = reading.folder or reading.file
    label, truth = _choice(sample) if _offered(sample) else _text(sample)
    yield Answer(task, worker, label, question)
    if truth is not None:
        yield Answer(task, worker, truth, question, gold=True)


def _requests(sample: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the requests on a document; files name the requests, older ones list them."""
    found = sample.get("arguments")
    if isinstance(found, Mapping):
        return [mapping(one) for one in found.values()]
    return [{f"arg_{k}": value for k, value in enumerate(items(one))} for one in items(found)]


def _offered(sample: Mapping[str, object]) -> list[str]:
    """Return the choices of a document; empty if the model was to write its answer."""
    texts = [one.get("arg_1") for one in _requests(sample)]
    return [one.strip() for one in texts if isinstance(one, str)] if len(texts) > 1 else []


def _choice(sample: Mapping[str, object]) -> tuple[str | None, str | None]:
    """Return the likeliest choice, as the metric ``acc`` takes it, and the one that is right."""
    offered = _offered(sample)
    likely = [_likelihood(one) for one in items(sample.get("filtered_resps"))]
    if len(likely) != len(offered) or None in likely:
        return None, None
    short = all(len(one) == 1 or one.lower() in WORDS for one in offered)
    names = offered if short and len(set(offered)) == len(offered) else None
    best = max(range(len(likely)), key=lambda place: likely[place] or -math.inf)
    right = _right(sample, offered)
    return _named(best, names), None if right is None else _named(right, names)


def _named(place: int, names: list[str] | None) -> str:
    return str(place) if names is None else names[place]


def _right(sample: Mapping[str, object], offered: list[str]) -> int | None:
    """Return the place of the target among the choices; it is given by text or by its place."""
    target = (name_of(sample.get("target")) or "").strip()
    if offered.count(target) == 1:
        return offered.index(target)
    if target.isascii() and target.isdigit() and len(target) < 5 and int(target) < len(offered):
        return int(target)
    return None


def _likelihood(response: object) -> float | None:
    """Return the log-likelihood of a response, which files have as text, beside a flag."""
    while isinstance(response, list) and response:
        response = response[0]
    if isinstance(response, bool):
        return None
    try:
        found = float(response) if isinstance(response, (str, int, float)) else math.nan
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(found) else found


def _text(sample: Mapping[str, object]) -> tuple[str | None, str | None]:
    """Return what a model wrote, if it is an answer and no text, and the truth."""
    requests = _requests(sample)
    if requests and not any(isinstance(one.get("arg_1"), Mapping) for one in requests):
        return None, None  # a model was asked how likely a text is
    found = items(sample.get("filtered_resps"))
    while len(found) == 1 and isinstance(found[0], list):
        found = found[0]
    label = _short(found[0]) if len(found) == 1 else None
    if label == INVALID:
        label = None
    if label is not None and sample.get("exact_match") == 1:
        return label, label  # the benchmark compares by rules of its own: case, commas, units
    target = name_of(sample.get("target")) or ""
    return label, _short(target.rpartition(SOLUTION)[2])


def _short(value: object) -> str | None:
    text = (name_of(value) or "").strip()
    return text if 0 < len(text) <= LONGEST and "\n" not in text else None


def _unlabelled(sample: Mapping[str, object]) -> str:
    """Return what a sample without a label holds."""
    requests = _requests(sample)
    if requests and not any(isinstance(one.get("arg_1"), Mapping) for one in requests):
        return "likelihoods of texts"
    return "answers that are texts"


SAMPLES = Tool(
    "lm-eval",
    "samples of lm-evaluation-harness",
    _tell,
    _answers,
    unlabelled=_unlabelled,
    remark="each file's folder is the model that answered",
)
