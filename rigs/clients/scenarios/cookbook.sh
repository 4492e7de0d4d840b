# room: apollo-lake-e3950 --kernel 6.12
# The cookbook's recipe as it is meant: misses of a real-time application without a neighbour, with one, with one segment
# of the second-level cache, with four, and in a pseudo-locked region of one.
. "$(dirname "$0")/lib.sh"

# misses [ARGUMENTS...]: misses to memory in 100 passes of the application on core 3. The first look that saw passes is left
# out, for the first pass of all brings the buffer in; the next ones count until they have seen two passes.
misses() {
    "$WAYKEEPER" watch --json --interval 500ms --count 240 --target rta_128k@3 "$@" | awk '
        match($0, /"samples":[0-9]+/) { samples = substr($0, RSTART + 10, RLENGTH - 10) + 0 }
        samples > 0 && match($0, /"misses_per_sample":[0-9.]+/) {
            if (warm) { passes += samples; missed += samples * substr($0, RSTART + 20, RLENGTH - 20) }
            warm = 1
        }
        passes >= 2 { printf "%d\n", missed * 100 / passes + 0.5; found = 1; exit }
        END { if (!found) print "no two passes in two minutes" }'
}

is "alone" 0 "$(misses)"
exec 3< <(exec "$WAYKEEPER" load cache_stressor@2)
read -r said <&3 || fail "the neighbour"
shared=$(misses)
more "with a neighbour: misses in 100 passes" "$shared" 0

mkdir $R/clos0 || fail mkdir
put 8 $R/clos0/cpus || fail cpus
put L2:1=1 $R/clos0/schemata || fail schemata
put L2:1=fe $R/schemata || fail "the root's schemata"
one=$(misses)
put L2:1=f $R/clos0/schemata || fail schemata
put L2:1=f0 $R/schemata || fail "the root's schemata"
four=$(misses)
more "one segment is not much better than none of its own" "$((one * 2))" "$shared"
more "four segments are much better than one" "$one" "$((four * 4))"

rmdir $R/clos0 || fail rmdir
put L2:1=fe $R/schemata || fail "the root's schemata"
mkdir $R/demolock || fail mkdir
put pseudo-locksetup $R/demolock/mode || fail "pseudo-locksetup"
put L2:1=0x1 $R/demolock/schemata || fail "the pseudo-lock"
is "the mode" pseudo-locked "$(cat $R/demolock/mode)"
is "in the locked region" 0 "$(misses --region demolock)"
