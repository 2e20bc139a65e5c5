"""Who is let in, what is refused, and that nobody slow or greedy takes the server from others."""

from __future__ import annotations

import gzip
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.serve.running import COMMAND, Running, label, post, put, serving

HTML = "<script>alert(1)</script>"


def token(server: Running, *options: str) -> str:
    made = subprocess.run(
        [*COMMAND, "token", "create", "--data", str(server.folder), *options],
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout.strip()


@pytest.fixture(scope="module")
def tokens(server: Running) -> dict[str, str]:
    with server.http() as http:
        put(http, "mine")
        put(http, "other")
    return {
        "read": token(server, "--scope", "read"),
        "write": token(server, "--scope", "write"),
        "mine": token(server, "--scope", "read", "--scope", "write", "--project", "mine"),
        "my admin": token(server, "--scope", "admin", "--project", "mine"),
        "admin": token(server, "--scope", "admin"),
    }


def test_the_first_token_is_in_a_file_that_only_its_owner_reads(server: Running) -> None:
    for name in ("admin.token", "tokens.json", "session.key", "crowdstream.db"):
        assert (server.folder / name).stat().st_mode & 0o777 == 0o600, name
    assert server.token not in (server.folder / "tokens.json").read_text()
    assert server.token in server.said()


def test_nothing_is_told_without_a_token(server: Running) -> None:
    wrong = server.token[:-1] + ("a" if server.token[-1] != "a" else "b")
    for given in ("", wrong, "cs_00000000_" + "a" * 43, "x", "Bearer"):
        with server.http(given) as http:
            for path in ("/v1/projects", "/v1/projects/mine", "/metrics", "/v1/session"):
                answer = http.get(path)
                assert answer.status_code == 401, (path, given)
                assert "www-authenticate" in answer.headers
            assert http.post("/v1/projects/mine/labels", json={}).status_code == 401


@pytest.mark.parametrize(
    ("who", "allowed"),
    [
        ("read", {"read mine", "read other", "metrics"}),
        ("write", {"write mine", "write other"}),
        ("mine", {"read mine", "write mine"}),
        ("my admin", {"read mine", "write mine", "change mine"}),
        ("admin", {"read mine", "read other", "write mine", "write other", "change mine",
                   "change other", "metrics"}),
    ],
)  # fmt: skip
def test_a_token_allows_what_it_is_for(
    server: Running, tokens: dict[str, str], who: str, allowed: set[str]
) -> None:
    found = set()
    with server.http(tokens[who]) as http:
        for project in ("mine", "other"):
            url = f"/v1/projects/{project}"
            answers = {
                f"read {project}": http.get(url),
                f"write {project}": http.post(f"{url}/labels", json=label("t", who, "x")),
                f"change {project}": http.put(url, json={}),
            }
            for what, answer in answers.items():
                assert answer.status_code in (200, 403), answer.text
                if answer.status_code == 200:
                    found.add(what)
        if http.get("/metrics").status_code == 200:
            found.add("metrics")
        listed = http.get("/v1/projects")
    assert found == allowed
    assert listed.status_code == 200
    seen = {one["project"] for one in listed.json()["projects"]}
    assert seen == {what.split()[1] for what in allowed if what.startswith("read")}


def test_a_revoked_token_is_refused_within_a_second_or_two(server: Running) -> None:
    text = token(server, "--scope", "read", "--note", "short")
    with server.http(text) as http:
        assert http.get("/v1/session").json()["note"] == "short"
        cookie = http.post("/login", json={"token": text}).headers["set-cookie"]
        which = ["--data", str(server.folder)]
        subprocess.run([*COMMAND, "token", "revoke", text, *which], check=True)
        time.sleep(1.5)
        assert http.get("/v1/session").status_code == 401
    session = {"Cookie": cookie.partition(";")[0]}
    assert httpx.get(f"{server.url}/v1/session", headers=session).status_code == 401
    listed = subprocess.run(
        [*COMMAND, "token", "list", *which], capture_output=True, text=True, check=True
    ).stdout
    assert text.split("_")[1] not in listed


def test_a_browser_gets_a_cookie_and_other_sites_cannot_use_it(server: Running) -> None:
    with server.http("") as http:
        assert http.post("/login", json={"token": "cs_wrong"}).status_code == 401
        answer = http.post("/login", json={"token": server.token})
        given = answer.headers["set-cookie"]
        assert answer.status_code == 204
        assert "HttpOnly" in given
        assert "SameSite=strict" in given
        assert server.token not in given
        http.headers["Cookie"] = given.partition(";")[0]
        put_headers = {"X-CSRF": "1"}
        assert http.get("/v1/projects").status_code == 200
        assert http.put("/v1/projects/c1", json={}).status_code == 403
        assert http.put("/v1/projects/c1", json={}, headers=put_headers).status_code == 201
        bad = put_headers | {"Origin": "https://evil.example"}
        assert http.put("/v1/projects/c1", json={}, headers=bad).status_code == 403
        bad = put_headers | {"Sec-Fetch-Site": "cross-site"}
        assert http.put("/v1/projects/c1", json={}, headers=bad).status_code == 403
        good = put_headers | {"Origin": server.url}
        assert http.put("/v1/projects/c1", json={}, headers=good).status_code == 200
        http.headers["Cookie"] = http.headers["Cookie"][:-2] + "00"
        assert http.get("/v1/projects").status_code == 401


def test_without_tokens_only_this_machine_is_served(tmp_path: Path) -> None:
    refused = subprocess.run(
        [*COMMAND, "serve", "--no-auth", "--host", "0.0.0.0", "--data", str(tmp_path / "x")],
        capture_output=True,
        text=True,
    )
    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False)
    assert "--no-auth" in refused.stderr
    with serving(tmp_path / "data", "--no-auth") as running, running.http("") as http:
        put(http, "p")
        post(http, "p", label("t", "a", "x"))
        rebound = http.get("/v1/projects", headers={"Host": "evil.example"})
        assert rebound.status_code == 403
        origin = {"Origin": "https://evil.example", "Content-Type": "text/plain"}
        forged = http.post("/v1/projects/p/labels", json=label("t", "b", "x"), headers=origin)
        assert forged.status_code == 403


