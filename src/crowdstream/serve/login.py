"""A browser's session: a token once, a cookie from then on."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from crowdstream.serve.access import COOKIE, SESSION_SECONDS
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.server import Endpoint, body_of, json, server_of, token_of
from crowdstream.serve.wire import LoginIn, SessionOut


async def login(request: Request) -> Response:
    """Give a session cookie for a token."""
    server = server_of(request)
    client = request.client.host if request.client else ""
    if wait := request.app.state.logins.take(client):
        seconds = str(max(round(wait), 1))
        raise ProblemError(429, "too many logins", headers={"Retry-After": seconds})
    given, _ = await body_of(request, LoginIn)
    cookie = server.access.cookie_for(given.token)
    answer = Response(status_code=204)
    answer.set_cookie(
        COOKIE, cookie, max_age=SESSION_SECONDS, httponly=True, samesite="strict",
        secure=request.url.scheme == "https" or _behind_tls(request),
    )  # fmt: skip
    return answer


async def logout(request: Request) -> Response:
    """Take the session cookie back."""
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


async def session(request: Request) -> Response:
    """What the token allows, so that a page shows only that."""
    token = token_of(request)
    return json(SessionOut(token.id, token.note, list(token.scopes), token.project))


def _behind_tls(request: Request) -> bool:
    return request.headers.get("x-forwarded-proto") == "https"


ENDPOINTS = (
    Endpoint("POST", "/login", login, None, "Get a session cookie for a token.",
             takes=LoginIn, tag="session"),
    Endpoint("POST", "/logout", logout, None, "Give it back.", tag="session"),
    Endpoint("GET", "/v1/session", session, "read", "What this token allows.",
             gives=SessionOut, tag="session"),
)  # fmt: skip
