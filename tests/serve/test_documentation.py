"""The lines of docs/server.md and docs/hooks.md work when they are typed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.serve.running import Running

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("page", ["server.md", "hooks.md"])
def test_the_examples_work_with_curl(server: Running, page: str) -> None:
    if page == "hooks.md" and shutil.which("openssl") is None:
        pytest.skip("openssl, which signs, is not installed")
    blocks = re.findall(r"```sh\n(.*?)```", (DOCS / page).read_text("utf-8"), re.S)
    assert len(blocks) >= 5
    environment = os.environ | {"URL": server.url, "TOKEN": server.token}
    for block in blocks:
        script = re.sub(r"^( *)curl ", r"\1curl -sS -w '\n%{http_code}\n' ", block, flags=re.M)
        found = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            env=environment, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert found.returncode == 0, found.stderr
        codes = re.findall(r"^(\d{3})$", found.stdout, re.M)
        expected = {"422"} if '"status":422' in block else {"200", "201"}
        assert set(codes) <= expected, found.stdout
        assert codes
