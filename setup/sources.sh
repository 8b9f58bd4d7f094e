# Sources of C programs that the tests build unchanged: .cache/sources/{zlib,samplerate,freertos}
#
# Cargo fetches the crates that carry them and checks them against the lock file.

SOURCES=$CACHE/sources

has_sources() {
    [ -s "$SOURCES/zlib/zlib.h" ] && [ -s "$SOURCES/samplerate/samplerate.h" ] && [ -s "$SOURCES/freertos/include/FreeRTOS.h" ]
}

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
        mv "$SOURCES.part/freertos-next/FreeRTOS-Kernel" "$SOURCES/freertos" &&
        rm -rf "$SOURCES.part"
    has_sources
}
