"""The paper's experiments, one module each: parameters, compute, claims, draw."""

import importlib
from typing import cast

from crowdstream_lab.experiments.common import Claim, Experiment

NAMES = (
    "ours",
    "worked",
    "assumption",
    "fig1",
    "fig2",
    "fig3",
    "fig4",
    "fig5",
    "fig6",
    "table1",
    "table2",
    "complexity",
    "lemmas",
    "theorems",
    "corollaries",
)
"""In the order of the paper."""

__all__ = ["NAMES", "Claim", "Experiment", "find"]


def find(name: str) -> Experiment:
    """The module of an experiment."""
    return cast("Experiment", importlib.import_module(f"{__name__}.{name}"))
