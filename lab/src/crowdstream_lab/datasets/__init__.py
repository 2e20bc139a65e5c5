"""Real crowds with a known truth, by name: at hand, in the cache, or from their public origin.

No data is kept in this package. A set is a folder with ``labels.csv`` (task, worker, label) and
``gold.csv`` (task, label). Knows nothing of estimators.
"""

from crowdstream.science.datasets.classes import binary, merge
from crowdstream.science.datasets.dataset import Dataset, Meta
from crowdstream.science.datasets.loading import VARIABLE, available, load, names
from crowdstream.science.datasets.registry import REGISTRY
from crowdstream.science.datasets.sources import Download, Entry, digest

__all__ = [
    "REGISTRY",
    "VARIABLE",
    "Dataset",
    "Download",
    "Entry",
    "Meta",
    "available",
    "binary",
    "digest",
    "load",
    "merge",
    "names",
]
