"""promptfoo: results of an evaluation → `Answer`. Assertions are the workers, pass and fail the
labels. Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crowdstream.labels.readers.answer import Answer, Reading, Tool, items, mapping, name_of

VERDICTS = {True: "pass", False: "fail"}


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


def _answers(record: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    for place, (path, result) in enumerate(_results(record)):
        task = _task(result, place)
        grading = mapping(result.get("gradingResult"))
        components = items(grading.get("componentResults"))
        for number, component in enumerate(map(mapping, components)):
            verdict = component.get("pass")
            if not isinstance(verdict, bool):
                where = f"{path}.gradingResult.componentResults[{number}].pass"
                reading.complain(where, "true or false", verdict)
                continue
            worker = _worker(mapping(component.get("assertion")), number)
            yield Answer(task, worker, VERDICTS[verdict])


def _task(result: Mapping[str, object], place: int) -> str:
    """Test, prompt and provider; the place of the result where a release has no numbers."""
    provider = result.get("provider")
    named = mapping(provider).get("id") if isinstance(provider, Mapping) else provider
    test, prompt = name_of(result.get("testIdx")), name_of(result.get("promptIdx"))
    if test is None or prompt is None:
        test, prompt = name_of(result.get("id")) or str(place), ""
    return " × ".join(filter(None, [test, prompt, name_of(named)]))


def _worker(assertion: Mapping[str, object], number: int) -> str:
    """The model that judged; else the assertion by its kind and its number."""
    provider = assertion.get("provider")
    named = mapping(provider).get("id") if isinstance(provider, Mapping) else provider
    kind = name_of(assertion.get("type")) or "assertion"
    return name_of(named) or name_of(assertion.get("metric")) or f"{kind} {number + 1}"


RESULTS = Tool("promptfoo", "results of promptfoo", _tell, _answers, document=True)
