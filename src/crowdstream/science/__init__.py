"""Beside the journey: simulation, and what will stand on it."""
