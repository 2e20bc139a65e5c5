"""Names that would be scripts, markup, colours or pages long, and labels of workers called so."""

from __future__ import annotations

import json
import random
from pathlib import Path

SCRIPT = "</script><script>alert(1)</script>"
NAMES = (
    SCRIPT,
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "]]><!--</style></svg>",
    "&lt;b&gt;&amp;",
    "\x1b[31mred\x1b[0m\x07",
    "\u202eevil\u2066",
    "العربية",
    "line\u2028end\nnew\ttab\r",
    "\x00\x01\x08\x0b\x1f\x7f\x9b",
    "\ufffe\uffff\ufeff\u200b",
    "x" * 10_000,
    "x" * 9_999 + "y",
    "=1+1",
    "#1f5fbf",
    "${alert(1)}{{7*7}}",
)


def hostile_labels(tasks: int = 150) -> list[dict[str, str]]:
    """Workers of those names on tasks of those names with such labels."""
    draw = random.Random(1)
    rows = []
    for number in range(tasks):
        truth = draw.choice((SCRIPT, "\x1b[2J"))
        for name in draw.sample(NAMES, 7):
            wrong = draw.random() < 0.2
            said = {SCRIPT: "\x1b[2J", "\x1b[2J": SCRIPT}[truth] if wrong else truth
            rows.append(
                {"task": f"{NAMES[number % len(NAMES)]}{number}", "worker": name, "label": said}
            )
    return rows


def write_rows(path: Path, rows: list[dict[str, str]]) -> Path:
    """As JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path
