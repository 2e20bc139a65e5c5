"""The API by example, over HTTP."""

from __future__ import annotations

import gzip
import io
import json
import time
from typing import Any

import httpx
import polars as pl
import pytest

import crowdstream as cs
from tests.serve.running import Running, label, post, put


def test_a_label_is_answered_with_the_decision_on_its_task(
    http: httpx.Client, project: str
) -> None:
    answer = post(http, project, label("t1", "ann", "spam"))
    assert (answer["labels"], answer["late"]) == (1, 0)
    (decision,) = answer["decisions"]
    assert (decision["task"], decision["label"], decision["votes"]) == ("t1", "spam", 1)


def test_an_array_and_lines_and_gzip_are_taken_alike(http: httpx.Client, project: str) -> None:
    rows = [label(f"t{t}", w, "x") for t in range(3) for w in ("ann", "bob")]
    lines = "\n".join(map(json.dumps, rows)).encode()
    url = f"/v1/projects/{project}/labels"
    kind = {"Content-Type": "application/x-ndjson"}
    first = http.post(url, json=rows).json()
    second = http.post(url, content=lines, headers=kind).json()
    packed = http.post(
        url, content=gzip.compress(lines), headers=kind | {"Content-Encoding": "gzip"}
    ).json()
    assert first["labels"] == second["labels"] == packed["labels"] == 6
    assert first["decisions"] == second["decisions"] == packed["decisions"], "sent again: the same"


def test_only_the_decisions_that_are_asked_for_are_answered(
    http: httpx.Client, project: str
) -> None:
    rows = [label("full", w, "x") for w in range(5)] + [label("open", 1, "x")]
    url = f"/v1/projects/{project}/labels"
    closed = http.post(f"{url}?decisions=closed", json=rows).json()["decisions"]
    assert [one["task"] for one in closed] == ["full"]
    assert http.post(f"{url}?decisions=none", json=rows[-1:]).json()["decisions"] == []
    assert http.post(f"{url}?decisions=some", json=rows[-1:]).status_code == 422


def test_decisions_are_those_of_a_stream_given_the_same_labels(http: httpx.Client) -> None:
    put(http, "like-a-stream", max_labels=5)
    stream = cs.Stream(cs.monitor(cs.Adaptive()), max_labels=5)
    crowd = cs.simulate(12, 120, p=0.25, seed=3)
    rows = [(str(t), str(w), str(said)) for t, w, said in crowd.labels().iter_rows()]
    now = time.time() - 100_000
    for first in range(0, len(rows), 50):
        part = rows[first : first + 50]
        sent = [label(*row, at=now + first) for row in part]
        if first % 100:  # one by one, or at once
            found = [post(http, "like-a-stream", one)["decisions"][0] for one in sent]
            expected = [stream.observe(*row, at=now + first) for row in part]
        else:
            found = post(http, "like-a-stream", sent)["decisions"]
            expected = stream.observe_many(part, at=now + first)
        assert {json.dumps(one) for one in found} == {json.dumps(_as_dict(one)) for one in expected}


def _as_dict(decision: cs.Decision) -> dict[str, Any]:
    import msgspec

    return msgspec.structs.asdict(decision)


def test_asking_changes_nothing(http: httpx.Client, project: str) -> None:
    post(http, project, [label("t1", "ann", "x"), label("t1", "bob", "y")])
    questions = ["", "/tasks", "/tasks?state=open", "/tasks?state=closed", "/tasks/t1", "/workers",
                 "/workers/ann", "/next?worker=cy", "/export/decisions",
                 "/export/workers"]  # fmt: skip
    before = http.get(f"/v1/projects/{project}").json()
    for question in questions * 2:
        assert http.get(f"/v1/projects/{project}{question}").status_code == 200, question
    after = http.get(f"/v1/projects/{project}").json()
    changing = ("at", "labels_per_second")
    assert {k: v for k, v in before.items() if k not in changing} == {
        k: v for k, v in after.items() if k not in changing
    }


def test_a_label_is_replaced_retracted_and_late(http: httpx.Client, project: str) -> None:
    post(http, project, label("t1", "ann", "x"))
    replaced = post(http, project, label("t1", "ann", "y"))["decisions"][0]
    assert (replaced["label"], replaced["votes"]) == ("y", 1)
    url = f"/v1/projects/{project}"
    retracted = http.post(f"{url}/retract", json={"task": "t1", "worker": "ann"}).json()
    assert (retracted["label"], retracted["votes"]) == (None, 0)
    nobody = http.post(f"{url}/retract", json={"task": "t1", "worker": "bob"})
    assert nobody.status_code == 422
    post(http, project, label("t1", "cy", "x"))
    closed = http.post(f"{url}/close", json={"task": "t1"}).json()
    assert closed["closed"] == "closed"
    late = post(http, project, label("t1", "di", "y"))
    assert (late["labels"], late["late"], late["decisions"]) == (0, 1, [closed])
    assert http.post(f"{url}/close", json={"task": "t1"}).json() == closed, "again: the same"
    assert http.get(url).json()["late"] == 1


