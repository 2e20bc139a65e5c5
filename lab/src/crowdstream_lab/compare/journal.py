"""Rows of a comparison, written as they come, so that a run that was ended can go on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from crowdstream import InputError
from crowdstream_lab.compare.measures import COLUMNS, FILE, OK, OUTCOMES, OVER_LIMIT, Row
from crowdstream_lab.compare.tables import SCHEMA, sizes
from crowdstream_lab.datasets import Dataset

DEFAULT_SEED = 0
"""Seed of a file without a plan, which earlier versions wrote."""


class Journal:
    """Keeps the rows of a run, in a folder if one is given.

    Parameters
    ----------
    sets
        What is compared on.
    plan
        Shuffles, seed, limit and runs, as `compare` takes them.
    folder
        Where compare.json and, for a single set, outcomes.csv are written after every method.
    resume
        Take over what the folder has already.
    """

    def __init__(
        self,
        sets: Sequence[Dataset],
        plan: dict[str, Any],
        folder: Path | None = None,
        *,
        resume: bool = False,
    ) -> None:
        self.sets, self.plan, self.folder = sets, plan, folder
        self.rows: list[Row] = []
        self._outcomes: list[pl.DataFrame] = []
        self._old: dict[tuple[str, str], list[Row]] = {}
        if folder is not None and resume and (folder / "compare.json").exists():
            self._read(folder)

    def known(self, method: str, data: Dataset) -> list[Row]:
        """Rows of an earlier run that this one would make again; none if it has to be run.

        What ran to its end is taken over whatever its time limit was. What was over a limit is, if
        that was at least today's. Everything else is tried again.
        """
        rows = self._old.get((data.name, method), [])
        if not rows or (len(self.sets) == 1 and rows[0].outcomes is None and rows[0].status == OK):
            return []
        last = rows[-1]
        if last.status == OVER_LIMIT:
            return rows if _seconds(last.note) >= self.plan["limit"] else []
        if any(row.status != OK for row in rows):
            return []
        online = rows[0].prequential is not None
        wanted = [FILE, *(f"shuffle {n + 1}" for n in range(self.plan["shuffles"] * online))]
        return rows[: len(wanted)] if [x.order for x in rows][: len(wanted)] == wanted else []

    def add(self, rows: Sequence[Row]) -> None:
        """Keep the rows of a method on a set, and write all there are so far."""
        self.rows += rows
        if len(self.sets) == 1:
            self._outcomes += [row.outcomes for row in rows if row.outcomes is not None]
        if self.folder is None:
            return
        _replace(self.folder / "compare.json", json.dumps(self._report(), ensure_ascii=False))
        kept = [row.outcomes for row in self._waiting() if row.outcomes is not None]
        if len(self.sets) == 1 and (self._outcomes or kept):
            _replace(self.folder / "outcomes.csv", pl.concat(self._outcomes + kept).write_csv())

    def table(self) -> pl.DataFrame:
        """The long table: one line per row."""
        return pl.DataFrame([_cells(row) for row in self.rows], COLUMNS)

    def outcomes(self) -> pl.DataFrame | None:
        """Errors of single tasks, long: method, order, task, final, prequential; a single set's."""
        if not self._outcomes:
            return None
        return pl.concat(self._outcomes)

    def _waiting(self) -> list[Row]:
        """Rows of the earlier run that were not reached yet: this run may be ended too."""
        reached = {(row.set, row.method) for row in self.rows}
        return [row for key, rows in self._old.items() if key not in reached for row in rows]

    def _report(self) -> dict[str, Any]:
        """Return the report as far as it is known before the end."""
        return {
            "schema_version": SCHEMA,
            "plan": self.plan,
            "sets": [{"name": data.name, **sizes(data)} for data in self.sets],
            "rows": [_cells(row) for row in (*self.rows, *self._waiting())],
        }

    def _read(self, folder: Path) -> None:
        """Take in what a folder has of the same sets, by the same seed and number of runs."""
        path = folder / "compare.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            plan = found.get("plan", {})
            if plan.get("seed", DEFAULT_SEED) != self.plan["seed"]:
                return
            if plan.get("runs", self.plan["runs"]) != self.plan["runs"]:
                return
            now = [{"name": data.name, **sizes(data)} for data in self.sets]
            same = {each["name"] for each in found["sets"] if each in now}
            rows = [Row(**each) for each in found["rows"] if each["set"] in same]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(str(path), "a file that compare wrote", "something else") from error
        outcomes = self._read_outcomes(folder)
        for row in rows:
            kept = replace(row, outcomes=outcomes.get((row.method, row.order)))
            self._old.setdefault((row.set, row.method), []).append(kept)

    def _read_outcomes(self, folder: Path) -> dict[tuple[str, str], pl.DataFrame]:
        path = folder / "outcomes.csv"
        if len(self.sets) != 1 or not path.exists():
            return {}
        table = pl.read_csv(path, schema=OUTCOMES)
        tasks = self.sets[0].gold["task"].cast(pl.String).to_list()
        parts = table.group_by("method", "order", maintain_order=True)
        # Of the same tasks only: another file may have the same name and size.
        return {
            (str(method), str(order)): part
            for (method, order), part in parts
            if part["task"].to_list() == tasks
        }


def _cells(row: Row) -> dict[str, Any]:
    """A row's line of the long table."""
    return {name: getattr(row, name) for name in COLUMNS}


def _seconds(note: str) -> float:
    """The limit that a row was over, by its note; 0 if it was not tried.

    >>> _seconds("600 s"), _seconds("not tried: it was on rte, which is smaller")
    (600.0, 0.0)
    """
    number, _, unit = note.partition(" ")
    return float(number) if unit == "s" else 0.0


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all: a run may be ended at any time."""
    beside = path.with_name(path.name + ".part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
