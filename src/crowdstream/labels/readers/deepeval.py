"""DeepEval: a test run, or the result of ``evaluate`` → `Answer`.

A test case is the task, a metric the question, the model that evaluates who answers; pass and fail
are the labels. A classifier's label is a label, and the one its test case expects the truth.
Metrics that ask no model compute their verdict (`CHECKS`). Knows nothing of files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

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

CASES = ("testCases", "conversationalTestCases", "test_results", "testResults")
"""Keys of lists of test cases: of a test run that was saved, and of what ``evaluate`` returns."""

METRICS = ("metricsData", "metrics_data")
CLASSIFICATIONS = ("classifications",)
MODEL = ("evaluationModel", "evaluation_model")
EXPECTED = ("expectedLabel", "expected_label")
"""Keys as a saved run writes them, and as Python calls them."""

RUN = "testRunData"
"""The key of a test run in the file of the latest one."""


def _tell(record: Mapping[str, object]) -> str | None:
    run = mapping(record.get(RUN)) or record
    for key in CASES:
        for case in map(mapping, items(run.get(key))):
            for name in (*METRICS, *CLASSIFICATIONS):
                if name in case:
                    return f"its {key} have {name}"
    if "testCases" in run and ("metricsScores" in run or "runDuration" in run):
        return "it has testCases and metricsScores"
    return None


def _of(record: Mapping[str, object], keys: tuple[str, ...]) -> object:
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _cases(record: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    run, prefix = mapping(record.get(RUN)), f"{RUN}."
    if not run:
        run, prefix = record, ""
    for key in CASES:
        for place, case in enumerate(items(run.get(key))):
            yield f"{prefix}{key}[{place}].", mapping(case)


def _answers(record: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    cases = list(_cases(record))
    names = Counter(name_of(case.get("name")) for _, case in cases)
    seen: Counter[str | None] = Counter()
    for path, case in cases:
        name = name_of(case.get("name"))
        if name is None:
            reading.complain(f"{path}name", "a test case's name", case.get("name"))
            continue
        seen[name] += 1
        # Under pytest all cases of a function may have its name.
        task = name if names[name] == 1 else f"{name} ({seen[name]})"
        yield from _metrics(case, task, reading, path)
        yield from _classifications(case, task, reading, path)


def _metrics(
    case: Mapping[str, object], task: str, reading: Reading, path: str
) -> Iterator[Answer]:
    key = next((key for key in METRICS if key in case), METRICS[0])
    for place, metric in enumerate(map(mapping, items(case.get(key)))):
        name = name_of(metric.get("name"))
        if name is None:
            reading.complain(f"{path}{key}[{place}].name", "a metric's name", metric.get("name"))
            continue
        verdict, model = metric.get("success"), name_of(_of(metric, MODEL))
        if verdict is not None and not isinstance(verdict, bool):
            reading.complain(f"{path}{key}[{place}].success", "true or false", verdict)
            continue
        # A metric that could not be measured has "success": false as well, but has not judged.
        failed = metric.get("error") is not None or verdict is None
        yield Answer(
            task,
            model or name,
            None if failed else VERDICTS[verdict is True],
            name,
            kind="" if model else CHECKS,
        )


def _classifications(
    case: Mapping[str, object], task: str, reading: Reading, path: str
) -> Iterator[Answer]:
    for place, one in enumerate(map(mapping, items(case.get(CLASSIFICATIONS[0])))):
        name = name_of(one.get("name"))
        if name is None:
            where = f"{path}{CLASSIFICATIONS[0]}[{place}].name"
            reading.complain(where, "a classifier's name", one.get("name"))
            continue
        failed = one.get("error") is not None
        label = None if failed else name_of(one.get("label"))
        answer = Answer(task, name_of(_of(one, MODEL)) or name, label, name)
        yield answer
        expected = name_of(_of(one, EXPECTED))
        if expected is not None:
            yield answer._replace(label=expected, gold=True)


RESULTS = Tool("deepeval", "results of DeepEval", _tell, _answers, document=True)
