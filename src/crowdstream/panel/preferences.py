"""`preferences`: which items judges prefer, and which judges tell them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from crowdstream.errors import InputError
from crowdstream.estimators.estimator import NativeTable
from crowdstream.labels import in_kind
from crowdstream.labels.tables import value_series
from crowdstream.metrics import Z95
from crowdstream.monitoring.estimator_view import as_polars
from crowdstream.panel.bradley_terry import Bools, Comparisons, Floats, Ints, Ratings, fit
from crowdstream.panel.comparisons import PairColumns, Pairs, PairTable, read_pairs
from crowdstream.panel.wording import listed
from crowdstream.plain_text import NAME_LENGTH, counted, printable, shortened
from crowdstream.sums.groups import connected
from crowdstream.validation import one_of

if TYPE_CHECKING:
    import polars as pl

ONE_SIDED = 8
"""Decisions, all for one position, from which on a judge is taken to look at nothing else: a judge
without a lean who compares equals does so less than once in a hundred times."""

MOST = 3000
"""Items and judges together, at most: what is fitted is a matrix of twice as many rows."""

SHOWN = 15
"""Items and judges that the summary shows."""

Position = Literal["worker", "shared", "none"]


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """Ratings of items and discriminations of judges, with 95 % intervals.

    Attributes
    ----------
    items
        One row per item, the best first: ``item``, ``rating`` with ``low`` and ``high``,
        ``comparisons``, ``won`` (the share, ties as halves), ``plain`` (the rating if all judges
        were alike), ``group`` (ratings are comparable within a group only).
    workers
        One row per judge: ``worker``, ``comparisons``, ``discrimination`` with ``low`` and ``high``
        (1 is the mean, 0 guesses, below 0 prefers the worse), ``lean`` to what is shown first with
        its interval, ``flag``.
    comparisons, ties
        How many there are.
    groups
        How many groups of items no comparison connects.
    notes
        What to know of these comparisons, in plain words.
    """

    items: NativeTable
    workers: NativeTable
    comparisons: int
    ties: int
    groups: int
    notes: list[str]

    def __repr__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The findings in plain words.

        Examples
        --------
        >>> import crowdstream as cs
        >>> rows = [("x", "y", "gpt", "a"), ("y", "x", "gpt", "b"), ("x", "y", "gpt", "tie")]
        >>> print(cs.preferences(rows).summary().splitlines()[0])
        3 comparisons (1 a tie) of 2 items by 1 judge
        """
        items, judges = as_polars(self.items), as_polars(self.workers)
        sizes = f"{counted(items.height, 'item')} by {counted(judges.height, 'judge')}"
        lines = [f"{counted(self.comparisons, 'comparison')} ({self.ties:,} a tie) of {sizes}"]
        lines += _lines(items["item"], items, "item", "rating")
        lines += _lines(judges["worker"], judges, "judge", "discrimination")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _lines(named: pl.Series, table: pl.DataFrame, who: str, what: str) -> list[str]:
    """The first rows of a table."""
    shown = table.head(SHOWN)
    names = [shortened(printable(name), NAME_LENGTH) for name in named.head(SHOWN)]
    width = max(map(len, [who, *names]))
    lines = [f"{who:<{width}}  {what} (95 %)"]
    for name, value, low, high in zip(names, shown[what], shown["low"], shown["high"], strict=True):
        interval = "" if low is None else f" ({low:.2f} to {high:.2f})"
        lines.append(f"{name:<{width}}  {value:.2f}{interval}")
    rest = table.height - shown.height
    return [*lines, f"… and {rest:,} more"] if rest else lines


def preferences(
    comparisons: PairTable,
    *,
    position: Position = "worker",
    item_a: str | None = None,
    item_b: str | None = None,
    worker: str | None = None,
    winner: str | None = None,
) -> Preferences:
    """Rank items by the judges' preferences, and rate how well each judge tells items apart.

    Judge j prefers item a, shown first, to b with probability
    ``sigmoid(σ_j (θ_a − θ_b) + β_j)``: Bradley and Terry's model with a discrimination σ_j and a
    lean β_j of every judge. A judge who guesses has σ near 0 and no say, one who prefers the worse
    has σ below 0 and is read the other way round, and who leans to what is shown first is corrected
    for it. A judge of eight or more decisions who picked one position always is left out.

    A tie counts as half a win of either. Ratings are relative: their mean is 0. The scale is fixed
    by a mean discrimination of 1, which assumes that judges prefer the better item on average.
    Weak normal priors (standard deviation 3 of ratings; 1 of discriminations around 1, and of
    leans) keep everything finite. Intervals come from the information and the residuals (a
    sandwich); comparisons are taken to be independent of one another.

    Parameters
    ----------
    comparisons
        A table of any kind, or rows: two items, a judge and the winner. ``item_a`` was shown first;
        the winner is "a", "b", "tie" or an item's own name, ``None`` where there is none. Columns
        may also be called model_a, model_b, preference and the like; without a judge's column there
        is one judge.
    position
        Whether every "worker" has a lean of its own, one is "shared" by all, or there is "none":
        say so where ``item_a`` is not what was shown first, such as always the candidate.
    item_a, item_b, worker, winner
        Names of the columns, where they are not the usual ones.

    Examples
    --------
    >>> import crowdstream as cs
    >>> rows = [("new", "old", "gpt", "a"), ("old", "new", "gpt", "b")] * 8
    >>> rows += [("new", "old", "first", "a"), ("old", "new", "first", "a")] * 8
    >>> found = cs.preferences(rows)
    >>> found.items["item"].to_list()
    ['new', 'old']
    >>> found.workers.select("worker", "discrimination", "flag").rows()
    [('gpt', 1.0, None), ('first', 0.0, 'one_sided')]
    """
    one_of("worker", "shared", "none")("position", position)
    pairs = read_pairs(comparisons, PairColumns(item_a, item_b, worker, winner))
    if len(pairs.items) + len(pairs.judges) > MOST:
        many = f"{len(pairs.items) + len(pairs.judges):,}"
        raise InputError("comparisons", f"at most {MOST:,} items and judges", many)
    one_sided = _one_sided(pairs) & (position != "none")
    made = _comparisons(pairs, position)
    used = made.only(~one_sided[pairs.judge])
    groups = connected(made.items, used.first, used.second).astype(np.int64)
    found = fit(used, groups, ~one_sided)
    plain = fit(made, groups, ~one_sided, alike=True)
    return Preferences(
        items=in_kind(_item_table(pairs, found, plain, groups, used), pairs.kind),
        workers=in_kind(_worker_table(pairs, found, made, one_sided), pairs.kind),
        comparisons=pairs.won.size,
        ties=int((pairs.won == 0.5).sum()),
        groups=np.unique(groups).size,
        notes=_notes(pairs, found, groups, one_sided),
    )


