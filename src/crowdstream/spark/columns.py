"""Columns of Spark's tables in the types that labels may have. Knows nothing of what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crowdstream.errors import InputError
from crowdstream.labels.label import FLOAT_MAX
from crowdstream.spark.blocks import TYPES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

WHOLE = ("tinyint", "smallint", "int", "bigint")
FRACTIONS = ("float", "double")

NESTED = ("array", "struct", "map", "binary", "variant")
"""How types begin whose values are no text or number."""

BLANKS = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
"""Every character that Python strips from the ends of a text; the last is U+3000."""

BLANK = rf"[{BLANKS}]"
"""One of them, as a regular expression; to look for it takes a quarter of the time of trimming."""


def quoted(name: str) -> str:
    """A column's name as Spark takes it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def is_text(kind: str) -> bool:
    """Tell whether a type is text, or has no values."""
    return kind in ("string", "void") or kind.startswith(("varchar", "char"))


def clean_column(column: Column, name: str, kind: str, role: str) -> Column:
    """A column of strings, integers or booleans; fractions that are whole numbers as such."""
    from pyspark.sql import functions as F

    if is_text(kind):
        return column.cast("string")
    if kind == "boolean" and role == "label":
        return column
    if kind in WHOLE:
        return column.cast("bigint")
    if kind in FRACTIONS:
        whole = (column == F.floor(column)) & (F.abs(column) <= F.lit(float(FLOAT_MAX)))
        told = F.concat(
            F.lit(f"column {name!r}: expected whole numbers, found "), column.cast("string")
        )
        checked = F.when(whole, column.cast("bigint")).otherwise(F.raise_error(told))
        return F.when(column.isNull() | F.isnan(column), F.lit(None)).otherwise(checked)
    expected = "str, int or bool" if role == "label" else "str or int"
    raise InputError(f"column {name!r}", expected, f"a column of {kind}")


def label_column(column: Column, name: str, kind: str) -> Column:
    """A column of labels; numbers that are not whole stay, since they may be scores."""
    from pyspark.sql import functions as F

    if kind in FRACTIONS or kind.startswith("decimal"):
        number = column.cast("double")
        return F.when(~F.isnan(number), number)
    return clean_column(column, name, kind, "label")


def time_column(column: Column, name: str, kind: str) -> Column:
    """When a label was given, as a whole number that grows."""
    from pyspark.sql import functions as F

    if kind in WHOLE:
        return F.coalesce(column.cast("bigint"), F.lit(-(2**63)))
    if kind in ("timestamp", "timestamp_ntz", "date"):
        micros = F.unix_micros(column.cast("timestamp"))
        return F.coalesce(micros, F.lit(-(2**63)))
    if kind in FRACTIONS:
        return F.coalesce((column * 1_000_000).cast("bigint"), F.lit(-(2**63)))
    raise InputError(f"column {name!r}", "times or numbers", f"a column of {kind}")


def trimmed(column: Column, *, spaces: bool = False) -> Column:
    """A text without blanks around it, or spaces only, unless it has nothing else."""
    from pyspark.sql import functions as F

    short = F.trim(column) if spaces else F.btrim(column, F.lit(BLANKS))
    return F.when(short != "", short).otherwise(column)


def recode(table: DataFrame, column: str, names: Mapping[Any, object], kind: str) -> DataFrame:
    """A table with other names in a column; what has none becomes null.

    ``names``: as they are written → as they are to be, of this type.
    """
    import pyarrow as pa
    from pyspark.sql import functions as F

    written = dict(table.dtypes)[column]
    pairs = pa.table(
        {
            "__written": pa.array(list(names), TYPES[written]),
            "__shown": pa.array(list(names.values()), TYPES[kind]),
        }
    )
    known = F.broadcast(table.sparkSession.createDataFrame(pairs))
    joined = table.join(known, table[column] == known["__written"], "left")
    return joined.select(
        *(F.col("__shown").alias(name) if name == column else table[name] for name in table.columns)
    )
