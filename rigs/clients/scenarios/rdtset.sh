# room: xeon-d-2752ter --kernel 6.12
# needs: rdtset
# Debian's rdtset: a command under a mask of its own, taken back when it ends.
. "$(dirname "$0")/lib.sh"

during=$(rdtset --iface=os -t 'l3=0xf;cpu=1' -c 1 cat $R/COS1/schemata) || during=$(rdtset -t 'l3=0xf;cpu=1' -c 1 cat $R/COS1/schemata) || fail rdtset
has "the mask holds while the command runs" 'L3:0=f$' "$during"
is "afterwards core 1 is in the root group again" "" "$(cat $R/COS1/cpus_list 2>/dev/null)"
