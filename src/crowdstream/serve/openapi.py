"""OpenAPI 3.1, made of the routes and the types they take and give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

import crowdstream
from crowdstream.serve.problems import CONTENT_TYPE, Problem
from crowdstream.serve.server import Endpoint, Query
from crowdstream.serve.wire import LabelIn

JSON = "application/json"

PROBLEMS = {
    "400": "Not what HTTP or JSON is.", "401": "No token, or not one of this server.",
    "403": "The token does not allow this.", "404": "There is no such thing.",
    "409": "Not as things are.", "413": "Too long.", "415": "Packed in a way that is not known.",
    "422": "JSON, but not as expected: says where.", "429": "Too much at once: Retry-After.",
    "503": "Not now: Retry-After.", "507": "The disk is full; nothing was kept.",
}  # fmt: skip

ABOUT = """Live consensus: labels in, decisions back in the same response, on disk
before it.

Errors are problem+json with path, expected and got. Lists are paged: pass `next` as `cursor`."""


def document(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The whole document."""
    kinds = [kind for one in endpoints for kind in (one.takes, one.gives) if kind is not None]
    kinds += [Problem, LabelIn]
    schemas, parts = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    by_kind = {repr(kind): schema for kind, schema in zip(kinds, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        path = re.sub(r":path\}", "}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, by_kind)
    return {
        "openapi": "3.1.0",
        "info": {"title": "crowdstream", "version": crowdstream.__version__, "description": ABOUT},
        "paths": paths,
        "components": {
            "schemas": parts,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    names = re.findall(r"\{(\w+)", endpoint.path)
    success = "204" if endpoint.path in ("/login", "/logout") else "200"
    answers = {success: {"description": "Done."}}
    if success == "200":
        shape = schemas.get(repr(endpoint.gives), {}) if endpoint.gives is not None else {}
        answers["200"]["content"] = {  # type: ignore[assignment]
            kind: {"schema": shape} if kind == JSON else {} for kind in endpoint.kinds
        }
    if endpoint.method == "PUT":
        answers["201"] = {**answers["200"], "description": "Made."}
    problem = {CONTENT_TYPE: {"schema": schemas[repr(Problem)]}}
    for status, about in PROBLEMS.items():
        answers[status] = {"description": about, "content": problem}  # type: ignore[dict-item]
    found: dict[str, Any] = {
        "operationId": endpoint.handler.__name__,
        "summary": endpoint.about,
        "tags": [endpoint.tag],
        "parameters": [_path(name) for name in names] + [_query(one) for one in endpoint.query],
        "responses": answers,
        "security": [] if endpoint.needs is None else [{"token": []}],
    }
    if endpoint.operation:
        found["operationId"] = endpoint.operation
    if endpoint.needs is not None:
        found["description"] = f"Needs the scope {endpoint.needs}."
    if endpoint.method == "POST" and endpoint.needs is not None:
        found["parameters"].append(_IDEMPOTENCY)
    found["parameters"] += [_header(name) for name in endpoint.headers]
    if endpoint.takes is not None:
        content = {JSON: {"schema": schemas[repr(endpoint.takes)]}}
        if endpoint.operation == "labels":
            content["application/x-ndjson"] = {"schema": {"type": "string"}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _path(name: str) -> dict[str, Any]:
    shape: dict[str, Any] = {"type": "string", "minLength": 1}
    if name == "project":
        shape["pattern"] = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
    return {"name": name, "in": "path", "required": True, "schema": shape}


def _query(one: Query) -> dict[str, Any]:
    shape: dict[str, Any] = dict(one.shape)
    if one.default not in (None, ...):
        shape["default"] = one.default
    return {
        "name": one.name, "in": "query", "required": one.default is ...,
        "description": one.about, "schema": shape,
    }  # fmt: skip


def _header(name: str) -> dict[str, Any]:
    shape = {"type": "string", "minLength": 1, "pattern": "^[!-~]+$"}
    return {"name": name, "in": "header", "required": True, "schema": shape}


_IDEMPOTENCY = {
    "name": "Idempotency-Key", "in": "header", "required": False,
    "description": "The same key again within ten minutes gets the same answer and does nothing.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}  # fmt: skip
