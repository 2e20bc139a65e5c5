"""Who asks, and whether they may: bearer tokens, and a cookie for browsers. Knows no routes.

A cookie says which token it was given for and until when, signed; it dies with the token. What a
browser sends by itself is not trusted to change anything: that needs a header which no other site
can set, and an origin that is ours.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import urlsplit

from crowdstream.errors import CrowdstreamError
from crowdstream.serve.checksums import checksum
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.tokens import Scope, Token, TokenFile, write_secret

KEY_FILE = "session.key"
COOKIE = "crowdstream_session"
SESSION_SECONDS = 12 * 3600
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
Headers = Iterable[tuple[bytes, bytes]]

log = logging.getLogger("crowdstream.serve")

EVERYTHING = Token("-", "", ["admin"], None, "no authentication", 0.0)
"""What everybody is given where no token is asked for."""


class Access:
    """Decides who may do what.

    Parameters
    ----------
    folder
        Where tokens are, and the key that cookies are signed with.
    open_to_all
        Ask for no token: for loopback only.
    """

    def __init__(self, folder: Path, *, open_to_all: bool = False) -> None:
        self.tokens = TokenFile(folder)
        self.open_to_all = open_to_all
        self._key = _session_key(folder / KEY_FILE)

    def who(self, method: str, headers: Headers) -> Token:
        """The token that a request comes with; 401 without a good one."""
        found = {name: value for name, value in headers if name in _LOOKED_AT}
        if self.open_to_all:
            self._check_local(found)
            if method not in SAFE:
                _check_origin(found)
            return EVERYTHING
        if (given := found.get(b"authorization")) is not None:
            kind, _, text = given.decode("latin-1").partition(" ")
            token = self._find(text) if kind.lower() == "bearer" else None
        else:
            token = self._of_cookie(found.get(b"cookie", b""))
            if token is not None and method not in SAFE:
                _check_origin(found)
                if b"x-csrf" not in found:
                    raise ProblemError(403, "expected the header X-CSRF with a session cookie")
        if token is None:
            raise ProblemError(
                401, "expected a token: Authorization: Bearer cs_…",
                headers={"WWW-Authenticate": 'Bearer realm="crowdstream"'},
            )  # fmt: skip
        return token

    def require(
        self, method: str, headers: Headers, scope: Scope, project: str | None = None
    ) -> Token:
        """The same, if it may do this; 403 if not."""
        token = self.who(method, headers)
        if not token.may(scope, project):
            what = "the server" if project is None else f"project {project!r}"
            raise ProblemError(403, f"this token does not allow to {_VERBS[scope]} {what}")
        return token

    def cookie_for(self, text: str) -> str:
        """A session cookie for a token; 401 if it is none."""
        token = self._find(text)
        if token is None:
            raise ProblemError(401, "this is not a token of this server")
        until = int(time.time()) + SESSION_SECONDS
        return f"{token.id}.{until}.{self._sign(token.id, until)}"

    def _of_cookie(self, header: bytes) -> Token | None:
        try:
            morsel = SimpleCookie(header.decode("latin-1")).get(COOKIE)
            token_id, until, signed = ("" if morsel is None else morsel.value).split(".")
            good = hmac.compare_digest(signed, self._sign(token_id, int(until)))
        except (CookieError, ValueError, TypeError):
            return None
        if not good or int(until) < time.time():
            return None
        return self._known(self.tokens.by_id, token_id)

    def _find(self, text: str) -> Token | None:
        return self._known(self.tokens.find, text.strip())

    @staticmethod
    def _known(look: Callable[[str], Token | None], text: str) -> Token | None:
        try:
            return look(text)
        except CrowdstreamError:  # its file is damaged: the log says which
            detail = "the server cannot read its tokens; its log says why"
            raise ProblemError(503, detail, headers={"Retry-After": "30"}) from None

    def _sign(self, token_id: str, until: int) -> str:
        return hmac.new(self._key, f"{token_id}.{until}".encode(), hashlib.sha256).hexdigest()

    def _check_local(self, headers: dict[bytes, bytes]) -> None:
        """A page elsewhere may have made its own name point here: only local names are served."""
        host = urlsplit("//" + headers.get(b"host", b"").decode("latin-1")).hostname
        if host not in LOOPBACK:
            raise ProblemError(403, "without tokens only localhost is served", got=str(host))


def _check_origin(headers: dict[bytes, bytes]) -> None:
    """Refuse what another site makes a browser send."""
    origin = headers.get(b"origin", b"").decode("latin-1")
    host = headers.get(b"host", b"").decode("latin-1")
    if origin and urlsplit(origin).netloc != host:
        raise ProblemError(403, "sent by a page of another site", path="Origin", got=origin)
    if headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
        raise ProblemError(403, "sent by a page of another site", path="Sec-Fetch-Site")


def _session_key(path: Path) -> bytes:
    """The key that cookies are signed with: a new one if there is none, or it is damaged."""
    try:
        return _read_key(path)
    except FileNotFoundError:
        pass
    except CrowdstreamError as error:
        log.error("%s; there is a new one, and who was logged in has to log in again", error)
    key = secrets.token_bytes(32)
    write_secret(path, key.hex().encode() + checksum(key).hex().encode())
    return key


def _read_key(path: Path) -> bytes:
    try:
        data = bytes.fromhex(path.read_text("ascii"))
    except ValueError:
        data = b""
    if data[32:] != checksum(data[:32]):
        raise CrowdstreamError(f"{path}: is damaged")
    return data[:32]


def check_key(folder: Path) -> None:
    """Raise CrowdstreamError if the key that cookies are signed with is damaged."""
    if (folder / KEY_FILE).exists():
        _read_key(folder / KEY_FILE)


_LOOKED_AT = frozenset(
    {b"authorization", b"cookie", b"host", b"origin", b"sec-fetch-site", b"x-csrf"}
)
_VERBS = {
    "read": "read", "label": "post labels to", "write": "write to", "admin": "change"
}  # fmt: skip
