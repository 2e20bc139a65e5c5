"""Whom to trust, in codes: models read sums and score tasks. Arrays in, arrays out."""
