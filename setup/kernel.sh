# Linux for the guests: arm64 kernel packages and a static busybox, unpacked under .cache
#
#   .cache/debian-arm64/kernel/FLAVOUR/{Image,release,modules/}   .cache/debian-arm64/busybox
#
# The flavour `pseudo-nmi` is compiled from Debian's Linux source: no Debian package of a kernel has CONFIG_ARM64_PSEUDO_NMI.

has_busybox() { [ -x "$DEB/busybox" ]; }

fetch_busybox() {
    has_busybox && return 0
    update_archive
    step "Fetching busybox for the initial file system" unpack_busybox
}

unpack_busybox() {
    rm -rf "$DEB/busybox.part"
    fetch_package busybox-static:arm64 "$DEB/busybox.part" || return 1
    for file in "$DEB/busybox.part/bin/busybox" "$DEB/busybox.part/usr/bin/busybox"; do
        [ ! -f "$file" ] || mv "$file" "$DEB/busybox"
    done
    rm -rf "$DEB/busybox.part"
    has_busybox
}

# A flavour that is a file is kept under its name without the folder.
kernel_folder() { echo "$DEB/kernel/$(basename "$1" .deb)"; }

has_kernel() {
    folder=$(kernel_folder "$1")
    [ -s "$folder/Image" ] && [ -s "$folder/release" ] || return 1
    [ "$1" != pseudo-nmi ] || cmp -s "$ROOT/setup/pseudo-nmi.config" "$folder/config"
}

fetch_kernel() {
    has_kernel "$1" && return 0
    case $1 in
        pseudo-nmi) compile_kernel; return ;;
        *.deb) [ -r "$1" ] || die "there is no kernel package $1." "Name an existing .deb file or a package." ;;
        *) update_archive; require_package "$(kernel_package "$1")" ;;
    esac
    step "Fetching the arm64 kernel \"$(basename "$1")\" for Linux guests" unpack_kernel "$1"
}

require_package() {
    [ -n "$(field "$1:arm64" Package)" ] || die "there is no arm64 package $1 in this machine's package sources." \
        "\`apt-cache search linux-image\` lists kernels; an Image or a .deb file will do as well."
}

# kernel_package FLAVOUR: the package that holds the image itself, behind the meta-packages.
kernel_package() {
    case $1 in
        debian) name=linux-image-arm64 ;;
        debian-rt) name=linux-image-rt-arm64 ;;
        *) name=$1 ;;
    esac
    real=$(field "$name:arm64" Depends | tr ',|' '\n\n' | sed -n 's/^ *\(linux-image-[^ ]*\).*/\1/p' | head -n 1)
    echo "${real:-$name}"
}

unpack_kernel() {
    folder=$(kernel_folder "$1")
    rm -rf "$folder.part" "$folder"
    mkdir -p "$folder.part/tree"
    case $1 in
        *.deb) unpack_kernel_files "$1" "$folder.part/tree" ;;
        *) unpack_kernel_packages "$(kernel_package "$1")" "$folder.part/tree" ;;
    esac || return 1
    keep_kernel "$folder.part" && mv "$folder.part" "$folder"
}

# Releases from Debian 14 on divide a linux-image package: image and modules lie in packages on which it depends.
kernel_parts() { tr ',|' '\n\n' | sed -n 's/^ *\(linux-\(binary\|modules\)-[^ ]*\).*/\1/p'; }

unpack_kernel_packages() {
    for package in "$1" $(field "$1:arm64" Depends | kernel_parts); do
        fetch_package "$package:arm64" "$2" || return 1
    done
}

unpack_kernel_files() {
    for part in $(dpkg-deb --field "$1" Depends | kernel_parts); do
        file=$(ls "$(dirname "$1")/${part}"_*.deb 2>/dev/null | head -n 1)
        [ -n "$file" ] || die "$(basename "$1") holds no kernel: that is in $part, on which it depends." \
            "Put that package's .deb file into the same folder."
        dpkg-deb --fsys-tarfile "$file" | tar -x -C "$2" --no-same-owner || return 1
    done
    dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --no-same-owner
}

# From the unpacked packages in FOLDER/tree to what is kept of them.
keep_kernel() {
    modules=$(ls -d "$1"/tree/lib/modules/* "$1"/tree/usr/lib/modules/* 2>/dev/null | head -n 1)
    image=$(ls "$1"/tree/boot/vmlinu[xz]-* "$modules"/vmlinu[xz] 2>/dev/null | head -n 1)
    [ -n "$modules" ] && [ -n "$image" ] || { echo "this is no package of a Linux kernel with its modules"; return 1; }
    is_arm64_image "$image" &&
        basename "$modules" >"$1/release" &&
        mv "$image" "$1/Image" &&
        mv "$modules" "$1/modules" &&
        rm -rf "$1/tree"
}

# Bytes 56-59 of an arm64 Image are "ARM\x64" (Documentation/arch/arm64/booting).
is_arm64_image() {
    [ "$(dd if="$1" bs=1 skip=56 count=4 2>/dev/null)" = ARMd ] && return
    echo "$1 is not an uncompressed arm64 Image"
    return 1
}

SOURCE=$DEB/linux-source

compile_kernel() {
    update_archive
    step "Fetching the source of Linux" unpack_source
    step "Compiling a Linux with pseudo-NMIs, which takes some minutes" build_kernel
}

# The package without a version depends on that of the release's kernels.
unpack_source() {
    rm -rf "$SOURCE" "$SOURCE.part"
    package=$(field linux-source Depends | sed -n 's/^\(linux-source-[^ ]*\).*/\1/p')
    fetch_package "${package:-linux-source}" "$SOURCE.part" && mkdir "$SOURCE" &&
        tar -xf "$SOURCE.part"/usr/src/linux-source-*.tar.xz -C "$SOURCE" --strip-components=1 &&
        rm -r "$SOURCE.part"
}

# The kernel stays in its source, because the module is compiled against both.
build_kernel() {
    folder=$(kernel_folder pseudo-nmi)
    rm -rf "$folder"
    make_linux "$SOURCE" KCONFIG_ALLCONFIG="$ROOT/setup/pseudo-nmi.config" allnoconfig &&
        has_all_options && make_linux "$SOURCE" -j"$(nproc)" Image modules || return 1
    mkdir -p "$folder/modules"
    cp "$SOURCE/arch/arm64/boot/Image" "$folder/Image" && is_arm64_image "$folder/Image" &&
        make_linux "$SOURCE" -s kernelrelease >"$folder/release" &&
        cp "$ROOT/setup/pseudo-nmi.config" "$folder/config"
}

# Linux leaves out an option that it does not have, or that lacks what it depends on, without a message.
has_all_options() {
    missing=$(grep '^CONFIG_' "$ROOT/setup/pseudo-nmi.config" | grep -vxFf "$SOURCE/.config") || return 0
    echo "the configuration has not kept: $missing"
    return 1
}
