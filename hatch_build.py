"""Compile the loops ahead, so that no user waits for a compiler. Knows nothing of what they do.

A file under ``src`` whose first line is ``# cython: language_level=3`` becomes an extension module
beside its source. ``python hatch_build.py [folder]`` does so in place, or with a copy of the
package in another folder. Without a working C compiler the package is built of sources only.

Switches in the environment: CROWDSTREAM_BOUNDSCHECK=1 has every index checked,
CROWDSTREAM_SANITISE=1 builds for AddressSanitizer, CROWDSTREAM_REQUIRE_COMPILER=1 makes a missing
compiler an error (for wheels that are released).
"""

from __future__ import annotations

import ast
import os
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MARK = "# cython: language_level=3"
JOBS = 2
LIMITED_API = "0x030B0000"
"""The stable ABI of Python 3.11, the oldest supported: its first with the buffer protocol."""
SHARED = "crowdstream._cython_shared"
"""What all extension modules share of Cython's own code, compiled once: a quarter of the time."""
SUFFIX = ".pyd" if sys.platform == "win32" else ".abi3.so"


def is_on(name: str) -> bool:
    """Whether a switch is set in the environment."""
    return os.environ.get(name, "") not in ("", "0")


def find_loops(source: Path) -> list[Path]:
    """The files to compile."""
    files = sorted(source.rglob("*loops.py"))
    return [file for file in files if file.read_text("utf-8").startswith(MARK)]


def write_rows(source: Path) -> None:
    """Write what every ``rows.py`` says for loops to import: its numbers as C has them."""
    for file in sorted(source.rglob("rows.py")):
        whole, real = [], []
        for line in ast.parse(file.read_text("utf-8")).body:
            if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
                name, value = line.targets[0].id, ast.literal_eval(line.value)
                (whole if isinstance(value, int) else real).append((name, value))
        told = ["# Written by hatch_build.py from rows.py beside it."]
        if whole:
            told += ["", "cdef enum:", *(f"    {name} = {value}" for name, value in whole)]
        if real:
            told += ["", "cdef extern from *:", '    """']
            told += [f"    #define CROWDSTREAM_{name} {value!r}" for name, value in real]
            told += ['    """']
            told += [f'    const double {name} "CROWDSTREAM_{name}"' for name, _ in real]
        text, made = "\n".join(told) + "\n", file.with_suffix(".pxd")
        if not made.exists() or made.read_text("utf-8") != text:
            made.write_text(text, "utf-8")


def run_compiler(extensions: list[Any], build: Path) -> None:
    """Compile C to extension modules in ``build / "lib"``."""
    from setuptools import Distribution

    command: Any = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
    command.build_lib = str(build / "lib")
    command.build_temp = str(build / "objects")
    command.parallel = JOBS
    command.ensure_finalized()
    command.run()


def has_compiler() -> bool:
    """Whether a C compiler and Python's headers are at hand."""
    from setuptools import Extension
    from setuptools.errors import BaseError, CCompilerError

    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder, "probe.c")
        probe.write_text("#include <Python.h>\nPyMODINIT_FUNC PyInit_probe(void) { return 0; }\n")
        try:
            run_compiler([Extension("probe", [str(probe)])], Path(folder))
        except (BaseError, CCompilerError, OSError):
            return False
    return True


def compile_loops(root: Path) -> dict[Path, str]:
    """Compile what has changed: extension modules, and where in the package each belongs."""
    from Cython.Build import cythonize
    from setuptools import Extension

    source = root / "src"
    write_rows(source)
    checked, sanitised = is_on("CROWDSTREAM_BOUNDSCHECK"), is_on("CROWDSTREAM_SANITISE")
    # Each kind of build has a folder of its own: which files are old can be told by their dates.
    build = root / "build" / ("loops" + "-bounds" * checked + "-sanitise" * sanitised)
    stamp = build / "stamp"
    if not stamp.exists() or stamp.stat().st_mtime < Path(__file__).stat().st_mtime:
        shutil.rmtree(build, ignore_errors=True)  # other flags, perhaps
    flags = ["/O2"] if sys.platform == "win32" else ["-O2", "-ffp-contract=off", "-g0"]
    sanitiser = ["-fsanitize=address", "-g"] if sanitised else []
    names = [str(file.relative_to(source).with_suffix("")) for file in find_loops(source)]
    shared = SHARED.replace(".", os.sep)
    files = {name: os.path.join("src", name + ".py") for name in names}
    files[shared] = str(build / (shared + ".c"))
    (build / shared).parent.mkdir(parents=True, exist_ok=True)
    extensions = cythonize(
        [
            Extension(
                name.replace(os.sep, "."),
                [file],
                define_macros=[("Py_LIMITED_API", LIMITED_API)],
                extra_compile_args=flags + sanitiser,
                extra_link_args=sanitiser,
                py_limited_api=True,
            )
            for name, file in files.items()
        ],
        shared_utility_qualified_name=SHARED,
        build_dir=str(build / "c"),
        include_path=["src"],
        nthreads=JOBS if len(names) > 1 else 0,
        quiet=True,
        compiler_directives={
            "boundscheck": checked,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
        },
    )
    run_compiler(extensions, build)
    stamp.touch()
    return {build / "lib" / (name + SUFFIX): name + SUFFIX for name in files}


def build_into(root: Path, folder: Path) -> None:
    """Put the extension modules into a folder, beside the sources or beside copies of them."""
    if folder != root / "src":
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(
            root / "src", folder, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
        )
    for built, name in compile_loops(root).items():
        # Replaced, not written over: a process that runs the old one keeps it.
        fresh = folder / (name + ".new")
        shutil.copy(built, fresh)
        fresh.replace(folder / name)


class CustomBuildHook(BuildHookInterface[Any]):
    """What hatchling calls before it packs a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, or say that it could not be done and have the sources run as they are."""
        root = Path(self.root)
        if not has_compiler():
            told = "no working C compiler: crowdstream is installed uncompiled and will be slow"
            if is_on("CROWDSTREAM_REQUIRE_COMPILER"):
                raise RuntimeError(told)
            self.app.display_warning(told)
            build_data["dependencies"].append("cython>=3.1")  # uncompiled loops import it
            return
        os.chdir(root)
        if version == "editable":
            build_into(root, root / "src")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"
        build_data["force_include"].update(
            {str(built): name for built, name in compile_loops(root).items()}
        )


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    os.chdir(here)
    if not has_compiler():
        sys.exit("no working C compiler (or Python's headers are missing): nothing was compiled")
    build_into(here, here / (sys.argv[1] if len(sys.argv) > 1 else "src"))
