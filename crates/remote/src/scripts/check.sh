# Whether a program is in the cache, unchanged. $1: the cache; $2: its SHA-256, which is its name.
cd "$1/bin" || exit 3
[ -f "$2" ] || { echo lacks; exit 0; }
command -v sha256sum >/dev/null || { echo "there is no sha256sum, which checks the copied program" >&2; exit 3; }
s=$(sha256sum "$2")
if [ "${s%% *}" = "$2" ]; then echo has; else rm -f "$2" && echo lacks; fi
