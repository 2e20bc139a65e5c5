"""A project holds one question and decides one class per task; the rest is refused by name."""

from __future__ import annotations

import gzip
import itertools
import random
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from crowdstream.labels.columns import ALIASES
from crowdstream.serve import log_events
from crowdstream.serve.store import Store
from tests.serve.running import label, post, put, serving


def refused(http: httpx.Client, project: str, labels: object, **more: Any) -> dict[str, Any]:
    """What is said of labels that are not taken, of which none is."""
    before = http.get(f"/v1/projects/{project}").json()["labels"]
    if more:
        answer = http.post(f"/v1/projects/{project}/labels", **more)
    else:
        answer = http.post(f"/v1/projects/{project}/labels", json=labels)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert http.get(f"/v1/projects/{project}").json()["labels"] == before, "all or none"
    found: dict[str, Any] = answer.json()
    return found


def test_a_label_of_another_question_is_refused_by_name(http: httpx.Client) -> None:
    put(http, "tone", question="tone")
    rows = [label("t1", worker, "rude", question="tone") for worker in "abc"]
    found = refused(http, "tone", [*rows, label("t1", "d", "yes", question="toxic")])
    assert found["path"] == "$[3].question"
    assert found["expected"] == "'tone', which this project holds"
    assert found["got"] == "'toxic' (one project per question)"
    assert found["detail"] == (
        "$[3].question: expected 'tone', which this project holds, found 'toxic' "
        "(one project per question)"
    )
    assert refused(http, "tone", label("t1", "d", "yes", question="toxic"))["path"] == "$.question"
    assert post(http, "tone", [*rows, label("t1", "d", "rude", question=" Tone")])["labels"] == 4
    assert post(http, "tone", label("t1", "e", "rude"))["labels"] == 1, "it need not say it"


def test_a_project_without_a_question_says_how_to_make_one(http: httpx.Client) -> None:
    put(http, "plain")
    found = refused(http, "plain", label("t1", "a", "yes", question='to"xic'))
    assert found["path"] == "$.question"
    assert 'make one with {"question":"to\\"xic"}' in found["expected"]
    post(http, "plain", label("t1", "a", "yes"))
    put(http, "plain", question='to"xic')
    assert post(http, "plain", label("t1", "b", "yes", question='to"xic'))["labels"] == 1


def test_lines_packed_bodies_and_large_ones_are_checked_alike(http: httpx.Client) -> None:
    """Small posts take another way into the server than large or packed ones."""
    put(http, "ways", question="tone")
    rows = [label(f"t{n}", "a", "x", question="tone") for n in range(1000)]
    rows[700]["question"] = "toxic"
    lines = b"\n".join(map(msgspec.json.encode, rows))
    ways: list[dict[str, Any]] = [
        {"json": rows},
        {"content": lines, "headers": {"Content-Type": "application/x-ndjson"}},
        {
            "content": gzip.compress(msgspec.json.encode(rows)),
            "headers": {"Content-Encoding": "gzip"},
        },
    ]
    for way in ways:
        assert refused(http, "ways", None, **way)["path"] == "$[700].question"
    for question in (None, "tone"):
        assert post(http, "ways", label("t", f"by {question}", "x", question=question))["labels"]


@pytest.mark.parametrize("name", [*ALIASES["question"], "Score Name"])
def test_no_other_name_of_a_question_is_dropped(http: httpx.Client, name: str) -> None:
    put(http, "aliases", question="tone")
    if name == "question":
        assert refused(http, "aliases", label("t", "a", "x", question="toxic"))
        return
    found = refused(
        http, "aliases", [label("t", "a", "x"), label("t", "b", "x", **{name: "toxic"})]
    )
    assert found["path"] == f"$[1].{name}"
    assert found["expected"] == "'question' as its name"


def test_the_question_stays_once_there_are_labels(http: httpx.Client) -> None:
    put(http, "stays", question="tone")
    put(http, "stays", question="toxic")
    post(http, "stays", label("t1", "a", "x"))
    for settings in ({"question": "tone"}, {}):
        answer = http.put("/v1/projects/stays", json=settings)
        assert (answer.status_code, answer.json()["path"]) == (409, "$.question")
    put(http, "stays", question="Toxic", max_labels=3)


# Scores and sets ---------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [0.37, "0.37", "87.5"])
def test_a_score_is_refused_with_what_to_do(http: httpx.Client, said: object) -> None:
    name = f"scores-{type(said).__name__}-{said}"
    put(http, name)
    for sent in (label("t1", "a", said), [label("t1", "a", said), label("t2", "a", 1)]):
        found = refused(http, name, sent)
        assert found["path"].endswith(".label")
        assert found["got"] == f"a score, {said!r}"
        assert "post pass or fail" in found["expected"]
        assert '"as_classes": true' in found["expected"]
    gold = http.post(f"/v1/projects/{name}/gold", json={"task": "t1", "label": said})
    assert (gold.status_code, gold.json()["path"]) == (422, "$.label")
    put(http, name, as_classes=True)
    post(http, name, label("t1", "a", said))
    assert http.get(f"/v1/projects/{name}").json()["classes"] == [str(said)]


def test_stars_are_classes_and_a_hundred_points_are_not(http: httpx.Client) -> None:
    put(http, "points")
    for number in range(11):  # 0 to 10
        post(http, "points", label("t1", f"w{number}", str(number)))
    found = refused(http, "points", [label("t1", "new", n) for n in ("3", "57")])
    assert (found["path"], found["got"]) == ("$[1].label", "a score, '57'")
    post(http, "points", label("t1", "w2", "7"))  # a class that is known


