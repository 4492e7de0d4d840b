# room: apollo-lake-e3950 --kernel 6.12
# The cookbook's recipe as it is meant: misses of a real-time application without a neighbour, with one, with one segment
# of the second-level cache, with four, and in a pseudo-locked region of one.
. "$(dirname "$0")/lib.sh"

# The recipe's first line; a room has it done already.
umount $R || fail umount
mount -t resctrl resctrl /sys/fs/resctrl || fail mount

# passes [ARGUMENTS...]: one start of the application on core 3: misses to memory in 100 passes. The first look that saw
# passes is left out, for the first pass of all brings the buffer in; the next one counts. (The recipe's 1000 passes, one
# every 10 ms, would take the simulation an hour; passes of one start differ by a few lines in a thousand.)
passes() {
    "$WAYKEEPER" watch --json --interval 250ms --count 480 --target rta_128k@3 "$@" | awk '
        match($0, /"samples":[0-9]+/) { samples = substr($0, RSTART + 10, RLENGTH - 10) + 0 }
        samples > 0 && match($0, /"misses_per_sample":[0-9.]+/) {
            if (warm) { printf "%d\n", substr($0, RSTART + 20, RLENGTH - 20) * 100 + 0.5; found = 1; exit }
            warm = 1
        }
        END { if (!found) print "no second pass in two minutes" }'
}

# misses: the mean of three starts. Each start has a buffer on other pages, as malloc returns them: how many of them share a
# colour of the cache decides how many lines cannot stay.
misses() { echo $((($(passes) + $(passes) + $(passes)) / 3)); }

is "alone: misses in 100 passes" 0 "$(passes)"
exec 3< <(exec "$WAYKEEPER" load cache_stressor@2)
read -r said <&3 || fail "the neighbour"
shared=$(misses)

mkdir $R/clos0 || fail mkdir
put 8 $R/clos0/cpus || fail cpus
put L2:1=1 $R/clos0/schemata || fail schemata
put L2:1=fe $R/schemata || fail "the root's schemata"
one=$(misses)
put L2:1=f $R/clos0/schemata || fail schemata
put L2:1=f0 $R/schemata || fail "the root's schemata"
four=$(misses)

# The order of the experiment apollo-lake-cat: at least 100 in a pass; at least half of them; at most a quarter.
said "misses in 100 passes: $shared beside the neighbour, $one with one segment, $four with four"
more "with the neighbour there are many" "$shared" 9999
atmost "one segment is not much better" "$((shared / 2))" "$one"
atmost "four segments are much better than one" "$four" "$((one / 4))"
atmost "four segments are much better than none" "$four" "$((shared / 4))"

rmdir $R/clos0 || fail rmdir
put L2:1=fe $R/schemata || fail "the root's schemata"
mkdir $R/demolock || fail mkdir
put pseudo-locksetup $R/demolock/mode || fail "pseudo-locksetup"
put L2:1=0x1 $R/demolock/schemata || fail "the pseudo-lock"
is "the mode" pseudo-locked "$(cat $R/demolock/mode)"
is "in the locked region: misses in 100 passes" 0 "$(passes --region demolock)"
