"""Decisions → the form that the tools take which the labels came from. Knows nothing of files.

Each writer takes decisions as `Estimator.fit_predict` or `Stream` give them, or as a table that was
read from a file of decisions.
"""

from crowdstream.writers.crowd_kit import to_crowd_kit
from crowdstream.writers.ground_truth import consolidate, to_ground_truth
from crowdstream.writers.label_studio import to_label_studio
from crowdstream.writers.mturk import to_mturk

__all__ = ["consolidate", "to_crowd_kit", "to_ground_truth", "to_label_studio", "to_mturk"]
