"""Decisions, back in the tools that the labels came from."""
