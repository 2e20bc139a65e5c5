"""Runs the command line as ``python -m crowdstream``."""

from crowdstream.cli import entry

if __name__ == "__main__":
    entry()
