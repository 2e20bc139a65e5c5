"""What was written is read back: every task, every label, every confidence."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

import crowdstream as cs
from crowdstream.cli import app
from crowdstream.labels.readers.label_studio import task_answers
from crowdstream.labels.readers.small_tables import read_text_table

NAMES = ["=1+1", "<b>bold</b>", 'say "hi", twice', "two\nlines", "ü"]
"""Tasks and workers that somebody means ill with."""


def decision(
    task: str, label: Any, confidence: float = 0.9, *, settled: bool = True
) -> cs.Decision:
    return cs.Decision(task, label, confidence, 0.5, 3, settled, True)


LABELS = ["good", "bad", "=x", "<i>", "ü"]
DECISIONS = [
    decision(name, label, 0.5 + n / 10)
    for n, (name, label) in enumerate(zip(NAMES, LABELS, strict=True))
]


def write_decisions(path: Path, decisions: list[cs.Decision]) -> str:
    rows = {name: [getattr(one, name) for one in decisions]
            for name in ("task", "label", "confidence", "settled")}  # fmt: skip
    pl.DataFrame(rows, strict=False).write_csv(path)
    return str(path)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def result(question: str, label: str) -> dict[str, Any]:
    return {"from_name": question, "to_name": "text", "type": "choices",
            "value": {"choices": [label]}}  # fmt: skip


def export_of(names: list[str], *questions: str) -> list[dict[str, Any]]:
    """A JSON export of Label Studio with one annotation a task."""
    return [
        {"id": name, "data": {"text": f"about {name}"},
         "annotations": [{"id": n, "completed_by": 1,
                          "result": [result(question, "good") for question in questions]}]}
        for n, name in enumerate(names)
    ]  # fmt: skip


def test_label_studio_reads_the_decisions_back(tmp_path: Path) -> None:
    tasks = [*export_of(NAMES, "mood"), {"id": "other", "data": {"text": "not decided"}}]
    found = cs.writers.to_label_studio(DECISIONS, tasks)
    answers = [one for task in found for one in task_answers(task, predictions=True)]
    assert [(one.task, one.label, one.question, one.worker) for one in answers] == [
        (one.task, one.label, "mood", "model:crowdstream") for one in DECISIONS
    ]
    scores = [one["predictions"][0]["score"] for one in found if "predictions" in one]  # type: ignore[index]
    assert scores == [one.confidence for one in DECISIONS]
    assert [one["data"] for one in found] == [one["data"] for one in tasks]
    assert not any("annotations" in one for one in found), "imported, they would be truths"
    # The command writes the same.
    source, out = tmp_path / "export.json", tmp_path / "import.json"
    source.write_text(json.dumps(tasks))
    given = write_decisions(tmp_path / "decisions.csv", DECISIONS)
    done = run("label-studio", given, "--source", source, "-o", out)
    assert (done.exit_code, done.output) == (0, "5 predictions on 6 tasks\n")
    assert json.loads(out.read_text()) == found


def test_label_studio_takes_no_decisions_of_another_project(tmp_path: Path) -> None:
    source, out = tmp_path / "export.json", tmp_path / "import.json"
    source.write_text(json.dumps(export_of(["elsewhere"], "mood")))
    given = write_decisions(tmp_path / "decisions.csv", DECISIONS)
    done = run("label-studio", given, "--source", source, "-o", out)
    assert done.exit_code == 2
    assert "expected decisions on tasks of" in done.output
    assert not out.exists()


def test_label_studio_needs_to_know_the_question(tmp_path: Path) -> None:
    tasks = export_of(["1"], "mood", "topic")
    with pytest.raises(cs.InputError, match="'mood' or 'topic'"):
        cs.writers.to_label_studio([decision("1", "good")], tasks)
    found = cs.writers.to_label_studio([decision("1", "good")], tasks, question="topic")
    (answer,) = task_answers(found[0], predictions=True)
    assert (answer.question, answer.label) == ("topic", "good")
    with pytest.raises(cs.InputError, match="annotations with choices"):
        cs.writers.to_label_studio([], [{"id": 1, "data": {}}])


def batch_of(rows: list[tuple[str, str, str, str]]) -> pl.DataFrame:
    """The results of a batch, as they are downloaded."""
    names = ["HITId", "WorkerId", "Answer.mood", "AssignmentStatus"]
    table = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    empty = [pl.lit(None, pl.String).alias(name) for name in ("Approve", "Reject")]
    return table.with_columns(pl.lit('a "quoted", text').alias("Input.text"), *empty)


ROWS = [
    ("h1", "good-worker", "good", "Submitted"), ("h1", "bad-worker", "bad", "Submitted"),
    ("h2", "bad-worker", "good", "Submitted"), ("h3", "bad-worker", "bad", "Submitted"),
    ("h4", "good-worker", "bad", "Submitted"), ("h5", "bad-worker", "bad", "Approved"),
    ("h6", "bad-worker", "bad", "Submitted"), ("h1", "=cmd", "bad", "Submitted"),
]  # fmt: skip
ON_HITS = [
    decision("h1", "good", 0.999), decision("h2", "good"), decision("h3", "good", settled=False),
    decision("h4", "good"), decision("h5", "good"),
]  # fmt: skip


def test_everybody_is_paid_unless_rejecting_is_asked_for(tmp_path: Path) -> None:
    batch = batch_of(ROWS)
    source, out = tmp_path / "batch.csv", tmp_path / "review.csv"
    batch.write_csv(source)
    given = write_decisions(tmp_path / "decisions.csv", ON_HITS)
    done = run("mturk", given, "--source", source, "-o", out)
    assert (done.exit_code, done.output) == (0, "7 assignments approved, 0 rejected\n")
    review = read_text_table(str(out))
    assert review.columns == batch.columns
    same = [name for name in batch.columns if name not in ("Approve", "Reject")]
    assert review.select(same).equals(batch.select(same)), "their own cells stay as they are"
    waits = [status == "Submitted" for *_, status in ROWS]
    assert review["Approve"].to_list() == ["x" if one else None for one in waits]
    assert review["Reject"].null_count() == review.height


def test_only_who_fails_twice_is_rejected_and_told_why(tmp_path: Path) -> None:
    """Not a good worker who errs, not on a doubtful or unknown HIT, not a right answer."""
    source, out, workers = (tmp_path / name for name in ("batch.csv", "review.csv", "workers.csv"))
    batch_of(ROWS).write_csv(source)
    workers.write_text(
        "worker,answers,evidence,advice\nbad-worker,40,gold,drop\ngood-worker,40,gold,pay\n"
        "=cmd,5,gold,wait\n"
    )
    given = write_decisions(tmp_path / "decisions.csv", ON_HITS)
    done = run("mturk", given, "--source", source, "-o", out, "--reject", "--workers", workers)
    assert (done.exit_code, done.output) == (0, "6 assignments approved, 1 rejected\n")
    review = read_text_table(str(out))
    rejected = review.filter(pl.col("Reject").is_not_null())
    assert rejected.select("HITId", "WorkerId").rows() == [("h1", "bad-worker")]
    reason = rejected["Reject"][0]
    assert "99 %" in reason
    assert "40 answers" in reason
    assert reason[0] not in "=+-@", "a spreadsheet takes it as text"
    both = review.filter(pl.col("Approve").is_not_null() & pl.col("Reject").is_not_null())
    assert both.height == 0


def test_nobody_is_refused_pay_by_agreement_alone_unless_asked_for(tmp_path: Path) -> None:
    source, workers = tmp_path / "batch.csv", tmp_path / "workers.csv"
    batch_of(ROWS).write_csv(source)
    given = write_decisions(tmp_path / "decisions.csv", ON_HITS)
    asked = ("mturk", given, "--source", source, "-o", tmp_path / "r.csv", "--reject")
    for table in (
        "answers,advice\nbad-worker,40,drop",
        "answers,evidence,advice\nx,4,agreement,drop",
    ):
        workers.write_text(f"worker,{table}\n")
        refused = run(*asked, "--workers", workers)
        assert refused.exit_code == 2
        assert "--without-gold" in refused.output
        assert not (tmp_path / "r.csv").exists()
    assert run(*asked, "--workers", workers, "--without-gold").exit_code == 0


def test_answers_in_json_are_compared_too() -> None:
    batch = batch_of(ROWS[:2]).rename({"Answer.mood": "Answer.taskAnswers"})
    forms = [
        json.dumps([{"mood": {"label": row[2]}, "sure": {"label": "yes"}}]) for row in ROWS[:2]
    ]
    batch = batch.with_columns(pl.Series("Answer.taskAnswers", forms))
    reject = {"bad-worker": 40}
    with pytest.raises(cs.InputError, match="'mood' or 'sure'"):
        cs.writers.to_mturk(ON_HITS, batch, reject=reject)
    found = cs.writers.to_mturk(ON_HITS, batch, reject=reject, question="mood")
    assert found["Reject"].is_not_null().to_list() == [False, True]


def test_nobody_is_rejected_for_choosing_several() -> None:
    batch = batch_of([ROWS[1]]).drop("Answer.mood")
    buttons = {"Answer.good.on": ["true"], "Answer.bad.on": ["true"]}
    batch = batch.with_columns(pl.Series(name, cells) for name, cells in buttons.items())
    reject = {"bad-worker": 40}
    found = cs.writers.to_mturk(ON_HITS, batch, reject=reject)
    assert found["Reject"].null_count() == 1
    one = batch.with_columns(pl.Series("Answer.good.on", ["false"]))
    assert cs.writers.to_mturk(ON_HITS, one, reject=reject)["Reject"].null_count() == 0


def test_rejecting_needs_the_table_of_workers(tmp_path: Path) -> None:
    source = tmp_path / "batch.csv"
    batch_of(ROWS).write_csv(source)
    given = write_decisions(tmp_path / "decisions.csv", ON_HITS)
    done = run("mturk", given, "--source", source, "--reject")
    assert done.exit_code == 2
    assert "--workers" in done.output
    workers = tmp_path / "workers.csv"
    workers.write_text("worker,answers\nbad-worker,40\n")
    done = run("mturk", given, "--source", source, "--reject", "--workers", workers)
    assert done.exit_code == 2
    assert "'advice'" in done.output


def test_crowd_kit_gets_its_series(tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="the extra compat is not installed")
    found = cs.writers.to_crowd_kit([*DECISIONS, decision("undecided", None)])
    assert (found.name, found.index.name) == ("agg_label", "task")
    assert found.to_dict() == {one.task: one.label for one in DECISIONS}
    out = tmp_path / "aggregated.csv"
    given = write_decisions(tmp_path / "decisions.csv", DECISIONS)
    assert run("crowd-kit", given, "-o", out).exit_code == 0
    table = read_text_table(str(out))
    assert dict(table.select("task", "agg_label").iter_rows()) == found.to_dict()


def test_ground_truth_gets_its_annotations_back(tmp_path: Path) -> None:
    given = write_decisions(tmp_path / "decisions.csv", DECISIONS)
    done = run("ground-truth", given, "--attribute", "mood", "--job", "moods",
               "--category", "bad", "--category", "good", "-o", tmp_path / "o.json")  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "o.json").read_text())
    contents = {one["datasetObjectId"]: one["consolidatedAnnotation"]["content"] for one in found}
    assert list(contents) == NAMES
    for one in DECISIONS:
        content = contents[str(one.task)]
        metadata = content["mood-metadata"]
        assert content["mood"]["label"] == metadata["class-name"] == one.label
        assert metadata["confidence"] == pytest.approx(one.confidence, abs=1e-6)  # CSV's digits
        assert metadata["job-name"] == "moods"
    assert contents[NAMES[0]]["mood"]["index"] == 1


def test_the_lambda_function_decides_a_payload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    from ground_truth_lambda import handler  # type: ignore[import-not-found]

    assert "boto3" not in sys.modules
    crowd = cs.simulate(6, 60, p=[0.1, 0.1, 0.1, 0.15, 0.4, 0.5], seed=2)
    objects: dict[str, list[dict[str, Any]]] = {}
    for task, worker, label in crowd.labels().iter_rows():
        content = json.dumps({"mood": {"label": str(label)}})
        data = {"workerId": f"private.{worker}", "annotationData": {"content": content}}
        objects.setdefault(str(task), []).append(data)
    payload = [{"datasetObjectId": task, "annotations": every} for task, every in objects.items()]
    payload.append(
        {
            "datasetObjectId": "odd",
            "annotations": [{"workerId": "w", "annotationData": {"content": "{"}}],
        }
    )
    event = {
        "version": "2018-10-16", "labelingJobArn": "arn:aws:sagemaker:x:1:labeling-job/moods",
        "labelAttributeName": "mood", "labelCategories": None,
        "payload": {"s3Uri": "s3://bucket/consolidation/1.json"},
    }  # fmt: skip
    places: list[str] = []

    def read(uri: str) -> bytes:
        places.append(uri)
        return json.dumps(payload).encode()

    found = handler(event, None, read)
    assert places == ["s3://bucket/consolidation/1.json"]
    labels = crowd.labels().with_columns(pl.all().cast(pl.String))
    expected = cs.Adaptive().fit_predict(labels)
    assert isinstance(expected, pl.DataFrame)
    told = {
        one["datasetObjectId"]: one["consolidatedAnnotation"]["content"]["mood"]["label"]
        for one in found
    }
    assert told == dict(expected.select("task", "label").iter_rows())
    json.dumps(found)


def test_of_a_form_with_two_fields_the_attribute_says_which() -> None:
    form = json.dumps({"mood": {"label": "good"}, "topic": {"label": "sport"}})
    annotation = {"workerId": "w", "annotationData": {"content": form}}
    payload = [{"datasetObjectId": "0", "annotations": [annotation]}]
    (found,) = cs.writers.consolidate({"labelAttributeName": "topic"}, payload)
    assert found["consolidatedAnnotation"]["content"]["topic"] == {"label": "sport"}  # type: ignore[index]
    with pytest.raises(cs.InputError, match="'mood', 'topic'"):
        cs.writers.consolidate({"labelAttributeName": "other"}, payload)


def test_several_choices_are_not_consolidated_as_one() -> None:
    form = json.dumps({"mood": {"labels": ["good", "bad"]}})
    annotation = {"workerId": "w", "annotationData": {"content": form}}
    payload = [{"datasetObjectId": "0", "annotations": [annotation]}]
    with pytest.raises(cs.InputError, match="expected one class, found several"):
        cs.writers.consolidate({"labelAttributeName": "mood"}, payload)


def test_decisions_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    for text, says in (
        ("task,label\n1,x\n", "'confidence'"),
        ("task,label,confidence\n1,x,high\n", "0 to 1"),
    ):
        path.write_text(text)
        done = run("ground-truth", path, "--attribute", "mood")
        assert done.exit_code == 2
        assert says in done.output
    source = tmp_path / "export.json"
    source.write_text("{}")
    path.write_text("task,label,confidence\n1,x,0.5\n")
    done = run("label-studio", path, "--source", source)
    assert done.exit_code == 2
    assert "an array of tasks" in done.output
