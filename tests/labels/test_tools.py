"""Exports of tools: told by their keys, and every row of what is and is not a label in them."""

from __future__ import annotations

import json
import zipfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import crowdstream as cs
from crowdstream.errors import InputError
from crowdstream.labels.columns import ColumnNames, count_roles
from crowdstream.labels.meaning.kinds import LabelHints
from crowdstream.labels.readers import (
    BadRows,
    InputOptions,
    find_sources,
    make_options,
    read_all,
    read_batches,
)
from crowdstream.labels.readers.answer import Answer
from crowdstream.labels.readers.archives import read_archive
from crowdstream.labels.readers.sniffing import Dialect
from crowdstream.labels.readers.sources import Readable, Source, open_bytes
from crowdstream.labels.readers.tally import Tally
from crowdstream.labels.readers.text_stream import TextStream
from crowdstream.labels.readers.tool_files import read_tool
from crowdstream.labels.readers.tools import TOOL_NAMES, closed, find_tool
from tests.fuzzing import FIXTURES
from tests.reading import labels_of, rows_of

AS_WRITTEN = LabelHints(as_classes=True, exact=True)
"""Sets of choices and spellings are looked at elsewhere."""


class Counts(NamedTuple):
    """What is in a fixture, by its maker's own count."""

    title: str
    tasks: int
    workers: int
    labels: int
    skips: int = 0
    gold: int = 0
    left_out: int = 0
    several: int = 0


LM_EVAL = "lm-eval/house__large/samples_colours_2026-01-01T00-00-00.000000.jsonl"

WANTED = {
    "label-studio/export.json": Counts("a Label Studio export", 7, 4, 26, 1, gold=1, several=1),
    "label-studio/min.json": Counts(
        "a short Label Studio export (JSON_MIN or CSV)", 7, 4, 27, several=1
    ),
    "label-studio/webhooks.jsonl": Counts("Label Studio's webhooks", 6, 4, 21, 1),
    # The client writes no status beside nested responses: drafts are in it as answers.
    "argilla/nested.json": Counts("an Argilla export", 8, 4, 32, left_out=8),
    "argilla/flat.json": Counts("an Argilla export", 8, 4, 30, 2, left_out=8),
    "argilla/webhooks.jsonl": Counts("Argilla's webhooks", 6, 4, 22, 1),
    "prodigy/choice.jsonl": Counts("a Prodigy export", 6, 4, 23, 1, several=1),
    "prodigy/binary.jsonl": Counts("a Prodigy export", 6, 4, 23, 1),
    "doccano/export.zip": Counts("a doccano export", 6, 4, 23, 1),
    "mturk/batch.csv": Counts("results of a Mechanical Turk batch", 6, 4, 23, 1),
    "mturk/buttons.csv": Counts("results of a Mechanical Turk batch", 6, 4, 23, 1),
    "mturk/task_answers.csv": Counts("results of a Mechanical Turk batch", 6, 4, 23, 1),
    "toloka/assignments.tsv": Counts("Toloka's assignments", 6, 4, 23, 1, gold=2),
    "appen/full.csv": Counts("Appen's full report", 6, 4, 23, 1, gold=2),
    "ground-truth/annotations.json": Counts("annotations of SageMaker Ground Truth", 6, 4, 24),
    "inspect-ai/log.json": Counts("a log of inspect_ai", 8, 6, 47, 1),
    "inspect-ai/log.eval": Counts("a log of inspect_ai", 8, 6, 47, 1),
    "promptfoo/results.json": Counts("results of promptfoo", 6, 3, 17, 1, left_out=12),
    "langfuse/scores.json": Counts("scores of langfuse", 6, 4, 24),
    "langfuse/page.json": Counts("scores of langfuse", 6, 4, 23, 1),
    LM_EVAL: Counts("samples of lm-evaluation-harness", 5, 1, 5, gold=5),
}

