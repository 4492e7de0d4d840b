# room: i7-1185gre --kernel 6.12
# needs: rdmsr wrmsr
# Debian's msr-tools on a part whose L3 CAT is not enumerated: there is no resctrl for it, only registers.
. "$(dirname "$0")/lib.sh"

has "no L3 in resctrl" '^none$' "$(ls $R/info 2>/dev/null | grep -x L3 || echo none)"
is "after reset a class has all 12 ways" fff "$(rdmsr -p 0 0xc91)"
wrmsr -p 0 0xc91 0x3f || fail "wrmsr"
is "the register keeps the mask" 3f "$(rdmsr -p 0 0xc91)"
is "it is the package's, not the core's" 3f "$(rdmsr -p 3 0xc91)"
wrmsr -p 3 0xc8f 0x100000000 || fail "wrmsr"
is "class 1 is in bits 63:32" 100000000 "$(rdmsr -p 3 0xc8f)"
is "other cores stay in class 0" 0 "$(rdmsr -p 2 0xc8f)"
if wrmsr -p 0 0xc91 0x1000 2>/dev/null; then fail "a mask beyond 12 bits was taken"; fi
if wrmsr -p 0 0xc91 0x505 2>/dev/null; then fail "a mask with holes was taken"; fi
is "refused masks change nothing" 3f "$(rdmsr -p 0 0xc91)"
if rdmsr -p 0 0xdead 2>/dev/null; then fail "an unknown register was read"; fi
if rdmsr -p 9 0xc91 2>/dev/null; then fail "a core that is not there was read"; fi
