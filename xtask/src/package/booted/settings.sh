# What resctrl holds: the masks of everyone else and of each group.
settings() {
    cat /sys/fs/resctrl/schemata
    find /sys/fs/resctrl -mindepth 2 -name schemata | sort | xargs --no-run-if-empty tail -n +1
}
