"""Every notebook of the docs runs from top to bottom without an error; its outputs are small."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient", reason="notebooks are executed with nbclient")
nbformat = pytest.importorskip("nbformat", reason="notebooks are read with nbformat")
pytest.importorskip("ipykernel", reason="notebooks are executed by ipykernel")

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

TIMEOUT = 120
"""Seconds of one cell: ten times what all of them take, for machines that do much else."""

LARGEST = 300_000
"""Bytes of a notebook with its outputs: some pictures of lines and points, no photographs."""

pytestmark = [
    # its kernel speaks over a loopback port, and says so whenever one is started
    pytest.mark.filterwarnings("ignore:.*over TCP without encryption.*"),
]


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def test_there_are_notebooks() -> None:
    if not FOLDER.is_dir():
        pytest.skip("the docs are not in this distribution")
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    copy = read(path)
    where = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(copy, timeout=TIMEOUT, kernel_name="python3", resources=where)
    asyncio.run(client.async_execute())
    cells = [cell for cell in copy.cells if cell.cell_type == "code"]
    assert cells
    for cell in cells:
        assert cell.execution_count, "it was executed"
        assert all(output.output_type != "error" for output in cell.outputs), cell.source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_with_small_outputs_and_no_error(path: Path) -> None:
    assert path.stat().st_size < LARGEST
    outputs = [x for cell in read(path).cells if cell.cell_type == "code" for x in cell.outputs]
    assert outputs, "the docs show what came out"
    assert all(output.output_type != "error" for output in outputs)
