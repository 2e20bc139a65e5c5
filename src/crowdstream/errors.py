"""Errors and warnings, in words a user can act on. Knows nothing of labels or estimators."""

from __future__ import annotations


class CrowdstreamError(Exception):
    """Every error this package raises on purpose."""


class InputError(CrowdstreamError, ValueError):
    """Input that is not what it should be: says where, what was expected, what was found.

    >>> str(InputError("row 3, column 'label'", "str, int or bool", "float 0.5"))
    "row 3, column 'label': expected str, int or bool, found float 0.5"
    """

    def __init__(self, where: str, expected: str, found: str) -> None:
        super().__init__(where, expected, found)
        self.where = where
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, found {self.found}"


class UsageError(CrowdstreamError, ValueError):
    """A call or a command line that contradicts itself or lacks something: one sentence."""


class StateError(CrowdstreamError, ValueError):
    """Bytes that are not a saved state, or no longer one (cut short, altered, too new)."""


class MergeError(CrowdstreamError, ValueError):
    """Two states that do not add up to one."""


class ServerError(CrowdstreamError):
    """A server refused a request, or could not be reached: its status (0), and what it said.

    >>> str(ServerError(404, "no project 'x'"))
    "404: no project 'x'"
    """

    def __init__(self, status: int, detail: str, path: str = "") -> None:
        super().__init__(status, detail, path)
        self.status = status
        self.detail = detail
        self.path = path

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{self.status}: {where}{self.detail}" if self.status else self.detail


class NotIdentifiable(UserWarning):
    """Error rates could not be estimated from the labels: fell back to majority vote."""


class AnswerRateInDoubt(UserWarning):
    """The answer rate that was given is not that of the labels."""


class SureInDoubt(UserWarning):
    """Known truths show that decisions which looked sure are wrong too often."""


class ManyClasses(UserWarning):
    """There are so many classes that workers' confusions of them are not learnt."""


class OddLabels(UserWarning):
    """Labels look like the same class in several spellings, or like no answer."""
