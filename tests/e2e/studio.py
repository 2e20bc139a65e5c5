"""A real Label Studio in a process of its own: SQLite, loopback, a folder that goes with the test.

It may call loopback addresses, which it refuses by default.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

PATIENCE = 300.0
"""Seconds in which it has to start: it makes its database first."""

TOKEN = "0123456789abcdef0123456789abcdef01234567"
CONFIG = (
    '<View><Text name="text" value="$text"/><Choices name="mood" toName="text">'
    '<Choice value="good"/><Choice value="bad"/></Choices></View>'
)


@dataclass
class Studio:
    """Label Studio that runs."""

    url: str

    def http(self, token: str = TOKEN) -> httpx.Client:
        headers = {"Authorization": f"Token {token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def sign_up(self, admin: httpx.Client, name: str) -> User:
        """A new user, by invitation, as people do it in a browser."""
        invitation = admin.get("/api/invite").json()["invite_url"]
        with httpx.Client(base_url=self.url, follow_redirects=True, timeout=60) as browser:
            browser.get(invitation)
            form = {
                "email": f"{name}@example.org", "password": f"{name}-{name}-{name}-1",
                "csrfmiddlewaretoken": browser.cookies["csrftoken"], "allow_newsletters": "false",
            }  # fmt: skip
            browser.post(invitation, data=form, headers={"Referer": self.url + invitation})
            number = browser.get("/api/current-user/whoami").json()["id"]
            legacy = browser.get("/api/current-user/token").json()["token"]
            headers = {"X-CSRFToken": browser.cookies["csrftoken"], "Referer": self.url}
            personal = browser.post("/api/token/", headers=headers).json()["token"]
        return User(self.http(legacy), str(number), personal)


@dataclass
class User:
    """Somebody who annotates, and a personal access token of theirs."""

    http: httpx.Client
    id: str
    personal_token: str

    def annotate(self, task: int, label: str | None, **more: object) -> int:
        """Answer a task, or skip it; returns the annotation's id."""
        body = {"result": result(label), "was_cancelled": label is None, **more}
        return int(_good(self.http.post(f"/api/tasks/{task}/annotations/", json=body))["id"])

    def change(self, annotation: int, label: str) -> None:
        body = {"result": result(label)}
        _good(self.http.patch(f"/api/annotations/{annotation}/", json=body))

    def delete(self, annotation: int) -> None:
        assert self.http.delete(f"/api/annotations/{annotation}/").status_code == 204


def result(label: str | None) -> list[dict[str, Any]]:
    if label is None:
        return []
    value = {"choices": [label]}
    return [{"from_name": "mood", "to_name": "text", "type": "choices", "value": value}]


def make_project(admin: httpx.Client, texts: list[str]) -> tuple[int, list[int]]:
    """A project with tasks; returns their ids."""
    made = _good(admin.post("/api/projects", json={"title": "moods", "label_config": CONFIG}))
    url = f"/api/projects/{made['id']}/import?return_task_ids=true"
    found = _good(admin.post(url, json=[{"text": text} for text in texts]))
    return made["id"], found["task_ids"]


def register_hook(admin: httpx.Client, project: int, url: str, token: str) -> None:
    """A webhook with our token in a header."""
    body = {
        "project": project, "url": url, "send_payload": True, "send_for_all_actions": True,
        "headers": {"Authorization": f"Bearer {token}"},
    }  # fmt: skip
    _good(admin.post("/api/webhooks/", json=body))


def _good(answer: httpx.Response) -> Any:
    assert answer.status_code in (200, 201), answer.text[:1000]
    return answer.json()


@contextlib.contextmanager
def running(program: Path, folder: Path) -> Iterator[Studio]:
    """Label Studio for as long as it is needed."""
    folder.mkdir()
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
    environment = os.environ | {
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder / "data"), "HOME": str(folder),
        "DJANGO_DB": "sqlite", "SSRF_PROTECTION_ENABLED": "false", "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": "",
    }  # fmt: skip
    command = [
        str(program), "start", "--no-browser", "--port", str(port), "--internal-host", "127.0.0.1",
        "--username", "admin@example.org", "--password", "admin-admin-1", "--user-token", TOKEN,
        "--enable-legacy-api-token",
    ]  # fmt: skip
    log = folder / "log"
    with open(log, "wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=folder)
    try:
        _wait(process, studio := Studio(f"http://127.0.0.1:{port}"), log)
        yield studio
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], studio: Studio, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"Label Studio did not start: {log.read_text()[-3000:]}")
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{studio.url}/health", timeout=5).status_code == 200:
                return
        time.sleep(0.5)
    raise RuntimeError(f"Label Studio is not ready after {PATIENCE} s: {log.read_text()[-3000:]}")
