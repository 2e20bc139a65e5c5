"""`Engine`: the one thread that owns the streams and writes. Knows nothing of HTTP.

It takes all requests that wait, applies them, writes them in one commit, and only then answers
(group commit). If the commit fails, nothing of the group is acknowledged or remembered: the streams
are made anew from the disk. Questions are asked between groups, so that none sees half of one.
What takes long, as with a project of many workers and classes, is done in a thread beside, to which
the project is lent (`Loans`); it is written with the next group.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from crowdstream.errors import CrowdstreamError, InputError, StateError
from crowdstream.serve import answers as kept
from crowdstream.serve import log_events
from crowdstream.serve.clock import Clock
from crowdstream.serve.housekeeping import Housekeeping
from crowdstream.serve.jobs import MANY, Apply, Job, Loan, Loans
from crowdstream.serve.problems import ProblemError, from_input_error
from crowdstream.serve.project import Project, State
from crowdstream.serve.readings import Readings
from crowdstream.serve.schema import DamageError, StoreError
from crowdstream.serve.store import MOST_CLOSED, Changes, ProjectRow, Snapshot, Step, Store
from crowdstream.serve.traffic import Histogram
from crowdstream.serve.wire import HookCounts, LabelIn, Overview, Settings, text
from crowdstream.stream.stream import Stream

T = TypeVar("T")

MOST_JOBS = 10_000
"""Requests that may wait: more are told to come back."""

MOST_WAITING = 500_000
"""Labels that may wait, about 100 MB of them."""

GROUP_LABELS = 20_000
"""Labels after which a group is closed: they take about 0.1 s."""

TICK = 0.25
"""Seconds that the engine waits for work before it looks whether something else is due."""

log = logging.getLogger("crowdstream.serve")


class Together:
    """Single labels that are taken in one call: of one project, each on a task of its own.

    So each is answered with the decision that its own label made. Nor is one of them another one
    again, by its key.
    """

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self._tasks: set[str] = set()
        self._keys: set[bytes] = set()

    def add(self, job: Job) -> bool:
        """Take another one in; false if it does not fit."""
        if job.label is None or (self.jobs and job.project != self.jobs[0].project):
            return False
        task = text(job.label.task)
        if task in self._tasks or job.key in self._keys:
            return False
        self.jobs.append(job)
        self._tasks.add(task)
        if job.key:
            self._keys.add(job.key)
        return True


class Engine:
    """Owns the projects of a store.

    Parameters
    ----------
    store
        The folder.
    keep_labels
        Seconds for which labels of closed tasks are kept; ``None``: for ever.
    """

    def __init__(self, store: Store, *, keep_labels: float | None = None) -> None:
        self.store = store
        self.projects: dict[str, Project] = {}
        self.aside: dict[str, str] = {}
        """Projects that are damaged, and how: nothing reads or changes them."""
        self.damage: list[str] = []
        """Other damage that was found."""
        self.clock = Clock()
        self.failing = ""
        """Why nothing can be written, if it cannot."""
        self.deleting = asyncio.Lock()
        """Held while something is deleted: one thing after the other."""
        self.commit_times = Histogram()
        self._readings: dict[str, Readings] = {}
        self._hooks: dict[str, HookCounts] = {}
        self._housekeeping = Housekeeping(self, keep_labels)
        self._answers = kept.Answers()
        self._jobs: queue.SimpleQueue[Job | Loan | None] = queue.SimpleQueue()
        self._loans = Loans(self._beside, self._jobs.put)
        self._slices: deque[Step] = deque()
        self._encode = msgspec.json.Encoder().encode
        self._waiting = self._waiting_labels = 0
        self._closing = self._ends = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="engine")

    # From the event loop ---------------------------------------------------------------------

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to work, on what `load` has read."""
        self._loop = loop
        self._thread.start()

    async def stop(self) -> None:
        """Finish what waits, save, end."""
        self._closing = True
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    @property
    def waiting_labels(self) -> int:
        """Labels of requests that wait."""
        return self._waiting_labels

    def snapshot_ages(self) -> dict[str, float]:
        """Seconds for which each project has labels that no snapshot has."""
        return self._housekeeping.snapshot_ages(self.clock.now())

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return self._waiting

    async def write(
        self, project: str, apply: Apply, *, weight: int = 1, key: bytes = b"", said: bytes = b""
    ) -> bytes:
        """Apply a request and write it; returns the answer as JSON once that is on the disk."""
        found: bytes = await self.done(
            Job(_not_told, project, apply, weight=weight, key=key, said=said)
        )
        return found

    async def ask(self, question: Callable[[], T]) -> T:
        """Ask something of the engine itself between two groups; it must be quick."""
        found: T = await self.done(Job(_not_told, ask=question))
        return found

    async def look(self, project: str, question: Callable[[], T]) -> T:
        """Ask something of a project between two groups; nobody else waits if it takes long."""
        found: T = await self.done(Job(_not_told, project, ask=question))
        return found

    async def overviews(self, names: Iterable[str]) -> list[Overview]:
        """Projects in numbers; of those that are worked on beside, as they were a moment ago."""

        async def read(name: str) -> Overview | None:
            readings = self._readings.get(name)
            if self.is_lent(name) and readings is not None and readings.latest is not None:
                return readings.latest
            try:
                return await self.look(name, lambda: self.readings(name).overview())
            except ProblemError:  # it is gone
                return None

        found = await asyncio.gather(*map(read, names))
        return [one for one in found if one is not None]

    def done(self, job: Job) -> asyncio.Future[Any]:
        """Put a job in the queue; its answer can be awaited."""
        assert self._loop is not None
        future = self._loop.create_future()
        job.tell = partial(_settle, future)
        self.put(job)
        return future

    def put(self, job: Job) -> None:
        """Put a job in the queue; 429 if too much waits."""
        if self._closing:
            raise ProblemError(503, "the server is stopping", headers={"Retry-After": "5"})
        if self._waiting >= MOST_JOBS or self._waiting_labels + job.weight > MOST_WAITING:
            raise ProblemError(
                429, "more labels come in than can be written", headers={"Retry-After": "1"}
            )
        self._waiting += 1
        self._waiting_labels += job.weight
        self._jobs.put(job)

    def _tell(self, jobs: list[Job]) -> None:
        for job in jobs:
            self._waiting -= 1
            self._waiting_labels -= job.weight
            job.tell(job.answer)

    # In the engine's thread ------------------------------------------------------------------

    def _run(self) -> None:
        while self._turn():
            pass
        self._loans.end()
        self._housekeeping.at_the_end()

    def _turn(self) -> bool:
        """One group, a slice, and what else is due; false when it is time to end."""
        self.work(self._take())
        try:
            if self._slices:
                step = self._slices.popleft()
                if step():
                    self._slices.appendleft(step)
            self._housekeeping.look(self.clock.now())
        except StoreError as error:
            self._slices.clear()
            self._housekeeping.stopped()
            self.failing = str(error)
        except Exception:
            log.exception("housekeeping failed; it is tried again")
        return not self._ends or bool(self._loans)

    def _take(self) -> list[Job | Loan]:
        """All that waits, up to the size of a group."""
        taken: list[Job | Loan] = []
        size = 0
        with contextlib.suppress(queue.Empty):
            one = self._jobs.get(timeout=0.0 if self._slices else TICK)
            while True:
                if one is None:
                    self._ends = True
                else:
                    taken.append(one)
                    size += one.weight if isinstance(one, Job) else 0
                if size >= GROUP_LABELS:
                    break
                one = self._jobs.get_nowait()
        return taken

    def work(self, taken: Sequence[Job | Loan]) -> None:
        """Apply, write, answer; then the questions. What takes long is lent."""
        ready, back = list[Job](), list[Loan]()
        for one in taken:
            if isinstance(one, Loan):
                back.append(one)
                ready += self._loans.returned(one)
            elif self._loans.is_lent(one.project):
                self._loans.wait(one)
            else:
                ready.append(one)
        here, lent = self._sorted(ready)
        writes = [job for job in here if job.apply is not None]
        if writes or any(loan.is_write for loan in back):
            self._group(writes, [loan for loan in back if loan.is_write])
        for name, jobs in lent.items():
            self._loans.lend(self.projects[name], jobs)
        questions = [job for job in here if job.ask is not None]
        for job in questions:
            self._ask(job)
        self._answer([*questions, *(job for loan in back for job in loan.jobs if job.ask)])

    def _sorted(self, jobs: list[Job]) -> tuple[list[Job], dict[str, list[Job]]]:
        """Sort jobs into those done here, and those of lent projects by project."""
        by_project: dict[str, list[Job]] = {}
        for job in jobs:
            by_project.setdefault(job.project, []).append(job)
        lent = {
            name: its
            for name, its in by_project.items()
            if (project := self.projects.get(name)) is not None
            and (sum(job.weight for job in its) > MANY or self._loans.is_slow(project))
        }
        return [job for job in jobs if job.project not in lent], lent

    def _beside(self, loan: Loan) -> None:
        """Work on a project that was lent, in a thread beside."""
        if not loan.is_write:
            for job in loan.jobs:
                self._ask(job)
            return
        try:
            self._apply_all(loan.jobs, self.clock.now(), loan.new, loan.broken)
        except Exception:
            log.exception("a group failed")
            loan.broken.add(loan.project.name)

    def _ask(self, job: Job) -> None:
        assert job.ask is not None
        begun = time.monotonic()
        job.answer = self._outcome(job.ask)
        self._loans.note(job.project, time.monotonic() - begun)

    def _answer(self, jobs: list[Job]) -> None:
        told = [job for job in jobs if job.keep is None]
        if told:
            assert self._loop is not None
            self._loop.call_soon_threadsafe(self._tell, told)
        for job in jobs:
            if job.keep is not None:
                job.keep(job.answer)

    def _outcome(self, question: Callable[[], object]) -> object:
        """What a question gives, or why it does not."""
        try:
            return question()
        except ProblemError as error:
            return error
        except InputError as error:
            return from_input_error(error)
        except StoreError as error:
            return ProblemError(503, str(error))
        except CrowdstreamError as error:
            return ProblemError(422, str(error))
        except Exception:
            log.exception("a request failed")
            return ProblemError(500, "the server made a mistake; it is in its log")

    def _group(self, here: list[Job], back: list[Loan]) -> None:
        """One commit: every job of it is answered after it, or none is kept.

        ``back``: what was applied beside and is not written yet.
        """
        jobs = [*here, *(job for loan in back for job in loan.jobs)]
        now = self.clock.now()
        new = {key: answer for loan in back for key, answer in loan.new.items()}
        broken = {name for loan in back for name in loan.broken}
        names = dict.fromkeys(job.project for job in jobs)
        if self.failing and not self._can_write():
            self._fail(jobs, [loan.project for loan in back])
            self._answer(jobs)
            return
        self._apply_all(here, now, new, broken)
        if broken:
            self._give_up(jobs, broken)
        touched = [self.projects[name] for name in names if name in self.projects]
        try:
            self._commit(now, touched, list(new.values()))
        except StoreError as error:
            self.failing = str(error)
            log.error("not written: %s", error)
            self._fail(jobs, touched)
        self._answer(jobs)

    def _apply_all(
        self, jobs: list[Job], now: float, new: dict[bytes, kept.Answer], broken: set[str]
    ) -> None:
        """Jobs in their order, single labels together where that gives the same."""
        together = Together()
        for job in jobs:
            if together.add(job):
                continue
            self._apply_together(together.jobs, now, new, broken)
            together = Together()
            if not together.add(job):
                self._apply(job, now, new, broken)
        self._apply_together(together.jobs, now, new, broken)

    def _apply(self, job: Job, now: float, new: dict[bytes, kept.Answer], broken: set[str]) -> None:
        """One job; what it did is noted in its project, its answer in ``new`` if it has a key."""
        project = self.projects.get(job.project)
        if project is None:
            job.answer = self.missing(job.project)
            return
        version, apply = project.version, job.apply
        if job.key:
            found = self._outcome(lambda: self._before(job, new, now))
            if found is not None:
                job.answer = found
                return
        assert apply is not None
        begun = time.monotonic()
        job.answer = self._outcome(lambda: self._encode(apply(project, now)))
        self._loans.note(project.name, time.monotonic() - begun)
        if not isinstance(job.answer, bytes):
            if project.version != version or getattr(job.answer, "status", 0) == 500:
                broken.add(project.name)
        elif job.key:
            new[job.key] = kept.Answer.of(job.key, job.said, now, job.answer)

    def _apply_together(
        self, jobs: list[Job], now: float, new: dict[bytes, kept.Answer], broken: set[str]
    ) -> None:
        """Single labels of one project and different tasks, in one call."""
        project = self.projects.get(jobs[0].project) if jobs else None
        if len(jobs) <= 1 or project is None:
            for job in jobs:
                self._apply(job, now, new, broken)
            return
        todo, labels = list[Job](), list[LabelIn]()
        for job in jobs:
            job.answer = self._outcome(partial(self._answered_or_admitted, job, project, new, now))
            if isinstance(job.answer, LabelIn):
                todo.append(job)
                labels.append(job.answer)
        begun = time.monotonic()
        found = self._outcome(lambda: project.observe_each(labels, now)) if todo else []
        self._loans.note(project.name, time.monotonic() - begun)
        if not isinstance(found, list):
            broken.add(project.name)
            found = [found] * len(todo)
        for job, one in zip(todo, found, strict=True):
            job.answer = one if isinstance(one, Exception) else self._encode(one)
            if job.key and isinstance(job.answer, bytes):
                new[job.key] = kept.Answer.of(job.key, job.said, now, job.answer)

    def _answered_or_admitted(
        self, job: Job, project: Project, new: dict[bytes, kept.Answer], now: float
    ) -> bytes | LabelIn:
        """Return what a single label was answered before, or the label as it is to be taken."""
        assert job.label is not None
        if job.key and (before := self._before(job, new, now)) is not None:
            return before
        return project.admit([job.label])[0]

    def _before(self, job: Job, new: dict[bytes, kept.Answer], now: float) -> bytes | None:
        """What was answered when this request came before, if it did."""
        if job.key in new:
            return new[job.key].to(job.said)
        return self._answers.find(job.key, job.said, now)

    def _give_up(self, jobs: list[Job], broken: set[str]) -> None:
        """Projects in which something failed half-way are as they were before the group."""
        self._rebuild([self.projects[name] for name in broken])
        for job in jobs:
            if job.project in broken and not isinstance(job.answer, Exception):
                detail = "undone, because a request beside it failed: send it again"
                job.answer = ProblemError(503, detail, headers={"Retry-After": "1"})

    def _commit(self, now: float, projects: list[Project], answers: list[kept.Answer]) -> None:
        touched = [project for project in projects if project.unwritten]
        if not touched and not answers:
            return
        changes = [
            Changes(
                project.id,
                now,
                log_events.pack(project.events) if project.events else b"",
                list(project.closed.values()),
                project.new_settings,
                project.answers,
            )
            for project in touched
        ]
        begun = time.perf_counter()
        rows = self.store.commit(changes, kept.pack(answers) if answers else b"")
        self.commit_times.add(time.perf_counter() - begun)
        for project in touched:
            project.written(rows[project.id], MOST_CLOSED)
        self._answers.add(answers)

    def _fail(self, jobs: list[Job], projects: list[Project]) -> None:
        """The disk is full, or cannot be written: forget what was not written."""
        for job in jobs:
            if not isinstance(job.answer, Exception):
                job.answer = self._cannot_write()
        self._rebuild([project for project in projects if project.unwritten])

    def in_slices(self, steps: Iterable[Step]) -> None:
        """Do short steps one by one, between groups; if one fails, the rest is dropped."""
        self._slices.extend(steps)

    def is_lent(self, name: str) -> bool:
        """Return True if a project is worked on beside, so that a question would wait."""
        return self._loans.is_lent(name)

    def _cannot_write(self) -> ProblemError:
        full = "full" in self.failing
        return ProblemError(
            507 if full else 503,
            f"nothing was kept, because it cannot be written: {self.failing}",
            headers={"Retry-After": "5"},
        )

    def _can_write(self) -> bool:
        try:
            self.store.probe()
        except StoreError as error:
            self.failing = str(error)
            return False
        self.failing = ""
        return True

    # Projects --------------------------------------------------------------------------------

    def create(self, name: str, settings: Settings, now: float) -> Project:
        """A new project, on the disk when it returns."""
        row = ProjectRow(0, name, msgspec.msgpack.encode(settings), now)
        self._new(row)  # or it says what is wrong with the settings
        try:
            # Settings change, and a start without a snapshot begins with those of the first label.
            first = log_events.pack([log_events.Rules(now, row.settings)])
            row = self.store.create_project(name, row.settings, now, first)
        except StoreError as error:
            self.failing = str(error)
            raise self._cannot_write() from None
        self.projects[name] = self._new(row)
        return self.projects[name]

    def project(self, name: str) -> Project:
        """A project by its name; 404 if there is none, 503 if it is damaged."""
        found = self.projects.get(name)
        if found is None:
            raise self.missing(name)
        return found

    def replace(self, name: str, project: Project | None) -> None:
        """Let another project have this name, or none; nothing of the one before is written."""
        self._slices.clear()
        self._housekeeping.stopped()
        self._housekeeping.forget(name)
        self._readings.pop(name, None)
        if project is None:
            del self.projects[name]
            self._hooks.pop(name, None)
        else:
            self.projects[name] = project

    def missing(self, name: str) -> ProblemError:
        """Why a project cannot be asked: there is none of this name, or it is damaged."""
        damage = self.aside.get(name)
        if damage is None:
            return no_such_project(name)
        detail = f"project {name} is set aside: {damage}; crowdstream check says more"
        return ProblemError(503, detail, headers={"Retry-After": "3600"})

    def found(self, damage: str, project: str) -> None:
        """Take note of damage; the project goes aside, if one's decisions depend on it."""
        if project in self.projects:
            self.set_aside(project, damage.removeprefix(f"project {project}: "))
        elif project not in self.aside and damage not in self.damage:
            log.error("damage: %s", damage)
            self.damage.append(damage)

    def set_aside(self, name: str, damage: str) -> None:
        """Keep a damaged project from being read and changed; the others go on."""
        log.error("project %s is set aside: %s", name, damage)
        self.projects.pop(name, None)
        self._readings.pop(name, None)
        self.aside[name] = damage

    def readings(self, name: str) -> Readings:
        """What is read from a project."""
        if name not in self._readings:
            self.project(name)
            hooks = self._hooks.setdefault(name, HookCounts())
            self._readings[name] = Readings(lambda: self.projects[name], self.store, hooks)
        return self._readings[name]

    def hooks_of(self, name: str) -> HookCounts | None:
        """What annotation tools sent to a project, for the event loop to count; if it exists."""
        return self._hooks.setdefault(name, HookCounts()) if name in self.projects else None

    def load(self) -> None:
        """Read all projects from the folder; those that are damaged are set aside."""
        import polars  # noqa: F401 (tables of workers need it: labels would wait for it)

        self.clock.begin_after(self.store.last_time())
        for row in self.store.projects():
            try:
                if row.damage:
                    raise DamageError(row.damage)
                self.projects[row.name] = self._read(row)
            except StoreError as error:
                taken = row.name in self.projects or row.name in self.aside
                self.set_aside(f"project-{row.id}" if taken else row.name, str(error))
        self.in_slices([self.store.sweep])
        since = self.clock.now() - kept.KEPT_SECONDS
        for packed in self.store.answers(since):
            self._answers.add(kept.unpack(packed))

    def forget_answers(self, before: float) -> None:
        """Drop answers that are old, or more than can be kept."""
        self.store.drop_answers(self._answers.forget(before))

    def snapshot(self, project: Project) -> Snapshot:
        """A project whole, so that a start need not replay what came before."""
        state = msgspec.msgpack.encode(project.state)
        seq, last = self.store.place(project.id)
        return Snapshot(seq, project.stream.to_bytes(), state, last, project.id, self.clock.now())

    def _rebuild(self, projects: list[Project]) -> None:
        rows = {row.name: row for row in self.store.projects()}
        for project in projects:
            made = self._read(rows[project.name])
            made.version += project.version + 1
            self.projects[project.name] = made

    def _new(self, row: ProjectRow) -> Project:
        settings = msgspec.msgpack.decode(row.settings, type=Settings)
        return Project(row.id, row.name, settings, row.created, self.store.closed_tasks)

    def _read(self, row: ProjectRow) -> Project:
        """A project as it was: its latest snapshot that can be read, and the log after it."""
        project = self._new(row)
        snapshot = self._read_snapshot(row, project)
        if snapshot is None and self.store.dropped(row.id):
            raise StoreError(
                "no snapshot of it can be read by this version, and the labels it was made of were "
                "not kept"
            )
        project.replay(
            event
            for events in self.store.events(row.id, snapshot)
            for event in log_events.unpack(events)
        )
        project.know_closed(self.store.closed_names(row.id))
        return project

    def _read_snapshot(self, row: ProjectRow, project: Project) -> Snapshot | None:
        """Read the latest snapshot that can be read into a new project; tell of the others."""
        for snapshot in self.store.snapshots(row.id):
            try:
                if isinstance(snapshot, DamageError):
                    raise snapshot
                project.stream = Stream.load(snapshot.stream)
            except (StateError, DamageError) as error:
                log.warning("project %s: a snapshot is left aside: %s", row.name, error)
                continue
            project.state = msgspec.msgpack.decode(snapshot.state, type=State)
            return snapshot
        return None


def _not_told(_: object) -> None:
    """Nobody waits for it yet."""


def _settle(future: asyncio.Future[Any], answer: object) -> None:
    """Whoever awaits the answer gets it, unless they have left."""
    if future.done():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)


def no_such_project(name: str) -> ProblemError:
    """404."""
    return ProblemError(404, f"no project {name!r}: PUT /v1/projects/{name} makes it")
