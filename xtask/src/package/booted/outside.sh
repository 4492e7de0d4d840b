# Boots the Debian in $1, with the package in it, under its own systemd: in namespaces of its own, in a room.
set -eu
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t sysfs sysfs "$1/sys"
exec chroot "$1" /bin/sh -eu /booted/inside.sh
