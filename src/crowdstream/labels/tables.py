"""Tables of any kind: which columns hold task, worker and label; in as polars, out as they came.

Polars, pandas, pyarrow, duckdb and what else narwhals knows or speaks Arrow; none of them is
imported unless the data is of that kind. Knows nothing of codes or files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeGuard, cast, runtime_checkable

from crowdstream.errors import InputError
from crowdstream.labels.column_hints import NEAR_GIVEN, nearest_columns, shown_columns, shown_name
from crowdstream.labels.label import FLOAT_MAX, clean_id, clean_label, shorten

if TYPE_CHECKING:
    import polars as pl

ROLES = ("task", "worker", "label")
"""The columns of a table of labels, in order."""


def _aliases(names: str) -> tuple[str, ...]:
    return tuple(names.split())


ALIASES = {
    "task": _aliases(
        "task task_id taskid item item_id question question_id example example_id unit "
        "unit_id _unit_id hitid object object_id document document_id sample_id id"
    ),
    "worker": _aliases(
        "worker worker_id workerid _worker_id annotator annotator_id labeller labeler "
        "labeller_id labeler_id rater rater_id judge judge_id performer performer_id coder "
        "expert model user user_id"
    ),
    "label": _aliases(
        "label answer vote response class category annotation judgment judgement rating "
        "choice verdict value"
    ),
    "gold": _aliases("gold truth true_label gold_label ground_truth groundtruth"),
}
"""Names that mean a column, the likeliest first, compared without case and spaces."""


class ColumnNames(NamedTuple):
    """The columns as the user named them; None where they are to be found by their aliases.

    Parameters
    ----------
    task, worker, label
        The names of the columns.
    wide
        The table has one row per task and one column per worker: every column but the task's is a
        worker, and its cells are the labels.

    Examples
    --------
    >>> find_columns(ColumnNames(label="said"), ["Item", "rater", "said"], "table")
    ('Item', 'rater', 'said')
    """

    task: str | None = None
    worker: str | None = None
    label: str | None = None
    wide: bool = False


def find_column(
    role: str, given: str | None, header: Sequence[str], where: str, how: str = "--{}"
) -> str:
    """The column of this role, by the name given or by one of its aliases.

    ``how`` tells the user how to name it, with ``{}`` for the role.

    >>> find_column("worker", None, ["id", "Annotator ID", "label"], "table")
    'Annotator ID'
    """
    if given is not None:
        if given in header:
            return given
        near = nearest_columns(header, [simple_name(given)], NEAR_GIVEN)
        hint = f" (did you mean {shown_name(near[0])!r}?)" if near else ""
        found = shown_columns(header, near) + hint
        raise InputError(where, f"a column {shown_name(given)!r}", found)
    place = _alias_place(role, header)
    if place is not None:
        return header[place]
    others = {alias for other in ROLES if other != role for alias in ALIASES[other]}
    near = [x for x in nearest_columns(header, ALIASES[role]) if simple_name(x) not in others]
    rest = [name for name in header if simple_name(name) not in others]
    if not near and len(header) <= len(ROLES) and len(rest) == 1:
        near = rest  # the only one left
    hint = f"did you mean {shown_name(near[0])!r}? " if near else ""
    found = f"{shown_columns(header, near)} ({hint}name it with {how.format(role)})"
    raise InputError(where, f"a {role} column", found)


def _alias_place(role: str, header: Sequence[str]) -> int | None:
    """Where the column is that has the likeliest of its role's names."""
    simple = [simple_name(name) for name in header]
    return next((simple.index(alias) for alias in ALIASES[role] if alias in simple), None)


def count_roles(names: ColumnNames, header: Sequence[str]) -> int:
    """How many of the columns that are looked for a header has.

    >>> count_roles(ColumnNames(label="said"), ["item", "who", "said"])
    2
    """
    wanted = list(zip(ROLES, names[:3], strict=True))[: 1 if names.wide else 3]
    return sum(
        _alias_place(role, header) is not None if given is None else given in header
        for role, given in wanted
    )


