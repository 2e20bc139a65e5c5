"""Tables of any kind: in as polars, out as they came.

Polars, pandas, pyarrow, duckdb and what else narwhals knows or speaks Arrow; none of them is
imported unless the data is of that kind. Knows nothing of codes or files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, cast, runtime_checkable

from crowdstream.errors import InputError
from crowdstream.labels.choice_cells import write_list
from crowdstream.labels.label import FLOAT_MAX, ClassLabel, as_text, clean_id, clean_label, shorten

if TYPE_CHECKING:
    import polars as pl

# In ---------------------------------------------------------------------------------------


@runtime_checkable
class ArrowTable(Protocol):
    """Interface that polars, pandas, pyarrow and duckdb tables share."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a stream of Arrow batches."""


def is_table(data: object) -> TypeGuard[ArrowTable | pl.LazyFrame]:
    """Return True if data is a table, not rows: it speaks Arrow, or narwhals knows it.

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

    table: Any = data
    try:
        table = readable_again(table)
        return _to_polars(table, list(choose(_header(table))))
    except InputError:
        raise
    except Exception as error:  # whatever the library that made the table raises
        raise InputError("table", "one that can be read as Arrow", shorten(error, 200)) from error


def readable_again(data: ArrowTable | pl.LazyFrame) -> ArrowTable | pl.LazyFrame:
    """A table as it is, or what was in it if it can be read only once.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"task": [1]})
    >>> readable_again(frame) is frame
    True
    """
    import polars as pl

    if isinstance(data, (pl.DataFrame, pl.LazyFrame)) or _known(data) is not None:
        return data
    try:
        return pl.DataFrame(data)  # a stream of Arrow
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
                name: known[name].to_list()
                if known[name].dtype.is_float()
                else [clean_label(x, where(k, name)) for k, x in enumerate(known[name], start=1)]
                for name in columns
            }
        )


def clean_table(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of a table of labels as strings, integers or booleans; lists as their text.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"task": [1.0], "worker": ["ann"], "label": [["cat", "dog"]]})
    >>> clean_table(frame).rows()
    [(1, 'ann', '["cat", "dog"]')]
    """
    import polars as pl

    return pl.DataFrame([_clean_column(column, name) for name, column in frame.to_dict().items()])


def _clean_column(column: pl.Series, name: str) -> pl.Series:
    if name in IDS:
        return _clean_series(column)
    if is_list(column):
        return list_text(column)
    return _clean_series(scores_as_text(column), bools=True)


def scores_as_text(column: pl.Series) -> pl.Series:
    """Numbers of which some are not whole as text, whole ones without a fraction; others as is.

    >>> import polars as pl
    >>> scores_as_text(pl.Series([0.5, 1.0, None])).to_list()
    ['0.5', '1', None]
    """
    import polars as pl

    if not column.dtype.is_float():
        return column
    known = column.fill_nan(None)
    if not (known.abs() <= FLOAT_MAX).all() or (known == known.floor()).all():
        return column
    return known.cast(pl.String).str.strip_suffix(".0")


IDS = ("task", "worker")
"""Columns that name something: true and false name nothing."""


def is_list(column: pl.Series) -> bool:
    """Tell whether a column holds lists of single values: sets of choices."""
    import polars as pl

    kind = column.dtype
    if not isinstance(kind, (pl.List, pl.Array)):
        return False
    inner = kind.inner
    return (
        inner == pl.String
        or inner == pl.Boolean
        or pl.DataFrame(schema={"x": inner}).schema["x"].is_numeric()
        or isinstance(inner, (pl.Categorical, pl.Enum))
    )


def list_text(column: pl.Series) -> pl.Series:
    """Lists as JSON text, None as null."""
    import polars as pl

    texts = [
        None
        if cell is None
        else write_list([str(as_text(each)) for each in cell if each is not None])
        for cell in column
    ]
    return pl.Series(column.name, texts, pl.String)


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


def whole_numbers(series: pl.Series) -> pl.Series:
    """Floats that are whole as integers; others as is.

    >>> import polars as pl
    >>> whole_numbers(pl.Series([1.0, None])).to_list()
    [1, None]
    """
    import polars as pl

    known = series.fill_nan(None) if series.dtype.is_float() else series
    if not series.dtype.is_float() or not (known.abs() <= FLOAT_MAX).all():
        return series
    return known.cast(pl.Int64) if (known == known.floor()).all() else series


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
    """Kind of a table: its library, and for duckdb the relation itself."""

    library: str = "polars"
    relation: Any = None


def kind_of(data: object) -> Kind:
    """Return the kind of a table, so that results can go back in the same.

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


def value_series(name: str, values: Sequence[ClassLabel] | pl.Series) -> pl.Series:
    """Ids or classes as a column; values that no one type holds become strings."""
    import polars as pl

    if isinstance(values, pl.Series):
        return values.alias(name)
    kinds = {type(value) for value in values}
    if kinds == {int}:
        numbers = cast("Sequence[int]", values)
        if max(numbers) < 2**63:
            return pl.Series(name, numbers, pl.Int64)
        if min(numbers) >= 0:
            return pl.Series(name, numbers, pl.UInt64)
    elif kinds == {bool}:
        return pl.Series(name, values, pl.Boolean)
    texts = values if kinds == {str} else [str(value) for value in values]
    return pl.Series(name, texts, pl.String)
