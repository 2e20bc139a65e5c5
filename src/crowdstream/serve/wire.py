"""What goes over the wire, as types: requests are decoded into them, OpenAPI is made of them.

Names of tasks and workers are text: an integer is taken as its digits, so that ``17`` and
``"17"`` are one task, as they are in an address.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from crowdstream.defaults import MEMORY_RANGE, METHOD, MIN_LABELS, SETTLE, SETTLE_RANGE
from crowdstream.labels import ClassLabel
from crowdstream.methods import MethodName
from crowdstream.monitoring.coefficients import Coefficients

LONGEST_NAME = 512
"""Characters of a name: addresses with it still fit what proxies take."""

Name: TypeAlias = (
    Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
    | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
)
Class: TypeAlias = (
    Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
    | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    | bool
)
Score: TypeAlias = float
"""A number that is no class by itself: see the settings ``threshold`` and ``as_classes``."""

Question: TypeAlias = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
Time: TypeAlias = float | datetime.datetime
"""Seconds since 1970, or ISO 8601 with a time zone."""


class LabelIn(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A label: who said what of which task. A label of ``null`` is a skip.

    ``question``: which question it answers, if it says; it must be the project's.
    """

    task: Name
    worker: Name
    label: Class | Score | None
    at: Time | None = None
    question: Question | None = None


class RetractIn(msgspec.Struct, forbid_unknown_fields=True):
    """Whose label is taken back."""

    task: Name
    worker: Name


class GoldIn(msgspec.Struct, forbid_unknown_fields=True):
    """What is known to be true of a task."""

    task: Name
    label: Class | Score


class CloseIn(msgspec.Struct, forbid_unknown_fields=True):
    """The task to close."""

    task: Name


class OfferIn(msgspec.Struct, forbid_unknown_fields=True):
    """Tasks to open before they have a label."""

    tasks: Annotated[list[Name], Meta(max_length=50_000)]


class LoginIn(msgspec.Struct, forbid_unknown_fields=True):
    """A token."""

    token: Annotated[str, Meta(max_length=200)]


class SessionOut(msgspec.Struct):
    """What a token allows; ``project``: the only one it is for, if it is for one."""

    id: str
    note: str
    scopes: list[str]
    project: str | None


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    """How a project decides.

    ``method``, ``memory``, ``threshold`` and ``question`` stay as they are once there are labels; a
    project without a question may be given one.
    """

    method: MethodName = METHOD
    settle: Annotated[float, Meta(ge=SETTLE_RANGE[0], le=SETTLE_RANGE[1])] | None = SETTLE
    """Close a task once its decision is this sure; null: never for that."""
    min_labels: Annotated[int, Meta(ge=1, le=1000)] = MIN_LABELS
    """Labels that a settled task has at least."""
    max_labels: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    """Close a task once it has this many."""
    idle: Annotated[float, Meta(gt=0.0, le=1e9)] | None = None
    """Seconds without a label after which a task is closed."""
    give_up: Annotated[float, Meta(gt=0.0, le=1.0)] | None = None
    """Close a task as hard once its chance to settle falls below this share of a new task's."""
    memory: Annotated[float, Meta(gt=MEMORY_RANGE[0], le=MEMORY_RANGE[1])] | None = None
    """Forget what is older than about this many tasks."""
    classes: Annotated[list[Class], Meta(min_length=2, max_length=10_000)] | None = None
    """The labels that are allowed; null: any."""
    price: Annotated[float, Meta(ge=0.0, le=1e9)] | None = None
    """What a label costs, to say what was saved."""
    currency: Annotated[str, Meta(max_length=16)] = ""
    question: Question | None = None
    """The one question that this project holds; labels of others are refused. Of what annotation
    tools ask, the one that counts; null: the only one."""
    threshold: Annotated[float, Meta(ge=-1e15, le=1e15)] | None = None
    """Labels are scores: from this one on they count as pass, below it as fail."""
    as_classes: bool = False
    """Labels are classes, even if they look like scores or sets."""


class DecisionOut(msgspec.Struct):
    """What the crowd says of a task; ``closed`` is why it takes no more labels."""

    task: str
    label: ClassLabel | None
    confidence: float
    margin: float
    votes: int
    settled: bool
    identifiable: bool
    closed: str | None = None


class LabelsOut(msgspec.Struct):
    """How many labels were taken, how many came after their task had closed, and the decisions."""

    labels: int
    late: int
    decisions: list[DecisionOut]