MIXED: dict[str, dict[str, tuple[set[str], int]]] = {
    "promptfoo/rubrics.json": {
        "llm-rubric: The sum is right": (
            {"file://grader.js", "file://grader.js (2)", "house grader"},
            17,
        ),
        "tone": ({"file://grader.js", "file://grader.js (2)", "house grader"}, 17),
    },
    "langfuse/mixed.json": {
        name: ({"EVAL", "judge-b", "user-7"}, 18)
        for name in ("hallucination", "toxicity", "helpful")
    },
    "inspect-ai/criteria.json": {
        "right": ({"criteria", "member-5", "member-20"}, 9),
        "brief": ({"criteria", "member-5", "member-20"}, 12),
    },
}
MIXED["langfuse/v3.json"] = MIXED["langfuse/mixed.json"]
"""Fixtures with several questions: who answers each, and how many labels it has."""

JUDGES = {"gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro"}
MODELS = {"house__large", "house__small", "other-7b"}


def add_mixed(who: set[str], labels: dict[str, int], *names: str) -> None:
    """Say of fixtures that hold the same labels who answers their questions how often."""
    for name in names:
        MIXED[name] = {question: (who, number) for question, number in labels.items()}


add_mixed(
    {"openai:/gpt-5", "anthropic:/claude-sonnet-4-5", "ann@example.org"},
    {"is_grounded": 17, "tone": 18},
    "mlflow/traces.jsonl",
    "mlflow/table.json",
)
METRICS = {"Correctness [GEval]": 17, "Answer Relevancy": 18}
add_mixed(JUDGES, METRICS, "deepeval/test_run.json")
add_mixed(JUDGES, METRICS | {"Intent": 18}, "deepeval/evaluation.json")
PHOENIX = tuple(f"phoenix/{name}" for name in ("annotations.json", "page.json", "table.csv"))
add_mixed({"gpt-5", "claude", "VXNlcjox"}, {"hallucination": 17, "helpfulness": 18}, *PHOENIX)
add_mixed(
    {"gpt-5", "auto_eval rule-7", "ann"}, {"correct": 17, "tone": 18}, "langsmith/feedback.jsonl"
)
add_mixed(MODELS, {"colours": 15, "sums (strict-match)": 14}, "lm-eval/results.zip")
OTEL = ("opentelemetry/otlp.json", "opentelemetry/console.jsonl")
add_mixed(JUDGES, {"Relevance": 17, "Safety": 18}, *OTEL)


class Asides(NamedTuple):
    """What else is in a fixture of several questions: verdicts that are missing, gold, checks."""

    title: str
    missing: tuple[str, str]
    gold: dict[str, int]
    checks: int


EVALUATIONS = {
    "mlflow/traces.jsonl": Asides(
        "assessments of MLflow", ("is_grounded", "openai:/gpt-5"), {"is_grounded": 2}, 6
    ),
    "deepeval/test_run.json": Asides(
        "results of DeepEval", ("Correctness [GEval]", "claude-sonnet-4-5"), {}, 6
    ),
    "phoenix/annotations.json": Asides(
        "annotations of Phoenix", ("hallucination", "claude"), {}, 1
    ),
    "langsmith/feedback.jsonl": Asides(
        "feedback of LangSmith", ("correct", "auto_eval rule-7"), {}, 0
    ),
    "lm-eval/results.zip": Asides(
        "samples of lm-evaluation-harness",
        ("sums (strict-match)", "other-7b"),
        {"colours": 5, "sums (strict-match)": 5},
        0,
    ),
    "opentelemetry/otlp.json": Asides(
        "evaluations of OpenTelemetry", ("Relevance", "claude-sonnet-4-5"), {}, 0
    ),
}
EVALUATIONS["mlflow/table.json"] = EVALUATIONS["mlflow/traces.jsonl"]
EVALUATIONS["deepeval/evaluation.json"] = EVALUATIONS["deepeval/test_run.json"]._replace(
    gold={"Intent": 2}
)
EVALUATIONS |= dict.fromkeys(PHOENIX, EVALUATIONS["phoenix/annotations.json"])
EVALUATIONS |= dict.fromkeys(OTEL, EVALUATIONS["opentelemetry/otlp.json"])

TITLES = {name: wanted.title for name, wanted in WANTED.items()} | {
    name: asides.title for name, asides in EVALUATIONS.items()
}


def read(
    path: Path | str, tool: str | None = None, policy: str = "fail", **options: Any
) -> tuple[pl.DataFrame, BadRows]:
    """The labels of a file, and what else was in it."""
    with BadRows(policy) as bad:
        sources = find_sources([str(path)], tool, make_options(**options))
        names = ColumnNames(question=options.get("question"))
        return labels_of(sources, names, bad, AS_WRITTEN).frame(), bad


