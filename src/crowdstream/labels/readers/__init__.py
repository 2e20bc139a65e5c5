"""Files of labels → tables of three text columns. One file a format; knows nothing of crowds.

Every value is read as text, so that the same labels are the same whatever file they came in.
"""

from crowdstream.labels.readers.columns import Names
from crowdstream.labels.readers.files import Source, find_sources, read_all, read_batches
from crowdstream.labels.readers.trouble import Trouble

__all__ = ["Names", "Source", "Trouble", "find_sources", "read_all", "read_batches"]
