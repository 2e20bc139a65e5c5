"""Routes for annotation tools: webhooks of Label Studio and Argilla, and their answers as a list.

A tool that is told «no» tells nobody, so what is refused is counted where people look.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from crowdstream.labels.readers import argilla, label_studio
from crowdstream.labels.readers.answer import Answer, name_of
from crowdstream.serve import signatures, tool_answers
from crowdstream.serve.answers import digest
from crowdstream.serve.limits import read_body
from crowdstream.serve.problems import ProblemError, from_msgspec
from crowdstream.serve.project import Project
from crowdstream.serve.server import (
    PAGED,
    Endpoint,
    Query,
    bad_query,
    body_of,
    json,
    make_cursor,
    page_size,
    read_cursor,
    server_of,
    write,
)
from crowdstream.serve.tool_answers import MOST_ANSWERS
from crowdstream.serve.tool_table import ARGILLA, LABEL_STUDIO, TOOLS, ToolAnswer
from crowdstream.serve.wire import (
    LONGEST_NAME,
    AnswersIn,
    AnswersOut,
    AnswersPage,
    ArgillaIn,
    LabelStudioIn,
    SecretIn,
    ToolAnswerIO,
    text,
)

TAG = "hooks"

CREATED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
DELETED = "ANNOTATIONS_DELETED"
RESPONSES = ("response.created", "response.updated", "response.deleted")

MOST_BYTES = 1 << 20
"""Of a signed webhook: it has to be read before it is known who sent it."""

SIGNED = ("webhook-id", "webhook-timestamp", "webhook-signature")
Handler = Callable[[Request], Awaitable[Response]]


def counted(handler: Handler) -> Handler:
    """The handler of a hook, with what becomes of its requests shown in its project."""

    @wraps(handler)
    async def counting(request: Request) -> Response:
        hooks = server_of(request).engine.hooks_of(request.path_params["project"])
        try:
            response = await handler(request)
        except ProblemError as error:
            if hooks is not None:
                hooks.refused += 1
                hooks.why, hooks.refused_at = error.problem.detail[:300], time.time()
            raise
        if hooks is not None:
            hooks.answered += 1
        return response

    return counting


async def hook_label_studio(request: Request) -> Response:
    """A webhook of Label Studio."""
    given, body = await body_of(request, LabelStudioIn)
    found = given.annotation or given.annotations
    if isinstance(found, dict):
        found = [found]
    if given.action not in (*CREATED, DELETED):
        return await _ignored(request)
    if not found:
        expected = "a payload: turn on «Send payload» in the webhook's settings"
        raise ProblemError(422, f"annotation: expected {expected}", path="$.annotation")
    _check_many(len(found))
    if given.action == DELETED:
        ids = [_needed(name_of(one.get("id")), "an id") for one in found]
        return await _take(request, LABEL_STUDIO, body, [], ids)
    answers: list[Answer] = []
    for one in found:
        told = list(label_studio.annotation_answers(one))
        _needed(told or None, "an annotation with a task and completed_by")
        answers += told
    return await _take(request, LABEL_STUDIO, body, answers, [])


async def hook_argilla(request: Request) -> Response:
    """A webhook of Argilla, by its signature."""
    body = await _signed_body(request)
    try:
        given = msgspec.json.decode(body, type=ArgillaIn)
    except msgspec.MsgspecError as error:
        raise from_msgspec(error) from None
    if given.type not in RESPONSES:
        return await _ignored(request)
    if given.type == "response.deleted":
        deleted = [_needed(name_of(given.data.get("id")), "an id")]
        return await _take(request, ARGILLA, body, [], deleted)
    answers = list(argilla.event_answers(given.data))
    _needed(answers or None, "a response with a record and a user")
    return await _take(request, ARGILLA, body, answers, [])


async def _signed_body(request: Request) -> bytes:
    """The body, if it is signed with the project's secret; 401 if not, whatever is missing."""
    server, name = server_of(request), request.path_params["project"]
    headers = {key: value.decode("latin-1") for key, value in request.headers.raw}
    message, header, given = (headers.get(key.encode(), "") for key in SIGNED)
    project = server.engine.projects.get(name)
    secret = project and server.store.reader().tools.secret(project.id, ARGILLA)
    refused = ProblemError(
        401, "expected a signature with this project's secret, at most "
        f"{signatures.TOLERANCE / 60:.0f} minutes old: "
        f"PUT /v1/projects/{name}/hooks/{ARGILLA}/secret sets it",
        expected=", ".join(SIGNED), headers={"WWW-Authenticate": "Webhook-Signature"},
    )  # fmt: skip
    if not secret or not message or not given:
        raise refused
    server.rates.check(f"{ARGILLA} {name}")
    raw = dict(request.scope["headers"])
    body = await read_body(raw, request.receive, min(server.limits.body, MOST_BYTES))
    times = signatures.times_of(header, _event_time(body), time.time())
    if not signatures.is_signed(secret, message, given, times, body):
        raise refused
    return body


class _Timed(msgspec.Struct):
    timestamp: str = ""


def _event_time(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Timed).timestamp
    except msgspec.MsgspecError:
        return ""


