"""The application: every request comes in here, is let in or not, and goes to its route.

Labels are taken before routes are looked at. Every answer, good or bad, gets the same guards.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from functools import wraps
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crowdstream.serve import events, export, hooks, login, metrics, openapi, pages, projects, tasks
from crowdstream.serve import workers as worker_routes
from crowdstream.serve.labels import is_labels, take_labels
from crowdstream.serve.limits import Rates
from crowdstream.serve.problems import CONTENT_TYPE, ProblemError
from crowdstream.serve.scrub import Scrub
from crowdstream.serve.server import Endpoint, Server, bad_query

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Handler = Callable[[Request], Awaitable[Response]]

ENDPOINTS: tuple[Endpoint, ...] = (
    *projects.ENDPOINTS, *tasks.ENDPOINTS, *worker_routes.ENDPOINTS, *events.ENDPOINTS,
    *export.ENDPOINTS, *hooks.ENDPOINTS, *metrics.ENDPOINTS, *login.ENDPOINTS,
)  # fmt: skip

LOGINS = 5.0
"""Logins a second from one address."""

GUARDS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
"""Headers of every answer; of the answer to labels, which nobody opens in a browser, the first."""

PLAIN_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
"""For answers that are no page: a browser that opens one runs nothing."""

log = logging.getLogger("crowdstream.serve")


class App:
    """The ASGI application of a server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.statuses: Counter[int] = Counter()
        self.routes = Starlette(
            routes=[*(_route(one) for one in ENDPOINTS), *_other_routes()],
            exception_handlers={HTTPException: _http_problem, ProblemError: _problem},
        )
        state = self.routes.state
        state.server, state.statuses = server, self.statuses
        state.feeds, state.logins = events.Feeds(server), Rates(LOGINS)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            if is_labels(scope):
                await self._labels(scope, receive, send)
            else:
                await self._route(scope, receive, send)

    async def _labels(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        status, kind, more = 200, b"application/json", []
        try:
            body = await take_labels(self.server, scope, receive)
        except ProblemError as error:
            status, kind, body = error.status, CONTENT_TYPE.encode(), error.body()
            more = [(k.lower().encode(), v.encode()) for k, v in error.headers.items()]
        self.statuses[status] += 1
        length = str(len(body)).encode()
        headers = [(b"content-type", kind), (b"content-length", length), *more, GUARDS[0]]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _route(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self.statuses[message["status"]] += 1
                given = message["headers"]
                message["headers"] = [*given, *GUARDS]
                if not any(name == PLAIN_POLICY[0] for name, _ in given):
                    message["headers"].append(PLAIN_POLICY)
            await send(message)

        try:
            await self.routes(scope, receive, guarded)
        except Exception:
            log.exception("a request failed")
            if not started:
                error = ProblemError(500, "the server made a mistake; it is in its log")
                await _response(error)(scope, receive, guarded)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Start and stop with the server."""
        await receive()
        try:
            await asyncio.to_thread(self.server.engine.load)
            self.server.engine.start(asyncio.get_running_loop())
            scrub = Scrub(self.server.engine)
            scrub.start(asyncio.get_running_loop())
        except Exception as error:
            log.error("cannot start: %s", error)
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        self.server.ready = True
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await scrub.stop()
        await self.server.engine.stop()
        await send({"type": "lifespan.shutdown.complete"})


def _route(endpoint: Endpoint) -> Route:
    handler = _let_in(endpoint)
    if endpoint.tag == hooks.TAG:
        handler = hooks.counted(handler)
    return Route(endpoint.path, handler, methods=[endpoint.method])


def _let_in(endpoint: Endpoint) -> Handler:
    """The route's handler behind what guards it."""
    needs = endpoint.needs
    if needs is None:
        return endpoint.handler

    @wraps(endpoint.handler)
    async def guarded(request: Request) -> Response:
        server: Server = request.app.state.server
        headers, project = request.scope["headers"], request.path_params.get("project")
        if project is None and endpoint.path.startswith("/v1/"):  # it looks at projects by itself
            token = server.access.who(request.method, headers)
        else:
            token = server.access.require(request.method, headers, needs, project)
        server.rates.check(token.id)
        _check_query(request, endpoint)
        request.scope["crowdstream.token"] = token
        return await endpoint.handler(request)

    return guarded


def _check_query(request: Request, endpoint: Endpoint) -> None:
    """A parameter that is not known is a mistake: what it was to do would not be done."""
    known = [one.name for one in endpoint.query]
    for name in request.query_params:
        if name not in known:
            raise bad_query(name[:100], f"one of: {', '.join(known) or 'none'}", name)


def _other_routes() -> list[Route]:
    described = msgspec.json.encode(openapi.document(ENDPOINTS))

    async def describe(_: Request) -> Response:
        return Response(described, media_type="application/json")

    return [
        Route("/openapi.json", describe),
        Route("/", pages.page),
        Route("/page/{path:path}", pages.page),
    ]


def _response(error: ProblemError) -> Response:
    return Response(error.body(), error.status, error.headers, CONTENT_TYPE)


async def _problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return _response(error)


async def _http_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    detail = (
        "no such address: /openapi.json lists all" if error.status_code == 404 else error.detail
    )
    return _response(ProblemError(error.status_code, detail, headers=headers))
