# `make` lists the commands. `make run` and `make test` are the whole set-up: they create .venv and install what is missing.

VENV ?= .venv
PORT ?= 8080
export PORT
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do command -v $$p && break; done)
# pip caches and builds nothing here that would differ between two runs: a stamp is newer than its requirements or the step runs again
RUNTIME := $(VENV)/runtime.stamp
DEV := $(VENV)/dev.stamp

.DEFAULT_GOAL := help
.PHONY: help setup run test test-all check lint types format evaluate bench clean

help:  ## list the commands
	@awk -F ':.*## *' '/^[a-z-]+:.*##/ { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(RUNTIME)  ## create .venv and install the server's packages

run: $(RUNTIME)  ## start the server and print its address (PORT=8080)
	@exec $(BIN)/gunicorn --config gunicorn.conf.py app:app

test: $(DEV) system-packages  ## run the tests
	$(BIN)/python -m pytest -m "not slow"

test-all: $(DEV) system-packages  ## run the tests, the slow ones included
	$(BIN)/python -m pytest

check: lint types test  ## what CI runs: lint, types, tests

lint: $(DEV)  ## ruff and the Dockerfile's linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/hadolint Dockerfile

types: $(DEV)  ## mypy --strict
	$(BIN)/mypy --strict

format: $(DEV)  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

evaluate: $(RUNTIME) $(VENV)-evaluate/stamp  ## read the golden sentences back with a recogniser (error rates)
	$(BIN)/python -m benchmarks.evaluate --recogniser $(VENV)-evaluate/bin/python

bench: $(RUNTIME)  ## measure start-up, speed and memory of the embedded voice
	$(BIN)/python -m benchmarks.embedded_voice

clean:  ## remove the environments
	rm -rf $(VENV) $(VENV)-evaluate

.PHONY: system-packages
system-packages:
	@scripts/test-packages.sh

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	    { echo "Python 3.11, 3.12 or 3.13 is needed, found: $(PYTHON). Give one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing. Please run: sudo apt-get install python3-venv" >&2; exit 1; }

$(RUNTIME): requirements-cpu.txt requirements-voice.txt scripts/install.sh | $(VENV)/bin/python
	@echo "Installing the server's packages into $(VENV) (a few minutes the first time) ..."
	@scripts/install.sh $(VENV)
	@touch $@

$(DEV): requirements-dev.txt $(RUNTIME)
	@echo "Installing the test tools into $(VENV) ..."
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-input -r requirements-dev.txt
	@touch $@

$(VENV)-evaluate/stamp: requirements-evaluate.txt
	@$(PYTHON) -m venv $(VENV)-evaluate
	@$(VENV)-evaluate/bin/python -m pip --disable-pip-version-check install --quiet --no-input -r requirements-evaluate.txt
	@touch $@
