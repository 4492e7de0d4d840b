# Prints what a run writes, in frames, until it has ended. $1: its folder; $2, $3, $4: how much of stdout, stderr and
# progress is known. A line a second keeps the connection honest: without a reader this script ends.
cd "$1" || { echo gone; exit 0; }
o=$2 e=$3 p=$4
boot=none now=none supervisor= unborn=0
[ -s supervisor ] && read -r supervisor < supervisor
[ -s boot ] && read -r boot < boot
[ -r /proc/sys/kernel/random/boot_id ] && [ "$boot" != none ] && read -r now < /proc/sys/kernel/random/boot_id
send() {
    k=$(($3 - $2))
    [ $k -le 262144 ] || k=262144
    echo "$1 $k"
    tail -c "+$(($2 + 1))" "$1" | head -c $k
}
quick=0
while :; do
    ended=
    if [ -f status ]; then
        read -r ended < status
    elif [ -z "$supervisor" ] && [ $unborn -lt 20 ]; then
        # The connection that started it was lost meanwhile.
        unborn=$((unborn + 1))
        [ -s supervisor ] && read -r supervisor < supervisor
    elif [ "$boot" != "$now" ] || ! kill -0 "$supervisor" 2>/dev/null; then
        # It may have ended between the two looks.
        if [ -f status ]; then read -r ended < status; else ended=unknown; fi
    fi
    set -- $(wc -c stdout stderr progress)
    more=
    if [ "$1" -gt $o ]; then send stdout $o "$1"; o=$((o + k)) more=1; fi
    if [ "$3" -gt $e ]; then send stderr $e "$3"; e=$((e + k)) more=1; fi
    if [ "$5" -gt $p ]; then send progress $p "$5"; p=$((p + k)) more=1; fi
    [ -z "$more" ] || continue
    [ -z "$ended" ] || { echo "ended $ended"; exit 0; }
    echo alive
    # Commands that end at once are not waited for; a long run is looked at once a second.
    if [ $quick -lt 10 ] && sleep 0.1 2>/dev/null; then quick=$((quick + 1)); else sleep 1; fi
done
