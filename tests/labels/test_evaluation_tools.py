"""Shapes of evaluation tools' files: who judges, what a verdict is, and what is none."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import crowdstream as cs
from crowdstream.errors import CrowdstreamError, InputError
from tests.fuzzing import FIXTURES
from tests.labels.test_tool_shapes import read, said
from tests.labels.test_tools import EVALUATIONS, LM_EVAL, read_questions

Json = dict[str, Any]


def tasks_of(path: Path) -> list[str]:
    return read_questions(path)[0]["task"].to_list()


# MLflow ----------------------------------------------------------------------------------------


def assessment(name: str = "ok", value: object = True, who: str = "m", **more: object) -> Json:
    source = {"source_type": "LLM_JUDGE", "source_id": who}
    feedback = {"assessment_name": name, "source": source, "feedback": {"value": value}}
    return feedback | more


def trace(*found: Json, spans: list[Json] | None = None) -> Json:
    return {"info": {"trace_id": "t", "assessments": list(found)}, "data": {"spans": spans or []}}


def test_a_judgement_that_a_person_overrides_is_still_the_judges(tmp_path: Path) -> None:
    """Else a judge's errors would vanish with their correction."""
    old = assessment(value=True, assessment_id="a1", valid=False)
    new = assessment(value=False, who="ann", overrides="a1", valid=True)
    found = said(tmp_path / "t.json", [trace(old, new)])
    assert found == [("ok", "m", "true"), ("ok", "ann", "false")]


def test_the_root_span_is_the_trace_and_an_inner_span_is_not(tmp_path: Path) -> None:
    spans: list[Json] = [
        {"span_id": "r", "parent_span_id": None},
        {"span_id": "i", "parent_span_id": "r"},
    ]
    found = [assessment(span_id="r"), assessment(who="n"), assessment(who="o", span_id="i")]
    path = tmp_path / "t.json"
    path.write_text(json.dumps([trace(*found, spans=spans)]))
    assert tasks_of(path) == ["t", "t", "t/i"]


def test_values_by_criterion_are_questions_and_sources_without_an_id_their_type(
    tmp_path: Path,
) -> None:
    found = said(tmp_path / "t.json", [trace(assessment(value={"a": 1, "b": "x"}, who="default"))])
    assert found == [("ok.a", "LLM_JUDGE", "1"), ("ok.b", "LLM_JUDGE", "x")]


def test_pages_and_lone_assessments_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    assert said(path, {"traces": [trace(assessment())]}) == [("ok", "m", "true")]
    assert said(path, [assessment(trace_id="t")]) == [("ok", "m", "true")]
    with pytest.raises(InputError, match=r"record 1, trace_id: expected a trace's id"):
        read(path, [assessment()])


# DeepEval --------------------------------------------------------------------------------------


def metric(**more: object) -> Json:
    return {"name": "M", "success": True, "score": 0.9, "evaluationModel": "gpt", **more}


def test_cases_of_one_name_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    cases = [{"name": name, "metricsData": [metric()]} for name in ("a", "b", "a")]
    path.write_text(json.dumps({"testCases": cases}))
    assert tasks_of(path) == ["a (1)", "b", "a (2)"]


def test_the_latest_run_is_under_a_key_and_conversations_are_cases(tmp_path: Path) -> None:
    run = {"conversationalTestCases": [{"name": "c", "metricsData": [metric(success=False)]}]}
    found = said(tmp_path / "run.json", {"testRunData": run})
    assert found == [("M", "gpt", "fail")]


@pytest.mark.parametrize("more", [{"error": "no JSON", "success": False}, {"success": None}])
def test_a_metric_that_failed_has_not_judged(tmp_path: Path, more: Json) -> None:
    path = tmp_path / "run.json"
    cases = [{"name": "a", "metricsData": [metric(), metric(evaluationModel="b", **more)]}]
    assert said(path, {"testCases": cases}) == [("M", "gpt", "pass")]
    assert read_questions(path)[1].missing == {("M", "b"): 1}


