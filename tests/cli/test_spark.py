"""`crowdstream spark run`: the options, and one run of the whole process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import crowdstream as cs
from tests.cli.tool import SCRIPT, call

pyspark = pytest.importorskip("pyspark", reason="crowdstream[spark] is not installed")

SUBMITTED = Path(__file__).parents[2] / "examples" / "spark_submit.py"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["missing.csv"], "missing.csv: expected a file or folder, found none"),
        (["--memory", "10"], "which goes through them in order"),
        (["--output-format", "xml"], "--output-format: expected parquet or csv or json or orc"),
        (["--conf", "spark.cores"], "--conf: expected NAME=VALUE, found 'spark.cores'"),
        (["--partitions", "0"], "--partitions: expected"),
        (["--settle", "2"], "--settle: expected"),
        (["--workers", "w.pdf"], "--workers: expected a name that ends in"),
        (["--on-error", "quarantine=x"], "--on-error: expected fail or skip"),
        (["--repeats", "best"], "--repeats: expected last, first or majority, found 'best'"),
        (
            ["--threshold", "0.5", "--as-classes"],
            "--threshold cannot be combined with --as-classes",
        ),
        (["--state", "no/such/folder/x.state"], "--state: expected a folder that exists"),
    ],
)
def test_a_mistake_is_said_before_a_session_is_started(
    tmp_path: Path, options: list[str], said: str
) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("task,worker,label\nt,ann,x\n")
    result = call("spark", "run", labels, "-o", tmp_path / "out", *options)
    assert result.code == 2
    assert said in result.err
    assert not (tmp_path / "out").exists()


def test_labels_in_decisions_workers_and_state_out(java: None, tmp_path: Path) -> None:
    made = cs.simulate(12, 200, p=0.2, seed=2)
    labels = made.labels()
    rows = [*labels.rows(), ("", "w1", "1"), ("9", "", "1"), labels.row(0), ('a "b", c', "w2", "0")]
    whole = pl.DataFrame(rows, schema=["item", "rater", "answer"], orient="row")
    whole.write_csv(tmp_path / "labels.csv")
    out, workers, state = (tmp_path / name for name in ("out", "workers.csv", "crowd.state"))
    words = [SCRIPT, "spark", "run", str(tmp_path / "labels.csv"), "-o", str(out), "--json"]
    words += ["--workers", str(workers), "--state", str(state), "--master", "local[2]"]
    words += ["--on-error", "skip"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    named = whole.with_columns(pl.all().replace("", None))
    crowd = cs.Adaptive()
    expected = crowd.fit_predict(named, on_error="skip").sort("task")
    assert report["read_as"]["columns"]["worker"] == ["rater"]
    assert "2 bad rows left out" in report["warnings"]
    assert report["labels"] == crowd.intake_.labels == labels.height + 1
    assert report["null_task"] == report["null_worker"] == report["repeated"] == 1
    found = pl.read_parquet(out / "*.parquet").sort("task")
    assert found["task"].equals(expected["task"])
    assert found["label"].equals(expected["label"])
    assert report["settled"] == expected["settled"].sum()
    assert pl.read_csv(workers).height == len(crowd.workers_)
    assert cs.load(state).tasks_ == crowd.tasks_  # type: ignore[union-attr]


def test_every_question_of_a_file_is_decided_as_run_decides_it(java: None, tmp_path: Path) -> None:
    made = cs.simulate(7, 80, p=0.15, per_task=5, seed=2).labels()
    spelt = ["no", "No", "YES ", "yes"]
    rows = ["item,rater,criterion,answer"]
    for number, (task, worker, label) in enumerate(made.rows()):
        said = "N/A" if number % 19 == 0 else spelt[2 * int(label) + number % 2]
        rows.append(f"{task},{worker},tone,{said}")
        rows.append(f"{task}, {worker},toxic,0.{'8' if label == '0' else '2'}{number % 10}")
    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join(rows))
    out, workers, state = (tmp_path / name for name in ("out", "workers.csv", "crowds.state"))
    words = [SCRIPT, "spark", "run", str(labels), "-o", str(out), "--master", "local[2]"]
    refused = subprocess.run(words, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "question 'toxic': expected classes (--threshold 0.5: pass or fail" in refused.stderr
    words += ["--threshold", "0.5", "--workers", str(workers), "--state", str(state), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)

    mine = tmp_path / "mine.parquet"
    ours = call("run", labels, "--threshold", "0.5", "-o", mine, "--json")
    assert ours.code == 0, ours.err
    assert report["read_as"] == ours.report["read_as"]
    assert report["read_as"]["questions"] == ["tone", "toxic"]
    assert [each["question"] for each in report["questions"]] == ["tone", "toxic"]
    for one, other in zip(report["questions"], ours.report["questions"], strict=True):
        for name in ("labels", "tasks", "workers", "classes", "settled", "identifiable"):
            assert one[name] == other[name], name
    found, expected = (
        pl.read_parquet(path).sort("question", "task") for path in (out / "*.parquet", mine)
    )
    exact = ["question", "task", "label", "votes", "settled"]
    assert found.select(exact).equals(expected.select(exact))
    # Floats are added up in another order on a cluster.
    gaps = (found["confidence"] - expected["confidence"]).abs()
    assert (gaps < 1e-12).all()
    table = pl.read_csv(workers)
    assert table["question"].unique().sort().to_list() == ["tone", "toxic"]
    assert table.height == 14
    crowds = cs.load(state)
    assert isinstance(crowds, cs.Questions)
    assert sorted(crowds["toxic"].classes_) == ["fail", "pass"]


def test_spark_submit_brings_the_cluster(java: None, tmp_path: Path) -> None:
    cs.simulate(5, 20, p=0.2).labels().write_parquet(tmp_path / "labels.parquet")
    out = tmp_path / "out"
    submit = Path(sys.executable).with_name("spark-submit")
    words = [str(submit), "--master", "local[1]", "--conf", "spark.ui.enabled=false"]
    words += ["--conf", f"spark.pyspark.python={sys.executable}"]
    words += [str(SUBMITTED), str(tmp_path / "labels.parquet"), "-o", str(out)]
    words += ["--method", "majority", "--output-format", "csv"]
    home = {"SPARK_HOME": str(Path(pyspark.__file__).parent)}  # else it asks whatever python3 is
    environment = os.environ | home
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "read as: task=task, worker=worker, label=label (0, 1)" in done.stdout
    assert "100 labels on 20 tasks by 5 workers" in done.stdout  # where it sends all of Python
    assert pl.read_csv(out / "*.csv").height == 20
    again = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert again.returncode == 2
    assert "expected a folder that is not there yet, or --overwrite" in again.stdout
