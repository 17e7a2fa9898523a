# fxir: one command each. Everything is built in target/ (Rust tests) and build/ (the rest).
#
#   make                  the shared and the static library        (build/cmake/lib)
#   make demo             builds, installs into build/prefix, compiles the examples against that, and
#                         runs the main one: a ResNet is rewritten and cut up for a backend
#   make test             cargo's tests, the C tests, the examples
#   make test-valgrind    the C tests and the examples under valgrind: no error, no leak
#   make lint             formatting and clippy
#   make test-all         all of these
#   make bench            times the reference workload, beside torch.fx and MLIR where installed
#   make fuzz             every reader, for 600 seconds each (FUZZ_SECONDS), with cargo-fuzz
#   make header           writes include/fxir.h anew from src/capi
#   make install          into PREFIX (/usr/local)
#   make clean
#
# Each of them first sees to the tools that it needs (scripts/setup.sh).

PREFIX ?= /usr/local
BUILD := build
STAGE = $(CURDIR)/$(BUILD)/prefix
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

export PATH := $(CURDIR)/.venv/bin:$(PATH):$(HOME)/.cargo/bin
MAKEFLAGS += --no-print-directory

# Every block that is left at the end is an error, but for those that the suppressions explain.
VALGRIND := valgrind;--quiet;--error-exitcode=99;--leak-check=full;--show-leak-kinds=all;--errors-for-leak-kinds=all;--num-callers=40;--suppressions=$(CURDIR)/tests/c/valgrind.supp

FUZZ_SECONDS ?= 600

.PHONY: build demo examples test test-valgrind lint test-all bench fuzz header stage install clean setup

build: setup
	cmake -S . -B $(BUILD)/cmake -DCMAKE_BUILD_TYPE=Release "-DFXIR_TEST_LAUNCHER=$(LAUNCHER)"
	cmake --build $(BUILD)/cmake -j $(JOBS)

setup:
	@scripts/setup.sh build

# The examples see what a stranger sees: an installed library.
stage: build
	@rm -rf $(STAGE)
	cmake --install $(BUILD)/cmake --prefix $(STAGE)

examples: stage
	cmake -S examples-c -B $(BUILD)/examples -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=$(STAGE) \
	    -DCMAKE_C_FLAGS=-Werror -DCMAKE_CXX_FLAGS=-Werror "-DFXIR_TEST_LAUNCHER=$(LAUNCHER)"
	cmake --build $(BUILD)/examples -j $(JOBS)

demo: examples
	@mkdir -p build/demo
	@echo
	cd build/demo && ../examples/compile_resnet $(CURDIR)/examples-c/data

# ctest goes last, over the C tests and the examples at once, so that its closing line is the end.
test: setup
	cargo test --release
	@$(MAKE) examples
	@printf 'subdirs(cmake/tests/c examples)\n' > build/CTestTestfile.cmake
	ctest --test-dir build --output-on-failure -j $(JOBS)

# A build of its own, with the names that the suppressions go by.
test-valgrind: setup
	@scripts/setup.sh valgrind
	CARGO_PROFILE_RELEASE_DEBUG=line-tables-only $(MAKE) BUILD=build/valgrind "LAUNCHER=$(VALGRIND)" examples
	@printf 'subdirs(cmake/tests/c examples)\n' > build/valgrind/CTestTestfile.cmake
	ctest --test-dir build/valgrind --output-on-failure -j $(JOBS)

lint: setup
	cargo fmt --check
	cargo clippy --release --all-targets -- -D warnings

test-all: lint test test-valgrind

bench: setup
	cmake -S . -B build/cmake -DCMAKE_BUILD_TYPE=Release -DFXIR_BUILD_BENCHES=ON
	cmake --build build/cmake -j $(JOBS) --target fxir_bench --target fxir_scale_bench --target fxir_text_bench
	python3 benches/run.py build/cmake/fxir_bench

fuzz: setup
	fuzz/run.sh $(FUZZ_SECONDS)

header: setup
	FXIR_WRITE_HEADER=1 cargo test --release --test header_drift header_is_up_to_date

install: build
	cmake --install build/cmake --prefix $(PREFIX)

clean:
	rm -rf build target