# Phoenix and LangSmith -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "worker"),
    [
        ({"annotator_kind": "HUMAN", "user_id": "u", "identifier": "i"}, "u"),
        ({"annotator_kind": "HUMAN", "identifier": "i"}, "i"),
        ({"annotator_kind": "LLM", "user_id": "owner of the key", "identifier": "i"}, "i"),
        ({"annotator_kind": "LLM", "user_id": "u", "metadata": {"model": "m"}}, "m"),
        ({"annotator_kind": "LLM", "user_id": "u"}, "LLM"),
    ],
)
def test_who_annotated_in_phoenix(tmp_path: Path, keys: Json, worker: str) -> None:
    one = {"span_id": "s", "name": "q", "result": {"label": "x", "score": 1}, **keys}
    assert said(tmp_path / "a.json", [one]) == [("q", worker, "x")]


def test_a_table_of_phoenix_without_its_index_says_so(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("id,annotation_name,annotator_kind,result.label\n1,q,LLM,x\n")
    with pytest.raises(InputError, match=r"span_id: expected the id of a span.*with its index"):
        cs.read_labels(path)


@pytest.mark.parametrize(
    ("source", "worker"),
    [
        ({"type": "model", "metadata": {"model": "m"}, "user_id": "owner"}, "m"),
        ({"type": "api", "user_id": "owner of the key"}, "api"),
        ({"type": "app", "user_id": "u"}, "u"),
        ({"type": "app", "user_id": "u", "user_name": "ann"}, "ann"),
        ({"type": "auto_eval", "metadata": {"rule_id": 7}}, "auto_eval 7"),
        (None, "q"),
    ],
)
def test_who_gave_feedback_in_langsmith(tmp_path: Path, source: object, worker: str) -> None:
    one = {"run_id": "r", "key": "q", "score": 1, "value": None, "feedback_source": source}
    assert said(tmp_path / "f.json", [one]) == [("q", worker, "1")]


# lm-evaluation-harness -------------------------------------------------------------------------


def sample(target: object, choices: list[str], likely: list[object], **more: object) -> Json:
    arguments = {f"gen_args_{k}": {"arg_0": "?", "arg_1": f" {c}"} for k, c in enumerate(choices)}
    resps = [[one, "False"] for one in likely]
    return {"doc_id": 0, "target": target, "arguments": arguments, "filtered_resps": resps, **more}


@pytest.mark.parametrize(
    ("target", "choices", "label", "gold"),
    [
        ("1", ["A", "B"], "B", "B"),
        ("A", ["A", "B"], "B", "A"),
        ("0", ["no", "yes"], "yes", "no"),
        ("0", ["a long ending", "another one"], "1", "0"),
        ("another one", ["a long ending", "another one"], "1", "1"),
        ("a continuation of both", ["same", "same"], "1", None),
        ("7", ["A", "B"], "B", None),
    ],
)
def test_the_likeliest_choice_is_the_label(
    tmp_path: Path, target: str, choices: list[str], label: str, gold: str | None
) -> None:
    path = tmp_path / "samples_q_2026-01-01T00-00-00.0.jsonl"
    path.write_text(json.dumps(sample(target, choices, ["-3.0", "-1.5"])))
    table, tally = read_questions(path)
    assert table["label"].to_list() == [label]
    assert table["question"].to_list() == ["q"]
    assert tally.golds == ({} if gold is None else {"q": {"0": gold}})


def test_labels_and_gold_of_a_benchmark_agree_with_its_own_metric() -> None:
    lines = [json.loads(line) for line in (FIXTURES / LM_EVAL).read_text().splitlines()]
    table, tally = read_questions(FIXTURES / LM_EVAL)
    right = [tally.golds["colours"][task] == label for task, label in table["task", "label"].rows()]
    assert right == [line["acc"] == 1.0 for line in lines]
    assert 0 < sum(right) < len(right)


def test_texts_and_likelihoods_of_texts_are_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "samples_q.jsonl"
    asked = {"doc_id": 0, "target": "x", "arguments": {"gen_args_0": {"arg_0": "?", "arg_1": {}}}}
    with pytest.raises(InputError, match="1 answer without a class, answers that are texts"):
        read(path, asked | {"filtered_resps": ["word " * 30]})
    rolling = asked | {"arguments": {"gen_args_0": {"arg_0": "?"}}, "filtered_resps": ["-12.5"]}
    with pytest.raises(InputError, match="likelihoods of texts"):
        read(path, rolling)
    assert len(read(path, asked | {"filtered_resps": ["42"]})) == 1


# OpenTelemetry ---------------------------------------------------------------------------------

EVENT = {"gen_ai.evaluation.name": "q", "gen_ai.evaluation.score.label": "good"}


def listed(attributes: Json) -> list[Json]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]


