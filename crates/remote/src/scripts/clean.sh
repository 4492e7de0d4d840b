# Removes all that Waykeeper left on the board. $1: the folder for caches, or nothing.
[ -n "$1" ] || set -- "${XDG_CACHE_HOME:-$HOME/.cache}"
[ -d "$1/waykeeper-remote" ] || { echo nothing; exit 0; }
cd "$1/waykeeper-remote" || exit 3
busy=
for r in runs/*; do
    [ -s "$r/supervisor" ] && [ ! -e "$r/status" ] || continue
    boot=none now=none
    [ -s "$r/boot" ] && read -r boot < "$r/boot"
    [ -r /proc/sys/kernel/random/boot_id ] && [ "$boot" != none ] && read -r now < /proc/sys/kernel/random/boot_id
    [ "$boot" = "$now" ] && kill -0 "$(cat "$r/supervisor")" 2>/dev/null || continue
    echo "running ${r#runs/}" && busy=1
done
[ -e /run/waykeeper/journal ] && echo applied && busy=1
[ -z "$busy" ] || exit 0
cd .. && rm -rf waykeeper-remote && echo removed
