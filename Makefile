# The commands. `make run` and `make test` are the two that a newcomer needs;
# each brings what it lacks (.ci/tools), says what it does, and skips what is
# there already.
#
# All of cargo's commands share one target folder and one set of features: a
# switch between them would rebuild the dependencies every time.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := help

export CARGO_TARGET_DIR := $(CURDIR)/target

# Arguments for the program that a target starts: make run ARGS="--listen 0.0.0.0:7400",
# make e2e ARGS="--grep countdown".
ARGS ?=

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "  make %-15s %s\n", $$1, $$2 }'

.PHONY: run
run: build ## build everything and serve on a SQLite file, baton.db
	@echo "==> serving; Ctrl-C stops it"
	@exec target/release/baton serve $(ARGS)

.PHONY: build
build: site ## leave the program at target/release/baton
	@echo "==> building target/release/baton"
	@cargo build --release --bin baton

.PHONY: site
site: tools-build ## the page's WebAssembly and CSS, which the program carries inside
	@.ci/site

.PHONY: test
test: tools test-chain lint test-rust test-csv e2e fuzz-api ## everything that CI checks
	@echo "==> every step passed"

.PHONY: test-chain
test-chain: tools-test ## the log's independent checker finds every kind of damage
	@echo "==> testing the chain checker"
	@python3 end2end/test_verify_chain.py

.PHONY: test-csv
test-csv: tools-test debug ## an exported CSV, in LibreOffice and in Python
	@echo "==> testing exported CSV"
	@python3 end2end/test_csv.py

.PHONY: lint
lint: site ## formatting, and clippy with warnings as errors
	@echo "==> checking the formatting"
	@cargo fmt --all --check
	@echo "==> clippy on the program and its tests"
	@cargo clippy --workspace --all-targets -- -D warnings
	@echo "==> clippy on the page's WebAssembly"
	@. .ci/wasm-env && cargo clippy -p baton-app --lib --target wasm32-unknown-unknown --no-default-features --features hydrate -- -D warnings

.PHONY: test-rust
test-rust: tools-test site ## the Rust tests, on SQLite and PostgreSQL
	@echo "==> the Rust tests"
	@cargo test --workspace $(ARGS) | tee target/test-rust.log
	@awk '/^test result:/ { p += $$4; f += $$6 } END { printf "\n%d passed, %d failed\n", p, f }' target/test-rust.log

# The browser tests and the fuzzer run the program that the Rust tests leave
# behind. Building it by itself would switch features, for those of the tests'
# own dependencies count only beside tests.
.PHONY: debug
debug: site
	@echo "==> building target/debug/baton"
	@cargo test --workspace --no-run --quiet

.PHONY: e2e
e2e: tools-test debug ## the browser tests, in Chromium
	@echo "==> the browser tests"
	@cd end2end && npx --no-install playwright test $(ARGS)

.PHONY: screenshots
screenshots: tools-test debug ## pictures of every page in end2end/screenshots, and the README's
	@echo "==> taking screenshots"
	@cd end2end && BATON_SCREENSHOTS=1 npx --no-install playwright test pictures screenshots

.PHONY: fuzz-api
fuzz-api: tools-test debug ## schemathesis against the API's own OpenAPI document
	@echo "==> fuzzing the API"
	@target/venv/bin/python end2end/fuzz_api.py

.PHONY: bench
bench: tools-test site ## renewals per second beside plain SQL
	@echo "==> benchmarks"
	@cargo bench -p baton --bench renewals $(ARGS)

.PHONY: bench-history
bench-history: tools-test site ## exports and an auditor's questions, in long histories
	@echo "==> benchmarks of the history"
	@cargo bench -p baton --bench history $(ARGS)

.PHONY: bench-dashboard
bench-dashboard: tools-test build ## the page with 10,000 and 100,000 leases, and with 1,000 viewers
	@echo "==> benchmarks of the dashboard"
	@cd end2end && BATON_BENCH=1 BATON_BIN=../target/release/baton npx --no-install playwright test $(ARGS)

.PHONY: tools tools-build tools-test
tools: tools-build tools-test ## install what the commands above need
tools-build:
	@.ci/tools build
tools-test:
	@.ci/tools test
