#!/usr/bin/env bash
# Installs a release build, or removes what was installed.
#
#   scripts/install.sh install BUILD PREFIX [DESTDIR]
#   scripts/install.sh uninstall PREFIX [DESTDIR]
#
# PREFIX is where the files will be used from; DESTDIR stands before it while a package is made.
set -euo pipefail
cd "$(dirname "$0")/.."

# What was installed, so that even another version can remove it.
LIST=share/doc/bcl/installed-files

main() {
    case $1 in
        install) install_all "$2" "$3" "${4:-}" ;;
        uninstall) uninstall_all "$2" "${3:-}" ;;
        *) fail "what is '$1'? install or uninstall" ;;
    esac
}

# Everything is laid out in a folder of its own first: nothing is half installed when a step fails.
install_all() {
    local build=$1 prefix=$2 root=$3$2 file
    [[ $prefix = /* ]] || fail "PREFIX '$prefix' has to start at the root: PREFIX=/usr/local"
    stage=$(mktemp -d)
    trap 'rm -rf "$stage"' EXIT
    scripts/install-libbcl.sh "$build" "$prefix" "$stage"
    lay_out "$build" "$stage$prefix"
    lay_out_provider "$build" "$stage$prefix"
    lay_out_collectives "$build" "$prefix" "$stage$prefix"
    lay_out_agent "$build" "$prefix" "$stage$prefix"
    (cd "$stage$prefix" && find . ! -type d -printf '%P\n' | sort) >"$stage/list"
    install -m 644 "$stage/list" "$stage$prefix/$LIST"
    while read -r file; do
        mkdir -p "$root/$(dirname "$file")"
        cp --no-dereference --preserve=mode --remove-destination "$stage$prefix/$file" "$root/$file"
    done < <(cat "$stage/list" && echo "$LIST")
    refresh_loader "$3"
}

lay_out() {
    local build=$1 to=$2
    install -D -m 755 --strip "$build/bcl" "$to/bin/bcl"
    explain_command "$to/bin/bcl" "$to/share"
    install -D -m 644 -t "$to/share/doc/bcl" README.md ARCHITECTURE.md CHANGELOG.md SECURITY.md LICENSE spec/*.md
    install -D -m 644 -t "$to/share/doc/bcl/examples" examples/c/*.c
    # Where Wireshark looks for plugins differs by distribution: whoever wants it links it there, see the README.
    install -D -m 644 -t "$to/share/bcl" tools/wireshark/bcl.lua
}

# The libfabric provider, alone in its folder: libfabric loads all that it finds there. Stripped it keeps what it exports.
lay_out_provider() {
    local build=$1 to=$2 version
    install -D -m 755 --strip "$build/libbcl_fi.so" "$to/lib/bcl/libfabric/libbcl-fi.so"
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
    install -d "$to/share/man/man7"
    sed "s|@VERSION@|$version|" clients/mpi/man/fi_bcl.7 >"$to/share/man/man7/fi_bcl.7"
    chmod 644 "$to/share/man/man7/fi_bcl.7"
}

# Collectives of MPI programs, for the ABIs of the MPI libraries whose compilers are here.
lay_out_collectives() {
    local build=$1 prefix=$2 to=$3 version wrapper wrappers=()
    # shellcheck disable=SC2086 # several words
    for wrapper in ${MPICC:-mpicc mpicc.mpich mpicc.openmpi}; do
        if command -v "$wrapper" >/dev/null; then
            wrappers+=("$wrapper")
        elif [ -n "${MPICC:-}" ]; then
            fail "there is no $wrapper, which MPICC names"
        fi
    done
    clients/collectives/build "$to/lib/bcl/mpi" "$build" "$prefix/lib" ${wrappers[@]+"${wrappers[@]}"} >/dev/null
    [ ${#wrappers[@]} != 0 ] || echo "install.sh: there is no mpicc: MPI programs keep the collectives of their library (MPICC=... make install)"
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
    sed "s|@VERSION@|$version|" clients/collectives/bcl_coll_mpi.7 >"$to/share/man/man7/bcl_coll_mpi.7"
    chmod 644 "$to/share/man/man7/bcl_coll_mpi.7"
}

# The agent, and how systemd starts it; nothing is started or enabled here.
lay_out_agent() {
    local build=$1 prefix=$2 to=$3 unit
    install -D -m 755 --strip "$build/bcld" "$to/sbin/bcld"
    "$to/sbin/bcld" man "$to/share/man/man8"
    chmod 644 "$to/share/man/man8/bcld.8"
    for unit in bcld.service bcld.socket; do
        install -d "$to/lib/systemd/system"
        sed "s|@SBINDIR@|$prefix/sbin|" "crates/interface/agent/systemd/$unit" >"$to/lib/systemd/system/$unit"
        chmod 644 "$to/lib/systemd/system/$unit"
    done
    install -D -m 644 crates/interface/agent/systemd/bcld.sysusers "$to/lib/sysusers.d/bcld.conf"
}

# Manual pages and completions are written by the command itself, from what its --help says.
explain_command() {
    local bcl=$1 share=$2
    "$bcl" man "$share/man/man1"
    mkdir -p "$share"/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
    "$bcl" completions bash >"$share/bash-completion/completions/bcl"
    "$bcl" completions zsh >"$share/zsh/site-functions/_bcl"
    "$bcl" completions fish >"$share/fish/vendor_completions.d/bcl.fish"
    chmod 644 "$share"/man/man1/bcl*.1
}

uninstall_all() {
    local root=$2$1 file
    [ -e "$root/$LIST" ] || fail "nothing of BCL is installed in $root ($LIST is not there)"
    while read -r file; do
        rm -f "$root/$file"
    done <"$root/$LIST"
    rm -f "$root/$LIST"
    for file in share/doc/bcl/examples share/doc/bcl share/bcl lib/bcl/libfabric lib/bcl/mpi lib/bcl; do
        [ ! -d "$root/$file" ] || rmdir --ignore-fail-on-non-empty "$root/$file"
    done
    refresh_loader "$2"
}

# The loader finds a new library after this; a package does it when it is installed.
refresh_loader() {
    if [ -z "$1" ] && [ "$(id -u)" = 0 ]; then
        ldconfig
    fi
}

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

main "$@"