def test_whole_numbers_may_come_as_floats(http: httpx.Client) -> None:
    """A column of integers with a gap is written as floats."""
    put(http, "whole")
    post(http, "whole", [label("t1", "a", 1), label("t1", "b", 1.0)])
    assert http.get("/v1/projects/whole").json()["classes"] == [1]


def test_named_classes_may_look_like_anything(http: httpx.Client) -> None:
    named = ["0.5", "0.7", "a|b", "a", "b"]
    put(http, "named", classes=named)
    assert post(http, "named", [label("t1", f"w{n}", said) for n, said in enumerate(named)])
    found = refused(http, "named", label("t1", "x", 0.5))
    assert found["path"] == "$.label"


def test_a_list_is_refused_by_name(http: httpx.Client) -> None:
    put(http, "lists")
    found = refused(http, "lists", [label("t", "a", "x"), label("t", "b", ["cat", "dog"])])
    assert (found["path"], found["got"]) == ("$[1].label", "a list")
    assert "one class (post yes or no to a project per class" in found["expected"]
    found = refused(http, "lists", label("t", "b", '["cat", "dog"]'))
    assert found["got"] == """several in one, '["cat", "dog"]'"""
    post(http, "lists", [label("t", "a", "cat"), label("t", "b", "dog")])
    found = refused(http, "lists", label("t", "c", "dog|cat"))
    assert found["got"] == "several in one, 'dog|cat'"
    post(http, "lists", label("t", "c", "New York, NY"))
    put(http, "lists", as_classes=True)
    post(http, "lists", label("t", "d", "dog|cat"))


def test_a_set_is_known_when_its_parts_come_later(http: httpx.Client) -> None:
    put(http, "later")
    post(http, "later", [label("t", "a", "cat|dog")])
    found = refused(http, "later", label("t", "c", "dog"))
    assert found["got"] == "several in one, 'cat|dog'"


def test_a_threshold_makes_pass_and_fail_of_scores(http: httpx.Client) -> None:
    put(http, "judged", threshold=0.7, max_labels=9)
    rows = [
        label("t1", "a", 0.7),
        label("t1", "b", "0.69"),
        label("t1", "c", 1),
        label("t1", "d", "pass"),
    ]
    post(http, "judged", rows)
    post(http, "judged", label("t1", "e", 0.1))
    found = http.get("/v1/projects/judged/tasks/t1").json()["labels"]
    assert [one["label"] for one in found] == ["pass", "fail", "pass", "pass", "fail"]
    wrong = refused(http, "judged", [label("t1", "f", 0.9), label("t1", "g", "good")])
    assert (wrong["path"], wrong["got"]) == ("$[1].label", "'good'")
    assert "a score (from 0.7 on it is pass)" in wrong["expected"]
    assert refused(http, "judged", label("t1", "f", True))
    answer = http.post("/v1/projects/judged/gold", json={"task": "t1", "label": 0.9}).json()
    assert answer["label"] == "pass"
    changed = http.put("/v1/projects/judged", json={"threshold": 0.5})
    assert (changed.status_code, changed.json()["path"]) == (409, "$.threshold")
    both = http.put("/v1/projects/both", json={"threshold": 0.5, "as_classes": True})
    assert (both.status_code, both.json()["path"]) == (422, "threshold")
    others = http.put("/v1/projects/both", json={"threshold": 0.5, "classes": ["x", "y"]})
    assert (others.status_code, others.json()["path"]) == (422, "threshold")
    put(http, "both", threshold=0.5, classes=["pass", "fail"])
    post(http, "both", label("t1", "a", 0.9))


def test_what_was_counted_is_what_is_logged_and_replayed(tmp_path: Path) -> None:
    chance = random.Random(5)
    folder = tmp_path / "data"
    with serving(folder) as server, server.http() as http:
        put(http, "replayed", threshold=0.5, question="tone", settle=None)
        rows = [
            label(f"t{t}", f"w{w}", chance.random(), question="tone")
            for t, w in itertools.product(range(20), range(5))
        ]
        post(http, "replayed", rows[:90])
        for row in rows[90:]:
            post(http, "replayed", row)
        before = http.get("/v1/projects/replayed/tasks?state=open&limit=100").json()
        server.kill()
    with serving(folder) as server, server.http() as http:
        assert http.get("/v1/projects/replayed/tasks?state=open&limit=100").json() == before
        assert refused(http, "replayed", label("t", "a", 0.7, question="toxic"))
        assert server.stop() == 0
    store = Store(folder)
    try:
        events = [one for part in store.events(1, None) for one in log_events.unpack(part)]
    finally:
        store.close()
    logged = [row[2] for one in events if isinstance(one, log_events.Labels) for row in one.rows]
    expected = ["pass" if float(str(row["label"])) >= 0.5 else "fail" for row in rows]
    assert logged == expected


def test_classes_are_known_after_a_start(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(folder) as server, server.http() as http:
        put(http, "p", settle=None)
        for number in range(11):
            post(http, "p", label("t", f"w{number}", number))
        server.kill()
    with serving(folder) as server, server.http() as http:
        assert refused(http, "p", label("t", "new", 57))["got"] == "a score, 57"
        post(http, "p", label("t", "new", 10))


def test_words_that_mean_no_answer_are_classes_as_they_were(http: httpx.Client) -> None:
    """Not guessed: whoever posts labels can post null."""
    put(http, "words")
    post(http, "words", [label("t", "a", "N/A"), label("t", "b", None)])
    overview = http.get("/v1/projects/words").json()
    assert (overview["classes"], overview["skipped"]) == (["N/A"], 1)
