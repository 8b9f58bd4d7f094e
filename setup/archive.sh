# Debian's archive, read with private lists: no root, nothing of the machine's own state changes
#
# The machine's own package sources are used. Packages are checked by apt against the signed index.

APT=$CACHE/apt
DEB=$CACHE/debian-arm64
NATIVE=$(dpkg --print-architecture 2>/dev/null || echo unknown)

archive_options() {
    mkdir -p "$APT/lists/partial" "$APT/cache/archives/partial"
    : >>"$APT/status"
    printf '%s\n' -q -oAPT::Architectures::=arm64 "-oAPT::Architectures::=$NATIVE" \
        "-oDir::State::Lists=$APT/lists" "-oDir::Cache=$APT/cache" "-oDir::State::Status=$APT/status" \
        -oAPT::Sandbox::User= -oAcquire::Retries=3 \
        -oAcquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
}

# archive TOOL ARGUMENT…: apt-get or apt-cache on the private lists.
archive() {
    tool=$1
    shift
    # shellcheck disable=SC2046 # one option per line, none with spaces but those of the path
    (IFS='
'; exec "$tool" $(archive_options) "$@")
}

# Once per call of the script; third-party sources without arm64 may complain, so the outcome is
# judged by whether the packages are found.
update_archive() {
    [ -z "${ARCHIVE_FRESH:-}" ] || return 0
    step "Reading the package index for arm64" refresh_archive
    ARCHIVE_FRESH=1
}

refresh_archive() { archive apt-get update || :; }

# fetch_package NAME FOLDER: unpacks the candidate version of NAME (`package:arch`) into FOLDER.
fetch_package() (
    mkdir -p "$DEB/packages" "$2" && cd "$DEB/packages" || exit 1
    archive apt-get download "$1" || exit 1
    file=$(ls -t "${1%%:*}"_*.deb | head -n 1)
    dpkg-deb --fsys-tarfile "$file" | tar -x -C "$2" --no-same-owner
    rm "$file"
)

# field PACKAGE NAME: a field of the candidate version, e.g. Depends.
field() {
    archive apt-cache show --no-all-versions "$1" 2>>"$LOG" | sed -n "s/^$2: //p" | head -n 1
}
