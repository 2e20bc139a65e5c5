"""Shapes of tools' files in other hands: names with dots, NaN, regions, sessions."""

from __future__ import annotations

import json
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import crowdstream as cs
from crowdstream.errors import InputError
from tests.labels.test_tools import read_questions

Votes = list[tuple[str, str, str]]


def read(path: Path, content: object, **options: Any) -> Votes:
    """Task, worker and label of each vote in a file of this content."""
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return votes(path, **options)


def votes(path: Path, **options: Any) -> Votes:
    return cs.read_labels(path, **options).select("task", "worker", "label").rows()


def said(path: Path, content: object, **options: Any) -> list[tuple[str, str, str]]:
    """Question, worker and label of each vote in a file of this content."""
    path.write_text(json.dumps(content))
    table, _ = read_questions(path, **options)
    return table.select("question", "worker", "label").rows()


def test_users_of_doccano_whose_names_have_dots_stay_apart(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        for user, label in [("ann.lee", "a"), ("ann.ross", "b"), ("cy@example.org", "b")]:
            line = json.dumps({"id": 1, "text": "x", "label": [label]})
            archive.writestr(f"{user}.jsonl", line + "\n")
    assert votes(tmp_path / "export.zip") == [
        ("1", "ann.lee", "a"),
        ("1", "ann.ross", "b"),
        ("1", "cy@example.org", "b"),
    ]


def test_a_user_of_doccano_who_has_labelled_nothing_stops_nobody(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("ann.jsonl", "")
        archive.writestr("bob.jsonl", json.dumps({"id": 1, "text": "x", "label": ["a"]}))
    assert votes(tmp_path / "export.zip") == [("1", "bob", "a")]


def test_what_deleted_users_of_label_studio_said_can_be_left_out(tmp_path: Path) -> None:
    result = [{"from_name": "q", "type": "choices", "value": {"choices": ["a"]}}]
    said = [{"id": k, "completed_by": user, "result": result} for k, user in enumerate((None, 4))]
    (tmp_path / "export.json").write_text(json.dumps([{"id": 1, "annotations": said}]))
    with pytest.raises(InputError, match=r"annotations\[0\]\.completed_by.*--on-error skip"):
        votes(tmp_path / "export.json")
    table = cs.read_labels(tmp_path / "export.json", on_error="skip")
    assert table.select("task", "worker", "label").rows() == [("1", "4", "a")]


@pytest.mark.parametrize("path", [5, None, b"labels.csv", [5]])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(InputError, match="path: expected the path of a file"):
        cs.read_labels(path)  # type: ignore[arg-type]


def test_lines_of_an_appen_cell_end_as_on_any_system(tmp_path: Path) -> None:
    head = "_unit_id,_worker_id,_tainted,mood,mood_gold\n"
    rows = '1,w1,false,"a\r\nb",\n1,w2,false,a,\n'
    (tmp_path / "full.csv").write_bytes((head + rows).encode())
    found = votes(tmp_path / "full.csv", choices=True)
    assert found == [("1", "w1", '["a", "b"]'), ("1", "w2", "a")]


def test_half_a_character_in_a_cell_is_refused(tmp_path: Path) -> None:
    head = "annotation_id,annotator,created_at,id,lead_time,mood,updated_at\n"
    good = "1,4,2026-11-17T03:21:56Z,1,2,good,2026-11-17T03:21:56Z\n"
    half = good.replace("good", '"{""choices"": [""\\ud800"", ""x""]}"')
    with pytest.raises(InputError, match="text that can be written, found half a character"):
        read(tmp_path / "export.csv", head + good + half)
    assert votes(tmp_path / "export.csv", on_error="skip") == [("1", "4", "good")]


def test_a_field_that_a_turker_left_out_is_no_question(tmp_path: Path) -> None:
    rows = "HITId,WorkerId,Answer.mood,Answer.comment\nh,w1,good,{}\nh,w2,{},{}\n"
    assert read(tmp_path / "batch.csv", rows) == [("h", "w1", "good")]


def score(**more: object) -> dict[str, object]:
    return {"id": "s", "traceId": "t", "name": "helpful", "value": 1, **more}


def test_a_langfuse_score_of_a_session_has_the_session_for_its_task(tmp_path: Path) -> None:
    scores = [score(id=who, traceId=None, sessionId="s1", authorUserId=who) for who in ("a", "b")]
    found = read(tmp_path / "scores.json", {"data": scores, "meta": {"page": 1}})
    assert found == [("s1", "a", "1"), ("s1", "b", "1")]


@pytest.mark.parametrize(
    ("keys", "worker"),
    [
        ({"authorUserId": "u1", "source": "ANNOTATION", "configId": "c"}, "u1"),
        ({"source": "API", "metadata": {"model": "m1"}}, "m1"),
        ({"source": "EVAL"}, "EVAL"),
        ({"source": "EVAL", "configId": "c1"}, "EVAL c1"),
        ({}, "helpful"),
    ],
)
def test_who_gave_a_langfuse_score(tmp_path: Path, keys: dict[str, object], worker: str) -> None:
    """Its name is who gave it only if nothing else tells."""
    assert said(tmp_path / "scores.json", [score(**keys)]) == [("helpful", worker, "1")]


@pytest.mark.parametrize(
    ("keys", "label"),
    [
        ({"dataType": "NUMERIC", "value": 0.85}, "0.85"),
        ({"dataType": "BOOLEAN", "value": 1, "stringValue": "True"}, "true"),
        ({"dataType": "BOOLEAN", "value": 0}, "false"),
        ({"value": True}, "true"),
        ({"dataType": "CATEGORICAL", "value": 2, "stringValue": "very"}, "very"),
        ({"dataType": "CATEGORICAL", "value": 2}, "2"),
    ],
)
def test_the_label_of_a_langfuse_score(tmp_path: Path, keys: dict[str, object], label: str) -> None:
    found = said(tmp_path / "scores.json", [score(authorUserId="u", **keys)])
    assert found == [("helpful", "u", label)]


def test_a_langfuse_score_that_does_not_say_of_what_says_how_to_ask(tmp_path: Path) -> None:
    bare = {"id": "s", "projectId": "p", "name": "n", "source": "API", "dataType": "BOOLEAN"}
    page = {"data": [bare | {"value": True}], "meta": {"limit": 50}}
    expected = r"data\[0\].subject: expected what .*fields=details,subject,annotation"
    with pytest.raises(InputError, match=expected):
        read(tmp_path / "scores.json", page)
    observation = {"kind": "observation", "id": "o", "traceId": "t"}
    page = {"data": [bare | {"value": True, "subject": observation}]}
    assert read(tmp_path / "scores.json", page) == [("t/o", "API", "true")]


def test_a_text_of_langfuse_is_no_label(tmp_path: Path) -> None:
    text = score(dataType="TEXT", value=None, stringValue="a remark")
    with pytest.raises(InputError, match="1 answer without a class"):
        read(tmp_path / "scores.json", [text])


# promptfoo: who is asked what ------------------------------------------------------------------


def graded(*parts: dict[str, object], test: int = 0, **more: object) -> dict[str, object]:
    """A result of promptfoo with these verdicts."""
    components = {"componentResults": list(parts)}
    return {"testIdx": test, "promptIdx": 0, "gradingResult": components, **more}


def rubric(text: str, provider: object = None, **more: object) -> dict[str, object]:
    assertion = {"type": "llm-rubric", "value": text, "provider": provider, **more}
    return {"pass": True, "assertion": assertion}


def results(*found: dict[str, object]) -> dict[str, object]:
    return {"evalId": "e", "results": {"results": list(found)}}


def test_two_rubrics_and_three_models_are_two_panels_of_three(tmp_path: Path) -> None:
    parts = [rubric(text, model) for text in ("Is kind", "Is true") for model in ("a", "b", "c")]
    every = results(*(graded(*parts, test=test) for test in range(2)))
    found = said(tmp_path / "results.json", every)
    assert len(found) == 12
    for question in ("llm-rubric: Is kind", "llm-rubric: Is true"):
        assert {worker for asked, worker, _ in found if asked == question} == {"a", "b", "c"}


def test_a_metric_is_the_question_and_joins_what_models_are_asked(tmp_path: Path) -> None:
    parts = [rubric("Is kind", "a", metric="tone"), rubric("Be nice", "b", metric="tone")]
    found = said(tmp_path / "results.json", results(graded(*parts)))
    assert found == [("tone", "a", "pass"), ("tone", "b", "pass")]


def test_two_rubrics_of_one_metric_by_one_model_are_two_questions(tmp_path: Path) -> None:
    """Else the second would replace the first as a later answer of the same worker."""
    parts = [rubric(text, "a", metric="tone") for text in ("Is kind", "Is calm")]
    found = said(tmp_path / "results.json", results(graded(*parts)))
    assert [question for question, *_ in found] == ["tone: Is kind", "tone: Is calm"]


def test_rubrics_that_each_test_has_for_itself_are_one_question(tmp_path: Path) -> None:
    tests = [
        graded(*(rubric(f"Names {town}", model) for model in "ab"), test=test)
        for test, town in enumerate(("Rome", "Oslo", "Riga"))
    ]
    found = said(tmp_path / "results.json", results(*tests))
    assert {question for question, *_ in found} == {"llm-rubric (each test its own)"}
    # A test that is repeated has another number, but the variables that it had.
    twice = [
        graded(rubric("Names " + town), test=number, vars={"town": town})
        for number, town in enumerate(("Rome", "Rome", "Oslo", "Oslo"))
    ]
    found = said(tmp_path / "twice.json", results(*twice))
    assert {question for question, *_ in found} == {"llm-rubric (each test its own)"}
    two = [graded(rubric(f"{k}a"), rubric(f"{k}b"), rubric("Is kind"), test=k) for k in range(2)]
    found = said(tmp_path / "two.json", results(*two))
    assert [question for question, *_ in found] == 2 * [
        "llm-rubric (each test its own)",
        "llm-rubric (each test its own) 2",
        "llm-rubric: Is kind",
    ]


def test_long_rubrics_with_one_beginning_stay_apart_by_stable_names(tmp_path: Path) -> None:
    texts = ["x" * 200 + end for end in "ab"]
    once = said(tmp_path / "once.json", results(graded(*map(rubric, texts))))
    again = said(tmp_path / "again.json", results(graded(*map(rubric, texts[::-1]))))
    assert len({question for question, *_ in once}) == 2
    assert once == again[::-1]
    assert all(len(question) < 90 for question, *_ in once)


def test_a_grader_is_named_by_its_assertion_its_test_or_the_evaluation(tmp_path: Path) -> None:
    own = rubric("Is kind", {"id": "openai:m", "label": "kind one"})
    plain = rubric("Is kind")
    by_test: dict[str, Any] = {
        "testCase": {"options": {"provider": {"providerId": "m2", "config": {}}}}
    }
    record = results(graded(own, plain, **by_test), graded(plain, test=1))
    found = said(tmp_path / "results.json", record)
    assert [worker for _, worker, _ in found] == ["kind one", "m2", "default grader"]
    record["config"] = {"defaultTest": {"options": {"provider": {"text": "m3"}}}}
    found = said(tmp_path / "results.json", record)
    assert [worker for _, worker, _ in found] == ["kind one", "m2", "m3"]


@pytest.mark.parametrize(
    ("provider", "worker"),
    [
        ("openai:m", "openai:m"),
        ({"id": "openai:m", "label": ""}, "openai:m"),
        ({"openai:m": {"config": {}}}, "openai:m"),
        ({"text": {"id": "openai:m"}, "embedding": "openai:e"}, "openai:m"),
        ({"id": None}, "default grader"),
        ({}, "default grader"),
        ([1], "default grader"),
    ],
)
def test_a_grader_has_a_name_however_it_is_written(
    tmp_path: Path, provider: object, worker: str
) -> None:
    found = said(tmp_path / "results.json", results(graded(rubric("Is kind", provider))))
    assert found == [("llm-rubric: Is kind", worker, "pass")]


def test_graders_of_one_name_are_told_apart_by_how_they_are_set_up(tmp_path: Path) -> None:
    """A grader that is asked twice stays one worker, whose verdict is repeated."""
    hot = {"id": "m", "config": {"temperature": 1}}
    parts = [rubric("Is kind", grader) for grader in ("m", hot, {"id": "m"}, hot)]
    found = said(tmp_path / "results.json", results(graded(*parts)))
    assert [worker for _, worker, _ in found] == ["m", "m (2)", "m", "m (2)"]


def test_where_the_files_of_a_grader_lie_does_not_make_it_another(tmp_path: Path) -> None:
    """``--grader`` adds a path that a grader named by its assertion does not have."""
    here = {"providerId": "file://g.js", "config": {"basePath": "somewhere"}}
    options = {"testCase": {"options": {"provider": here}}}
    tests = [graded(rubric("Is kind", "file://g.js")), graded(rubric("Is kind"), test=1) | options]
    found = said(tmp_path / "results.json", results(*tests))
    assert [worker for _, worker, _ in found] == 2 * ["file://g.js"]


def test_what_an_output_is_compared_with_is_not_the_question(tmp_path: Path) -> None:
    fact = {"type": "factuality", "value": "Rome is in Italy"}
    found = said(tmp_path / "results.json", results(graded({"pass": True, "assertion": fact})))
    assert found == [("factuality", "default grader", "pass")]


@pytest.mark.parametrize(
    "kind", ["contains", "latency", "cost", "javascript", "is-json", "not-regex", "similar"]
)
def test_checks_are_no_judges_unless_asked_for(tmp_path: Path, kind: str) -> None:
    check = {"pass": False, "assertion": {"type": kind, "value": "x"}}
    record = results(graded(rubric("Is kind", "a"), check))
    path = tmp_path / "results.json"
    assert said(path, record) == [("llm-rubric: Is kind", "a", "pass")]
    assert read_questions(path)[1].left_out == {"checks": 1}
    assert said(path, record, include=["checks"])[1] == (f"{kind}: x", kind, "fail")
    alone = results(graded(check))
    with pytest.raises(InputError, match=r"none: 1 check \(--include checks\)"):
        read(path, alone)


def test_verdicts_by_models_and_people_are_judges(tmp_path: Path) -> None:
    kinds = ["factuality", "not-llm-rubric", "g-eval", "promptfoo:redteam:pii", "human"]
    parts = [{"pass": True, "assertion": {"type": kind}} for kind in kinds]
    found = said(tmp_path / "results.json", results(graded(*parts)))
    assert [question for question, *_ in found] == kinds
    assert found[-1] == ("human", "human", "pass")


def test_a_grader_that_failed_has_not_judged(tmp_path: Path) -> None:
    """promptfoo has "pass": false there as well."""
    failed = rubric("Is kind", "b") | {"pass": False, "metadata": {"graderError": True}}
    path = tmp_path / "results.json"
    found = said(path, results(graded(rubric("Is kind", "a"), failed)))
    assert found == [("llm-rubric: Is kind", "a", "pass")]
    assert read_questions(path)[1].missing == {("llm-rubric: Is kind", "b"): 1}


def test_a_set_of_assertions_is_no_judge_beside_its_members(tmp_path: Path) -> None:
    member = rubric("Is kind", "a")
    whole = {"pass": False, "componentResults": [member]}
    assert len(said(tmp_path / "results.json", results(graded(whole, member)))) == 1


# Several choices -------------------------------------------------------------------------------


def test_all_of_several_choices_are_the_label(tmp_path: Path) -> None:
    both, one = '["cat", "dog"]', "cat"
    line = {"_input_hash": 1, "answer": "accept"}
    lines = [
        line | {"_annotator_id": "ann", "accept": ["cat", "dog"]},
        line | {"_annotator_id": "bob", "accept": ["cat"]},
    ]
    text = "".join(json.dumps(each) + "\n" for each in lines)
    with pytest.raises(InputError, match=r"choices=True: sets of classes.*found several in one"):
        read(tmp_path / "lines.jsonl", text)
    read_sets = partial(read, choices=True)
    assert [vote[2] for vote in read_sets(tmp_path / "lines.jsonl", text)] == [both, one]
    values = [{"value": ["cat", "dog"], "user_id": "a"}, {"value": ["cat"], "user_id": "b"}]
    record = {"id": "r", "responses": {"animal": values}}
    assert [vote[2] for vote in read_sets(tmp_path / "records.json", [record])] == [both, one]
    buttons = "HITId,WorkerId,Answer.cat.on,Answer.dog.on\nh,w1,true,true\nh,w2,true,false\n"
    assert [vote[2] for vote in read_sets(tmp_path / "batch.csv", buttons)] == [both, one]
    head = "ASSIGNMENT:task_id\tASSIGNMENT:worker_id\tOUTPUT:animal\n"
    rows = '1\tw1\t"[""cat"",""dog""]"\n1\tw2\t"[""cat""]"\n'
    assert [vote[2] for vote in read_sets(tmp_path / "tasks.tsv", head + rows)] == [both, one]


@pytest.mark.parametrize("view", ["ner_manual", "image_manual", "text_input", "relations"])
def test_work_of_prodigy_that_is_no_class_is_refused(tmp_path: Path, view: str) -> None:
    line = {"_input_hash": 1, "_annotator_id": "ann", "answer": "accept", "_view_id": view}
    with pytest.raises(InputError, match=f"work of {view}"):
        read(tmp_path / "lines.jsonl", json.dumps(line) + "\n")


def test_of_a_question_asked_of_several_regions_all_classes_are_taken(tmp_path: Path) -> None:
    result = [
        {"from_name": "mood", "type": "choices", "value": {"choices": [choice]}}
        for choice in ("good", "bad", "good")
    ]
    annotations = [
        {"completed_by": worker, "result": part}
        for worker, part in enumerate((result, result[1:2], result[::2]))
    ]
    found = read(tmp_path / "export.json", [{"id": 7, "annotations": annotations}], choices=True)
    assert [label for *_, label in found] == ['["good", "bad"]', "bad", "good"]


def test_a_member_of_a_panel_may_judge_by_criteria(tmp_path: Path) -> None:
    votes = [
        {"judge": "a", "true": "C", "kind": True, "reason": "it is"},
        {"judge": "b", "score": "I"},
    ]
    scores = {"panel": {"value": "C", "metadata": {"panel": votes}}}
    log = {"eval": {"run_id": "r", "task": "t"}, "samples": [{"id": 1, "scores": scores}]}
    found = said(tmp_path / "log.json", log)
    assert found == [("true", "a", "C"), ("kind", "a", "true"), ("", "b", "I")]


def test_nan_in_a_log_is_no_label(tmp_path: Path) -> None:
    """inspect_ai writes NaN, which is not JSON, where a scorer could not tell."""
    scores = [{"a": {"value": float("nan")}, "b": {"value": "C"}}, {"a": {"value": "I"}}]
    samples = [{"id": place, "epoch": 1, "scores": one} for place, one in enumerate(scores)]
    log = json.dumps({"eval": {"run_id": "r", "task": "t"}, "samples": samples})
    assert "NaN" in log
    assert read(tmp_path / "log.json", log) == [("0", "b", "C"), ("1", "a", "I")]
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        for place, sample in enumerate(samples):
            archive.writestr(f"samples/{place}_epoch_1.json", json.dumps(sample))
    assert votes(tmp_path / "log.eval") == [("0", "b", "C"), ("1", "a", "I")]
