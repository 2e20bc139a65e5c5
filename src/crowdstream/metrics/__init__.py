"""Scores of decisions and confidences, against the truth or expected."""

from crowdstream.metrics.distance import mean_distance
from crowdstream.metrics.expected import expected_errors
from crowdstream.metrics.scores import (
    BINS,
    Z95,
    brier,
    calibration_error,
    error_rate,
    reliability,
    wilson,
)
from crowdstream.metrics.sets import SetScores, set_f1

__all__ = [
    "BINS",
    "Z95",
    "SetScores",
    "brier",
    "calibration_error",
    "error_rate",
    "expected_errors",
    "mean_distance",
    "reliability",
    "set_f1",
    "wilson",
]
