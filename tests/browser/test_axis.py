"""The axis of error rates can be read however many classes there are."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from crowdstream.serve.pages import PAGE

WORD = 30.0
"""Per cent of a narrow column that the word chance takes, with half a number before it."""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("classes", [2, 3, 5, 50])
def test_no_number_stands_where_the_word_chance_does(classes: int) -> None:
    text = (PAGE / "charts.js").read_text("utf-8")
    code = "\n".join(line for line in text.splitlines() if not line.startswith("import "))
    code += f"\nconst axis = new Axis({1 - 1 / classes});"
    code += "\nconsole.log(JSON.stringify("
    code += "[axis.ticks().map((t) => axis.at(t)), axis.at(axis.chance)]));"
    command = ["node", "--input-type=module", "-e", code]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ticks, chance = json.loads(said)
    assert ticks[0] == 0
    assert len(ticks) > 1
    assert chance - ticks[-1] >= WORD
