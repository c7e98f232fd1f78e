# Every developer command. `make check` is the quick one; `make help` lists them.
SHELL := /bin/bash
PYTHON ?= python3
export PYTHON
# Without it each of the many programs that tests start compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE
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

# Parts of other targets, run without building anew.
part = scripts/each --by "$(MAKE) --no-print-directory -o build"
parts_beside = scripts/each --beside --by "$(MAKE) --no-print-directory -o build"
cargo_test = cargo test --profile gate --locked --workspace --quiet
# Twice as many at a time as there are CPUs, because most wait for a second of load to pass.
at_once = RUST_TEST_THREADS=$$((2 * $$(nproc)))
test_programs = $(basename $(notdir $(wildcard crates/*/tests/*.rs) $(patsubst %/main.rs,%,$(wildcard crates/*/tests/*/main.rs))))
untraced = --lib $(addprefix --test ,$(filter-out live clangs,$(test_programs)))

.PHONY: help setup build demo test beside served untraced-checked quick fresh hostile check check-rust check-python fix unit rust rust-built rust-untraced rust-live python e2e e2e-beside e2e-alone priv clangs schema bench fuzz loom miri tsan mutants lock audit docs site changelog doctor clean pages wheel deb tarball image release installed

help: ## list these commands
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: ## install what is missing (apt where it may, else says what), make .venv
	@scripts/setup

build: ## build every program into .venv/bin
	@scripts/setup --system
	@echo "building: some minutes the first time, seconds after it; see target/build.log" >&2
	@mkdir -p target; env --default-signal=INT scripts/setup --python & \
		cargo build --release --locked --quiet --package sojourn-tools --bins \
			$(with_bpf) bpf) > target/build.log 2>&1 || { cat target/build.log; wait; exit 1; }; \
		wait $$!
	@PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/.venv $(bin)/maturin develop --release \
		--locked --quiet $(with_bpf) bpf) > target/build.log 2>&1 || { cat target/build.log; exit 1; }

demo: build ## the main job: latency against load on real memcached and NGINX, quick profile
	@$(bin)/sojourn run latency_vs_load --profile quick || case $$? in 1|3) ;; *) exit 1 ;; esac

test: ## everything that must pass; a part that fails stops no other, the end says which did
	@$(part) beside served rust-live e2e-alone

# What needs no quiet machine: compilers and Python's tests, which wait for programs half of their time.
# Rust's tests are compiled beside `build`, because its downloads and its last program leave a CPU free.
beside:
	@scripts/setup --system
	@scripts/each --beside --by "$(MAKE) --no-print-directory" rust-built python

# Tests on servers wait for load to pass more than they compute; compilers of `check` take what they leave.
served: build
	@$(parts_beside) untraced-checked e2e-beside

untraced-checked: build
	@$(part) rust-untraced check

quick: build ## what a change against BASE touches, nearest first: checks, crates, Python's tests; see CONTRIBUTING
	@$(bin)/python scripts/quick --base $(or $(BASE),main)

hostile: build ## make unit where SIGINT is ignored, new files are private, HOME is read-only and stdin closed
	@scripts/hostile $(MAKE) --no-print-directory -o build unit

fresh: ## README's two commands in a pristine Debian 12, from a fresh clone of HEAD; needs root
	@scripts/fresh

check: build ## format, lint, types, import order, licences
	@$(parts_beside) check-rust check-python

# Looked at as it is tested, unwinding: with `abort` for programs all they are made of would be checked twice.
check-rust:
	@scripts/each "cargo fmt --all --check" \
		"CARGO_PROFILE_RELEASE_PANIC=unwind cargo clippy --release --locked --workspace --all-targets --quiet $(with_bpf) sojourn-tools/bpf) -- -D warnings"

check-python:
	@scripts/each "$(bin)/ruff format --check $(sources)" \
		"$(bin)/ruff check $(sources)" \
		$(bin)/mypy \
		$(bin)/lint-imports \
		"$(bin)/python scripts/reference.py --check" \
		"$(bin)/python scripts/site" \
		"$(bin)/python scripts/licences.py"

fix: build ## format and mend what can be mended by a tool
	cargo fmt --all
	$(bin)/ruff format $(sources)
	$(bin)/ruff check --fix $(sources)

unit: build ## tests that start no server: make rust, then make python
	@$(part) rust python

rust: build ## tests of the crates
	@$(MAKE) --no-print-directory -o build rust-built
	@$(at_once) scripts/counted $(cargo_test) --no-fail-fast $(with_bpf) sojourn-tools/bpf)

rust-built:
	@$(cargo_test) --no-run $(with_bpf) sojourn-tools/bpf)

# All but those that trace, which report `unknown` while others have the CPUs.
rust-untraced:
	@$(at_once) scripts/counted $(cargo_test) --no-fail-fast $(untraced) $(with_bpf) sojourn-tools/bpf --test clangs)

rust-live:
	@! scripts/setup --bpf || scripts/counted $(cargo_test) --no-fail-fast --features sojourn-tools/bpf --test live

# Two more at a time than there are CPUs, because half of their time is waiting.
python: build ## tests of the Python package that start no server; their times into target/python.xml
	$(bin)/pytest -q $(order) -n $$(($$(nproc) + 2)) --dist loadfile --junitxml target/python.xml -m "not e2e and not privileged"

e2e: build ## tests on real servers, loopback only
	@$(part) e2e-beside e2e-alone

e2e-beside: build
	$(bin)/pytest -q $(order) -n 2 --dist loadgroup -m "e2e and not alone" tests/e2e

# What compares the machine before and after.
e2e-alone: build
	$(bin)/pytest -q $(order) -m "e2e and alone" tests/e2e

clangs: ## load BPF objects of the oldest, the newest and the tested clangs; installs them where it may
	@scripts/clangs
	@if scripts/setup --bpf; then \
		$(cargo_test) --features sojourn-tools/bpf --test live --test clangs -- every_clang --nocapture; fi

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
	$(bin)/python bench/user_seconds.py

SIZE ?= 20
SEED ?= 1
miri: ## an interpreter that sees wrong accesses, over what is pure in the generator; needs a nightly
	@scripts/miri

tsan: ## ThreadSanitizer over the generator's own tests; minutes; needs a nightly
	@scripts/tsan

fuzz: ## fuzzing of what reads bytes from elsewhere, FOR=600 s for each target; needs cargo-fuzz, a nightly
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

site: build ## the documentation as pages in target/site; a broken link is an error
	@$(bin)/python scripts/site

changelog: build ## what the fragments in changes/ add to the changelog; writes nothing
	@$(bin)/towncrier build --draft --version Unreleased

wheel: setup ## the package with every program for pip, glibc 2.28, into target/dist; ARCH=aarch64 for ARM
	@scripts/package wheel $(or $(ARCH),x86_64)

deb: wheel ## the native programs of that wheel with manuals and completions
	@scripts/package deb

tarball: setup ## the native programs without BPF, static with musl
	@scripts/package tarball

image: wheel ## an OCI image of that wheel, by podman; see docs/howto/install.md
	podman build --file Containerfile --tag sojourn:latest target/dist

release: setup ## wheel, deb, tarball, bill of materials, SHA256SUMS, signed by KEY; DRY=1 only looks what lacks
	@scripts/package $(if $(DRY),--check,all)

installed: ## what `make release` left, in a Debian without compiler (SUITE=trixie): installed and used; needs root
	@scripts/fresh --suite $(or $(SUITE),bookworm) --dist target/dist

TO ?= target/share
pages: build ## manuals of every program, and completion for bash, zsh and fish, into TO such as ~/.local/share
	@cargo run --release --locked --quiet --package sojourn-tools --example pages -- $(TO)
	@$(bin)/python scripts/pages.py $(TO)

doctor: build ## what this host can measure, what it cannot, what adds noise
	$(bin)/sojourn doctor

clean: ## remove what was built
	rm -rf target .venv
