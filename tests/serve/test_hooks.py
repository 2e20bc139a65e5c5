"""Annotation tools tell the server: nothing twice, nothing out of order, nothing unsigned."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serve import tools
from tests.serve.running import Running, label, post, put, serving
from tests.serve.tools import LABEL_STUDIO, annotation, known, response, votes

CREATED, MANY = "ANNOTATION_CREATED", "ANNOTATIONS_CREATED"
UPDATED, DELETED = "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED"


@pytest.fixture
def open_project(request: pytest.FixtureRequest, http: httpx.Client) -> str:
    """A project of the test's own whose tasks stay open, with a secret for Argilla."""
    name = request.node.name.partition("[")[0].replace("_", "-")[:60].strip("-.")
    put(http, name, settle=None)
    secret = http.put(f"/v1/projects/{name}/hooks/argilla/secret", json={"secret": tools.SECRET})
    assert secret.json() == {"secret": None}, "it is not told again"
    return name


def send(http: httpx.Client, project: str, action: str, given: Any, **more: Any) -> dict[str, Any]:
    answer = tools.label_studio(http, project, action, given, **more)
    assert answer.status_code == 200, answer.text
    return {name: number for name, number in answer.json().items() if number}


def test_an_annotation_is_a_label_and_changes_with_it(
    http: httpx.Client, open_project: str
) -> None:
    first = annotation(7, 1, 10, mood="good")
    assert send(http, open_project, CREATED, first) == {"taken": 1, "labels": 1}
    assert votes(http, open_project, 1) == {"10": "good"}
    later = first | annotation(8, 1, 10, mood="bad") | {"id": 7}
    assert send(http, open_project, UPDATED, later) == {"taken": 1, "labels": 1}
    assert votes(http, open_project, 1) == {"10": "bad"}
    assert send(http, open_project, DELETED, [{"id": 7}]) == {"deleted": 1, "retracted": 1}
    assert votes(http, open_project, 1) == {}
    found = http.get(f"/v1/projects/{open_project}").json()
    assert (found["replaced"], found["retracted"]) == (1, 1)


def test_many_at_once_and_a_skip(http: httpx.Client, open_project: str) -> None:
    skip = annotation(3, 2, 11, mood="good") | {"was_cancelled": True}
    many = [annotation(1, 1, 10, mood="good"), annotation(2, 1, 11, mood="bad"), skip]
    assert send(http, open_project, MANY, many) == {"taken": 3, "labels": 2}
    assert votes(http, open_project, 1) == {"10": "good", "11": "bad"}
    taken_back = annotation(9, 1, 11, mood="bad") | {"id": 2, "was_cancelled": True}
    assert send(http, open_project, UPDATED, taken_back) == {"taken": 1, "retracted": 1}
    assert votes(http, open_project, 1) == {"10": "good"}


def test_a_truth_is_gold_and_no_vote(http: httpx.Client, open_project: str) -> None:
    truth = annotation(1, 1, 10, mood="good") | {"ground_truth": True}
    assert send(http, open_project, CREATED, truth) == {"taken": 1, "gold": 1}
    assert send(http, open_project, CREATED, truth) == {"same": 1}
    found = http.get(f"/v1/projects/{open_project}/tasks/1").json()
    assert (found["gold"], found["labels"]) == ("good", [])


def test_of_two_annotations_of_one_worker_the_latest_counts(
    http: httpx.Client, open_project: str
) -> None:
    send(http, open_project, CREATED, annotation(5, 1, 10, mood="good"))
    send(http, open_project, CREATED, annotation(4, 1, 10, mood="bad"))
    assert votes(http, open_project, 1) == {"10": "good"}, "4 is older, whenever it comes"
    assert send(http, open_project, DELETED, [{"id": 5}]) == {"deleted": 1, "labels": 1}
    assert votes(http, open_project, 1) == {"10": "bad"}, "the other one is left"


