"""Real crowds with a known truth, by name: at hand, in the cache, or from their public origin.

No data is kept in this package. A set is a folder with ``labels.csv`` (task, worker, label) and
``gold.csv`` (task, label). Knows nothing of estimators.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import polars as pl

from crowdstream.errors import InputError

VARIABLE = "CROWDSTREAM_DATA"
"""The environment variable that names a folder of data sets, looked into before anywhere else."""

CACHE = "crowdstream"
"""What pooch calls this package's folder in the user's cache."""

LABELS = ("task", "worker", "label")
"""The columns of labels.csv, by crowd-kit's names."""

GOLD = ("task", "label")
"""The columns of gold.csv."""

MERGES: Mapping[str, Mapping[str, str]] = {
    "dog": {"1": "+1", "2": "+1", "3": "-1", "4": "-1"},
    "web": {"1": "+1", "2": "+1", "3": "+1", "4": "-1", "5": "-1"},
}
"""The paper's two classes for its sets that have more. Web's are what gives its Table 2 (majority
errs on 0.143); the rule it prints, ℓ ≤ L/2, would be {1, 2} against {3, 4, 5} (0.110)."""

Reader: TypeAlias = Callable[[str], pl.DataFrame]
"""The text of a file → those of the columns task, worker, label and gold that it has."""


@dataclass(frozen=True)
class Meta:
    """What is known of a data set: where it comes from, whom to cite, what to mind."""

    title: str
    origin: str = ""
    citation: str = ""
    licence: str = ""
    notes: str = ""


@dataclass(frozen=True, eq=False)
class Dataset:
    """The labels of a crowd and the truth, as tables of text; labels are in the source's order.

    Not every task need have a gold label, nor every gold label a task that was labelled.
    """

    name: str
    labels: pl.DataFrame
    gold: pl.DataFrame
    meta: Meta


@dataclass(frozen=True)
class Download:
    """The files of a set in a public repository at a commit, and how to read them.

    ``sha256`` is that of both tables once read (see `digest`), so that it vouches for what is
    used: a file that changed or was misread is refused. Without a file of its own, the truth is a
    column of the labels' file.
    """

    repository: str
    commit: str
    labels: str
    read_labels: Reader
    sha256: str
    gold: str | None = None
    read_gold: Reader | None = None

    def url(self, path: str) -> str:
        """Where to get a file."""
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{path}"


@dataclass(frozen=True)
class Entry:
    """A known public set; one without a download has to be made by hand from its origin."""

    meta: Meta
    download: Download | None = None


# Loading -----------------------------------------------------------------------------------


def names() -> list[str]:
    """All sets that `load` knows of: the public ones, and those in your folder.

    >>> [name for name in ("bird", "dog", "duchenne", "rte", "temp", "web") if name in names()]
    ['bird', 'dog', 'duchenne', 'rte', 'temp', 'web']
    """
    return sorted({*REGISTRY, *_at_hand()})


def available() -> list[str]:
    """The sets that can be loaded now without a network."""
    return sorted(_at_hand())