def read_questions(path: Path | str, **options: Any) -> tuple[pl.DataFrame, Tally]:
    """The table that `read_tool` makes of a file, with the questions, and what else was in it."""
    (source,) = find_sources([str(path)], None, make_options(**options))
    tables = []
    with BadRows() as bad, ExitStack() as files:
        parts: list[tuple[Source, Readable]]
        if source.format == "zip":
            inside = [(f"{source.path}/{name}", file) for name, file in read_archive(source)]
            parts = [(source._replace(path=name, format="jsonl"), file) for name, file in inside]
        else:
            parts = [(source, files.enter_context(open_bytes(source)))]
        for part, file in parts:
            text = TextStream(file, part, partial(count_roles, ColumnNames()))
            found = find_tool(text.head, text.dialect, ColumnNames(), None, part.name)
            assert found is not None
            ((_, table),) = read_tool(text, found, part, bad, 1 << 20, whole=True)
            tables.append(table)
    assert bad.tally is not None
    return pl.concat(tables), bad.tally


def written(folder: Path, name: str, content: object) -> Path:
    """A file of text, or of JSON: a list as lines if it is called so."""
    path = folder / name
    if isinstance(content, str):
        path.write_text(content)
    elif isinstance(content, list) and name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(each) + "\n" for each in content))
    else:
        path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("name", WANTED)
def test_every_fixture_is_told_by_its_keys_and_counted(name: str) -> None:
    wanted = WANTED[name]
    table, bad = read(FIXTURES / name)
    tally = bad.tally
    assert tally is not None
    assert list(tally.titles) == [wanted.title]
    assert (table["task"].n_unique(), table["worker"].n_unique(), table.height) == wanted[1:4]
    several = table.filter(pl.col("label").str.starts_with("[")).height
    assert (tally.skips, len(tally.gold), tally.left_out.total(), several) == wanted[4:]
    assert tally.labels == table.height
    assert table.null_count().sum_horizontal().item() == 0


@pytest.mark.parametrize("name", WANTED)
def test_pieces_of_a_file_hold_the_same_labels_as_the_whole(name: str) -> None:
    sources = find_sources([str(FIXTURES / name)])
    whole, _ = read(FIXTURES / name)
    for size in (50, 3000):
        pieces = read_batches(sources, ColumnNames(), BadRows(), size)
        assert rows_of(raw for _, raw in pieces).equals(whole)


@pytest.mark.parametrize("name", EVALUATIONS)
def test_what_is_no_vote_in_a_file_of_evaluations_is_counted(name: str) -> None:
    wanted = EVALUATIONS[name]
    table, tally = read_questions(FIXTURES / name)
    assert list(tally.titles) == [wanted.title]
    assert tally.missing == {wanted.missing: 1}
    assert {question: len(gold) for question, gold in tally.golds.items()} == wanted.gold
    assert tally.left_out.total() == wanted.checks
    assert table.null_count().select("task", "worker", "label").sum_horizontal().item() == 0
    timed = table["at"].null_count() == 0
    assert timed == (wanted.title not in ("results of DeepEval", TITLES[LM_EVAL]))


@pytest.mark.parametrize("name", EVALUATIONS)
def test_checks_of_a_file_of_evaluations_are_votes_when_asked_for(name: str) -> None:
    table, tally = read_questions(FIXTURES / name, include=["checks"])
    less, _ = read_questions(FIXTURES / name)
    assert table.height == less.height + EVALUATIONS[name].checks
    assert tally.left_out.total() == 0


@pytest.mark.parametrize("names", [PHOENIX, OTEL, ("mlflow/traces.jsonl", "mlflow/table.json")])
def test_all_shapes_of_one_tool_hold_the_same_labels(names: tuple[str, ...]) -> None:
    first, *others = (read_questions(FIXTURES / name)[0] for name in names)
    assert all(other.equals(first) for other in others)


def test_every_tool_has_a_fixture() -> None:
    assert {name.split("/")[0] for name in TITLES} == set(TOOL_NAMES)


def test_json_and_eval_logs_of_one_evaluation_hold_the_same_labels() -> None:
    keys = ["task", "worker"]
    one, other = (
        read(FIXTURES / f"inspect-ai/log.{kind}")[0].sort(keys) for kind in ("json", "eval")
    )
    assert one.equals(other)
    # The panel votes, not the score made of its votes.
    assert set(one["worker"]) == {"match", "includes", "exact", "strict", "fair", "kind"}


