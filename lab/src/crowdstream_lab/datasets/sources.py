"""Sources of public data sets: where they are downloaded, and how their files are read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import polars as pl

from crowdstream_lab.datasets.dataset import GOLD, Meta

Reader: TypeAlias = Callable[[str], pl.DataFrame]
"""The text of a file → those of the columns task, worker, label and gold that it has."""


@dataclass(frozen=True)
class Download:
    """The files of a set in a public repository at a commit, and how to read them.

    ``sha256`` is that of both tables once read (see `digest`), so that it vouches for what is
    used: a file that changed or was misread is refused. Without a file of its own, the truth is a
    column of the labels' file.

    Parameters
    ----------
    repository
        Owner and name on GitHub, with a slash between.
    commit
        The hash of the commit.
    labels, gold
        The paths of the two files in the repository; gold is None without a file of its own.
    read_labels, read_gold
        Functions from the text of these files to tables; read_gold is None as gold is.
    sha256
        The checksum of both tables, in hexadecimal.

    Examples
    --------
    >>> read = columns_reader("task", "worker", "label", "gold")
    >>> Download("me/crowds", "0a1b2c", "all.txt", read, sha256="").gold is None
    True
    """

    repository: str
    commit: str
    labels: str
    read_labels: Reader
    sha256: str
    gold: str | None = None
    read_gold: Reader | None = None

    def url(self, path: str) -> str:
        """Return the address of a file.

        Parameters
        ----------
        path
            Its path in the repository.

        Examples
        --------
        >>> read = columns_reader("task", "worker", "label", "gold")
        >>> Download("me/crowds", "0a1b2c", "all.txt", read, sha256="").url("all.txt")
        'https://raw.githubusercontent.com/me/crowds/0a1b2c/all.txt'
        """
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{path}"


@dataclass(frozen=True)
class Entry:
    """A known public set; one without a download has to be made by hand from its origin.

    Parameters
    ----------
    meta
        What is known of the set.
    download
        Where to get it and how to read it; None if it cannot be downloaded as it is.

    Examples
    --------
    >>> Entry(Meta("Mine", origin="https://example.org")).download is None
    True
    """

    meta: Meta
    download: Download | None = None


def digest(labels: pl.DataFrame, gold: pl.DataFrame) -> str:
    """The sha256 of two tables as CSV, gold sorted by task (its order means nothing).

    Parameters
    ----------
    labels
        The labels: a table of text with the columns task, worker and label.
    gold
        The truths: a table of text with the columns task and label.

    Examples
    --------
    >>> labels = pl.DataFrame({"task": ["t"], "worker": ["w1"], "label": ["1"]})
    >>> digest(labels, pl.DataFrame({"task": ["t"], "label": ["1"]}))[:16]
    'a6fc776170874e96'
    """
    text = labels.write_csv() + gold.sort("task").write_csv()
    return hashlib.sha256(text.encode()).hexdigest()


def columns_reader(*columns: str, separator: str | None = None, header: bool = False) -> Reader:
    """A reader of lines of fields, of which the first are the columns named."""

    def read(text: str) -> pl.DataFrame:
        rows = [line.split(separator) for line in text.splitlines() if line][header:]
        return pl.DataFrame({name: [row[i] for row in rows] for i, name in enumerate(columns)})

    return read


def cubam_labels(text: str) -> pl.DataFrame:
    """``worker: {task: true, task: false, …}`` for each worker."""
    found = re.findall(r"(\d+): \{(.*?)\}", text, re.DOTALL)
    tables = [
        cubam_gold(body).insert_column(1, pl.lit(worker).alias("worker")) for worker, body in found
    ]
    return pl.concat(tables)


def cubam_gold(text: str) -> pl.DataFrame:
    """``task: true, task: false, …``."""
    found = re.findall(r"(\d+): (true|false)", text)
    rows = [(task, "1" if answer == "true" else "0") for task, answer in found]
    return pl.DataFrame(rows, schema=GOLD, orient="row")


NONE_STATED = "none stated in the repository"
"""Words for a licence of which the origin says nothing."""


def _tree(repository: str, commit: str) -> str:
    return f"https://github.com/{repository}/tree/{commit}"


def known(
    download: Download, title: str, citation: str, licence: str = NONE_STATED, notes: str = ""
) -> Entry:
    """An entry whose origin is the tree it is downloaded from."""
    origin = _tree(download.repository, download.commit)
    return Entry(Meta(title, origin, citation, licence, notes), download)


def spectral(stem: str, sha256: str) -> Download:
    """Describe a set of Zhang et al.: task, worker, label; the truth may stand there twice."""
    return Download(
        "zhangyuc/SpectralMethodsMeetEM",
        "6204f5fcab1766cb1b2c40fc1bff53b1613ddc6c",
        f"src/{stem}_crowd.txt",
        columns_reader("task", "worker", "label"),
        sha256,
        f"src/{stem}_truth.txt",
        columns_reader("task", "label"),
    )


def snow(stem: str, sha256: str) -> Download:
    """Describe a set of Snow et al.: annotation, worker, task, response, gold, with a header."""
    fields = "annotation", "worker", "task", "label", "gold"
    read = columns_reader(*fields, separator="\t", header=True)
    commit = "f98448e2e9a941463aa92f418eefd1f43bd5a637"
    path = f"all_collected_data/{stem}.standardized.tsv"
    return Download("edwinrobots/bayesian_combination_tutorial2", commit, path, read, sha256)


def toolkit(stem: str, sha256: str) -> Download:
    """Describe a set of the ActiveCrowdToolkit: worker, task, label, gold and perhaps seconds."""
    commit = "2c0c194e85ca126545bd830d811ec39151bdd448"
    read = columns_reader("worker", "task", "label", "gold", separator=",")
    repository = "orchidproject/active-crowd-toolkit"
    return Download(repository, commit, f"Data/{stem}.csv", read, sha256)


def at_scale(folder: str, sha256: str) -> Download:
    """Describe a set of Li et al.: item, worker, label and item, truth, with headers."""
    return Download(
        "yuan-li/truth-inference-at-scale",
        "621789b2d57324d3559dc973b2613d2296d73f55",
        f"data/{folder}/label.csv",
        columns_reader("task", "worker", "label", separator=",", header=True),
        sha256,
        f"data/{folder}/truth.csv",
        columns_reader("task", "label", separator=",", header=True),
    )
