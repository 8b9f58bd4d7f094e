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

# A kernel of the machine's release has its headers there. Any other one runs without them, too: all
# that it lacks is the channels.
build_module() {
    has_module "$1" && return 0
    release=$(cat "$(kernel_folder "$1")/release")
    headers=$DEB/headers/$release tree=$DEB/headers/$release/usr/src/linux-headers-$release
    case $1 in
        pseudo-nmi) tree=$SOURCE; compile_for "$1" ;;
        debian | debian-rt) fetch_headers; compile_for "$1" ;;
        *.deb) (fetch_headers "$(dirname "$1")"; compile_for "$1") || without_module "$(dirname "$1")" ;;
        *) (fetch_headers; compile_for "$1") || without_module "the machine's package sources" ;;
    esac
}

compile_for() { step "Building the Linux kernel module for $release" compile_module "$1"; }

without_module() {
    say "Linux $release runs without the kernel module, and so without channels. The module needs a compiler as new" \
        "as the kernel, and the packages linux-headers-$release, the -common one and linux-kbuild in $1."
}

# In: $release, $headers. fetch_headers [FOLDER]: from .deb files in FOLDER if they are there, else from the archive.
fetch_headers() {
    [ -e "$headers/complete" ] && return 0
    if [ -n "$(package_file "linux-headers-$release" "${1:-}")" ]; then
        step "Unpacking the kernel's headers ($release)" unpack_headers "$1"
    else
        update_archive
        step "Fetching the kernel's headers ($release)" unpack_headers
    fi
}

# package_file NAME FOLDER: the file of a package in a folder, if there is one.
package_file() { [ -z "$2" ] || find "$2" -maxdepth 1 -name "$1_*.deb" | head -n 1; }

# The headers name -common and kbuild as the packages they depend on.
unpack_headers() {
    rm -rf "$headers"
    package=linux-headers-$release
    unpack_header_package "$package:arm64" "${1:-}" || return 1
    for name in $(headers_needed "${1:-}" | tr ',|' '\n\n' | sed -n 's/^ *\(linux-[^ (]*\).*/\1/p'); do
        case $name in
            linux-headers-*) unpack_header_package "$name" "${1:-}" || return 1 ;;
            linux-kbuild-*) unpack_header_package "$name:$NATIVE" "${1:-}" || return 1 ;;
        esac
    done
    # The tree names its siblings by absolute path.
    find "$headers/usr/src" -maxdepth 2 \( -name Makefile -o -name .kernelvariables \) \
        -exec sed -i "s|/usr/src/linux-headers|$headers/usr/src/linux-headers|g" {} + || return 1
    : >"$headers/complete"
}

headers_needed() {
    if [ -n "$1" ]; then dpkg-deb --field "$(package_file "$package" "$1")" Depends; else field "$package:arm64" Depends; fi
}

# unpack_header_package NAME FOLDER: from its file in FOLDER, if one is given, else from the archive.
unpack_header_package() {
    [ -n "$2" ] || { fetch_package "$1" "$headers"; return; }
    file=$(package_file "${1%%:*}" "$2")
    [ -n "$file" ] || { echo "there is no ${1%%:*} in $2"; return 1; }
    mkdir -p "$headers"
    dpkg-deb --fsys-tarfile "$file" | tar -x -C "$headers" --no-same-owner
}

compile_module() {
    folder=$(module_folder "$1")
    rm -rf "$folder"
    mkdir -p "$folder/build"
    cp "$ROOT"/linux/kmod/* "$ROOT"/linux/include/* "$folder/build/"
    make_linux "$tree" M="$folder/build" DEB_BUILD_ARCH="$NATIVE" DEB_HOST_ARCH=arm64 \
        DEB_HOST_GNU_TYPE=aarch64-linux-gnu CONFIG_DEBUG_INFO_BTF_MODULES= modules || return 1
    mv "$folder/build/bulkhead.ko" "$folder/bulkhead.ko" && rm -rf "$folder/build" || return 1
    module_sources "$1" >"$folder/sources"
}

# make_linux FOLDER ARGUMENT…: make in the source or the headers of an arm64 kernel.
make_linux() {
    source_tree=$1
    shift
    cross=aarch64-linux-gnu-
    [ "$NATIVE" != arm64 ] || cross=
    make -C "$source_tree" ARCH=arm64 CROSS_COMPILE="$cross" CC="${cross}gcc-$(compiler_version)" "$@"
}
