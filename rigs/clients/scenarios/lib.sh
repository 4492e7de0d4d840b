# What all scenarios use. A scenario runs as root inside a room; the first thing that is not as expected ends it.
set -u
R=/sys/fs/resctrl

fail() { echo "FAILED: $*" >&2; exit 1; }

# is WHAT EXPECTED FOUND
is() { [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"; echo "ok: $1: $3"; }

# has WHAT PATTERN TEXT: some line matches the extended regular expression.
has() { printf '%s\n' "$3" | grep -Eq -- "$2" || fail "$1: no line matches '$2' in: $3"; echo "ok: $1"; }

# more WHAT LARGE SMALL: whole numbers.
more() { [ "$2" -gt "$3" ] || fail "$1: $2 is not above $3"; echo "ok: $1: $2 > $3"; }

# atmost WHAT SMALL LARGE: whole numbers.
atmost() { [ "$2" -le "$3" ] || fail "$1: $2 is above $3"; echo "ok: $1: $2 <= $3"; }

# said TEXT: a figure that is printed, not checked.
said() { echo "seen: $*"; }

# refuses WHAT TEXT STATUS COMMAND...: the command fails with a message that contains TEXT, and resctrl reports STATUS.
refuses() {
    what=$1 text=$2 status=$3
    shift 3
    if answer=$("$@" 2>&1); then fail "$what: succeeded"; fi
    case $answer in *"$text"*) ;; *) fail "$what: expected '$text', found '$answer'" ;; esac
    is "$what: last_cmd_status" "$status" "$(cat $R/info/last_cmd_status)"
}

# put TEXT FILE: one write, as echo does it; its error is the shell's.
put() { bash -c 'echo "$1" > "$2"' put "$1" "$2"; }

# pid_of CORE: the placeholder of the load on a core.
pid_of() {
    for process in /proc/[0-9]*; do
        case $(cat "$process/comm" 2>/dev/null) in "wk-load-$1-"*) basename "$process" && return ;; esac
    done
    fail "no load on core $1"
}
