# The two commands a newcomer needs: `make lab` and `make test`. Each makes .venv first if it is not there.

BIN   := .venv/bin
STAMP := .venv/.made
PIP   := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCKS := requirements.lock requirements-modern.lock

# A Python of at least 3.11, the first that is there. Another: make lab PYTHON=/path/to/python
PYTHON ?= $(firstword $(foreach name,python3.11 python3 python3.12 python3.13 python3.14 python,\
	$(shell $(name) -c 'import sys; sys.version_info >= (3, 11) and print("$(name)")' 2>/dev/null)))

.PHONY: help env lab test lock clean

help:
	@echo "make lab    open the book in JupyterLab"
	@echo "make test   run all tests and every chapter"
	@echo "make env    make the environment in .venv, nothing else"
	@echo "make lock   resolve requirements.lock anew"
	@echo "make clean  remove .venv and what tests leave"

env: $(STAMP)

# Made anew only when what it is made from changes, so that a second `make lab` starts at once.
$(STAMP): $(LOCKS) pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: install it and run make again."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { rm -rf .venv; \
		echo "$(PYTHON) cannot make a virtual environment: install its venv package (on Debian: python3-venv)."; exit 1; }
	@echo "Making the environment in .venv. The first time, this takes some minutes."
	@$(PIP) -r requirements.lock
	@$(PIP) --no-deps -r requirements-modern.lock
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

lab: env
	@$(BIN)/book lab

test: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile
	$(BIN)/book build --check
	$(BIN)/book run

# Resolves what pyproject.toml asks for in a new environment and writes down what pip chose. The part of a version
# after "+" says how a wheel was built, not which release it is.
WANTED := import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*p["dependencies"], *sum(p["optional-dependencies"].values(), []), sep="\n")

lock:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: install it and run make again."; exit 1; }
	@set -e; scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	$(PYTHON) -m venv "$$scratch"; \
	"$$scratch/bin/python" -c '$(WANTED)' > "$$scratch/wanted"; \
	"$$scratch/bin/python" -m pip install --quiet --disable-pip-version-check -r "$$scratch/wanted"; \
	{ echo "# Every package of the environment, as pip resolved pyproject.toml with its extras. Made by: make lock"; \
	"$$scratch/bin/python" -m pip freeze --all --exclude pip | sed 's/+[^ ;]*//'; \
	} > "$$scratch/lock"; \
	cp "$$scratch/lock" requirements.lock

clean:
	rm -rf .venv artifacts build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
