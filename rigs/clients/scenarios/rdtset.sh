# room: xeon-d-2752ter --kernel 6.12
# needs: rdtset
# Debian's rdtset: a command under a mask of its own, taken back when it ends.
. "$(dirname "$0")/lib.sh"

# It takes the last class that is free.
during=$(rdtset -I -t 'l3=0xf;cpu=1' -c 1 grep . $R/COS15/schemata $R/COS15/cpus_list) || fail rdtset
has "the mask holds while the command runs" 'schemata: *L3:0=0000f$' "$during"
has "core 1 is in the class" 'cpus_list:1$' "$during"
is "afterwards core 1 is in the root group again" "" "$(cat $R/COS15/cpus_list 2>/dev/null)"
