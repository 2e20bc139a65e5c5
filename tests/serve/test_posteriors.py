"""Exports with probabilities: what the crowd as it is now makes of the labels that were counted."""

from __future__ import annotations

import io
import itertools
import random
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest
from click.testing import CliRunner

import crowdstream as cs
from crowdstream.cli import app
from tests.serve.running import Running, label, post, put, serving

FORMATS = {"csv": pl.read_csv, "ndjson": pl.read_ndjson, "parquet": pl.read_parquet}
DECIDED = [
    "task",
    "label",
    "confidence",
    "margin",
    "votes",
    "settled",
    "identifiable",
    "closed",
    "at",
]


def export(http: httpx.Client, project: str, kind: str = "parquet", **more: str) -> pl.DataFrame:
    params = {"format": kind, "probabilities": "true", **more}
    answer = http.get(f"/v1/projects/{project}/export/decisions", params=params)
    assert answer.status_code == 200, answer.text
    found: pl.DataFrame = FORMATS[kind](io.BytesIO(answer.content))  # type: ignore[operator]
    return found


def crowd_rows(tasks: int, seed: int = 3, classes: str = "xyz") -> list[tuple[str, str, str]]:
    """Labels of workers who differ, five a task."""
    chance = random.Random(seed)
    rows = []
    for task in range(tasks):
        truth = chance.choice(classes)
        for worker in chance.sample(range(9), 5):
            right = chance.random() < 0.5 + 0.05 * worker
            rows.append((f"t{task}", f"w{worker}", truth if right else chance.choice(classes)))
    return rows


@pytest.mark.parametrize("kind", list(FORMATS))
def test_every_format_has_a_column_per_class(http: httpx.Client, kind: str) -> None:
    put(http, f"as-{kind}", max_labels=5, settle=None)
    post(http, f"as-{kind}", [label(*row) for row in crowd_rows(30)])
    found = export(http, f"as-{kind}", kind)
    assert found.columns[: len(DECIDED)] == DECIDED
    assert sorted(found.columns[len(DECIDED) :]) == ["x", "y", "z"]
    sums = found.select(pl.sum_horizontal("x", "y", "z")).to_series()
    assert sums.to_list() == pytest.approx([1.0] * 30)
    plain = http.get(f"/v1/projects/as-{kind}/export/decisions", params={"format": kind})
    assert FORMATS[kind](io.BytesIO(plain.content)).columns == DECIDED  # type: ignore[operator]


def test_votes_that_are_counted_give_what_run_gives(http: httpx.Client, tmp_path: Path) -> None:
    """Counting votes learns nothing, so that of the whole table and of the server are the same."""
    rows = crowd_rows(60)
    put(http, "counted", method="majority", max_labels=5, settle=None)
    post(http, "counted", [label(*row) for row in rows])
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv(
        tmp_path / "labels.csv"
    )
    files = [str(tmp_path / name) for name in ("labels.csv", "decisions.csv", "chances.csv")]
    given = ["run", files[0], "--method", "majority", "-o", files[1], "--probabilities", files[2]]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    expected = pl.read_csv(files[2]).sort("task")
    found = export(http, "counted").sort("task").select(expected.columns)
    for name in expected.columns:
        assert found[name].to_list() == pytest.approx(expected[name].to_list(), abs=1e-12), name


def test_closed_and_open_tasks_have_the_crowds_posterior_of_now(http: httpx.Client) -> None:
    rows = crowd_rows(200)
    stream = cs.Stream(cs.monitor(cs.Adaptive()), max_labels=5, settle=None)
    put(http, "now", max_labels=5, settle=None)
    rows = rows[:-3]  # the last task stays open
    post(http, "now", [label(*row) for row in rows])
    stream.observe_many(rows)
    said: dict[str, dict[str, str]] = {}
    for task, worker, text in rows:
        said.setdefault(task, {})[worker] = text
    found = {which: export(http, "now", tasks=which) for which in ("closed", "open", "all")}
    assert [table.height for table in found.values()] == [199, 1, 200]
    assert found["open"]["closed"].to_list() == [None]
    for row in found["all"].iter_rows(named=True):
        expected = stream.crowd.predict_proba_one(said[row["task"]])
        assert {name: row[name] for name in "xyz"} == pytest.approx(expected, abs=1e-9)
        assert row["label"] == stream.decision(row["task"]).label