def test_all_three_ways_of_a_mechanical_turk_form_hold_the_same_labels() -> None:
    plain, *others = (
        read(FIXTURES / f"mturk/{name}.csv")[0] for name in ("batch", "buttons", "task_answers")
    )
    assert all(other.equals(plain) for other in others)


# What is a label, row by row -------------------------------------------------------------------


def choice(label: str, question: str = "mood") -> dict[str, object]:
    return {"from_name": question, "type": "choices", "value": {"choices": [label]}}


def task_of(*annotations: dict[str, object], **more: object) -> dict[str, object]:
    return {"id": 1, "data": {"text": "x"}, "annotations": list(annotations), **more}


def annotation(worker: object, *results: object, **more: object) -> dict[str, object]:
    return {"id": str(worker), "completed_by": worker, "result": list(results), **more}


def test_a_worker_is_the_same_by_number_and_by_object(tmp_path: Path) -> None:
    tasks = [
        task_of(annotation(10, choice("good")), id=1),
        task_of(annotation({"id": 10, "email": "a@b.c"}, choice("good")), id=2),
        task_of(annotation({"email": "a@b.c"}, choice("bad")), id=3),
    ]
    table, _ = read(written(tmp_path, "export.json", tasks))
    assert table["worker"].to_list() == ["10", "10", "a@b.c"]


def test_the_latest_of_a_workers_answers_counts_whatever_their_order(tmp_path: Path) -> None:
    new, old = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"
    both = task_of(
        annotation(1, choice("new"), updated_at=new), annotation(1, choice("old"), updated_at=old)
    )
    path = written(tmp_path, "export.json", [both])
    assert read(path)[0]["label"].to_list() == ["old", "new"]  # of a worker's labels the last holds
    decided = cs.MajorityVote().fit_predict(cs.read_labels(path))
    assert decided["label"].to_list() == ["new"]


def test_predictions_are_workers_when_asked_for(tmp_path: Path) -> None:
    said = [{"model_version": "m1", "result": [choice("bad")]}]
    path = written(
        tmp_path, "export.json", [task_of(annotation(1, choice("good")), predictions=said)]
    )
    assert read(path)[0]["worker"].to_list() == ["1"]
    table, bad = read(path, include=["predictions"])
    assert table.rows() == [("1", "1", "good"), ("1", "model:m1", "bad")]
    assert bad.tally is not None
    assert bad.tally.left_out.total() == 0
    assert cs.read_labels(path, include="predictions").height == 2
    with pytest.raises(
        InputError, match="--include: expected predictions or checks, found 'guess'"
    ):
        read(path, include=["guess"])


def test_several_questions_are_named_and_one_can_be_picked(tmp_path: Path) -> None:
    tasks = [
        task_of(annotation(worker, choice("good"), choice("sport", "topic")), id=task)
        for task in range(3)
        for worker in range(2)
    ]
    path = written(tmp_path, "export.json", tasks)
    with pytest.raises(InputError, match=r"2: mood \(6 labels\), topic \(6 labels\)") as error:
        read(path)
    assert "--question" in error.value.expected
    assert set(read(path, question="topic")[0]["label"]) == {"sport"}
    with pytest.raises(InputError, match=r"a question 'mode'.*mood \(6 labels\)"):
        read(path, question="mode")


@pytest.mark.parametrize("name", MIXED)
def test_every_question_of_a_fixture_is_yielded_with_its_own_workers(name: str) -> None:
    table, tally = read_questions(FIXTURES / name)
    assert table.columns == ["task", "worker", "label", "question", "at"]
    found = {
        question: (set(part["worker"]), part.height)
        for (question,), part in table.group_by("question")
    }
    assert found == MIXED[name]
    assert tally.questions == {question: labels for question, (_, labels) in MIXED[name].items()}
    assert tally.labels == table.height
    assert f"{table.height} labels of {len(found)} questions" in tally.said()
    keys = ["task", "worker", "question"]
    assert not table.select(keys).is_duplicated().any()


