# Each target works by itself on a machine that has Python and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Real crowds, where they are at hand; tests that need them are skipped elsewhere.
ifneq ($(wildcard ../shared/datasets/.),)
export CROWDSTREAM_DATA ?= $(abspath ../shared/datasets)
endif

# Bytecode is kept: each of the hundreds of processes that tests start takes 0.4 s of processor time with it, 1.5 s without.
unexport PYTHONDONTWRITEBYTECODE

# What is compiled ahead (hatch_build.py finds it by the same line), and the tests that run it.
LOOPS := $(shell grep -rl --include='*loops.py' '^\# cython: language_level=3' src)
RUN_LOOPS := $(filter-out %/test_tools.py %/test_tool_shapes.py, $(wildcard tests/labels/test_*.py)) $(wildcard tests/sums tests/estimators tests/monitoring tests/contract tests/test_stream.py)

.PHONY: demo build check test test-bounds test-extras paper performance soak e2e sanitise lint bench docs clean

demo: $(VENV)/.base
	$(BIN)/crowdstream demo

build: $(VENV)/.built

# What to run again and again: lint, and the tests of what everything else rests on, with few examples.
CHECKED := tests/labels tests/sums tests/estimators tests/contract tests/test_stream.py tests/test_loop.py \
	tests/test_map.py tests/test_public_docs.py tests/test_one_home.py tests/test_class_sizes.py
check: lint build
	$(BIN)/python -m pytest -q -n auto --dist worksteal --hypothesis-profile=check -m "not slow" $(CHECKED)

test: lint build
	$(BIN)/python -m pytest -n auto --dist worksteal
	$(MAKE) test-bounds

# The paper again, from a clone: figures, tables and a verdict on every claim, in build/paper.
# PAPER=--quick takes half a minute, without it a few. Data sets: CROWDSTREAM_DATA in the README.
PAPER ?= --quick
paper: $(VENV)/.lab
	$(BIN)/crowdstream paper $(PAPER) -o build/paper

# Indices are not checked in what is released. Here they are, in a build of its own.
test-bounds: $(VENV)/.dev
	CROWDSTREAM_BOUNDSCHECK=1 $(BIN)/python hatch_build.py build/bounds
	CROWDSTREAM_BOUNDSCHECK=1 PYTHONPATH=$(CURDIR)/build/bounds \
	$(BIN)/python -m pytest -q -n auto --dist worksteal $(RUN_LOOPS)

# What takes long: twice 500 kills, 10,000 listeners, and half an hour (CROWDSTREAM_SOAK_SECONDS) of spoilt input.
soak: build
	$(BIN)/python -m pytest -q tests/soak/soak_kills.py tests/soak/soak_fuzz.py tests/soak/soak_serve.py

# Each extra alone, in an environment of its own, does what its page says first; some minutes.
test-extras: $(VENV)/.dev
	$(BIN)/python -m pytest -q tests/packaging/installed_extras.py

# What deciding costs, against rivals: every table of docs/performance.md. PERFORMANCE=--quick shows that it runs.
PERFORMANCE ?= --write docs/performance.md
performance: build
	$(BIN)/python benchmarks/performance.py $(PERFORMANCE)

# With a real Label Studio, in an environment of its own: it brings 150 packages.
e2e: build build/e2e/.installed
	CROWDSTREAM_LABEL_STUDIO=build/e2e/venv/bin/label-studio $(BIN)/python -m pytest -q tests/e2e

build/e2e/.installed:
	$(PYTHON) -m venv build/e2e/venv
	build/e2e/venv/bin/python -m pip install --quiet label-studio
	touch $@

# Reads and writes outside of any array, by AddressSanitizer (gcc or clang on Linux).
sanitise: $(VENV)/.dev
	CROWDSTREAM_SANITISE=1 $(BIN)/python hatch_build.py build/sanitise
	LD_PRELOAD=$$($${CC:-cc} -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \
	PYTHONMALLOC=malloc PYTHONPATH=$(CURDIR)/build/sanitise $(BIN)/python -m pytest -q $(RUN_LOOPS)

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/stream.py
	$(BIN)/python benchmarks/cli.py
	$(BIN)/python benchmarks/inference.py
	$(BIN)/python benchmarks/estimators.py
	$(BIN)/python benchmarks/gold.py
	$(BIN)/python benchmarks/teaching.py
	$(BIN)/python benchmarks/sparse.py
	$(BIN)/python benchmarks/serve.py

# The documentation as a site, in build/site: any warning ends it, such as a link that leads nowhere.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build
	find src -name '*.so' -delete

$(BIN)/python:
	$(PYTHON) -m venv --upgrade-deps $(VENV)

# To install is to compile what has changed; who has the tools at hand need not install again.
$(VENV)/.base: pyproject.toml hatch_build.py $(LOOPS) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.lab: pyproject.toml hatch_build.py lab/pyproject.toml lab/hatch_build.py $(LOOPS) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable . --editable ./lab
	touch $@

$(VENV)/.bench: pyproject.toml hatch_build.py lab/pyproject.toml lab/hatch_build.py $(LOOPS) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[bench]' --editable ./lab
	touch $@

# (What is never imported need not be compiled to bytecode.)
$(VENV)/.dev: pyproject.toml lab/pyproject.toml lab/hatch_build.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]' --editable ./lab
	touch $@

$(VENV)/.built: hatch_build.py $(LOOPS) $(VENV)/.dev
	$(BIN)/python hatch_build.py
	touch $@
