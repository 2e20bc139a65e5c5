"""The client has the verbs of a stream, and goes on when the server does not."""

from __future__ import annotations

import asyncio
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

import crowdstream as cs
from crowdstream.client import Settings
from tests.serve.running import COMMAND, Running, serving, start

ROWS = [(f"t{t}", f"w{w}", "xy"[(t + (w * t) % 7 % 2) % 2]) for t in range(40) for w in range(5)]


def test_the_client_answers_as_a_stream_does(server: Running) -> None:
    stream = cs.Stream(cs.monitor(cs.Adaptive()), max_labels=4)
    with cs.Client(server.url, server.token, "verbs") as client:
        client.create(Settings(max_labels=4))
        client.offer(["later"])
        stream.offer(["later"])
        assert client.observe_many(ROWS) == stream.observe_many(ROWS)
        assert client.observe("new", "w1", "x") == stream.observe("new", "w1", "x")
        assert client.observe("new", "w2", "y") == stream.observe("new", "w2", "y")
        assert client.decision("new") == stream.decision("new")
        assert client.more_labels_needed("new") == stream.more_labels_needed("new")
        assert client.next_task("w3") == stream.next_task("w3")
        assert client.retract("new", "w2") == stream.retract("new", "w2")
        assert client.gold("new", "x") == stream.gold("new", "x")
        assert client.close("new") == stream.close("new")
        assert client.close("new") == stream.close("new")
        assert client.overview().labels == stream.counts.labels
        expected = dict(stream.crowd.workers().select("worker", "answers").iter_rows())
        deadline = time.monotonic() + 20  # the table of workers is as of a moment ago
        while (answers := {one.worker: one.answers for one in client.workers()}) != expected:
            assert time.monotonic() < deadline, answers
            time.sleep(0.1)
        assert len(client.workers(sort="name", most=2)) == 2
        assert client.worker("w1").worker == "w1"
        assert client.task("t1").votes == 4
        with pytest.raises(cs.ServerError, match="404: no task 'never'"):
            client.decision("never")
        with pytest.raises(cs.ServerError, match="422"):
            client.observe("t", "w", 0.5)  # type: ignore[arg-type]


def test_the_asynchronous_client_has_the_same_verbs(server: Running) -> None:
    async def run() -> None:
        async with cs.AsyncClient(server.url, server.token, "async") as client:
            await client.create(Settings(max_labels=4))
            found = await client.observe_many(ROWS)
            assert len(found) == 40
            await asyncio.gather(*(client.observe("new", f"w{w}", "x") for w in range(3)))
            assert (await client.task("new")).votes == 3
            assert (await client.decision("new")).label == "x"
            assert len(await client.workers()) == 4, "all labels of the fifth were late"
            assert await client.next_task("w9") == "new"

    asyncio.run(run())
    public = {name for name in dir(cs.Client) if not name.startswith("_")}
    assert public == {name for name in dir(cs.AsyncClient) if not name.startswith("_")}


def test_it_goes_on_when_the_server_was_away(tmp_path: Path) -> None:
    running = start(tmp_path / "data")
    with cs.Client(running.url, running.token, "p", retries=12) as client:
        client.create(Settings(max_labels=4))
        client.observe("t1", "ann", "x")
        running.kill()
        back: list[Running] = []

        def restart() -> None:
            time.sleep(0.5)
            back.append(start(tmp_path / "data", port=running.port))

        thread = threading.Thread(target=restart)
        thread.start()
        try:
            assert client.observe("t1", "bob", "x").votes == 2
        finally:
            thread.join()
            back[0].stop()
    with (
        cs.Client(running.url, running.token, "p", retries=0) as client,
        pytest.raises(cs.ServerError, match="cannot be reached"),
    ):
        client.decision("t1")


class Busy(BaseHTTPRequestHandler):
    """Says no twice, then yes, and notes the keys."""

    keys: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.keys.append(self.headers["Idempotency-Key"])
        last = len(self.keys) >= 3
        body = b'{"decisions": [{"task": "t", "label": "x", "confidence": 1, "margin": 1, "votes": 1, "settled": false, "identifiable": true}]}'  # noqa: E501
        self.send_response(200 if last else 429)
        self.send_header("Content-Length", str(len(body) if last else 0))
        self.end_headers()
        if last:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


def test_a_request_is_sent_again_with_the_same_key() -> None:
    Busy.keys.clear()
    with HTTPServer(("127.0.0.1", 0), Busy) as busy:
        thread = threading.Thread(target=busy.serve_forever, daemon=True)
        thread.start()
        with cs.Client(f"http://127.0.0.1:{busy.server_port}", project="p") as client:
            assert client.observe("t", "w", "x").label == "x"
        busy.shutdown()
    assert len(Busy.keys) == 3
    assert len(set(Busy.keys)) == 1


def test_the_demo_fills_a_project_with_a_crowd_to_look_at(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--demo") as running:
        assert f"open {running.url}/#token={running.token}" in running.said()
        with cs.Client(running.url, running.token, "demo") as client:
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                try:
                    found = client.overview()
                    if found.labels >= 3000 and found.alarms and found.tasks.open:
                        break
                except cs.ServerError:
                    pass
                time.sleep(0.2)
            assert found.labels >= 3000
            assert {alarm.worker for alarm in found.alarms} == {"ben"}
            flags = {worker.worker: worker.flags for worker in client.workers()}
            assert "always_one_class" in flags["lou"]
        assert running.stop() == 0


def test_tokens_are_made_listed_and_revoked(tmp_path: Path) -> None:
    def token(*given: str) -> subprocess.CompletedProcess[str]:
        command = [*COMMAND, "token", *given, "--data", str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True)

    made = token("create", "--scope", "read", "--project", "p", "--note", "for\x1b[31m me")
    text = made.stdout.strip()
    assert text.startswith("cs_")
    listed = token("list").stdout
    assert listed.split("\t")[:3] == [text.split("_")[1], "read", "p"]
    assert "\x1b" not in listed
    assert text not in (tmp_path / "tokens.json").read_text()
    assert token("revoke", text.split("_")[1]).returncode == 0
    assert token("list").stdout == ""
    for wrong in (("create", "--scope", "all"), ("revoke", "nobody"), ("create", "--scope", "read",
                  "--project", "a b")):  # fmt: skip
        found = token(*wrong)
        assert (found.returncode, "Traceback" in found.stderr) == (2, False), wrong
