# Every developer command. `make check` is the quick one; `make help` lists them.
SHELL := /bin/bash
PYTHON ?= python3
export PYTHON
bin := .venv/bin
# Where the pinned Rust is not installed, rustup's default builds rather than a download that may hang.
ifndef RUSTUP_TOOLCHAIN
toolchain := $(shell scripts/toolchain)
ifneq ($(toolchain),)
export RUSTUP_TOOLCHAIN := $(toolchain)
endif
endif
# Tracing needs clang, libelf and zlib to build; where they lack, all else is built, and it says so.
with_bpf = $$(scripts/setup --bpf && echo --features
sources := python tests bench scripts
# ORDER=SEED: Python's tests in that random order. Rust's cannot be shuffled without a nightly compiler.
order = $(if $(ORDER),--random-order-seed=$(ORDER))

.PHONY: help setup build demo test fresh check fix unit rust python e2e priv clangs schema bench fuzz loom mutants lock audit docs doctor clean

help: ## list these commands
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: ## install what is missing (apt where it may, else says what), make .venv
	@scripts/setup

build: setup ## build every program into .venv/bin
	@echo "building: some minutes the first time, seconds after it; see target/build.log" >&2
	@mkdir -p target; PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/.venv $(bin)/maturin develop --release \
		--locked --quiet $(with_bpf) bpf) > target/build.log 2>&1 || { cat target/build.log; exit 1; }

demo: build ## the main job: latency against load on real memcached and NGINX, quick profile
	@$(bin)/sojourn run latency_vs_load --profile quick || case $$? in 1|3) ;; *) exit 1 ;; esac

test: build ## everything that must pass; a part that fails stops no other, the end says which did
	@scripts/each --by "$(MAKE) --no-print-directory -o build" check rust python e2e

fresh: ## README's two commands in a pristine Debian 12, from a fresh clone of HEAD; needs root
	@scripts/fresh

check: build ## format, lint, types, import order, licences
	@scripts/each "cargo fmt --all --check" \
		"cargo clippy --release --locked --workspace --all-targets --quiet $(with_bpf) sojourn-tools/bpf) -- -D warnings" \
		"$(bin)/ruff format --check $(sources)" \
		"$(bin)/ruff check $(sources)" \
		$(bin)/mypy \
		$(bin)/lint-imports \
		"$(bin)/python scripts/reference.py --check" \
		"$(bin)/python scripts/licences.py"

fix: build ## format and mend what can be mended by a tool
	cargo fmt --all
	$(bin)/ruff format $(sources)
	$(bin)/ruff check --fix $(sources)

unit: build ## tests that start no server: make rust, then make python
	@scripts/each --by "$(MAKE) --no-print-directory -o build" rust python

rust: build ## tests of the crates
	@scripts/counted cargo test --profile gate --locked --workspace --no-fail-fast --quiet $(with_bpf) sojourn-tools/bpf)

python: build ## tests of the Python package that start no server
	$(bin)/pytest -q $(order) -n auto --dist loadfile -m "not e2e and not privileged"

e2e: build ## tests on real servers, loopback only
	$(bin)/pytest -q $(order) -m "e2e"

clangs: ## load BPF objects of the oldest, the newest and the tested clangs; installs them where it may
	@scripts/clangs
	@if scripts/setup --bpf; then \
		cargo test --profile gate --locked --workspace --features sojourn-tools/bpf --quiet --test clangs -- --nocapture; fi

priv: build clangs ## tests that need root or a capability, some in a VM; each skip names it
	if scripts/setup --bpf; then cargo build --release --quiet -p sojourn-trace --features bpf --tests --examples; fi
	$(bin)/pytest -q -n 2 --dist worksteal -m "privileged"

schema: build ## write the contract in python/sojourn/schema from the code
	$(bin)/python -m sojourn.schema

bench: build ## compare with peers, interleaved, as ratios; raw runs kept under bench/runs
	$(bin)/python bench/run.py
	$(bin)/python bench/sim/run.py
	$(bin)/python bench/trace/run.py
	$(bin)/python bench/trace/run.py --half-rps 40000
	$(bin)/python bench/wire_cost.py

SIZE ?= 20
SEED ?= 1
fuzz: ## coverage-guided fuzzing of what reads bytes from elsewhere, FOR=600 s each; needs cargo-fuzz, a nightly
	@scripts/fuzz $(FOR)

loom: ## every interleaving of what two threads of the generator share
	@cd loom && RUSTFLAGS="--cfg sojourn_loom" LOOM_MAX_PREEMPTIONS=3 cargo test --release --locked

mutants: ## does a test notice? random changes in PACKAGE (sojourn-sim, sojourn.plan); slow, not in the gate
	$(bin)/python scripts/mutants $(or $(PACKAGE),sojourn-sim) $(SIZE) $(SEED) $(PATHS)

lock: ## resolve Python's dependencies anew into requirements.lock; UPGRADE=1: the newest that fit
	@scripts/lock $(if $(UPGRADE),--upgrade)

audit: build ## known vulnerabilities of what is locked; needs the advisory databases, fails without them
	@scripts/audit

docs: build ## write docs/reference from the code
	$(bin)/python scripts/reference.py

doctor: build ## what this host can measure, what it cannot, what adds noise
	$(bin)/sojourn doctor

clean: ## remove what was built
	rm -rf target .venv
