# The commands of this project; `make` alone lists them. Each installs what it needs and is not there.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

export PATH := $(PATH):$(HOME)/.cargo/bin

# Where `make install` puts things; DESTDIR stands before it when a package is built.
PREFIX ?= /usr/local
DESTDIR ?=
TARGET := $(or $(CARGO_TARGET_DIR),target)
# How `make build` and `make install` compile; `dev` for a quick trial.
PROFILE ?= release
BUILT := $(TARGET)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))

MINUTES ?= 10
TESTS := cargo nextest run --workspace --locked --cargo-quiet
# Two at a time for each processor: most wait half of their time. What needs more says so in .config/nextest.toml.
NEXTEST := $(TESTS) --status-level fail --final-status-level fail --test-threads $(shell echo $$((2 * $$(nproc))))
MPI_PART := mpich-4.3.2 openmpi-5.0.11
MPI_BENCH := mpich-4.3.2 openmpi-5.0.11 debian-openmpi-4.1.4
MPI_LOSSY_PROGRAMS := pingpong,probe,storm,collectives,rma,atomics
MPI_PART_PROGRAMS := pingpong,probe,cancel,storm,collectives,rma,atomics,alike,meanwhile,crowd
comma := ,
space := $(subst ,, )
LOOM := RUSTFLAGS="--cfg loom" cargo test --package bcl-rings --test loom --profile model --locked --quiet \
    --target-dir $(TARGET)/loom

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

build: bootstrap-build ## the release build: target/release/bcl, bcld, libbcl.so, libbcl.a, libbcl_fi.so
	cargo build --package bcl-cli --package bcl-agent --package bcl-c --package bcl-fi --package bcl-bench --profile $(PROFILE) --locked --quiet
	@scripts/link-libbcl.sh $(BUILT)

install: build ## puts the command, the library, the libfabric provider and their manual pages below PREFIX (/usr/local)
	@scripts/install.sh install $(BUILT) "$(PREFIX)" "$(DESTDIR)"

uninstall: ## removes what `make install` has put below PREFIX
	@scripts/install.sh uninstall "$(PREFIX)" "$(DESTDIR)"

demo: build ## two processes exchange messages: latencies and bandwidths beside the machine's limits
	@scripts/own-network scripts/demo.sh $(BUILT)

build-tests: bootstrap-test ## all that `make test` runs, built and not run: what can need the network is behind it then
	$(TESTS) --no-run
	@$(MAKE) --silent build PROFILE=dev
	@testing/mpi/install $(TARGET)/mpi $(MPI_PART)
	@$(MAKE) --silent mpi-provider mpi-collectives
	$(LOOM) --no-run
	scripts/fuzz.sh build

# The first installs MPI libraries; a test of the second takes one.
test: test-mpi-part test-rust test-doc test-c test-loom test-fuzz ## everything that must pass

test-rust: bootstrap-test ## unit, integration and real-process tests, the conformance suite, house rules
	$(NEXTEST)

test-doc: bootstrap-build ## the examples in the documentation
	@cargo fetch --locked --quiet
	scripts/own-network cargo test --workspace --doc --locked --offline --quiet

test-c: bootstrap-test ## what is installed: the library, as C and C++ programs see it, and the libfabric provider
	@testing/c/run.sh

test-loom: bootstrap-build ## models of the lock-free structures, in every order that memory permits
	$(LOOM)

test-fuzz: bootstrap-test ## each fuzz target for some seconds, on a stable compiler
	scripts/fuzz.sh 5

test-kernel: bootstrap-kernel ## the interface program under Debian 12's Linux 6.1, in an emulated machine (Debian 12 only)
	@testing/kernel/run.sh "$(TARGET)"

test-mpi: bootstrap-mpi ## MPI programs under six unmodified MPI libraries, on one host and several, suites of others, and a network that loses packets; narrowed by MPI=, HOSTS=, PROGRAM=, SUITE=, LOSS= (testing/mpi/run); needs root
	@testing/mpi/install $(TARGET)/mpi
	@$(MAKE) --silent mpi-provider mpi-collectives
	@testing/mpi/run $(TARGET)/mpi
	@[ -n "$$MPI$$HOSTS$$PROGRAM$$SUITE$$LOSS" ] || { \
	    SUITE=netpipe,hpcc,imb,mpi4py testing/mpi/run $(TARGET)/mpi && \
	    LOSS=1 HOSTS=2,4 PROGRAM=$(MPI_LOSSY_PROGRAMS) testing/mpi/run $(TARGET)/mpi; }

