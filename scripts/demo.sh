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
    echo "measuring, about twenty seconds ..."
    {
        perf message latency --size 8,64,1k,8k,64k,512k,4m
        stream single
        stream dma --buffers dma
        stream ring --copy stream
        perf rate rate --size 8
        perf one rma --size 8,64,1k,8k,64k,512k,4m
        "$build/bcl-bench" limits --json | sed 's/^/limit /'
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

# Lines of JSON, each after the name of the column it is for.
perf() {
    local column=$1
    shift
    "$build/bcl" perf "$@" --json | sed "s/^/$column /"
}

# Streams on a normal channel: fewer messages where they are long.
stream() {
    local column=$1
    shift
    perf "$column" bandwidth --channel normal --size 8,64,1k,8k,64k --iterations 10000 "$@"
    perf "$column" bandwidth --channel normal --size 512k,4m --iterations 200 "$@"
}

# `bcl perf` and `bcl-bench limits` have the same names for the same things.
table() {
    awk '
        function field(name, pair) {
            if (!match($0, "\"" name "\":\"?[^,\"}]*")) return ""
            pair = substr($0, RSTART, RLENGTH)
            sub(/^[^:]*:"?/, "", pair)
            return pair
        }
        function length_of(bytes) {
            bytes += 0
            if (bytes >= 1048576) return bytes / 1048576 " MiB"
            return bytes >= 1024 ? bytes / 1024 " KiB" : bytes " B"
        }
        function us(key) { return key in time ? sprintf("%.2f", time[key]) : "-" }
        function mb(key) { return key in rate ? sprintf("%.0f", rate[key]) : "-" }
        function limit(what, value, unit) { printf "  %-42s %10s %s\n", what, value, unit }
        {
            size = field("size_bytes")
            what = field("operation") != "" ? field("operation") : $1
            if ($1 == "limit") what = field("bench")
            key = what " " size
            if (field("one_way_us_p50") != "") time[key] = field("one_way_us_p50")
            if (field("mb_per_s") != "") rate[key] = field("mb_per_s")
            if (field("messages_per_s") != "") count[key] = field("messages_per_s")
            if ($1 == "message") sizes[++rows] = size
        }
        END {
            printf "\n  %-8s %10s   %10s %10s %10s   %10s %10s\n", "", "message", "stream", "stream", "stream", "put", "get"
            printf "  %-8s %10s   %10s %10s %10s   %10s %10s\n", "length", "one way", "1 copy", "DMA", "2 copies", "", ""
            printf "  %-8s %10s   %10s %10s %10s   %10s %10s\n", "", "us", "MB/s", "MB/s", "MB/s", "us", "us"
            for (row = 1; row <= rows; row++) {
                size = sizes[row]
                printf "  %-8s %10s   %10s %10s %10s   %10s %10s\n", length_of(size), us("message " size), \
                    mb("single " size), mb("dma " size), mb("ring " size), us("put " size), us("get " size)
            }
            print ""
            limit("messages of 8 B, one way", sprintf("%.2f", count["rate 8"] / 1e6), "million/s")
            limit("fetch-and-add, compare-and-swap", us("fetch-add 8") " " us("compare-swap 8"), "us")
            print "\n  the machine at best"
            limit("a cache line from core to core", us("cache line 64"), "us")
            limit("memcpy of 256 KiB, in cache", mb("memcpy 262144"), "MB/s")
            limit("memcpy of 4 MiB", mb("memcpy 4194304"), "MB/s")
            limit("memcpy of 256 MiB, in memory", mb("memcpy 268435456"), "MB/s")
        }'
}

main
