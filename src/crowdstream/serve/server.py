"""What every route has at hand: engine, store, access, limits. And how routes answer."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from crowdstream.serve.access import Access
from crowdstream.serve.answers import digest
from crowdstream.serve.audit import Audit
from crowdstream.serve.engine import Engine
from crowdstream.serve.jobs import Apply
from crowdstream.serve.limits import Limits, Rates, read_body
from crowdstream.serve.problems import ProblemError, from_msgspec
from crowdstream.serve.store import Store
from crowdstream.serve.tokens import Scope, Token
from crowdstream.serve.traffic import Traffic

T = TypeVar("T")

PAGE, MOST_PAGE = 50, 1000
"""Rows of a list, unless asked for otherwise, and at most."""


@dataclass
class Server:
    """All that routes need."""

    store: Store
    engine: Engine
    access: Access
    limits: Limits = field(default_factory=Limits)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    ready: bool = False

    def __post_init__(self) -> None:
        self.rates = Rates(self.limits.rate)
        self.traffic = Traffic()
        self.audit = Audit(self.store.folder)

    def check_ready(self) -> None:
        """503 while the log is still being replayed."""
        if not self.ready:
            detail = "the server is starting: it reads its log"
            raise ProblemError(503, detail, headers={"Retry-After": "2"})


class Query(NamedTuple):
    """A parameter of an address, for the routes and for OpenAPI."""

    name: str
    shape: dict[str, Any]
    about: str
    default: object = None
    """``...``: it must be given."""


TEXT: dict[str, Any] = {"type": "string"}
PAGED = (
    Query("limit", {"type": "integer", "minimum": 1, "maximum": MOST_PAGE}, "How many.", PAGE),
    Query("cursor", TEXT, "Where to begin: `next` of the page before."),
)


def one_of(*words: str) -> dict[str, Any]:
    """The shape of a parameter that is one of a few words."""
    return {"type": "string", "enum": list(words)}


class Endpoint(NamedTuple):
    """A route: what it takes and gives, and which scope it needs (``None``: nothing at all)."""

    method: str
    path: str
    handler: Callable[[Request], Awaitable[Response]]
    needs: Scope | None
    about: str
    takes: Any = None
    gives: Any = None
    query: tuple[Query, ...] = ()
    tag: str = ""
    kinds: tuple[str, ...] = ("application/json",)
    """Content types of the answer."""
    operation: str = ""
    """Its name in OpenAPI; the handler's unless given."""
    headers: tuple[str, ...] = ()
    """Headers that it needs beside the usual."""
    audited: bool = False
    """True if the audit trail has it; it always has what an admin token is needed for."""


def server_of(request: Request) -> Server:
    """The server that a request came to."""
    found: Server = request.app.state.server
    return found


def token_of(request: Request) -> Token:
    """The token that a request came with."""
    found: Token = request.scope["crowdstream.token"]
    return found


def json(data: object, status: int = 200) -> Response:
    """An answer."""
    return Response(msgspec.json.encode(data), status, media_type="application/json")


async def body_of(request: Request, kind: type[T], most: int | None = None) -> tuple[T, bytes]:
    """A request's body as a type, and its bytes: at most so many, or what the limits say."""
    headers = dict(request.scope["headers"])
    most = server_of(request).limits.body if most is None else most
    data = await read_body(headers, request.receive, most)
    request.scope["crowdstream.body"] = data
    try:
        return msgspec.json.decode(data, type=kind), data
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise from_msgspec(error) from None


def idempotency_key(token: Token, method: str, path: str, given: bytes | None) -> bytes:
    """What a request is known by if it comes twice; empty if it does not ask for that."""
    if given is None:
        return b""
    if not 1 <= len(given) <= 255:
        detail = "Idempotency-Key: expected 1 to 255 characters"
        raise ProblemError(400, detail, path="Idempotency-Key", got=f"{len(given)} characters")
    return digest(token.id.encode(), method.encode(), path.encode(), given)


async def write(request: Request, apply: Apply, body: bytes, weight: int = 1) -> Response:
    """Apply a request to its project and answer once it is on the disk."""
    given = dict(request.scope["headers"]).get(b"idempotency-key")
    key = idempotency_key(token_of(request), request.method, request.url.path, given)
    answer = await server_of(request).engine.write(
        request.path_params["project"], apply, weight=weight, key=key, said=digest(body)
    )
    return Response(answer, media_type="application/json")


def page_size(request: Request) -> int:
    """The parameter ``limit``."""
    text = request.query_params.get("limit", str(PAGE))
    # Python refuses to read more than 4,300 digits, also where they are zeros.
    number = int(text.lstrip("0")[:9] or 0) if text.isdecimal() else 0
    if not 1 <= number <= MOST_PAGE:
        raise bad_query("limit", f"1 to {MOST_PAGE}", text)
    return number


def choice(request: Request, name: str, allowed: tuple[str, ...], default: str) -> str:
    """A parameter that is one of a few words."""
    found = request.query_params.get(name, default)
    if found not in allowed:
        raise bad_query(name, " or ".join(allowed), found)
    return found


def bad_query(name: str, expected: str, got: str) -> ProblemError:
    """422 for a parameter of an address."""
    detail = f"{name}: expected {expected}"
    return ProblemError(422, detail, path=f"?{name}", expected=expected, got=got[:100])


def make_cursor(*parts: str | float) -> str:
    """Where the next page begins, as text that means nothing to others.

    >>> read_cursor(make_cursor("c", 7), (str, int))
    ['c', 7]
    """
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(parts)).decode().rstrip("=")


def read_cursor(text: str, kinds: tuple[type, ...]) -> list[Any]:
    """The parts of a cursor that `make_cursor` made."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        found = msgspec.msgpack.decode(data, type=list[int | float | str])
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        found = []
    if [type(part) for part in found] != list(kinds):
        raise bad_query("cursor", "what `next` of the page before says", text)
    return list(found)
