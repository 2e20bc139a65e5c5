"""`Client`: a project on a server, with the verbs of `Stream`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from crowdstream.client import calls
from crowdstream.client.calls import Call, Row
from crowdstream.decisions.decision import Decision
from crowdstream.labels import ClassLabel, TaskId, WorkerId
from crowdstream.serve import wire

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")


class Client:
    """A project on a server, with the verbs of `Stream`.

    Parameters
    ----------
    url
        Where the server is, such as ``http://127.0.0.1:8750``.
    token
        What it lets you in by; empty where it asks for none.
    project
        Its name.
    retries
        How often a request is sent again if the server is busy, stops or cannot be reached, with
        the same idempotency key and a growing pause between.
    timeout
        Seconds to wait for an answer.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8750", "cs_…", "moderation") as client:  # doctest: +SKIP
    ...     decision = client.observe("t17", "ann", "spam")
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        project: str = "default",
        *,
        retries: int = calls.RETRIES,
        timeout: float = calls.TIMEOUT,
    ) -> None:
        self.project = project
        self.retries = retries
        self._http = calls.need_httpx().Client(**calls.connection(url, token, timeout))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.disconnect()

    def disconnect(self) -> None:
        """Close the connections.

        Examples
        --------
        >>> client.disconnect()  # doctest: +SKIP
        """
        self._http.close()

    def observe(
        self, task: TaskId, worker: WorkerId, label: ClassLabel | None, at: float | None = None
    ) -> Decision:
        """Send one label; returns the decision on its task once the label is on the server's disk.

        Parameters
        ----------
        task, worker
            Their ids.
        label
            What the worker said; ``None`` is a skip.
        at
            When, in seconds; now if not given.

        Examples
        --------
        >>> client.observe("t17", "ann", "spam")  # doctest: +SKIP
        """
        return self._send(calls.observe(self.project, task, worker, label, at))

    def observe_many(self, rows: Iterable[Row]) -> list[Decision]:
        """Send many labels; returns the decisions on their tasks. Taken in parts of 10,000.

        Parameters
        ----------
        rows
            Rows of (task, worker, label), or mappings with these keys, ``at`` and ``question``.

        Examples
        --------
        >>> client.observe_many([("t1", "ann", "spam"), ("t2", "ann", "ham")])  # doctest: +SKIP
        """
        found: dict[TaskId, Decision] = {}
        for call in calls.observe_many(self.project, rows):
            found |= {decision.task: decision for decision in self._send(call)}
        return list(found.values())

    def retract(self, task: TaskId, worker: WorkerId) -> Decision:
        """Take back a worker's label on an open task.

        Parameters
        ----------
        task, worker
            Their ids.

        Examples
        --------
        >>> client.retract("t17", "ann")  # doctest: +SKIP
        """
        body = calls.encode({"task": task, "worker": worker})
        return self._send(calls.post(self.project, "retract", body, Decision))

    def gold(self, task: TaskId, label: ClassLabel) -> Decision:
        """Tell the truth of a task.

        Parameters
        ----------
        task
            Its id.
        label
            The true class.

        Examples
        --------
        >>> client.gold("t17", "spam")  # doctest: +SKIP
        """
        body = calls.encode({"task": task, "label": label})
        return self._send(calls.post(self.project, "gold", body, Decision))

    def close(self, task: TaskId) -> Decision:
        """Close a task by hand and decide it for good.

        Parameters
        ----------
        task
            Its id.

        Examples
        --------
        >>> client.close("t17")  # doctest: +SKIP
        """
        body = calls.encode({"task": task})
        return self._send(calls.post(self.project, "close", body, Decision))

    def offer(self, tasks: Iterable[TaskId]) -> None:
        """Open tasks before they have a label, so that `next_task` can choose them.

        Parameters
        ----------
        tasks
            Their ids; those already known stay as they are.

        Examples
        --------
        >>> client.offer(["t1", "t2"])  # doctest: +SKIP
        """
        body = calls.encode({"tasks": list(tasks)})
        self._send(calls.post(self.project, "offer", body, wire.OfferOut))

    def decision(self, task: TaskId) -> Decision:
        """Return the decision on a task now, or the one it closed with.

        Parameters
        ----------
        task
            Its id.

        Examples
        --------
        >>> client.decision("t17")  # doctest: +SKIP
        """
        return self._send(calls.get(self.project, Decision, "tasks", task))

    def task(self, task: TaskId) -> wire.TaskOut:
        """A task with its votes and what each added.

        Parameters
        ----------
        task
            Its id.

        Examples
        --------
        >>> client.task("t17")  # doctest: +SKIP
        """
        return self._send(calls.get(self.project, wire.TaskOut, "tasks", task))

    def more_labels_needed(self, task: TaskId) -> float:
        """Return the expected number of labels until a task is settled; inf if it likely never is.

        Parameters
        ----------
        task
            Its id.

        Examples
        --------
        >>> client.more_labels_needed("t17")  # doctest: +SKIP
        """
        return calls.needs(self.task(task))

    def next_task(self, worker: WorkerId) -> TaskId | None:
        """The open task on which this worker's label would tell most; ``None`` if none is left.

        Parameters
        ----------
        worker
            Its id.

        Examples
        --------
        >>> client.next_task("di")  # doctest: +SKIP
        """
        call = calls.get(self.project, wire.NextOut, "next", params={"worker": str(worker)})
        return (self._send(call)).task

    def workers(self, sort: str = "answers", most: int | None = None) -> list[wire.WorkerRow]:
        """Return what is known of each worker.

        Parameters
        ----------
        sort
            "answers", "error_rate", "trend" or "name".
        most
            How many; all if ``None``.

        Examples
        --------
        >>> client.workers(sort="error_rate", most=10)  # doctest: +SKIP
        """
        found: list[wire.WorkerRow] = []
        cursor: str | None = ""
        while cursor is not None and (most is None or len(found) < most):
            page = self._send(calls.workers(self.project, sort, most, cursor))
            found += page.workers
            cursor = page.next
        return found if most is None else found[:most]

    def worker(self, worker: WorkerId) -> wire.WorkerOut:
        """One worker over time.

        Parameters
        ----------
        worker
            Its id.

        Examples
        --------
        >>> client.worker("ann")  # doctest: +SKIP
        """
        return self._send(calls.get(self.project, wire.WorkerOut, "workers", worker))

    def decisions(self, tasks: str = "closed", *, probabilities: bool = False) -> pl.DataFrame:
        """Return the decisions as a table, one row per task.

        Parameters
        ----------
        tasks
            "closed", "open" or "all".
        probabilities
            Whether there is a column per class with its probability, by what is known of the
            workers now; null where a closed task's labels are no longer kept.

        Examples
        --------
        >>> client.decisions(probabilities=True)  # doctest: +SKIP
        """
        return self._send(calls.decisions(self.project, tasks, probabilities=probabilities))

    def overview(self) -> wire.Overview:
        """The project in numbers.

        Examples
        --------
        >>> (client.overview()).labels  # doctest: +SKIP
        """
        return self._send(calls.get(self.project, wire.Overview))

    def create(self, settings: wire.Settings | None = None) -> wire.Overview:
        """Make the project, or change its settings; needs a token of scope admin.

        Parameters
        ----------
        settings
            How it decides; the usual way if ``None``.

        Examples
        --------
        >>> client.create(Settings(max_labels=7))  # doctest: +SKIP
        """
        return self._send(calls.create(self.project, settings))

    def delete(self) -> wire.Deleted:
        """Delete the project and all that is in it, once and for all.

        Returns
        -------
        wire.Deleted
            How many labels went.

        Examples
        --------
        >>> client.delete()  # doctest: +SKIP
        """
        return self._send(calls.delete(self.project))

    def delete_task(self, task: TaskId) -> wire.Deleted:
        """Delete a task with its labels, as if they had never been sent.

        Parameters
        ----------
        task
            Its id.

        Returns
        -------
        wire.Deleted
            How many labels went.

        Examples
        --------
        >>> client.delete_task("t17")  # doctest: +SKIP
        """
        return self._send(calls.delete(self.project, "tasks", task))

    def delete_worker(self, worker: WorkerId) -> wire.Deleted:
        """Delete a worker with all labels, as if they had never been sent.

        Parameters
        ----------
        worker
            Who.

        Returns
        -------
        wire.Deleted
            How many labels went.

        Examples
        --------
        >>> client.delete_worker("ann")  # doctest: +SKIP
        """
        return self._send(calls.delete(self.project, "workers", worker))

    def _send(self, call: Call[T]) -> T:
        """Send a request, again if need be."""
        httpx = calls.need_httpx()
        headers = call.headers()
        for attempt in range(self.retries + 1):
            try:
                answer = self._http.request(
                    call.method, call.path, content=call.body, params=call.params, headers=headers
                )
            except httpx.TransportError as error:
                pause = calls.pause_after(attempt, self.retries, error)
            else:
                found = calls.read(call, answer.status_code, answer.headers, answer.content,
                                   last=attempt == self.retries)  # fmt: skip
                if not isinstance(found, calls.Wait):
                    return found
                pause = found.seconds or calls.back_off(attempt)
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")
