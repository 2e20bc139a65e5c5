"""Parts that experiments share: claims and verdicts, means with bands, lines drawn in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdstream import theme

if TYPE_CHECKING:
    import altair as alt

Floats: TypeAlias = NDArray[np.float64]
Tick: TypeAlias = Callable[[float], None]
"""Called with the share of an experiment's work done since the last call."""

Source: TypeAlias = Literal["paper", "ours"]

Verdict: TypeAlias = Literal["holds", "does not hold", "our reading", "cannot be told"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""In the order in which they are counted."""

BAND = 1.96
"""Standard errors on either side of a mean in the charts: 95 % of a normal distribution."""

CLIP = 0.05
"""Error rates kept this far from 0 and 1 where decisions are made, if at all. The paper does not
clip; its table of real data was made with something like this (see table2)."""

SETS = ("bird", "dog", "duchenne", "rte", "temp", "web")
"""The paper's real data sets, in the order of its tables."""


@dataclass(frozen=True)
class Claim:
    """A sentence, what must be measured for it to hold, what was, and whether it does.

    Parameters
    ----------
    text, wanted, measured
        The sentence, how it is read, and what was found.
    holds
        Whether it holds as it is read.
    source
        Whose sentence it is: the paper's, which may be wrong, or ours, which may not.
    otherwise
        Whether it holds by another fair reading, which ``wanted`` names too; None if there is none.
        Where the two differ, the verdict is "our reading".
    decided
        Whether the measurement can tell. False where noise is as large as what is asked for.
    """

    text: str
    wanted: str
    measured: str
    holds: bool
    source: Source = "paper"
    otherwise: bool | None = None
    decided: bool = True

    @property
    def verdict(self) -> Verdict:
        """One of four; what cannot be measured is said before how it is read."""
        if not self.decided:
            return "cannot be told"
        if self.otherwise is not None and self.otherwise != self.holds:
            return "our reading"
        return "holds" if self.holds else "does not hold"

    @property
    def is_our_bug(self) -> bool:
        """True if it is a promise of ours that does not hold, which ends the command with 1."""
        return self.source == "ours" and self.verdict != "holds"


@dataclass(frozen=True)
class Use:
    """A stream on which an experiment uses the algorithm: X(1), X(2), … in rows, α and β.

    ``x`` has −1, 0 (no answer) and +1, one row per task and one column per worker. ``clip`` is what
    decisions are made with, beside the paper's 0.
    """

    name: str
    x: Floats
    alpha: float = 1.0
    beta: float = 0.0
    clip: float = 0.0


class Experiment(Protocol):
    """A figure or a table of the paper: each is a module of this folder."""

    TITLE: str
    PAPER: str

    def compute(self, quick: bool, tick: Tick) -> pl.DataFrame:
        """Run it; ``quick`` with fewer repetitions."""
        ...

    def claims(self, data: pl.DataFrame) -> list[Claim]:
        """Check the paper's claims, and ours."""
        ...

    def draw(self, data: pl.DataFrame) -> alt.TopLevelMixin | None:
        """The figure; None where the claims are table enough."""
        ...

    def uses(self) -> list[Use]:
        """Labels on which the product is compared with the paper's algorithm; may be none."""
        ...


def parts(repetitions: int, size: int) -> list[int]:
    """Repetitions in parts that fit into memory together."""
    whole, rest = divmod(repetitions, size)
    return [size] * whole + [rest] * bool(rest)


def summary(values: Sequence[float] | Floats) -> dict[str, float]:
    """A mean over repetitions and its band."""
    found = np.asarray(values, float)
    mean = float(found.mean())
    half = BAND * float(found.std(ddof=1)) / np.sqrt(found.size) if found.size > 1 else 0.0
    return {"mean": mean, "low": mean - half, "high": mean + half}


def listed(values: Sequence[float] | Floats, digits: str = ".3f") -> str:
    """Numbers as text."""
    return ", ".join(format(float(value), digits) for value in values).replace("-", "−")


def powers_of_ten(low: int, high: int) -> Any:
    """A logarithmic axis with lines at powers of ten only."""
    import altair as alt

    return alt.Axis(values=[10.0**k for k in range(low, high + 1)], format="~g")


def with_band(data: pl.DataFrame, x: Any, y: Any, colour: Any) -> Any:
    """Lines of ``mean`` in Monte-Carlo bands from ``low`` to ``high``, by colour."""
    import altair as alt

    base = alt.Chart(data).encode(x=x, color=colour)
    band = base.mark_area(opacity=0.18, clip=True).encode(y=y, y2="high:Q")
    return band.encode(y=alt.Y("low:Q")) + base.mark_line(clip=True).encode(y=y)


def ordered(field: str, title: str) -> Any:
    """Colours of what has an order."""
    import altair as alt

    return alt.Color(
        f"{field}:O",
        title=title,
        scale=alt.Scale(range=theme.RAMP),
        legend=alt.Legend(symbolType="stroke"),
    )


def named(field: str, colours: dict[str, str]) -> Any:
    """Colours of what has a name."""
    import altair as alt

    return alt.Color(
        f"{field}:N",
        title=None,
        scale=alt.Scale(domain=list(colours), range=[theme.LIGHT[c] for c in colours.values()]),
        legend=alt.Legend(symbolType="stroke"),
    )
