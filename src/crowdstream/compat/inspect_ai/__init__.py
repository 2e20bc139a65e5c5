"""Panels of scorers in inspect_ai: a learnt vote in place of `mode`, and how independent they are.

`judge` says who a scorer is, `learned_vote` reduces the scores of a panel, `rescore` decides a
whole log at once, `effective_judges` is a metric. In inspect_ai's registry they are called
``crowdstream/learned_vote`` and ``crowdstream/effective_judges``. Needs ``crowdstream[judges]``.
"""

try:
    import inspect_ai  # noqa: F401 to say what to install without it
except ModuleNotFoundError as missing:
    if missing.name != "inspect_ai":
        raise
    raise ModuleNotFoundError(
        "crowdstream.compat.inspect_ai needs inspect_ai: pip install 'crowdstream[judges]'"
    ) from missing

from crowdstream.compat.inspect_ai.logs import Rescored, panel_votes, rescore
from crowdstream.compat.inspect_ai.metric import effective_judges
from crowdstream.compat.inspect_ai.reducer import learned_vote
from crowdstream.compat.inspect_ai.scores import judge

__all__ = ["Rescored", "effective_judges", "judge", "learned_vote", "panel_votes", "rescore"]
