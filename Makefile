PYTHON ?= python3
BIN := .venv/bin
DATA := $(wildcard ../shared/datasets)
ifneq ($(DATA),)
export NEURALTREES_DATA ?= $(abspath $(DATA))
endif
CORE := $(wildcard cpp/include/neuraltrees/*.hpp cpp/src/*.hpp cpp/src/*.cpp cpp/src/canonical/*.hpp \
	cpp/src/canonical/*.cpp bindings/*.cpp) cpp/CMakeLists.txt CMakeLists.txt
CPP_BUILD := build/sanitized
CPP_FILES = $(or $(shell git ls-files 'cpp/*.[ch]pp' 'bindings/*.[ch]pp' 'examples/cpp/*.cpp'),$(error Expected tracked C++ files, got none. \
	Run this in a git checkout))

.PHONY: help demo test test-cpp test-python lint format bench docs wheel viewer clean

help:  ## show what can be made
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

demo: .venv/core  ## train on generated scenes, compare with the optimum, write a report
	@echo "Training eight networks and an exact head on generated scenes, about a minute on two cores."
	$(BIN)/neuraltrees demo

test: test-cpp test-python  ## run all tests

test-cpp: .venv/requirements  ## run the core's own tests and a short fuzz run under sanitizers
	$(BIN)/cmake -S cpp -B $(CPP_BUILD) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
		-DNEURALTREES_TESTS=ON -DNEURALTREES_SANITIZE=ON > /dev/null
	$(BIN)/cmake --build $(CPP_BUILD)
	$(BIN)/ctest --test-dir $(CPP_BUILD) --parallel 2 --output-on-failure

test-python: .venv/core
	$(BIN)/python -m pytest -q -n auto

lint: .venv/core  ## check style and types
	@echo "$(BIN)/clang-format --dry-run --Werror ($(words $(CPP_FILES)) files)"
	@$(BIN)/clang-format --dry-run --Werror $(CPP_FILES)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/requirements  ## rewrite the C++ and Python files in the project's style
	@echo "$(BIN)/clang-format -i ($(words $(CPP_FILES)) files)"
	@$(BIN)/clang-format -i $(CPP_FILES)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/core  ## measure the core, training and inference against their rivals
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/inference.py

docs: .venv/docs  ## build the documentation site into build/docs; needs no network
	$(BIN)/python -m sphinx -W --keep-going -j auto -q -b html -d build/doctrees docs build/docs
	@echo "Open build/docs/index.html."

wheel: .venv/requirements  ## build the sdist and a manylinux wheel into dist, try it without a compiler; PYTHONS="…": more
	$(BIN)/python release/wheels.py $(if $(PYTHONS),--core $(PYTHONS))

viewer:  ## rebuild the page of `neuraltrees view` from viewer/; needs Node.js 20 and npm
	cd viewer && npm ci --ignore-scripts --no-audit --no-fund && npm run check && npm run build

clean:  ## remove what was built
	rm -rf .venv build dist viewer/node_modules neuraltrees-demo neuraltrees-runs neuraltrees-tuning neuraltrees-results

.venv/requirements: requirements.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Expected Python 3.11 or newer; set PYTHON=/path/to/it")'
	@echo "Making the virtual environment .venv with $$($(PYTHON) --version)."
	$(PYTHON) -m venv .venv
	@echo "Installing the packages of requirements.txt: some minutes, most of them for torch; pip is silent meanwhile."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

.venv/docs: .venv/core docs/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	touch $@

.venv/core: .venv/requirements pyproject.toml $(CORE)
	@echo "Compiling the C++ core and installing neuraltrees into .venv: a minute or two."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	touch $@
