# The C library of C and C++ components, unpacked like the kernel: .cache/debian-arm64/picolibc/{include,lib}

has_library() { [ -s "$DEB/picolibc/lib/libc.a" ] && [ -s "$DEB/picolibc/include/stdio.h" ]; }

fetch_library() {
    has_library && return 0
    update_archive
    step "Fetching picolibc, the C library of components" unpack_library
}

unpack_library() {
    rm -rf "$DEB/picolibc.part" "$DEB/picolibc"
    fetch_package picolibc-aarch64-linux-gnu "$DEB/picolibc.part" || return 1
    mv "$DEB/picolibc.part/usr/lib/picolibc/aarch64-linux-gnu" "$DEB/picolibc" || return 1
    mv "$DEB/picolibc.part/usr/share/doc/picolibc-aarch64-linux-gnu/copyright" "$DEB/picolibc/copyright"
    rm -rf "$DEB/picolibc.part"
    has_library
}
