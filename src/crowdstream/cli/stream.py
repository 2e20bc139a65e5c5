"""`crowdstream stream`: labels in as they come, a decision out as soon as a task closes."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.cli import options
from crowdstream.cli.cleaning import Cleaning
from crowdstream.cli.json_output import print_json
from crowdstream.cli.line_cleaning import LineCleaner
from crowdstream.cli.monitor_report import AlarmNews
from crowdstream.cli.stream_input import TICK, LabelEvent, LineParser, input_lines, seconds
from crowdstream.cli.terminal import say
from crowdstream.cli.wording import counted
from crowdstream.errors import InputError

if TYPE_CHECKING:
    from crowdstream.decisions import Decision
    from crowdstream.labels.readers import BadRows
    from crowdstream.stream import Stream


class Closing(options.Group, panel="When a task closes"):
    """When a task takes no more labels."""

    HELP = """
    --settle CONFIDENCE  Close a task once its decision is this confident (1: never for that) ...
    --min-labels NUMBER  ... and has at least this many labels.
    --max-labels NUMBER  Close a task once it has this many labels.
    --give-up CHANCE  Close a task as hard, for an expert to decide, once the chance that it gets
        as confident as --settle within --max-labels falls below this: 0.1, say.
    --idle TIME  Close a task that got no label for this long: 30s, 10m, 2h.
    """
    settle: float = 0.95
    min_labels: int = 2
    max_labels: int | None = None
    give_up: float | None = None
    idle: str | None = None


class State(options.Group, panel="State"):
    """Where a stream is kept between two runs."""

    HELP = """
    --state FILE  Resume from this file if it exists, and save to it: also on Ctrl-C and SIGTERM.
    --save-every TIME  How often to save in between.
    """
    state: str | None = None
    save_every: str = "30s"


class Lines(options.Columns):
    """How lines are read."""

    HELP = """
    --format FORMAT  jsonl or csv; without it, the first line tells.
    """
    format: str | None = None


def stream(
    closing: Closing,
    state: State,
    lines: Lines,
    bad_input: options.BadInput,
    method: options.Method,
    quiet: options.Quiet,
    cleaning: Cleaning,
) -> None:
    """Decide tasks while their labels come in on standard input.

    Each line is one label, as a JSON object or as CSV with a header: task, worker, label and,
    optionally, at (the time, in seconds or ISO 8601) and gold (the correct label, to learn from).
    When a task closes, its decision goes to standard output as one JSON line: task, label,
    confidence, margin, votes, settled, identifiable, closed (why). At the end of input the tasks
    still open are closed too, or kept for the next time with --state.

    \b
    Examples:
      tail -f labels.jsonl | crowdstream stream --settle 0.95 --max-labels 7
      crowdstream stream --settle 0.95 --state crowd.state < labels.csv
    """
    from crowdstream.labels.readers import BadRows

    parser = LineParser(lines.names(), lines.format)
    engine = _engine(closing, state.state, method)
    with BadRows(bad_input.on_error) as bad_rows:
        loop = StreamLoop(engine, state, parser, bad_rows, quiet.quiet, cleaning)
        try:
            if loop.run() and state.state is None:
                print_all(engine.end())
            loop.tell_alarms()
            loop.cleaner.end()
        finally:  # a bad line, or a reader who left, does not undo what was learnt
            loop.save()
    if not quiet.quiet:
        loop.show_counts()


def _engine(closing: Closing, path: str | None, method: options.Method) -> Stream:
    """A new stream, or the saved one under the rules that are asked for now."""
    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.cli.states import check_method, load_stream
    from crowdstream.stream import Stream

    engine = Stream(
        EstimatorFactory(method, monitored=True).make(),
        settle=None if closing.settle == 1.0 else closing.settle,
        min_labels=closing.min_labels,
        max_labels=closing.max_labels,
        give_up=closing.give_up,
        idle=None if closing.idle is None else seconds(closing.idle, "--idle"),
    )
    if path is None:
        return engine
    if Path(path).exists():
        saved, wanted = load_stream(path), engine.crowd
        check_method(path, saved.crowd, wanted)
        for rule in ("settle", "min_labels", "max_labels", "give_up", "idle"):
            setattr(saved, rule, getattr(engine, rule))
        engine = saved
    engine.save(path)  # or say now that it cannot be done
    return engine


def print_all(decisions: Iterable[Decision]) -> None:
    """One line each."""
    for decision in decisions:
        print_json(decision)


@dataclass
class StreamLoop:
    """Read, decide, save; stops at the end of input or at a signal."""

    engine: Stream
    state: State
    parser: LineParser
    bad_rows: BadRows
    quiet: bool
    cleaning: Cleaning

    def __post_init__(self) -> None:
        self.cleaner = LineCleaner(self.cleaning, self._note)
        crowd = self.engine.crowd
        self.cleaner.know(self.engine.open_tasks, crowd.workers_, crowd.classes_)
        self.period = seconds(self.state.save_every, "--save-every")
        self.news = AlarmNews(self.engine.crowd)
        self.stopped = False
        self.untimed = False  # labels without a time: idle tasks are timed by the clock

    def run(self) -> bool:
        """Whether the input ended, rather than somebody stopping us."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        saved = looked = time.monotonic()
        for line in input_lines(lambda: self.stopped):
            if line is not None:
                self._take(line)
            if self.engine.idle is not None and self.untimed:
                print_all(self.engine.expire())
            now = time.monotonic()
            if now - looked > TICK:  # finding alarms takes time: not after every label
                self.tell_alarms()
                looked = time.monotonic()
            if now - saved > self.period:
                self.save()
                saved = time.monotonic()
        return not self.stopped

    def _stop(self, *_: object) -> None:
        self.stopped = True

    def save(self) -> None:
        """Save the stream, if a file is named for it."""
        if self.state.state is not None:
            self.engine.save(self.state.state)

    def _take(self, line: bytes) -> None:
        """One line of input."""
        raw = self.parser.clean(line)
        if not raw.strip():
            return
        try:
            event = self.parser.parse(raw)
            if event is not None:
                self._observe(self.cleaner.clean(event))
        except InputError as error:
            if self.parser.header_missing:
                raise
            where = self.parser.where
            at = error.where if error.where.startswith(where) else f"{where}, {error.where}"
            shown = raw.decode("utf-8", errors="backslashreplace")
            self.bad_rows.add(at, error.expected, error.found, shown)

    def _observe(self, event: LabelEvent) -> None:
        task, worker, label, at, gold = event
        self.untimed = at is None
        if at is not None and self.engine.idle is not None:
            print_all(self.engine.expire(at))
        if gold is not None and task is not None:
            self.engine.gold(task, gold, at)
        closed = self.engine.counts.closed
        decision = self.engine.observe(task, worker, label, at)  # type: ignore[arg-type]
        if self.engine.counts.closed > closed:
            print_json(decision)

    def _note(self, text: str) -> None:
        if not self.quiet:
            say(f"note: {text}", "yellow")

    def tell_alarms(self) -> None:
        """Say whose error rate has changed since this was last called."""
        if not self.quiet:
            for line in self.news.new():
                say(line, "yellow")

    def show_counts(self) -> None:
        """One line about the whole stream."""
        counts = self.engine.counts
        shown = [counted(counts.labels, "label"), counted(counts.closed, "task", "closed")]
        shown.append(f"{len(self.engine.open_tasks):,} open")
        if counts.hard:
            shown.append(f"{counts.hard:,} given up as hard")
        for what in ("repeated", "replaced", "late", "skipped"):
            if getattr(counts, what):
                shown.append(f"{getattr(counts, what):,} {what}")
        if self.cleaner.cleaner.skipped:
            shown.append(f"{self.cleaner.cleaner.skipped:,} taken for no answer")
        if self.bad_rows.rows:
            shown.append(counted(self.bad_rows.rows, "bad row", "left out"))
        if self.news.count:
            shown.append(counted(self.news.count, "alarm"))
        say(", ".join(shown))
