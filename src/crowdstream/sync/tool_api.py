"""`ToolApi`: requests to an annotation tool's API, asked again while it is busy. Knows no tool."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from crowdstream.client.calls import AGAIN, need_httpx
from crowdstream.errors import CrowdstreamError
from crowdstream.labels.readers.answer import Answer

ATTEMPTS = 5
TIMEOUT = 60.0
UNKNOWN = 401


class ToolError(CrowdstreamError):
    """The tool refused a request (``status``), or cannot be reached (0)."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Tool(Protocol):
    """An annotation tool: all answers that it has now."""

    name: str

    def answers(self) -> Iterator[Answer]:
        """Every answer, to whatever question."""


class ToolApi:
    """An API by its address.

    Parameters
    ----------
    url
        Where it is.
    headers
        What lets us in; asked for again when it does no longer.
    """

    def __init__(self, url: str, headers: Callable[[], Mapping[str, str]]) -> None:
        self.url = url
        self._headers = headers
        self._http = need_httpx().Client(base_url=url, headers=dict(headers()), timeout=TIMEOUT)

    def get(self, path: str, **params: object) -> Any:
        """Return the decoded answer to a GET request."""
        return self.send("GET", path, params=params)

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        params: Mapping[str, object] | None = None,
    ) -> Any:
        """A request; what cannot be reached or is busy is asked again."""
        httpx = need_httpx()
        why, renewed = "", False
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(2.0 ** (attempt - 2) * random.uniform(0.5, 1.0))
            try:
                answer = self._http.request(method, path, json=body, params=params or None)
            except httpx.TransportError as error:
                why = str(error) or type(error).__name__
                continue
            if answer.status_code == UNKNOWN and not renewed:  # what lets us in may have expired
                self._http.headers.update(self._headers())
                renewed = True
            elif answer.status_code not in AGAIN:
                return self._read(method, path, answer)
            why = f"it answers {answer.status_code}"
        raise ToolError(f"{self.url}: cannot be reached: {why}")

    def _read(self, method: str, path: str, answer: Any) -> Any:
        status = answer.status_code
        if status in (UNKNOWN, 403):
            raise ToolError(f"{self.url}: the token is not accepted ({status})", status)
        if status >= 300:
            shown = f"{method} {path}: {status}: {answer.text[:200]}"
            raise ToolError(f"{self.url}: {shown}", status)
        if not answer.content:
            return None
        try:
            return answer.json()
        except ValueError:
            detail = f"expected JSON from {method} {path}; is this the tool's address?"
            raise ToolError(f"{self.url}: {detail}") from None

    def close(self) -> None:
        """Close the connections."""
        self._http.close()
