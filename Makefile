# All targets work on a fresh clone: they make the virtual environment and
# install into it what the hash lock names. `make help` lists them.
#
#   PYTHON=python3.12 make test    another interpreter (the environment is made anew)
#   make test PYTEST_ARGS='-k delta -x'
#   make bench REPO=../linux PACK=big.pack ARGS=--help

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= auto

# One stamp for the interpreter and one per lock file: whatever changes, its
# part is done again and no other.
PYVERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
MADE := $(VENV)/.made-$(PYVERSION)
RUN  := $(VENV)/.run-installed
DEV  := $(VENV)/.dev-installed

# The demo needs no tools: it is content with either environment.
READY := $(if $(wildcard $(DEV)),$(DEV),$(RUN))

LOCK_PYTHON := 3.11
LOCK_VENV   := $(VENV)-lock
PIP_COMPILE := CUSTOM_COMPILE_COMMAND='make lock' $(LOCK_VENV)/bin/pip-compile --quiet \
	--generate-hashes --allow-unsafe --strip-extras --no-emit-options \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host $(if $(UPGRADE),--upgrade)

PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Tests of modules, and tests of whole files, whole imports, pages and the corpus. Those of imports
# start many processes, and are kept apart: a process that has gathered everything else is slow to
# copy.
IMPORTS := $(addprefix tests/,candidate importer manifest)
CRASHES := tests/crash
WHOLE   := $(addprefix tests/,bench benchmarks corpus cost differential docs property support)
RUN_ALL := -m pytest -n $(JOBS) --dist worksteal

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test measured check format lint types coverage bench bench-import bench-launch microbench corpus docs lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(READY) ## launch, commit, export, import; and eight hostile artifacts that are refused
	$(BIN)/python -m candidate demo

ifdef PYTEST_ARGS
test: $(DEV) ## run the tests and hold the coverage floor
	$(BIN)/python -m pytest -n $(JOBS) $(PYTEST_ARGS)
else
test: measured $(DEV)
	$(BIN)/python $(RUN_ALL) $(CRASHES)
	$(BIN)/python $(RUN_ALL) $(WHOLE)
	$(BIN)/python $(RUN_ALL) -m heavy tests/packparse
endif

# Coverage takes as long again as what it looks at, so it looks at the tests of modules alone, and
# not at those of much of anything: they have to reach every line by themselves.
measured: $(DEV)
	$(BIN)/coverage erase
	$(BIN)/coverage run $(RUN_ALL) $(IMPORTS)
	$(BIN)/coverage run $(RUN_ALL) -m 'not heavy' \
		$(foreach folder,$(IMPORTS) $(CRASHES) $(WHOLE),--ignore=$(folder))
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

check: lint types test ## everything that must pass: format, lint, types, tests

format: $(DEV) ## format the code and apply safe fixes
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

lint: $(DEV) ## check format and style, change nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(DEV) ## check the types
	$(BIN)/mypy

coverage: measured ## run the tests of modules and write htmlcov/
	$(BIN)/coverage html --quiet
	@echo 'open htmlcov/index.html'

bench: $(DEV) ## measure packcheck beside git: REPO=path, PACK=path, ARGS=...
	$(BIN)/python -m bench $(ARGS) $(if $(REPO),'$(REPO)') $(if $(PACK),'$(PACK)')

bench-import: $(DEV) ## measure an import beside git fetch: ARGS=...
	$(BIN)/python -m bench.imports $(ARGS)

bench-launch: $(DEV) ## measure writing trees and launching beside git: ARGS=...
	$(BIN)/python -m bench.launches $(ARGS)

microbench: $(DEV) ## time the layers of packparse one by one: PYTEST_ARGS=...
	$(BIN)/python -m pytest -n 0 --benchmark-enable --benchmark-only \
		--benchmark-columns=min,median,stddev,rounds tests/benchmarks $(PYTEST_ARGS)

corpus: $(DEV) ## make the malicious corpus anew, and verify every case in it
	$(BIN)/python -m corpus.build
	$(BIN)/python -m corpus.replay

docs: $(DEV) ## write the pages that are made from the code
	$(BIN)/python scripts/make_docs.py
	$(BIN)/python scripts/make_performance.py
	$(BIN)/python -m tests.differential.known > docs/reference/differences.md

lock: $(LOCK_VENV)/.made ## write requirements/*.txt from *.in; UPGRADE=1 for the newest versions
	$(PIP_COMPILE) --output-file=requirements/run.txt requirements/run.in
	$(PIP_COMPILE) --output-file=requirements/dev.txt requirements/dev.in

clean: ## remove everything that make, the tools and the tests have made
	rm -rf $(VENV) $(LOCK_VENV) build dist htmlcov *.egg-info .coverage .coverage.* \
		.benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name .git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Python 3.11 or newer is needed: PYTHON=python3.x make ...' >&2; exit 1; }
	@echo 'making $(VENV) with Python $(PYVERSION)'
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(RUN): requirements/run.txt pyproject.toml $(MADE)
	@echo 'installing $<'
	$(PIP_INSTALL) --require-hashes -r $<
	$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): requirements/dev.txt pyproject.toml $(MADE)
	@echo 'installing $<'
	$(PIP_INSTALL) --require-hashes -r $<
	$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# The lock is made on the oldest Python that is supported, so that nothing in
# it is too new for the others.
$(LOCK_VENV)/.made:
	@test '$(PYVERSION)' = '$(LOCK_PYTHON)' || \
		{ echo 'the lock is made with: PYTHON=python$(LOCK_PYTHON) make lock' >&2; exit 1; }
	rm -rf $(LOCK_VENV)
	$(PYTHON) -m venv $(LOCK_VENV)
	$(LOCK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check pip-tools==7.6.2
	@touch $@
