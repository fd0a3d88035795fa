# `make run` and `make test` make what they need; Python 3.11 or later, make and git are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
READY := $(VENV)/.ready
READY_TEST := $(VENV)/.ready-test
READY_DEV := $(VENV)/.ready-dev

.PHONY: run test check bench fuzz lab man screenshots clean

run: $(READY)
	@$(BIN)/turnlog

# Twice as many processes as cores: some tests wait. What is compiled is kept, or each process would compile it anew.
test: export PYTHONDONTWRITEBYTECODE =
test: $(READY_TEST)
	$(BIN)/python -m pytest -n 4 --dist worksteal

check: $(READY_DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY_DEV)
	$(BIN)/python -m tests.bench

# SECONDS of mutants, then the properties; a SEED comes back as it was, and INPUTS=1 is that one mutant only.
SECONDS ?= 60
fuzz: $(READY_DEV)
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(INPUTS),--inputs $(INPUTS))

# The newest agents from npm's registry, kept in CACHE, against a mock model: AGENTS="claude codex gemini qwen".
lab: $(READY_DEV)
	$(BIN)/python -m tests.lab $(if $(CACHE),--cache $(CACHE)) $(AGENTS)

man: $(READY)
	$(BIN)/python -m viewer.manual > man/turnlog.1

screenshots: $(READY_DEV)
	$(BIN)/python screenshots/take.py

$(VENV)/.pip:
	@echo "Making $(VENV) for turnlog; this takes about a minute, once." >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade "pip>=25.1"
	@touch $@

$(READY): pyproject.toml | $(VENV)/.pip
	@$(PIP) --editable .
	@touch $@

$(READY_TEST): pyproject.toml | $(VENV)/.pip
	@$(PIP) --editable . --group test
	@touch $(READY) $@

$(READY_DEV): $(READY_TEST)
	@echo "Adding the tools for development to $(VENV), once." >&2
	@$(PIP) --group dev
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
