"""What annotation tools send, made by hand: the shapes are those of their webhooks."""

from __future__ import annotations

import base64
import json
import time
from datetime import UTC, datetime
from typing import Any

import httpx

from crowdstream.serve.signatures import sign

SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes ...").decode()
LABEL_STUDIO, ARGILLA = "label-studio", "argilla"


def moment(at: float) -> str:
    """A time as tools write it."""
    return datetime.fromtimestamp(at, UTC).isoformat()


def annotation(id: int, task: int, worker: int, **choices: str | None) -> dict[str, Any]:  # noqa: A002
    """An annotation of Label Studio; the larger its id, the later."""
    return {
        "id": id, "task": task, "completed_by": worker, "was_cancelled": False,
        "ground_truth": False, "updated_at": moment(1000.0 + id),
        "result": [
            {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": [label]}}
            for name, label in choices.items()
        ],
    }  # fmt: skip


def label_studio(
    http: httpx.Client, project: str, action: str, given: Any, question: str | None = None
) -> httpx.Response:
    """Send a webhook as Label Studio does."""
    key = "annotations" if action == "ANNOTATIONS_DELETED" else "annotation"
    params = {} if question is None else {"question": question}
    body = {"action": action, key: given, "project": {"id": 1, "title": "<b>"}}
    return http.post(f"/v1/projects/{project}/hooks/{LABEL_STUDIO}", json=body, params=params)


def response(id: str, record: str, user: str, at: float, **values: object) -> dict[str, Any]:  # noqa: A002
    """``data`` of an event about a response of Argilla."""
    return {
        "id": id, "values": {name: {"value": value} for name, value in values.items()},
        "status": "submitted", "record": {"id": record, "fields": {}},
        "user": {"id": user, "username": "<i>"}, "updated_at": moment(at),
    }  # fmt: skip


def argilla(
    http: httpx.Client,
    project: str,
    kind: str,
    data: dict[str, Any],
    *,
    secret: str = SECRET,
    message: str = "",
    sent: float | None = None,
    signed: float | None = None,
) -> httpx.Response:
    """Send a webhook as Argilla does: ``sent`` is in the header, ``signed`` in what is signed."""
    now = time.time()
    event = moment(now if signed is None else signed)
    body = json.dumps({"type": kind, "version": 1, "timestamp": event, "data": data}).encode()
    message = message or f"msg_{time.monotonic_ns()}"
    header = int(now if sent is None else sent)
    signature = sign(secret, message, int(header if signed is None else signed), body)
    headers = {
        "webhook-id": message, "webhook-timestamp": str(header), "webhook-signature": signature,
        "content-type": "application/json", "authorization": "",
    }  # fmt: skip
    return http.post(f"/v1/projects/{project}/hooks/{ARGILLA}", content=body, headers=headers)


def votes(http: httpx.Client, project: str, task: object) -> dict[str, str]:
    """Who said what of a task, as the server counts it."""
    found = http.get(f"/v1/projects/{project}/tasks/{task}")
    if found.status_code == 404:
        return {}
    return {one["worker"]: one["label"] for one in found.json()["labels"] if one["label"]}


def known(http: httpx.Client, project: str, tool: str) -> dict[str, dict[str, Any]]:
    """What the server knows of a tool's answers, by their ids."""
    found: dict[str, dict[str, Any]] = {}
    cursor: str | None = ""
    while cursor is not None:
        params = {"limit": "1000", **({"cursor": cursor} if cursor else {})}
        page = http.get(f"/v1/projects/{project}/answers/{tool}", params=params).json()
        found |= {one["id"]: one for one in page["answers"]}
        cursor = page["next"]
    return found
