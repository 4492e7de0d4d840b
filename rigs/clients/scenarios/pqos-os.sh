# room: xeon-d-2752ter --kernel 6.12 --load memory_stressor@2,3
# needs: pqos
# Debian's pqos on resctrl: show, masks, associations by core and by task, monitoring, reset.
. "$(dirname "$0")/lib.sh"
pqos="pqos --iface=os"

shown=$($pqos -s) || fail "pqos -s"
has "every class is shown" 'L3CA COS0 => MASK 0xfffff' "$shown"

has "masks" 'Allocation configuration altered' "$($pqos -e 'llc:0=0xf0000;llc:1=0xffff')"
has "the mask is in schemata" '^ *L3:0=0ffff$' "$(cat $R/COS1/schemata)"
has "the root's mask too" '^ *L3:0=f0000$' "$(cat $R/schemata)"

$pqos -a 'llc:1=4,5' >/dev/null || fail "association by core"
is "cores of class 1" 4-5 "$(cat $R/COS1/cpus_list)"
has "association is shown" 'Core 4, L2ID 4, L3ID 0 => COS1' "$($pqos -s)"

load=$(pid_of 2)
$pqos -a "pid:1=$load" >/dev/null || fail "association by task"
has "the load is in class 1" "^$load\$" "$(cat $R/COS1/tasks)"

# A mask with a hole and a mask outside are refused; what was there stays.
if $pqos -e 'llc:1=0xf0f' >/dev/null 2>&1; then fail "a mask with a hole was taken"; fi
has "the mask stayed" '^ *L3:0=0ffff$' "$(cat $R/COS1/schemata)"

# Beside mon_data pqos opens perf events of its own (instructions, cache misses); virtual machines often have none.
if monitored=$($pqos -t 2 -i 10 -p "llc:$load" -u csv 2>&1); then
    has "the load's occupancy" ",$load," "$monitored"
else
    has "pqos monitors nothing without perf events, and says so" 'Failed to open perf event' "$monitored"
fi

$pqos -R >/dev/null || fail "reset"
is "after the reset no core is in class 1" "" "$(cat $R/COS1/cpus_list 2>/dev/null)"
has "after the reset the root has all ways" '^ *L3:0=fffff$' "$(cat $R/schemata)"
