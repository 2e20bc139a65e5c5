"""What came in: one label, one task's labels, ids ↔ codes, rows and tables → coded blocks."""

from crowdstream.labels.block import (
    ArrowTable,
    Block,
    Intake,
    Row,
    Table,
    code_block,
    first_appearances,
    row_values,
)
from crowdstream.labels.label import (
    Answers,
    ClassLabel,
    Label,
    TaskId,
    WorkerId,
    clean_id,
    clean_label,
    shorten,
)
from crowdstream.labels.vocabulary import UNKNOWN, Vocabulary

__all__ = [
    "UNKNOWN",
    "Answers",
    "ArrowTable",
    "Block",
    "ClassLabel",
    "Intake",
    "Label",
    "Row",
    "Table",
    "TaskId",
    "Vocabulary",
    "WorkerId",
    "clean_id",
    "clean_label",
    "code_block",
    "first_appearances",
    "row_values",
    "shorten",
]
