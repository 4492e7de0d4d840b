# room: xeon-d-2752ter --kernel 6.12
# needs: pqos
# mount(8), umount(8) and pqos, which mounts by itself: resctrl goes and comes, with options, and says what the kernel says.
. "$(dirname "$0")/lib.sh"

table() { awk '$2 == "/sys/fs/resctrl" { print $3, $4 }' /proc/mounts; }

mkdir $R/a || fail mkdir
put L3:0=f $R/schemata || fail "the root's schemata"
if said=$(mount -t resctrl resctrl $R 2>&1); then fail "a second mount succeeded"; fi
has "it is mounted already" 'already mounted|busy' "$said"
if (cd $R/a && umount $R) 2>/dev/null; then fail "it was unmounted with somebody in it"; fi
has "somebody's folder keeps it busy" '^ *L3:0=0000f$' "$(cat $R/schemata)"

umount $R || fail umount
is "nothing is there" "" "$(ls $R)"
is "nothing is in the table" "" "$(table)"
if said=$(mount -t resctrl -o nonsense resctrl $R 2>&1); then fail "an unknown option was taken"; fi
has "an unknown option" 'wrong fs type, bad option|Invalid argument' "$said"
mount -t resctrl resctrl $R || fail mount
is "no group outlived it" "" "$(ls -d $R/a 2>/dev/null)"
is "all ways are back" 'L3:0=fffff' "$(grep L3 $R/schemata | tr -d ' ')"

umount $R || fail umount
mount -t resctrl -o cdp resctrl $R || fail "mount with cdp"
has "code and data have masks of their own" '^L3CODE:0=fffff$' "$(tr -d ' ' <$R/schemata)"
is "the table has the option" "resctrl rw,relatime,cdp" "$(table)"
umount $R || fail umount

# pqos mounts what it finds unmounted, and mounts again for another setting.
has "pqos turns CDP on" 'L3 CDP is enabled|Allocation reset successful' "$(pqos --iface=os -R l3cdp-on 2>&1; pqos --iface=os -s 2>&1)"
has "the kernel's table shows it" ',cdp' "$(table)"
has "masks for code" '^L3CODE:0=' "$(tr -d ' ' <$R/schemata)"
pqos --iface=os -R l3cdp-off >/dev/null || fail "pqos -R l3cdp-off"
is "and off again" "resctrl rw,relatime" "$(table)"
