"""What the experiments share: a claim and its verdict, the paper's estimator, errors, bands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdstream.estimators import AgreementBased
from crowdstream.science.simulate import Simulated

if TYPE_CHECKING:
    import altair as alt

Floats: TypeAlias = NDArray[np.float64]
Tick: TypeAlias = Callable[[float], None]
"""Called with the share of an experiment's work done since the last call."""

BAND = 1.96
"""Standard errors on either side of a mean in the charts: 95 % of a normal distribution."""


CLIP = 0.05
"""Where decisions are made, error rates are kept this far from 0 and 1, where weights are infinite.
The paper does not say how far; this is what its table of real data was made with (see table2)."""


SETS = ("bird", "dog", "duchenne", "rte", "temp", "web")
"""The paper's real data sets, in the order of its tables."""


@dataclass(frozen=True)
class Claim:
    """Something the paper says, what must be measured for it to hold, and what was."""

    text: str
    wanted: str
    measured: str
    holds: bool


class Experiment(Protocol):
    """A figure or a table of the paper: each is a module of this folder."""

    TITLE: str
    PAPER: str

    def compute(self, quick: bool, tick: Tick) -> pl.DataFrame:
        """Run it; ``quick`` with fewer repetitions."""
        ...

    def claims(self, data: pl.DataFrame) -> list[Claim]:
        """What the paper says of it, checked."""
        ...

    def draw(self, data: pl.DataFrame) -> alt.TopLevelMixin:
        """The figure."""
        ...


def paper_crowd(answer_rate: float = 1.0, beta: float = 0.0, clip: float = 0.0) -> AgreementBased:
    """The paper's algorithm as printed: answer rate known, nothing shrunk."""
    memory = 1.0 / beta if beta else None
    return AgreementBased(answer_rate=answer_rate, memory=memory, shrinkage=0.0, clip=clip)


def estimates(crowd: AgreementBased) -> Floats:
    """p̂ of every worker; ½ where the fixed point does not exist, as in the paper."""
    return np.asarray(crowd.workers()["error_rate"].fill_null(0.5))


def wrong(decisions: pl.DataFrame, truth: NDArray[np.int64]) -> Floats:
    """Which decisions are wrong, by chance: a tie counts ½ in a vote between two."""
    missed = (decisions["label"].to_numpy() != truth).astype(float)
    return np.where(decisions["margin"].to_numpy() == 0, 0.5, missed)


def signs(block: Simulated) -> Floats:
    """X: +1 and −1 for the two classes, 0 for no answer."""
    said = block.matrix()
    return np.where(said < 0, 0.0, 1.0 - 2.0 * said)


def vote_errors(scores: Floats, truth: NDArray[np.int64]) -> Floats:
    """Errors of a vote whose sign decides, class 0 being positive; a tie counts ½."""
    return 0.5 - 0.5 * np.sign(scores) * (1 - 2 * truth)


def log_odds(p: Floats) -> Floats:
    """The best weights for known error rates; certainty is made finite."""
    sure = np.clip(p, 1e-12, 1 - 1e-12)
    return np.log(1 / sure - 1)


def summary(values: Sequence[float] | Floats) -> dict[str, float]:
    """A mean over repetitions and its band."""
    found = np.asarray(values, float)
    mean = float(found.mean())
    half = BAND * float(found.std(ddof=1)) / np.sqrt(found.size) if found.size > 1 else 0.0
    return {"mean": mean, "low": mean - half, "high": mean + half}


def with_band(data: pl.DataFrame, x: Any, y_title: str, colour: str, *, log: bool = False) -> Any:
    """Lines of means in their Monte-Carlo bands, a colour for each value of a column."""
    import altair as alt

    scale = alt.Scale(type="log") if log else alt.Scale(zero=False)
    title = None if colour == "method" or colour == "error" else colour
    tint = alt.Color(f"{colour}:N", title=title, legend=alt.Legend(symbolOpacity=1, labelLimit=0))
    chart = alt.Chart(data).encode(x=x, color=tint)
    band = chart.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    return band + chart.mark_line().encode(y=alt.Y("mean:Q", title=y_title, scale=scale))