class LabelStudioIn(msgspec.Struct):
    """A webhook of Label Studio: of all that it has, what is looked at.

    ``annotation`` is a list where many were made at once.
    """

    action: str
    annotation: dict[str, Any] | list[dict[str, Any]] | None = None
    annotations: list[dict[str, Any]] = []


class ArgillaIn(msgspec.Struct):
    """A webhook of Argilla: of all that it has, what is looked at."""

    type: str
    data: dict[str, Any]
    timestamp: str = ""


class SecretIn(msgspec.Struct, forbid_unknown_fields=True):
    """The secret that a tool signs with; null: none any more. It cannot be read back."""

    secret: Annotated[str, Meta(min_length=16, max_length=500)] | None


class ToolAnswerIO(msgspec.Struct, forbid_unknown_fields=True):
    """An answer as a tool has it: ``id`` is the tool's own, a label of null is a skip.

    ``at``: when it was last changed, in seconds since 1970.
    """

    id: Name
    task: Name
    worker: Name
    label: str | None
    question: str = ""
    at: Annotated[float, Meta(ge=-1e12, le=1e12)] | None = None
    gold: bool = False


class AnswersIn(msgspec.Struct, forbid_unknown_fields=True):
    """Answers as a tool has them now, and the ids of those that it has no longer."""

    answers: Annotated[list[ToolAnswerIO], Meta(max_length=10_000)] = []
    gone: Annotated[list[Name], Meta(max_length=10_000)] = []


class AnswersOut(msgspec.Struct):
    """What became of answers that a tool told.

    Of each id: ``taken``, the ``same`` as is known, ``stale`` (later is known), or ``deleted``; or
    the request was ``ignored``, because it is about something else. And what that did: ``labels``,
    votes ``retracted``, truths (``gold``), and what was ``late``, after the task had closed.
    """

    taken: int = 0
    same: int = 0
    stale: int = 0
    deleted: int = 0
    ignored: int = 0
    labels: int = 0
    retracted: int = 0
    gold: int = 0
    late: int = 0


class AnswersPage(msgspec.Struct):
    """Some of a tool's answers as they are known; ``next`` is the cursor of those after them."""

    answers: list[ToolAnswerIO]
    next: str | None = None


class HookCounts(msgspec.Struct):
    """Requests of annotation tools since the server started, and why the last was refused.

    Tools hide such errors from those who use them, so they are shown here.
    """

    answered: int = 0
    refused: int = 0
    why: str = ""
    refused_at: float | None = None


class ExpectedErrors(msgspec.Struct):
    """Closed decisions expected to be wrong: how many, as a share, and how that is known.

    ``basis``: "gold", "confidence", "joint" or "unknown", see `statements.WrongDecisions`;
    ``shown`` and ``about``: the share and what it rests on, in words.
    """

    decided: int
    errors: float
    low: float
    high: float
    rate: float
    rate_low: float
    rate_high: float
    basis: str
    gold_tasks: int
    shown: str
    about: str


class Saved(msgspec.Struct):
    """Labels that closed tasks did not need, against giving each ``against`` labels."""

    against: int
    labels: int
    share: float
    money: float | None
    currency: str


class LabelWorth(msgspec.Struct):
    """How many independent votes the labels of a task are worth; ``about``: that in words."""

    votes: float
    effective: float
    share: float
    about: str


class AgreementOut(msgspec.Struct):
    """How far labels of closed tasks agree, by the usual coefficients; ``text``: that in words."""

    coefficients: Coefficients
    text: str


class TaskCounts(msgspec.Struct):
    """Tasks that are open and closed, and why they were closed."""

    open: int = 0
    closed: int = 0
    settled: int = 0
    full: int = 0
    hard: int = 0
    idle: int = 0
    by_hand: int = 0


class AlarmOut(msgspec.Struct):
    """A worker's error rate has changed; ``at`` is when that was noticed."""

    at: float
    worker: str
    direction: str
    before: float
    after: float
    evidence: float
    answers: int
    everyone: bool
    tasks_seen: int


