"""`crowdstream stream`: labels in as they come, a decision out as soon as a task closes."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.command import READER_LEFT
from crowdstream.cli.line_cleaning import LineCleaner
from crowdstream.cli.output import check_apart
from crowdstream.cli.states import locked
from crowdstream.cli.stream_input import LineParser, seconds
from crowdstream.cli.stream_loop import StreamLoop
from crowdstream.cli.stream_output import FileOutput, PipeOutput, open_output, send_pending
from crowdstream.cli.stream_position import PIPE, Bookmark
from crowdstream.cli.stream_saving import StateFile
from crowdstream.cli.stream_source import Source
from crowdstream.cli.terminal import say
from crowdstream.errors import InputError, UsageError
from crowdstream.labels.readers.input_options import parse_size
from crowdstream.plain_text import counted
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.stream.stream import Stream

UNDELIVERED = 1
"""Exit code when the reader of the decisions left before it had all; they are in the state."""


class Closing(options.Group, panel="When a task closes"):
    """Options of closing tasks."""

    HELP = """
    --settle CONFIDENCE  Close a task once its decision is this confident (1: never for that),
        whatever workers who are not known yet are worth ...
    --min-labels NUMBER  ... and has at least this many labels, each from another worker.
    --max-labels NUMBER  Close a task once it has this many labels.
    --give-up CHANCE  Close a task as hard, for an expert to decide, once the chance that it gets
        as confident as --settle within --max-labels falls below this: 0.1, say.
    --idle TIME  Close a task that got no label for this long: 30s, 10m, 2h. By the labels' own
        times (at) where they have them, else by the clock, which no two runs share.
    """
    settle: float = defaults.SETTLE
    min_labels: int = defaults.MIN_LABELS
    max_labels: int | None = None
    give_up: float | None = None
    idle: str | None = None


class State(options.Group, panel="State"):
    """Options of the state kept between runs."""

    HELP = """
    --state FILE  Resume from this file if it exists, and save to it: also on Ctrl-C and SIGTERM.
        It remembers how far the input was read and the output written.
    --save-every TIME  How often to save in between: 500ms, 30s.
    --replayed  Standard input begins with the rows that were read before: leave them out.
    --skip-rows NUMBER  Leave out the first rows (lines) of standard input.
    --from-start  Read the file from its start, though the state was elsewhere in it.
    """
    state: str | None = None
    save_every: str = "30s"
    replayed: bool = False
    skip_rows: int | None = None
    from_start: bool = False


class Lines(options.Columns):
    """Options of the input and its columns."""

    HELP = """
    labels: FILE  A file of labels; without it, or as -, standard input.
    --follow  Wait for more at the end of the file, as tail -f does.
    --format FORMAT  jsonl or csv; without it, the first line tells.
    --max-line SIZE  A longer line is a bad row, and is not kept in memory.
    """
    labels: str = "-"
    follow: bool = False
    format: str | None = None
    max_line: str = "1MB"


class Decisions(options.Quiet):
    """Options of output."""

    HELP = """
    -o, --output FILE  Add the decisions to this file, with --state each exactly once. Without it
        they go to standard output, with --state each at least once.
    """
    output: str | None = None


def stream(
    lines: Lines,
    closing: Closing,
    state: State,
    bad_input: options.BadInput,
    method: options.Method,
    output: Decisions,
    cleaning: options.Scores,
) -> None:
    """Decide tasks while their labels come in.

    Each line is one label, as a JSON object or as CSV with a header: task, worker, label and,
    optionally, at (the time, in seconds or ISO 8601) and gold (the correct label, to learn from).
    When a task closes, its decision goes out as one JSON line: task, label, confidence, margin,
    votes, settled, identifiable, closed (why). At the end of input the tasks still open are closed
    too, or kept for the next time with --state.

    With a file in, a file out and --state nothing is lost or doubled, even if the process is
    killed: start it again as before. A pipe cannot be gone back in: then rows read after the last
    save are asked for again, and decisions may come twice.

    \b
    Examples:
      crowdstream stream labels.jsonl --follow -o decisions.jsonl --state crowd.state
      tail -f labels.jsonl | crowdstream stream --settle 0.95 --max-labels 7
      crowdstream stream --settle 0.95 --state crowd.state < labels.csv
    """
    with contextlib.ExitStack() as held:
        if state.state is not None:
            held.enter_context(locked(state.state))
        Run(lines, closing, state, bad_input, method, output, cleaning).run()


class Run:
    """One run of the command: everything put together, from where the state was."""

    def __init__(
        self,
        lines: Lines,
        closing: Closing,
        state: State,
        bad_input: options.BadInput,
        method: options.Method,
        output: Decisions,
        cleaning: options.Scores,
    ) -> None:
        self.state, self.bad_input, self.quiet = state, bad_input, output.quiet
        outputs = {"--output": output.output, "--state": state.state}
        check_apart([lines.labels], outputs | {"--on-error": bad_input.quarantine})
        self.period = seconds(state.save_every, "--save-every")
        longest = parse_size(lines.max_line, "--max-line")
        self.engine = _engine(closing, state.state, method)
        crowd = self.engine.crowd
        self.cleaner = LineCleaner(cleaning, self._note)
        tasks = [*self.engine.closed_tasks, *self.engine.open_tasks]
        self.cleaner.know(tasks, crowd.workers_, crowd.classes_)
        self.source = Source(lines.labels, longest, follow=lines.follow)
        self.before = Bookmark.of(self.engine.bookmark)
        self.parser = LineParser(lines.names(), lines.format, self.source.name)
        self.parser.question = self.before.question
        self._place_input()
        self.output = open_output(output.output)
        self.output.pending = list(self.before.pending)
        self._place_output()

    def run(self) -> None:
        """Read to the end, save, and say what happened."""
        from crowdstream.labels.readers import BadRows

        saver = self._saver()
        if saver is not None:
            saver.save()  # or say now that it cannot be done
        send_pending(self.output)
        with BadRows(self.bad_input.on_error) as bad_rows:
            bad_rows.mode = "w" if self.before.source is None else "a"
            loop = StreamLoop(
                self.engine,
                self.source,
                self.parser,
                self.cleaner,
                self.output,
                bad_rows,
                saver,
                self.quiet,
            )
            try:
                loop.run()
            except InputError:  # a bad line does not undo what came before it
                self._check_file()
                if saver is not None:
                    saver.save()
                raise
        self._check_file()
        if saver is not None:
            self.output.end()
            saver.save()
        self._leave_if_broken()
        if not self.quiet:
            loop.show_counts()
            if saver is not None and (left := len(Bookmark.of(self.engine.bookmark).pending)):
                say(f"{counted(left, 'decision')} not read yet: sent again by the next run")

    def _check_file(self) -> None:
        """End without saving if a decision is not in its file: the next run goes on from before."""
        if isinstance(self.output, FileOutput) and self.output.broken is not None:
            expected, reason = "a file that can be written", self.output.broken.strerror
            raise InputError(self.output.path, expected, str(reason))

    def _saver(self) -> StateFile | None:
        if self.state.state is None:
            return None
        return StateFile(self.state.state, self.period, self.engine, self.output, self._bookmark)

    def _bookmark(self) -> Bookmark:
        mark = self.source.bookmark()
        if not self.source.skipping:
            mark.format, mark.header = self.parser.format, self.parser.header
        mark.question = self.parser.question
        return mark

    def _place_input(self) -> None:
        """Begin in the input where the state was, and say so."""
        found, state = self.before, self.state
        if state.replayed and state.state is None:
            raise UsageError("--replayed needs --state, which knows what was read")
        if state.skip_rows is not None:
            check_number("--skip-rows", state.skip_rows, 0, 2**62, whole=True)
        if self.source.seekable:
            if state.replayed or state.skip_rows is not None:
                option = "--replayed" if state.replayed else "--skip-rows"
                raise UsageError(f"{option} is for standard input; {self.source.name!r} is a file")
            if self.source.go_on(found, from_start=state.from_start):
                self.parser.go_on(found.rows, found.format, found.header)
                self._say(f"going on at row {found.rows + 1:,} of {self.source.name}")
            return
        known = self.source.go_on(found)
        if state.replayed:
            self.source.replay(found.rows if known else 0, found.crc if known else None)
        elif state.skip_rows is not None:
            self.source.replay(state.skip_rows)
        elif known and found.rows:
            self.parser.go_on(0, None, found.header)
            self._say(
                f"{counted(found.rows, 'row')} read before; if they are sent again: --replayed, "
                f"or --skip-rows {found.rows}"
            )

    def _place_output(self) -> None:
        """Go on where the output was, and say what may come twice."""
        found, output = self.before, self.output
        if isinstance(output, PipeOutput):
            if self.state.state is not None and found.output == PIPE:
                if found.pending:
                    self._say(f"{counted(len(found.pending), 'decision')} not delivered: sent now")
                if found.rows:
                    self._say("decisions made after these rows may be repeated")
        elif self.state.state is not None:
            cut = output.go_on(found, self.state.state)
            if cut:
                self._say(f"{cut:,} bytes after the saved position cut off {output.path}")

    def _note(self, text: str) -> None:
        if not self.quiet:
            say(f"note: {text}", "yellow")

    def _say(self, text: str) -> None:
        if not self.quiet:
            say(f"{self.state.state}: {text}")

    def _leave_if_broken(self) -> None:
        """The reader of the decisions has left, or their disk is full."""
        broken = self.output.broken
        if broken is None:
            return
        if isinstance(self.output, PipeOutput):
            self.output.silence()
        if self.state.state is None:
            if isinstance(broken, BrokenPipeError):
                sys.exit(READER_LEFT)
            raise broken
        left = counted(len(self.output.pending), "decision")
        why = broken.strerror or "broken pipe"
        say(f"decisions: {why}; {left} not delivered, kept in {self.state.state} for the next run")
        sys.exit(UNDELIVERED)


def _engine(closing: Closing, path: str | None, method: options.Method) -> Stream:
    """A new stream, or the saved one under the rules that are asked for now."""
    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.cli.states import check_method, load_stream
    from crowdstream.stream.stream import Stream

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
    return engine
