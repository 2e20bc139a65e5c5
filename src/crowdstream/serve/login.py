"""A browser's session: a token once, a cookie from then on."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from crowdstream.serve.access import COOKIE, SESSION_SECONDS
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.server import Endpoint, body_of, json, server_of, token_of
from crowdstream.serve.tokens import FORM
from crowdstream.serve.wire import LoginIn, SessionOut

LONGEST = 1000
"""Bytes of a login, which is read before it is known who sends it."""


async def login(request: Request) -> Response:
    """Give a session cookie for a token.

    Only logins that fail are limited, by address and by token: whoever guesses locks nobody out.
    """
    server = server_of(request)
    given, _ = await body_of(request, LoginIn, LONGEST)
    client = request.client.host if request.client else ""
    try:
        cookie = server.access.cookie_for(given.token)
    except ProblemError:
        form = FORM.fullmatch(given.token.strip())
        request.app.state.logins.check(client)
        if form is not None:
            request.app.state.logins.check(form[1])
        raise
    server.audit.note(cookie.partition(".")[0], "login", client=client)
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
