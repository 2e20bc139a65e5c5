"""/metrics: gauges of workers, names in them, and what dashboards and alerts ask for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import polars as pl
import pytest

from crowdstream.serve.metrics import MOST_WORKERS, WORKER_GAUGES, _of_workers, escape
from tests.serve.running import label, post, put

EXAMPLES = Path(__file__).parents[2] / "examples" / "grafana"
SAMPLE = re.compile(r'(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)')
"""A line of the exposition format: name, labels and value."""
LABEL = re.compile(r'(\w+)="((?:[^"\\\n]|\\[\\"n])*)"')
HOSTILE = ['quo"te', "back\\slash", "line\nend", '"} 1\nfake{a="', "ümläut 🙂", "{}", "\\", "\\n"]


def samples(text: str) -> list[tuple[str, dict[str, str], float]]:
    """What a server of metrics reads; every line must be one."""
    found = []
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("#"):
            continue
        match = SAMPLE.fullmatch(line)
        assert match is not None, line
        names = {key: unescape(value) for key, value in LABEL.findall(match[2] or "")}
        found.append((match[1], names, float(match[3])))
    return found


def unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)


def table(names: list[str], answers: list[float]) -> pl.DataFrame:
    """Workers with error rates."""
    number = len(names)
    columns = {"worker": names, "answers": answers, "error_rate": [0.1] * number}
    more = {"error_low": [0.0] * number, "error_high": [None] * number, "weight": [2.0] * number}
    return pl.DataFrame(columns | more, schema_overrides={"error_high": pl.Float64})


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_comes_back_as_it_was(name: str) -> None:
    text = "".join(
        f"{key}{{{labels}}} {value}\n"
        for key, labels, value in _of_workers("p", table([name], [3.0]))
    )
    found = samples(text)
    assert {labels["worker"] for _, labels, _ in found} == {name}
    assert unescape(escape(name)) == name


def test_what_cannot_be_told_of_a_worker_has_no_sample() -> None:
    found = {name for name, *_ in _of_workers("p", table(["a"], [3.0]))}
    assert found == {f"worker_{column}" for column in WORKER_GAUGES} - {"worker_error_high"}


def test_only_the_busiest_workers_have_gauges() -> None:
    names = [f"w{k:04}" for k in range(3 * MOST_WORKERS)]
    found = list(_of_workers("p", table(names, [float(k) for k in range(len(names))])))
    answers = [value for name, _, value in found if name == "worker_answers"]
    assert len(answers) == MOST_WORKERS
    assert min(answers) == len(names) - MOST_WORKERS


def test_ties_are_broken_by_name_so_that_series_stay() -> None:
    names = [f"w{k:04}" for k in range(2 * MOST_WORKERS)]
    one, other = (
        {labels for _, labels, _ in _of_workers("p", table(order, [1.0] * len(order)))}
        for order in (names, names[::-1])
    )
    assert one == other


def test_workers_of_a_project_are_gauged(http: httpx.Client) -> None:
    put(http, "gauged", max_labels=3)
    for task in range(12):
        said = [(name, "ab"[task % 2]) for name in HOSTILE[:3]]
        post(http, "gauged", [label(f"t{task}", worker, one) for worker, one in said])
    found = [one for one in samples(http.get("/metrics").text) if one[1].get("project") == "gauged"]
    for name in ("error_rate", "answers", "weight"):
        gauges = {
            labels["worker"]: value
            for key, labels, value in found
            if key == f"crowdstream_worker_{name}"
        }
        assert set(gauges) == set(HOSTILE[:3])
    low, high = (
        {
            labels["worker"]: value
            for key, labels, value in found
            if key == f"crowdstream_worker_error_{end}"
        }
        for end in ("low", "high")
    )
    assert all(low[worker] <= high[worker] for worker in low)
    shares = {
        labels["bound"]: value
        for key, labels, value in found
        if key == "crowdstream_expected_wrong_share"
    }
    assert 0 <= shares["low"] <= shares["estimate"] <= shares["high"] <= 1


def known(http: httpx.Client) -> set[str]:
    """Names of all metrics, those without a sample yet among them."""
    return set(re.findall(r"^# TYPE (\w+) ", http.get("/metrics").text, re.MULTILINE))


def test_every_metric_of_the_dashboard_is_there(http: httpx.Client) -> None:
    board = json.loads((EXAMPLES / "dashboard.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked += [one["query"] for one in board["templating"]["list"]]
    names = set(re.findall(r"crowdstream_\w+", " ".join(asked)))
    assert len(names) >= 10
    assert names <= known(http)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in board["panels"]]
    assert len(set(places)) == len(places) == len({panel["id"] for panel in board["panels"]})


def test_every_metric_of_the_alerts_is_there(http: httpx.Client) -> None:
    yaml = pytest.importorskip("yaml")
    groups = yaml.safe_load((EXAMPLES / "alerts.yml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 6
    names = set(re.findall(r"crowdstream_\w+", " ".join(rule["expr"] for rule in rules)))
    assert len(names) >= 6
    assert names <= known(http)
    assert all(rule["annotations"]["summary"] and rule["labels"]["severity"] for rule in rules)
