"""A table of any shape → one row per label: task, worker, label, and question and repeat if told.

Decides by the cells what headers leave open: which columns of a wide table are workers, and which
columns hold the labels of several questions. What is not clear is refused, with the words to type.
Knows nothing of files, and nothing of what labels mean.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crowdstream.errors import InputError
from crowdstream.labels.column_hints import shown_columns, shown_name
from crowdstream.labels.columns import (
    ALIASES,
    ColumnNames,
    Roles,
    find_column,
    find_roles,
    simple_name,
)
from crowdstream.labels.meaning.answers import is_no_answer
from crowdstream.labels.spelling import normalise
from crowdstream.labels.tables import scores_as_text, whole_numbers

if TYPE_CHECKING:
    import polars as pl

FEW = 20
"""Different cells that a column of labels has at most, where nobody named it: more are text."""

STRANGE = 5
"""Cells from which on a column of a wide table is none of a worker if no other has its values."""

LOOKED_AT = 5_000
"""Rows whose cells are looked at to tell which columns hold labels."""

TYPED = 12
"""Columns of labels that a message says how to name: more than a table has questions."""

LONGEST = 200
"""Characters of a column's name that a message repeats to be typed."""

LONG = 40
"""Characters of a cell, in the mean, from which on a column is text that nobody chose from."""

ASIDE = frozenset(
    {
        *("at", "time", "timestamp", "date", "datetime", "created", "created_at", "updated"),
        *("updated_at", "submitted_at", "start", "start_time", "end", "end_time", "duration"),
        *("seconds", "elapsed", "latency", "lead_time", "comment", "comments", "note", "notes"),
        *("remark", "remarks", "explanation", "reason", "reasoning", "rationale", "feedback"),
        *("text", "url", "link", "email", "prompt", "input", "output", "context", "metadata"),
        *("id", "index", "row", "row_id", "row_number", "no", "nr", "#", "unnamed:_0", ""),
        *ALIASES["gold"],
    }
)
"""Names of columns that hold no labels: times, remarks, texts, numbers of rows, the truth."""