def test_whatever_the_order_and_however_often_the_end_is_the_same(http: httpx.Client) -> None:
    """Each annotation's story is sent in any order, parts of it twice: its latest part wins."""
    rng = random.Random(5)
    stories: list[list[tuple[str, Any]]] = []
    expected: dict[str, dict[str, str]] = {str(task): {} for task in range(4)}
    for number in range(24):
        task, worker = number % 4, 10 + number // 4
        story: list[tuple[str, Any]] = []
        for step in range(rng.randint(1, 3)):
            told = annotation(number, task, worker, mood=rng.choice(["good", "bad"]))
            told["updated_at"] = tools.moment(1000.0 + step)
            story.append((UPDATED if step else CREATED, told))
        if rng.random() < 0.3:
            story.append((DELETED, [{"id": number}]))
        else:
            chosen = story[-1][1]["result"][0]["value"]["choices"][0]
            expected[str(task)][str(worker)] = chosen
        stories.append(story)
    put(http, "any-order", settle=None)
    told_all = [part for story in stories for part in story]
    for _ in range(2):
        rng.shuffle(told_all)
        for action, given in told_all:
            send(http, "any-order", action, given)
    assert {task: votes(http, "any-order", task) for task in expected} == expected
    before = http.get("/v1/projects/any-order").json()
    for action, given in told_all:
        send(http, "any-order", action, given)
    after = http.get("/v1/projects/any-order").json()
    counts = ("labels", "repeated", "replaced", "retracted", "skipped", "late")
    assert [before[name] for name in counts] == [after[name] for name in counts]


def test_which_question_must_be_clear(http: httpx.Client, open_project: str) -> None:
    both = annotation(1, 1, 10, mood="good", topic="sport")
    answer = tools.label_studio(http, open_project, CREATED, both)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("which question? There are 'mood' and 'topic'")
    seen = http.get(f"/v1/projects/{open_project}").json()["hooks"]
    assert seen["refused"] == 1
    assert seen["why"].startswith("which question?")
    line = f'crowdstream_hook_requests_total{{project="{open_project}",outcome="refused"}} 1'
    assert line in http.get("/metrics").text
    send(http, open_project, CREATED, both, question="topic")
    assert votes(http, open_project, 1) == {"10": "sport"}
    only_mood = annotation(2, 1, 11, mood="good")
    refused = tools.label_studio(http, open_project, CREATED, only_mood)
    assert refused.status_code == 422, "one question so far was topic"
    refused = tools.label_studio(http, open_project, CREATED, only_mood, question="mood")
    assert refused.json()["detail"] == (
        "?question: expected 'topic', which this project holds, found 'mood' (one project per "
        "question)"
    )
    changed = http.put(f"/v1/projects/{open_project}", json={"settle": None, "question": "mood"})
    assert (changed.status_code, changed.json()["path"]) == (409, "$.question")
    assert votes(http, open_project, 1) == {"10": "sport"}, "nothing of another question"
    put(http, open_project, settle=None, question="Topic")
    send(http, open_project, UPDATED, annotation(1, 1, 10, mood="good", topic="art"))
    assert votes(http, open_project, 1) == {"10": "art"}, "in whatever spelling"


def test_each_question_of_a_tool_goes_to_the_project_that_holds_it(http: httpx.Client) -> None:
    both = annotation(1, 1, 10, mood="good", topic="sport")
    for question, said in {"mood": "good", "topic": "sport"}.items():
        put(http, f"of-{question}", settle=None, question=question)
        send(http, f"of-{question}", CREATED, both)
        assert votes(http, f"of-{question}", 1) == {"10": said}


def test_answers_to_several_questions_are_refused_by_name(http: httpx.Client) -> None:
    put(http, "listed", settle=None)
    url = f"/v1/projects/listed/answers/{LABEL_STUDIO}"
    mood = {"id": 1, "task": 1, "worker": 1, "label": "good", "question": "mood"}
    topic = mood | {"id": 2, "label": "sport", "question": "topic"}
    refused = http.post(url, json={"answers": [mood, topic]})
    assert refused.status_code == 422
    assert "expected one question, found 'mood' and 'topic'" in refused.json()["detail"]
    assert http.post(url, json={"answers": [mood]}).json()["labels"] == 1
    refused = http.post(url, json={"answers": [topic]})
    assert "expected 'mood', which this project holds" in refused.json()["detail"]
    put(http, "titled", settle=None, question="mood")
    refused = http.post(url.replace("listed", "titled"), json={"answers": [topic]})
    assert refused.status_code == 422
    assert http.get("/v1/projects/titled").json()["labels"] == 0


