# `make verify` and `make test` work from nothing: they create .venv and install what they need.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
export OMP_NUM_THREADS ?= 1

.PHONY: verify test test-core mutants lint bench runs figures notebooks docs clean

verify: .venv/core
	$(BIN)/fltheory verify

test: .venv/all
	$(BIN)/pytest -n 2

# Everything that needs no torch.
test-core: .venv/dev
	$(BIN)/pytest -n 2 -m "not torch"

# Every falsified claim (make test runs one a check).
mutants: .venv/dev
	$(BIN)/python -m pytest -q -n 2 --mutants=all tests/analysis/test_mutants.py

lint: .venv/all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/core
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# The experiments of docs/runs.md at laptop scale; what is in results/ is not run again.
RUNS = $(shell sed -n 's/^<!-- table \([^:]*\):.*/\1/p' docs/runs.md)
runs: .venv/all
	for file in $(RUNS); do nice $(BIN)/fltheory train $$file --scale laptop || exit 1; done
	$(BIN)/python experiments/summarise.py

figures: .venv/core
	$(BIN)/fltheory figures --out docs/figures
	$(BIN)/fltheory tables --format markdown > docs/figures/tables.md

notebooks: .venv/all
	$(BIN)/pytest --nbmake --nbmake-timeout=120 notebooks/*.ipynb

# The guide, the notebooks and the reference as pages, in build/docs.
docs: .venv/all
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -c docs . build/docs

clean:
	rm -rf .venv build dist docs/api docs/figures *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fltheory needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv .venv

# The build leaves an egg-info folder behind, which would hide later changes of the entry points.
.venv/core: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable .
	rm -rf *.egg-info
	touch $@

.venv/dev: .venv/core
	$(PIP) --editable '.[testing,dev]'
	rm -rf *.egg-info
	touch $@

.venv/all: .venv/dev
	$(PIP) --editable '.[testing,dev,training,notebooks,cluster,pep,docs]'
	rm -rf *.egg-info
	touch $@