def load(name: str) -> Dataset:
    """A data set: from the folder `VARIABLE` names, else the cache, else its public origin.

    Any folder of yours there that has ``labels.csv`` and ``gold.csv`` is a set of that name.

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
    pooch = _pooch()
    if pooch is not None:
        roots.append(Path(pooch.os_cache(CACHE)))
    found: dict[str, Path] = {}
    for root in roots:
        for labels in root.glob("*/labels.csv"):
            if (labels.parent / "gold.csv").is_file():
                found.setdefault(labels.parent.name, labels.parent)
    return found


def _pooch() -> ModuleType | None:
    """The downloader, if it is installed."""
    try:
        return importlib.import_module("pooch")
    except ImportError:
        return None


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
        raise InputError(str(path), "one row a task", f"more for task {twice['task'][0]!r}")
    return gold


# Downloading -------------------------------------------------------------------------------


def digest(labels: pl.DataFrame, gold: pl.DataFrame) -> str:
    """The sha256 of two tables as CSV, gold sorted by task (its order means nothing).

    >>> labels = pl.DataFrame({"task": ["t"], "worker": ["w1"], "label": ["1"]})
    >>> digest(labels, pl.DataFrame({"task": ["t"], "label": ["1"]}))[:16]
    'a6fc776170874e96'
    """
    text = labels.write_csv() + gold.sort("task").write_csv()
    return hashlib.sha256(text.encode()).hexdigest()


def _fetch(name: str, meta: Meta, download: Download) -> Path:
    """The folder in the cache, once its origin was downloaded, read, checked and written there."""
    where = f"data set {name!r}"
    pooch = _pooch()
    if pooch is None:
        expected = f"{_by_hand(name, meta)}; or pip install 'crowdstream[science]' to download it"
        raise InputError(where, expected, "no such folder and no pooch")
    try:
        labels, gold = _download(pooch, download)
    except (OSError, ValueError, IndexError) as error:  # no network, or another file than expected
        raise InputError(where, _by_hand(name, meta), f"no such folder, and {error}") from error
    found = digest(labels, gold)
    if found != download.sha256:
        url = download.url(download.labels)
        raise InputError(where, f"sha256 {download.sha256} of what {url} holds", found)
    folder = Path(pooch.os_cache(CACHE)) / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, table in (("gold.csv", gold), ("labels.csv", labels)):
        part = folder / f"{file}.{os.getpid()}"
        table.write_csv(part)
        part.replace(folder / file)  # at once, so that nobody reads half a file
    return folder


def _download(pooch: ModuleType, download: Download) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The labels, workers renamed w1, w2, … in order of appearance, and the truths."""
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
    people = labels["worker"].unique(maintain_order=True)
    renamed = labels["worker"].replace_strict(people, [f"w{i + 1}" for i in range(len(people))])
    return labels.with_columns(renamed).select(LABELS), gold


def _columns(*columns: str, separator: str | None = None, header: bool = False) -> Reader:
    """A reader of lines of fields, of which the first are the columns named."""

    def read(text: str) -> pl.DataFrame:
        rows = [line.split(separator) for line in text.splitlines() if line][header:]
        return pl.DataFrame({name: [row[i] for row in rows] for i, name in enumerate(columns)})

    return read


def _cubam_labels(text: str) -> pl.DataFrame:
    """``worker: {task: true, task: false, …}`` for each worker."""
    found = re.findall(r"(\d+): \{(.*?)\}", text, re.DOTALL)
    tables = [
        _cubam_gold(body).insert_column(1, pl.lit(worker).alias("worker")) for worker, body in found
    ]
    return pl.concat(tables)


def _cubam_gold(text: str) -> pl.DataFrame:
    """``task: true, task: false, …``."""
    found = re.findall(r"(\d+): (true|false)", text)
    rows = [(task, "1" if answer == "true" else "0") for task, answer in found]
    return pl.DataFrame(rows, schema=GOLD, orient="row")


# Two classes -------------------------------------------------------------------------------


def binary(dataset: Dataset) -> Dataset:
    """The set with two classes, as the paper has it; one that has no more is left as it is.

    >>> labels = pl.DataFrame({"task": ["t"], "worker": ["w1"], "label": ["3"]})
    >>> gold = pl.DataFrame({"task": ["t"], "label": ["5"]})
    >>> two = binary(Dataset("web", labels, gold, Meta("Web")))
    >>> two.labels["label"].item(), two.gold["label"].item()
    ('+1', '-1')
    """
    if dataset.name in MERGES:
        return merge(dataset, MERGES[dataset.name])
    classes = dataset.labels["label"].drop_nulls().unique().sort()
    if len(classes) > 2:
        where = f"data set {dataset.name!r}"
        known = ", ".join(MERGES)
        expected = f"two classes, or a set the paper merges ({known}); use merge for others"
        raise InputError(where, expected, f"{len(classes)}: {', '.join(classes)}")
    return dataset


