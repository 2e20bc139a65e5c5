"""Labels as they come in: one label, ids ↔ codes, labels of any kind → one coded `LabelBatch`."""

from crowdstream.labels.batch import LabelBatch
from crowdstream.labels.coded_labels import CodedLabels
from crowdstream.labels.coding import Intake, Row, Table, code_rows, code_table, row_values
from crowdstream.labels.columns import ColumnNames
from crowdstream.labels.gold import Truths, read_truths
from crowdstream.labels.label import (
    Answers,
    ClassLabel,
    Label,
    TaskId,
    WorkerId,
    clean_answers,
    clean_id,
    clean_label,
    shorten,
)
from crowdstream.labels.tables import ArrowTable, Kind, in_kind, kind_of
from crowdstream.labels.vocabulary import UNKNOWN, Vocabulary

__all__ = [
    "UNKNOWN",
    "Answers",
    "ArrowTable",
    "ClassLabel",
    "CodedLabels",
    "ColumnNames",
    "Intake",
    "Kind",
    "Label",
    "LabelBatch",
    "Row",
    "Table",
    "TaskId",
    "Truths",
    "Vocabulary",
    "WorkerId",
    "clean_answers",
    "clean_id",
    "clean_label",
    "code_rows",
    "code_table",
    "in_kind",
    "kind_of",
    "read_truths",
    "row_values",
    "shorten",
]
