# Each target works by itself on a machine that has Python and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Real crowds, where they are at hand; tests that need them are skipped elsewhere.
ifneq ($(wildcard ../shared/datasets/.),)
export CROWDSTREAM_DATA ?= $(abspath ../shared/datasets)
endif

.PHONY: demo test lint bench clean

demo: $(VENV)/.base
	$(BIN)/python examples/demo.py

test: lint
	find src -name '*.nb[ic]' -delete  # compiled loops do not notice changes in one another
	$(BIN)/python -m pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/cli.py
	$(BIN)/python benchmarks/inference.py
	$(BIN)/python benchmarks/estimators.py

clean:
	rm -rf $(VENV)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.dev $(VENV)/.bench: $(VENV)/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@
