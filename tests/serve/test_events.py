"""`/events`: everything at first, then what changes, at most four a second, for anybody's pace."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx

from tests.serve.running import Running, label, post, put

HARDLY = 400
"""Reconnects in `make test`; `make soak` makes ten thousand."""


def events(answer: httpx.Response) -> Iterator[tuple[str, str, Any]]:
    """Name, id and data of each event."""
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if not line and "data" in fields:
            yield fields["event"], fields["id"], json.loads(fields["data"])
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


def test_everything_comes_first_and_then_what_has_changed(http: httpx.Client) -> None:
    put(http, "live", max_labels=3, settle=None)
    post(http, "live", label("t0", "ann", "x"))
    with http.stream("GET", "/v1/projects/live/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        found = events(answer)
        name, _, data = next(found)
        assert name == "state"
        assert data["overview"]["labels"] == 1
        post(http, "live", [label("t1", w, "x") for w in "abc"])
        begun = time.monotonic()
        name, _, data = next(found)
        assert name == "change"
        assert time.monotonic() - begun < 2.0
        assert data["overview"]["labels"] == 4
        assert "settings" not in data["overview"], "only what has changed"
        assert [decision["task"] for decision in data["decisions"]] == ["t1"]


def test_a_listener_that_comes_back_goes_on_where_it_was(http: httpx.Client) -> None:
    put(http, "back", max_labels=3)
    url = "/v1/projects/back/events"
    with http.stream("GET", url) as answer, http.stream("GET", url) as other:
        first, second = events(answer), events(other)
        _, where, _ = next(first)
        post(http, "back", label("t1", "a", "x"))
        next(first)
        next(second)
        with http.stream("GET", url, headers={"Last-Event-ID": where}) as again:
            name, _, data = next(events(again))
            assert (name, data["overview"]["labels"]) == ("change", 1)
            assert "settings" not in data["overview"]
        with http.stream("GET", url, headers={"Last-Event-ID": "elsewhere-7"}) as again:
            name, _, data = next(events(again))
            assert (name, "settings" in data["overview"]) == ("state", True)


def test_there_are_at_most_four_changes_a_second(http: httpx.Client) -> None:
    put(http, "often", max_labels=3)
    with http.stream("GET", "/v1/projects/often/events") as answer:
        found = events(answer)
        next(found)
        begun, count = time.monotonic(), 0
        with httpx.Client(base_url=http.base_url, headers=http.headers) as sender:
            while time.monotonic() < begun + 2.0:
                post(sender, "often", label(f"t{time.monotonic()}", "a", "x"))
        final = sender_labels(http)
        while True:
            _, _, data = next(found)
            count += 1
            if data["overview"].get("labels") == final:
                break
        took = time.monotonic() - begun
        assert count <= 4 * took + 2


def sender_labels(http: httpx.Client) -> int:
    found: int = http.get("/v1/projects/often").json()["labels"]
    return found


def listening(server: Running, project: str) -> bytes:
    """The request of a listener."""
    head = f"GET /v1/projects/{project}/events HTTP/1.1\r\nHost: x\r\n"
    return f"{head}Authorization: Bearer {server.token}\r\n\r\n".encode()


def test_a_reader_that_does_not_read_costs_nothing(server: Running, http: httpx.Client) -> None:
    put(http, "slow", max_labels=3)
    head = listening(server, "slow")
    ways = []
    for _ in range(10):
        way = socket.create_connection(("127.0.0.1", server.port), 10)
        way.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        way.sendall(head)
        ways.append(way)
    for number in range(100):
        post(http, "slow", [label(f"t{number}-{i}", f"worker-{i}", "x") for i in range(50)])
    text = http.get("/metrics").text
    assert "crowdstream_listeners 10" in text
    for way in ways:
        way.close()
    deadline = time.monotonic() + 10
    while "crowdstream_listeners 0" not in text and time.monotonic() < deadline:
        time.sleep(0.1)
        text = http.get("/metrics").text
    assert "crowdstream_listeners 0" in text


def reconnect(server: Running, times: int) -> None:
    """Connect, read the first event, hang up; again and again."""
    head = listening(server, "again")
    for _ in range(times):
        with socket.create_connection(("127.0.0.1", server.port), 10) as way:
            way.sendall(head)
            data = b""
            while b"event: state" not in data:
                more = way.recv(65536)
                assert more, data
                data += more


def memory(http: httpx.Client) -> float:
    line = next(
        one
        for one in http.get("/metrics").text.splitlines()
        if "crowdstream_resident" in one and one[0] != "#"
    )
    return float(line.rpartition(" ")[2])


def test_many_reconnects_leave_nothing_behind(server: Running, http: httpx.Client) -> None:
    put(http, "again", max_labels=3)
    post(http, "again", label("t1", "a", "x"))
    reconnect(server, HARDLY // 4)
    before = memory(http)
    reconnect(server, HARDLY)
    assert memory(http) - before < 30e6
    deadline = time.monotonic() + 10
    while "crowdstream_listeners 0" not in http.get("/metrics").text:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_server_that_stops_ends_what_listens(tmp_path: Any) -> None:
    from tests.serve.running import serving

    with serving(tmp_path / "data") as running, running.http() as http:
        put(http, "p")
        with http.stream("GET", "/v1/projects/p/events") as answer:
            found = events(answer)
            next(found)
            begun = time.monotonic()
            running.process.terminate()
            assert list(found) == []
            assert running.process.wait(20) == 0
            assert time.monotonic() - begun < 10
