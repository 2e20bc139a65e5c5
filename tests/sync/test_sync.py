"""Webhooks and a sync together miss nothing, whatever gets lost; a second sync changes nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

import crowdstream as cs
from crowdstream.cli import app
from crowdstream.labels.readers.answer import Answer
from crowdstream.sync.syncing import ProjectClient, sync
from tests.serve import tools
from tests.serve.running import Running, put, serving
from tests.sync.fake_tools import KEY, LEGACY, FakeArgilla, FakeLabelStudio, FakeTool, listening

pytest.importorskip("uvloop", reason="the extra serve is not installed")

Sync = Callable[..., Result]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("sync") / "data") as running:
        yield running


@pytest.fixture
def http(server: Running) -> Iterator[httpx.Client]:
    with server.http() as client:
        yield client


@pytest.fixture
def studio() -> Iterator[tuple[FakeLabelStudio, str]]:
    tool = FakeLabelStudio(3)
    with listening(tool.app()) as url:
        yield tool, f"{url}/projects/3/data?tab=1"


def run_sync(
    server: Running, tool: str, url: str, project: str, *options: str, key: str = KEY
) -> Result:
    """The command, as it is typed."""
    environment = {
        "CROWDSTREAM_TOKEN": server.token, "LABEL_STUDIO_API_KEY": key, "ARGILLA_API_KEY": key,
    }  # fmt: skip
    given = ["sync", tool, url, "--project", project, "--server", server.url, *options]
    return CliRunner().invoke(app, given, env=environment)


def counts(http: httpx.Client, project: str) -> list[int]:
    found = http.get(f"/v1/projects/{project}").json()
    return [found[one] for one in ("labels", "repeated", "replaced", "retracted", "late")]


def check_the_same(http: httpx.Client, project: str, name: str, tool: FakeTool) -> None:
    """The server knows exactly the tool's answers, and counts exactly their votes."""
    known = tools.known(http, project, name)
    contents = {
        key: (one["task"], one["worker"], one["label"], one["at"]) for key, one in known.items()
    }
    assert contents == {
        tool.id(one): (tool.task(one), tool.worker(one), one["label"], one["at"])
        for one in tool.now.values()
    }
    every = {tool.task({"task": task}) for task in tool.tasks}
    found = {task: tools.votes(http, project, task) for task in every}
    assert {task: votes for task, votes in found.items() if votes} == tool.votes()


def hooks_then_sync(server: Running, http: httpx.Client, tool: Any, name: str, url: str) -> None:
    project = f"all-of-{name}"
    put(http, project, settle=None)
    secret = {"secret": tools.SECRET}
    http.put(f"/v1/projects/{project}/hooks/argilla/secret", json=secret)
    tool.hook = tool.send(http, project)
    for part in range(3):
        for _ in range(40):
            tool.do_something()
        assert tool.lost > 5 * (part + 1)
        found = run_sync(server, name, url, project)
        assert found.exit_code == 0, found.output
        check_the_same(http, project, name, tool)
        before = counts(http, project)
        again = run_sync(server, name, url, project)
        assert f"nothing has changed ({len(tool.now)} answers)" in again.output
        assert counts(http, project) == before
    assert http.get(f"/v1/projects/{project}").json()["hooks"]["refused"] == 0


def test_label_studio_is_known_whole(
    server: Running, http: httpx.Client, studio: tuple[FakeLabelStudio, str]
) -> None:
    hooks_then_sync(server, http, studio[0], "label-studio", studio[1])


def test_argilla_is_known_whole(server: Running, http: httpx.Client) -> None:
    tool = FakeArgilla(4)
    with listening(tool.app()) as url:
        hooks_then_sync(server, http, tool, "argilla", f"{url}/dataset/abc-1/annotation-mode")


def test_a_dry_run_only_looks(
    server: Running, http: httpx.Client, studio: tuple[FakeLabelStudio, str]
) -> None:
    put(http, "dry", settle=None)
    for _ in range(10):
        studio[0].do_something()
    found = run_sync(server, "label-studio", studio[1], "dry", "--dry-run", key=LEGACY)
    assert f"would send: {len(studio[0].now)} new" in found.output
    assert tools.known(http, "dry", "label-studio") == {}


