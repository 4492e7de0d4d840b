# Inside a bare Debian: installs the package, runs what it holds, removes it. The argument is the commit that was built.
set -eu
commit=$1
fail() { echo "inside: $*" >&2; exit 1; }
files() { find / -xdev ! -path '/proc*' ! -path '/tmp*' ! -path '/var/lib/dpkg/*' ! -path '/var/log/*' ! -path '/run/*' | sort; }

# For the room below, which offers a processor with cache allocation.
mknod --mode=666 /dev/fuse c 10 229
before=$(files)
dpkg --install /waykeeper.deb
dpkg --verify waykeeper | grep . && fail "files differ from what the package says"

# The program, without root's files of the system that built it.
waykeeper --version
waykeeper list >/tmp/list
grep -q agilex5 /tmp/list || fail "no bundled platforms"
cd /tmp
SOURCE_DATE_EPOCH=0 waykeeper run agilex5-cluster-latency --duration 2ms --repeats 2 --out /tmp/run >/tmp/table
grep -q "\"commit\": \"$commit\"" /tmp/run/run.json || fail "another commit than $commit"
grep -q "$(sha256sum /usr/bin/waykeeper | cut -c1-64)" /tmp/run/run.json || fail "another hash of the program"
waykeeper report /tmp/run --out /tmp/page.html >/dev/null
test -s /tmp/page.html || fail "no page"

# What stands beside it.
for command in '' -run -merge -apply -status -completions; do
    zcat "/usr/share/man/man1/waykeeper$command.1.gz" | grep -q '^\.SH' || fail "no man page waykeeper$command.1"
done
bash -c '. /usr/share/bash-completion/completions/waykeeper
    COMP_WORDS=(waykeeper re); COMP_CWORD=1; _waykeeper waykeeper re waykeeper; echo "${COMPREPLY[*]}"' >/tmp/completed
grep -qw report /tmp/completed && grep -qw restore /tmp/completed || fail "bash completes: $(cat /tmp/completed)"
grep -q '^#compdef waykeeper' /usr/share/zsh/vendor-completions/_waykeeper || fail "no completions for zsh"
grep -q '^complete -c waykeeper' /usr/share/fish/vendor_completions.d/waykeeper.fish || fail "no completions for fish"
grep -q wk_begin /usr/include/waykeeper.h || fail "no header"

# The units start what is there, and what they start answers.
for unit in /lib/systemd/system/waykeeper*; do
    sed -n 's/^Exec[A-Za-z]*=\([^ ]*\).*/\1/p' "$unit" | while read -r program; do
        test -x "$program" || fail "$unit starts $program, which cannot be run"
    done
done
mkdir /tmp/state
STATE_DIRECTORY=/tmp/state /usr/lib/waykeeper/status || fail "status ended with $?"
grep -q '[{]' /tmp/state/status.json || fail "no status: $(cat /tmp/state/status.json)"
ended=0
/usr/lib/waykeeper/apply tcc-halves >/tmp/applied 2>&1 || ended=$?
test "$ended" = 3 || fail "a policy on a machine without resctrl ended with $ended: $(cat /tmp/applied)"
mkdir -p /etc/waykeeper
echo 'not a policy' >/etc/waykeeper/mine.toml
ended=0
/usr/lib/waykeeper/apply mine >/tmp/applied 2>&1 || ended=$?
test "$ended" = 2 && grep -q /etc/waykeeper/mine.toml /tmp/applied || fail "the own policy was not read: $(cat /tmp/applied)"
rm -r /etc/waykeeper

# Metrics for node_exporter: none without its folder, then a file of them.
ended=0
/usr/lib/waykeeper/metrics 2>/tmp/said || ended=$?
test "$ended" = 3 && grep -q 'textfile collector' /tmp/said || fail "metrics without a folder ended with $ended: $(cat /tmp/said)"
WAYKEEPER_METRICS=/tmp/state/waykeeper.prom /usr/lib/waykeeper/metrics || fail "metrics ended with $?"
grep -q '^waykeeper_policy_applied' /tmp/state/waykeeper.prom || fail "no metrics: $(cat /tmp/state/waykeeper.prom)"

# While a policy is applied: an upgrade leaves it, a removal that cannot undo it is refused, and one that can undoes it.
cat >/tmp/room.sh <<'END'
set -eu
fail() { echo "in the room: $*" >&2; exit 1; }
settings() { cat /sys/fs/resctrl/schemata; find /sys/fs/resctrl -mindepth 2 -name schemata | sort | xargs --no-run-if-empty tail -n +1; }
untouched=$(settings)
waykeeper apply tcc-halves --cores real-time=2,3
applied=$(settings)
test "$untouched" != "$applied" || fail "nothing was applied"
dpkg --install /waykeeper.deb
test "$applied" = "$(settings)" || fail "the upgrade changed settings: $(settings)"
waykeeper status || fail "after the upgrade the policy does not hold"
mv /run/waykeeper/journal /tmp/journal
echo 'no journal' >/run/waykeeper/journal
if dpkg --remove waykeeper 2>/tmp/said; then fail "it was removed, with the policy in force"; fi
grep -q 'not removed: the applied policy could not be undone' /tmp/said || fail "the refusal says $(cat /tmp/said)"
test -x /usr/bin/waykeeper || fail "the program is gone"
test "$applied" = "$(settings)" || fail "the refused removal changed settings: $(settings)"
mv /tmp/journal /run/waykeeper/journal
waykeeper status || fail "the policy does not hold after the refused removal"
dpkg --remove waykeeper
test ! -e /usr/bin/waykeeper || fail "it was not removed"
test "$untouched" = "$(settings)" || fail "the removal left $(settings)"
END
unshare --mount sh -c 'mount -t sysfs sysfs /sys && exec waykeeper enter xeon-d-2752ter -- bash /tmp/room.sh' || fail "in a room"

# Installed again as an upgrade, then removed: nothing is left.
dpkg --install /waykeeper.deb
dpkg --remove waykeeper
test ! -e /usr/bin/waykeeper || fail "it was not removed"
dpkg --purge waykeeper
after=$(files)
test "$before" = "$after" || fail "left behind: $(diff <(echo "$before") <(echo "$after"))"
echo "inside: installed, ran, removed"