@pytest.mark.parametrize("name", MIXED)
def test_of_a_question_that_is_asked_for_only_its_labels_are_yielded(name: str) -> None:
    every, _ = read_questions(FIXTURES / name)
    for question, (_, labels) in MIXED[name].items():
        table, tally = read_questions(FIXTURES / name, question=question)
        assert table.equals(every.filter(pl.col("question") == question))
        assert tally.labels == labels
        assert "of other questions left out" in tally.said()


def test_an_archive_of_a_log_holds_the_same_questions() -> None:
    for question in MIXED["inspect-ai/criteria.json"]:
        one, other = (
            read(FIXTURES / f"inspect-ai/criteria.{kind}", question=question)[0]
            for kind in ("json", "eval")
        )
        assert one.equals(other)


def test_both_versions_of_langfuses_api_hold_the_same_labels() -> None:
    old, new = (read_questions(FIXTURES / f"langfuse/{name}.json")[0] for name in ("mixed", "v3"))
    assert old.equals(new)


def test_a_question_without_a_name_is_empty() -> None:
    table, tally = read_questions(FIXTURES / "prodigy" / "choice.jsonl")
    assert set(table["question"]) == {""}
    assert list(tally.questions) == [""]


def test_the_latest_answer_is_found_by_question(tmp_path: Path) -> None:
    def said(hour: int, *results: object) -> dict[str, object]:
        return annotation(1, *results, updated_at=f"2026-01-01T0{hour}:00:00Z")

    both = [choice("new"), choice("sport", "topic")]
    task = task_of(said(2, *both), said(1, choice("old")))
    table, _ = read_questions(written(tmp_path, "export.json", [task]))
    held = table.group_by("question", maintain_order=True).last()
    assert dict(held.select("question", "label").iter_rows()) == {"mood": "new", "topic": "sport"}


def test_gold_is_kept_by_question(tmp_path: Path) -> None:
    truth = annotation(9, choice("bad"), choice("sport", "topic"), ground_truth=True)
    tasks = [task_of(annotation(1, choice("good"), choice("arts", "topic")), truth)]
    path = written(tmp_path, "export.json", tasks)
    _, tally = read_questions(path)
    assert tally.golds == {"mood": {"1": "bad"}, "topic": {"1": "sport"}}
    assert tally.gold == {}, "whose gold it is cannot be told"
    assert "1 gold task" in tally.said()
    assert read_questions(path, question="topic")[1].gold == {"1": "sport"}


def test_a_question_that_one_worker_answers_is_said_to_be_that_workers(tmp_path: Path) -> None:
    tasks = [
        task_of(annotation(1, choice("good"), choice("arts", "topic")), id=1),
        task_of(annotation(2, choice("good")), id=2),
    ]
    path = written(tmp_path, "export.json", tasks)
    assert read_questions(path)[1].lone_workers() == {"topic": "1"}
    alone = "answered by one worker alone, whose word is the decision: topic by 1"
    assert any(alone in note for note in read(path, question="topic")[1].notes)
    assert not any("alone" in note for note in read(path, question="mood")[1].notes)


def test_answers_without_a_class_are_counted_by_question_and_worker() -> None:
    tally = Tally()
    for label in ("good", None, None):
        tally.take(Answer("t", "ann", label, "mood"))
    assert tally.missing == {("mood", "ann"): 2}


def test_what_is_said_of_a_question_is_of_that_question(tmp_path: Path) -> None:
    path = FIXTURES / "promptfoo" / "rubrics.json"
    _, tally = read_questions(path, question="tone")
    assert tally.said() == "17 labels, 1 skip, 17 labels of other questions left out"
    _, tally = read_questions(path)
    assert tally.skips == 2
    assert tally.left_out == {"checks": 12}
    with pytest.raises(InputError, match=r"none: 6 checks \(--include checks\)"):
        read(path, question="latency")
    # Who skipped a task of Label Studio has skipped every question.
    tasks = [
        task_of(annotation(1, choice("good"), choice("arts", "topic")), id=1),
        task_of(annotation(1, was_cancelled=True), id=2),
    ]
    _, tally = read_questions(written(tmp_path, "export.json", tasks), question="mood")
    assert tally.skips == 1


