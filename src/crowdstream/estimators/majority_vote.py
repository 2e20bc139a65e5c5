"""`MajorityVote`: every vote counts the same."""

from __future__ import annotations

from dataclasses import dataclass

from crowdstream.decisions.ties import Ties
from crowdstream.estimators.estimator import Estimator
from crowdstream.models.majority import Majority
from crowdstream.models.model import Model


@dataclass(eq=False, repr=False)
class MajorityVote(Estimator):
    """The class most workers chose. The baseline: any estimator that weighs votes must beat it.

    Confidence is the share of the votes by the rule of succession, ``(votes + 1)/(m + K)``.

    Parameters
    ----------
    ties, seed
        ``"coin"`` breaks ties at random by this seed, ``"lowest"`` by the order of the classes.

    Examples
    --------
    >>> crowd = MajorityVote()
    >>> crowd.learn_one({"ann": "spam", "bob": "ham", "cy": "spam"})
    >>> found = crowd.predict_proba_one({"ann": "spam", "bob": "ham", "cy": "spam"})
    >>> {label: round(share, 3) for label, share in found.items()}
    {'spam': 0.6, 'ham': 0.4}
    """

    ties: Ties = "coin"
    seed: int = 0

    def make_model(self) -> Model:
        """Return a model that counts votes.

        Examples
        --------
        >>> type(MajorityVote().make_model()).__name__
        'Majority'
        """
        return Majority()
