"""What OpenAPI says is true: schemathesis asks all that it allows, and much that it does not."""

from __future__ import annotations

import contextlib

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from tests.serve.running import Running, label, post, put

schemathesis = pytest.importorskip("schemathesis")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")

EXAMPLES = 8
"""Requests of either kind to each route."""

pytestmark = pytest.mark.filterwarnings("ignore")


def test_every_route_answers_as_it_is_described(server: Running, http: httpx.Client) -> None:
    put(http, "known", max_labels=3)
    post(http, "known", [label(f"t{t}", w, "x") for t in range(5) for w in "abc"])
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    headers = {"Authorization": f"Bearer {server.token}"}
    wanted = [
        schemathesis.checks.not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    asked = 0
    for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.path.endswith(("/events", "/login", "/logout")):
                continue
            strategy = operation.as_strategy(generation_mode=mode)

            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=strategy)
            def ask(case: schemathesis.Case) -> None:  # type: ignore[name-defined]
                nonlocal asked
                asked += 1
                if "project" in case.path_parameters and asked % 2:
                    case.path_parameters["project"] = "known"
                case.call_and_validate(headers=headers, checks=wanted)

            with contextlib.suppress(Unsatisfiable):  # nothing of it can be wrong
                ask()
    assert asked > 100