def find_task_of_wide(
    names: ColumnNames, header: Sequence[str], where: str, how: str = "--{}"
) -> str:
    """The task's column of a wide table; a table of one row per label is refused.

    >>> find_task_of_wide(ColumnNames(wide=True), ["item", "ann", "bob"], "table")
    'item'
    """
    task = find_column("task", names.task, header, where, how)
    if count_roles(ColumnNames(), header) == len(ROLES):
        found = ", ".join(repr(find_column(role, None, header, where)) for role in ROLES)
        wide = "wide=True" if how.endswith("=") else how.format("wide")
        expected = "one row per task and one column per worker"
        raise InputError(where, expected, f"columns {found}: leave out {wide}")
    return task


def find_columns(
    names: ColumnNames, header: Sequence[str], where: str, how: str = "--{}"
) -> tuple[str, str, str]:
    """The columns of task, worker and label.

    >>> find_columns(ColumnNames(), ["performer", "task", "label"], "table")
    ('task', 'performer', 'label')
    """
    task, worker, label = (
        find_column(role, given, header, where, how)
        for role, given in zip(ROLES, names[:3], strict=True)
    )
    for role, name in zip(ROLES, (task, worker, label), strict=True):
        if list(header).count(name) > 1:
            found = f"several columns named {shown_name(name)!r}"
            raise InputError(where, f"one {role} column", found)
    if len({task, worker, label}) < 3:
        found = ", ".join(map(repr, (task, worker, label)))
        raise InputError(where, "three different columns", found)
    return task, worker, label


def pick_columns(
    aliases: Mapping[str, Sequence[str]], header: Sequence[str], where: str
) -> list[str]:
    """The columns of several roles, each by one of its aliases.

    >>> pick_columns({"class": ("class", "label"), "cost": ("cost",)}, ["Cost", "label"], "table")
    ['label', 'Cost']
    """
    there = {simple_name(name): name for name in reversed(header)}
    found = [next((there[a] for a in names if a in there), None) for names in aliases.values()]
    if None in found:
        missing = [name for name, there in zip(aliases, found, strict=True) if there is None]
        near = nearest_columns(header, [name for role in missing for name in aliases[role]])
        expected = f"columns {', '.join(aliases)}"
        raise InputError(where, expected, shown_columns(header, near))
    return cast("list[str]", found)


def simple_name(name: str) -> str:
    """A column's name as aliases are compared.

    >>> simple_name(" Worker ID")
    'worker_id'
    """
    return name.strip().lower().replace(" ", "_")


# In ---------------------------------------------------------------------------------------


@runtime_checkable
class ArrowTable(Protocol):
    """What polars, pandas, pyarrow and duckdb tables have in common."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a stream of Arrow batches."""


def is_table(data: object) -> TypeGuard[ArrowTable | pl.LazyFrame]:
    """Whether data is a table, not rows: it speaks Arrow, or narwhals knows it.

    >>> import polars as pl
    >>> is_table(pl.LazyFrame()), is_table([("t1", "ann", "spam")])
    (True, False)
    """
    if isinstance(data, ArrowTable) or hasattr(data, "collect_schema"):
        return True
    return type(data).__module__ != "builtins" and _known(data) is not None


def _known(data: Any) -> Any:
    """A table as narwhals wraps it, None where it cannot."""
    import narwhals as nw

    if hasattr(data, "loc") and not data.columns.is_unique:  # which narwhals does not allow
        data = data.loc[:, ~data.columns.duplicated()]
    found = nw.from_native(data, pass_through=True)
    return found if isinstance(found, (nw.DataFrame, nw.LazyFrame)) else None


