#!/usr/bin/env bash
# What two processes get out of BCL on this machine, beside what the machine can do at best.
#
#   scripts/demo.sh [BUILD]      BUILD holds `bcl` and `bcl-bench`: target/release
set -euo pipefail
build=${1:-target/release}

# A folder of our own, so that no other port of this node is in the way.
work=$(mktemp -d)
export BCL_DIR=$work/ports
trap 'rm -rf "$work"' EXIT

main() {
    echo "BCL: two processes on $(uname -n), $(cpu), $(nproc) cores, Linux $(uname -r), $(date +%F)"
    exchange
    echo "measuring, about ten seconds ..."
    {
        "$build/bcl" perf latency --json --size 8,1k,64k
        "$build/bcl" perf bandwidth --json --size 64k,1m,4m
        "$build/bcl" perf rate --json --size 8
        "$build/bcl" perf rma --json --size 8 --operation put,get,fetch-add
        "$build/bcl-bench" limits --json
    } | table
}

cpu() {
    sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1
}

# One process sends another a text.
exchange() {
    local receiver address
    "$build/bcl" recv "$work/text" >"$work/address" &
    receiver=$!
    until [ -s "$work/address" ]; do
        kill -0 "$receiver" 2>/dev/null # Ends the demo if it has failed; it said why.
        sleep 0.05
    done
    address=$(cat "$work/address")
    echo "hello through shared memory" | "$build/bcl" send "$address"
    wait "$receiver"
    echo "process $receiver at $address received: $(cat "$work/text")"
}

# Reads the lines of JSON of `bcl perf` and `bcl-bench limits`, which have the same names for the same things.
table() {
    awk '
        function field(name, pair) {
            if (!match($0, "\"" name "\":\"?[^,\"}]*")) return ""
            pair = substr($0, RSTART, RLENGTH)
            sub(/^[^:]*:"?/, "", pair)
            return pair
        }
        function row(what, value, unit, limit, of) {
            printf "  %-28s %9s %-5s %9s %-5s %s\n", what, value, unit, limit, limit == "" ? "" : unit, of
        }
        function us(key) { return key in time ? sprintf("%.3f", time[key]) : "-" }
        function gb(key) { return key in rate ? sprintf("%.1f", rate[key] / 1000) : "-" }
        function millions(key) { return key in count ? sprintf("%.1f", count[key] / 1e6) : "-" }
        {
            key = field("bench") " " (field("operation") ? field("operation") " " : "") field("size_bytes")
            if (field("one_way_us_p50") != "") time[key] = field("one_way_us_p50")
            if (field("mb_per_s") != "") rate[key] = field("mb_per_s")
            if (field("messages_per_s") != "") count[key] = field("messages_per_s")
        }
        END {
            line = "cache line 64"
            hot = "memcpy 262144"
            warm = "memcpy 4194304"
            printf "\n  %-28s %9s %-5s %s\n", "", "BCL", "", "  the machine at best"
            row("message of 8 B, one way", us("latency 8"), "us", us(line), "a cache line from core to core")
            row("message of 1 KiB, one way", us("latency 1024"), "us", "", "")
            row("message of 64 KiB, one way", us("latency 65536"), "us", "", "")
            row("messages of 8 B, per second", millions("rate 8"), "M/s", "", "")
            row("stream of 64 KiB messages", gb("bandwidth 65536"), "GB/s", gb(hot), "memcpy of 256 KiB, in cache")
            row("stream of 1 MiB messages", gb("bandwidth 1048576"), "GB/s", gb(warm), "memcpy of 4 MiB")
            row("stream of 4 MiB messages", gb("bandwidth 4194304"), "GB/s", gb(warm), "memcpy of 4 MiB")
            row("put of 8 B", us("rma put 8"), "us", us(line), "a cache line from core to core")
            row("get of 8 B", us("rma get 8"), "us", us(line), "")
            row("fetch-and-add", us("rma fetch-add 8"), "us", us(line), "")
        }'
}

main
