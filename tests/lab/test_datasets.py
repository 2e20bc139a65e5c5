"""Data sets by name: where they are looked for, how they are read, and Table 1."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from crowdstream.errors import InputError
from crowdstream_lab import datasets
from crowdstream_lab.datasets import REGISTRY, Dataset, Meta, binary, digest, load, merge
from tests.real import needs_data

# Tasks, workers and labels in the paper's Table 1.
TABLE_1 = {
    "bird": (108, 39, 4212),
    "dog": (807, 109, 8070),
    "rte": (800, 164, 8000),
    "temp": (462, 76, 4620),
    "web": (2665, 177, 15567),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of data sets, an empty cache and no network."""
    pretend_origin(monkeypatch, tmp_path / "cache", {})
    monkeypatch.setenv("CROWDSTREAM_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def put(folder: Path, name: str, labels: str, gold: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "labels.csv").write_text(labels)
    (folder / name / "gold.csv").write_text(gold)


def pretend_origin(
    monkeypatch: pytest.MonkeyPatch, cache: Path, files: dict[str, str]
) -> list[str]:
    """A pooch whose network is these files, by the end of their address; what was asked for."""
    asked: list[str] = []

    def retrieve(url: str, known_hash: None, path: str) -> str:
        asked.append(url)
        for end, text in files.items():
            if url.endswith(end):
                file = Path(path) / f"{len(asked)}"
                file.write_text(text, encoding="utf-8")
                return str(file)
        raise OSError(f"no route to {url}")

    fake = SimpleNamespace(os_cache=lambda name: cache / name, retrieve=retrieve)
    monkeypatch.setitem(sys.modules, "pooch", fake)
    monkeypatch.delenv("CROWDSTREAM_DATA", raising=False)
    return asked


# Folders -----------------------------------------------------------------------------------


def test_a_folder_with_labels_and_gold_is_a_set_of_its_name(folder: Path) -> None:
    put(folder, "mine", "task,worker,label,at\n07,ann,1.0,9\n07,bob,no,9\n", "task,label\n07,no\n")
    found = load("mine")
    assert found.labels.rows() == [("07", "ann", "1.0"), ("07", "bob", "no")]
    assert found.gold.rows() == [("07", "no")]
    assert (found.name, found.meta.title) == ("mine", "mine")
    assert datasets.available() == ["mine"]
    assert datasets.names() == sorted([*REGISTRY, "mine"])


def test_a_known_set_at_hand_brings_what_is_known_of_it(folder: Path) -> None:
    put(folder, "bird", "task,worker,label\n1,w1,0\n", "task,label\n1,0\n")
    assert load("bird").meta == REGISTRY["bird"].meta
    assert load("bird").meta.origin.startswith("https://github.com/welinder/cubam/")


def test_an_unknown_name_is_answered_with_the_nearest_and_all_known(folder: Path) -> None:
    with pytest.raises(InputError, match=r"one of bird, dog, .*found 'wbe' \(did you mean 'web'"):
        load("wbe")
    with pytest.raises(InputError, match=r"found '\.\./secrets'$"):
        load("../secrets")


def test_without_a_folder_nothing_is_at_hand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend_origin(monkeypatch, tmp_path, {})
    assert datasets.available() == []
    assert datasets.names() == sorted(REGISTRY)


@pytest.mark.parametrize(
    ("labels", "gold", "told"),
    [
        ("item,worker,label\n", "task,label\n", r"labels.csv: expected columns task, worker"),
        ("task,worker,label\n", "task,truth\n", r"gold.csv: expected columns task, label"),
        ("", "task,label\n", r"labels.csv: expected a table"),
        (
            "task,worker,label\n",
            "task,label\na,1\na,2\n",
            r"one row per task, found more for .*'a'",
        ),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(
    folder: Path, labels: str, gold: str, told: str
) -> None:
    put(folder, "mine", labels, gold)
    with pytest.raises(InputError, match=told):
        load("mine")


# Origins -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, e in REGISTRY.items() if e.download is None])
def test_a_set_that_cannot_be_downloaded_says_what_to_put_where(folder: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        load(name)
    told = str(caught.value)
    assert f"$CROWDSTREAM_DATA/{name}/labels.csv" in told
    assert REGISTRY[name].meta.origin in told


def test_without_a_network_the_origin_and_the_folder_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend_origin(monkeypatch, tmp_path, {})
    with pytest.raises(InputError, match=r"CROWDSTREAM_DATA/temp/labels.csv.*no route to https"):
        load("temp")


def test_a_file_that_is_not_the_known_one_is_refused_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = {"_crowd.txt": "1 1 2\n", "_truth.txt": "1 2\n"}
    pretend_origin(monkeypatch, tmp_path, files)
    with pytest.raises(InputError, match=r"expected sha256 54595c39.*, found [0-9a-f]{64}"):
        load("dog")
    assert datasets.available() == []


def test_a_file_of_another_form_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend_origin(monkeypatch, tmp_path, {".csv": "<html>gone</html>\n", ".yaml": "gone"})
    for name in ("product", "music_genre", "bird"):
        with pytest.raises(InputError, match=f"data set '{name}'"):
            load(name)


# A set as its origin writes it, from ours; those who wrote it had other names for the workers.
def cubam(data: Dataset) -> dict[str, str]:
    def answers(table: pl.DataFrame) -> str:
        pairs = table.select("task", "label").rows()
        return ",\n  ".join(f"{task}: {'true' if x == '1' else 'false'}" for task, x in pairs)

    groups = data.labels.group_by("worker", maintain_order=True)
    workers = [f"{7 * i}: {{{answers(rows)}}}\n" for i, (_, rows) in enumerate(groups)]
    return {"/labels.yaml": "".join(workers), "/gt.yaml": f"{{{answers(data.gold)}}}\n"}


def spectral(data: Dataset) -> dict[str, str]:
    labels = [f"{task}\t9{who[1:]}\t{x}\n" for task, who, x in data.labels.rows()]
    gold = [f"{task} {x}\n" * 2 for task, x in data.gold.rows()]
    return {"_crowd.txt": "".join(labels), "_truth.txt": "".join(gold)}


def snow(data: Dataset) -> dict[str, str]:
    joined = data.labels.join(
        data.gold.select("task", gold="label"), on="task", maintain_order="left"
    )
    head = "!amt_annotation_ids\t!amt_worker_ids\torig_id\tresponse\tgold\n"
    rows = [
        f"a{i}\tA{who}\t{task}\t{x}\t{g}\n" for i, (task, who, x, g) in enumerate(joined.rows())
    ]
    return {".tsv": head + "".join(rows)}


def toolkit(data: Dataset) -> dict[str, str]:
    joined = data.labels.join(
        data.gold.select("task", gold="label"), on="task", maintain_order="left"
    )
    return {".csv": "".join(f"A{who},{task},{x},{g},72\n" for task, who, x, g in joined.rows())}


def at_scale(data: Dataset) -> dict[str, str]:
    labels = "".join(f"{task},{who[1:]},{x}\n" for task, who, x in data.labels.rows())
    gold = "".join(f"{task},{x}\n" for task, x in data.gold.rows())
    return {"label.csv": "item,worker,label\n" + labels, "truth.csv": "item,truth\n" + gold}


def responses(data: Dataset) -> dict[str, str]:
    labels = "".join(f"A{who}\t{task}\t{x}\n" for task, who, x in data.labels.rows())
    gold = "".join(f"{task}\t{x}\n" for task, x in data.gold.rows())
    return {"workerResponses.txt": labels, "groundTruth.txt": gold}


def answers(data: Dataset) -> dict[str, str]:
    labels = "".join(f"{task},{who[1:]},{x}\n" for task, who, x in data.labels.rows())
    gold = "".join(f"{task},{x}\n" for task, x in data.gold.rows())
    return {"answer.csv": labels, "truth.csv": gold}


WRITERS: dict[str, Callable[[Dataset], dict[str, str]]] = {
    "bird": cubam,
    "dog": spectral,
    "web": spectral,
    "trec": spectral,
    "rte": snow,
    "temp": snow,
    "music_genre": toolkit,
    "sentiment_polarity": toolkit,
    "weather": toolkit,
    "zencrowd_us": toolkit,
    "fact_eval": at_scale,
    "product": at_scale,
    "relevance": at_scale,
    "duchenne": responses,
    "labelme": answers,
}


def test_every_download_is_tried_below() -> None:
    assert {name for name, entry in REGISTRY.items() if entry.download} == set(WRITERS)


@needs_data
@pytest.mark.parametrize("name", WRITERS)
def test_what_the_origin_writes_is_read_checked_and_kept(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ours = load(name)
    asked = pretend_origin(monkeypatch, tmp_path, WRITERS[name](ours))
    fetched, times = load(name), len(asked)
    assert fetched.labels.equals(ours.labels)
    assert fetched.gold.sort("task").equals(ours.gold.sort("task"))
    assert datasets.available() == [name]
    assert load(name).labels.equals(ours.labels)
    assert len(asked) == times, "the second time comes from the cache"
    assert sorted(p.name for p in (tmp_path / "crowdstream" / name).iterdir()) == [
        "gold.csv",
        "labels.csv",
    ]


# Two classes -------------------------------------------------------------------------------


def tiny(name: str, classes: str) -> Dataset:
    labels = pl.DataFrame({"task": list(classes), "worker": ["w1"] * len(classes)})
    labels = labels.with_columns(label="task")
    return Dataset(name, labels, labels.select("task", "label"), Meta(name))


def test_the_papers_sets_are_merged_as_its_table_2_has_them() -> None:
    for name, classes, found in (
        ("web", "12345", ["+1", "+1", "+1", "-1", "-1"]),
        ("dog", "1234", ["+1", "+1", "-1", "-1"]),
        ("temp", "12", ["1", "2"]),
    ):
        two = binary(tiny(name, classes))
        assert two.labels["label"].to_list() == found
        assert two.gold["label"].to_list() == found
        assert two.labels["task"].to_list() == list(classes)


def test_more_classes_than_two_are_not_merged_by_guess() -> None:
    with pytest.raises(InputError, match="use merge for others, found 3: a, b, c"):
        binary(tiny("mine", "abc"))
    merged = binary(merge(tiny("mine", "abc"), {"b": "a"}))
    assert merged.labels["label"].to_list() == ["a", "a", "c"]


# Table 1 -----------------------------------------------------------------------------------


@needs_data
def test_all_sets_are_at_hand_and_whole() -> None:
    assert set(datasets.available()) >= set(REGISTRY)
    for name in REGISTRY:
        data = load(name)
        assert data.labels.null_count().sum_horizontal().item() == 0
        assert set(data.labels.dtypes) == set(data.gold.dtypes) == {pl.String}
        download = REGISTRY[name].download
        assert download is None or digest(data.labels, data.gold) == download.sha256


def counts(labels: pl.DataFrame) -> tuple[int, int, int]:
    return labels["task"].n_unique(), labels["worker"].n_unique(), labels.height


@needs_data
@pytest.mark.parametrize("name", TABLE_1)
def test_table_1_counts_tasks_workers_and_labels(name: str) -> None:
    assert counts(load(name).labels) == TABLE_1[name]
    assert counts(binary(load(name)).labels) == TABLE_1[name]


@needs_data
def test_of_duchenne_table_1_counts_three_different_things() -> None:
    data = load("duchenne")
    assert counts(data.labels) == (2134, 64, 30319)
    assert data.labels["worker"].n_unique() == 64
    assert data.gold.height == 160
    assert data.gold.join(data.labels, on="task", how="semi").height == 159
    number = pl.col("task").cast(pl.Int64)
    first, last = data.gold.select(number.min(), number.max().alias("last")).row(0)
    judged = data.labels.filter(number.is_between(first, last))
    assert judged.unique().height == 1311
    # What 1,311 is not: rows, pairs, or of the images with gold alone.
    assert counts(judged) == (161, 17, 1978)
    assert judged.unique(["task", "worker"]).height == 1238
    assert data.labels.join(data.gold, on="task", how="semi").unique().height == 1292
