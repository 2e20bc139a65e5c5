"""`crowdstream version`."""

from __future__ import annotations

import crowdstream


def version() -> None:
    """Print the version.

    \b
    Example:
      crowdstream version
    """
    print(f"crowdstream {crowdstream.__version__}")
