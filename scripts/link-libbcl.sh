#!/usr/bin/env bash
# Makes libbcl.so of libbcl.a, in the folder where cargo has put that.
#
#   scripts/link-libbcl.sh target/release
#
# Not cargo itself, because rustc gives the linker an export list of its own, with which no other can be combined,
# and so no versions of symbols.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$1"

version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
soname=libbcl.so.${version%%.*}
library=libbcl.so.$version

# Nothing to do if the library is newer than all it is made of.
if [ ! "$library" -nt libbcl.a ] || [ ! "$library" -nt "$root/middle/c/libbcl.map" ]; then
    # nodelete: a handler for exit() stays registered, so the library stays loaded after dlclose().
    cc -shared -o "$library.new" \
        -Wl,-soname,"$soname" -Wl,--version-script="$root/middle/c/libbcl.map" \
        -Wl,-z,nodelete -Wl,-z,relro,-z,now -Wl,--no-undefined -Wl,--gc-sections \
        -Wl,--whole-archive libbcl.a -Wl,--no-whole-archive \
        -lgcc_s -lpthread -lm -ldl -lc
    mv "$library.new" "$library"
fi
ln -sf "$library" "$soname"
ln -sf "$library" libbcl.so