def _one_sided(pairs: Pairs) -> Bools:
    """Judges who decided often enough, and always for one position."""
    n = len(pairs.judges)
    decided = pairs.won != 0.5
    total = np.bincount(pairs.judge[decided], minlength=n)
    first = np.bincount(pairs.judge[decided], pairs.won[decided], n)
    ties = np.bincount(pairs.judge[~decided], minlength=n)
    return np.asarray((total >= ONE_SIDED) & ((first == 0) | (first == total)) & (ties < total))


def _comparisons(pairs: Pairs, position: Position) -> Comparisons:
    n = len(pairs.judges)
    leans: dict[str, Ints] = {
        "worker": np.arange(n),
        "shared": np.zeros(n, np.int64),
        "none": np.full(n, -1),
    }
    return Comparisons(
        pairs.first, pairs.second, pairs.judge, pairs.won, len(pairs.items), n, leans[position]
    )


def _item_table(
    pairs: Pairs, found: Ratings, plain: Ratings, groups: Ints, used: Comparisons
) -> pl.DataFrame:
    import polars as pl

    n = len(pairs.items)
    error, _, _ = found.errors()
    met = np.bincount(pairs.first, minlength=n) + np.bincount(pairs.second, minlength=n)
    won = np.bincount(pairs.first, pairs.won, n) + np.bincount(pairs.second, 1.0 - pairs.won, n)
    alone = np.bincount(used.first, minlength=n) + np.bincount(used.second, minlength=n) == 0
    _, numbers = np.unique(groups, return_inverse=True)
    table = pl.DataFrame(
        [
            value_series("item", pairs.items),
            pl.Series("rating", found.rating),
            *_interval(found.rating, error, ~alone),
            pl.Series("comparisons", met),
            pl.Series("won", won / met),
            pl.Series("plain", plain.rating),
            pl.Series("group", numbers + 1),
        ]
    )
    return table.sort(["group", "rating"], descending=[False, True], maintain_order=True)


def _interval(
    value: Floats, error: Floats, known: Bools, names: tuple[str, str] = ("low", "high")
) -> list[pl.Series]:
    """Limits of 95 %; null where nothing is known."""
    import polars as pl

    unknown = pl.Series(~known)
    return [
        pl.Series(name, value + sign * Z95 * error).set(unknown, None)
        for name, sign in zip(names, (-1.0, 1.0), strict=True)
    ]


def _worker_table(
    pairs: Pairs, found: Ratings, made: Comparisons, one_sided: Bools
) -> pl.DataFrame:
    import polars as pl

    n = len(pairs.judges)
    _, error, lean_error = found.errors()
    known = ~one_sided
    value = np.where(known, found.discrimination, 0.0)
    low, high = _interval(value, error, known)
    columns = [
        value_series("worker", pairs.judges),
        pl.Series("comparisons", np.bincount(pairs.judge, minlength=n)),
        pl.Series("discrimination", value),
        low,
        high,
    ]
    if made.leans:
        lean, spread = found.lean[made.lean], lean_error[made.lean]
        columns.append(pl.Series("lean", lean).set(pl.Series(one_sided), None))
        columns += _interval(lean, spread, known, ("lean_low", "lean_high"))
    flags = np.select(
        [one_sided, value + Z95 * error < 0.0, value - Z95 * error <= 0.0],
        ["one_sided", "prefers_the_worse", "may_guess"],
        "",
    )
    if np.count_nonzero(known) == 1:  # it makes the mean: nothing to compare it with
        flags = np.where(one_sided, flags, "")
    columns.append(pl.Series("flag", [flag or None for flag in flags.tolist()], pl.String))
    return pl.DataFrame(columns).sort("discrimination", descending=True, maintain_order=True)


def _notes(pairs: Pairs, found: Ratings, groups: Ints, one_sided: Bools) -> list[str]:
    notes = []
    if pairs.left_out:
        rows = counted(pairs.left_out, "row")
        notes.append(f"{rows} left out: no winner, or an item compared with itself")
    number = np.unique(groups).size
    if number > 1:
        notes.append(
            f"no comparison connects {number:,} groups of items: ratings of different groups "
            "cannot be compared"
        )
    if one_sided.any():
        who = listed(name for name, one in zip(pairs.judges, one_sided, strict=True) if one)
        notes.append(
            f"picked item_a always, or always item_b, so they have no say: {who} (if items are in "
            "no order in which they were shown, say position='none')"
        )
    if one_sided.all():
        notes.append("no judge is left: the ratings say nothing")
    elif not found.scaled:
        notes.append("judges have no opinion in common: which end of the ratings is up is a guess")
    else:
        notes.append("taken for granted: judges prefer the better item on average")
    return notes
