# In the room: the first process of a namespace of its own becomes systemd. A new /proc hides what the room shows there.
cd /
. /booted/settings.sh
settings >/run/untouched
for file in cpuinfo filesystems; do cat "/proc/$file" >"/run/$file"; done
exec unshare --pid --fork --cgroup --kill-child sh -euc '
    mount -t proc proc /proc
    for file in cpuinfo filesystems; do mount --bind "/run/$file" "/proc/$file"; done
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    mount --bind /dev/null /dev/console
    exec env --ignore-environment container=waykeeper-test /lib/systemd/systemd --log-target=journal'
