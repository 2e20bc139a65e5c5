"""What DataFrames mean: decided as the library decides the same table, or refused in its words."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.errors import InputError

pytest.importorskip("pyspark", reason="crowdstream[spark] is not installed")

from crowdstream import spark
from crowdstream.labels.meaning.kinds import LabelHints
from crowdstream.labels.meaning.options import TableReading
from crowdstream.spark.batch import fit_decide_labels
from crowdstream.spark.meaning import SparkMeaning, Wording, interpret
from crowdstream.spark.session import quietly
from tests.spark.test_batch import in_order_of_names

DIGITS = 1e-12
"""Floats are added up in another order on a cluster: confidences differ in their last digits."""

FILES = Wording("labels.csv", "--{}", clean=True)


@pytest.fixture(scope="module")
def labels() -> pl.DataFrame:
    return in_order_of_names(cs.simulate(8, 60, p=0.15, per_task=5, seed=1).labels())


@pytest.fixture(scope="module")
def questions(labels: pl.DataFrame) -> pl.DataFrame:
    """Two questions about the same tasks, with other classes, by workers of other skill."""
    rng = np.random.default_rng(4)
    flipped = pl.Series(rng.random(labels.height) < 0.1)
    other = pl.when(flipped == (pl.col("label") == "1")).then(pl.lit("yes")).otherwise(pl.lit("no"))
    return pl.concat(
        [
            labels.with_columns(criterion=pl.lit("tone")),
            labels.with_columns(other.alias("label"), criterion=pl.lit("toxic")),
        ]
    )


def on(cluster: Any, table: pl.DataFrame) -> Any:
    return cluster.createDataFrame(table.to_arrow())


def same(frame: Any, expected: pl.DataFrame, *keys: str, within: float = DIGITS) -> None:
    """The decisions of a cluster are these, but for the last digits of confidences."""
    by = [*keys, "task"]
    found = pl.DataFrame(frame.toArrow()).sort(by)
    frame.unpersist()
    expected = expected.sort(by)
    exact = [*by, "label", "votes", "settled"]
    assert found.columns == expected.columns
    assert found.height > 0
    assert found.select(exact).equals(expected.select(exact))
    assert ((found["confidence"] - expected["confidence"]).abs() < within).all()


# Questions --------------------------------------------------------------------------------------


def test_every_question_is_decided_by_itself(cluster: Any, questions: pl.DataFrame) -> None:
    expected = cs.fit_questions(questions)
    found = spark.fit_questions(on(cluster, questions))
    assert list(found) == list(expected) == ["tone", "toxic"]
    assert found["toxic"].classes_ == ["no", "yes"]
    workers = ["question", "worker", "answers"]
    one, other = (each.workers().sort("question", "worker") for each in (found, expected))
    assert one.select(workers).equals(other.select(workers))
    assert (one["error_rate"] - other["error_rate"]).abs().max() < DIGITS
    same(found.decisions, expected.decisions, "question")
    saved = cs.load(found.to_bytes())
    assert isinstance(saved, cs.Questions)
    assert saved["tone"].tasks_ == 61


def test_several_questions_are_refused_by_name_and_typing_the_words_works(
    cluster: Any, questions: pl.DataFrame
) -> None:
    df = on(cluster, questions)
    told = (
        r"expected one question \(question=NAME reads one, spark.fit_questions decides all\), "
        r"found 2: tone \(308 labels\), toxic \(308 labels\)"
    )
    crowd = cs.Adaptive()
    with pytest.raises(InputError, match=told):
        spark.fit(df, crowd)
    with pytest.raises(InputError, match=told):
        spark.fit_decide(df, crowd)
    with pytest.raises(InputError, match=told):
        spark.decide(df, crowd)
    assert crowd.tasks_ == 0
    with pytest.raises(InputError, match=r"a question 'tune' \(question=\), found tone"):
        spark.fit(df, crowd, question="tune")
    expected = cs.Adaptive().fit_predict(questions, question="toxic")
    same(spark.fit_decide(df, crowd, question=" Toxic"), expected)
    same(spark.decide(df, crowd, question="toxic"), expected)


def test_gold_of_a_question_teaches_that_question(cluster: Any, questions: pl.DataFrame) -> None:
    tasks = questions["task"].unique(maintain_order=True)[:12]
    gold = pl.DataFrame({"task": tasks, "metric": "TOXIC", "gold": "yes"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of gold that is made up
        expected = cs.fit_questions(questions, gold=gold)
        found = spark.fit_questions(on(cluster, questions), gold=on(cluster, gold))
        mine = spark.fit_questions(on(cluster, questions), gold=gold)
    # Skills are found by iteration, from classes that are numbered in another order.
    same(found.decisions, expected.decisions, "question", within=1e-8)
    same(mine.decisions, expected.decisions, "question", within=1e-8)
    with pytest.raises(InputError, match="a column question, since labels have several"):
        spark.fit_questions(on(cluster, questions), gold=on(cluster, gold.drop("metric")))


@pytest.mark.parametrize("named", [True, False])
def test_a_column_of_labels_per_question(cluster: Any, labels: pl.DataFrame, named: bool) -> None:
    other = pl.col("label").replace_strict({"0": "bad", "1": "good"}).alias("tone")
    table = labels.select("task", "worker", pl.col("label").alias("toxic"), other, note=pl.lit("x"))
    meaning: dict[str, Any] = {"label": ["tone", "toxic"]} if named else {}
    table = table if named else table.drop("note")
    expected = cs.fit_questions(table, **meaning)
    found = spark.fit_questions(on(cluster, table), **meaning)
    assert list(found) == list(expected)
    same(found.decisions, expected.decisions, "question")
    one = cs.Adaptive().fit_predict(table, question="tone", **meaning)
    same(spark.fit_decide(on(cluster, table), cs.Adaptive(), question="tone", **meaning), one)


def test_a_question_of_each_tasks_own_is_its_text(cluster: Any, labels: pl.DataFrame) -> None:
    table = labels.with_columns(question=pl.concat_str(pl.lit("What is in "), "task"))
    expected = cs.Adaptive().fit_predict(table)
    same(spark.fit_decide(on(cluster, table), cs.Adaptive()), expected)


def test_a_wide_table(cluster: Any, labels: pl.DataFrame) -> None:
    table = labels.pivot("worker", index="task", values="label")
    table = table.with_columns(notes=pl.concat_str(pl.lit("seen "), "task"))
    expected = cs.Adaptive().fit_predict(table, wide=True)
    same(spark.fit_decide(on(cluster, table), cs.Adaptive(), wide=True), expected)


# Kinds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["string", "double", "decimal(5,2)"])
def test_scores_are_refused_and_cut_by_a_threshold(
    cluster: Any, labels: pl.DataFrame, kind: str
) -> None:
    score = pl.Series([f"0.{7 * k % 100:02d}" for k in range(labels.height)])
    table = labels.with_columns(score.alias("label"))
    df = on(cluster, table)
    df = df.withColumn("label", df["label"].cast(kind))
    told = r"classes \(threshold=0.5: pass or fail; .* found scores: 100 numbers from 0 to 0.99"
    with pytest.raises(InputError, match=told):
        spark.fit(df, cs.Adaptive())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # not identified
        expected = cs.MajorityVote().fit_predict(table, threshold=0.5)
        gold = dict.fromkeys(table["task"].unique(maintain_order=True)[:3], "0.93")
        taught = cs.MajorityVote().fit_predict(table, threshold=0.5, gold=gold)
        same(spark.fit_decide(df, cs.MajorityVote(), threshold=0.5), expected)
        known = cluster.createDataFrame([*gold.items()], "task string, label string")
        same(spark.fit_decide(df, cs.MajorityVote(), threshold=0.5, gold=known), taught)
        same(spark.fit_decide(df, cs.MajorityVote(), threshold=0.5, gold=gold), taught)


def test_a_threshold_is_for_the_questions_that_have_scores(
    cluster: Any, questions: pl.DataFrame
) -> None:
    score = pl.when(pl.col("label") == "1").then(pl.lit("0.75")).otherwise(pl.lit("0.25"))
    is_tone = pl.col("criterion") == "tone"
    table = questions.with_columns(label=pl.when(is_tone).then(score).otherwise("label"))
    expected = cs.fit_questions(table, threshold=0.5)
    found = spark.fit_questions(on(cluster, table), threshold=0.5)
    assert found["tone"].classes_ == ["fail", "pass"]
    same(found.decisions, expected.decisions, "question")


def test_sets_and_free_text_are_refused(cluster: Any, labels: pl.DataFrame) -> None:
    sets = labels.with_columns(
        label=pl.Series(["cat", "dog", "cat|dog"]).gather(np.arange(labels.height) % 3)
    )
    with pytest.raises(InputError, match=r"such as 'cat\|dog'; .* crowdstream run"):
        spark.fit(on(cluster, sets), cs.Adaptive())
    text = labels.with_columns(label=pl.format("answer {}", pl.int_range(pl.len())))
    with pytest.raises(InputError, match=r"as_classes=True: as they are\), found free text"):
        spark.fit(on(cluster, text), cs.Adaptive())
    sets_as_classes = cs.MajorityVote().fit_predict(sets, as_classes=True)
    same(spark.fit_decide(on(cluster, sets), cs.MajorityVote(), as_classes=True), sets_as_classes)


@pytest.mark.parametrize(
    ("name", "value"),
    [("choices", True), ("ordinal", True), ("order", ["low", "high"]), ("bins", 5)],
)
def test_scales_and_choices_are_decided_elsewhere(
    cluster: Any, labels: pl.DataFrame, name: str, value: Any
) -> None:
    told = f"{name}: expected classes, .* decided without Spark, by crowdstream run"
    with pytest.raises(InputError, match=told):
        spark.fit(on(cluster, labels), cs.Adaptive(), **{name: value})


# Rows -------------------------------------------------------------------------------------------


def test_rows_without_a_task_or_a_worker_are_refused_or_left_out(
    cluster: Any, labels: pl.DataFrame
) -> None:
    lost = [(None, "w1", "1"), ("0", None, "1"), (None, None, None)]
    table = pl.concat([labels, pl.DataFrame(lost, schema=labels.schema, orient="row")])
    df, crowd = on(cluster, table), cs.Adaptive()
    told = (
        r"a task and a worker in every row \(on_error='skip' leaves out\), found 2 without a task, "
        r"1 without a worker, of 311 rows"
    )
    with pytest.raises(InputError, match=told):
        spark.fit(df, crowd)
    with pytest.raises(InputError, match="'fail' or 'skip'"):
        spark.fit(df, crowd, on_error="drop")
    ours = cs.Adaptive()
    same(spark.fit_decide(df, crowd, on_error="skip"), ours.fit_predict(table, on_error="skip"))
    assert crowd.intake_ == ours.intake_


def repeated(labels: pl.DataFrame, every: int) -> pl.DataFrame:
    """Every label three times; of every so many-th the first two are 1, whatever it is."""
    odd = pl.int_range(pl.len()) % every == 0
    again = pl.when(odd).then(pl.lit("1")).otherwise("label")
    return pl.concat(
        [labels.with_columns(again.alias("label") if k < 2 else "label", turn=k) for k in range(3)]
    )


def test_repeated_answers_count_once(cluster: Any, labels: pl.DataFrame) -> None:
    table = repeated(labels, 11).rename({"turn": "epoch"})
    ours, theirs = cs.Adaptive(), cs.Adaptive()
    expected = ours.fit_predict(table)
    same(spark.fit_decide(on(cluster, table), theirs), expected)
    # The cluster counts what is left once every worker has one answer per task.
    counts = [(crowd.intake_.labels, crowd.intake_.tasks) for crowd in (ours, theirs)]
    assert counts[0] == counts[1]
    with quietly():
        meaning = interpret(on(cluster, table), TableReading(spark_names(), LabelHints()))
        found = fit_decide_labels(meaning.questions[0], cs.Adaptive(), None, rule(), None)
    assert found.flips is not None
    assert int(found.flips["repeated"].sum()) == labels.height
    changed = (np.arange(labels.height) % 11 == 0) & (labels["label"] != "1").to_numpy()
    assert int(found.flips["flips"].sum()) == changed.sum() > 0


def test_labels_that_contradict_one_another_are_refused_with_the_column_that_tells_them_apart(
    cluster: Any, labels: pl.DataFrame
) -> None:
    table = repeated(labels, 1)
    df = on(cluster, table)
    with pytest.raises(InputError, match=r"question='turn': .*; column 'turn' tells them apart"):
        spark.fit(df, cs.Adaptive())
    with pytest.raises(InputError, match="repeats='majority': the most frequent one"):
        spark.fit(df.drop("turn"), cs.Adaptive())
    with pytest.raises(InputError, match=r"\(at=COLUMN\), found none: a cluster's table has no"):
        spark.fit(df, cs.Adaptive(), repeats="last")
    for policy in ("first", "last"):
        expected = cs.MajorityVote().fit_predict(table, repeats=policy)
        same(spark.fit_decide(df, cs.MajorityVote(), repeats=policy, at="turn"), expected)
    found = spark.fit_questions(df, cs.MajorityVote(), question="turn")
    assert sorted(found) == ["0", "1", "2"]


# Cells, as files have them ----------------------------------------------------------------------


def spark_names() -> Any:
    from crowdstream.labels import ColumnNames

    return ColumnNames()


def rule() -> Any:
    from crowdstream.decisions.decision import SettleRule

    return SettleRule.checked(0.95, 2)


def read_file(df: Any, **hints: Any) -> SparkMeaning:
    with quietly():
        return interpret(df, TableReading(spark_names(), LabelHints(**hints)), None, FILES)


def test_cells_of_files_are_cleaned_as_run_cleans_them(cluster: Any, tmp_path: Any) -> None:
    rows = [
        ("t1", "ann", "yes"), ("t1", " bob", "YES "), ("t1", "cy", "no"),
        ("t2 ", "ann", "N/A"), ("t2", "bob", "Yes"), ("t2", "cy", "-"), ("t3", "bob", "n/a"),
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema=["item", "rater", "said"], orient="row")
    table = table.rename({"said": "verdict"})
    table.write_csv(tmp_path / "labels.csv")
    expected = cs.read_labels(tmp_path / "labels.csv").sort("task", "worker")
    meaning = read_file(on(cluster, table))
    found = pl.DataFrame(meaning.questions[0].table.toArrow()).sort("task", "worker")
    assert found.equals(expected)
    assert found["worker"].unique().sort().to_list() == ["ann", "bob", "cy"]
    said = meaning.read_as
    assert said.text == "read as: task=item, worker=rater, label=verdict (yes, no)"
    assert said.joined == [["yes", "YES ", "Yes"]]
    assert said.no_answer == {"N/A": 1, "-": 1, "n/a": 1}
    assert meaning.questions[0].question.no_answers == 3
    assert meaning.notes[0].startswith("3 spellings are 1 class: 'yes' = 'YES ' = 'Yes'")
    kept = read_file(on(cluster, table), exact=True, keep=("N/A",))
    assert kept.questions[0].question.shown == ["yes", "YES ", "no", "N/A", "Yes", "n/a"]
    with pytest.raises(InputError, match="--keep: expected a label of the input, found 'maybe'"):
        read_file(on(cluster, table), keep=("maybe",))


def test_a_table_in_python_is_taken_as_it_is_and_twins_are_warned_of(cluster: Any) -> None:
    rows = [("t1", "ann", "yes"), ("t1", "bob", "Yes"), ("t1", "cy", "NA")]
    df = cluster.createDataFrame(rows, "task string, worker string, label string")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        crowd = spark.fit(df, cs.MajorityVote())
    assert crowd.classes_ == ["NA", "Yes", "yes"]
    told = " ".join(str(one.message) for one in caught)
    assert "differ only in spelling" in told
    assert "'NA' looks like no answer" in told
