# Under systemd, after the boot: what the units did, and what they do when something differs, is stopped or removed.
set -u
exec >/booted/said 2>&1
. /booted/settings.sh
end() { systemctl exit "$1"; exit "$1"; }
fail() {
    echo "under systemd: $*"
    journalctl --no-pager --boot --unit='waykeeper*' | tail -n 30
    end 1
}
untouched=$(cat /run/untouched)

systemctl --quiet is-active waykeeper@tcc-halves || fail "the policy's unit is $(systemctl is-active waykeeper@tcc-halves)"
applied=$(settings)
test "$untouched" != "$applied" || fail "nothing was applied at boot"
for timer in waykeeper-status.timer waykeeper-metrics.timer; do
    systemctl --quiet is-active "$timer" || fail "$timer is not active"
done

# What the timers start.
systemctl start waykeeper-status waykeeper-metrics || fail "status or metrics failed while the policy held"
grep -q '"policy": "tcc-halves"' /var/lib/waykeeper/status.json || fail "status: $(cat /var/lib/waykeeper/status.json)"
grep -q '^waykeeper_policy_applied' /var/lib/waykeeper/status.prom || fail "metrics: $(cat /var/lib/waykeeper/status.prom)"

# Somebody changes a mask: the unit of the status fails, the one of the metrics does not.
before=$(grep L3: /sys/fs/resctrl/real-time/schemata)
echo 'L3:0=c00' >/sys/fs/resctrl/real-time/schemata || fail "the mask cannot be changed"
if systemctl start waykeeper-status; then fail "the changed mask was not noticed"; fi
systemctl start waykeeper-metrics || fail "the metrics failed by a changed mask"
echo "$before" >/sys/fs/resctrl/real-time/schemata
systemctl start waykeeper-status || fail "the mask that was put back was not noticed"

# A policy that does not exist, and a second one, fail with the reason in the log and change nothing.
if systemctl start waykeeper@nonsense; then fail "a policy that does not exist was applied"; fi
journalctl --no-pager --unit=waykeeper@nonsense | grep -q nonsense || fail "the log does not name the policy"
if systemctl start waykeeper@apollo-lake-half; then fail "a second policy was applied"; fi
test "$applied" = "$(settings)" || fail "a unit that failed changed $(settings)"

# An upgrade leaves it as it is.
dpkg --install /waykeeper.deb || fail "it could not be upgraded"
test "$applied" = "$(settings)" || fail "the upgrade changed $(settings)"
systemctl --quiet is-active waykeeper@tcc-halves || fail "the upgrade stopped the policy's unit"

# Stopped, it restores; started again, it applies; removed with the package, it restores.
systemctl stop waykeeper@tcc-halves || fail "it could not be stopped"
test "$untouched" = "$(settings)" || fail "stopped, it left $(settings)"
systemctl start waykeeper@tcc-halves || fail "it could not be started again"
test "$applied" = "$(settings)" || fail "started again, it applied $(settings)"
dpkg --remove waykeeper || fail "the package could not be removed"
test "$untouched" = "$(settings)" || fail "removed, it left $(settings)"
systemctl reset-failed waykeeper@nonsense waykeeper@apollo-lake-half
failed=$(systemctl --failed --plain --no-legend list-units 'waykeeper*')
test -z "$failed" || fail "units failed by the removal: $failed"
left=$(find /etc/systemd/system -name 'waykeeper*')
test -z "$left" || fail "links are left: $left"
echo "under systemd: applied at boot, watched, stopped, started, removed"
end 0