def test_columns_of_a_short_export_are_named_where_nothing_tells_answers_from_data() -> None:
    path = FIXTURES / "label-studio" / "export.csv"
    with pytest.raises(InputError, match=r"sentiment \(27 labels\), text \(27 labels\)"):
        read(path)
    with pytest.raises(InputError, match=r"a question 'mood'.*sentiment"):
        read(path, question="mood")
    table, _ = read(path, question="sentiment")
    other, _ = read(FIXTURES / "label-studio" / "min.json")
    keys = ["task", "worker"]
    assert table.sort(keys).equals(other.sort(keys))


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("label-studio/webhooks.jsonl", ("1", "2", "3")),
        ("argilla/webhooks.jsonl", ("r1", "r2", "r3")),
    ],
)
def test_events_change_withdraw_and_delete_answers(name: str, task: tuple[str, str, str]) -> None:
    table, _ = read(FIXTURES / name)
    changed, withdrawn, deleted = task
    first = pl.col("worker").is_in(["0", "u0"])
    assert table.filter(first, pl.col("task") == changed)["label"].to_list() == ["good"]
    assert table.filter(first, pl.col("task") == withdrawn).height == 0
    second = pl.col("worker").is_in(["1", "u1"])
    assert table.filter(second, pl.col("task") == deleted).height == 0


def test_flat_responses_go_by_their_parallel_lists(tmp_path: Path) -> None:
    flat = {
        "id": "r1",
        "mood.responses": ["good", "bad"],
        "mood.responses.users": ["u1", "u2"],
        "mood.responses.status": ["submitted", "discarded"],
    }
    assert read(written(tmp_path, "flat.json", [flat]))[0].rows() == [("r1", "u1", "good")]
    short = flat | {"mood.responses.users": ["u1"]}
    path = written(tmp_path, "short.json", [flat, short])
    where = r"short.json, record 2, mood.responses.users: expected one user"
    with pytest.raises(InputError, match=where):
        read(path)
    table, bad = read(path, policy="skip")
    assert (table.height, bad.rows) == (1, 1)


def test_nested_responses_without_status_are_said_to_hold_drafts() -> None:
    said = {
        name: [
            note for note in read(FIXTURES / f"argilla/{name}.json")[1].notes if "drafts" in note
        ]
        for name in ("nested", "flat")
    }
    assert (len(said["nested"]), said["flat"]) == (1, [])


def test_a_rejected_choice_of_prodigy_is_no_label(tmp_path: Path) -> None:
    line = {"_input_hash": 1, "_session_id": "s-ann", "accept": ["good"], "answer": "accept"}
    lines = [line, line | {"_session_id": "s-bob", "answer": "reject"}]
    table, bad = read(written(tmp_path, "lines.jsonl", lines))
    assert table.rows() == [("1", "s-ann", "good")]
    assert bad.tally is not None
    assert bad.tally.skips == 1


def test_a_file_of_all_users_of_doccano_says_that_workers_are_lost() -> None:
    with pytest.raises(InputError, match="does not say who gave a label"):
        read(FIXTURES / "doccano" / "all.jsonl")


def test_a_file_of_one_user_of_doccano_is_that_user(tmp_path: Path) -> None:
    lines = [{"id": 1, "text": "x", "label": ["good"]}]
    table, bad = read(written(tmp_path, "ann.jsonl", lines))
    assert table.rows() == [("1", "ann", "good")]
    assert any("the file's name is the worker" in note for note in bad.notes)


def test_gold_is_no_vote_but_read_as_gold() -> None:
    for name in ("toloka/assignments.tsv", "appen/full.csv"):
        table = cs.read_labels(FIXTURES / name)
        gold = table.drop_nulls("gold").group_by("task", maintain_order=True).first()
        assert gold["gold"].to_list() == ["good", "bad"]
        assert "" not in table["worker"]
        cs.Adaptive().fit(table, gold=table)  # as labels and as gold alike


