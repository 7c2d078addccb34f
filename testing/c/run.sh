#!/usr/bin/env bash
# Installs into a folder of its own and uses what is there as a stranger would: the library with pkg-config, from C and
# C++, shared and static, in several processes; the provider from libfabric. In the end it is uninstalled. Ends with a line "N passed, M failed".
#
#   testing/c/run.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."

# Building may have to download; what is built runs in a network of its own.
if [ "${1:-}" != built ]; then
    make --silent build PROFILE=dev
    exec scripts/own-network "$here/run.sh" built
fi

passed=0
failed=0
work=$(mktemp -d)
prefix=$work/prefix
export BCL_DIR=$work/ports PKG_CONFIG_PATH=$prefix/lib/pkgconfig
trap 'rm -rf "$work"' EXIT

main() {
    make --silent install PROFILE=dev PREFIX="$prefix" DESTDIR=
    the_library_exports_what_its_headers_declare
    manual_pages_render
    for way in shared static; do
        build_all "$way"
        for program in bad_input limits remap memory pieces stack threads traps forked reexec reexec-no-pie canceled orphaned refused tagged reflect billboard collectives; do
            checks "$way" "$program"
        done
        programs_talk "$way"
    done
    libfabric_loads_the_provider
    collectives_are_for_the_mpi_libraries_that_are_here
    nothing_is_left_when_uninstalled
    printf '%d passed, %d failed\n' "$passed" "$failed"
    [ "$failed" = 0 ]
}

# ok WHAT COMMAND...: one check.
ok() {
    local what=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        sed 's/^/    /' "$work/log"
    fi
}

