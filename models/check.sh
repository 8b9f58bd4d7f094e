#!/bin/sh
# Checks the Spin models: each must hold, and each must fail under every mutation it declares.
# usage: models/check.sh [scratch folder]
set -eu
models=$(cd "$(dirname "$0")" && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
passed=0
failed=0

# Compiling takes longer than most searches, so nothing is optimised.
# verify MODEL FLAGS -> "errors: N" of an exhaustive search
verify() {
    ( cd "$work" && spin -a $2 "$models/$1.pml" >/dev/null &&
        cc -O0 -DSAFETY -DMEMLIM=4096 -w -o pan pan.c && ./pan -m3000000 2>&1 ) > "$work/log" || true
    if grep -q 'max search depth too small\|out of memory' "$work/log"; then
        echo "incomplete"
    else
        sed -n 's/.*errors: \([0-9]*\).*/\1/p' "$work/log"
    fi
}

expect() { # name, got, wanted ("0" or "some")
    case "$3:$2" in
    0:0 | some:[1-9]*) passed=$((passed + 1)); echo "ok    $1" ;;
    *) failed=$((failed + 1)); echo "FAIL  $1 (errors: ${2:-none reported})" ;;
    esac
}

for model in "$models"/*.pml; do
    name=$(basename "$model" .pml)
    expect "$name" "$(verify "$name" "")" 0
    for mutation in $(grep -o '\bM_[A-Z_]\+' "$model" | sort -u); do
        expect "$name, broken by $mutation, is found" "$(verify "$name" "-D$mutation")" some
    done
    grep -q HOSTILE "$model" || continue
    expect "$name, hostile" "$(verify "$name" -DHOSTILE)" 0
    for mutation in $(grep -o '\bH_[A-Z_]\+' "$model" | sort -u); do
        expect "$name, hostile, broken by $mutation, is found" \
            "$(verify "$name" "-DHOSTILE -D$mutation")" some
    done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
