"""Scores → decisions: the winner, how sure it is, whether it is settled, and why a task closed."""