def test_a_page_that_moved_deletes_nothing(
    server: Running, http: httpx.Client, studio: tuple[FakeLabelStudio, str]
) -> None:
    """A task that one reading of the pages misses is still there in the next."""
    put(http, "pages", settle=None)
    tool, url = studio
    for _ in range(40):
        tool.do_something()
    run_sync(server, "label-studio", url, "pages")
    tool.skipped_page = True
    found = run_sync(server, "label-studio", url, "pages")
    assert found.exit_code == 0
    assert not tool.skipped_page
    check_the_same(http, "pages", "label-studio", tool)


def test_a_tool_that_is_busy_or_forgets_us_is_asked_again(
    server: Running, http: httpx.Client, studio: tuple[FakeLabelStudio, str]
) -> None:
    put(http, "busy", settle=None)
    tool, url = studio
    tool.do_something()
    for hiccups in ([503], [401]):
        tool.hiccups = hiccups
        found = run_sync(server, "label-studio", url, "busy")
        assert found.exit_code == 0, found.output
    check_the_same(http, "busy", "label-studio", tool)


def test_what_cannot_be_taken_is_said(
    server: Running, http: httpx.Client, studio: tuple[FakeLabelStudio, str]
) -> None:
    put(http, "classes", settle=None, classes=["good", "bad"])
    tool, url = studio
    tool.now = {
        n: {"id": n, "task": n, "worker": 1, "label": label, "at": 5.0}
        for n, label in enumerate(["good", "<i>", "bad"], start=1)
    }
    found = run_sync(server, "label-studio", url, "classes")
    assert found.exit_code == 1
    assert "not taken: label-studio 2: its label '<i>' is not one of" in found.output
    assert set(tools.known(http, "classes", "label-studio")) == {"1", "3"}


class TwoQuestions:
    """A tool that asks two questions."""

    name = "label-studio"

    def answers(self) -> Iterator[Answer]:
        skip = Answer("1", "ann", None, id="2")
        mood = Answer("1", "bob", "good", "mood", 5.0, id="1")
        return iter([mood, mood._replace(label="sport", question="topic"), skip])


def test_of_several_questions_one_is_chosen(server: Running, http: httpx.Client) -> None:
    put(http, "questions", settle=None)
    with ProjectClient(server.url, server.token, "questions") as client:
        with pytest.raises(cs.InputError, match="'mood' and 'topic'"):
            sync(TwoQuestions(), client)
        with pytest.raises(cs.InputError, match="expected 'mood' or 'topic', found 'colour'"):
            sync(TwoQuestions(), client, question="colour")
        put(http, "questions", settle=None, question="topic")
        assert sync(TwoQuestions(), client).told.labels == 1
        assert tools.votes(http, "questions", 1) == {"bob": "sport"}
        with pytest.raises(cs.InputError, match="expected 'topic', which this project holds"):
            sync(TwoQuestions(), client, question="mood")
        assert tools.votes(http, "questions", 1) == {"bob": "sport"}
    put(http, "moods", settle=None, question="MOOD")
    with ProjectClient(server.url, server.token, "moods") as client:
        found = sync(TwoQuestions(), client, question="mood")
        assert (found.question, found.told.labels) == ("mood", 1), "as the tool spells it"
        assert tools.votes(http, "moods", 1) == {"bob": "good"}
        assert sync(TwoQuestions(), client).difference.same == 2, "a second one changes nothing"


def test_without_a_setting_a_project_keeps_to_its_first_question(
    server: Running, http: httpx.Client
) -> None:
    put(http, "unnamed", settle=None)
    with ProjectClient(server.url, server.token, "unnamed") as client:
        assert sync(TwoQuestions(), client, question="mood").told.labels == 1
        with pytest.raises(cs.InputError, match="expected 'mood', which this project holds"):
            sync(TwoQuestions(), client, question="topic")
        assert tools.votes(http, "unnamed", 1) == {"bob": "good"}


class SeveralChoices:
    """A tool in which one of two people chose several classes."""

    name = "label-studio"

    def answers(self) -> Iterator[Answer]:
        one = Answer("1", "ann", "good", "mood", 5.0, id="1")
        return iter([one, one._replace(worker="bob", label='["good", "bad"]', id="2")])


def test_several_choices_are_refused_and_the_rest_is_taken(
    server: Running, http: httpx.Client
) -> None:
    put(http, "choices", settle=None)
    with ProjectClient(server.url, server.token, "choices") as client:
        found = sync(SeveralChoices(), client)
    ((refused, why),) = found.difference.refused
    assert (refused.worker, found.told.labels) == ("bob", 1)
    assert "several classes" in why


