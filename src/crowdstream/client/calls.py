"""Requests and answers, the same for both clients. Sends nothing itself."""

from __future__ import annotations

import io
import math
import random
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar, cast
from urllib.parse import quote

import msgspec

from crowdstream.decisions.decision import Decision
from crowdstream.errors import CrowdstreamError, ServerError
from crowdstream.labels import ClassLabel, TaskId, WorkerId
from crowdstream.serve import wire

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
Row: TypeAlias = (
    tuple[TaskId, WorkerId, ClassLabel | None] | Mapping[str, TaskId | ClassLabel | float | None]
)

RETRIES, TIMEOUT = 5, 30.0
"""Default number of retries, and default seconds to wait for an answer."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
"""Seconds before the second attempt, doubled each time, and at most."""

AGAIN = frozenset({408, 429, 502, 503, 504})
"""Answers after which a request is sent again: it was not kept, or may be sent twice."""

PART = 10_000
"""Labels in one request."""

encode = msgspec.json.Encoder().encode


class Wait(NamedTuple):
    """Send it again, after the seconds that the server asks for, if it does."""

    seconds: float | None


@dataclass
class Call(Generic[T]):
    """A request, and what its answer is made into."""

    method: str
    path: str
    gives: Any
    body: bytes | None = None
    params: dict[str, str] = field(default_factory=dict)

    def headers(self) -> dict[str, str]:
        """Return the headers that all attempts share, which tell the server that they are one."""
        if self.method != "POST":
            return {}
        return {"Idempotency-Key": uuid.uuid4().hex, "Content-Type": "application/json"}

    def decode(self, body: bytes) -> T:
        """The answer."""
        return cast("T", msgspec.json.decode(body, type=self.gives))


class _Labels(msgspec.Struct):
    decisions: list[Decision]


class _Decisions(Call[T]):
    """The answer to labels is the decisions in it, or the one there is."""

    def decode(self, body: bytes) -> T:
        found = msgspec.json.decode(body, type=_Labels).decisions
        return cast("T", found[0] if self.gives is Decision else found)


class _Table(Call[T]):
    """The answer is a table in Parquet."""

    def decode(self, body: bytes) -> T:
        import polars as pl

        return cast("T", pl.read_parquet(io.BytesIO(body)))


def connection(url: str, token: str, timeout: float) -> dict[str, Any]:
    """Return the arguments of an httpx client."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return {"base_url": url, "headers": headers, "timeout": timeout}


def need_httpx() -> ModuleType:
    """The package that speaks HTTP, or the line that installs it."""
    try:
        import httpx
    except ImportError:
        hint = "this needs httpx: pip install 'crowdstream[serve]'"
        raise CrowdstreamError(hint) from None
    return httpx


def address(project: str, *parts: object) -> str:
    """The path of something in a project, its names quoted.

    >>> address("p", "tasks", "a/b c")
    '/v1/projects/p/tasks/a%2Fb%20c'
    """
    return "/v1/projects/" + "/".join(quote(str(part), safe="") for part in (project, *parts))


def get(
    project: str, gives: type[T], *parts: object, params: dict[str, str] | None = None
) -> Call[T]:
    """A question."""
    return Call("GET", address(project, *parts), gives, params=params or {})


def post(project: str, verb: str, body: bytes, gives: type[T]) -> Call[T]:
    """An event."""
    return Call("POST", address(project, verb), gives, body)


def delete(project: str, *parts: object) -> Call[wire.Deleted]:
    """Delete a project, or something in it."""
    return Call("DELETE", address(project, *parts), wire.Deleted)


def create(project: str, settings: wire.Settings | None) -> Call[wire.Overview]:
    """A new project, or new settings."""
    body = encode(wire.Settings() if settings is None else settings)
    return Call("PUT", address(project), wire.Overview, body)


def workers(project: str, sort: str, most: int | None, cursor: str) -> Call[wire.WorkersOut]:
    """A page of workers."""
    params = {"sort": sort, "limit": str(1000 if most is None else min(max(most, 1), 1000))}
    if cursor:
        params["cursor"] = cursor
    return get(project, wire.WorkersOut, "workers", params=params)


def decisions(project: str, tasks: str, *, probabilities: bool) -> Call[pl.DataFrame]:
    """The export of decisions."""
    params = {"format": "parquet", "tasks": tasks, "probabilities": str(probabilities).lower()}
    return _Table("GET", address(project, "export", "decisions"), None, params=params)


def observe(
    project: str, task: TaskId, worker: WorkerId, label: ClassLabel | None, at: float | None
) -> Call[Decision]:
    """One label."""
    row = {"task": task, "worker": worker, "label": label}
    body = encode(row if at is None else row | {"at": at})
    return _Decisions("POST", address(project, "labels"), Decision, body)


def observe_many(project: str, rows: Iterable[Row]) -> Iterator[Call[list[Decision]]]:
    """Many labels, in parts."""
    given = iter(rows)
    while part := list(islice(given, PART)):
        body = encode([row if isinstance(row, Mapping) else _named(row) for row in part])
        yield _Decisions("POST", address(project, "labels"), list[Decision], body)


def _named(row: tuple[object, ...]) -> dict[str, object]:
    return dict(zip(("task", "worker", "label"), row, strict=True))


def needs(task: wire.TaskOut) -> float:
    """Labels that a task is expected to need still."""
    if task.closed is not None or task.settled:
        return 0.0
    return math.inf if task.needs is None else task.needs


def read(
    call: Call[T], status: int, headers: Mapping[str, str], body: bytes, *, last: bool
) -> T | Wait:
    """Decode an answer, raise its error, or return how long to wait before a retry."""
    if status < 300:
        return call.decode(body)
    if status in AGAIN and not last:
        asked = headers.get("retry-after", "")
        return Wait(min(float(asked), LONGEST_PAUSE) if asked.isdecimal() else None)
    try:
        problem = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        problem = {}
    detail = str(problem.get("detail") or body[:200].decode("utf-8", "replace"))
    raise ServerError(status, detail, str(problem.get("path", "")))


def pause_after(attempt: int, retries: int, error: Exception) -> float:
    """Seconds until the next attempt after the server could not be reached."""
    if attempt == retries:
        raise ServerError(0, f"the server cannot be reached: {error}") from error
    return back_off(attempt)


def back_off(attempt: int) -> float:
    """Seconds before the next attempt: twice as long each time, and never the same for all.

    >>> 0.05 <= back_off(0) <= 0.1
    True
    """
    longest = min(FIRST_PAUSE * 2.0**attempt, LONGEST_PAUSE)
    return random.uniform(longest / 2, longest)
