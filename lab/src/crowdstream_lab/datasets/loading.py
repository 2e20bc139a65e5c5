"""Data sets by name: at hand, in the cache, or from their public origin."""

from __future__ import annotations

import difflib
import os
import tempfile
from pathlib import Path

import polars as pl

from crowdstream import InputError
from crowdstream_lab.datasets.dataset import GOLD, LABELS, Dataset, Meta
from crowdstream_lab.datasets.registry import REGISTRY
from crowdstream_lab.datasets.sources import Download, digest

VARIABLE = "CROWDSTREAM_DATA"
"""The environment variable that names a folder of data sets, looked into before anywhere else."""


CACHE = "crowdstream"
"""Name of this package's folder in the user's cache."""


def names() -> list[str]:
    """All sets that `load` knows of: the public ones, and those in your folder.

    Examples
    --------
    >>> [name for name in ("bird", "dog", "duchenne", "rte", "temp", "web") if name in names()]
    ['bird', 'dog', 'duchenne', 'rte', 'temp', 'web']
    """
    return sorted({*REGISTRY, *_at_hand()})


def available() -> list[str]:
    """The sets that can be loaded now without a network.

    Examples
    --------
    >>> set(available()) <= set(names())
    True
    """
    return sorted(_at_hand())


def load(name: str) -> Dataset:
    """A data set: from the folder `VARIABLE` names, else the cache, else its public origin.

    Any folder of yours there that has ``labels.csv`` and ``gold.csv`` is a set of that name.

    Parameters
    ----------
    name
        One of `names`: a public set, or a folder of yours.

    Examples
    --------
    >>> load("brid")
    Traceback (most recent call last):
    crowdstream.errors.InputError: data set: expected one of bird, ... found 'brid' (did you mean
    'bird'?)
    """
    folder = _at_hand().get(name)
    entry = REGISTRY.get(name)
    if folder is None:
        if entry is None:
            raise _unknown(name)
        if entry.download is None:
            raise InputError(
                f"data set {name!r}",
                _by_hand(name, entry.meta),
                "no such folder (this set cannot be downloaded as it is)",
            )
        folder = _fetch(name, entry.meta, entry.download)
    return Dataset(
        name,
        _read_csv(folder / "labels.csv", LABELS),
        _read_gold(folder / "gold.csv"),
        Meta(title=name) if entry is None else entry.meta,
    )


def _at_hand() -> dict[str, Path]:
    """The folders of the sets on this machine, by name."""
    roots = [Path(os.environ[VARIABLE])] if os.environ.get(VARIABLE) else []
    roots.append(_cache())
    found: dict[str, Path] = {}
    for root in roots:
        for labels in root.glob("*/labels.csv"):
            if (labels.parent / "gold.csv").is_file():
                found.setdefault(labels.parent.name, labels.parent)
    return found


def _cache() -> Path:
    """The folder where sets are kept that were downloaded."""
    import pooch

    return Path(pooch.os_cache(CACHE))


def _unknown(name: str) -> InputError:
    known = names()
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    folder = f"a folder with labels.csv and gold.csv in ${VARIABLE}"
    return InputError("data set", f"one of {', '.join(known)}, or {folder}", repr(name) + hint)


def _by_hand(name: str, meta: Meta) -> str:
    return (
        f"${VARIABLE}/{name}/labels.csv (task,worker,label) and gold.csv (task,label), "
        f"made from {meta.origin}"
    )


def _read_csv(path: Path, columns: tuple[str, ...]) -> pl.DataFrame:
    """A file's columns as text."""
    try:
        table = pl.read_csv(path, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise InputError(str(path), "a table", str(error).splitlines()[0]) from None
    missing = [name for name in columns if name not in table.columns]
    if missing:
        found = ", ".join(table.columns) or "no column"
        raise InputError(str(path), f"columns {', '.join(columns)}", found)
    return table.select(columns)


def _read_gold(path: Path) -> pl.DataFrame:
    gold = _read_csv(path, GOLD).drop_nulls()
    twice = gold.filter(pl.col("task").is_duplicated())
    if twice.height:
        raise InputError(str(path), "one row per task", f"more for task {twice['task'][0]!r}")
    return gold


def _fetch(name: str, meta: Meta, download: Download) -> Path:
    """The folder in the cache, once its origin was downloaded, read, checked and written there."""
    where = f"data set {name!r}"
    try:
        labels, gold = _download(download)
    except (OSError, ValueError, IndexError) as error:  # no network, or another file than expected
        raise InputError(where, _by_hand(name, meta), f"no such folder, and {error}") from error
    found = digest(labels, gold)
    if found != download.sha256:
        url = download.url(download.labels)
        raise InputError(where, f"sha256 {download.sha256} of what {url} holds", found)
    folder = _cache() / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, table in (("gold.csv", gold), ("labels.csv", labels)):
        part = folder / f"{file}.{os.getpid()}"
        table.write_csv(part)
        part.replace(folder / file)  # at once, so that nobody reads half a file
    return folder


def _download(download: Download) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The labels, workers renamed w1, w2, … in order of appearance, and the truths."""
    import pooch

    with tempfile.TemporaryDirectory() as folder:

        def text(path: str) -> str:
            # The commit pins the file, and `digest` checks what was read from it.
            file = pooch.retrieve(download.url(path), known_hash=None, path=folder)
            return Path(file).read_text(encoding="utf-8")

        labels = download.read_labels(text(download.labels))
        if download.gold is None or download.read_gold is None:
            gold = labels.select("task", label="gold")
        else:
            gold = download.read_gold(text(download.gold))
    gold = gold.select(GOLD).unique("task", keep="first", maintain_order=True)
    workers = labels["worker"].unique(maintain_order=True)
    renamed = labels["worker"].replace_strict(workers, [f"w{i + 1}" for i in range(len(workers))])
    return labels.with_columns(renamed).select(LABELS), gold
