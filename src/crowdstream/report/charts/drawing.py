"""Parts that all charts of the report share: titles, axes of names, choice of workers, theme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crowdstream.errors import InputError
from crowdstream.extras import need
from crowdstream.theme import LETTER_WIDTH, LIGHT

if TYPE_CHECKING:
    import altair as alt

    from crowdstream.estimators import Estimator
    from crowdstream.stream.stream import Stream

BLUE, ORANGE, GREY, BAND, INK = (LIGHT[name] for name in ("accent", "warn", "soft", "band", "ink"))
"""Colours that those who do not see red and green can tell apart."""

PERCENT = "~%"


def crowd_of(crowd: Estimator | Stream) -> Estimator:
    """The estimator, also of a stream."""
    from crowdstream.estimators import Estimator
    from crowdstream.labels import shorten
    from crowdstream.stream.stream import Stream

    if isinstance(crowd, Stream):
        return crowd.crowd
    if not isinstance(crowd, Estimator):
        raise InputError("crowd", "an estimator or a stream", shorten(crowd))
    return crowd


def ready() -> None:
    """Refuse to draw without the packages that draw."""
    need("altair", "vl_convert", extra="report")


def title(text: str, *small: str) -> alt.TitleParams:
    """A title over lines of what is seen."""
    import altair as alt

    return alt.TitleParams(
        text,
        subtitle=[line for line in small if line],
        anchor="start",
        fontSize=16,
        subtitleFontSize=12,
        offset=12,
    )


def names_axis(field: str, names: Sequence[str], **more: Any) -> alt.Y:
    """An axis of names from top to bottom, with room for the longest in the widest letters."""
    import altair as alt

    room = LETTER_WIDTH * max(map(len, names), default=0)
    axis = alt.Axis(
        grid=True, gridOpacity=0.4, labelLimit=0, ticks=False, domain=False, minExtent=room
    )
    return alt.Y(f"{field}:N", title=None, sort=list(names), axis=axis, **more)