def test_pages_and_answers_let_no_script_in(server: Running, http: httpx.Client) -> None:
    page = httpx.get(f"{server.url}/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    put(http, "names")
    post(http, "names", label(HTML, HTML, HTML))
    for answer in (page, http.get("/v1/projects/names/tasks"), http.get("/nowhere" + HTML)):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    for path in (
        "/page/../server.py",
        "/page/%2e%2e/server.py",
        "/page/.x",
        "/page/a\\b",
        "/page/%00",
    ):
        assert httpx.get(f"{server.url}{path}").status_code in (400, 404), path


def test_no_secret_is_in_the_log(server: Running, tokens: dict[str, str]) -> None:
    with server.http("") as http:
        http.get(f"/v1/projects?token={tokens['admin']}")
        http.post("/login", content=tokens["admin"].encode())
        http.post("/login", json={"token": tokens["admin"] + "x"})
    said = server.said()
    assert said.count(server.token) == 1, "printed once, at the first start"
    assert not any(text in said for text in tokens.values())


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    options = ("--max-body", "100KB", "--rate", "30", "--connections", "20",
               "--header-timeout", "500ms", "--body-timeout", "700ms")  # fmt: skip
    folder = tmp_path_factory.mktemp("strict") / "data"
    with serving(folder, *options) as running:
        with running.http() as http:
            put(http, "p")
        yield running


def raw(server: Running, data: bytes) -> socket.socket:
    way = socket.create_connection(("127.0.0.1", server.port), 10)
    way.sendall(data)
    return way


def test_long_bodies_and_bombs_are_refused(strict: Running) -> None:
    with strict.http() as http:
        url = "/v1/projects/p/labels"
        time.sleep(1)
        assert http.post(url, content=b"x" * 200_000).status_code == 413
        bomb = gzip.compress(b" " * 50_000_000)
        assert len(bomb) < 100_000
        packed = {"Content-Encoding": "gzip"}
        assert http.post(url, content=bomb, headers=packed).status_code == 413

        def chunks() -> Iterator[bytes]:
            for _ in range(20):
                yield b" " * 10_000

        assert http.post(url, content=chunks()).status_code == 413


def test_a_token_that_asks_too_often_is_told_to_wait(strict: Running) -> None:
    time.sleep(1)
    with strict.http() as http:
        answers = [http.get("/v1/session") for _ in range(60)]
    codes = [answer.status_code for answer in answers]
    assert codes[0] == 200
    assert 429 in codes
    late = next(answer for answer in answers if answer.status_code == 429)
    assert int(late.headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ",
        b"POST /v1/projects/p/labels HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{",
    ],
)
def test_who_sends_too_slowly_is_hung_up_on(strict: Running, sent: bytes) -> None:
    way = raw(
        strict,
        sent.replace(b"Host: x", b"Host: x\r\nAuthorization: Bearer " + strict.token.encode()),
    )
    way.settimeout(5)
    begun = time.monotonic()
    answer = way.recv(4096)
    assert time.monotonic() - begun < 4
    assert answer == b"" or b" 408 " in answer.splitlines()[0]
    way.close()


