# Two commands do everything from a fresh clone: `make demo` and `make test`.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python

.PHONY: demo test check bench soak format clean help

help:           ## this list
	@grep -hE '^[a-z]+: .*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo:           ## set up, then the main job on the sample matter: chat on a terminal, a short script elsewhere
	@PYTHON=$(PYTHON) deploy/setup.sh demo
	@$(VENV)/bin/secondchair-worker demo

test:           ## set up, then lint, types, import contracts and every test
	@PYTHON=$(PYTHON) deploy/setup.sh test
	@$(MAKE) --no-print-directory check
	@deploy/without-network.sh $(PY) -m pytest

check:          ## lint, format, types, import contracts
	$(VENV)/bin/ruff check --quiet .
	$(VENV)/bin/ruff format --quiet --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-cache | tail -n 4; exit $${PIPESTATUS[0]}

bench:          ## every benchmark at its default size; JSON and rows in bench/results/
	@PYTHON=$(PYTHON) deploy/setup.sh test
	@for name in $$($(PY) -c "from bench.__main__ import names; print(*names())"); do $(PY) -m bench $$name || exit 1; done

soak:           ## the long campaigns: the same benchmarks at full size
	@PYTHON=$(PYTHON) deploy/setup.sh test
	@for name in $$($(PY) -c "from bench.__main__ import names; print(*names())"); do $(PY) -m bench $$name --full || exit 1; done

format:         ## put the code into the house's form
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

clean:          ## remove the environment and the demo's state
	rm -rf $(VENV) .demo
