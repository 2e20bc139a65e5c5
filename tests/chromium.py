"""The Chromium of this machine, if it has one."""

from __future__ import annotations

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium to open the page with")
