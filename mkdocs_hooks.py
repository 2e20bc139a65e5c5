"""What `mkdocs.yml` needs beyond MkDocs: the same files for the site and for the repository.

The README, and other pages beside docs/, become pages of the site; links between them and docs/ are
turned to where they are there. Notebooks become pages with the outputs that they were saved with.
The page of the API is what the docstrings say.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import crowdstream as cs

ROOT = Path(__file__).parent
PAGES = "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"
"""Pages beside docs/ that are part of the site."""
OTHERS = "CITATION.cff", "LICENSE", "examples/river_pipeline.py"
"""What these pages link to, copied as it is."""
LAB = "baselines", "compare", "crowdkit", "datasets", "experiments", "policies", "theory"
"""The modules of crowdstream-lab."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages beside docs/, and one for each notebook."""
    for name in PAGES + OTHERS:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for notebook in [each for each in files if each.src_uri.endswith(".ipynb")]:
        assert notebook.abs_src_path is not None
        page = as_markdown(json.loads(Path(notebook.abs_src_path).read_text("utf-8")))
        name = notebook.src_uri.replace(".ipynb", ".md")
        files.append(File.generated(config, name, content=page))
    files.append(File.generated(config, "api.md", content=api_page()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between docs/ and what is beside it."""
    depth = page.file.src_uri.count("/")
    if page.file.src_uri in PAGES:
        markdown = markdown.replace("](docs/", "](")
    else:
        markdown = markdown.replace("](" + "../" * (depth + 1), "](" + "../" * depth)
    return re.sub(r"(\]\([\w./-]+)\.ipynb\)", r"\1.md)", markdown)


def as_markdown(notebook: dict[str, Any]) -> str:
    """A notebook as a page: its text, its code, and what that printed."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_shown(output) for output in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def _shown(output: dict[str, Any]) -> str:
    """An output: the picture if there is one, otherwise the text."""
    data = output.get("data", {})
    if "image/png" in data:
        return f"![]({'data:image/png;base64,' + ''.join(data['image/png']).strip()})"
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"```text\n{text.rstrip()}\n```"


def api_page() -> str:
    """Every public name of the package, with its docstring; of a class, also its methods."""
    parts = ["# API\n\nWhat `import crowdstream as cs` has, by name. Examples run as tests."]
    for name in sorted(cs.__all__, key=str.lower):
        found = getattr(cs, name)
        if not (inspect.isroutine(found) or inspect.isclass(found) or inspect.ismodule(found)):
            continue  # an alias of types
        parts.append(_entry(f"## cs.{name}", name, found))
        if inspect.isclass(found):
            parts += [_entry(f"### cs.{name}.{verb}", verb, each) for verb, each in _verbs(found)]
    for name in ("crowdstream.extension", *(f"crowdstream_lab.{each}" for each in LAB)):
        parts.append(_entry(f"## {name}", name, importlib.import_module(name)))
    return "\n\n".join(parts) + "\n"


def _verbs(found: type) -> list[tuple[str, Any]]:
    """The methods of a class, but for those that it has as an estimator."""
    return [
        (verb, method)
        for verb, method in inspect.getmembers(found, inspect.isfunction)
        if not verb.startswith("_") and method.__module__.startswith("crowdstream")
        if found is cs.Estimator or getattr(cs.Estimator, verb, None) is not method
    ]


def _entry(title: str, name: str, found: Any) -> str:
    called = "" if inspect.ismodule(found) else f"```python\n{name}{_signature(found)}\n```\n\n"
    first, _, rest = (inspect.getdoc(found) or "").partition("\n")
    more = f"\n\n```text\n{rest.strip()}\n```" if rest.strip() else ""
    return f"{title}\n\n{called}{first}{more}"


def _signature(found: Any) -> str:
    try:
        return str(inspect.signature(found)).replace("'", "")
    except ValueError:
        return "(…)"
