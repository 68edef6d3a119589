# Two commands on a machine with Python 3.11 (or newer) and make:
#   make demo   set everything up, calibrate the shipped panel, print and write the result
#   make test   set everything up, lint, check types, run every test, build the documentation
# The rest is for developers: `make help` lists it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt
# one thread for each BLAS call: the suite runs on all cores already
export OPENBLAS_NUM_THREADS ?= 1
JOBS ?= auto

.DEFAULT_GOAL := help
.PHONY: help browser demo serve test quick lint types tests docs format study soak case-study bench bench-quick bench-table clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

$(BIN)/python:
	@echo "== creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "evenhand needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.user: $(BIN)/python pyproject.toml constraints.txt
	@echo "== installing evenhand and what it needs"
	@$(PIP) --editable '.[pictures]'
	@touch $@

$(VENV)/.web: $(BIN)/python pyproject.toml constraints.txt
	@echo "== installing evenhand with its web application"
	@$(PIP) --editable '.[web]'
	@touch $@ $(VENV)/.user

$(VENV)/.developer: $(BIN)/python pyproject.toml constraints.txt
	@echo "== installing evenhand, its checks and its documentation tools"
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.user $(VENV)/.web

$(VENV)/.bench: $(VENV)/.developer
	@echo "== installing what evenhand is measured against"
	@$(PIP) --editable '.[dev,bench]'
	@touch $@

demo: $(VENV)/.user  ## calibrate the shipped panel, print the result, write workbook and report
	@$(BIN)/evenhand demo --out demo-results.xlsx --report demo-report.html

serve: $(VENV)/.web  ## open the shipped panel in a browser
	@$(BIN)/evenhand serve --demo --temporary

test: lint types tests docs  ## everything that must hold: lint, types, tests, documentation

quick: $(VENV)/.developer  ## the fast tests only
	@$(BIN)/python -m pytest -n $(JOBS) -m "not slow and not study and not soak"

lint: $(VENV)/.developer  ## ruff: rules and format
	@echo "== lint"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.developer  ## mypy, strict
	@echo "== types"
	@$(BIN)/mypy

browser:  ## Chromium for the tests of pages: Debian's package, where that can be installed
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "== installing chromium" \
	       && apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	  || echo "== no Chromium here: tests of pages are skipped (on Debian: apt-get install chromium)"

tests: $(VENV)/.developer browser  ## pytest, slow tests too
	@echo "== tests"
	@$(BIN)/python -m pytest -n $(JOBS) -m "not study and not soak"

study: $(VENV)/.developer  ## long simulations: coverage of intervals, advice, the table of refinements
	@$(BIN)/python -m pytest -n $(JOBS) -m study
	@$(BIN)/python benchmarks/refinements.py --table docs/refinements-study.md

soak: $(VENV)/.developer  ## the web application under fire: 10,000 bad files, hostile forms, 200 kills
	@$(BIN)/python -m pytest -n $(JOBS) -m soak -s

case-study: $(VENV)/.developer  ## case study 1 of the paper in full, 100 runs of 20 cells, against its published errors
	@$(BIN)/python -m pytest -q -s -m study tests/test_studies.py

docs: $(VENV)/.developer  ## the documentation, warnings are errors
	@echo "== documentation"
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

format: $(VENV)/.developer  ## mend what ruff can mend
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.bench  ## benchmarks: ratios measured in one run, up to 100 million scores
	@for part in start_up models ranks case_study_1 design scale files serving distributed cluster; do \
		[ ! -f benchmarks/$$part.py ] || { echo "== $$part"; $(BIN)/python benchmarks/$$part.py; } || exit 1; \
	done

bench-quick: $(VENV)/.bench  ## the benchmarks that take no more than minutes
	@for part in start_up models ranks case_study_1 "scale --quick"; do \
		set -- $$part; echo "== $$part"; $(BIN)/python benchmarks/$$1.py $$2 || exit 1; \
	done

bench-table: $(VENV)/.bench  ## measure everything at scale and renew docs/benchmarks.md
	@$(BIN)/python benchmarks/scale.py --table docs/benchmarks.md
	@$(BIN)/python benchmarks/models.py --table docs/benchmarks.md

clean:  ## remove everything that make made
	rm -rf $(VENV) docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis demo-*
