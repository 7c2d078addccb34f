#!/usr/bin/env bash
# Runs the tests of the interface program under the kernel of Debian 12, Linux 6.1, in an emulated machine with two CPUs:
# its verifier knows less than a current one's. Needs apt on Debian 12, and no virtualisation.
#
#   testing/kernel/run.sh TARGET_DIR
set -euo pipefail
cd "$(dirname "$0")/../.."

PACKETS=60000
PATIENCE_S=1200

main() {
    local target=$1 package test
    # A pattern: several minor versions are there at a time, the last is the newest.
    package=$(apt-cache search --names-only '^linux-image-6\.1\.[0-9-]*-cloud-amd64$' | cut -d' ' -f1 | sort --version-sort | tail -n 1)
    [ -n "$package" ] || fail "apt knows no Linux 6.1 for clouds; this runs on Debian 12"
    work=$(mktemp -d) # not local, for the trap
    trap 'rm -rf "$work"' EXIT
    (cd "$work" && apt-get download -q "$package" busybox-static >download.log 2>&1) ||
        fail "$package cannot be downloaded: $(cat "$work/download.log")"
    dpkg -x "$work"/linux-image-*.deb "$work/kernel"
    dpkg -x "$work"/busybox-static_*.deb "$work/busybox"
    test=$(cargo test --package bcl-testing --test interface --no-run --locked --message-format json --target-dir "$target" |
        sed -n 's/.*"executable":"\([^"]*interface[^"]*\)".*/\1/p')
    system "$work" "$test"
    boot "$work" | tee "$work/log"
    grep -q 'test result: ok' "$work/log" && ! grep -q 'test result: FAILED\|panicked' "$work/log" ||
        fail "under $package the tests fail"
}

# What the machine boots into: the tests, the libraries that they are linked with, a shell.
system() {
    local root=$1/root library
    mkdir -p "$root"/{bin,proc,sys,dev,tmp}
    cp "$1/busybox/bin/busybox" "$root/bin/"
    ln -s busybox "$root/bin/sh"
    objcopy --strip-debug "$2" "$root/interface"
    for library in $(ldd "$2" | grep -o '/[^ ]*'); do
        mkdir -p "$root${library%/*}"
        cp -L "$library" "$root$library"
    done
    # Of the interfaces the machine has only the loopback; what needs namespaces is left out.
    cat >"$root/init" <<EOF
#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin BCL_TEST_INTERFACE_PACKETS=$PACKETS
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
uname -r
/interface --test-threads=1 --nocapture --skip on_an_interface --skip cost_by_length 2>&1
poweroff -f
EOF
    chmod +x "$root/init"
    (cd "$root" && find . | bin/busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$1/system.gz"
}

boot() {
    timeout "$PATIENCE_S" qemu-system-x86_64 -machine accel=tcg -cpu max -smp 2 -m 1024 -nographic -no-reboot \
        -kernel "$1"/kernel/boot/vmlinuz-* -initrd "$1/system.gz" -append "console=ttyS0 panic=-1 quiet" </dev/null 2>&1 |
        tr -d '\r' | sed '1,/Booting from/d'
}

fail() {
    echo "testing/kernel: $*" >&2
    exit 1
}

main "$@"
