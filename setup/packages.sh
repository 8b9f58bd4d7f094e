# The machine's packages: what is missing is installed, with the reason said

require_debian() {
    ID=unknown VERSION_ID=
    [ ! -r /etc/os-release ] || . /etc/os-release
    case $ID-$VERSION_ID-$(uname -m) in
        debian-12-x86_64 | debian-13-x86_64 | debian-12-aarch64 | debian-13-aarch64) return ;;
    esac
    die "this is ${PRETTY_NAME:-an unknown system} on $(uname -m); the set-up knows Debian 12 and 13 on x86-64 and arm64." \
        "In a container it works anywhere:" \
        "    podman build -t bulkhead . && podman run --rm -it -v \"\$PWD\":/bulkhead bulkhead make run" \
        "(docker takes the same arguments; the recipe is the file Containerfile)"
}

require_space() {
    free=$(df -Pk "$CACHE" | awk 'NR == 2 { print int($4 / 1024) }')
    [ "$free" -ge 2500 ] || die "only $free MiB are free where $CACHE lies; 2500 MiB are needed." \
        "Free some space, or make .cache a link to a folder elsewhere."
}

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# The compiler with which this release's kernels are built.
compiler_version() { [ "$VERSION_ID" = 12 ] && echo 12 || echo 14; }

llvm_version() { [ "$VERSION_ID" = 12 ] && echo 14 || echo 19; }

# The release's Boost; `bulkhead bench switch-host` measures its library if it is installed.
boost_version() { [ "$VERSION_ID" = 12 ] && echo 1.74.0 || echo 1.83.0; }

# Lines of `package reason`.
wanted_packages() {
    sed -e 's/#.*//' -e '/^ *$/d' "$ROOT/setup/packages.txt"
    [ ! -r "$ROOT/omp/packages.txt" ] || sed -e 's/#.*//' -e '/^ *$/d' \
        -e "s/@GCC@/$(compiler_version)/" -e "s/@LLVM@/$(llvm_version)/" "$ROOT/omp/packages.txt"
    case $NATIVE in
        arm64) echo "gcc-$(compiler_version) compiles the Linux kernel module" ;;
        *)
            echo "gcc-$(compiler_version)-aarch64-linux-gnu compiles the Linux kernel module and C components"
            echo "g++-$(compiler_version)-aarch64-linux-gnu compiles C++ components"
            echo "libboost-context$(boost_version) is measured beside thread switches in user mode"
            ;;
    esac
}

missing_packages() {
    wanted_packages | while read -r package reason; do
        is_installed "$package" || printf '%s %s\n' "$package" "${reason:-is needed by the OpenMP suite}"
    done
}

install_packages() {
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    names=$(printf '%s\n' "$missing" | awk '{ print $1 }' | tr '\n' ' ')
    say "These Debian packages are missing and will be installed:"
    printf '%s\n' "$missing" | while read -r package reason; do
        printf '    %-28s %s\n' "$package" "$reason" >&2
    done
    require_root "apt-get install $names"
    step "Updating the package index" as_root apt-get -q -oDPkg::Lock::Timeout=300 update
    as_root dpkg --configure -a >>"$LOG" 2>&1 || :
    # shellcheck disable=SC2086 # a list of names
    step "Installing $(echo $names | wc -w) packages" as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -qy -oDPkg::Lock::Timeout=300 --no-install-recommends install $names
}

# require_root COMMAND: root, or sudo that may ask for the password now, or an end.
require_root() {
    [ "$(id -u)" -ne 0 ] || return 0
    command -v sudo >/dev/null || die "packages are missing and this is neither root nor is sudo there." \
        "Have somebody run, as root:  $1"
    sudo -v || die "sudo did not let us in." "Have somebody run, as root:  $1"
}

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi; }
