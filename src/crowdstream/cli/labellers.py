"""`crowdstream labellers`: what a state file knows of everybody."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from crowdstream.cli import options
from crowdstream.cli.output import check_output, talk, write_table


def labellers(
    state: Annotated[str, typer.Argument(help="A state file of run --save or stream --state.")],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="To .csv .tsv .jsonl .parquet, or -."),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Show the labellers in a state file.

    Example: crowdstream labellers crowd.state -o people.csv
    """
    from crowdstream.cli.crowds import load_crowd

    check_output(output, "--output")
    crowd = load_crowd(state)
    table = crowd.labellers()
    if output is not None or not sys.stdout.isatty():
        write_table(table, output)
    else:
        import polars as pl

        with pl.Config(tbl_rows=50, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
            print(table.sort("error_rate", nulls_last=True))
    if not quiet:
        told = crowd.identifiable_
        note = "" if told else f"; not identifiable: {told.reason}"
        talk().print(f"{crowd.tasks_:,} tasks, {crowd.n_labellers_:,} labellers{note}")