class Shaper:
    """Brings tables of one header into shape; the first decides for those that follow.

    Parameters
    ----------
    names
        The columns as the user named them.
    where
        What messages call the table.
    how
        How the user names a column, with ``{}`` for the role.

    Examples
    --------
    >>> import polars as pl
    >>> wide = pl.DataFrame({"item": ["1", "2"], "ann": ["x", "y"], "bob": ["x", None]})
    >>> Shaper(ColumnNames(wide=True), "table").shape(wide).rows()
    [('1', 'ann', 'x'), ('1', 'bob', 'x'), ('2', 'ann', 'y'), ('2', 'bob', None)]
    """

    def __init__(self, names: ColumnNames, where: str, how: str = "--{}") -> None:
        self.names, self.where, self.how = names, where, how
        self.left_out: dict[str, str] = {}
        """Columns that hold no labels, and why."""
        self.header: list[str] = []
        self.roles: Roles | None = None
        """What was found; by the header alone until cells were seen."""
        self._decided = False

    def look_at(self, header: Sequence[str], where: str | None = None) -> Roles:
        """Find the roles of columns as far as a header shows them."""
        if self.roles is None or not self._decided:
            self.roles = find_roles(self.names, header, where or self.where, self.how)
            self.header = list(header)
        return self.roles

    def needed(self, header: Sequence[str]) -> list[str]:
        """The columns that `shape` must see: those in a role, or all where the cells decide."""
        roles = self.look_at(header)
        if not roles.labels:
            return list(dict.fromkeys(header))
        used = (roles.task, roles.worker, *roles.labels, roles.question, roles.repeat, roles.at)
        return [name for name in used if name is not None]

    def shape(self, table: pl.DataFrame) -> pl.DataFrame:
        """One row per label, in the order of the rows and then of the columns.

        A label that is missing is null; a question that is missing stays null too.
        """
        # The table may hold the columns alone that are needed: the header knew the others.
        roles = self.roles or self.look_at(table.columns)
        if not roles.labels:
            sample = table.head(LOOKED_AT)
            choose = self._workers if roles.wide else self._label_columns
            chosen = choose(sample, roles)
            others = tuple(name for name in roles.others if name not in chosen)
            self.roles = roles = roles._replace(labels=tuple(chosen), others=others)
        self._decided = True
        return _long(table, roles)

    # Wide tables --------------------------------------------------------------------------------

    def _workers(self, table: pl.DataFrame, roles: Roles) -> list[str]:
        """The columns of a wide table that are workers: they share their values."""
        columns = roles.others
        self._refuse_long(table, roles)
        cells = {name: _cells(table[name]) for name in columns}
        kept: list[str] = []
        for name, values in cells.items():
            reason = self._not_a_worker(name, values, cells)
            if reason is None:
                kept.append(name)
            else:
                self.left_out[name] = reason
        if len(kept) < 2:
            named = shown_columns(columns)
            found = f"{named} ({self._name_labels(columns)})"
            raise InputError(self.where, "two or more workers' columns with common labels", found)
        self._refuse_questions({name: cells[name] for name in kept})
        return kept

    def _refuse_long(self, table: pl.DataFrame, roles: Roles) -> None:
        """Refuse a table with a row per worker and task, and a column per question."""
        worker = next((c for c in roles.others if simple_name(c) in ALIASES["worker"]), None)
        if worker is not None and 2 * table[roles.task].n_unique() <= table.height:
            wide = "wide=True" if self.how.endswith("=") else "--wide"
            found = f"several rows per task and a column {shown_name(worker)!r}: leave out {wide}"
            raise InputError(self.where, "one row per task and one column per worker", found)

    def _not_a_worker(
        self, name: str, values: list[str], cells: dict[str, list[str]]
    ) -> str | None:
        """Why a column is no worker's, None if it is one; refuses what is not clear."""
        if not values:
            return "no labels"
        if simple_name(name) in ALIASES["gold"]:
            return "its name"  # the truth is no worker, though it says what they say
        others = {value for other, them in cells.items() if other != name for value in them}
        shared = sum(value in others for value in values) / len(values)
        if simple_name(name) in ASIDE and (shared < 1 or _numbers_rows(values)):
            return "its name"
        if _numbers_rows(values) and len(values) > 2:
            return "it numbers the rows"
        if shared >= 0.5:
            return None
        if (shared == 0 and len(values) >= STRANGE) or _is_text(values):
            return "other values than the workers' columns"
        python = self.how.endswith("=")
        leave = f"left_out={[name]!r}" if python else f"--leave-out {_typed(name)}"
        raise InputError(
            f"{self.where}, column {shown_name(name)!r}",
            "labels that other workers gave too",
            f"{shown_columns(sorted(set(values)))} ({leave} if it is no worker; "
            f"else {self._name_labels([c for c in cells if simple_name(c) not in ASIDE])})",
        )

    def _refuse_questions(self, cells: dict[str, list[str]]) -> None:
        """Refuse a table of several workers and several questions."""
        groups = [group for group in _common_values(cells) if len(group) > 1]
        if len(groups) > 1:
            found = " and ".join(shown_columns(group) for group in groups[:2])
            how = self._name_labels(groups[0])
            raise InputError(self.where, f"one question ({how} reads one)", found)
        if pairs := _crossed(list(cells)):
            first = [name for name in cells if name.endswith(pairs[0])]
            raise InputError(
                self.where,
                f"one question ({self._name_labels(first)} reads one)",
                f"columns that end in {shown_columns(pairs)}",
            )

    # Several questions, a column each ---------------------------------------------------------

    def _label_columns(self, table: pl.DataFrame, roles: Roles) -> list[str]:
        """The columns that hold labels where none is called so; refuses what is not clear."""
        kept: list[str] = []
        unclear: list[str] = []
        for name in roles.others:
            values = _cells(table[name])
            if simple_name(name) in ASIDE or not values or _is_text(values):
                self.left_out[name] = "its name" if simple_name(name) in ASIDE else "text"
            elif _looks_like_labels(table, name, roles):
                kept.append(name)
            else:
                unclear.append(name)
        if len(kept) < 2 or unclear:
            named = [name for name in roles.others if name not in self.left_out]
            find = self._name_labels(named) if named else ""
            try:
                find_column("label", None, table.columns, self.where, self.how)
            except InputError as error:
                if named:
                    error = InputError(
                        error.where, error.expected, f"{shown_columns(table.columns)} ({find})"
                    )
                raise error from None
        return kept

    def _name_labels(self, columns: Sequence[str]) -> str:
        """The words that name columns of labels."""
        if self.how.endswith("="):
            return f"label={list(columns)[:TYPED]!r}"
        return " ".join(f"--label {_typed(name)}" for name in list(columns)[:TYPED])


def _typed(name: str) -> str:
    return shlex.quote(" ".join(name.split())) if len(name) <= LONGEST else shown_name(name)


def _cells(column: pl.Series) -> list[str]:
    """The answers in a column, in normal form."""
    import polars as pl

    if column.dtype.is_nested():
        return []
    texts = column.cast(pl.String).drop_nulls()
    forms = {text: normalise(text) for text in texts.unique()}
    return [form for text in texts if not is_no_answer(form := forms[text])]


def _numbers_rows(values: Sequence[str]) -> bool:
    """Return True if cells are 1, 2, 3, … or 0, 1, 2, …"""
    return any(
        list(values) == [str(k) for k in range(first, first + len(values))] for first in (0, 1)
    )


