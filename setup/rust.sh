# The pinned Rust toolchain with its targets, as rust-toolchain.toml names them
#
# By rustup where there is one; by Debian's rustup package where the release has it; on Debian 12 by
# the next release's package, unpacked under .cache with the libraries it needs.

# toolchain_list KEY: the words of its value, a string or an array over any number of lines.
toolchain_list() {
    tr '\n' ' ' <"$ROOT/rust-toolchain.toml" | sed -n "s/.*[[ ]$1 *= *\(\[[^]]*\]\|\"[^\"]*\"\).*/\1/p" | tr -d '[],"'
}
CHANNEL=$(toolchain_list channel)
TARGETS=$(toolchain_list targets)
COMPONENTS=$(toolchain_list components)
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
TOOLCHAINS=${RUSTUP_HOME:-$HOME/.rustup}/toolchains

# The folder of the toolchain itself, however it came there.
toolchain() {
    folder=$TOOLCHAINS/$CHANNEL-$(uname -m)-unknown-linux-gnu
    if [ -x "$folder/bin/rustc" ]; then
        echo "$folder"
    elif [ "$(rustc --version 2>/dev/null | cut -d' ' -f2)" = "$CHANNEL" ]; then
        rustc --print sysroot
    else
        return 1
    fi
}

has_toolchain() {
    sysroot=$(toolchain) || return 1
    for target in $TARGETS; do
        [ -d "$sysroot/lib/rustlib/$target/lib" ] || return 1
    done
    [ -x "$sysroot/bin/cargo-clippy" ] && [ -x "$sysroot/bin/cargo-fmt" ]
}

# The path file is for the Makefile and the launcher: rustup's own proxies are not everywhere.
has_rust() { has_toolchain && [ "$(cat "$STATE/path" 2>/dev/null)" = "$sysroot/bin" ]; }

# The toolchain is fetched beside what follows: both spend half of their time waiting for the network or for one processor. FIRST_BUILD
# has cargo's arguments for the program that the caller runs next, which is built there, too.
RUST=
begin_rust() {
    has_toolchain && return 0
    command -v rustup >/dev/null || provide_rustup
    say "  Installing Rust $CHANNEL for $(echo $TARGETS | wc -w) more targets, beside what follows …"
    install_and_build >"$STATE/rust.log" 2>&1 </dev/null &
    RUST=$!
}

end_rust() {
    [ -z "$RUST" ] || step "Installing Rust $CHANNEL${FIRST_BUILD:+ and building what runs next}" await_toolchain
    sysroot=$(toolchain) || die "Rust $CHANNEL is not where rustup installs it." "Run the same command again to go on."
    echo "$sysroot/bin" >"$STATE/path"
}

# Its status is the toolchain's. The caller repeats the build and reports its errors. SIGTERM ends the command that runs.
install_and_build() {
    trap 'kill "$child" 2>/dev/null; exit 143' TERM
    install_toolchain &
    child=$!
    wait "$child" || exit
    [ -n "${FIRST_BUILD:-}" ] || exit 0
    build_first &
    child=$!
    wait "$child" || exit 0
}

build_first() {
    cd "$ROOT" || exit
    PATH=$(toolchain)/bin:$PATH
    # shellcheck disable=SC2086 # options
    exec cargo build --quiet $FIRST_BUILD
}

install_toolchain() {
    # shellcheck disable=SC2046 # options
    exec "${RUSTUP:-rustup}" toolchain install "$CHANNEL" --profile minimal --no-self-update \
        $(printf ' --component %s' $COMPONENTS) $(printf ' --target %s' $TARGETS)
}

await_toolchain() {
    outcome=0
    wait "$RUST" || outcome=$?
    RUST=
    cat "$STATE/rust.log"
    return $outcome
}

stop_rust() { [ -z "$RUST" ] || kill "$RUST" 2>/dev/null || :; }

provide_rustup() {
    if [ -n "$(apt-cache policy rustup 2>/dev/null | sed -n 's/ *Candidate: \([^(].*\)/\1/p')" ]; then
        require_root "apt-get install rustup"
        step "Installing rustup, which brings the Rust toolchain" as_root \
            apt-get -qy -oDPkg::Lock::Timeout=300 --no-install-recommends install rustup
    else
        step "Fetching rustup from the next Debian release" unpack_rustup
        RUSTUP=$CACHE/rustup/rustup
    fi
}

# The machine's own source of the main archive, with the release's name exchanged.
next_release_source() {
    site=$(apt-get indextargets --format '$(ORIGIN)|$(RELEASE)|$(SITE)' 'Created-By: Packages' |
        sed -n "s/^Debian|bookworm|//p" | head -n 1)
    [ -n "$site" ] && echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site trixie main"
}

unpack_rustup() (
    folder=$CACHE/rustup
    rm -rf "$folder"
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
    : >"$folder/status"
    next_release_source >"$folder/sources.list" || exit 1
    set -- -q "-oDir::Etc::SourceList=$folder/sources.list" -oDir::Etc::SourceParts=/dev/null \
        "-oDir::State::Lists=$folder/lists" "-oDir::State::Status=$folder/status" \
        "-oDir::Cache=$folder/cache" -oAPT::Sandbox::User= -oDebug::NoLocking=1
    apt-get "$@" update && apt-get "$@" -y --no-install-recommends --download-only install rustup || exit 1
    for file in "$folder"/cache/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$file" | tar -x -C "$folder" --no-same-owner --keep-directory-symlink || exit 1
    done
    rm -rf "$folder/cache" "$folder/lists"
    loader=$(find "$folder" -name 'ld-linux-*.so.?' | head -n 1)
    libraries=$(find "$folder" -name 'lib*.so.*' -exec dirname {} + | sort -u | paste -sd:)
    printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$libraries" "$folder/usr/bin/rustup" \
        >"$folder/rustup"
    chmod +x "$folder/rustup"
)
