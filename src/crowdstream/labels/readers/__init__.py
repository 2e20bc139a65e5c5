"""Files of labels → `CodedLabels`. One file per format; knows nothing of crowds.

Every value is read as text, so that the same labels are the same whatever file they came in.
"""

from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.files import find_sources, read_all, read_batches
from crowdstream.labels.readers.input_options import InputOptions, make_options
from crowdstream.labels.readers.sources import Source

__all__ = [
    "BadRows",
    "InputOptions",
    "Source",
    "find_sources",
    "make_options",
    "read_all",
    "read_batches",
]
