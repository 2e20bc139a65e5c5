"""Tests the examples for operators: nginx as documented, settings, a unit, a container."""

from __future__ import annotations

import getpass
import re
import shutil
import socket
import subprocess
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml  # type: ignore[import-untyped]

from crowdstream.cli.command import make_command
from crowdstream.cli.serve import serve
from tests.serve.running import PATIENCE, Running, label, post, put, serving

EXAMPLES = Path(__file__).parents[2] / "examples/server"
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/opt/homebrew/bin")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as way:
        return int(way.getsockname()[1])


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str]]:
    """A server, and its address behind nginx: the documented file but for addresses and TLS."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    folder = tmp_path_factory.mktemp("nginx")
    with serving(folder / "data", "--trusted-proxy", "127.0.0.1") as running:
        port = free_port()
        text = (EXAMPLES / "nginx.conf").read_text()
        text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
        text = re.sub(r" *ssl_\w+ .*\n", "", text).replace("8750", str(running.port))
        places = "".join(
            f"{name}_temp_path {folder};"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (folder / "nginx.conf").write_text(
            f"user {getpass.getuser()}; daemon off; pid {folder}/pid;\n"
            f"error_log {folder}/error.log;\n"
            f"events {{}}\nhttp {{ access_log off; {places}\n{text}}}\n"
        )
        process = subprocess.Popen([NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf")])
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                httpx.get(f"{url}/healthz")
                break
            except httpx.TransportError:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
        try:
            yield running, url
        finally:
            process.terminate()
            process.wait()


def test_labels_get_through_nginx(behind: tuple[Running, str]) -> None:
    running, url = behind
    headers = {"Authorization": f"Bearer {running.token}"}
    with httpx.Client(base_url=url, headers=headers) as http:
        put(http, "p")
        for number in range(50):
            post(http, "p", label(f"t{number}", "ann", "x"))
        rows = [label(f"u{number}", "ann", "x" * 100) for number in range(20_000)]
        assert post(http, "p", rows)["labels"] == 20_000


def test_behind_nginx_logins_are_limited_by_client_and_nobody_else_is_locked_out(
    behind: tuple[Running, str],
) -> None:
    running, url = behind

    def login(given: str, address: str) -> int:
        # nginx adds whom it got it from: here the test, which a proxy before it would have added.
        with httpx.Client(headers={"X-Forwarded-For": address}) as http:
            return http.post(f"{url}/login", json={"token": given}).status_code

    assert 429 in [login("cs_wrong", "6.6.6.6") for _ in range(30)]
    assert login("cs_wrong", "7.7.7.7") == 401
    assert login(running.token, "6.6.6.6") == 204
    secure = httpx.post(
        f"{url}/login", json={"token": running.token}, headers={"X-Forwarded-Proto": "https"}
    )
    assert "Secure" not in secure.headers["set-cookie"], "nginx says how it was reached"


def test_events_come_through_nginx_at_once(behind: tuple[Running, str]) -> None:
    running, url = behind
    headers = {"Authorization": f"Bearer {running.token}"}
    with httpx.Client(base_url=url, headers=headers, timeout=10) as http:
        put(http, "live")
        with http.stream("GET", "/v1/projects/live/events") as events:
            parts = events.iter_text()
            begun = time.monotonic()
            while "event: state" not in next(parts):
                pass
            with httpx.Client(base_url=url, headers=headers) as other:
                post(other, "live", label("t", "ann", "x"))
            while "event: change" not in next(parts):
                pass
            assert time.monotonic() - begun < 8


def test_a_browser_behind_nginx_may_change_things(behind: tuple[Running, str]) -> None:
    running, url = behind
    with httpx.Client(base_url=url) as http:
        http.post("/login", json={"token": running.token})
        answer = http.put("/v1/projects/b", json={}, headers={"X-CSRF": "1", "Origin": url})
        assert answer.status_code == 201


def test_settings_in_the_example_are_options() -> None:
    given = tomllib.loads((EXAMPLES / "crowdstream.toml").read_text())
    known = {param.name for param in make_command(serve, "serve").params}
    assert {name.replace("-", "_") for name in given} <= known


def test_variables_in_the_container_are_options() -> None:
    text = (EXAMPLES / "Containerfile").read_text()
    names = re.findall(r"CROWDSTREAM_SERVE_(\w+)=", text)
    known = {param.name for param in make_command(serve, "serve").params}
    assert names
    assert {name.lower() for name in names} <= known
    assert re.search(r"^USER \d+$", text, re.M)


def test_the_compose_file_says_what_the_docs_say() -> None:
    found = yaml.safe_load((EXAMPLES / "compose.yaml").read_text())
    ours = found["services"]["crowdstream"]
    assert ours["read_only"] is True
    assert ours["cap_drop"] == ["ALL"]
    ports = [port for one in found["services"].values() for port in one["ports"]]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert (EXAMPLES / ours["build"]["context"] / ours["build"]["dockerfile"]).is_file()


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd is not installed")
    text = (EXAMPLES / "crowdstream.service").read_text()
    assert "--config /etc/crowdstream.toml" in text
    unit = tmp_path / "crowdstream.service"
    unit.write_text(text.replace("/opt/crowdstream/bin/crowdstream", "/bin/true"))
    found = subprocess.run([tool, "verify", str(unit)], capture_output=True, text=True)
    if "Failed to" in found.stderr and "bus" in found.stderr:
        pytest.skip("there is no systemd here")
    assert (found.returncode, found.stderr) == (0, "")
