"""`crowdstream stream`: labels in as they come, a decision out as soon as a task closes."""

from __future__ import annotations

import csv
import datetime
import os
import re
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdstream.cli import options
from crowdstream.cli.output import save_bytes, talk
from crowdstream.cli.summary import alarms_of, moves, say_alarm, say_move
from crowdstream.errors import InputError

if TYPE_CHECKING:
    from crowdstream.decisions import Decision
    from crowdstream.estimators import Estimator
    from crowdstream.labels import ColumnNames, WorkerId
    from crowdstream.labels.readers import BadRows
    from crowdstream.monitoring import DriftAlarm
    from crowdstream.stream import Stream

TICK = 0.2
"""Seconds after which a quiet input is left to look at signals and idle tasks."""


def stream(
    settle: Annotated[
        float | None, typer.Option("--settle", help="Close a task once its decision is this sure.")
    ] = None,
    min_labels: Annotated[
        int, typer.Option("--min-labels", help="Labels before a task may be settled.")
    ] = 2,
    max_labels: Annotated[
        int | None, typer.Option("--max-labels", help="Close a task once it has so many labels.")
    ] = None,
    idle: Annotated[
        str | None,
        typer.Option("--idle", help="Close a task after so long without one: 30s 10m 2h."),
    ] = None,
    state: Annotated[
        str | None, typer.Option("--state", help="Go on from this file, and save to it.")
    ] = None,
    save_every: Annotated[
        str, typer.Option("--save-every", help="How often the state is saved.")
    ] = "30s",
    task: options.Task = None,
    worker: options.Worker = None,
    label: options.LabelColumn = None,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option("--format", help="jsonl or csv; told from the first line if not said."),
    ] = None,
    method: options.Method = "adaptive",
    memory: options.Memory = None,
    families: options.Families = None,
    answer_rate: options.AnswerRate = None,
    seed: options.Seed = 0,
    on_error: options.OnError = "fail",
    quiet: options.Quiet = False,
) -> None:
    """Decide tasks while labels come in on standard input; decisions go out as JSON lines.

    Labels are JSON lines or CSV with a header: task, worker, label, and if known at (seconds or
    ISO 8601) and gold. At the end of input the open tasks are closed, or kept in --state.

    Example: tail -f labels.jsonl | crowdstream stream --settle 0.95 --max-labels 7 --idle 10m
    """
    from crowdstream.cli.crowds import Recipe
    from crowdstream.errors import StateError
    from crowdstream.labels import ColumnNames
    from crowdstream.labels.readers import BadRows
    from crowdstream.stream import Stream

    if format not in (None, "jsonl", "csv"):
        raise InputError("--format", "jsonl or csv", repr(format))
    period = seconds(save_every, "--save-every")
    patience = None if idle is None else seconds(idle, "--idle")
    crowd = Recipe(method, memory, answer_rate, seed, families=families, watch=True).make()
    rules = {"settle": settle, "min_labels": min_labels, "max_labels": max_labels}
    engine = Stream(crowd, idle=patience, **rules)  # type: ignore[arg-type]
    if state is not None and Path(state).exists():
        try:
            saved = Stream.restore(Path(state).read_bytes())
        except StateError as error:
            raise StateError(f"{state}: {error}") from None
        if type(saved.crowd) is not type(crowd) or saved.crowd.get_params() != crowd.get_params():
            raise InputError(state, f"a state of {crowd!r}", repr(saved.crowd))
        for rule in ("settle", "min_labels", "max_labels", "idle"):
            setattr(saved, rule, getattr(engine, rule))
        engine = saved
    if state is not None:
        save_bytes(state, engine.snapshot())  # or say now that it cannot be done
    with BadRows(on_error) as bad_rows:
        bell = _Bell(engine.crowd, quiet)
        loop = _Loop(
            engine, state, period, ColumnNames(task, worker, label), format, bad_rows, bell
        )
        try:
            if loop.go() and state is None:
                for decision in engine.end():
                    emit(decision)
            bell.listen()
        finally:  # a bad line, or a reader who left, does not undo what was learnt
            if state is not None:
                save_bytes(state, engine.snapshot())
    if not quiet:
        counts = engine.counts
        told = [f"{counts.labels:,} labels", f"{counts.closed:,} tasks closed"]
        told += [f"{len(engine.open_tasks):,} open"]
        for what in ("repeated", "replaced", "late", "skipped"):
            if getattr(counts, what):
                told.append(f"{getattr(counts, what):,} {what}")
        if bad_rows.rows:
            told.append(f"{bad_rows.rows:,} bad rows left out")
        if bell.rung:
            told.append(f"{bell.rung:,} {'alarm' if bell.rung == 1 else 'alarms'}")
        talk().print(", ".join(told))


