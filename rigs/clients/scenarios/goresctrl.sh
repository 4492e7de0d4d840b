# room: xeon-d-mba --kernel 6.12 --load memory_stressor@2,3
# needs: goresctrl
# Intel's goresctrl module: a configuration from a file, tasks, monitoring.
. "$(dirname "$0")/lib.sh"

load=$(pid_of 2)
said=$("$GORESCTRL" "$(dirname "$0")/goresctrl.yaml" batch "$load") || fail "goresctrl"
has "classes" '^class control$' "$said"
has "classes" '^class batch$' "$said"
has "the task is a member" "^pid $load\$" "$said"
has "it monitors" '^monitors true watched$' "$said"
has "occupancy" '^data 0 llc_occupancy [0-9]+$' "$said"
has "bandwidth" '^data 0 mbm_total_bytes [0-9]+$' "$said"
# 60 % of 20 ways are 12, 40 % are 8, and they do not meet.
has "mask of control" '^ *L3:0=0*(fff|fff00)$' "$(cat $R/control/schemata)"
has "mask of batch" '^ *L3:0=0*(ff|ff000)$' "$(cat $R/batch/schemata)"
has "bandwidth of batch" '^ *MB:0= *50$' "$(cat $R/batch/schemata)"
has "the kernel agrees" "^$load\$" "$(cat $R/batch/tasks)"
