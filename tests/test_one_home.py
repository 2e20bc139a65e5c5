"""What users can set, name or read has one home in the source: nothing is typed a second time."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

import crowdstream as cs
from crowdstream import defaults, estimators, wording
from crowdstream.cli.options import MethodName as MethodNameOption
from crowdstream.cli.options import entries
from crowdstream.errors import UsageError
from crowdstream.methods import METHODS, MethodName, find_method, make_estimator
from crowdstream.models.dependence import Dependence
from crowdstream.serve.pages import static
from crowdstream.serve.wire import Settings
from crowdstream.statements.dependence import BRIEFLY, CONSEQUENCE

SOURCE = Path(__file__).parents[1] / "src/crowdstream"
MODULES = sorted(SOURCE.rglob("*.py"))

SHARED = {
    *("settle", "min_labels", "level", "remember", "sure", "max_ratio", "method"),
    *("host", "port", "server", "data", "max_body", "rate", "connections"),
}
"""Parameters, options and fields whose default is in `crowdstream.defaults`."""


TOO = {"majority"}
"""Names of methods that are also values of something else: of ``repeats``."""


def defaults_in(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names of parameters and fields, each with its default."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            given = [*node.posonlyargs, *node.args]
            for argument, value in zip(reversed(given), reversed(node.defaults), strict=False):
                yield argument.arg, value
            for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
                if default is not None:
                    yield argument.arg, default
        if isinstance(node, ast.ClassDef):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and line.value is not None:
                    assert isinstance(line.target, ast.Name)
                    yield line.target.id, line.value


def is_typed(value: ast.expr) -> bool:
    """Whether a default is a number or a text that stands there itself."""
    if not isinstance(value, ast.Constant) or isinstance(value.value, bool):
        return False
    return isinstance(value.value, int | float | str) and value.value != ""


def is_elsewhere(name: str, value: ast.expr) -> bool:
    """Whether a parameter of this name is another thing: a heading's level, a fit's method."""
    found = value.value if isinstance(value, ast.Constant) else None
    if name == "method":
        return found not in METHODS
    return name == "level" and isinstance(found, int)


def test_no_default_is_typed_again() -> None:
    assert is_typed(ast.parse("0.95", mode="eval").body), "or the test below cannot fail"
    again = [
        f"{path.relative_to(SOURCE)}: {name} = {ast.unparse(value)}"
        for path in MODULES
        for name, value in defaults_in(ast.parse(path.read_text("utf-8")))
        if name in SHARED and is_typed(value) and not is_elsewhere(name, value)
    ]
    assert again == [], "take them from crowdstream/defaults.py"


def test_a_method_is_one_entry_of_one_table() -> None:
    """Nobody else lists the names, or asks for one of them by its name."""
    assert list(METHODS) == list(get_args(MethodName))
    names = set(METHODS) - {"agreement"}  # which is also a kind of evidence and a column
    for path in MODULES:
        if path.name == "methods.py":
            continue
        tree = ast.parse(path.read_text("utf-8"))
        compared = [
            node.value
            for case in ast.walk(tree)
            if isinstance(case, ast.Compare | ast.MatchValue)
            for node in ast.walk(case)
            if isinstance(node, ast.Constant)
        ]
        listed = [
            sum(isinstance(each, ast.Constant) and each.value in names for each in node.elts)
            for node in ast.walk(tree)
            if isinstance(node, ast.Tuple | ast.List | ast.Set)
        ]
        assert max(listed, default=0) < 2, f"{path}: a second list of methods"
        assert not names.intersection(map(str, compared)) - TOO, path


@pytest.mark.parametrize("name", METHODS)
def test_every_method_makes_its_estimator_with_every_option_that_it_takes(name: str) -> None:
    method = find_method(name)
    values: dict[str, Any] = {
        "memory": 50.0,
        "families": {"a": "f"},
        "copies": "report",
        "answer_rate": 0.5,
    }
    made = make_estimator(name, seed=3, **{each: values[each] for each in method.options})
    assert type(made).__name__ == method.estimator
    assert made.get_params() | {"seed": 3} == made.get_params()
    for option, value in values.items():
        if option in method.options:
            assert made.get_params()[option] == value
        else:
            with pytest.raises(UsageError, match=f"^{option} needs method "):
                make_estimator(name, **{option: value})


def test_every_estimator_with_options_of_its_own_has_a_name() -> None:
    ours = {each.estimator for each in METHODS.values()}
    every = set(estimators.__all__) - {"Estimator", "DictEstimator", "Identifiability"}
    assert ours == every


def test_the_command_line_and_the_server_list_the_same_methods() -> None:
    (entry,) = [each for each in entries(MethodNameOption) if each.field == "method"]
    assert all(f"{name}: {method.summary}." in entry.help for name, method in METHODS.items())
    schema = msgspec.json.schema_components([Settings])[1]["Settings"]["properties"]["method"]
    assert set(schema["enum"]) == set(METHODS)
    assert schema["default"] == defaults.METHOD


def test_help_and_its_options_load_nothing_heavy() -> None:
    code = (
        "import sys, crowdstream.cli.options; from crowdstream.cli import app; "
        "app(['--help'], standalone_mode=False); "
        "heavy = {'numpy', 'polars', 'msgspec', 'rich', 'crowdstream.estimators'}; "
        "print(*heavy & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []


def test_one_module_counts_cores() -> None:
    counting = {
        str(path.relative_to(SOURCE))
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr in ("cpu_count", "process_cpu_count", "sched_getaffinity")
    }
    assert counting == {"parallel.py"}


def test_files_are_locked_in_one_module() -> None:
    locking = [
        str(path.relative_to(SOURCE))
        for path in MODULES
        if re.search(r"\bflock\b|\blockf\b|\bmsvcrt\b", path.read_text("utf-8"))
    ]
    assert locking == ["locking.py"]


PAGE = SOURCE / "serve/page"
SCRIPTS = sorted(PAGE.rglob("*.js"))


TITLES = {
    "expected wrong decisions": ('"expected wrong decisions"', ""),
    "labels saved": ('"labels saved"', ""),
    "independent votes per label": ('"independent votes per label"', ""),
    "error rate": ("error rate", ""),
}
"""Words that are headings too, as which they stand where the heading is made."""


def quoted(doc: str | None, after: str) -> set[str]:
    """Codes in quotation marks in a docstring, from some word on to the end of its paragraph."""
    text = (doc or "").partition(after)[2].partition("\n\n")[0]
    return set(re.findall(r'"([\w-]+)"', text))


def test_every_code_that_is_documented_has_words() -> None:
    assert quoted(cs.Decision.__doc__, "Why the task takes no more labels") == set(wording.CLOSINGS)
    about_workers = cs.Estimator.workers.__doc__
    assert quoted(about_workers, "``flags``, a list of codes") == set(wording.FLAGS)
    evidence = quoted((about_workers or "").partition("``flags``")[0], "``evidence``")
    assert evidence == set(wording.EVIDENCE)
    verdicts = quoted(Dependence.__doc__, "verdict")
    assert verdicts == set(BRIEFLY) == set(CONSEQUENCE)


def test_words_are_sentences_and_no_code_has_two() -> None:
    tables = [wording.CLOSINGS, wording.SOURCES, wording.TERMS, wording.CHANGES, wording.FLAGS]
    assert sum(map(len, tables)) == len(wording.PAGE), "a code stands in two tables"
    for code, word in wording.PAGE.items():
        assert word.sentence[0].isupper(), code
        assert word.sentence.endswith("."), code
        assert word.text
        assert word.tone in ("", "good", "warn", "bad"), code


def test_the_page_is_sent_the_words_that_python_has() -> None:
    sent = static("codes.js")
    assert str(sent.media_type) == "text/javascript"
    lines = dict(re.findall(r"^export const (\w+) = (.*);$", bytes(sent.body).decode(), re.M))
    words = msgspec.json.decode(lines["WORDS"])
    assert words == {code: [word.text, word.sentence] for code, word in wording.PAGE.items()}
    assert msgspec.json.decode(lines["TONES"])["at_chance"] == "bad"
    assert msgspec.json.decode(lines["LEVEL"]) == f"{100 * defaults.LEVEL:g} %"
    assert not (PAGE / "codes.js").exists(), "or there are two"


def test_the_page_types_no_words_of_codes() -> None:
    sentences = [word.sentence for word in wording.PAGE.values()]
    sentences += [word.text for word in wording.PAGE.values() if " " in word.text]
    sentences += [f"{100 * defaults.LEVEL:g} %", wording.HUNDRED, *BRIEFLY.values()]
    for path in SCRIPTS:
        text = path.read_text("utf-8").lower()
        typed = [
            one for one in sentences if one.lower() in text.replace(*TITLES.get(one, ("", "")))
        ]
        assert typed == [], path.name


def test_every_word_that_the_page_asks_for_is_there() -> None:
    for path in SCRIPTS:
        text = path.read_text("utf-8")
        asked = re.findall(r'\b(?:word|chip)\("(\w+)"', text) + re.findall(r"WORDS\.(\w+)", text)
        asked += re.findall(r'(?:unshift|push)\("(\w+)"\)', text)
        assert set(asked) <= set(wording.PAGE), path.name
