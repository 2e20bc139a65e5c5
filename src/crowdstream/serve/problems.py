"""What goes wrong in a request, as problem+json (RFC 9457). Knows nothing of HTTP servers."""

from __future__ import annotations

import re
from http import HTTPStatus

import msgspec

from crowdstream.errors import CrowdstreamError, InputError

CONTENT_TYPE = "application/problem+json"

MESSAGE = re.compile(
    r"^(?:Expected (?P<expected>.*?)(?:, got (?P<got>.*?))?|(?P<other>.*?))"
    r"(?: - at `(?P<path>.*)`)?$",
    re.S,
)
"""How msgspec says what it did not like."""


class Problem(msgspec.Struct, omit_defaults=True):
    """What went wrong; ``path``, ``expected`` and ``got`` where it was in what was sent."""

    title: str
    status: int
    detail: str = ""
    path: str = ""
    expected: str = ""
    got: str = ""
    type: str = "about:blank"


class ProblemError(CrowdstreamError):
    """A request that cannot be served, with the answer it gets."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        path: str = "",
        expected: str = "",
        got: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        title = HTTPStatus(status).phrase
        self.problem = Problem(title, status, detail, path, expected, got)
        self.headers = headers or {}

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self.problem.status

    def body(self) -> bytes:
        """The answer."""
        return msgspec.json.encode(self.problem)

    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        """Headers of the answer, as they go over the wire."""
        more = [(k.lower().encode(), v.encode("latin-1")) for k, v in self.headers.items()]
        return [(b"content-type", CONTENT_TYPE.encode()), *more]


def mistake() -> ProblemError:
    """Return the answer where the fault is ours: the log says more."""
    return ProblemError(500, "the server made a mistake; it is in its log")


def from_msgspec(error: Exception, where: str = "$") -> ProblemError:
    """A body that does not have the expected form; ``where`` takes the place of its root.

    >>> error = msgspec.ValidationError("Expected `str`, got `int` - at `$[3].worker`")
    >>> found = from_msgspec(error).problem
    >>> found.status, found.path, found.expected, found.got
    (422, '$[3].worker', 'str', 'int')
    """
    text = str(error)
    found = MESSAGE.match(text)
    assert found is not None  # the last alternative is anything
    parts = {name: (value or "").replace("`", "") for name, value in found.groupdict().items()}
    path = where + (parts["path"] or "$").removeprefix("$")
    if not isinstance(error, msgspec.ValidationError):
        return ProblemError(400, text, path=path, expected="JSON")
    expected = parts["expected"] or parts["other"]
    return ProblemError(422, text, path=path, expected=expected, got=parts["got"])


def from_input_error(error: InputError, status: int = 422) -> ProblemError:
    """What the engine refuses."""
    return ProblemError(
        status, str(error), path=error.where, expected=error.expected, got=error.found
    )
