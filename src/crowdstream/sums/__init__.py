"""Sums of agreement and confusions, forgetting, and groups of workers."""
