# Progress: one line per step with the seconds it took; details go to the log

# People's own: a step that is a function of the script has the log for its output.
exec 9>&2

say() { printf '%s\n' "$*" >&9; }

# die SENTENCE…: what is wrong and what to do, one line each.
die() {
    stop_clock
    printf 'set-up: %s\n' "$1" >&9
    shift
    for line; do printf '        %s\n' "$line" >&9; done
    exit 1
}

CLOCK=
DID_SOMETHING=
stop_clock() {
    [ -z "$CLOCK" ] || kill "$CLOCK" 2>/dev/null || :
    CLOCK=
}
trap 'stop_clock; stop_rust' EXIT
trap 'stop_clock; stop_rust; say ""; say "set-up: interrupted; the same command goes on from here."; exit 130' INT TERM

# Rewrites its line every second, on a terminal only. In the background, so that Ctrl-C reaches the
# command itself, which runs in the foreground.
start_clock() {
    [ -t 2 ] || { printf '  %s …\n' "$1" >&2; return 0; }
    (
        seconds=0
        while :; do
            printf '\r\033[K  %s … %ss' "$1" "$seconds" >&2
            sleep 1
            seconds=$((seconds + 1))
        done
    ) &
    CLOCK=$!
}

# step WHAT COMMAND…: runs the command; if it fails, shows the end of what it said and fails.
step() {
    what=$1
    shift
    DID_SOMETHING=1
    began=$(date +%s)
    start_clock "$what"
    printf '\n== %s: %s\n' "$what" "$*" >>"$LOG"
    if "$@" >>"$LOG" 2>&1 </dev/null; then
        stop_clock
        [ -t 2 ] && printf '\r\033[K' >&2
        say "  $what: done ($(($(date +%s) - began)) s)"
    else
        stop_clock
        say ""
        tail -n 15 "$LOG" >&2
        die "\"$what\" failed." "The whole output is in $LOG; run the same command again to go on."
    fi
}
