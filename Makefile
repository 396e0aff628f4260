# The commands that README, CI and people call. Each works on a fresh clone.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
TORCH_ARGS ?=
TEST_JOBS ?= 2
q ?=
export PIP_NO_INPUT := 1
export GRADIO_ANALYTICS_ENABLED := False
export HF_HUB_OFFLINE := 1

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev setup-torch run ask index check format test test-full test-torch \
        test-browser test-chaos bench bench-peers load accuracy lock verify-simulation clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 22

# A stamp per lock file: the second call finds it and does nothing.
$(VENV)/.runtime: requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed; found " + sys.version.split()[0] + ". Set PYTHON=/path/to/python3.11.")'
	$(PIP) install --quiet --require-hashes -r requirements.lock
	$(PIP) install --quiet --no-deps -e .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.runtime
	$(PIP) install --quiet --require-hashes -r requirements-dev.lock
	@touch $@

$(VENV)/.index: $(VENV)/.runtime $(wildcard knowledge/guidance/*.md) $(wildcard knowledge/*.py)
	@$(BIN)/python -m knowledge build
	@touch $@

setup: $(VENV)/.runtime $(VENV)/.index  ## .venv with everything but torch, and the guidance index

setup-dev: setup $(VENV)/.dev  ## the same with the test tools

setup-torch: setup-dev  ## adds the pinned torch of the `simulate` extra (TORCH_ARGS="--index-url ..." for a build of your own)
	$(PIP) install --quiet torch==2.13.0 $(TORCH_ARGS)
	$(PIP) install --quiet -e '.[simulate]'

run: setup  ## the chat page on http://127.0.0.1:7860
	@$(BIN)/python -m ui serve

# The question reaches the program through the environment: neither make nor the shell reads it.
ask: export XUANKA_QUESTION := $(value q)
ask: setup  ## make ask q="7B 微调能在 A10 上跑吗?"
	@$(BIN)/python -m agent -- "$$XUANKA_QUESTION"

index: $(VENV)/.index

lock:  ## pins the dependencies anew (needs uv)
	uv pip compile pyproject.toml --universal --python-version 3.11 --extra app --group dev --no-emit-index-url --generate-hashes -q -o requirements-dev.lock
	uv pip compile pyproject.toml --universal --python-version 3.11 --extra app --no-emit-index-url --generate-hashes -q -c requirements-dev.lock -o requirements.lock

check: setup-dev  ## format, lint, types, guards
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/guards

format: setup-dev  ## rewrites files in the project's format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

test: setup-dev  ## the test suite, in two processes (TEST_JOBS=0: in one)
	@$(BIN)/python -m pytest -n $(TEST_JOBS) --dist loadfile -m "not torch and not gpu and not slow and not browser and not chaos"

test-torch: setup-torch  ## the tests that need torch
	@$(BIN)/python -m pytest -m "torch and not slow"

clean:
	rm -rf build dist $(VENV) .xuanka

include $(wildcard make/*.mk)