def test_only_what_was_counted_counts(http: httpx.Client) -> None:
    """Retracted, replaced and late labels, skips, truths, and a task without any label."""
    put(http, "edges", method="majority", max_labels=3, settle=None)
    post(http, "edges", [label("t1", "a", "x"), label("t1", "b", "x"), label("t2", "a", "y")])
    http.post("/v1/projects/edges/retract", json={"task": "t1", "worker": "a"})
    post(http, "edges", label("t1", "b", None))  # a skip leaves the label
    post(http, "edges", label("t1", "b", "y"))
    late = [label("t1", worker, "x" if worker == "e" else "y") for worker in "cde"]
    assert post(http, "edges", late)["late"] == 1
    post(http, "edges", label("t1", "f", "x"))
    http.post("/v1/projects/edges/gold", json={"task": "t2", "label": "x"})
    http.post("/v1/projects/edges/offer", json={"tasks": ["t3"]})
    for task in ("t2", "t3"):
        http.post("/v1/projects/edges/close", json={"task": task})
    found = {row["task"]: (row["x"], row["y"]) for row in export(http, "edges").to_dicts()}
    counted = cs.MajorityVote().predict_proba_many(
        [("t1", "b", "y"), ("t1", "c", "y"), ("t1", "d", "y"), ("t0", "a", "x")]
    )
    assert found["t1"] == pytest.approx((counted["x"][0], counted["y"][0]))
    assert found["t2"] == (1.0, 0.0), "its truth is known"
    assert found["t3"] == (None, None)


def test_classes_that_are_called_like_columns_or_each_other(http: httpx.Client) -> None:
    put(http, "names", max_labels=1, settle=None)
    for number, said in enumerate(["label", 1, "1", True, 'a,"b"\n']):
        post(http, "names", label(f"t{number}", "a", said))
    found = export(http, "names").columns[len(DECIDED) :]
    assert found == ["class_label", "1", "class_1", "True", 'a,"b"\n']


def test_a_project_without_labels_has_no_classes(http: httpx.Client) -> None:
    put(http, "empty")
    for kind in ("csv", "parquet"):
        assert export(http, "empty", kind).columns == DECIDED
    wrong = http.get("/v1/projects/empty/export/decisions", params={"probabilities": "yes"})
    assert (wrong.status_code, wrong.json()["path"]) == (422, "?probabilities")
    assert http.get("/v1/projects/none/export/decisions").status_code == 404


def test_tables_are_made_in_parts(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from crowdstream.serve import posteriors

    given = [
        posteriors.Voted(cs.Decision(n, "x", 1.0, 1.0, 1, True, True), 0.0, None) for n in range(7)
    ]
    monkeypatch.setattr(posteriors, "CELLS", 6)
    parts = list(posteriors.in_parts(given, most=20_000, classes=2))
    assert [len(part) for part in parts] == [3, 3, 1]
    assert list(itertools.chain(*parts)) == given
    assert [len(part) for part in posteriors.in_parts(given, most=4, classes=0)] == [4, 3]
    assert list(posteriors.in_parts([], most=4, classes=2)) == [[]]


def test_labels_that_are_not_kept_have_no_probabilities(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(folder) as server, server.http() as http:
        put(http, "kept", max_labels=5, settle=None)
        post(http, "kept", [label(*row) for row in crowd_rows(20)][:-2])
        before = export(http, "kept", tasks="all")
        assert server.stop() == 0
    with serving(folder, "--keep-labels", "0") as server, server.http() as http:
        post(http, "kept", label("new", "w1", "x"))
        assert server.stop() == 0
    with serving(folder) as server, server.http() as http:
        after = export(http, "kept", tasks="all")
        closed = after.filter(pl.col("closed").is_not_null())
        assert closed.drop("x", "y", "z").equals(
            before.filter(pl.col("at").is_not_null()).drop("x", "y", "z")
        )
        assert closed["x"].null_count() == closed.height == 19
        still = after.filter(pl.col("closed").is_null())
        assert still["task"].to_list() == ["t19", "new"]
        assert still["x"].null_count() == 0, "open tasks have their labels"


def test_a_client_has_the_table(server: Running, http: httpx.Client) -> None:
    put(http, "by-client", max_labels=5, settle=None)
    rows: list[Any] = crowd_rows(10)
    with cs.Client(server.url, server.token, "by-client") as client:
        client.observe_many(rows[:-1])
        plain = client.decisions()
        assert (plain.columns, plain.height) == (DECIDED, 9)
        found = client.decisions("all", probabilities=True)
        assert found.equals(export(http, "by-client", tasks="all"))
        with pytest.raises(cs.ServerError, match="tasks: expected closed or open or all"):
            client.decisions("some")
