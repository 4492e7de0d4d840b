# Inside the Debian: installs the package, asks for a policy at boot, and enters a room.
fail() { echo "before the boot: $*" >&2; exit 1; }
test -e /dev/fuse || mknod --mode=666 /dev/fuse c 10 229
dpkg --install /waykeeper.deb >/dev/null
echo 'WAYKEEPER_APPLY="--cores real-time=2,3"' >/etc/default/waykeeper
echo 'WAYKEEPER_METRICS=/var/lib/waykeeper/status.prom' >>/etc/default/waykeeper
cp /booted/checks.service /etc/systemd/system/
systemctl --quiet enable waykeeper@tcc-halves waykeeper-status.timer waykeeper-metrics.timer checks
exec waykeeper enter xeon-d-2752ter -- sh -eu /booted/room.sh