async def _take(
    request: Request, tool: str, body: bytes, answers: list[Answer], deleted: list[str]
) -> Response:
    """Take what a hook tells, once it is known which question is meant."""
    server, name = server_of(request), request.path_params["project"]
    asked = _question(request)
    table = server.store.tools

    def apply(project: Project, now: float) -> AnswersOut:
        found = answers
        if answers:
            mine = project.settings.question
            known = "" if mine else table.question(project.id, tool)
            tool_answers.one_question(asked, mine, known, path="?question")
            found = tool_answers.chosen(answers, asked or mine, known)
        return tool_answers.take(project, table, tool, found, now, deleted=deleted)

    weight = max(len(answers) + len(deleted), 1)
    if tool == ARGILLA:  # who sends it twice may say it in other words: the id counts
        key = digest(tool.encode(), name.encode(), request.headers["webhook-id"].encode())
        answer = await server.engine.write(name, apply, weight=weight, key=key)
        return Response(answer, media_type="application/json")
    return await write(request, apply, body, weight)


def _question(request: Request) -> str | None:
    found = request.query_params.get("question")
    if found is not None and not 1 <= len(found) <= LONGEST_NAME:
        raise bad_query("question", f"1 to {LONGEST_NAME} characters", found)
    return found


def _check_many(number: int) -> None:
    if number > MOST_ANSWERS:
        detail = f"expected at most {MOST_ANSWERS:,} annotations, got {number:,}: run a sync"
        raise ProblemError(413, detail)


def _needed(value: Any, what: str) -> Any:
    if value is None:
        raise ProblemError(422, f"expected {what}", path="$", expected=what)
    return value


async def _ignored(request: Request) -> Response:
    engine, name = server_of(request).engine, request.path_params["project"]
    await engine.ask(lambda: engine.project(name))
    return json(AnswersOut(ignored=1))


async def put_secret(request: Request) -> Response:
    """The secret that Argilla signs with; it cannot be read back."""
    given, _ = await body_of(request, SecretIn)
    server, name = server_of(request), request.path_params["project"]

    def save() -> None:
        server.store.set_secret(server.engine.project(name).id, ARGILLA, given.secret)

    await server.engine.ask(save)
    return json(SecretIn(None))


async def post_answers(request: Request) -> Response:
    """Answers of a tool as they are now: what a sync sends."""
    tool, table = _tool(request), server_of(request).store.tools
    given, body = await body_of(request, AnswersIn)
    answers = [
        Answer(text(one.task), text(one.worker), one.label, one.question, one.at, one.gold,
               id=text(one.id))
        for one in given.answers
    ]  # fmt: skip
    gone = [text(one) for one in given.gone]

    def apply(project: Project, now: float) -> AnswersOut:
        mine = project.settings.question
        known = "" if mine or not answers else table.question(project.id, tool)
        tool_answers.check_one_question(answers, mine, known)
        return tool_answers.take(project, table, tool, answers, now, gone=gone)

    return await write(request, apply, body, weight=len(answers) + len(gone) or 1)


async def get_answers(request: Request) -> Response:
    """Answers of a tool as they are known, by their ids."""
    server, name, tool = server_of(request), request.path_params["project"], _tool(request)
    size, cursor = page_size(request), request.query_params.get("cursor")
    after = read_cursor(cursor, (str, str))[1] if cursor is not None else ""
    number = (await server.engine.ask(lambda: server.engine.project(name))).id

    def read() -> list[ToolAnswer]:
        return server.store.reader().tools.page(number, tool, after, size)

    found = await asyncio.to_thread(read)
    rows = [
        ToolAnswerIO(one.id, one.task, one.worker, one.label, one.question, one.at, one.gold)
        for one in found
    ]
    return json(AnswersPage(rows, make_cursor("a", found[-1].id) if len(found) == size else None))


def _tool(request: Request) -> str:
    found: str = request.path_params["tool"]
    if found not in TOOLS:
        raise ProblemError(404, f"no tool {found[:100]!r}: expected {' or '.join(TOOLS)}")
    return found


_P = "/v1/projects/{project}"
_SHAPE = {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME}
_QUESTION = (
    Query("question", _SHAPE, "Which of the tool's questions; the project's setting without it."),
)

ENDPOINTS = (
    Endpoint("POST", f"{_P}/hooks/{LABEL_STUDIO}", hook_label_studio, "write",
             "A webhook of Label Studio, with the token in a header of the webhook.",
             takes=LabelStudioIn, gives=AnswersOut, query=_QUESTION, tag=TAG),
    Endpoint("POST", f"{_P}/hooks/{ARGILLA}", hook_argilla, None,
             "A webhook of Argilla, signed with the project's secret.",
             takes=ArgillaIn, gives=AnswersOut, query=_QUESTION, tag=TAG, headers=SIGNED),
    Endpoint("PUT", f"{_P}/hooks/{ARGILLA}/secret", put_secret, "admin",
             "The secret that Argilla signs with; it cannot be read back.",
             takes=SecretIn, gives=SecretIn, tag="projects"),
    Endpoint("GET", f"{_P}/answers/{{tool}}", get_answers, "read",
             "Answers of an annotation tool as they are known, by the tool's ids.",
             gives=AnswersPage, query=PAGED, tag="answers"),
    Endpoint("POST", f"{_P}/answers/{{tool}}", post_answers, "write",
             "Answers of an annotation tool as they are now. What is known already, or later than "
             "what is sent, stays.",
             takes=AnswersIn, gives=AnswersOut, tag="answers"),
)  # fmt: skip
