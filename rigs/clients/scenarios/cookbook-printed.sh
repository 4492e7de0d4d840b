# room: apollo-lake-e3950 --kernel 6.12
# The cookbook's lines as they are printed, one after the other: the second mkdir and the pseudo-lock of a segment that
# clos0 still holds must fail.
. "$(dirname "$0")/lib.sh"

umount $R || fail umount
mount -t resctrl resctrl /sys/fs/resctrl || fail mount

mkdir $R/clos0 || fail mkdir
put 8 $R/clos0/cpus || fail cpus
put L2:1=1 $R/clos0/schemata || fail schemata
put L2:1=fe $R/schemata || fail "the root's schemata"
has "one segment" 'L2:0=ff;1=0*1$' "$(cat $R/clos0/schemata)"
is "core 3" 3 "$(cat $R/clos0/cpus_list)"

if said=$(mkdir $R/clos0 2>&1); then fail "the second mkdir succeeded"; fi
has "the second mkdir" 'File exists' "$said"
put 8 $R/clos0/cpus || fail cpus
put L2:1=f $R/clos0/schemata || fail schemata
put L2:1=f0 $R/schemata || fail "the root's schemata"

mkdir $R/demolock || fail mkdir
put pseudo-locksetup $R/demolock/mode || fail "pseudo-locksetup"
refuses "the pseudo-lock" 'Invalid argument' 'Overlaps with other group' put L2:1=0X1 $R/demolock/schemata
is "the group waits for a schemata" pseudo-locksetup "$(cat $R/demolock/mode)"
