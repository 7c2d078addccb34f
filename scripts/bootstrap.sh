#!/usr/bin/env bash
# Installs what a step needs and is not there yet; says nothing and takes no time when all is there.
#
#   scripts/bootstrap.sh build   C compiler, clang and libbpf's headers for bpf/, pkg-config, Rust, network namespaces
#   scripts/bootstrap.sh test    and a C++ compiler, strace, tshark, libfabric, Python, cargo-nextest
#   scripts/bootstrap.sh kernel  and an emulator, to test the interface program under another kernel
#   scripts/bootstrap.sh ci      and rustfmt, clippy, cargo-deny
#   scripts/bootstrap.sh mpi     what the MPI libraries take that `make test-mpi` runs, Debian's Open MPI, and programs of others
#   scripts/bootstrap.sh bench   and the peers that `make bench` measures beside BCL
#
# System packages come from apt (Debian 12 and later), by root or sudo; cargo's tools go to
# ~/.cargo/bin. A machine that has a newer Rust of its own keeps it.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"

MIN_RUST=1.87
# The newest versions that build with MIN_RUST.
NEXTEST=0.9.100
DENY=0.18.3

main() {
    case "${1:-}" in
        build) need_build ;;
        test) need_build; need_test ;;
        ci) need_build; need_test; need_ci ;;
        bench) need_build; need_bench ;;
        kernel) need_build; need_kernel ;;
        mpi) need_mpi ;;
        *) fail "which step? build, test, kernel, mpi, ci or bench" ;;
    esac
}

need_build() {
    local missing=()
    has gcc || missing+=(gcc)
    has pkg-config || missing+=(pkg-config)
    has clang || missing+=(clang)
    [ -e /usr/include/bpf/bpf_helpers.h ] || missing+=(libbpf-dev)
    [ -e /usr/include/stdlib.h ] || missing+=(libc6-dev)
    [ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
    has ip || missing+=(iproute2)
    install_packages "${missing[@]}"

    at_least "$(rust_version)" "$MIN_RUST" && return
    # Debian 12 keeps a current Rust under a name of its own, for its web browsers.
    install_recent "rustc-web cargo-web" "rustc cargo"
    hash -r
    at_least "$(rust_version)" "$MIN_RUST" ||
        fail "$(command -v cargo || echo cargo) is version $(rust_version), BCL needs $MIN_RUST: update it (rustup update stable) or take it out of PATH"
}

need_test() {
    local missing=()
    has g++ || missing+=(g++)
    has strace || missing+=(strace)
    has tshark || missing+=(tshark)
    [ -e /usr/include/rdma/providers/fi_prov.h ] || missing+=(libfabric-dev)
    has fi_info || missing+=(libfabric-bin)
    python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3 python3-venv)
    install_packages "${missing[@]}"
    cargo nextest --version >/dev/null 2>&1 ||
        install_tool cargo-nextest@$NEXTEST --no-default-features --features default-no-update
}

need_kernel() {
    local missing=()
    has qemu-system-x86_64 || missing+=(qemu-system-x86)
    has objcopy || missing+=(binutils)
    install_packages "${missing[@]}"
}

# No Rust: an MPI library and its programs need none.
need_mpi() {
    local missing=()
    has gcc || missing+=(gcc)
    [ -e /usr/include/stdlib.h ] || missing+=(libc6-dev)
    [ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
    has ip || missing+=(iproute2)
    has gdb || missing+=(gdb)
    has nft || missing+=(nftables)
    python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3 python3-venv)
    has mpicc.openmpi || missing+=(openmpi-bin libopenmpi-dev)
    has NPopenmpi || missing+=(netpipe-openmpi)
    has hpcc || missing+=(hpcc)
    install_packages "${missing[@]}"
}

need_ci() {
    cargo fmt --version >/dev/null 2>&1 || install_recent rustfmt-web rustfmt
    cargo clippy --version >/dev/null 2>&1 || install_recent rust-web-clippy rust-clippy
    cargo deny --version >/dev/null 2>&1 || install_tool cargo-deny@$DENY
}

need_bench() {
    local missing=()
    has strace || missing+=(strace)
    has ucx_perftest || missing+=(ucx-utils)
    has mpicc.mpich || missing+=(mpich libmpich-dev)
    has mpicc.openmpi || missing+=(openmpi-bin libopenmpi-dev)
    has iperf3 || missing+=(iperf3)
    has fi_pingpong || missing+=(libfabric-bin)
    install_packages "${missing[@]}"
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# The version of the Rust that a build here would use, 0 if there is none.
rust_version() {
    { cargo --version 2>/dev/null || echo cargo 0; } | cut -d' ' -f2
}

at_least() {
    [ "$(printf '%s\n' "$2" "$1" | sort --version-sort | head -n 1)" = "$2" ]
}

# Installs the first of several groups of packages whose leader apt has in a recent enough version.
install_recent() {
    local group candidate
    apt_update "Rust $MIN_RUST"
    for group in "$@"; do
        candidate=$(apt-cache policy "${group%% *}" | sed -n 's/^ *Candidate: \([0-9]\)/\1/p')
        if at_least "${candidate:-0}" "$MIN_RUST"; then
            # shellcheck disable=SC2086 # a group is several words
            install_packages $group
            return
        fi
    done
    fail "apt has none of these in version $MIN_RUST or later: $*; install Rust by hand"
}

install_packages() {
    [ $# -gt 0 ] || return 0
    apt_update "$*"
    echo "bootstrap: installing $*"
    logged as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# Once a run; a new system knows no package before. Takes what is wanted, for the message.
apt_update() {
    has apt-get || fail "this system has no apt-get: install by hand: $1"
    [ -n "${apt_is_fresh:-}" ] || logged as_root apt-get update
    apt_is_fresh=1
}

# Unoptimised, for these tools build longer than they run.
install_tool() {
    echo "bootstrap: building $1, once, for about two minutes"
    logged env -u RUSTFLAGS CARGO_PROFILE_DEV_DEBUG=0 cargo install --locked --debug "$@"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif has sudo; then
        sudo "$@"
    else
        fail "'$*' needs root, and there is no sudo: run it as root, then try again"
    fi
}

# Runs a command and shows what it said only if it fails.
logged() {
    local log
    log=$(mktemp)
    if ! "$@" >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "'$*' failed"
    fi
    rm -f "$log"
}

fail() {
    echo "bootstrap: $*" >&2
    exit 1
}

main "$@"