def merge(dataset: Dataset, classes: Mapping[str, str]) -> Dataset:
    """The set with its classes renamed, in labels and gold; those not mentioned stay.

    >>> labels = pl.DataFrame({"task": ["t", "t"], "worker": ["w1", "w2"], "label": ["a", "b"]})
    >>> gold = pl.DataFrame({"task": ["t"], "label": ["c"]})
    >>> merged = merge(Dataset("mine", labels, gold, Meta("Mine")), {"a": "x", "b": "x"})
    >>> merged.labels["label"].to_list(), merged.gold["label"].to_list()
    (['x', 'x'], ['c'])
    """
    renamed = pl.col("label").replace(classes)
    return replace(
        dataset,
        labels=dataset.labels.with_columns(renamed),
        gold=dataset.gold.with_columns(renamed),
    )


# The public sets ---------------------------------------------------------------------------

NONE_STATED = "none stated in the repository"
"""What is said of the licence where the origin says nothing."""


def _tree(repository: str, commit: str) -> str:
    return f"https://github.com/{repository}/tree/{commit}"


def _known(
    download: Download, title: str, citation: str, licence: str = NONE_STATED, notes: str = ""
) -> Entry:
    origin = _tree(download.repository, download.commit)
    return Entry(Meta(title, origin, citation, licence, notes), download)


def _spectral(stem: str, sha256: str) -> Download:
    """Of Zhang et al.: task, worker, label; the truth may stand there twice."""
    return Download(
        "zhangyuc/SpectralMethodsMeetEM",
        "6204f5fcab1766cb1b2c40fc1bff53b1613ddc6c",
        f"src/{stem}_crowd.txt",
        _columns("task", "worker", "label"),
        sha256,
        f"src/{stem}_truth.txt",
        _columns("task", "label"),
    )


def _snow(stem: str, sha256: str) -> Download:
    """Of Snow et al.: annotation, worker, task, response, gold, with a header."""
    return Download(
        "edwinrobots/bayesian_combination_tutorial2",
        "f98448e2e9a941463aa92f418eefd1f43bd5a637",
        f"all_collected_data/{stem}.standardized.tsv",
        _columns("annotation", "worker", "task", "label", "gold", separator="\t", header=True),
        sha256,
    )


def _toolkit(stem: str, sha256: str) -> Download:
    """Of the ActiveCrowdToolkit: worker, task, label, gold and perhaps seconds."""
    return Download(
        "orchidproject/active-crowd-toolkit",
        "2c0c194e85ca126545bd830d811ec39151bdd448",
        f"Data/{stem}.csv",
        _columns("worker", "task", "label", "gold", separator=","),
        sha256,
    )


def _at_scale(folder: str, sha256: str) -> Download:
    """Of Li et al.: item, worker, label and item, truth, with headers."""
    return Download(
        "yuan-li/truth-inference-at-scale",
        "621789b2d57324d3559dc973b2613d2296d73f55",
        f"data/{folder}/label.csv",
        _columns("task", "worker", "label", separator=",", header=True),
        sha256,
        f"data/{folder}/truth.csv",
        _columns("task", "label", separator=",", header=True),
    )


# Said of more than one set.
SNOW = "Snow, O'Connor, Jurafsky, Ng. Cheap and Fast - But is it Good? EMNLP 2008."
SNOW_LICENCE = "released by the authors for research, no explicit licence; repository: MIT"
ZHOU = "Zhou, Basu, Mao, Platt. Learning from the Wisdom of Crowds by Minimax Entropy. NIPS 2012."
RODRIGUES = (
    "Rodrigues, Pereira, Ribeiro. Learning from multiple annotators: distinguishing good from "
    "random labelers. PRL 2013."
)
ZHENG = (
    "Via Zheng, Li, Li, Shan, Cheng. Truth Inference in Crowdsourcing: Is the Problem Solved? "
    "PVLDB 2017."
)
RECODED = "Ids and classes are numbers from 0; the source does not say what they mean."