# A C program that counts its own checks.
checks() {
    local last
    timeout 120 "$work/$1/$2" >"$work/log" 2>&1 || true
    last=$(tail -n 1 "$work/log")
    if [[ $last =~ ^passed\ ([0-9]+)\ failed\ ([0-9]+)$ ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
        # What this machine does not have is said.
        grep '^there is no' "$work/log" || true
        [ "${BASH_REMATCH[2]}" = 0 ] && return
    else
        failed=$((failed + 1))
    fi
    echo "FAILED: $1/$2"
    sed 's/^/    /' "$work/log"
}

the_library_exports_what_its_headers_declare() {
    local library=$prefix/lib/libbcl.so
    sed -n 's/^[a-z].*[ *]\(b[cb][lp]_[a-z_]*\)(.*/\1/p' "$prefix"/include/b*.h | sort >"$work/declared"
    nm --dynamic --defined-only "$library" | sed -n 's/.* T //p' | sort >"$work/exported"
    ok "the headers declare functions" [ -s "$work/declared" ]
    sed 's/$/@@BCL_0.1/' "$work/declared" >"$work/expected"
    ok "exactly the functions of the headers are exported, with a version" diff "$work/expected" "$work/exported"
    ok "nothing else is exported" [ "$(nm --dynamic --defined-only "$library" | grep -vc ' T b[cb][lp]_')" = 1 ]
    ok "the soname is libbcl.so.0" eval "readelf -d '$library' | grep -q 'SONAME.*\[libbcl.so.0\]'"
    ok "the library stays loaded" eval "readelf -d '$library' | grep -q NODELETE"
    ok "all functions are in the archive" eval \
        "nm --defined-only '$prefix/lib/libbcl.a' 2>/dev/null | sed -n 's/.* T \(b[cb][lp]_\)/\1/p' | sort | diff '$work/declared' -"
    ok "the README shows the example as it is" diff examples/c/ping.c <(sed -n '/^```c$/,/^```$/{/^```/!p}' README.md)
    ok "the command is there" "$prefix/bin/bcl" --version
    ok "pkg-config knows the version" [ "$(pkg-config --modversion bcl)" = 0.1.0 ]
}

manual_pages_render() {
    local name
    while read -r name; do
        ok "$name has a manual page" [ -s "$prefix/share/man/man3/$name.3" ]
    done <"$work/declared"
}

libfabric_loads_the_provider() {
    local folder=$prefix/lib/bcl/libfabric
    ok "the provider is alone in its folder" [ "$(ls -A "$folder")" = libbcl-fi.so ]
    ok "stripped it exports what libfabric calls, and nothing else" \
        [ "$(nm --dynamic --defined-only "$folder/libbcl-fi.so" | cut -d' ' -f3)" = fi_prov_ini ]
    ok "its symbols are not installed" [ -z "$(nm "$folder/libbcl-fi.so" 2>/dev/null)" ]
    ok "it has a manual page, of this version" grep -q '^\.TH FI_BCL 7 "" "BCL 0\.1\.0" "BCL"$' "$prefix/share/man/man7/fi_bcl.7"
    ok "libfabric loads it with the settings that the command prints" eval \
        "(eval \"\$('$prefix/bin/bcl' mpi-env mpich)\"; timeout 30 fi_info | grep -x 'provider: bcl')"
}

# No MPI library has to be here; testing/mpi/run has programs of several use them.
collectives_are_for_the_mpi_libraries_that_are_here() {
    local library=$prefix/lib/bcl/mpi/libbcl-coll.so
    ok "other programs have them, and do not notice" says "as ever" env LD_PRELOAD="$library" echo "as ever"
    ok "they depend on nothing but the C library" eval "! readelf -d '$library' | grep NEEDED | grep -v 'libc\.so'"
    ok "the command says what to preload" eval "'$prefix/bin/bcl' mpi-env --collectives | grep -x 'export LD_PRELOAD=$library;'"
    ok "they have a manual page" grep -q '^\.TH BCL_COLL_MPI 7 "" "BCL 0\.1\.0" "BCL"$' "$prefix/share/man/man7/bcl_coll_mpi.7"
}

nothing_is_left_when_uninstalled() {
    ok "it can be uninstalled" make --silent uninstall PREFIX="$prefix" DESTDIR=
    ok "no file and no folder of ours is left" [ -z "$(find "$prefix" ! -type d -o -name 'bcl' -o -name libfabric -o -name mpi)" ]
}

# Everything, as strictly as compilers can.
build_all() {
    local way=$1 flags libs strict source
    mkdir -p "$work/$way"
    flags=$(pkg-config --cflags bcl)
    strict="-O1 -Wall -Wextra -Werror -pedantic"
    if [ "$way" = shared ]; then
        libs="$(pkg-config --libs bcl) -Wl,-rpath,$prefix/lib"
    else
        libs=$(pkg-config --libs --static bcl | sed 's/-lbcl/-l:libbcl.a/')
    fi
    # shellcheck disable=SC2086 # flags are several words
    {
        for source in "$here"/*.c; do
            ok "$way $(basename "$source") builds" \
                cc -std=c99 -D_GNU_SOURCE $strict $flags "$source" -o "$work/$way/$(basename "$source" .c)" $libs -lpthread
        done
        ok "$way reexec.c builds at fixed addresses" \
            cc -std=c99 -D_GNU_SOURCE $strict -no-pie $flags "$here/reexec.c" -o "$work/$way/reexec-no-pie" $libs -lpthread
        for source in examples/c/*.c; do
            ok "$way $source builds" cc -std=c99 $strict $flags "$source" -o "$work/$way/$(basename "$source" .c)" $libs
        done
        ok "$way hello.cpp builds" c++ -std=c++11 $strict $flags "$here/hello.cpp" -o "$work/$way/hello" $libs
    }
}

# The examples, each between processes.
programs_talk() {
    local way=$1 bin=$work/$1
    ok "$way: C++ says hello" says "hello from C++" "$bin/hello"
    serve "$bin/ping"
    ok "$way: ping is answered" says pong "$bin/ping" "$address"
    ok "$way: ping was heard" served ping
    serve "$bin/server"
    ok "$way: requests are answered" says "$(printf 'HELLO\nWORLD')" "$bin/client" "$address" hello world
    kill -TERM "$server"
    ok "$way: the server ends when told" served bye
    serve "$bin/counter"
    ok "$way: the counter counts" says 999 "$bin/counter" "$address" 1000
    ok "$way: the counter is right" served 1000
    ok "$way: large messages go round a ring" timeout 60 "$bin/launch" 3 "$bin/ring"
    ok "$way: large messages alone" timeout 60 "$bin/ring"
    ok "$way: a forked child has no place in the job" timeout 60 "$bin/launch" 2 "$bin/rank"
    ok "$way: messages are counted with the lock and without" timeout 60 "$bin/rate" 1000
    ok "$way: nobody there is an error" fails "nobody has this port open" "$bin/ping" "${address%:*}:9"
    ok "$way: no ports are left behind" [ "$(find "$BCL_DIR" -type s | wc -l)" = 0 ]
}

# Starts a program that prints its address, and reads that.
serve() {
    # Emptied here and not only by the new process: else the address of the one before may be read.
    : >"$work/served"
    timeout 120 "$@" >"$work/served" 2>&1 &
    server=$!
    for _ in $(seq 500); do
        address=$(head -n 1 "$work/served")
        [ -n "$address" ] && return
        sleep 0.01
    done
}

# The program started last ends well, and what it said after its address is this.
served() {
    wait "$server" && [ "$(tail -n +2 "$work/served")" = "$1" ] || { cat "$work/served"; return 1; }
}

says() {
    local expected=$1 said
    shift
    said=$(timeout 30 "$@") && [ "$said" = "$expected" ] || { echo "said: $said"; return 1; }
}

fails() {
    local expected=$1 said
    shift
    ! said=$(timeout 30 "$@" 2>&1) && [[ $said == *"$expected"* ]] || { echo "said: $said"; return 1; }
}

main "$@"
