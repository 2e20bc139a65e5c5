"""The way in: what is no fit request is refused before it costs memory or others' time."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import gzip
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from crowdstream.serve.connection import Connection
from crowdstream.serve.front import Front
from crowdstream.serve.limits import Limits
from crowdstream.serve.traffic import Traffic
from tests.serve.running import COMMAND, Running, label, post, put, serving

POST = b"POST /v1/projects/p/labels HTTP/1.1\r\nHost: x\r\n"
LOGIN = b"POST /login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
ATTACKS = {
    "one long header": (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ", b"a" * 65536, b"431"),
    "many headers": (b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"A:b\r\n" * 10_000, b"431"),
    "a long address": (b"GET /", b"a" * 65536, b"431"),
    "trailers": (LOGIN + b"0\r\n", b"A:b\r\n" * 10_000, b"431"),
    "one long trailer": (LOGIN + b"0\r\nA:", b"a" * 65536, b"431"),
    "a long chunk extension": (LOGIN + b"5;a=", b"a" * 65536, b"431"),
    "chunks of one byte": (LOGIN, b"1\r\na\r\n" * 10_000, b"413"),
    "chunks nobody let in": (POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n" * 10_000,
                             b"401"),
    "a body nobody let in": (POST + b"Content-Length: 15000000\r\n\r\n", b"a" * 65536, b"401"),
    "line ends": (b"", b"\r\n" * 30_000, b"431"),
}  # fmt: skip
"""Attack: its first bytes, the bytes that follow for ever, and the expected answer."""


def resident(server: Running) -> float:
    """Megabytes in memory."""
    text = Path(f"/proc/{server.process.pid}/statm").read_text()
    return int(text.split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def connect(server: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), 10)


def answer_to(server: Running, sent: bytes) -> bytes:
    """All that a connection answers until it is hung up on."""
    with connect(server) as way:
        way.settimeout(10)
        way.sendall(sent)
        return b"".join(iter(lambda: way.recv(65536), b""))


@pytest.mark.parametrize("kind", ATTACKS)
def test_what_has_no_end_is_told_so_and_hung_up_on(server: Running, kind: str) -> None:
    start, more, status = ATTACKS[kind]
    before = resident(server)
    with connect(server) as way:
        way.settimeout(8)
        way.sendall(start)
        try:
            for _ in range(2000):  # up to 130 MB
                way.sendall(more)
        except OSError:
            pass
        else:
            pytest.fail("all of it was taken")
        told = b""
        with contextlib.suppress(ConnectionResetError):  # it went on longer than it is listened to
            told = way.recv(4096)
    assert not told or told.split(b" ")[1] == status, told
    with connect(server) as way:  # who stops in time sees why
        way.settimeout(8)
        way.sendall(start + more[: 100_000 if status != b"413" else 20_000])
        assert way.recv(4096).split(b" ")[1] == status
    assert resident(server) < before + 20


def test_five_hostile_connections_keep_nobody_waiting(server: Running) -> None:
    """Against the parser without limits healthz waited for seconds and memory grew by gigabytes."""
    stop = threading.Event()
    kinds = ["one long header", "many headers", "trailers", "chunks of one byte", "line ends"]

    def hostile(kind: str) -> None:
        start, more, _ = ATTACKS[kind]
        while not stop.is_set():
            try:
                with connect(server) as way:
                    way.settimeout(0.2)
                    way.sendall(start)
                    while not stop.is_set():
                        way.sendall(more)
            except OSError:
                stop.wait(0.01)

    before = resident(server)
    threads = [threading.Thread(target=hostile, args=(kind,)) for kind in kinds]
    for thread in threads:
        thread.start()
    times, most = [], before
    for _ in range(100):
        begun = time.perf_counter()
        found = answer_to(server, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        times.append(time.perf_counter() - begun)
        assert found.startswith(b"HTTP/1.1 200")
        most = max(most, resident(server))
    stop.set()
    for thread in threads:
        thread.join()
    assert most < before + 20
    assert statistics.median(times) < 0.05
    assert sorted(times)[-2] < 2.0  # seconds before; machines of tests are busy


def test_a_head_may_be_as_long_as_it_is_said(server: Running) -> None:
    few = b"".join(b"X-%d: %b\r\n" % (i, b"a" * 300) for i in range(90))
    sent = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + few + b"\r\n"
    assert answer_to(server, sent).startswith(b"HTTP/1.1 200")
    many = b"".join(b"X-%d: a\r\n" % i for i in range(101))
    sent = b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + many + b"\r\n"
    assert answer_to(server, sent).startswith(b"HTTP/1.1 431")


def test_bytes_may_come_one_by_one_or_all_at_once(server: Running, http: httpx.Client) -> None:
    put(http, "drops")
    body = json.dumps(label("t", "ann", "x")).encode()
    head = (b"POST /v1/projects/drops/labels HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %b\r\n"
            % server.token.encode())  # fmt: skip
    chunks = b"".join(b"%x\r\n%b\r\n" % (1, body[i : i + 1]) for i in range(len(body)))
    whole = head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    cut = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nA: b\r\n\r\n"
    asked = b"GET /v1/projects/drops HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %b\r\n\r\n"
    asked %= server.token.encode()
    last = asked.replace(b"Host: x", b"Host: x\r\nConnection: close")
    every = whole + cut + asked + whole + last
    with connect(server) as way:
        way.settimeout(10)
        for i in range(len(every)):
            way.sendall(every[i : i + 1])
        slowly = b"".join(iter(lambda: way.recv(65536), b""))
    at_once = answer_to(server, every)
    for found in (slowly, at_once):
        assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200"] * 5


def test_hundreds_of_requests_at_once_are_answered_in_their_order(server: Running) -> None:
    """Refused ones too: each begins the next, and there are more than calls may be nested."""
    n = 3000
    bad = POST + b"Content-Length: 2\r\n\r\n{}"
    good = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    last = good.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    found = answer_to(server, bad * n + good + bad * n + last)
    codes = re.findall(rb"HTTP/1.1 (\d+)", found)
    assert codes == [b"401"] * n + [b"200"] + [b"401"] * n + [b"200"]


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde",
        b"GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n",
        b"CONNECT host:80 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_two_servers_may_read_in_two_ways_is_refused(server: Running, sent: bytes) -> None:
    assert re.match(rb"HTTP/1.1 4\d\d", answer_to(server, sent))


def test_an_offer_of_another_protocol_is_not_taken(server: Running) -> None:
    sent = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"
    assert answer_to(server, sent).startswith(b"HTTP/1.1 200")


def test_a_client_may_wait_to_be_told_to_send(server: Running, http: httpx.Client) -> None:
    put(http, "patient")
    body = json.dumps(label("t", "ann", "x")).encode()
    for path in (b"labels", b"retract"):
        with connect(server) as way:
            way.settimeout(10)
            way.sendall(
                b"POST /v1/projects/patient/%b HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                b"Authorization: Bearer %b\r\nContent-Length: %d\r\n\r\n"
                % (path, server.token.encode(), len(body))
            )
            assert way.recv(4096).startswith(b"HTTP/1.1 100")
            way.sendall(body)
            assert re.match(rb"HTTP/1.1 (200|422)", way.recv(4096))


def members(*parts: bytes) -> bytes:
    return b"".join(gzip.compress(part) for part in parts)


def test_all_members_of_a_gzip_body_are_read(http: httpx.Client) -> None:
    put(http, "members")
    packed = {"Content-Encoding": "gzip", "Content-Type": "application/x-ndjson"}
    lines = [json.dumps(label(f"t{i}", "ann", "x")).encode() + b"\n" for i in range(100)]
    url = "/v1/projects/members/labels"
    sent = {"several": members(*lines), "with empty ones": members(b"", lines[0], b"", b"")}
    assert http.post(url, content=sent["several"], headers=packed).json()["labels"] == 100
    assert http.post(url, content=sent["with empty ones"], headers=packed).status_code == 200
    assert http.get("/v1/projects/members").json()["labels"] == 100


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (members(b"{}") + b"garbage", 400),
        (members(b"{}") + b"\0" * 10, 400),
        (members(b"{}", b"{}")[:-1], 400),
        (members(b"{}") + members(b"{}")[:5], 400),
        (members(b" " * 10_000_000) * 2, 413),
        (members(b"") * 800_000, 413),
    ],
    ids=["garbage", "zeros", "cut", "cut second", "bomb", "nothing very often"],
)
def test_what_follows_gzip_and_bombs_of_many_members_are_refused(
    http: httpx.Client, project: str, sent: bytes, status: int
) -> None:
    packed = {"Content-Encoding": "gzip"}
    begun = time.monotonic()
    answer = http.post(f"/v1/projects/{project}/labels", content=sent, headers=packed)
    assert answer.status_code == status, answer.text
    assert time.monotonic() - begun < 5


def test_members_need_not_be_cut_where_pieces_are() -> None:
    from crowdstream.serve.limits import unpacked

    for size in (1, 4000, 4096, 4100, 50_000):
        data = os.urandom(size)
        machine = zlib.compressobj(0, zlib.DEFLATED, 31)
        one = machine.compress(data) + machine.flush()
        assert unpacked(one * 7, 10**6) == data * 7


def test_numbers_with_thousands_of_digits_are_read(http: httpx.Client, project: str) -> None:
    url = f"/v1/projects/{project}/tasks?limit="
    assert http.get(url + "0" * 5000 + "7").status_code == 200
    for wrong in ("0" * 5000, "1" * 5000, "0", "1001", "-1", "²", "٣" * 5000):
        assert http.get(url + wrong).status_code == 422, wrong[:5]


def test_nobody_is_sent_to_another_host(http: httpx.Client) -> None:
    for path in ("/v1/projects/", "/v1/session/", "/healthz/"):
        answer = http.get(path, headers={"Host": "evil.example"})
        assert answer.status_code == 404, (path, answer.headers)
        assert "location" not in answer.headers


def test_a_damaged_token_file_is_named_at_the_start_and_lets_nobody_in(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as running, running.http() as http:
        assert http.get("/v1/session").status_code == 200
        whole = (tmp_path / "data/tokens.json").read_bytes()
        (tmp_path / "data/tokens.json").write_bytes(b'{"version": 1, "tok')
        time.sleep(1.2)
        assert http.get("/v1/session").status_code == 503
        assert http.post("/v1/projects/p/labels", json={}).status_code == 503
        assert http.post("/login", json={"token": running.token}).status_code == 503
        assert running.said().count("tokens.json") == 1
        (tmp_path / "data/tokens.json").write_bytes(whole)
        time.sleep(1.2)
        assert http.get("/v1/session").status_code == 200
        (tmp_path / "data/tokens.json").write_bytes(b"\xff")
    again = subprocess.run(
        [*COMMAND, "serve", "--data", str(tmp_path / "data"), "--port", "0"],
        capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert again.returncode == 2
    assert f"{tmp_path}/data/tokens.json" in again.stderr
    assert "Traceback" not in again.stderr


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    options = ("--trusted-proxy", "127.0.0.1", "--trusted-proxy", "10.0.0.0/8")
    with serving(tmp_path_factory.mktemp("proxied") / "data", *options) as running:
        yield running


def logins(server: Running, given: str, address: str, number: int) -> list[int]:
    with server.http("") as http:
        more = {"X-Forwarded-For": address}
        return [
            http.post("/login", json={"token": given}, headers=more).status_code
            for _ in range(number)
        ]


def test_who_guesses_tokens_is_slowed_down_and_locks_nobody_out(proxied: Running) -> None:
    wrong = proxied.token[:-3] + "abc"
    other = "cs_00000000_" + "a" * 43
    assert 429 in logins(proxied, "cs_wrong", "6.6.6.6", 30)
    assert logins(proxied, "cs_wrong", "7.7.7.7, 10.0.0.1", 1) == [401], "another client"
    assert 429 in logins(proxied, "cs_wrong", "1.1.1.1, 6.6.6.6", 3), "made up in front of it"
    # By the token too, from however many addresses; who has the right one gets in.
    found = [logins(proxied, wrong, f"8.8.8.{i}", 1)[0] for i in range(30)]
    assert 429 in found
    assert logins(proxied, other, "9.9.9.9", 1) == [401], "another token"
    assert set(logins(proxied, proxied.token, "6.6.6.6", 20)) == {204}


def test_without_trusted_proxies_nobody_says_who_they_are(server: Running) -> None:
    found = [logins(server, "cs_wrong", f"8.8.8.{i}", 1)[0] for i in range(30)]
    assert 429 in found


def make_token(server: Running, *options: str, part: str = "create") -> str:
    made = subprocess.run(
        [*COMMAND, "token", part, *options, "--data", str(server.folder)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return made.stdout.strip()


def test_a_token_for_labels_posts_labels_and_nothing_else(
    server: Running, http: httpx.Client
) -> None:
    put(http, "labelled")
    url = "/v1/projects/labelled"
    with server.http(make_token(server, "--scope", "label", "--project", "labelled")) as only:
        assert only.post(f"{url}/labels", json=label("t", "ann", "x")).status_code == 200
        refused = [
            only.post(f"{url}/gold", json={"task": "t", "label": "x"}),
            only.post(f"{url}/close", json={"task": "t"}),
            only.post(f"{url}/retract", json={"task": "t", "worker": "ann"}),
            only.post(f"{url}/offer", json={"tasks": ["u"]}),
            only.post(f"{url}/hooks/label-studio", json={"action": "ANNOTATION_CREATED"}),
            only.post("/v1/projects/other/labels", json=label("t", "ann", "x")),
            only.put(url, json={}),
            only.get(url),
            only.get(f"{url}/export/decisions"),
        ]
    assert [one.status_code for one in refused] == [403] * len(refused)


def wait_for_401(http: httpx.Client) -> None:
    deadline = time.monotonic() + 10
    while http.get("/v1/session").status_code != 401:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_token_ends_when_it_is_said_and_when_another_takes_its_place(server: Running) -> None:
    short = make_token(server, "--scope", "read", "--expires", "6s")
    old = make_token(server, "--scope", "read", "--note", "scraper")
    with server.http(short) as http:
        session = http.post("/login", json={"token": short})
        assert http.get("/v1/session").status_code == 200
        wait_for_401(http)
        cookie = {"Cookie": session.headers["set-cookie"].partition(";")[0]}
    assert httpx.get(f"{server.url}/v1/session", headers=cookie).status_code == 401
    new = make_token(server, old, "--grace", "6s", part="rotate")
    with server.http(old) as http, server.http(new) as fresh:
        assert http.get("/v1/session").status_code == 200
        assert fresh.get("/v1/session").json()["note"] == "scraper"
        wait_for_401(http)
        assert fresh.get("/v1/session").status_code == 200
    ends = [line.split("\t")[-1][:2] for line in make_token(server, part="list").splitlines()]
    assert {"ne", "20"} == set(ends)


def test_what_changes_tokens_projects_and_truths_leaves_a_trail(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as running, running.http() as http:
        put(http, "p", max_labels=3)
        post(http, "p", label("t", "ann", "x"))
        http.post("/v1/projects/p/gold", json={"task": "t\n\u202eevil", "label": "x"})
        http.post("/v1/projects/p/close", json={"task": "t"})
        secret = {"secret": "s3cr3t-of-argilla"}
        assert http.put("/v1/projects/p/hooks/argilla/secret", json=secret).status_code == 200
        http.post("/login", json={"token": running.token})
        http.post("/v1/projects/p/gold", json={"task": "nope"})
        made = make_token(running, "--scope", "read", "--note", "tool")
        make_token(running, made, part="revoke")
    path = tmp_path / "data/audit.jsonl"
    text = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"s3cr3t" not in text
    assert made.encode() not in text
    assert running.token.encode() not in text
    assert text.decode().replace("\n", "").isprintable()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["what"] for line in lines] == [
        "PUT /v1/projects/p", "POST /v1/projects/p/gold", "POST /v1/projects/p/close",
        "PUT /v1/projects/p/hooks/argilla/secret", "login", "token create", "token revoke",
    ]  # fmt: skip
    admin = running.token.split("_")[1]
    assert [line["who"] for line in lines] == [admin] * 5 + ["command line"] * 2
    assert lines[0]["sent"] == {"max_labels": 3}
    assert lines[1]["sent"] == {"task": "t\n\u202eevil", "label": "x"}


def test_the_log_says_when_who_was_refused_and_escapes_what_they_sent(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--log-format", "json", "--access-log") as running:
        with running.http() as http:
            put(http, "p")
            post(http, "p", label("t", "ann", "x"))
        with running.http("cs_00000000_" + "a" * 43) as http:
            http.get("/v1/projects/p%0A%1b%e2%80%aex")
            http.post("/v1/projects/p/labels", json={})
        said = [one for one in running.said().splitlines() if one.startswith("{")]
    assert all(one.isprintable() for one in said)
    found = [json.loads(one) for one in said]
    assert {"time", "level", "logger", "message"} <= set(found[0])
    requests = [one for one in found if one["message"] == "request"]
    lines = [(one["level"], one["method"], one["path"], one["status"]) for one in requests]
    assert ("info", "POST", "/v1/projects/p/labels", 200) in lines
    assert ("warning", "POST", "/v1/projects/p/labels", 401) in lines
    assert ("warning", "GET", r"/v1/projects/p\n\x1b\u202ex", 401) in lines
    assert running.token.split("_")[1] in {one["token"] for one in requests}
    assert running.token not in "".join(said)


def test_a_flood_of_refusals_does_not_fill_the_log(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as running, running.http("cs_no") as http:
        for _ in range(300):
            http.get("/v1/session")
        said = running.said()
        # While it starts it answers 503, which counts as refused in the same second.
        lines = said.count("status=401") + said.count("status=503")
        assert 20 <= lines <= 200


def test_settings_come_from_a_file_and_the_environment(tmp_path: Path) -> None:
    config = tmp_path / "crowdstream.toml"
    config.write_text('max-body = "2KB"\nrate = 3\nlog-format = "text"\n')
    settings = {"CROWDSTREAM_SERVE_RATE": "1000", "CROWDSTREAM_SERVE_LOG_FORMAT": "json"}
    options = ("--config", str(config), "--log-format", "text", "--access-log")
    with serving(tmp_path / "data", *options, environment=settings) as running:
        with running.http() as http:
            put(http, "p")
            assert http.post("/v1/projects/p/labels", content=b" " * 3000).status_code == 413
            assert {http.get("/v1/session").status_code for _ in range(20)} == {200}
        assert "INFO crowdstream.access request method=PUT path=/v1/projects/p" in running.said()
    for wrong in ("prot = 1", "port = [", "[port]\na = 1"):
        config.write_text(wrong)
        found = subprocess.run(
            [*COMMAND, "serve", "--config", str(config), "--data", str(tmp_path / "x")],
            capture_output=True, text=True, timeout=30,
        )  # fmt: skip
        assert found.returncode == 2
        assert str(config) in found.stderr
        assert "Traceback" not in found.stderr
    shown = subprocess.run([*COMMAND, "serve", "--help"], capture_output=True, text=True).stdout
    assert "CROWDSTREAM_SERVE_PORT" in shown
    assert "--config" in shown


def test_it_listens_and_says_that_it_is_starting_while_the_log_is_read(tmp_path: Path) -> None:
    slow = (
        "import time, sys\n"
        "from crowdstream.serve.engine import Engine\n"
        "load = Engine.load\n"
        "def later(self):\n"
        "    time.sleep(3)\n"
        "    load(self)\n"
        "Engine.load = later\n"
        "from crowdstream.cli import main; main()"
    )
    (tmp_path / "slow.py").write_text(slow)
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(tmp_path / "slow.py"), "serve", "--data", str(tmp_path / "data"),
             "--port", "0"], stderr=log,
        )  # fmt: skip
    try:
        while not (found := re.search(r":(\d+)/\n", (tmp_path / "log").read_text())):
            assert process.poll() is None
            time.sleep(0.02)
        url = f"http://127.0.0.1:{found[1]}"
        deadline, seen = time.monotonic() + 20, []
        while time.monotonic() < deadline:
            try:
                ready = httpx.get(f"{url}/readyz")
            except httpx.TransportError:
                continue
            assert httpx.get(f"{url}/healthz").status_code == 200
            if ready.status_code == 200:
                break
            assert ready.json()["status"] == "starting"
            other = httpx.post(f"{url}/v1/projects/p/labels", json={})
            seen.append((other.status_code, httpx.get(f"{url}/v1/projects").status_code))
            time.sleep(0.1)
        assert seen
        assert set(seen[:-1]) <= {(503, 503)}
    finally:
        process.terminate()
        assert process.wait(20) == 0


def test_a_spreadsheet_computes_nothing_and_plain_csv_is_as_it_was(http: httpx.Client) -> None:
    put(http, "formulas", max_labels=1)
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "plain", "a=b", "'x"]
    post(http, "formulas", [label(name, "=cmd", "=class") for name in names])
    url = "/v1/projects/formulas/export/"
    for what in ("decisions", "workers"):
        plain = list(csv.DictReader(http.get(f"{url}{what}?format=csv").text.splitlines()))
        more = {"probabilities": "true"} if what == "decisions" else {}
        answer = http.get(f"{url}{what}", params={"format": "spreadsheet", **more})
        assert f'formulas-{what}.csv"' in answer.headers["content-disposition"]
        rows = list(csv.reader(answer.text.splitlines()))
        for row in rows:
            for cell in row:
                number = re.fullmatch(r"-?[0-9.e-]+", cell)
                assert number or cell[:1] not in set("=+-@\t\r"), cell
        if what == "decisions":
            assert [row["task"] for row in plain] == names
            assert [row[0].removeprefix("'") for row in rows[1:-1]] == names[:-1]


def test_metrics_say_how_long_requests_commits_and_snapshots_take(http: httpx.Client) -> None:
    put(http, "timed")
    for number in range(20):
        post(http, "timed", label(f"t{number}", "ann", "x"))
    http.get("/metrics")
    time.sleep(0.1)
    text = http.get("/metrics").text
    found = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
             for line in text.splitlines() if not line.startswith("#")}  # fmt: skip
    for name in ('request_seconds_{}{{kind="labels"}}', "commit_seconds_{}"):
        count = found["crowdstream_" + name.format("count")]
        assert count >= 20
        assert 0 < found["crowdstream_" + name.format("sum")] < 100
    ends = [value for key, value in found.items() if key.startswith(
        'crowdstream_request_seconds_bucket{kind="labels"')]  # fmt: skip
    assert ends == sorted(ends)
    assert ends[-1] == found['crowdstream_request_seconds_count{kind="labels"}']
    assert 0 < found['crowdstream_snapshot_age_seconds{project="timed"}'] < 100
    assert found["crowdstream_waiting_labels"] >= 0
    assert text.count("# TYPE crowdstream_request_seconds histogram") == 1


def test_who_takes_nothing_of_an_answer_is_hung_up_on() -> None:
    """A peer that acknowledges probes but has no room would hold an export's memory for ever."""

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        with contextlib.suppress(asyncio.CancelledError):
            while not gone.is_set():
                part = {"type": "http.response.body", "body": b"x" * 65536, "more_body": True}
                await send(part)
                await asyncio.sleep(0)

    async def use() -> None:
        loop = asyncio.get_running_loop()
        server: Any = SimpleNamespace(limits=Limits(idle_seconds=0.5), traffic=Traffic())
        front = Front(server, endless, loop)
        listener = await loop.create_server(lambda: Connection(front), "127.0.0.1", 0)
        address = listener.sockets[0].getsockname()
        with socket.create_connection(address) as way:
            way.sendall(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
            while not front.connections:
                await asyncio.sleep(0.01)
            deadline = loop.time() + 10
            while front.connections:
                assert loop.time() < deadline
                await asyncio.sleep(0.05)
            gone.set()
        listener.close()

    gone = asyncio.Event()
    asyncio.run(use())
