"""Decisions as crowd-kit's aggregators give them: a pandas Series ``agg_label`` by task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crowdstream.errors import CrowdstreamError
from crowdstream.writers.decided import Decisions, decided

if TYPE_CHECKING:
    import pandas as pd


def to_crowd_kit(decisions: Decisions) -> pd.Series[Any]:
    """The labels of tasks, as ``fit_predict`` of crowd-kit's aggregators returns them.

    Parameters
    ----------
    decisions
        A table with the columns task, label and confidence, or `Decision` objects.

    Examples
    --------
    >>> import crowdstream as cs
    >>> decision = cs.Decision("t1", "spam", 0.9, 0.8, 3, True, True)
    >>> cs.writers.to_crowd_kit([decision]).to_dict()
    {'t1': 'spam'}
    """
    try:
        import pandas as pd
    except ImportError:
        hint = "this needs pandas: pip install 'crowdstream[compat]'"
        raise CrowdstreamError(hint) from None
    found = decided(decisions)
    index = pd.Index(list(found), name="task", dtype=object)
    return pd.Series([one.label for one in found.values()], index, name="agg_label", dtype=object)
