"""promptfoo: results of an evaluation → `Answer`.

An output (test × prompt × provider) is the task, pass and fail are the labels. An assertion asks a
question of it: the one that its metric names, or its rubric. Who answers is the model that grades.
Assertions that compute their verdict are no judges (`CHECKS`). Knows nothing of files.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from crowdstream.labels.readers.answer import (
    VERDICTS,
    Answer,
    Reading,
    Tool,
    items,
    mapping,
    name_of,
)
from crowdstream.labels.readers.input_options import CHECKS

GRADED = frozenset(
    {
        *("agent-rubric", "answer-relevance", "classifier", "context-faithfulness"),
        *("context-recall", "context-relevance", "conversation-relevance", "factuality", "g-eval"),
        *("llm-rubric", "model-graded-closedqa", "model-graded-factuality", "moderation", "pi"),
        *("search-rubric", "select-best", "trajectory:goal-success"),
    }
)
"""Kinds of assertions whose verdict is a model's, by promptfoo's page on model-graded metrics.
Two of that page compute theirs and are left out: ``similar``, a distance between embeddings, and
``max-score``, which adds up other assertions."""

RED_TEAM = "promptfoo:redteam:"
"""Prefix of the kinds of assertions by which a model grades attacks."""

HUMAN = "human"
"""The kind of a verdict that somebody gave by hand in promptfoo's viewer, and who gave it."""

REFERENCED = frozenset(
    {
        *("answer-relevance", "context-faithfulness", "context-recall", "context-relevance"),
        *("factuality", "model-graded-factuality", HUMAN),
    }
)
"""Kinds whose ``value`` is no question but what an output is compared with, or a remark."""

DEFAULT_GRADER = "default grader"
"""Name of the grader where neither the assertion, nor its test, nor the evaluation gives one."""

SETTINGS = ("label", "id", "providerId", "config")
"""Keys of an object that describes a grader."""

OWN = "(each test its own)"
"""Behind a kind of assertion whose value is another in every test: what is asked is one question,
"is this as the test wants it?"."""

LONGEST = 60
"""Characters of a rubric that a question's name has; about as many fit into a line with counts."""

DIGEST = 6
"""Hexadecimal digits behind a rubric that is cut, so that two with one beginning stay apart."""


def _tell(record: Mapping[str, object]) -> str | None:
    if any("gradingResult" in mapping(result) for _, result in _results(record)):
        return "its results have gradingResult"
    results = mapping(record.get("results"))
    if "evalId" in record and ("prompts" in results or "results" in results):
        return "it has evalId and results"
    return None


