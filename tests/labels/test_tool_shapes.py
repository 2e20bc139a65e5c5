"""Shapes of tools' files in other hands: names with dots, NaN, regions, sessions."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

import crowdstream as cs
from crowdstream.errors import InputError

Votes = list[tuple[str, str, str]]


def read(path: Path, content: object) -> Votes:
    """Task, worker and label of each vote in a file of this content."""
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return votes(path)


def votes(path: Path) -> Votes:
    return cs.read_labels(path).select("task", "worker", "label").rows()


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
    assert votes(tmp_path / "full.csv") == [("1", "w1", "a"), ("1", "w2", "a")]


def test_a_field_that_a_turker_left_out_is_no_question(tmp_path: Path) -> None:
    rows = "HITId,WorkerId,Answer.mood,Answer.comment\nh,w1,good,{}\nh,w2,{},{}\n"
    assert read(tmp_path / "batch.csv", rows) == [("h", "w1", "good")]


def test_a_langfuse_score_of_a_session_has_the_session_for_its_task(tmp_path: Path) -> None:
    scores = [
        {"id": name, "traceId": None, "sessionId": "s1", "name": name, "value": 1}
        for name in ("judge-1", "judge-2")
    ]
    assert read(tmp_path / "scores.json", {"data": scores, "meta": {"page": 1}}) == [
        ("s1", "judge-1", "1"),
        ("s1", "judge-2", "1"),
    ]


def test_two_rubrics_of_one_model_are_two_judges(tmp_path: Path) -> None:
    """Else the second would replace the first as a later answer of the same worker."""
    rubric = {"type": "llm-rubric", "provider": "m"}
    parts = [
        {"pass": True, "assertion": rubric},
        {"pass": False, "assertion": rubric},
        {"pass": True, "assertion": {"type": "llm-rubric", "provider": {"id": "n"}}},
    ]
    result = {"testIdx": 0, "promptIdx": 0, "gradingResult": {"componentResults": parts}}
    found = read(tmp_path / "results.json", {"results": {"results": [result]}})
    assert [vote[1:] for vote in found] == [("m 1", "pass"), ("m 2", "fail"), ("n", "pass")]


@pytest.mark.parametrize("view", ["ner_manual", "image_manual", "text_input", "relations"])
def test_work_of_prodigy_that_is_no_class_is_refused(tmp_path: Path, view: str) -> None:
    line = {"_input_hash": 1, "_annotator_id": "ann", "answer": "accept", "_view_id": view}
    with pytest.raises(InputError, match=f"work of {view}"):
        read(tmp_path / "lines.jsonl", json.dumps(line) + "\n")


def test_of_a_question_asked_of_several_regions_the_first_counts(tmp_path: Path) -> None:
    result = [
        {"from_name": "mood", "type": "choices", "value": {"choices": [choice]}}
        for choice in ("good", "bad")
    ]
    annotations = [{"completed_by": 1, "result": result}, {"completed_by": 2, "result": result[1:]}]
    task = {"id": 7, "annotations": annotations}
    assert read(tmp_path / "export.json", [task]) == [("7", "1", "good"), ("7", "2", "bad")]


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
