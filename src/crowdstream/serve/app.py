"""The application: every request comes in here, is let in or not, and goes to its route.

Posts of labels never get here (`exchanges.LabelPost`). Every answer gets the same guards.
"""

from __future__ import annotations

import logging
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
from crowdstream.serve.limits import Rates
from crowdstream.serve.problems import CONTENT_TYPE, ProblemError, mistake
from crowdstream.serve.server import Endpoint, Server, bad_query
from crowdstream.serve.tokens import Token

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Handler = Callable[[Request], Awaitable[Response]]

ENDPOINTS: tuple[Endpoint, ...] = (
    *projects.ENDPOINTS, *tasks.ENDPOINTS, *worker_routes.ENDPOINTS, *events.ENDPOINTS,
    *export.ENDPOINTS, *hooks.ENDPOINTS, *metrics.ENDPOINTS, *login.ENDPOINTS,
)  # fmt: skip

LOGINS, LOGINS_AT_ONCE = 0.2, 10.0
"""Logins that fail, a second and at once, from one address or with one token's id."""

PROBES = ("/healthz", "/readyz")
"""Answers before the server is ready."""

GUARDS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
"""Headers of every answer."""

PLAIN_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
"""For answers that are no page: a browser that opens one runs nothing."""

log = logging.getLogger("crowdstream.serve")


class App:
    """The ASGI application of a server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.routes = Starlette(
            routes=[*(_route(one) for one in ENDPOINTS), *_other_routes()],
            exception_handlers={HTTPException: _http_problem, ProblemError: _problem},
        )
        self.routes.router.redirect_slashes = False  # it would send people to any Host
        state = self.routes.state
        state.server = server
        state.feeds, state.logins = events.Feeds(server), Rates(LOGINS, LOGINS_AT_ONCE)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request."""
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                given = message["headers"]
                message["headers"] = [*given, *GUARDS]
                if not any(name == PLAIN_POLICY[0] for name, _ in given):
                    message["headers"].append(PLAIN_POLICY)
            await send(message)

        try:
            if scope["path"] not in PROBES:
                self.server.check_ready()
            await self.routes(scope, receive, guarded)
        except ProblemError as error:
            await _response(error)(scope, receive, guarded)
        except Exception:
            log.exception("a request failed")
            if not started:
                await _response(mistake())(scope, receive, guarded)


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
        response = await endpoint.handler(request)
        if endpoint.audited or endpoint.needs == "admin":
            _note(request, token, endpoint)
        return response

    return guarded


def _note(request: Request, token: Token, endpoint: Endpoint) -> None:
    """Add what was done to the audit trail, with what was sent unless that is a secret.

    Of what is deleted the name is left out: it is to be nowhere.
    """
    project, path = request.path_params.get("project", ""), request.url.path
    sent = b"" if path.endswith("/secret") else request.scope.get("crowdstream.body", b"")
    client = request.client.host if request.client else ""
    audit = request.app.state.server.audit
    what = f"{request.method} {endpoint.path if request.method == 'DELETE' else path}"
    audit.note(token.id, what, project=project, client=client, sent=sent)


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