def _results(record: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Path and result; older releases have one list less."""
    found = record.get("results")
    path = "results"
    if isinstance(found, Mapping):
        path, found = "results.results", found.get("results")
    for place, result in enumerate(items(found)):
        yield f"{path}[{place}]", mapping(result)


class _Verdict(NamedTuple):
    """Verdict of one assertion on one output; ``grader`` tells graders of one name apart."""

    task: str
    test: str
    kind: str
    metric: str
    text: str
    worker: str
    grader: str
    label: str | None

    @property
    def judged(self) -> bool:
        """True if a model or a person gave the verdict, False if it was computed."""
        kind = self.kind.removeprefix("not-")
        return kind in GRADED or kind == HUMAN or kind.startswith(RED_TEAM)


def _answers(record: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    verdicts = list(_verdicts(record, reading))
    questions, workers = _Questions(verdicts), _Workers()
    for verdict in verdicts:
        yield Answer(
            verdict.task,
            workers.name(verdict),
            verdict.label,
            questions.name(verdict),
            kind="" if verdict.judged else CHECKS,
        )


def _verdicts(record: Mapping[str, object], reading: Reading) -> Iterator[_Verdict]:
    default = mapping(mapping(mapping(record.get("config")).get("defaultTest")).get("options"))
    for place, (path, result) in enumerate(_results(record)):
        task, test = _task(result, place), _test(result, place)
        options = mapping(mapping(result.get("testCase")).get("options"))
        otherwise = options.get("provider") or default.get("provider")
        parts = items(mapping(result.get("gradingResult")).get("componentResults"))
        for number, component in enumerate(map(mapping, parts)):
            assertion = mapping(component.get("assertion"))
            if not assertion:  # a set of assertions: its members stand beside it
                continue
            verdict = component.get("pass")
            if not isinstance(verdict, bool):
                where = f"{path}.gradingResult.componentResults[{number}].pass"
                reading.complain(where, "true or false", verdict)
                continue
            # A grader that could not be asked has "pass": false as well, but has not judged.
            failed = mapping(component.get("metadata")).get("graderError") is True
            kind = name_of(assertion.get("type")) or "assertion"
            metric, text = name_of(assertion.get("metric")) or "", _text(assertion.get("value"))
            label = None if failed else VERDICTS[verdict]
            found = _Verdict(task, test, kind, metric, text, kind, "", label)
            if found.judged and kind != HUMAN:
                grader = assertion.get("provider") or otherwise
                # There may be a grader for each kind of model; the one for texts is asked.
                grader = mapping(grader).get("text") or grader
                found = found._replace(worker=_named(grader), grader=_definition(grader))
            yield found


def _task(result: Mapping[str, object], place: int) -> str:
    """Test, prompt and provider; the place of the result where a release has no numbers."""
    provider = result.get("provider")
    named = mapping(provider).get("id") if isinstance(provider, Mapping) else provider
    test, prompt = name_of(result.get("testIdx")), name_of(result.get("promptIdx"))
    if test is None or prompt is None:
        test, prompt = name_of(result.get("id")) or str(place), ""
    return " × ".join(filter(None, [test, prompt, name_of(named)]))


def _test(result: Mapping[str, object], place: int) -> str:
    """The test as its variables tell it: one that is repeated has another number each time."""
    given = mapping(result.get("vars"))
    if given:  # which may be whole documents
        return hashlib.sha256(_json(given).encode()).hexdigest()
    return name_of(result.get("testIdx")) or name_of(result.get("id")) or str(place)


def _text(value: object) -> str:
    """The value of an assertion on one line: a rubric, several of them, or an object."""
    found = [name_of(one) for one in items(value)]
    if found and None not in found:
        text = "; ".join(filter(None, found))
    elif isinstance(value, (list, Mapping)):
        text = _json(value)
    else:
        text = name_of(value) or ""
    return " ".join(text.split())


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except RecursionError:  # nested as deep as the file could just be read
        return ""


def _named(provider: object) -> str:
    """Return the name of a grader, which may be an object with its settings."""
    found = mapping(provider)
    if not found:
        return name_of(provider) or DEFAULT_GRADER
    for key in ("label", "id", "providerId"):
        if name := name_of(found.get(key)):
            return name
    (key, *others) = found  # what is set up may be the key itself
    return DEFAULT_GRADER if others or key in SETTINGS else key


def _definition(provider: object) -> str:
    """Return the settings of a grader but for its name and the folder of its files."""
    config = dict(mapping(mapping(provider).get("config")))
    config.pop("basePath", None)
    return _json(config) if config else ""


class _Questions:
    """Names the question of each verdict of a file.

    The metric is the question, unless one grader answers several rubrics of it on one output: then
    each of them is. Without a metric the rubric is, unless every test has its own.
    """

    def __init__(self, verdicts: list[_Verdict]) -> None:
        tests: dict[tuple[str, str], set[str]] = defaultdict(set)
        metrics: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for one in verdicts:
            if one.metric:
                said = one.metric, one.task, one.kind, one.worker, one.grader
                metrics[said].add(one.text)
            else:
                tests[one.kind, one.text].add(one.test)
        self._split = {said[0] for said, texts in metrics.items() if len(texts) > 1}
        lone = {said: next(iter(found)) for said, found in tests.items() if len(found) == 1}
        owners: dict[str, set[str]] = defaultdict(set)
        for (kind, _), test in lone.items():
            owners[kind].add(test)
        self._own: dict[tuple[str, str], int] = {}  # the number of a rubric among its test's own
        count: dict[tuple[str, str], int] = defaultdict(int)
        for (kind, text), test in lone.items():
            if len(owners[kind]) > 1:
                count[kind, test] += 1
                self._own[kind, text] = count[kind, test]

    def name(self, one: _Verdict) -> str:
        if one.metric:
            return f"{one.metric}: {_short(one.text)}" if one.metric in self._split else one.metric
        if not one.text or one.kind.removeprefix("not-") in REFERENCED:
            return one.kind
        number = self._own.get((one.kind, one.text))
        if number is None:
            return f"{one.kind}: {_short(one.text)}"
        return f"{one.kind} {OWN}" + (f" {number}" if number > 1 else "")


def _short(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:DIGEST]
    return f"{text[:LONGEST].rstrip()}… {digest}"


class _Workers:
    """Names graders; those of one name that are set up differently are numbered."""

    def __init__(self) -> None:
        self._known: dict[str, list[str]] = defaultdict(list)

    def name(self, one: _Verdict) -> str:
        known = self._known[one.worker]
        if one.grader not in known:
            known.append(one.grader)
        number = known.index(one.grader) + 1
        return one.worker if number == 1 else f"{one.worker} ({number})"


RESULTS = Tool("promptfoo", "results of promptfoo", _tell, _answers, document=True)
