# Sourced with $root set: puts the tools that the set-up found or fetched on the path
tools=$(cat "$root/.cache/setup/path" 2>/dev/null) || tools=
[ -z "$tools" ] || PATH=$tools:$PATH
export PATH
command -v cargo >/dev/null || {
    echo "There is no Rust toolchain yet; run \`make setup\` in $root." >&2
    exit 1
}
