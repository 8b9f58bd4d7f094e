# Sources of C libraries that the tests build unchanged as components: .cache/sources/{zlib,samplerate}
#
# Cargo fetches the crates that carry them and checks them against the lock file.

SOURCES=$CACHE/sources

has_sources() { [ -s "$SOURCES/zlib/zlib.h" ] && [ -s "$SOURCES/samplerate/samplerate.h" ]; }

fetch_sources() {
    has_sources && return 0
    step "Fetching the sources of C libraries for the tests" unpack_sources
}

unpack_sources() {
    rm -rf "$SOURCES" "$SOURCES.part"
    mkdir -p "$SOURCES"
    "$sysroot/bin/cargo" vendor --locked --quiet --manifest-path "$ROOT/setup/sources/Cargo.toml" "$SOURCES.part" || return 1
    mv "$SOURCES.part/libz-sys/src/zlib" "$SOURCES/zlib" &&
        mv "$SOURCES.part/libsamplerate-sys/libsamplerate/src" "$SOURCES/samplerate" &&
        mv "$SOURCES.part/libsamplerate-sys/libsamplerate/COPYING" "$SOURCES/samplerate/LICENSE" &&
        rm -rf "$SOURCES.part"
    has_sources
}
