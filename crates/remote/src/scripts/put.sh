# Takes a program from the standard input. $1: the cache; $2: its SHA-256. A program that does not start here is not kept.
cd "$1/bin" || exit 3
umask 077
p=$2.$$.part
trap "rm -f $p" EXIT
cat > "$p" || exit 3
command -v sha256sum >/dev/null || { echo "there is no sha256sum, which checks the copied program" >&2; exit 3; }
s=$(sha256sum "$p") || exit 3
[ "${s%% *}" = "$2" ] || { echo "its SHA-256 there is ${s%% *}, and here $2" >&2; exit 3; }
chmod 700 "$p" || exit 3
"./$p" --version >&2 || exit 4
# Programs of other versions go, unless a run may still start workers of one.
set -- "$2" ../runs/*
if [ ! -e "$2" ]; then
    for other in *; do
        case $other in *.part) ;; *) rm -f "$other" ;; esac
    done
fi
mv "$p" "$1" || exit 3