def test_again_and_again_until_interrupted(
    server: Running,
    http: httpx.Client,
    studio: tuple[FakeLabelStudio, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A time that fails is said, and the next may go well."""
    put(http, "again", settle=None)
    tool, url = studio
    naps: list[float] = []
    sleep, syncing = time.sleep, threading.current_thread()

    def nap(seconds: float) -> None:
        if threading.current_thread() is not syncing:  # the fake tool's own
            return sleep(seconds)
        naps.append(seconds)
        tool.do_something()
        if len(naps) == 1:
            monkeypatch.setattr("crowdstream.sync.syncing.chosen", fail)
        elif len(naps) == 2:
            monkeypatch.undo()
            monkeypatch.setattr("crowdstream.cli.sync.time.sleep", nap)
        else:
            raise KeyboardInterrupt
        return None

    def fail(*_: object) -> None:
        raise cs.CrowdstreamError("the tool is away")

    monkeypatch.setattr("crowdstream.cli.sync.time.sleep", nap)
    found = run_sync(server, "label-studio", url, "again", "--every", "5m")
    assert naps == [300.0] * 3
    assert found.exit_code == 130
    assert found.output.splitlines()[1:2] == ["not this time: the tool is away"]
    assert "2 new" in found.output


def test_decisions_go_back_as_predictions(
    server: Running, http: httpx.Client, studio: tuple[FakeLabelStudio, str]
) -> None:
    put(http, "push", settle=None, max_labels=3)
    tool, url = studio
    for worker in (1, 2, 3):
        for task in (1, 2):
            label = "good" if task == 1 else "bad"
            number = 10 * task + worker
            tool.now[number] = {
                "id": number, "task": task, "worker": worker, "label": label, "at": 5.0,
            }  # fmt: skip
    found = run_sync(server, "label-studio", url, "push", "--push")
    assert "predictions: 2 made, 0 changed, 0 as they were" in found.output
    decided = {
        one["task"]: one for one in http.get("/v1/projects/push/tasks?state=closed").json()["tasks"]
    }
    for one in tool.predictions.values():
        decision = decided[str(one["task"])]
        assert one["score"] == decision["confidence"]
        assert one["result"][0]["value"] == {"choices": [decision["label"]]}
        assert (one["model_version"], one["result"][0]["to_name"]) == ("crowdstream", "text")
    assert (
        "0 changed, 2 as they were"
        in run_sync(server, "label-studio", url, "push", "--push").output
    )
    tool.predictions[1]["score"] = 0.5
    assert (
        "1 changed, 1 as they were"
        in run_sync(server, "label-studio", url, "push", "--push").output
    )


@pytest.mark.parametrize(
    ("tool", "url", "says"),
    [
        ("label-studio", "http://127.0.0.1:9", "expected a project's address such as"),
        ("argilla", "http://127.0.0.1:9/projects/3", "expected a dataset's address such as"),
        ("label-studio", "STUDIO", "the token is not accepted (401)"),
    ],
)
def test_mistakes_are_one_line(
    server: Running, studio: tuple[FakeLabelStudio, str], tool: str, url: str, says: str
) -> None:
    given = studio[1] if url == "STUDIO" else url
    found = run_sync(server, tool, given, "none", key="wrong")
    if "token" in says:
        assert "404" in found.output, "there is no such project"
        with server.http() as http:
            put(http, "mistakes")
        found = run_sync(server, tool, given, "mistakes", key="wrong")
    assert found.exit_code == 2
    assert says in found.output
    assert "Traceback" not in found.output


def test_tokens_come_from_files_too(
    server: Running, http: httpx.Client, studio: tuple[FakeLabelStudio, str], tmp_path: Path
) -> None:
    put(http, "files", settle=None)
    for name, text in (("ours", server.token), ("theirs", KEY), ("empty", "")):
        (tmp_path / name).write_text(text + "\n")
    given = [
        "sync", "label-studio", studio[1], "--project", "files", "--server", server.url,
        "--token-file", str(tmp_path / "ours"), "--tool-token-file",
    ]  # fmt: skip
    unset = {"LABEL_STUDIO_API_KEY": "", "CROWDSTREAM_TOKEN": ""}
    good = CliRunner().invoke(app, [*given, str(tmp_path / "theirs")], env=unset)
    assert good.exit_code == 0, good.output
    bad = CliRunner().invoke(app, [*given, str(tmp_path / "empty")], env=unset)
    assert bad.exit_code == 2
    assert "LABEL_STUDIO_API_KEY" in bad.output
