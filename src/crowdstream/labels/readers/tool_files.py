"""A text of a tool → a table of votes, whole or in pieces; counts what else was in it.

Knows records and answers; nothing of what a tool calls things.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from crowdstream.labels.label import shorten
from crowdstream.labels.readers.answer import Answer, Reading
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.sources import Source
from crowdstream.labels.readers.tally import SHOWN, Tally
from crowdstream.labels.readers.text_stream import TextStream
from crowdstream.labels.readers.tool_records import FileRecord, read_records
from crowdstream.labels.readers.tools import Found

if TYPE_CHECKING:
    import polars as pl


def read_tool(
    text: TextStream, found: Found, source: Source, bad: BadRows, size: int, *, whole: bool
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield tables of task, worker, label, question and at, each with the bytes it was read from.

    All questions are in them, unless one was asked for; ``question`` is empty where a tool has no
    name for it. Of a worker's answers to a question on a task the latest is the last in a table.
    ``whole``: all of the text is one table. What happened (events) is always read whole: a later
    event may undo an earlier one.
    """
    tally = _tally(bad, source, found)
    pieces = read_records(
        text,
        text.dialect,
        source.name,
        bad,
        size,
        document=found.document,
        shape=found.tool.shape,
    )
    answered = ((read, _answers(records, found, source, bad)) for read, records in pieces)
    if found.tool.events:
        total, latest = _latest(answered)
        yield total, _table(latest, tally)
        return
    tables = ((read, _table(answers, tally)) for read, answers in answered)
    if not whole:
        yield from ((read, in_time(table)) for read, table in tables)
        return
    import polars as pl

    every = list(tables)
    yield sum(read for read, _ in every), in_time(pl.concat([table for _, table in every]))


def _tally(bad: BadRows, source: Source, found: Found) -> Tally:
    if bad.tally is None:
        bad.tally = Tally(source.options.question, include=source.options.include)
    title, remark = found.tool.title, found.tool.remark
    name = source.archive or source.name
    if bad.explain is not None and not (name in bad.tally.files and title in bad.tally.titles):
        bad.explain(f"{name}: read as {title}: {found.reason}")
    bad.tally.files[name] = bad.tally.titles[title] = None
    if remark:
        bad.note(f"read as {title}, {remark}")
    return bad.tally


def _answers(
    records: Iterable[FileRecord], found: Found, source: Source, bad: BadRows
) -> Iterator[list[Answer]]:
    """The answers of each record."""
    tool, tally = found.tool, bad.tally
    path = PurePath(source.path.removesuffix(source.packed))
    folder = "" if source.path == "-" else path.parent.name or Path.cwd().name
    reading = Reading(path.stem, folder, source.options.question)  # a user's name may have dots
    for where, record, raw in records:

        def complain(
            path: str, expected: str, seen: object, where: str = where, raw: str | bytes = raw
        ) -> None:
            shown = raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else raw
            what = "nothing" if seen is None else seen if isinstance(seen, str) else shorten(seen)
            bad.add(f"{where}, {path}", expected, str(what)[:200] or "nothing", shown)

        answers = list(tool.answers(record, reading._replace(complain=complain)))
        # JSON in a cell of CSV is decoded after the record was looked at.
        escaped = "\\u" in raw if isinstance(raw, str) else b"\\u" in raw
        if escaped and not _writable(answers):
            complain("answer", "text that can be written", "half a character")
            continue
        yield answers
        if tool.unlabelled is not None and tally is not None and not tally.labels:
            tally.unlabelled |= dict.fromkeys(filter(None, [tool.unlabelled(record)]))


def _writable(answers: Iterable[Answer]) -> bool:
    """Return True if all text can be written: JSON can spell half characters, UTF-8 cannot."""
    try:
        for answer in answers:
            for text in (answer.task, answer.worker, answer.label, answer.question, answer.id):
                (text or "").encode()
    except UnicodeEncodeError:
        return False
    return True


def _latest(pieces: Iterable[tuple[int, Iterable[list[Answer]]]]) -> tuple[int, list[list[Answer]]]:
    """Return the answers left after those replaced and deleted by their ids, the latest last."""
    total, left = 0, dict[object, list[Answer]]()
    for read, events in pieces:
        total += read
        for answers in events:
            for name in {answer.id for answer in answers if answer.id}:
                left.pop(name, None)
            for answer in answers:
                if answer.task:
                    left.setdefault(answer.id or object(), []).append(answer)
    return total, list(left.values())


def _table(answers: Iterable[list[Answer]], tally: Tally) -> pl.DataFrame:
    import polars as pl

    votes = [answer for record in answers for answer in record if tally.take(answer)]
    return pl.DataFrame(
        {
            "task": [vote.task for vote in votes],
            "worker": [vote.worker for vote in votes],
            "label": [vote.label for vote in votes],
            "question": [vote.question for vote in votes],
            "at": [vote.at for vote in votes],
        },
        dict.fromkeys(("task", "worker", "label", "question"), pl.String) | {"at": pl.Float64},
    )


def in_time(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the latest of a worker's answers to a question on a task last.

    >>> import polars as pl
    >>> same = {"task": ["t", "t"], "worker": ["w", "w"], "question": ["q", "q"]}
    >>> both = pl.DataFrame(same | {"label": ["new", "old"], "at": [2.0, 1.0]})
    >>> in_time(both)["label"].to_list()
    ['old', 'new']
    """
    import polars as pl

    who = ["task", "worker", "question"]
    if table["at"].null_count() == table.height or not table.select(who).is_duplicated().any():
        return table
    moved = pl.col("label", "at").sort_by("at", nulls_last=False, maintain_order=True)
    return table.with_columns(moved.over(who))


def finish(bad: BadRows) -> None:
    """Refuse files without votes, and say what was left out; all has been read."""
    tally = bad.tally
    if tally is None:
        return
    tally.check()
    said = tally.said()
    if bad.explain is not None:
        question = f"question {tally.asked!r}: " if tally.asked else ""
        bad.explain(f"{tally.where}: {question}{said}")
    if tally.asides():
        bad.note(f"{tally.where}: {said}")
    lone = tally.lone_workers()
    if lone:
        shown = [f"{name} by {who}" if name else f"by {who}" for name, who in lone.items()]
        more = f" and {len(lone) - SHOWN:,} more" if len(lone) > SHOWN else ""
        said = f"{', '.join(shown[:SHOWN])}{more}"
        bad.note(f"{tally.where}: answered by one worker alone, whose word is the decision: {said}")
