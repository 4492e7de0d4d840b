#!/bin/sh
# Verifies this archive, runs its experiments again and draws its pages and pictures again.
#
#   ./reproduce.sh            all three
#   ./reproduce.sh verify     only one of them: verify, run or draw
#
# Needs sha256sum, and for the rest `waykeeper` in PATH, or WAYKEEPER=/path/to/waykeeper.
# The new runs are in again/, what is drawn again in drawn/; neither may exist.
# Exit status: 0 all is equal; 1 a hash or a simulated result differs; 2 bad input; 3 something cannot be run or drawn here.
set -u

waykeeper=${WAYKEEPER:-waykeeper}
programs="@PROGRAMS@"
worst=0

# The first that holds of 1, 3, 0.
ended_with() {
    if [ "$1" -eq 1 ] || [ "$worst" -eq 0 ]; then worst=$1; fi
}

verify() {
    command -v sha256sum >/dev/null || { echo "found no sha256sum in PATH" >&2; exit 3; }
    if sums=$(sha256sum -c MANIFEST.sha256 2>&1); then
        echo "verified: $(wc -l <MANIFEST.sha256) files have the SHA-256 of MANIFEST.sha256"
    else
        printf '%s\n' "$sums" | grep -v ': OK$'
        echo "the archive was changed or damaged; expected all files as MANIFEST.sha256 lists them" >&2
        exit 1
    fi
}

find_program() {
    found=$(command -v "$waykeeper") || {
        echo "found no program \`$waykeeper\`; install Waykeeper (README.md names the version), or set WAYKEEPER to its path" >&2
        exit 3
    }
    "$waykeeper" --version
    sum=$(sha256sum "$found" | cut -d ' ' -f 1)
    case " $programs " in
        *" $sum "*) ;;
        *) echo "note: this is not the build that made the runs; figures of another version may differ" ;;
    esac
}

# run_again RUN sim|host WORD...
run_again() {
    run=$1 place=$2
    shift 2
    echo "running again: $run"
    mkdir -p "$(dirname "again/$run")"
    "$waykeeper" "$@" >"again/$run.txt"
    case $? in
        0 | 1 | 4) ;; # 1 and 4 are about budgets
        130) exit 130 ;;
        *)
            echo "$run: not run again, see above"
            ended_with 3
            return
            ;;
    esac
    if [ "$place" = host ]; then
        echo "$run: measured again on this machine; the figures are others, see again/$run.compared.txt"
        "$waykeeper" compare "runs/$run" "again/$run" >"again/$run.compared.txt" ||
            echo "$run: not comparable, see above"
    elif cmp "runs/$run/samples.hlog" "again/$run/samples.hlog" &&
        cmp "runs/$run/excursions.hlog" "again/$run/excursions.hlog"; then
        echo "$run: equal, all histograms byte for byte"
    else
        echo "$run: differs from the run in the archive"
        ended_with 1
    fi
}

not_run_again() {
    echo "$1: cannot be run again: $2"
    ended_with 3
}

# draw_again PAGE PICTURES|- RUN...
draw_again() {
    page=$1 pictures=$2
    shift 2
    if [ "$pictures" = - ]; then
        "$waykeeper" report "$@" --out "drawn/$page"
    else
        "$waykeeper" report "$@" --out "drawn/$page" --svg "drawn/$pictures"
    fi || {
        ended_with 3
        return
    }
    if cmp -s "$page" "drawn/$page"; then
        echo "$page: drawn again, equal byte for byte"
    else
        echo "$page: drawn again; not byte for byte as in the archive, which another version drew"
    fi
}

runs() {
    :
@RUNS@
}

pages() {
    :
@PAGES@
}

is_new() {
    if [ -e "$1" ]; then
        echo "$1/ exists; move it away, for nothing is overwritten" >&2
        exit 2
    fi
}

case $# in
    0) steps="verify run draw" ;;
    1) steps=$1 ;;
    *) steps=? ;;
esac
case $steps in
    "verify run draw" | verify | run | draw) ;;
    *) echo "usage: $0 [verify|run|draw]" >&2; exit 2 ;;
esac
cd "$(dirname "$0")" || exit 2
case $steps in *run*) is_new again ;; esac
case $steps in *draw*) is_new drawn ;; esac
case $steps in *verify*) verify ;; esac
case $steps in *run* | *draw*) find_program ;; esac
case $steps in *run*) mkdir again && runs ;; esac
case $steps in *draw*) mkdir drawn && pages ;; esac
exit "$worst"