def test_ratings_of_a_tool_are_scores_too(http: httpx.Client) -> None:
    put(http, "rated", settle=None)
    rated = annotation(1, 1, 10, mood="0.4")
    refused = tools.label_studio(http, "rated", CREATED, rated)
    assert refused.status_code == 422
    assert "a score, '0.4'" in http.get("/v1/projects/rated").json()["hooks"]["why"]
    put(http, "rated", settle=None, threshold=0.5)
    send(http, "rated", CREATED, rated)
    send(http, "rated", CREATED, annotation(2, 1, 11, mood="0.9"))
    assert votes(http, "rated", 1) == {"10": "fail", "11": "pass"}
    send(
        http,
        "rated",
        UPDATED,
        annotation(1, 1, 10, mood="0.8") | {"updated_at": "2099-01-01T00:00:00Z"},
    )
    assert votes(http, "rated", 1) == {"10": "pass", "11": "pass"}


def test_several_choices_are_refused_and_seen(http: httpx.Client, open_project: str) -> None:
    """Before, the first of them was the label and nobody was told."""
    several = annotation(1, 1, 10, mood="good")
    several["result"][0]["value"]["choices"] = ["good", "bad"]
    answer = tools.label_studio(http, open_project, CREATED, several)
    assert answer.status_code == 422
    assert answer.json()["detail"] == "label: expected one class, got 2: 'good', 'bad'"
    assert http.get(f"/v1/projects/{open_project}").json()["hooks"]["refused"] == 1
    several["result"][0]["value"]["choices"] = ["good"]
    send(http, open_project, CREATED, several)
    assert votes(http, open_project, 1) == {"10": "good"}


def test_other_actions_are_ignored_and_odd_ones_refused(
    http: httpx.Client, open_project: str
) -> None:
    url = f"/v1/projects/{open_project}/hooks/label-studio"
    assert http.post(url, json={"action": "PROJECT_UPDATED"}).json()["ignored"] == 1
    bad: list[Any] = [
        {"action": CREATED}, {"action": CREATED, "annotation": {"id": 1}}, {}, [], "x",
        {"action": DELETED, "annotations": [{"id": None}]},
        {"action": DELETED, "annotations": [{"id": "7" * 600}]},
        {"action": CREATED, "annotation": annotation(1, 1, 2, mood="x" * 600)},
        {"action": CREATED, "annotation": annotation(1, 1, 2, mood="x") | {"task": "t" * 600}},
    ]  # fmt: skip
    for body in bad:
        answer = http.post(url, json=body)
        assert answer.status_code == 422, body
        assert answer.json()["detail"]
    assert "Send payload" in http.post(url, json={"action": CREATED}).json()["detail"]
    assert http.post(url, content=b"{").status_code == 400
    assert http.get(f"/v1/projects/{open_project}").json()["hooks"]["refused"] == len(bad) + 2
    assert known(http, open_project, LABEL_STUDIO) == {}


def test_a_wrong_token_is_refused_and_seen(
    server: Running, http: httpx.Client, open_project: str
) -> None:
    with server.http("cs_wrong") as stranger:
        answer = tools.label_studio(stranger, open_project, CREATED, annotation(1, 1, 2, mood="x"))
    assert answer.status_code == 401
    assert "token" in http.get(f"/v1/projects/{open_project}").json()["hooks"]["why"]


def test_only_the_projects_classes_are_taken(http: httpx.Client) -> None:
    put(http, "classes", settle=None, classes=["good", "bad"])
    many = [annotation(1, 1, 10, mood="good"), annotation(2, 1, 11, mood="odd")]
    assert tools.label_studio(http, "classes", MANY, many).status_code == 422
    assert votes(http, "classes", 1) == {}, "all of a request or nothing of it"
    assert known(http, "classes", LABEL_STUDIO) == {}


