# An archive of what a run left. $1: its tree; then the names in it, those that are not there are left out.
cd "$1" || exit 3
shift
for f in "$@"; do
    shift
    [ ! -e "$f" ] || set -- "$@" "$f"
done
[ $# -eq 0 ] || tar -c -f - "$@"
