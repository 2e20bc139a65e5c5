"""Real crowds with a known truth, by name: at hand, in the cache, or from their public origin.

No data is kept in this package. A set is a folder with ``labels.csv`` (task, worker, label) and
``gold.csv`` (task, label). Knows nothing of estimators.
"""

from crowdstream_lab.datasets.classes import binary, merge
from crowdstream_lab.datasets.dataset import Dataset, Meta
from crowdstream_lab.datasets.loading import VARIABLE, available, load, names
from crowdstream_lab.datasets.registry import REGISTRY
from crowdstream_lab.datasets.sources import Download, Entry, digest

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