test-mpi-part: bootstrap-test ## of the MPI programs, what tells most in a minute: two MPI libraries, two hosts
	@testing/mpi/install $(TARGET)/mpi $(MPI_PART)
	@$(MAKE) --silent mpi-provider mpi-collectives
	@[ "$$(id -u)" = 0 ] || { echo "test-mpi-part: not run: hosts are network namespaces, and these take root"; exit 0; }; \
	MPI=$(subst $(space),$(comma),$(MPI_PART)) HOSTS=2 PROGRAM=$(MPI_PART_PROGRAMS) testing/mpi/run $(TARGET)/mpi

# Which folder: testing/fabtests/run says.
test-fabtests: bootstrap-test ## libfabric's own tests on the provider, as installed in SOURCE=folder; needs root
	@$(MAKE) --silent mpi-provider
	@testing/fabtests/run $(SOURCE)

# Where testing/mpi/run expects it. Not the quick build: where more processes spin than there are processors, slow code is
# tens of times slower.
mpi-provider: bootstrap-build
	@cargo build --package bcl-fi --release --locked --quiet
	@install -D $(TARGET)/release/libbcl_fi.so $(TARGET)/mpi/provider/libbcl-fi.so

# For the MPI libraries that are there; one of each kind is enough.
mpi-collectives: bootstrap-build
	@cargo build --package bcl-c --release --locked --quiet
	@scripts/link-libbcl.sh $(TARGET)/release
	@clients/collectives/build $(TARGET)/mpi/collectives $(TARGET)/release "$(abspath $(TARGET)/release)" \
	    $(wildcard $(addprefix $(TARGET)/mpi/,$(addsuffix /bin/mpicc,$(MPI_PART)))) >/dev/null

soak: bootstrap-test ## all tests over and over for MINUTES (10), new simulated worlds as long, 10 million forged packets, a million for the interface program, each fuzz target for a minute
	until=$$(($$(date +%s) + 60 * $(MINUTES))); rounds=0; \
	while [ $$(date +%s) -lt $$until ]; do $(NEXTEST); rounds=$$((rounds + 1)); done; \
	echo "soak: $$rounds rounds passed"
	BCL_TEST_FORGED_PACKETS=10000000 $(NEXTEST) -E 'test(changed_and_invented_packets)'
	BCL_TEST_MESSAGES_UNDER_FAULTS=10000 $(NEXTEST) --profile soak -E 'test(/^traffic::with_(ten|thirty)_percent/)'
	BCL_TEST_INTERFACE_PACKETS=1000000 BCL_TEST_INTERFACE_SEED=$$RANDOM$$RANDOM \
	    $(NEXTEST) -E 'test(the_program_does_what_the_model_does)'
	for programs in "" --tagged --one-sided --regions; do \
	    cargo run --release --locked --quiet --package bcl-sim -- --seed $$RANDOM$$RANDOM --seconds $$((60 * $(MINUTES))) $$programs || exit; \
	done
	scripts/fuzz.sh 60

rules: bootstrap-test ## which test names which rule of spec/semantics.md; fails if one has none
	@cargo test --locked --quiet --package bcl-testing --test tidy rules::each_rule_of_the_semantics_has_a_test -- --nocapture

bench: build bootstrap-bench ## BCL, the machine's limits and other libraries in turn: target/bench/results.md, .svg, .json
	scripts/own-network $(BUILT)/bcl-bench --out $(TARGET)/bench

bench-mpi: build bootstrap-mpi ## MPI libraries on BCL, on TCP and on shared memory of their own, and BCL without them: target/bench/mpi.md, .svg, .json; needs root
	@testing/mpi/install $(TARGET)/mpi $(MPI_BENCH)
	@$(MAKE) --silent mpi-provider mpi-collectives
	scripts/own-network $(BUILT)/bcl-bench mpi --out $(TARGET)/bench --libraries $(TARGET)/mpi

bench-sim: bootstrap-build ## broadcasts and barriers of up to 1,024 simulated hosts, over reflective memory and by trees of messages; ten minutes
	cargo run --package bcl-sim --release --locked --quiet -- --collectives 1024

fmt: bootstrap-ci ## formats the code
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml

lint: bootstrap-ci ## clippy with warnings as errors
	cargo clippy --workspace --all-targets --locked -- -D warnings

doc: bootstrap-build ## the documentation of the Rust API: target/doc/bcl/index.html
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

ci: ## what a change has to pass
	.ci/run

clean: ## removes what was built
	cargo clean --quiet

bootstrap-%:
	@scripts/bootstrap.sh $*

# No command makes a file of its name.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*\#\#.*/\1/p' $(MAKEFILE_LIST))
