# room: xeon-d-mba --kernel 6.12
# needs: pqos
# Debian's pqos and bandwidth: it takes the units from the vendor of this machine's processor: percents, with the sign, on Intel's.
. "$(dirname "$0")/lib.sh"
pqos="pqos --iface=os"

has "the bandwidth is shown" 'MBA COS0 => 100' "$($pqos -s)"
has "half of it" 'MBA COS1 => 50%? requested, 50%? applied' "$($pqos -e 'mba:1=50')"
has "is in schemata" '^ *MB:0= *50$' "$(cat $R/COS1/schemata)"

# A number that is a share on AMD's processors and none on Intel's: the kernel refuses it.
if $pqos -e 'mba:1=2048' >/dev/null 2>&1; then fail "2048 percent were taken"; fi
has "what was there stayed" '^ *MB:0= *50$' "$(cat $R/COS1/schemata)"

# The reset writes the vendor's largest number.
if $pqos -R >/dev/null 2>&1; then
    said "a reset"
else
    said "no reset: pqos writes another vendor's largest number, which is no percent"
fi
has "the root has all of it either way" '^ *MB:0= *100$' "$(cat $R/schemata)"