def select_columns(
    data: ArrowTable | pl.LazyFrame, choose: Callable[[list[str]], Sequence[str]]
) -> pl.DataFrame:
    """Some columns of a table of any kind as polars; the others are not converted.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"task": [1], "other": [object()]})
    >>> select_columns(table, lambda header: header[:1]).rows()
    [(1,)]
    """
    import polars as pl

    table: Any = data
    try:
        if not isinstance(table, (pl.DataFrame, pl.LazyFrame)) and _known(table) is None:
            table = pl.DataFrame(table)  # a stream of Arrow may be read only once
        return _to_polars(table, list(choose(_header(table))))
    except InputError:
        raise
    except Exception as error:  # whatever the library that made the table raises
        raise InputError("table", "one that can be read as Arrow", shorten(error, 200)) from error


def _header(data: Any) -> list[str]:
    if hasattr(data, "collect_schema"):
        return list(data.collect_schema().names())
    # Pandas and duckdb have their names in ``columns``, where pyarrow has its data.
    names = data.column_names if hasattr(data, "column_names") else data.columns
    return [str(name) for name in names]


def _to_polars(data: Any, columns: list[str]) -> pl.DataFrame:
    import polars as pl

    if isinstance(data, (pl.DataFrame, pl.LazyFrame)):
        return data.lazy().select(columns).collect()
    known = _known(data).select(columns)
    native = known.to_native()
    if isinstance(native, ArrowTable) and not known.implementation.is_pandas_like():
        return pl.DataFrame(native)
    if hasattr(known, "collect"):
        known = known.collect(backend="polars")
    try:
        return cast("pl.DataFrame", known.to_polars())
    except ImportError:  # pandas without pyarrow: value by value
        where = "row {}, column {!r}".format
        return pl.DataFrame(
            {
                name: [clean_label(x, where(k, name)) for k, x in enumerate(known[name], start=1)]
                for name in columns
            }
        )


def read_table(data: ArrowTable | pl.LazyFrame, names: ColumnNames) -> pl.DataFrame:
    """Task, worker and label of a table of any kind: clean columns of polars.

    Parameters
    ----------
    data
        The table.
    names
        Its columns, where they are not called by one of their aliases.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": [7], "rater": ["ann"], "label": ["spam"]}, index=[3])
    >>> read_table(table, ColumnNames()).rows()
    [(7, 'ann', 'spam')]
    """
    import polars as pl

    if names.wide:
        frame = select_columns(data, lambda found: found)
        task = find_task_of_wide(names, frame.columns, "table", "{}=")
        frame = melt(frame, frame.columns, frame.columns.index(task))
    else:
        frame = select_columns(data, lambda found: find_columns(names, found, "table", "{}="))
        frame = frame.rename(dict(zip(frame.columns, ROLES, strict=True)))
    return pl.DataFrame([_clean_series(frame[role], bools=role == "label") for role in ROLES])


def melt(table: pl.DataFrame, header: Sequence[str], task: int) -> pl.DataFrame:
    """One column per worker → one row per label; empty cells are not labels.

    >>> import polars as pl
    >>> melt(pl.DataFrame({"id": [1], "ann": ["x"], "bob": [None]}), ["id", "ann", "bob"], 0).rows()
    [(1, 'ann', 'x')]
    """
    import polars as pl

    table = table.rename({name: f"c{place}" for place, name in enumerate(table.columns)})
    names = dict(zip(table.columns, header, strict=True))
    key = table.columns[task]
    long = table.with_row_index("row").unpivot(index=["row", key], variable_name="worker")
    value = pl.col("value")
    is_text = long.schema["value"] == pl.String
    return (
        long.filter(value != "" if is_text else value.is_not_null())
        .sort("row", maintain_order=True)
        .select(
            pl.col(key).alias("task"),
            pl.col("worker").replace_strict(names, return_dtype=pl.String),
            value.alias("label"),
        )
    )