def seconds(text: str, option: str) -> float:
    """Seconds of a duration such as 45, 30s, 10m, 2h, 1d.

    >>> seconds("10m", "--idle")
    600.0
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|)", text.strip())
    if found is None or float(found[1]) <= 0:
        raise InputError(option, "a duration such as 30s, 10m or 2h", repr(text))
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]]


def emit(decision: Decision) -> None:
    """One decision, one line, at once."""
    import msgspec

    sys.stdout.buffer.write(msgspec.json.encode(decision) + b"\n")
    sys.stdout.buffer.flush()


class _Bell:
    """Tells of alarms, each once; those of a state that is gone on from were told before."""

    def __init__(self, crowd: Estimator, quiet: bool) -> None:
        self.crowd = crowd
        self.quiet = quiet
        self.known = set(map(_same, alarms_of(crowd)))
        self.moved = {_same(alarm) for alarm in alarms_of(crowd) if alarm.everyone}
        self.rung = 0

    def _news(self) -> list[str]:
        """What has rung since; when it was everyone may come out after the first have rung."""
        alarms = alarms_of(self.crowd)
        groups = moves(self.crowd, alarms)
        told = [say_move(group) for group in groups if self.moved.isdisjoint(map(_same, group))]
        self.moved = {_same(alarm) for group in groups for alarm in group}
        new = [alarm for alarm in alarms if _same(alarm) not in self.known]
        self.known = set(map(_same, alarms))
        self.rung += len(new)
        return told + [f"alarm: {say_alarm(alarm)}" for alarm in new if not alarm.everyone]

    def listen(self) -> None:
        """Tell of what has rung since."""
        if not self.quiet:
            for line in self._news():
                talk().print(line, style="yellow", soft_wrap=True)


def _same(alarm: DriftAlarm) -> tuple[int, WorkerId]:
    """What an alarm is known by: whether it rang with everyone's may come out later."""
    return alarm.tasks_seen, alarm.worker


