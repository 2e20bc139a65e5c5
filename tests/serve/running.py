"""A server in a process of its own, on a free port of loopback, for tests to use and to kill."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

COMMAND = (sys.executable, "-c", "from crowdstream.cli import main; main()")
PATIENCE = float(os.environ.get("CROWDSTREAM_PATIENCE", "30"))
"""Seconds after which a server that does not start, or a test that waits, is given up."""


@dataclass
class Running:
    """A server that runs."""

    process: subprocess.Popen[bytes]
    port: int
    folder: Path
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return (self.folder / "admin.token").read_text().strip()

    def http(self, token: str | None = None, **more: Any) -> httpx.Client:
        """A client that lets problems through."""
        given = self.token if token is None else token
        headers = {"Authorization": f"Bearer {given}"} if given else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE, **more)

    def kill(self) -> None:
        """Kill it as a power cut would."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Ask it to stop; returns its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(PATIENCE)

    def said(self) -> str:
        """What it has written."""
        return self.log.read_text("utf-8", "replace")


def start(
    folder: Path,
    *options: str,
    command: Sequence[str] = COMMAND,
    port: int = 0,
    environment: dict[str, str] | None = None,
) -> Running:
    """Start a server and wait until it is ready."""
    log = folder.with_name(f"{folder.name}.log")
    with open(log, "ab") as out:
        out.write(b"--\n")
        out.flush()
        before = out.tell()
        process = subprocess.Popen(
            [*command, "serve", "--data", str(folder), "--port", str(port), *options],
            stdout=out,
            stderr=out,
            env=os.environ | (environment or {}),
        )
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        text = log.read_bytes()[before:].decode("utf-8", "replace")
        found = re.search(r"at http://\S+:(\d+)/", text)
        if found is not None:
            running = Running(process, int(found[1]), folder, log)
            if _is_ready(running):
                return running
        if process.poll() is not None:
            raise RuntimeError(f"the server did not start: {text}")
        time.sleep(0.02)
    process.kill()
    raise RuntimeError(f"the server is not ready after {PATIENCE} s: {log.read_text()}")


def _is_ready(running: Running) -> bool:
    try:
        return httpx.get(f"{running.url}/readyz", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


@contextlib.contextmanager
def serving(folder: Path, *options: str, **more: Any) -> Iterator[Running]:
    """A server for as long as it is needed."""
    running = start(folder, *options, **more)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


def put(http: httpx.Client, project: str, **settings: object) -> dict[str, Any]:
    """Make a project."""
    answer = http.put(f"/v1/projects/{project}", json=settings)
    assert answer.status_code in (200, 201), answer.text
    found: dict[str, Any] = answer.json()
    return found


def post(http: httpx.Client, project: str, labels: object, **more: Any) -> dict[str, Any]:
    """Send labels."""
    answer = http.post(f"/v1/projects/{project}/labels", json=labels, **more)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def label(task: object, worker: object, said: object, **more: object) -> dict[str, object]:
    """A label on its way."""
    return {"task": task, "worker": worker, "label": said, **more}
