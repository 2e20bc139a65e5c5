"""Defaults that users meet in several places: Python, command line, server, Spark."""

from __future__ import annotations

SETTLE = 0.95
"""Confidence from which a decision is settled, unless the caller says otherwise."""

MIN_LABELS = 2
"""Labels that a settled decision has at least: one worker alone settles nothing."""

LEVEL = 0.95
"""Of intervals, unless the caller says otherwise."""
