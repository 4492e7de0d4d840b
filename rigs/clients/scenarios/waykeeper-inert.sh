# room: apollo-lake-inert --kernel 6.12
# Masks that read back and do nothing: nothing in the room reports it, and verify finds it by measuring.
. "$(dirname "$0")/lib.sh"
W=$WAYKEEPER

$W apply apollo-lake-half >/dev/null || fail "apply"
has "status sees nothing wrong" 'reads as it was left' "$($W status)"
verdict=$($W verify --repeats 9)
is "verify ends with" 1 $?
has "the probe reports that the masks do nothing" 'INERT' "$verdict"
$W restore >/dev/null || fail "restore"