REGISTRY: Mapping[str, Entry] = {
    "bird": _known(
        Download(
            "welinder/cubam",
            "fe5ba700f1adbb489c69af311558d64370d73d36",
            "demo/bluebirds/labels.yaml",
            _cubam_labels,
            "cc052f55b342e28036b9a6387b84dab175362b277d897346b430c9f3241881be",
            "demo/bluebirds/gt.yaml",
            _cubam_gold,
        ),
        "Bluebirds: indigo bunting (1) or not (0)",
        "Welinder, Branson, Belongie, Perona. The Multidimensional Wisdom of Crowds. NIPS 2010.",
        "BSD-style (LICENSE.TXT of the repository)",
        "Everybody labelled everything.",
    ),
    "dog": _known(
        _spectral("dog", "54595c39a5d6ec71cca2d9ff2a02f11f211099671cb58859ed319419d925210b"),
        "Dogs of ImageNet, four breeds",
        ZHOU,
    ),
    "duchenne": _known(
        Download(
            "pmaglione/crowd-datasets",
            "3efbceb525a13685355fd3d306b7ce1453302eb9",
            "WVSCM/workerResponses.txt",
            _columns("worker", "task", "label"),
            "ef4ef17bf70f5c6e6c0c4ea2e96f52d4b825d50796fbcd54e360d6b041f500e7",
            "WVSCM/groundTruth.txt",
            _columns("task", "label"),
        ),
        "Smiles, Duchenne (1) or not (0)",
        "Whitehill, Ruvolo, Wu, Bergsma, Movellan. Whose Vote Should Count More. NIPS 2009.",
        notes="2,134 images, 30,319 rows of which 12,590 repeat an earlier (task, worker) pair; "
        "gold for 160 images, 159 of them labelled. Of the paper's Table 1, 160 are the images "
        "with gold and 64 the workers of the whole file. Its 1,311 labels are as many as there "
        "are different (task, worker, label) among images 2001 to 2162, from the first with gold "
        "to the last; that may be chance.",
    ),
    "fact_eval": _known(
        _at_scale(
            "crowdscale2013/fact_eval",
            "7d92e240da2a6019e64861967582b83c8a4fc5f64f42a9abfe9c0a08ff57ec35",
        ),
        "Google fact evaluation judgements",
        "CrowdScale 2013 shared task (Josephy, Lease, Paritosh).",
        "MIT (repository)",
        RECODED,
    ),
    "labelme": _known(
        Download(
            "JunjieChiang/Label-Aggregation",
            "d153fa4c651d3f4e495a0d5f8929de7af1128608",
            "data/labelme/answer.csv",
            _columns("task", "worker", "label", separator=","),
            "48f556f232c5e5adb242fc0e69f2bf864afa7d158a88cf4bcc3f01790f1f3887",
            "data/labelme/truth.csv",
            _columns("task", "label", separator=","),
        ),
        "LabelMe, eight kinds of scenes",
        "Rodrigues, Lourenço, Ribeiro, Pereira. Learning supervised topic models for "
        "classification and regression from crowds. TPAMI 2017.",
        notes="Coded anew by the source.",
    ),
    "llm_media_bias": Entry(
        Meta(
            "Media bias as 13 language models see it, zero-shot",
            _tree(
                "Media-Bias-Group/llm-annotations-annomatic",
                "d6298d3d4e706005a56ab313dff401a9fd9f4aa1",
            ),
            licence="MIT",
            notes="The labellers are language models. From benchmark/zero-shot/"
            "all_runs_with_errors.csv, one prompt a model.",
        )
    ),
    "llm_relevance": Entry(
        Meta(
            "Relevance of TREC 2023 passages as 33 runs of language models see it",
            _tree("llm4eval/LLMJudge-benchmark", "968a1f9c962fddfc6508faa2d45e3e7edd1c3829"),
            "Rahmani et al. Judging the Judges: A Collection of LLM-Generated Relevance "
            "Judgements. arXiv 2502.13908, 2025.",
            "MIT; none stated for the gold file",
            "The labellers are language models; runs of one team are much alike. From "
            "submissions/scores/*.txt; gold is data/llmjudge_test_qrel_idx.txt of "
            "llm4eval/LLMJudge.",
        )
    ),
    "medical_cause": Entry(
        Meta(
            "Does a sentence say that one medical term causes the other",
            _tree(
                "CrowdTruth/Medical-Relation-Extraction",
                "585c158864f91d7e7666f70d3b705294186e1378",
            ),
            "Dumitrache, Aroyo, Welty. Crowdsourcing Ground Truth for Medical Relation "
            "Extraction. ACM TiiS 8(2), 2018.",
            f"{NONE_STATED} (data: DOI 10.5281/zenodo.50676)",
            "1 if the worker chose [CAUSES] among the relations; in true order of time. From "
            "raw/RelEx/RelEx_batch_01.csv to _46.csv by _created_at; gold is the experts' column "
            "of ground_truth_cause.csv.",
        )
    ),
    "music_genre": _known(
        _toolkit("MS", "34e318c0d355124a8434d78bb1b1c788358552d62c424f363f9cff7e26b87bae"),
        "Music, ten genres",
        RODRIGUES,
        "Apache-2.0 (repository)",
    ),
    "product": _known(
        _at_scale(
            "crowd_truth_inference/d_jn-product",
            "66ed6ed82b57e88a0291b41a92ab70d6b570f78e14b07dac895af83a9e63bba6",
        ),
        "Are two products the same",
        f"Wang, Kraska, Franklin, Feng. CrowdER. PVLDB 2012. {ZHENG}",
        "MIT (repository)",
        RECODED,
    ),
    "relevance": _known(
        _at_scale(
            "crowd_truth_inference/s4_Relevance",
            "dec802d92ef5ffda65b008a092e5be8156a7c0a44f750c8b5ece2cf34b306318",
        ),
        "Relevance of documents, TREC 2010",
        f"Buckley, Lease, Smucker. TREC 2010 relevance feedback track. {ZHENG}",
        "MIT (repository)",
        RECODED,
    ),
    "rte": _known(
        _snow("rte", "47e0ec37b9961590b26b4cd5f7753b59d7c3c6c41a53df16dc3096e212c03d72"),
        "Recognising textual entailment (1) or none (0)",
        SNOW,
        SNOW_LICENCE,
        "Ten labels a task.",
    ),
    "sentiment_polarity": _known(
        _toolkit("SP", "9949b1233bddebca0cf076df34cd5d6c0d22e0b306c3464e69df6ed7a39d8221"),
        "Sentences of film reviews, positive or negative",
        RODRIGUES,
        "Apache-2.0 (repository)",
    ),
    "temp": _known(
        _snow("temp", "7d18ddda26571a745cfa67f194e337dad2e649a7e2376036531b42c86fff77a0"),
        "Which of two events is first: before (1) or after (2)",
        SNOW,
        SNOW_LICENCE,
        "Ten labels a task.",
    ),
    "trec": _known(
        _spectral("trec", "ec4b92c639fea4b74d49b867095cbbe26c72616162c9201a0df941584c540186"),
        "Relevance of web pages, TREC 2011",
        "TREC 2011 crowdsourcing track; Lease & Kazai 2011. With Zhang, Chen, Zhou, Jordan. "
        "Spectral Methods Meet EM. JMLR 2016.",
        notes="Gold for 2,275 of 19,033 tasks.",
    ),
    "weather": _known(
        _toolkit("CF_amt", "5af2adb3eee1cb9c82605790b39eb66ba182159f30f86222c3ddb86960446ef7"),
        "Sentiment of tweets on the weather",
        "Venanzi, Guiver, Kazai, Kohli, Shokouhi. Community-Based Bayesian Aggregation Models "
        "for Crowdsourcing. WWW 2014.",
        "Apache-2.0 (repository)",
        "Five (task, worker) pairs stand there twice.",
    ),
    "web": _known(
        _spectral("web", "ec4c1c5b7c6d515c559186ff504286c9a700094d34b809d105e640f5fedfced8"),
        "Relevance of web pages, five levels",
        ZHOU,
        notes="Gold for 2,653 of 2,665 tasks.",
    ),
    "zencrowd_us": _known(
        _toolkit("ZenCrowd_us", "40e19396f4451ef12dffb3b03897f2189a5c0e40a9f65e4d579ee4392176cdcc"),
        "Does a link fit a name in the news",
        "Demartini, Difallah, Cudré-Mauroux. ZenCrowd. WWW 2012.",
        "Apache-2.0 (repository)",
        "1,035 rows repeat an earlier (task, worker) pair.",
    ),
}
"""The known public sets."""
