# room: apollo-lake-e3950 --kernel 6.12
# Waykeeper in its own room: plan, apply, status, verify, run and restore, as on a machine.
. "$(dirname "$0")/lib.sh"
W=$WAYKEEPER

before=$(cat $R/schemata)
has "plans for this machine" 'L2' "$($W plan apollo-lake-half)"
$W apply apollo-lake-half >/dev/null || fail "apply"
has "status" 'reads as it was left' "$($W status)"
# The policy divides L2:1 alone: all masks of L2:0 are full, so that there is nothing to probe.
verdict=$($W verify --repeats 9)
is "verify ends with" 0 $?
has "the probe reports that the masks are in force" 'L2:1, .*: in force: 1?[0-9][0-9] % of the chase survived' "$verdict"
$W restore >/dev/null || fail "restore"
is "restore puts back what was there" "$before" "$(cat $R/schemata)"
is "no group is left" "" "$(ls -d $R/*/tasks 2>/dev/null)"
