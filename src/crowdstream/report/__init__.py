"""The report: what a crowd came to, on one page that needs nothing else, and its charts.

Knows estimators, monitors and tables of decisions; nothing of options or terminals. Here is
nothing, so that its parts load only what they need.
"""
