# Two commands do everything: `make demo` and `make test`. Both set up .venv first; once, and again only if
# pyproject.toml or constraints.txt changed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test lint bench setup clean

demo: setup
	@$(BIN)/nonneg demo

test: lint
	@$(BIN)/pytest

lint: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/codespell src tests benchmarks *.md

bench: setup
	@$(BIN)/python benchmarks/losses.py
	@$(BIN)/python benchmarks/metrics.py
	@$(BIN)/python benchmarks/import_time.py
	@$(BIN)/python benchmarks/views.py
	@$(BIN)/python benchmarks/train_throughput.py
	@$(BIN)/python benchmarks/train_cost.py

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Expected Python 3.11 or later, got $$($(PYTHON) --version); run make PYTHON=/path/to/python3.11"; exit 2; }
	@echo "Setting up .venv (once; torch and its CUDA libraries are about 5 GB)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

clean:
	rm -rf .venv
