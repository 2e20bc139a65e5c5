"""pandas, or the line that installs it."""

from crowdstream.errors import CrowdstreamError

try:
    import pandas as pd
except ImportError as missing:
    raise CrowdstreamError(
        "crowdstream.compat.crowdkit needs pandas: pip install 'crowdstream[compat]'"
    ) from missing

__all__ = ["pd"]
