"""Workbooks (.xlsx): one sheet, every cell as text. Needs fastexcel, of the extra ``excel``.

Knows nothing of other formats.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.labels.column_hints import shown_columns, shown_name
from crowdstream.labels.readers.archives import check_unpacked
from crowdstream.labels.readers.sources import Source, open_bytes

if TYPE_CHECKING:
    import polars as pl


def read_sheet(source: Source) -> pl.DataFrame:
    """A sheet of a workbook as a table of text."""
    if importlib.util.find_spec("fastexcel") is None:
        raise CrowdstreamError(
            f"{source.name}: reading .xlsx needs fastexcel: pip install 'crowdstream[excel]'"
        )
    import fastexcel

    with open_bytes(source) as file:
        data = file.read()
    check_unpacked(data, source, "a workbook (.xlsx)")
    try:
        book = fastexcel.read_excel(data)
        sheet = _find_sheet(book.sheet_names, source)
        table: pl.DataFrame = book.load_sheet(sheet, dtypes="string").to_polars()
    except fastexcel.FastExcelError as error:
        found = (str(error).splitlines() or ["another"])[0]
        raise InputError(source.name, "a workbook (.xlsx)", found[:200]) from None
    if not table.width:
        raise InputError(f"{source.name}, sheet {sheet!r}", "a header and rows", "nothing")
    return table


def _find_sheet(names: list[str], source: Source) -> str:
    """The sheet asked for by name or by number; the first if none is."""
    wanted = source.options.sheet
    if not names:
        raise InputError(source.name, "a workbook with a sheet", "none")
    if wanted is None:
        return names[0]
    if wanted in names:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted[:9]) <= len(names):
        return names[int(wanted) - 1]
    found = f"sheets {shown_columns(names)}"
    raise InputError(source.name, f"a sheet {shown_name(wanted)!r} (--sheet)", found)