def test_on_a_closed_task_it_is_late(http: httpx.Client) -> None:
    put(http, "late-hooks", settle=None, max_labels=1)
    send(http, "late-hooks", CREATED, annotation(1, 1, 10, mood="good"))
    late = annotation(2, 1, 11, mood="bad")
    assert send(http, "late-hooks", CREATED, late) == {"taken": 1, "late": 1}
    assert send(http, "late-hooks", CREATED, late) == {"same": 1}, "and not late twice"
    assert send(http, "late-hooks", DELETED, [{"id": 1}]) == {"deleted": 1, "late": 1}
    found = http.get("/v1/projects/late-hooks").json()
    assert (found["labels"], found["late"]) == (1, 2)


def test_a_label_taken_back_by_hand_is_no_mistake(http: httpx.Client, open_project: str) -> None:
    send(http, open_project, CREATED, annotation(1, 1, 10, mood="good"))
    given = {"task": "1", "worker": "10"}
    assert http.post(f"/v1/projects/{open_project}/retract", json=given).status_code == 200
    assert send(http, open_project, DELETED, [{"id": 1}]) == {"deleted": 1}


def test_a_time_far_ahead_does_not_block_what_comes_later(
    http: httpx.Client, open_project: str
) -> None:
    ahead = annotation(1, 1, 10, mood="good") | {"updated_at": "9000-01-01T00:00:00Z"}
    send(http, open_project, CREATED, ahead)
    assert known(http, open_project, LABEL_STUDIO)["1"]["at"] < time.time() + 400


def test_argilla_is_believed_by_its_signature(http: httpx.Client, open_project: str) -> None:
    now = time.time()
    data = response("r1", "rec1", "u1", now, mood="good")
    created = tools.argilla(http, open_project, "response.created", data)
    assert (created.status_code, created.json()["labels"]) == (200, 1)
    other = response("r1", "rec1", "u1", now + 1, mood="bad")
    plain = {"secret": "a plain secret, not base64"}
    http.put(f"/v1/projects/{open_project}/hooks/argilla/secret", json=plain)
    kind = "response.updated"
    assert tools.argilla(http, open_project, kind, other).status_code == 401, "the old secret"
    taken = tools.argilla(http, open_project, kind, other, secret=plain["secret"])
    assert taken.status_code == 200
    assert votes(http, open_project, "rec1") == {"u1": "bad"}
    assert "signature" in http.get(f"/v1/projects/{open_project}").json()["hooks"]["why"]


@pytest.mark.parametrize(
    "wrong", [{"secret": "another secret 123"}, {"sent": 1.0}, {"sent": 1.0, "signed": 1.0}]
)
def test_argilla_is_not_believed_otherwise(
    http: httpx.Client, open_project: str, wrong: dict[str, Any]
) -> None:
    data = response("r1", "rec1", "u1", 1.0, mood="good")
    answer = tools.argilla(http, open_project, "response.created", data, **wrong)
    assert answer.status_code == 401
    assert votes(http, open_project, "rec1") == {}


def test_argilla_without_a_secret_is_not_believed(http: httpx.Client) -> None:
    put(http, "no-secret")
    data = response("r1", "rec1", "u1", 1.0, mood="good")
    for project in ("no-secret", "no-project"):
        answer = tools.argilla(http, project, "response.created", data, secret="")
        assert answer.status_code == 401


def test_argilla_may_sign_the_time_of_the_event(http: httpx.Client, open_project: str) -> None:
    """It does: a second that is not the header's. The event's time is in the signed body."""
    now = time.time()
    data = response("r1", "rec1", "u1", now, mood="good")
    answer = tools.argilla(http, open_project, "response.created", data, sent=now, signed=now - 7)
    assert answer.status_code == 200


