"""Labels that have an order: decided by the weighted median, scored by distance."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from tests.cli.tool import call, csv_of, refused

WORDS = ["awful", "bad", "fair", "good", "great"]


def stars(tasks: int = 300, seed: int = 1) -> list[tuple[str, str, str]]:
    """Ratings of 1 to 5 that miss by a step or two; the truth is the last digit of the task."""
    draw = random.Random(seed)
    rows = []
    for number in range(tasks):
        truth = draw.randint(1, 5)
        for who in draw.sample(range(9), 3):
            said = round(draw.gauss(truth, 0.6 + 0.15 * who))
            rows.append((f"t{number}-{truth}", f"w{who}", str(min(max(said, 1), 5))))
    return rows


ROWS = stars()
TRUTH: dict[cs.TaskId, cs.ClassLabel] = {task: task[-1] for task, _, _ in ROWS}


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    path = tmp_path / "truth.csv"
    path.write_bytes(
        csv_of([(str(task), str(label)) for task, label in TRUTH.items()], "task,label")
    )
    return path


def test_the_weighted_median_of_the_votes_decides(label_file: Path) -> None:
    found = pl.read_csv(call("run", label_file, "-q", "--ordinal").out.encode())
    table = pl.DataFrame(ROWS, ["task", "worker", "label"], orient="row")
    wanted = cs.ordinal_decisions(cs.Adaptive().fit_predict(table), table)
    assert found["task"].to_list() == wanted["task"].to_list()
    assert found["label"].cast(pl.String).to_list() == wanted["label"].to_list()
    assert found["settled"].to_list() == wanted["settled"].to_list()
    for name in ("confidence", "margin", "score", "steps"):
        assert found[name].to_numpy() == pytest.approx(wanted[name].to_numpy(), abs=1e-6), name
    plain = pl.read_csv(call("run", label_file, "-q").out.encode())
    assert "score" not in plain.columns
    assert 0 < (found["label"] != plain["label"]).sum() < found.height / 2


@pytest.mark.parametrize("options", [("--method", "majority"), ()])
def test_counted_votes_are_decided_by_their_median(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    """With and without an estimator that would weigh: of two tasks nobody is known."""
    path = tmp_path / "few.csv"
    votes = {"a": "55511", "b": "551", "c": "11345"}
    path.write_bytes(
        csv_of((t, f"w{k}", x) for t, some in votes.items() for k, x in enumerate(some))
    )
    found = pl.read_csv(call("run", path, "-q", "--ordinal", *options).out.encode())
    assert dict(found.select("task", "label").iter_rows()) == {"a": 5, "b": 5, "c": 3}


def test_the_expected_distance_is_said_and_true(label_file: Path, truth: Path) -> None:
    command = ("run", label_file, "--truth", truth, "--ordinal")
    report = call(*command, "--json").report
    found = pl.read_csv(call("run", label_file, "-q", "--ordinal").out.encode())
    assert report["expected_steps"] == pytest.approx(found["steps"].mean(), abs=1e-6)
    # A mean of 300 distances has a standard error of about a tenth of it.
    assert report["expected_steps"] == pytest.approx(report["mean_distance"], rel=0.3)
    said = f"expected distance from the truth {report['expected_steps']:.2f} steps"
    assert said in call(*command).err
    plain = call("run", label_file, "--truth", truth)
    assert "steps" not in plain.err
    assert "expected_steps" not in call("run", label_file, "--json").report


def test_the_mean_distance_is_reported_and_smaller(label_file: Path, truth: Path) -> None:
    result = call("run", label_file, "--truth", truth, "--ordinal", "--json")
    report, plain = result.report, call("run", label_file, "--truth", truth, "--json").report
    decided = pl.read_csv(
        call("run", label_file, "-q", "--ordinal").out.encode(), infer_schema=False
    )
    apart = [abs(int(x) - int(TRUTH[t])) for t, x in decided.select("task", "label").iter_rows()]
    assert report["mean_distance"] == pytest.approx(sum(apart) / len(apart), abs=1e-12)
    assert report["error_rate"] == pytest.approx(sum(map(bool, apart)) / len(apart), abs=1e-12)
    assert "mean_distance" not in plain
    decided = pl.read_csv(call("run", label_file, "-q").out.encode(), infer_schema=False)
    assert report["mean_distance"] < cs.metrics.mean_distance(decided, TRUTH)
    told = call("run", label_file, "--truth", truth, "--ordinal").err
    assert f"mean distance {report['mean_distance']:.4f} on 300 tasks" in told


def test_names_need_an_order_and_are_decided_as_numbers_are(tmp_path: Path) -> None:
    named = tmp_path / "named.csv"
    named.write_bytes(csv_of([(t, w, WORDS[int(x) - 1]) for t, w, x in ROWS]))
    refused(call("run", named, "--ordinal"), "--order", "not all are numbers", "none for")
    refused(call("run", named, "--order", "bad,good"), "--order: expected all classes")
    found = pl.read_csv(call("run", named, "-q", "--order", ",".join(WORDS)).out.encode())
    numbers = tmp_path / "numbers.csv"
    numbers.write_bytes(csv_of(ROWS))
    wanted = pl.read_csv(call("run", numbers, "-q", "--ordinal").out.encode())
    middle = wanted["label"].to_numpy() - 1
    assert found["label"].to_list() == [WORDS[k] for k in middle]
    assert found["score"].to_numpy() == pytest.approx(wanted["score"].to_numpy() - 1, abs=1e-6)
    path = tmp_path / "words.csv"
    path.write_bytes(
        csv_of([(str(task), WORDS[int(x) - 1]) for task, x in TRUTH.items()], "task,label")
    )
    report = call("run", named, "--order", ",".join(WORDS), "--truth", path, "--json").report
    steps = [abs(k + 1 - int(TRUTH[task])) for task, k in zip(found["task"], middle, strict=True)]
    assert report["mean_distance"] == pytest.approx(np.mean(steps), abs=1e-12)


def test_gold_stays_what_it_is(label_file: Path, tmp_path: Path) -> None:
    gold = dict.fromkeys(list(TRUTH)[:4], "5")
    path = tmp_path / "gold.csv"
    path.write_bytes(csv_of([(str(task), label) for task, label in gold.items()], "task,label"))
    found = pl.read_csv(call("run", label_file, "-q", "--ordinal", "--gold", path).out.encode())
    assert found["label"].head(4).to_list() == [5] * 4
    assert found["settled"].head(4).all()


@pytest.mark.parametrize("options", [("--online",), ("--window", "9")])
def test_where_no_posterior_is_kept_it_is_refused(
    label_file: Path, options: tuple[str, ...]
) -> None:
    refused(call("run", label_file, "--ordinal", *options), "--ordinal", options[0])


def test_a_scale_is_pointed_out_unless_it_is_known(label_file: Path, tmp_path: Path) -> None:
    note = "labels are 1 to 5: if that is a scale, add --ordinal"
    assert call("run", label_file, "--json").report["warnings"] == [note]
    assert call("run", label_file, "--json", "--ordinal").report["warnings"] == []
    shifted = tmp_path / "shifted.csv"
    shifted.write_bytes(csv_of((t, w, str(int(x) - 1)) for t, w, x in ROWS))
    assert call("run", shifted, "--json").report["warnings"] == [note.replace("1 to 5", "0 to 4")]


# Compared ---------------------------------------------------------------------------------------


def test_methods_are_compared_by_their_distance_too(label_file: Path, truth: Path) -> None:
    command = ("compare", label_file, "--truth", truth, "--quick", "--methods", "majority,adaptive")
    report = call(*command, "--ordinal", "--json").report
    plain = call(*command, "--json").report
    table = pl.DataFrame(ROWS, ["task", "worker", "label"], orient="row")
    for row in report["rows"]:
        crowd = cs.MajorityVote() if row["method"] == "majority" else cs.Adaptive()
        wanted = cs.metrics.mean_distance(crowd.fit_predict(table), TRUTH)
        assert row["distance"] == pytest.approx(wanted, abs=1e-12)
    assert all(row["distance"] is None for row in plain["rows"])
    assert "labels are 1 to 5" in plain["warnings"][0]
    assert report["warnings"] == []
    assert "distance" in call(*command, "--ordinal").out
    assert "distance" not in call(*command).out
    refused(call("compare", "rte", "--ordinal"), "--truth", "files of labels")
