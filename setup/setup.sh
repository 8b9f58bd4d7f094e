#!/bin/sh
# Set-up: whatever the build, the showcase and the tests need on a Debian 12 or 13 machine
#
#   setup/setup.sh [FLAVOUR…]
#
# FLAVOUR is an arm64 kernel: `debian` (the default), `debian-rt`, `pseudo-nmi`, the name of a linux-image package,
# or a .deb file. Everything that does not need root lies under .cache; what is there is never
# fetched again, so that a second call is silent and quick and an interrupted one goes on where it was.
set -eu

ROOT=$(cd "$(dirname "$0")/.." && pwd)
CACHE=$ROOT/.cache
STATE=$CACHE/setup
LOG=$STATE/log
FLAVOURS=${*:-debian}
. "$ROOT/setup/progress.sh"
. "$ROOT/setup/archive.sh"
. "$ROOT/setup/packages.sh"
. "$ROOT/setup/rust.sh"
. "$ROOT/setup/kernel.sh"
. "$ROOT/setup/library.sh"
. "$ROOT/setup/sources.sh"
. "$ROOT/setup/module.sh"

# Everything the outcome depends on, in one number.
fingerprint() {
    cat "$ROOT"/setup/*.sh "$ROOT"/setup/packages.txt "$ROOT"/setup/*.config "$ROOT"/setup/sources/Cargo.* "$ROOT"/omp/packages.txt \
        "$ROOT"/rust-toolchain.toml "$ROOT"/linux/kmod/* "$ROOT"/linux/include/* /etc/os-release 2>/dev/null | sha256sum
}

# The stamp vouches for the scripts; the rest is looked at, for people delete things.
is_done() {
    [ "$(cat "$STATE/stamp" 2>/dev/null)" = "$(fingerprint)" ] || return 1
    for tool in qemu-system-aarch64 dtc cc; do
        command -v "$tool" >/dev/null || return 1
    done
    has_rust && has_busybox && has_library && has_sources || return 1
    for flavour in $FLAVOURS; do
        has_kernel "$flavour" && has_module "$flavour" || return 1
    done
}

main() {
    is_done && exit 0
    mkdir -p "$STATE"
    : >"$LOG"
    require_debian
    require_space
    install_packages
    begin_rust
    fetch_busybox
    fetch_library
    for flavour in $FLAVOURS; do
        fetch_kernel "$flavour"
        build_module "$flavour"
    done
    end_rust
    fetch_sources
    fingerprint >"$STATE/stamp"
    [ -z "$DID_SOMETHING" ] || say "Set-up is complete."
}

main