def test_json_within_a_cell_that_is_broken_says_where(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    rows = 'HITId,WorkerId,Answer.taskAnswers\n1,ann,"[{""mood"": ""good""}]"\n1,bob,[{\n'
    path.write_text(rows)
    with pytest.raises(InputError, match=r"batch.csv, line 3, Answer.taskAnswers: expected JSON"):
        read(path)
    assert read(path, policy="skip")[0].rows() == [("1", "ann", "good")]


def test_what_is_wrong_is_set_aside_with_its_record(tmp_path: Path) -> None:
    tasks = [task_of(annotation(1, choice("good"))), task_of(annotation(None, choice("good")))]
    path = written(tmp_path, "export.json", tasks)
    where = r"export.json, record 2, annotations\[0\].completed_by: expected a user's id"
    with pytest.raises(InputError, match=where):
        read(path)
    aside = tmp_path / "aside.txt"
    read(path, policy=f"quarantine={aside}")
    assert "completed_by" in aside.read_text()
    assert '"annotations"' in aside.read_text()


# Which tool it is ------------------------------------------------------------------------------


def test_a_format_that_is_not_the_files_says_what_it_looks_like() -> None:
    for name in TITLES:
        tool = name.split("/")[0]
        other = "toloka" if tool != "toloka" else "appen"
        with pytest.raises(InputError, match=f"looks like .*; use --format {tool}"):
            read(FIXTURES / name, other)


def test_columns_that_the_user_names_go_before_what_a_file_looks_like() -> None:
    path = FIXTURES / "appen" / "full.csv"
    names = ColumnNames("_unit_id", "_worker_id", "mood")
    table = labels_of(find_sources([str(path)]), names).frame()
    assert table.height == 24  # with the tainted one


def test_a_plain_table_stays_a_table(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("HITId,WorkerId,answer\n1,ann,good\n")
    table, bad = read(path)
    assert (table.rows(), bad.tally) == ([("1", "ann", "good")], None)


def test_the_first_records_may_have_no_answers_yet(tmp_path: Path) -> None:
    tasks = [task_of(id=1), task_of(annotation(1, choice("good")), id=2)]
    assert read(written(tmp_path, "export.json", tasks))[0].rows() == [("2", "1", "good")]


@pytest.mark.parametrize("cut", [0.4, 0.7, 0.95])
@pytest.mark.parametrize("name", [name for name in TITLES if name.endswith((".json", ".jsonl"))])
def test_the_beginning_of_a_file_is_enough_to_tell(name: str, cut: float) -> None:
    text = (FIXTURES / name).read_text()
    dialect = Dialect("array" if text.startswith("[") else "jsonl")
    found = find_tool(text[: int(cut * len(text))], dialect, ColumnNames(), None, name)
    assert found is not None
    assert found.tool.title == TITLES[name]


def test_the_beginning_of_json_closed_is_json() -> None:
    text = '[{"a": "x, [\\" {", "b": [1, {"c": null}], "d": {"e": [true, "f'
    for end in range(1, len(text)):
        json.loads(closed(text[:end]))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"images": [], "annotations": [{"id": 1}], "categories": []}, "keys images, annotations"),
        ({"some": "thing"}, "expected a task column, found some"),
        ([], "an empty array"),
        ([task_of(annotation(1, {"type": "labels", "value": {}}))], "results of type labels"),
        ([task_of(annotation(1, was_cancelled=True))], "1 answer without a class"),
        ([task_of(predictions=[{"result": [choice("x")]}])], "1 prediction .--include predictions"),
        ('[{"id": 1, "annotations": [{"completed_by": 1}', "a JSON array, whole"),
    ],
)
def test_other_files_are_refused_in_words(tmp_path: Path, content: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(written(tmp_path, "file.json", content))


def test_an_archive_without_labels_says_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("picture.png", b"")
    with pytest.raises(InputError, match=r"one \.jsonl per user, found picture\.png"):
        read(path)
    path.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(InputError, match=r"a \.zip file that can be read"):
        read(path)


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ann.jsonl", b" " * (4 << 20))
    for options, said in (
        (InputOptions(), "max-ratio"),
        (InputOptions(max_bytes=10**6), "max-bytes"),
    ):
        sources = find_sources([str(path)], options=options)
        with pytest.raises(InputError, match=said):
            read_all(sources, ColumnNames(), BadRows())


def test_read_labels_takes_plain_files_and_several(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.csv").write_text(f"item,rater,said\n{number},ann,x\n")
    table = cs.read_labels([tmp_path / "1.csv", tmp_path / "2.csv"], label="said")
    assert table.rows() == [("1", "ann", "x"), ("2", "ann", "x")]
    with_time = cs.read_labels(FIXTURES / "prodigy" / "choice.jsonl", as_classes=True)
    assert with_time.columns == ["task", "worker", "label", "at"]
