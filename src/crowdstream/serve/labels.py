"""Answers posts of labels, the one route that must be fast and bypasses the framework.

One object, an array, or lines of JSON; gzip too. All of a request's labels are taken, or none.
"""

from __future__ import annotations

import re

import msgspec

from crowdstream.labels.columns import ALIASES, simple_name
from crowdstream.serve.answers import digest
from crowdstream.serve.jobs import Job
from crowdstream.serve.label_rules import SETS
from crowdstream.serve.problems import ProblemError, from_msgspec
from crowdstream.serve.project import MOST_LABELS, Project
from crowdstream.serve.server import bad_query, idempotency_key
from crowdstream.serve.tokens import Token
from crowdstream.serve.wire import LabelIn, LabelsOut

START, END = "/v1/projects/", "/labels"
LINES = (b"application/x-ndjson", b"application/jsonl", b"application/ndjson")
WHICH = {
    b"": "all",
    b"decisions=all": "all",
    b"decisions=closed": "closed",
    b"decisions=none": "none",
}
"""The parameter ``decisions``: which of them the answer has."""

UNKNOWN = re.compile("unknown field (.+)", re.S)
"""How msgspec names a key that is not known."""

_one = msgspec.json.Decoder(LabelIn)
_many = msgspec.json.Decoder(list[LabelIn])


def project_of(path: str) -> str | None:
    """Return the project whose labels are posted to an address; ``None``: it is another address.

    >>> project_of("/v1/projects/moderation/labels"), project_of("/v1/projects")
    ('moderation', None)
    """
    if not (path.startswith(START) and path.endswith(END)):
        return None
    name = path[len(START) : -len(END)]
    return None if "/" in name else name


def labels_job(
    token: Token, path: str, query: bytes, headers: dict[bytes, bytes], body: bytes
) -> Job:
    """What the engine is asked to do with the labels of a request."""
    which = WHICH.get(query)
    if which is None:
        raise bad_query("decisions", "all, closed or none", query.decode("latin-1"))
    labels, single = decode(body, headers.get(b"content-type", b""))
    key = idempotency_key(token, "POST", path, headers.get(b"idempotency-key"))

    def apply(project: Project, now: float) -> LabelsOut:
        found = project.observe(labels, now, single=single)
        if which != "all":
            found.decisions = [one for one in found.decisions if one.closed and which == "closed"]
        return found

    return Job(
        _nobody,
        path[len(START) : -len(END)],
        apply,
        weight=len(labels) or 1,
        key=key,
        said=digest(body) if key else b"",
        label=labels[0] if single and labels[0].at is None and which == "all" else None,
    )


def _nobody(_: object) -> None:
    """Who is told is said later."""


def decode(body: bytes, kind: bytes) -> tuple[list[LabelIn], bool]:
    """The labels in a body, and whether it is a single one by itself.

    >>> decode(b'{"task": 1, "worker": "ann", "label": "x"}', b"")
    ([LabelIn(task=1, worker='ann', label='x', at=None, question=None)], True)
    """
    try:
        if kind.partition(b";")[0].strip().lower() in LINES:
            labels = _one.decode_lines(body)
        elif body.lstrip()[:1] == b"[":
            labels = _many.decode(body)
        else:
            return [_one.decode(body)], True
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _explained(from_msgspec(error)) from None
    if len(labels) > MOST_LABELS:
        raise ProblemError(413, f"expected at most {MOST_LABELS:,} labels, got {len(labels):,}")
    return labels, False


def _explained(error: ProblemError) -> ProblemError:
    """Return what is wrong with a body, with what to do where it means more than one class.

    >>> _explained(from_msgspec(msgspec.ValidationError(
    ...     "Object contains unknown field `criterion` - at `$[1]`"))).problem.detail
    "$[1].criterion: expected 'question' as its name, found 'criterion'"
    """
    problem = error.problem
    if problem.got == "array" and problem.path.endswith(".label"):
        expected, found = f"one class ({SETS})", "a list"
        where = problem.path
    elif (unknown := UNKNOWN.search(problem.expected)) and _is_question(unknown[1]):
        where, expected = f"{problem.path}.{unknown[1]}", "'question' as its name"
        found = repr(unknown[1])
    else:
        return error
    detail = f"{where}: expected {expected}, found {found}"
    return ProblemError(error.status, detail, path=where, expected=expected, got=found)


def _is_question(name: str) -> bool:
    return simple_name(name) in ALIASES["question"]
