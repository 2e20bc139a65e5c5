"""The one reader of true labels: a mapping, a table of any kind, or a file. Knows no estimators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, TypeAlias

from crowdstream.errors import InputError
from crowdstream.labels.columns import ALIASES, pick_columns, simple_name
from crowdstream.labels.label import ClassLabel, TaskId, clean_id, clean_label
from crowdstream.labels.spelling import normalise
from crowdstream.labels.tables import ArrowTable, is_table, select_columns

if TYPE_CHECKING:
    import polars as pl

Truths: TypeAlias = "Mapping[TaskId, ClassLabel] | ArrowTable | pl.LazyFrame | str | PathLike[str]"
"""True classes of some tasks: task → class, a table, or the path of a file."""

COLUMNS = {"task": ALIASES["task"], "label": (*ALIASES["gold"], *ALIASES["label"])}
"""The columns of a table of true labels and their names, the likeliest first."""


def read_truths(
    gold: Truths | None,
    *,
    option: str = "",
    notes: list[str] | None = None,
    question: str = "",
    several: bool | None = None,
) -> dict[TaskId, ClassLabel]:
    """Read the true classes of some tasks.

    Rows without a task or a class are left out; two classes for one task are refused.

    Parameters
    ----------
    gold
        A mapping of task to class (a pandas Series too); a table of any kind with a task and a
        gold, truth or label column; or the path of such a file, whose values are text.
    option, notes
        The option that named a file, for messages, and a list that takes what is to be said of how
        it was read.
    question
        Of a table or file with a question column, the one whose truths are read.
    several
        Whether labels have several questions, so that the truths need such a column; by default,
        whether one is named.

    Examples
    --------
    >>> import polars as pl
    >>> read_truths(pl.DataFrame({"item": [1, 2], "gold": ["spam", None]}))
    {1: 'spam'}
    """
    if gold is None:
        return {}
    several = bool(question) if several is None else several
    where, row = "gold", ""
    pairs: Iterable[tuple[object, object]]
    if isinstance(gold, (str, PathLike)):
        where, row = f"{option} {fspath(gold)}".lstrip(), ", row {}"
        pairs = _file_rows(fspath(gold), option, notes, question, several)
    elif isinstance(gold, Mapping) or (type(gold).__name__ == "Series" and hasattr(gold, "items")):
        pairs = gold.items()
        if several:
            expected = f"a table with a question column, or a mapping for {question!r} alone"
            raise InputError(where, expected, "a mapping for all questions")
    elif is_table(gold):
        table = select_columns(gold, lambda header: _chosen(header, where))
        pairs = _of_question(table, where, question, several).iter_rows()
    else:
        raise InputError(where, "a mapping, a table or a file of true labels", type(gold).__name__)
    found: dict[TaskId, ClassLabel] = {}
    for number, (task, label) in enumerate(pairs, start=1):
        name, truth = clean_id(task, f"{where}, task"), clean_label(label, f"{where}[{task!r}]")
        if name is None or truth is None:
            continue
        first = found.setdefault(name, truth)
        if first != truth and not (row and normalise(str(first)) == normalise(str(truth))):
            at = where + row.format(number)
            both = f"{first!r} and {truth!r}" if row else "several"
            raise InputError(at, "one true label per task", f"{both} of {name!r}")
    return found


def _file_rows(
    path: str, option: str, notes: list[str] | None, question: str, several: bool
) -> Iterator[tuple[str | None, str | None]]:
    """Task and true label of every row of a file, without blanks around them; None for no value."""
    from crowdstream.labels.readers.small_tables import read_text_table

    where = f"{option} {path}".lstrip()
    table = read_text_table(path, option=option, notes=notes, columns=COLUMNS)
    table = table.select(_chosen(table.columns, where))
    for row in _of_question(table, where, question, several).iter_rows():
        task, label = ((cell or "").strip() or None for cell in row)
        yield task, label


def _chosen(header: Sequence[str], where: str) -> list[str]:
    """The columns of task and true label, and of the question if there is one."""
    found = pick_columns(COLUMNS, header, where)
    rest = {simple_name(name): name for name in reversed(header) if name not in found}
    return found + [rest[name] for name in ALIASES["question"] if name in rest][:1]


def _of_question(table: pl.DataFrame, where: str, question: str, several: bool) -> pl.DataFrame:
    """Task and true label of the rows of one question."""
    import polars as pl

    task, label, *asked = table.columns
    if not asked:
        if several:
            expected = f"a column question, since labels have several, {question!r} among them"
            raise InputError(where, expected, ", ".join(table.columns))
        return table
    names = table[asked[0]].cast(pl.String).fill_null("")
    forms = {name: normalise(name) for name in names.unique()}
    if question:
        table = table.filter(names.replace_strict(forms) == normalise(question))
    elif len(set(forms.values())) > 1 and table.select(task).is_duplicated().any():
        found = f"{len(set(forms.values())):,} in column {asked[0]!r}"
        raise InputError(where, "the truths of one question", found)
    return table.select(task, label)


def truth_table(truths: Mapping[TaskId, ClassLabel]) -> pl.DataFrame:
    """True classes as a table of task and label.

    >>> truth_table({"t1": "spam"}).rows()
    [('t1', 'spam')]
    """
    import polars as pl

    if not truths:
        return pl.DataFrame(schema={"task": pl.String, "label": pl.String})
    return pl.DataFrame({"task": list(truths), "label": list(truths.values())})
