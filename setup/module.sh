# The Linux kernel module, built for each packaged kernel: .cache/debian-arm64/kmod/FLAVOUR/bulkhead.ko
#
# Headers and kbuild are unpacked like the kernel, not installed, so that their versions always match
# and no root is needed.

module_folder() { echo "$DEB/kmod/$(basename "$1" .deb)"; }

module_sources() { cat "$ROOT"/linux/kmod/* "$ROOT"/linux/include/* "$(kernel_folder "$1")/release" | sha256sum; }

has_module() {
    folder=$(module_folder "$1")
    [ -s "$folder/bulkhead.ko" ] && [ "$(cat "$folder/sources" 2>/dev/null)" = "$(module_sources "$1")" ]
}

build_module() {
    has_module "$1" && return 0
    release=$(cat "$(kernel_folder "$1")/release")
    fetch_headers
    step "Building the Linux kernel module for $release" compile_module "$1"
}

# In: $release. The headers name -common and kbuild as the packages they depend on.
fetch_headers() {
    headers=$DEB/headers/$release
    [ -e "$headers/complete" ] && return 0
    update_archive
    step "Fetching the kernel's headers ($release)" unpack_headers
}

unpack_headers() {
    rm -rf "$headers"
    package=linux-headers-$release
    fetch_package "$package:arm64" "$headers" || return 1
    for name in $(field "$package:arm64" Depends | tr ',|' '\n\n' | sed -n 's/^ *\(linux-[^ (]*\).*/\1/p'); do
        case $name in
            linux-headers-*) fetch_package "$name" "$headers" || return 1 ;;
            linux-kbuild-*) fetch_package "$name:$NATIVE" "$headers" || return 1 ;;
        esac
    done
    # The tree names its siblings by absolute path.
    find "$headers/usr/src" -maxdepth 2 \( -name Makefile -o -name .kernelvariables \) \
        -exec sed -i "s|/usr/src/linux-headers|$headers/usr/src/linux-headers|g" {} + || return 1
    : >"$headers/complete"
}

compile_module() {
    folder=$(module_folder "$1")
    rm -rf "$folder"
    mkdir -p "$folder/build"
    cp "$ROOT"/linux/kmod/* "$ROOT"/linux/include/* "$folder/build/"
    cross=aarch64-linux-gnu-
    [ "$NATIVE" != arm64 ] || cross=
    make -C "$headers/usr/src/linux-headers-$release" M="$folder/build" ARCH=arm64 \
        CROSS_COMPILE="$cross" DEB_BUILD_ARCH="$NATIVE" DEB_HOST_ARCH=arm64 \
        DEB_HOST_GNU_TYPE=aarch64-linux-gnu CONFIG_DEBUG_INFO_BTF_MODULES= modules || return 1
    mv "$folder/build/bulkhead.ko" "$folder/bulkhead.ko" && rm -rf "$folder/build" || return 1
    module_sources "$1" >"$folder/sources"
}
