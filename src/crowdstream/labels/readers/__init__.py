"""Files of labels → `CodedLabels`. One file per format; knows nothing of crowds.

Every value is read as text, so that the same labels are the same whatever file they came in.
"""

from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.files import Source, find_sources, read_all, read_batches

__all__ = ["BadRows", "Source", "find_sources", "read_all", "read_batches"]