def test_argilla_deletes_skips_and_repeats(http: httpx.Client, open_project: str) -> None:
    now = time.time()
    data = response("r1", "rec1", "u1", now, mood="good")
    first = tools.argilla(http, open_project, "response.created", data, message="msg_1")
    again = tools.argilla(http, open_project, "response.created", data, message="msg_1")
    assert first.content == again.content, "by its id"
    anew = tools.argilla(http, open_project, "response.created", data, message="msg_2")
    assert anew.json()["same"] == 1, "by what it says"
    discarded = response("r1", "rec1", "u1", now + 1, mood="good") | {"status": "discarded"}
    tools.argilla(http, open_project, "response.updated", discarded)
    assert votes(http, open_project, "rec1") == {}
    tools.argilla(http, open_project, "response.updated",
                  response("r1", "rec1", "u1", now + 2, mood="bad"))  # fmt: skip
    assert votes(http, open_project, "rec1") == {"u1": "bad"}
    gone = tools.argilla(http, open_project, "response.deleted", {"id": "r1"})
    assert gone.json()["retracted"] == 1
    ignored = tools.argilla(http, open_project, "record.completed", {"id": "rec1"})
    assert ignored.json()["ignored"] == 1


def test_a_syncs_answers_are_taken_as_they_are_now(http: httpx.Client, open_project: str) -> None:
    url = f"/v1/projects/{open_project}/answers/{LABEL_STUDIO}"
    rows = [
        {"id": n, "task": n % 2, "worker": n, "label": "good", "question": "mood", "at": 5.0}
        for n in range(5)
    ]
    assert http.post(url, json={"answers": rows}).json()["labels"] == 5
    assert http.post(url, json={"answers": rows}).json()["same"] == 5
    found = known(http, open_project, LABEL_STUDIO)
    assert list(found.values()) == [
        row | {"id": str(row["id"]), "task": str(row["task"]), "worker": str(row["worker"]),
               "gold": False}
        for row in rows
    ]  # fmt: skip
    first = http.get(url, params={"limit": 2}).json()
    rest = http.get(url, params={"limit": 9, "cursor": first["next"]}).json()
    assert [one["id"] for one in first["answers"] + rest["answers"]] == list("01234")
    gone = http.post(url, json={"gone": ["0", 1, "99"]}).json()
    assert (gone["deleted"], gone["retracted"], gone["same"]) == (2, 2, 1)
    assert http.post(url, json={"answers": rows[:1]}).json()["labels"] == 1, "it is there after all"
    assert send(http, open_project, DELETED, [{"id": 3}]) == {"deleted": 1, "retracted": 1}
    assert http.post(url, json={"answers": rows[3:4]}).json()["stale"] == 1, "read before that"
    assert http.get(url.replace(LABEL_STUDIO, "other")).status_code == 404


def test_what_was_told_is_known_after_a_kill(tmp_path: Path) -> None:
    """Which annotation is whose, what was deleted, the secret: on the disk with the labels."""
    folder = tmp_path / "data"
    now = time.time()
    data = response("r1", "rec1", "u1", now, mood="good")
    with serving(folder) as running, running.http() as http:
        put(http, "p", settle=None)
        http.put("/v1/projects/p/hooks/argilla/secret", json={"secret": tools.SECRET})
        for n in (1, 2):
            send(http, "p", CREATED, annotation(n, 1, n, mood="good"))
        send(http, "p", DELETED, [{"id": 2}])
        tools.argilla(http, "p", "response.created", data, message="msg_1")
        before = http.get("/v1/projects/p").json()
        running.kill()
    with serving(folder) as running, running.http() as http:
        assert http.get("/v1/projects/p").json()["labels"] == before["labels"]
        assert send(http, "p", CREATED, annotation(1, 1, 1, mood="good")) == {"same": 1}
        assert send(http, "p", CREATED, annotation(2, 1, 2, mood="good")) == {"stale": 1}
        repeated = tools.argilla(http, "p", "response.created", data, message="msg_1")
        assert repeated.json()["labels"] == 1, "the answer that it got"
        assert votes(http, "p", 1) == {"1": "good"}
        assert send(http, "p", DELETED, [{"id": 1}]) == {"deleted": 1, "retracted": 1}


def test_labels_of_tools_and_others_are_one_crowd(http: httpx.Client, open_project: str) -> None:
    post(http, open_project, label(1, "ann", "good"))
    send(http, open_project, CREATED, annotation(1, 1, 10, mood="bad"))
    assert votes(http, open_project, 1) == {"ann": "good", "10": "bad"}