class Overview(msgspec.Struct):
    """A project in numbers."""

    project: str
    created: float
    at: float
    settings: Settings
    labels: int
    labels_per_second: float
    repeated: int
    replaced: int
    retracted: int
    skipped: int
    late: int
    workers: int
    classes: list[ClassLabel]
    chance: float
    tasks: TaskCounts
    identifiable: bool
    why_not: str
    expected_errors: ExpectedErrors | None
    saved: Saved | None
    label_worth: LabelWorth | None
    agreement: AgreementOut | None
    mean_accuracy: float
    alarms: list[AlarmOut]
    copies: list[list[str]]
    """Groups of workers who copy one another."""
    hooks: HookCounts


class Deleted(msgspec.Struct):
    """Result of a deletion: how many labels (and skips, truths and offers) went."""

    deleted: int


class ProjectsOut(msgspec.Struct):
    """All projects that the token may see."""

    projects: list[Overview]
    next: str | None = None


class TaskRow(DecisionOut, kw_only=True):
    """A task in a list; ``needs``: labels it is expected to need still (null: unknown)."""

    needs: float | None = None
    at: float | None = None


class TasksOut(msgspec.Struct):
    """Some tasks; ``next`` is the cursor of those after them."""

    tasks: list[TaskRow]
    next: str | None


class VoteOut(msgspec.Struct):
    """A worker's label on a task and the log-odds of the decided class that it added.

    By what is known of the worker now.
    """

    worker: str
    label: ClassLabel | None
    added: float | None
    error_rate: float | None = None
    at: float | None = None


class TaskOut(TaskRow, kw_only=True):
    """A task with its votes; ``votes_kept`` is false where they were not kept."""

    gold: ClassLabel | None = None
    labels: list[VoteOut]
    votes_kept: bool
    probabilities: list[tuple[ClassLabel, float]]


class WorkerRow(msgspec.Struct):
    """A worker; ``trend`` is the error rate of late minus the one before (below 0: better)."""

    worker: str
    answers: float
    error_rate: float | None
    error_low: float | None
    error_high: float | None
    evidence: str | None
    weight: float
    agreement: float | None
    quality: float | None
    flags: list[str]
    trend: float | None = None


class WorkerListRow(WorkerRow, kw_only=True):
    """A worker in a list; ``line``: error rates over equally many answers each, the latest last."""

    line: list[float] = []


class WorkersOut(msgspec.Struct):
    """Some workers; ``next`` is the cursor of those after them."""

    workers: list[WorkerListRow]
    total: int
    next: str | None


class HistoryPoint(msgspec.Struct):
    """A worker's error rate at some time."""

    at: float
    answers: float
    error_rate: float | None
    error_low: float | None
    error_high: float | None


class TrendPoint(msgspec.Struct):
    """A worker's error rate over a stretch of answers, up to so many tasks of the project."""

    tasks_seen: int
    error_rate: float
    error_low: float
    error_high: float


class Confusion(msgspec.Struct):
    """How often a worker calls a class another."""

    true_class: ClassLabel
    said: ClassLabel
    probability: float | None


class AnswerOut(msgspec.Struct):
    """What a worker said of a task, and what is decided of it now."""

    task: str
    label: ClassLabel | None
    at: float
    decided: ClassLabel | None = None
    closed: bool = False


class WorkerOut(WorkerRow, kw_only=True):
    """A worker with what is known over time; ``recent``: the latest answers, as far as kept."""

    history: list[HistoryPoint]
    trends: list[TrendPoint]
    alarms: list[AlarmOut]
    confusions: list[Confusion]
    recent: list[AnswerOut] = []


class AlarmsOut(msgspec.Struct):
    """The alarms that are kept, the latest first."""

    alarms: list[AlarmOut]


class NextOut(msgspec.Struct):
    """The task on which this worker's label would tell most; null if none is left."""

    task: str | None


class OfferOut(msgspec.Struct):
    """How many tasks are open now."""

    open: int


class Health(msgspec.Struct):
    """Whether the server can take labels."""

    status: Literal["ok", "degraded", "starting", "failing"]
    detail: str = ""


class Change(msgspec.Struct, omit_defaults=True):
    """What `/events` sends: all of it at first, then what has changed since."""

    overview: dict[str, Any]
    decisions: list[DecisionOut] = []
    workers: list[WorkerRow] = []


def text(name: str | int) -> str:
    """A name as text."""
    return name if type(name) is str else str(name)


def seconds(at: Time | None) -> float | None:
    """A time as seconds since 1970."""
    return at.timestamp() if isinstance(at, datetime.datetime) else at