def _clean_series(series: pl.Series, *, bools: bool = False) -> pl.Series:
    """A column of strings, integers or booleans, by the rules of `clean_id`."""
    import polars as pl

    kind = series.dtype
    if kind in (pl.Int128, pl.UInt128) or kind.is_float():
        return _whole(series.fill_nan(None) if kind.is_float() else series, bools=bools)
    if kind == pl.String or kind.is_integer() or (kind == pl.Boolean and bools):
        return series
    if isinstance(kind, (pl.Categorical, pl.Enum)):
        return series
    if kind == pl.Null:
        return series.cast(pl.String)
    expected = "str, int or bool" if bools else "str or int"
    raise InputError(f"column {series.name!r}", expected, f"a column of {kind}")


def _whole(series: pl.Series, *, bools: bool) -> pl.Series:
    """Numbers that are integers of 64 bits as such; the first that is not is named."""
    import polars as pl

    signed = series.cast(pl.Int64, strict=False)
    for whole in (signed, series.cast(pl.UInt64, strict=False)):
        good = (whole.cast(series.dtype) == series).fill_null(False) | series.is_null()
        if series.dtype.is_float():
            good &= (series.abs() <= FLOAT_MAX).fill_null(True)
        if good.all():
            return whole
        if series.dtype.is_float():
            break
    row = int((~good).arg_max() or 0)
    clean = clean_label if bools else clean_id
    clean(series[row], f"row {row + 1}, column {series.name!r}")  # raises what a row would
    raise InputError(f"column {series.name!r}", "integers of 64 bits, signed or not", "both")


# Out --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """What kind of table data came in: the library, and for duckdb the relation itself."""

    library: str = "polars"
    relation: Any = None


def kind_of(data: object) -> Kind:
    """What kind of table data is, so that results can go back in the same.

    Rows are answered with polars, and so are tables of libraries that only describe what is to be
    computed (dask, ibis, Spark); duckdb's relations are not.

    Parameters
    ----------
    data
        A table of any kind, or rows.

    Examples
    --------
    >>> import pandas as pd
    >>> kind_of(pd.DataFrame()).library, kind_of([("t1", "ann", "spam")]).library
    ('pandas', 'polars')
    """
    library = type(data).__module__.partition(".")[0]
    if library in ("builtins", "crowdstream", "polars") or not is_table(data):
        return Kind()
    known = _known(data)
    if known is not None:
        library = known.implementation.name.lower()
        if known.implementation.is_pandas_like():
            return Kind(library)
    if library == "duckdb":
        return Kind(library, data)
    return Kind("pyarrow" if library == "pyarrow" else "polars")


def in_kind(frame: pl.DataFrame, kind: Kind) -> Any:
    """A table of polars as a table of another kind.

    In pandas whole numbers with gaps become floats, as pandas itself reads them.

    Parameters
    ----------
    frame
        The table.
    kind
        What `kind_of` found.

    Examples
    --------
    >>> import pandas as pd
    >>> import polars as pl
    >>> in_kind(pl.DataFrame({"task": [1]}), kind_of(pd.DataFrame())).task.tolist()
    [1]
    """
    if kind.library == "polars":
        return frame
    if kind.library == "pyarrow":
        return frame.to_arrow()
    if kind.library == "duckdb":
        # Names that nobody else has: duckdb prefers a table of the connection to a variable.
        crowdstream_result = frame  # noqa: F841 found by its name
        return kind.relation.query("crowdstream_source", "SELECT * FROM crowdstream_result")
    import narwhals as nw

    columns = {series.name: _values(series) for series in frame}
    return nw.from_dict(columns, backend=kind.library).to_native()  # type: ignore[arg-type]


def _values(series: pl.Series) -> Any:
    """Numbers as an array; text, lists and what has gaps as Python's own values."""
    import polars as pl

    whole = series.dtype.is_numeric() or series.dtype == pl.Boolean
    return series.to_numpy(writable=True) if whole and not series.null_count() else series.to_list()
