#!/usr/bin/env bash
# Installs the library for C: libbcl.so, libbcl.a, its headers, bcl.pc and the manual pages of section 3.
#
#   scripts/install-libbcl.sh target/release PREFIX [DESTDIR]
set -euo pipefail
built=$(cd "$1" && pwd)
prefix=$2
to=${3:-}$2
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
soname=libbcl.so.${version%%.*}

install -d "$to/lib/pkgconfig" "$to/include" "$to/share/man/man3"
install -m 755 "$built/libbcl.so.$version" "$to/lib/"
strip --strip-unneeded "$to/lib/libbcl.so.$version"
ln -sf "libbcl.so.$version" "$to/lib/$soname"
ln -sf "$soname" "$to/lib/libbcl.so"
install -m 644 "$built/libbcl.a" "$to/lib/"
strip --strip-debug "$to/lib/libbcl.a"
headers=(crates/face/capi/include/bcl.h middle/c/include/bcl_adi.h middle/c/include/bcl_reflect.h
    middle/c/include/bbp.h middle/c/include/bcl_coll.h)
install -m 644 "${headers[@]}" "$to/include/"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" middle/c/bcl.pc.in >"$to/lib/pkgconfig/bcl.pc"
chmod 644 "$to/lib/pkgconfig/bcl.pc"
for header in "${headers[@]}"; do
    awk -v to="$to/share/man/man3" -v version="$version" -f scripts/man3.awk "$header"
done
chmod 644 "$to"/share/man/man3/b*.3