def _is_text(values: Sequence[str]) -> bool:
    """Return True if cells are written freely, not chosen: long, or mostly different words."""
    if sum(map(len, values)) > LONG * len(values):
        return True
    distinct = len(set(values))
    return distinct > FEW and 2 * distinct > len(values) and not all(map(_is_number, values))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _looks_like_labels(table: pl.DataFrame, name: str, roles: Roles) -> bool:
    """Return True if a column holds a few values that differ within tasks and within workers."""
    values = _cells(table[name])
    distinct = len(set(values))
    if not 2 <= distinct <= FEW or 2 * distinct > len(values):
        return False
    return all(_varies(table, name, str(other)) for other in (roles.task, roles.worker))


def _varies(table: pl.DataFrame, name: str, by: str) -> bool:
    """Return True if some group of rows holds more than one value, or all groups are of one row."""
    import polars as pl

    groups = table.filter(pl.col(name).is_not_null()).group_by(by)
    counts = groups.agg(pl.col(name).n_unique().alias("values"), pl.len().alias("rows"))
    several = counts.filter(pl.col("rows") > 1)
    return not several.height or bool((several["values"] > 1).any())


def _common_values(cells: dict[str, list[str]]) -> list[list[str]]:
    """Columns in groups: those that share a value, directly or through others, are in one.

    >>> _common_values({"a": ["x"], "b": ["y"], "c": ["x", "z"], "d": ["y"]})
    [['a', 'c'], ['b', 'd']]
    """
    groups: list[tuple[set[str], list[str]]] = []
    for name, values in cells.items():
        mine, names = set(values), [name]
        apart = []
        for theirs, others in groups:
            if theirs & mine:
                mine, names = mine | theirs, others + names
            else:
                apart.append((theirs, others))
        groups = [*apart, (mine, names)]
    order = {name: k for k, name in enumerate(cells)}
    return sorted((names for _, names in groups), key=lambda names: order[names[0]])


SEPARATORS = ("__", "_", ".", ":", "/", " ", "-")
"""Separators of a worker and a question in the name of a column."""


def _crossed(names: Sequence[str]) -> list[str]:
    """The endings of columns that are named worker and question, every worker with every one.

    >>> _crossed(["ann_tone", "ann_toxic", "bob_tone", "bob_toxic"])
    ['_tone', '_toxic']
    >>> _crossed(["ann", "bob_2"])
    []
    """
    for separator in SEPARATORS:
        parts = [name.rpartition(separator) for name in names]
        heads = dict.fromkeys(head for head, _, _ in parts)
        tails = dict.fromkeys(tail for _, _, tail in parts)
        whole = all(head and tail for head, _, tail in parts)
        if whole and len(heads) > 1 < len(tails) and len(heads) * len(tails) == len(names):
            return [f"{separator}{tail}" for tail in tails]
    return []


def _one_type(columns: list[pl.Series]) -> list[pl.Series]:
    """Columns that may be joined: 1, and 1.0 where a gap makes floats of integers, are the same."""
    import polars as pl

    columns = [whole_numbers(scores_as_text(column)) for column in columns]
    if len({column.dtype for column in columns}) > 1:
        return [column.cast(pl.String) for column in columns]
    return columns


def _long(table: pl.DataFrame, roles: Roles) -> pl.DataFrame:
    """One row per label."""
    import polars as pl

    more = {
        name: column
        for name, column in (
            ("question", roles.question),
            ("repeat", roles.repeat),
            ("at", roles.at),
        )
        if column is not None
    }
    keys = {"task": roles.task} | ({} if roles.worker is None else {"worker": roles.worker}) | more
    if len(roles.labels) == 1 and not roles.wide:
        found = table.select(
            *(pl.col(column).alias(name) for name, column in keys.items()),
            pl.col(roles.labels[0]).alias("label"),
        )
        return found.select("task", "worker", "label", *more)
    # Names of columns that were told apart by their places: any name may be in use.
    values = table.select(_one_type([table[name] for name in roles.labels]))
    height, width = table.height, len(roles.labels)
    rows = pl.select(pl.int_range(height).repeat_by(width).explode()).to_series()
    columns = pl.select(
        pl.concat([pl.int_range(width, eager=True)] * height)
        if height
        else pl.Series([], dtype=pl.Int64)
    ).to_series()
    flat = pl.concat([values[name].alias("label") for name in roles.labels])
    label = flat.gather(columns * height + rows)
    named = pl.Series(list(roles.labels), dtype=pl.String).gather(columns)
    found = table.select(pl.col(column).alias(name) for name, column in keys.items())
    found = found.select(pl.all().gather(rows)).with_columns(label.alias("label"))
    if roles.wide:
        found = found.with_columns(named.alias("worker"))
    elif "question" in more:
        joined = pl.concat_str(pl.col("question"), pl.lit(": "), named)
        found = found.with_columns(joined.alias("question"))
    else:
        found = found.with_columns(named.alias("question"))
        more = {"question": "", **more}
    return found.select("task", "worker", "label", *more)