def test_gold_decides_its_task_and_checks_decisions(http: httpx.Client, project: str) -> None:
    url = f"/v1/projects/{project}"
    rows = [label(f"t{t}", w, "x") for t in range(20) for w in "abcde"]
    post(http, project, rows)
    told = http.post(f"{url}/gold", json={"task": "new", "label": "y"}).json()
    assert (told["label"], told["confidence"]) == ("y", 1.0)
    http.post(f"{url}/gold", json={"task": "t3", "label": "y"})
    http.post(f"{url}/gold", json={"task": "t4", "label": "x"})
    expected = http.get(url).json()["expected_errors"]
    assert (expected["basis"], expected["gold_tasks"]) == ("gold", 2)
    assert expected["rate_low"] <= expected["rate"] <= expected["rate_high"]


def test_tasks_are_listed_page_by_page(http: httpx.Client, project: str) -> None:
    post(http, project, [label(f"open{t:02d}", "ann", "x") for t in range(25)])
    post(http, project, [label(f"shut{t:02d}", w, "x") for t in range(25) for w in "abcde"])
    for state, start in (("open", "open"), ("uncertain", "open"), ("closed", "shut")):
        found: list[str] = []
        cursor = None
        while True:
            params: dict[str, Any] = {"state": state, "limit": 7}
            if cursor is not None:
                params["cursor"] = cursor
            page = http.get(f"/v1/projects/{project}/tasks", params=params).json()
            found += [task["task"] for task in page["tasks"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert sorted(found) == [f"{start}{t:02d}" for t in range(25)], state
    page = http.get(f"/v1/projects/{project}/tasks", params={"state": "closed", "q": "T07"}).json()
    assert [task["task"] for task in page["tasks"]] == ["shut07"]


def test_where_votes_are_counted_none_is_said_to_add_more(http: httpx.Client) -> None:
    http.put("/v1/projects/unweighed", json={})
    http.post("/v1/projects/unweighed/labels", json={"task": "t", "worker": "ann", "label": "x"})
    task = http.get("/v1/projects/unweighed/tasks/t").json()
    assert [vote["added"] for vote in task["labels"]] == [None]
    assert task["probabilities"] == []  # of one class there is nothing to say


def test_a_task_shows_its_votes_and_what_each_added(http: httpx.Client, project: str) -> None:
    crowd = [label(f"t{t}", w, "xy"[t % 2]) for t in range(30) for w in "abcd"]
    post(http, project, crowd)
    name = "a/b ü?#%"
    post(http, project, [label(name, "a", "x"), label(name, "b", "x"), label(name, "zed", "y")])
    from urllib.parse import quote

    task = http.get(f"/v1/projects/{project}/tasks/{quote(name, safe='')}").json()
    assert task["task"] == name
    assert task["votes_kept"] is True
    added = {vote["worker"]: vote["added"] for vote in task["labels"]}
    assert set(added) == {"a", "b", "zed"}
    assert added["a"] > 0 > added["zed"]
    assert http.get(f"/v1/projects/{project}/tasks/never").status_code == 404


def test_a_closed_task_still_shows_its_votes(http: httpx.Client, project: str) -> None:
    for worker in "abcde":
        post(http, project, label("t1", worker, "x"))
    task = http.get(f"/v1/projects/{project}/tasks/t1").json()
    assert task["closed"] == "full"
    assert [vote["worker"] for vote in task["labels"]] == list("abcde")


def test_workers_are_sorted_searched_and_paged(http: httpx.Client, project: str) -> None:
    rows = [
        label(f"t{t}", f"w{w}", "xy"[t % 2])
        for t in range(30)
        for w in range(4)
        if t % (w + 1) == 0
    ]
    post(http, project, rows)
    url = f"/v1/projects/{project}/workers"
    page = http.get(url, params={"limit": 3}).json()
    assert page["total"] == 4
    answers = [worker["answers"] for worker in page["workers"]]
    assert answers == sorted(answers, reverse=True)
    rest = http.get(url, params={"limit": 3, "cursor": page["next"]}).json()
    assert len(rest["workers"]) == 1
    assert rest["next"] is None
    named = http.get(url, params={"sort": "name", "q": "W2"}).json()
    assert [worker["worker"] for worker in named["workers"]] == ["w2"]
    one = http.get(f"{url}/w2").json()
    assert one["worker"] == "w2"
    assert {"history", "trends", "alarms", "confusions"} <= set(one)
    assert http.get(f"{url}/nobody").status_code == 404


def test_next_is_the_task_that_a_worker_has_not_labelled(http: httpx.Client, project: str) -> None:
    url = f"/v1/projects/{project}"
    assert http.post(f"{url}/offer", json={"tasks": ["t1", "t2"]}).json() == {"open": 2}
    post(http, project, label("t1", "ann", "x"))
    assert http.get(f"{url}/next", params={"worker": "ann"}).json() == {"task": "t2"}
    post(http, project, label("t2", "ann", "x"))
    assert http.get(f"{url}/next", params={"worker": "ann"}).json() == {"task": None}
    assert http.get(f"{url}/next").status_code == 422


@pytest.mark.parametrize("what", ["decisions", "workers"])
def test_exports_have_the_same_rows_in_every_format(
    http: httpx.Client, project: str, what: str
) -> None:
    post(http, project, [label(f"t{t}", w, f'x,"{t % 2}"\n') for t in range(9) for w in "abcde"])
    url = f"/v1/projects/{project}/export/{what}"
    as_csv = pl.read_csv(io.BytesIO(http.get(url).content))
    as_lines = pl.read_ndjson(io.BytesIO(http.get(url, params={"format": "ndjson"}).content))
    as_parquet = pl.read_parquet(io.BytesIO(http.get(url, params={"format": "parquet"}).content))
    key = "task" if what == "decisions" else "worker"
    expected = sorted({f"t{t}" for t in range(9)} if what == "decisions" else set("abcde"))
    for table in (as_csv, as_lines, as_parquet):
        assert sorted(table[key].to_list()) == expected
        assert table.columns == as_parquet.columns


def test_settings_are_checked_and_change(http: httpx.Client) -> None:
    assert http.put("/v1/projects/has space", json={}).status_code == 422
    assert http.put("/v1/projects/s1", json={"setle": 0.9}).json()["path"] == "$"
    wrong = http.put("/v1/projects/s1", json={"settle": 0.2}).json()
    assert (wrong["path"], wrong["status"]) == ("$.settle", 422)
    assert http.put("/v1/projects/s1", json={"method": "majority", "memory": 9}).status_code == 422
    assert http.put("/v1/projects/s1", json={"classes": ["x", "y"]}).status_code == 201
    refused = http.post("/v1/projects/s1/labels", json=[label(1, 1, "x"), label(1, 2, "z")])
    assert (refused.status_code, refused.json()["path"]) == (422, "$[1].label")
    assert http.get("/v1/projects/s1").json()["labels"] == 0, "all or none"
    post(http, "s1", label(1, 1, "x"))
    assert http.put("/v1/projects/s1", json={"method": "majority"}).status_code == 409
    assert http.put("/v1/projects/s1", json={"max_labels": 2}).status_code == 200
    assert post(http, "s1", label(1, 2, "q"))["decisions"][0]["closed"] == "full"


def test_mistakes_say_where_what_was_expected_and_what_was_sent(
    http: httpx.Client, project: str
) -> None:
    url = f"/v1/projects/{project}/labels"
    cases: list[tuple[Any, int, str]] = [
        ([label("t", "a", "x"), {"task": "t", "worker": 1.5, "label": "x"}], 422, "$[1].worker"),
        ({"task": "t", "worker": "a"}, 422, "$"),
        (label("", "a", "x"), 422, "$.task"),
        (label("t" * 600, "a", "x"), 422, "$.task"),
        (label("t", "a", 0.5), 422, "$.label"),
        (label("t", "a", "x", at=time.time() + 1e6), 422, "$.at"),
        (label("t", "a", "x", more=1), 422, "$"),
    ]
    for sent, status, path in cases:
        answer = http.post(url, json=sent)
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.status_code, answer.json()["path"]) == (status, path), answer.text
        assert answer.json()["expected"]
    assert http.post(url, content=b"{").status_code == 400
    assert http.post(url, content=b"\xff\xfe").status_code == 400
    assert http.post(url, content=b"x", headers={"Content-Encoding": "br"}).status_code == 415
    assert http.post(url, content=b"x", headers={"Content-Encoding": "gzip"}).status_code == 400
    lone = http.post(url, content=b'{"task": "\\ud800", "worker": "a", "label": "x"}')
    assert lone.status_code in (400, 422), lone.text
    missing = http.post("/v1/projects/none/labels", json=label("t", "a", "x"))
    assert missing.status_code == 404
    assert http.delete(url).status_code == 405
    assert http.get("/v1/projects/none/tasks?cursor=!").status_code == 422


def test_the_same_idempotency_key_gets_the_same_answer_and_does_nothing(
    http: httpx.Client, project: str
) -> None:
    key = {"Idempotency-Key": "k1"}
    first = post(http, project, label("t1", "ann", "x"), headers=key)
    post(http, project, label("t1", "ann", "y"))
    assert post(http, project, label("t1", "ann", "x"), headers=key) == first
    assert http.get(f"/v1/projects/{project}/tasks/t1").json()["label"] == "y"
    other = http.post(f"/v1/projects/{project}/labels", json=label("t2", "ann", "x"), headers=key)
    assert other.status_code == 422
    url = f"/v1/projects/{project}/retract"
    said = {"task": "t1", "worker": "ann"}
    once = http.post(url, json=said, headers={"Idempotency-Key": "k2"})
    again = http.post(url, json=said, headers={"Idempotency-Key": "k2"})
    assert (once.status_code, once.json()) == (200, again.json())


def test_a_large_batch_that_comes_again_does_nothing_and_gets_its_first_answer(
    http: httpx.Client, project: str
) -> None:
    rows = [label(f"t{t}", w, "x") for t in range(60) for w in "abcde"[: t % 6]]
    key = {"Idempotency-Key": "large"}
    first = post(http, project, rows, headers=key)
    assert len(json.dumps(first)) > 5000
    post(http, project, label("t1", "a", "y"))
    counts = http.get(f"/v1/projects/{project}").json()
    again = post(http, project, rows, headers=key)
    after = http.get(f"/v1/projects/{project}").json()
    for name in ("labels", "repeated", "replaced", "late"):
        assert counts[name] == after[name]
    assert again == first


def test_idle_tasks_are_closed(http: httpx.Client) -> None:
    put(http, "idle", idle=0.5)
    post(http, "idle", label("t1", "ann", "x"))
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        tasks = http.get("/v1/projects/idle").json()["tasks"]
        if tasks["idle"]:
            break
        time.sleep(0.1)
    assert (tasks["idle"], tasks["open"]) == (1, 0)


def test_an_overview_says_what_is_known(http: httpx.Client) -> None:
    put(http, "known", max_labels=5, price=0.1, currency="EUR", settle=0.9)
    crowd = cs.simulate(10, 300, p=0.15, seed=1)
    rows = [label(t, w, said) for t, w, said in crowd.labels().iter_rows()]
    post(http, "known", rows)
    time.sleep(0.5)  # what takes long to read is as of a moment ago
    found = http.get("/v1/projects/known").json()
    assert found["labels"] + found["late"] == len(rows)
    assert found["tasks"]["closed"] == 300
    assert found["workers"] >= 5, "those whose labels were not late"
    saved = found["saved"]
    assert saved["money"] == pytest.approx(0.1 * saved["labels"])
    assert 0 < saved["share"] < 1
    errors = found["expected_errors"]
    assert (errors["decided"], errors["basis"]) == (300, "joint")
    assert 0 < errors["rate"] < 0.1
    assert found["label_worth"]["effective"] <= found["label_worth"]["votes"]
    alpha = found["agreement"]["coefficients"]["alpha"]
    assert alpha["low"] < alpha["value"] < alpha["high"]
    assert found["agreement"]["text"].startswith("agreement: Krippendorff's alpha")


def test_metrics_and_health(http: httpx.Client, server: Running) -> None:
    put(http, "counted")
    post(http, "counted", label("t1", "ann", "x"))
    text = http.get("/metrics").text
    assert 'crowdstream_labels_total{project="counted"} 1' in text
    for line in text.splitlines():
        assert line.startswith("# ") or float(line.rpartition(" ")[2]) >= 0
    assert httpx.get(f"{server.url}/healthz").json()["status"] == "ok"
    assert httpx.get(f"{server.url}/readyz").json()["status"] == "ok"


def test_projects_are_listed_page_by_page(http: httpx.Client) -> None:
    for name in ("list-a", "list-b", "list-c"):
        put(http, name)
    found, cursor = [], None
    while True:
        params: dict[str, Any] = {"limit": 2} | ({} if cursor is None else {"cursor": cursor})
        page = http.get("/v1/projects", params=params).json()
        found += [one["project"] for one in page["projects"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert found == sorted(found)
    assert {"list-a", "list-b", "list-c"} <= set(found)
