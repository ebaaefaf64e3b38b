# SPDX-License-Identifier: Apache-2.0
# One command for each thing a person does here; the work is in scripts/.

# The CMake preset that the C++ tests are built with: dev, release, asan or tsan.
PRESET ?= dev
# The interpreters of `make test-matrix`, e.g. VERSIONS='3.11 3.13t'; none: all that can be had.
VERSIONS ?=
# Arguments for `make demo`, e.g. ARGS=/path/to/a/file.
ARGS ?=
# For `make gpu-check`: a build tree made elsewhere with HOSTLAUNCH_BUILD_TESTS=ON, if there is one.
BUILD ?=
# For `make gpu-bench`: where CCCL's headers lie, if they are to be measured too.
CCCL ?=
# For `make gpu-compare`: a checkout of the commit to compare with.
BASE ?= build/baseline
# What `make bench-report` reads.
RUNS ?= build/bench/cpp.json build/bench/python.json

.NOTPARALLEL:
.PHONY: help build test test-matrix test-matrix-ci demo lint format sanitize instructions bench \
	gpu-check gpu-bench gpu-compare bench-report clean

help:
	@echo 'make build      set up .venv and install hostlaunch into it'
	@echo 'make test       set up everything and run all tests (PRESET=$(PRESET))'
	@echo 'make test-matrix  the Python tests on several interpreters (VERSIONS=...)'
	@echo 'make test-matrix-ci  the same on the oldest, the newest and a free-threaded one, in short'
	@echo 'make demo       set up everything and run examples/pipeline.py (ARGS=...)'
	@echo 'make lint       clang-format, clang-tidy, ruff and mypy'
	@echo 'make format     let clang-format and ruff rewrite the sources'
	@echo 'make sanitize   the C++ tests under the address, undefined and thread sanitizers, the'
	@echo '                Python tests under the address sanitizer'
	@echo 'make instructions  count our instructions per launch and per callback'
	@echo 'make bench      all benchmarks, in short, on the embedded driver'
	@echo 'make gpu-check  the checks that need an NVIDIA GPU (BUILD=FOLDER: a build tree with the'
	@echo '                contract suite, to run that as well)'
	@echo 'make gpu-bench  the benchmarks on an NVIDIA GPU (CCCL=FOLDER: headers of CCCL, to measure'
	@echo '                that as well)'
	@echo 'make gpu-compare  two commits side by side on an NVIDIA GPU (BASE=FOLDER: a checkout of the'
	@echo '                other one)'
	@echo 'make bench-report  docs/benchmarks.md and its plots from RUNS="FILE.json ..."'
	@echo 'make clean      remove .venv, build trees and caches'
	@echo 'PYTHON=/path/to/python3 chooses the interpreter that .venv is made from, and the one'
	@echo 'that gpu-check, gpu-bench and gpu-compare run: these use no .venv.'

build:
	@scripts/setup.sh build
	@scripts/build.sh

test:
	@scripts/setup.sh build test
	@scripts/build.sh
	@scripts/test.sh $(PRESET)

test-matrix:
	@scripts/test_matrix.sh $(VERSIONS)

test-matrix-ci:
	@scripts/test_matrix.sh ci

demo: build
	@echo '==> running examples/pipeline.py'
	@.venv/bin/python examples/pipeline.py $(ARGS)

lint:
	@scripts/setup.sh build test lint
	@scripts/lint.sh

format:
	@scripts/setup.sh build lint
	@scripts/lint.sh --fix

sanitize:
	@scripts/setup.sh build test
	@scripts/sanitize.sh

instructions:
	@scripts/setup.sh build profile
	@scripts/instructions.sh

bench: build
	@scripts/bench.sh

gpu-check:
	@scripts/gpu_check.sh $(BUILD)

gpu-bench:
	@CCCL='$(CCCL)' scripts/gpu_bench.sh

gpu-compare:
	@scripts/side_by_side.sh '$(BASE)'

bench-report:
	@scripts/setup.sh build bench
	@.venv/bin/python bench/report.py $(RUNS)

clean:
	@echo '==> removing .venv, build and caches'
	@rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache .hypothesis
