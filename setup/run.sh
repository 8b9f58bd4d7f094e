#!/bin/sh
# What `make run` does: its variables become arguments of the tool
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
fetched=$root/.cache/debian-arm64/kernel
# As the launcher builds the tool.
export FIRST_BUILD='--release --package bulkhead'

# A kernel is one the set-up knows, a package file, a file of one's own, or a package.
case ${KERNEL:-} in
    '') "$root/setup/setup.sh" ;;
    debian | debian-rt | pseudo-nmi) "$root/setup/setup.sh" "$KERNEL" ;;
    *.deb)
        "$root/setup/setup.sh" debian "$(realpath -m "$KERNEL")"
        KERNEL=$fetched/$(basename "$KERNEL" .deb)/Image
        ;;
    */*) "$root/setup/setup.sh"; KERNEL=$(realpath -m "$KERNEL") ;;
    *) "$root/setup/setup.sh" debian "$KERNEL"; KERNEL=$fetched/$KERNEL/Image ;;
esac

# A board names its showcase where the usual one does not fit.
showcase=$(sed -n 's/^showcase = "\([^"]*\)".*/\1/p' "$root/boards/${BOARD:-qemu-virt}.toml" 2>/dev/null || :)
set -- run "${SYSTEM:-$root/${showcase:-systems/drive}}"
[ -z "${BOARD:-}" ] || set -- "$@" --set "system.board=$BOARD"
[ -z "${FOR:-}" ] || set -- "$@" --for "$FOR"
[ -z "${FAULT:-}" ] || set -- "$@" --fault "$FAULT"
[ -z "${KERNEL:-}" ] || set -- "$@" --set "partition.linux.image.kernel=$KERNEL"
[ -z "${INITRD:-}" ] || set -- "$@" --set "partition.linux.image.initrd=$(realpath -m "$INITRD")"
if [ -n "${LINUX_CORES:-}" ]; then
    case $LINUX_CORES in
        *[!0-9]* | 0* | ????*)
            echo "LINUX_CORES=$LINUX_CORES: not a number of cores; 1 or 2, for example" >&2
            exit 2
            ;;
    esac
    # One each for controller and plant, and the spare one that watches them.
    set -- "$@" --set "partition.linux.cores=$LINUX_CORES" --set "system.cores=$((LINUX_CORES + 3))"
fi
if [ -n "${REALTIME:-}" ]; then
    set -- "$@" --real
    [ -n "${FOR:-}" ] || set -- "$@" --for forever
    # A host takes the emulator's processor away for longer than a hang may last on a board.
    [ -n "${SYSTEM:-}${showcase:-}" ] ||
        set -- "$@" --set "partition.control.heartbeat=5 s" --set "partition.plant.heartbeat=5 s"
fi
exec "$root/bulkhead" "$@"
