"""The loop of `crowdstream stream`: a line in, its decision out, saved now and then.

A row is taken whole or not at all: only then does the input's position move past it. Knows nothing
of how files are gone on with.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from crowdstream.cli.line_cleaning import LineCleaner
from crowdstream.cli.monitor_report import AlarmNews
from crowdstream.cli.stream_input import LabelEvent, LineParser
from crowdstream.cli.stream_output import Output
from crowdstream.cli.stream_saving import StateFile
from crowdstream.cli.stream_source import TICK, Line, Source
from crowdstream.cli.terminal import say
from crowdstream.errors import InputError
from crowdstream.plain_text import counted

if TYPE_CHECKING:
    from crowdstream.decisions.decision import Decision
    from crowdstream.labels.readers import BadRows
    from crowdstream.stream.stream import Stream


@dataclass
class StreamLoop:
    """Read, decide, save; stops at the end of input, at a signal, or when nobody reads on."""

    engine: Stream
    source: Source
    parser: LineParser
    cleaner: LineCleaner
    output: Output
    bad_rows: BadRows
    saver: StateFile | None
    quiet: bool

    def __post_init__(self) -> None:
        self.news = AlarmNews(self.engine.crowd)
        self.stopped = False
        self.untimed = False  # labels without a time: idle tasks are timed by the clock
        self._looked = time.monotonic()

    def run(self) -> None:
        """Up to the end; without a state the tasks still open are closed there."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        for line in self.source.lines(lambda: self.stopped):
            if line is not None:
                self._take(line)
            if self.engine.idle is not None and self.untimed:
                self._send(self.engine.expire())
            if self.output.broken is not None:
                return
            if time.monotonic() - self._looked > TICK:  # finding alarms takes time
                self._tell_news()
                self._looked = time.monotonic()
            if self.saver is not None:
                self.saver.save_if_due()
        if not self.stopped and self.saver is None:
            self._send(self.engine.end())
        self._tell_news()

    def _stop(self, *_: object) -> None:
        self.stopped = True

    def _take(self, line: Line) -> None:
        """One line of input, unless it was taken before."""
        raw = self.parser.clean(line.raw)
        if self.source.skipping:
            if self.parser.format == "csv" and self.parser.header is None and raw.strip():
                self.parser.parse(raw)
        elif line.too_long:
            self._add_bad(f"at most {self.source.max_line:,} bytes", f"{line.size:,}", raw)
        elif raw.strip():
            self._parse(raw)
        self.source.advance(line)

    def _parse(self, raw: bytes) -> None:
        try:
            event = self.parser.parse(raw)
            if event is not None:
                self._observe(self.cleaner.clean(event))
        except InputError as error:
            if self.parser.header_missing:
                raise
            self._add_bad(error.expected, error.found, raw, error.where)

    def _add_bad(self, expected: str, found: str, raw: bytes, place: str = "") -> None:
        """Count a bad row, or end with it."""
        where = self.parser.where
        at = place if place.startswith(where) else ", ".join(filter(None, (where, place)))
        self.bad_rows.add(at, expected, found, raw.decode("utf-8", errors="backslashreplace"))

    def _observe(self, event: LabelEvent) -> None:
        task, worker, label, at, gold = event
        self.untimed = at is None
        if at is not None and self.engine.idle is not None:
            self._send(self.engine.expire(at))
        if gold is not None and task is not None:
            self.engine.gold(task, gold, at)
        closed = self.engine.counts.closed
        decision = self.engine.observe(task, worker, label, at)  # type: ignore[arg-type]
        if self.engine.counts.closed > closed:
            self._send([decision])

    def _send(self, decisions: Iterable[Decision]) -> None:
        """One line each."""
        for decision in decisions:
            self.output.write(msgspec.json.encode(decision) + b"\n")

    def _tell_news(self) -> None:
        """Say what is odd about times, and whose error rate has changed since the last call."""
        while self.parser.times.noticed:
            say(self.parser.times.noticed.pop(0), "yellow")
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
        if self.cleaner.skipped:
            shown.append(f"{self.cleaner.skipped:,} taken for no answer")
        if self.parser.others:
            shown.append(f"{self.parser.others:,} of other questions left out")
        if self.bad_rows.rows:
            shown.append(counted(self.bad_rows.rows, "bad row", "left out"))
        if self.news.count:
            shown.append(counted(self.news.count, "alarm"))
        say(", ".join(shown))
