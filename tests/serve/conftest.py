"""One server for all tests of a file that do not need one of their own."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.serve.running import Running, serving

pytest.importorskip("uvloop", reason="the extra serve is not installed")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("serve") / "data") as running:
        yield running


@pytest.fixture
def http(server: Running) -> Iterator[httpx.Client]:
    with server.http() as client:
        yield client


@pytest.fixture
def project(request: pytest.FixtureRequest, http: httpx.Client) -> str:
    """A project of the test's own."""
    name = request.node.name.partition("[")[0].replace("_", "-")[:60].strip("-.")
    answer = http.put(f"/v1/projects/{name}", json={"max_labels": 5})
    assert answer.status_code in (200, 201), answer.text
    return name
