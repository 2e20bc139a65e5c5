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
        components = [mapping(one) for one in items(grading.get("componentResults"))]
        judges = _workers(components)
        for number, component in enumerate(components):
            verdict = component.get("pass")
            if not isinstance(verdict, bool):
                where = f"{path}.gradingResult.componentResults[{number}].pass"
                reading.complain(where, "true or false", verdict)
                continue
            yield Answer(task, judges[number], VERDICTS[verdict])


def _task(result: Mapping[str, object], place: int) -> str:
    """Test, prompt and provider; the place of the result where a release has no numbers."""
    provider = result.get("provider")
    named = mapping(provider).get("id") if isinstance(provider, Mapping) else provider
    test, prompt = name_of(result.get("testIdx")), name_of(result.get("promptIdx"))
    if test is None or prompt is None:
        test, prompt = name_of(result.get("id")) or str(place), ""
    return " × ".join(filter(None, [test, prompt, name_of(named)]))


def _workers(components: list[Mapping[str, object]]) -> list[str]:
    """Who judged: the model, the metric, or the kind of assertion.

    Its number is behind a kind, and behind a name that judged the same output more than once.
    """
    names = [_judge(mapping(component.get("assertion"))) for component in components]
    return [
        name if named and names.count((name, named)) == 1 else f"{name} {number}"
        for number, (name, named) in enumerate(names, start=1)
    ]


def _judge(assertion: Mapping[str, object]) -> tuple[str, bool]:
    """The model that judged or the metric, and True; else the assertion's kind, and False."""
    provider = assertion.get("provider")
    model = mapping(provider).get("id") if isinstance(provider, Mapping) else provider
    named = name_of(model) or name_of(assertion.get("metric"))
    return named or name_of(assertion.get("type")) or "assertion", named is not None


RESULTS = Tool("promptfoo", "results of promptfoo", _tell, _answers, document=True)