def test_there_are_only_so_many_connections_and_others_still_get_through(strict: Running) -> None:
    ways = [raw(strict, b"") for _ in range(40)]
    refused = 0
    for way in ways:
        way.settimeout(3)
        answer = way.recv(4096)
        refused += b" 503 " in answer.splitlines()[0] if answer else 0
        way.close()
    assert refused >= 20
    time.sleep(0.2)
    assert httpx.get(f"{strict.url}/healthz").status_code == 200


def test_half_open_clients_do_not_keep_others_waiting(server: Running, http: httpx.Client) -> None:
    ways = [
        raw(server, b"POST /v1/projects/mine/labels HTTP/1.1\r\nContent-Le") for _ in range(100)
    ]
    begun = time.monotonic()
    put(http, "quick")
    post(http, "quick", label("t", "a", "x"))
    assert time.monotonic() - begun < 5
    for way in ways:
        way.close()


def test_requests_sent_at_once_are_answered_in_their_order(
    server: Running, http: httpx.Client
) -> None:
    put(http, "piped")
    head = f"Host: x\r\nAuthorization: Bearer {server.token}\r\n"

    def sent(task: str, more: str = "") -> str:
        body = f'{{"task": "{task}", "worker": "ann", "label": "x"}}'
        start = f"POST /v1/projects/piped/labels{more} HTTP/1.1\r\n{head}"
        return f"{start}Content-Length: {len(body)}\r\n\r\n{body}"

    bad = f"POST /v1/projects/piped/labels HTTP/1.1\r\n{head}Content-Length: 1\r\n\r\n{{"
    asked = f"GET /v1/projects/piped/tasks/p2 HTTP/1.1\r\n{head}\r\n"
    last = sent("p4").replace("Host: x", "Host: x\r\nConnection: close")
    every = sent("p1") + sent("p2", "?decisions=all") + asked + bad + sent("p3") + last
    way = raw(server, every.encode())
    way.settimeout(10)
    answers = b""
    while more := way.recv(65536):
        answers += more
    way.close()
    codes = re.findall(rb"HTTP/1.1 (\d+)", answers)
    assert codes == [b"200", b"200", b"200", b"400", b"200", b"200"]
    places = [answers.index(f'"task":"p{i}"'.encode()) for i in (1, 2, 3, 4)]
    assert places == sorted(places)


def test_what_is_not_http_is_refused(server: Running) -> None:
    for sent in (b"\x00\x01\x02\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n"):
        way = raw(server, sent)
        way.settimeout(12)
        answer = way.recv(4096)
        assert not answer or b" 400 " in answer or b" 408 " in answer, answer
        way.close()


def test_the_extra_that_is_missing_is_named() -> None:
    code = (
        "import sys; sys.modules['httptools'] = None\n"
        "import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'httptools' else real(name, *rest)\n"
        "sys.argv = ['crowdstream', 'serve']\nfrom crowdstream.cli import main; main()"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 2
    assert "pip install 'crowdstream[serve]'" in found.stderr