class _Loop:
    """Read, decide, save; stops at the end of input or at a signal."""

    def __init__(
        self,
        engine: Stream,
        state: str | None,
        period: float,
        names: ColumnNames,
        kind: str | None,
        bad_rows: BadRows,
        bell: _Bell,
    ) -> None:
        self.engine = engine
        self.state = state
        self.period = period
        self.names = names
        self.kind = kind
        self.bad_rows = bad_rows
        self.bell = bell
        self.stopped = False
        self.line = 0
        self.header: list[str] | None = None
        self.roles: tuple[str, str, str] | None = None
        self.by_clock = False  # labels came without a time: the clock on the wall is theirs

    def go(self) -> bool:
        """Whether the input ended, rather than somebody stopping us."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        saved = heard = time.monotonic()
        for line in self._lines():
            if line is not None:
                self.line += 1
                self._take(line)
            if self.engine.idle is not None and self.by_clock:
                for decision in self.engine.expire():
                    emit(decision)
            now = time.monotonic()
            if now - heard > TICK:  # looking is not for nothing: not at every label
                self.bell.listen()
                heard = time.monotonic()
            if self.state is not None and now - saved > self.period:
                save_bytes(self.state, self.engine.snapshot())
                saved = time.monotonic()
        return not self.stopped

    def _stop(self, *_: object) -> None:
        self.stopped = True

    def _lines(self) -> Iterator[bytes | None]:
        """Lines as they come; None now and then while none does."""
        source = sys.stdin.fileno()
        rest = b""
        while not self.stopped:
            if not select.select([source], [], [], TICK)[0]:
                yield None
                continue
            more = os.read(source, 1 << 16)
            *lines, rest = (rest + more).split(b"\n")
            if not more and rest:
                lines.append(rest)
            yield from lines  # what was read is not lost to a signal
            if not more:
                return
        # Nor is the line that was begun, if the rest of it is there.
        while rest and select.select([source], [], [], 0)[0]:
            more = os.read(source, 1)
            if more in (b"", b"\n"):
                yield rest
                return
            rest += more

    def _take(self, line: bytes) -> None:
        """One line of input."""
        raw = line.removesuffix(b"\r")
        if self.line == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if not raw.strip():
            return
        if self.kind is None:
            self.kind = "jsonl" if raw.lstrip().startswith(b"{") else "csv"
        where = f"standard input, line {self.line}"
        try:
            record = self._record(raw, where)
            if record is not None:
                self._observe(record, where)
        except InputError as error:
            if self.kind == "csv" and self.roles is None:  # a header that does not fit
                raise
            at = error.where if error.where.startswith(where) else f"{where}, {error.where}"
            shown = raw.decode("utf-8", errors="backslashreplace")
            self.bad_rows.add(at, error.expected, error.found, shown)

    def _record(self, raw: bytes, where: str) -> dict[str, object] | None:
        import msgspec

        if self.kind == "jsonl":
            try:
                return msgspec.json.decode(raw, type=dict[str, object])
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise InputError(where, "a JSON object", str(error)) from None
        try:
            (cells,) = csv.reader([raw.decode("utf-8")], strict=True)
        except (csv.Error, UnicodeDecodeError, ValueError) as error:
            raise InputError(where, "a row of CSV in UTF-8", str(error)) from None
        if self.header is None:
            from crowdstream.labels.tables import find_columns

            self.header = cells
            self.roles = find_columns(self.names, cells, where)
            return None
        if len(cells) != len(self.header):
            raise InputError(where, f"{len(self.header)} fields", str(len(cells)))
        return dict(zip(self.header, (cell or None for cell in cells), strict=True))

    def _observe(self, record: dict[str, object], where: str) -> None:
        from crowdstream.labels.tables import find_columns

        if self.roles is None or not all(role in record for role in self.roles):
            self.roles = find_columns(self.names, list(record), where)
        task, worker, label = (_text(record[role], role) for role in self.roles)
        at = _moment(record.get("at"))
        self.by_clock = at is None
        if at is not None and self.engine.idle is not None:
            for decision in self.engine.expire(at):
                emit(decision)
        gold = _text(record.get("gold"), "gold")
        if gold is not None and task is not None:
            self.engine.gold(task, gold, at)
        closed = self.engine.counts.closed
        decision = self.engine.observe(task, worker, label, at)  # type: ignore[arg-type]
        if self.engine.counts.closed > closed:
            emit(decision)


def _text(value: object, role: str) -> str | None:
    """Every value as text, as files are read."""
    from crowdstream.labels.readers.jsonl import as_text

    found = as_text(value)
    if found is NotImplemented:
        raise InputError(f"column {role!r}", "text or a number", type(value).__name__)
    return str(found) if found else None


def _moment(value: object) -> float | None:
    if value is None or value == "":
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    try:
        text = str(value)
        return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else _iso(text)
    except ValueError:
        raise InputError("column 'at'", "seconds or ISO 8601", repr(value)) from None


def _iso(text: str) -> float:
    moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()