def test_an_event_of_a_span_is_about_that_span(tmp_path: Path) -> None:
    span = {"traceId": "t", "spanId": "s", "events": [{"attributes": listed(EVENT)}]}
    scoped = {"scope": {"name": "lib"}, "spans": [span, {"traceId": "u", "spanId": "v"}]}
    path = tmp_path / "spans.json"
    found = said(path, {"resourceSpans": [{"scopeSpans": [scoped]}]})
    assert found == [("q", "lib", "good")]
    assert tasks_of(path) == ["t/s"]


def test_the_model_that_is_judged_is_not_the_judge(tmp_path: Path) -> None:
    flat = EVENT | {"gen_ai.request.model": "judged", "gen_ai.response.id": "r"}
    path = tmp_path / "e.json"
    assert said(path, [flat]) == [("q", "q", "good")]
    judged = flat | {"gen_ai.evaluation.judge.model": "judge"}
    assert said(path, [{"attributes": judged, "trace_id": "0x1"}]) == [("q", "judge", "good")]
    assert tasks_of(path) == ["r"]


def test_an_event_about_nothing_is_said_with_its_place(tmp_path: Path) -> None:
    record = {"attributes": listed(EVENT), "traceId": "0000", "spanId": ""}
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    where = (
        r"resourceLogs\[0\].scopeLogs\[0\].logRecords\[0\].gen_ai.response.id: expected what was"
    )
    with pytest.raises(InputError, match=where):
        read(tmp_path / "e.json", logs)


def test_a_log_without_evaluations_holds_no_labels(tmp_path: Path) -> None:
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "x"}}]}]}]}
    with pytest.raises(InputError, match="labels in evaluations of OpenTelemetry, found none"):
        read(tmp_path / "e.json", logs)


# Anything --------------------------------------------------------------------------------------

ODD: tuple[object, ...] = (
    None,
    True,
    0,
    -1.5,
    1e400,
    "",
    "x",
    "\n",
    [],
    [None],
    {},
    {"a": {}},
    [[[[1]]]],
    "0x0",
)


def spoilt(value: object, draw: random.Random) -> object:
    """The value with something in it replaced or dropped."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice(list(value))
        if draw.random() < 0.2:
            return {name: one for name, one in value.items() if name != key}
        return value | {key: spoilt(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.9:
        place = draw.randrange(len(value))
        return [*value[:place], spoilt(value[place], draw), *value[place + 1 :]]
    return draw.choice(ODD)


@pytest.mark.parametrize(
    "name", [name for name in EVALUATIONS if name.endswith((".json", ".jsonl"))]
)
def test_a_file_with_something_odd_in_it_is_read_or_refused_in_words(
    name: str, tmp_path: Path
) -> None:
    lines = (FIXTURES / name).read_text()
    whole = name.endswith(".json")
    content = [json.loads(lines)] if whole else list(map(json.loads, lines.splitlines()))
    draw, read_at_all = random.Random(7), 0
    for _ in range(60):
        odd = [spoilt(one, draw) for one in content]
        path = tmp_path / f"odd.{'json' if whole else 'jsonl'}"
        path.write_text("\n".join(json.dumps(one) for one in odd))
        with suppress(CrowdstreamError):  # nothing else may be raised
            table = cs.read_labels(path, on_error="skip", as_classes=True)
            read_at_all += 1
            # A label of blanks is none, as in any table.
            assert table.select("task", "worker").null_count().sum_horizontal().item() == 0
    assert read_at_all > 10
