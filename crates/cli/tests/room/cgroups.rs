//! Classes by cgroup in a room: real processes on resctrl, and files in the place of the kernel's cgroups.

use crate::waykeeper;

const POLICY: &str = "\
title = 'pods'
[[classes]]
name = 'pods'
cgroups = ['pods']
l3 = 'half'
";

/// What scripts begin with: two processes, the first one in a cgroup below `pods`.
const BEGIN: &str = "\
cd /; wk=$WK; cgroups=/sys/fs/cgroup; group=/sys/fs/resctrl/pods
mount -t tmpfs none $cgroups && mkdir -p $cgroups/pods/a || exit 1
sleep 1000 & first=$!
sleep 1000 & second=$!
echo 0 > $cgroups/pods/cgroup.threads; echo $first > $cgroups/pods/a/cgroup.threads
printf \"$POLICY\" > /run/pods.toml
wait_for() { for try in $(seq 600); do grep -qx $1 $2 && return; sleep 0.05; done; echo \"$1 is not in $2\"; exit 1; }
\"$wk\" apply /run/pods.toml > /run/said || { cat /run/said; exit 1; }
";

/// A script in a room; what it prints.
fn in_room(script: &str) -> Vec<String> {
    let mut command = waykeeper(&["enter", "xeon-d-2752ter", "--", "sh", "-c", &format!("{BEGIN}{script}")]);
    command.env("WK", env!("CARGO_BIN_EXE_waykeeper")).env("WAYKEEPER_STATE", "/run/waykeeper-state");
    let output = command.env("POLICY", POLICY).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_whole_circle() {
    let script = "grep -o 'all tasks (1) are in group pods' /run/said; grep -qx $first $group/tasks && echo moved; \
                  echo $second >> $cgroups/pods/cgroup.threads; \
                  \"$wk\" status > /run/said; echo $?; grep -c \"tasks $second: group pods was written\" /run/said; \
                  \"$wk\" verify --no-probe > /run/said; echo $?; \
                  \"$wk\" follow --count 1 > /run/said; echo $?; head -1 /run/said; \
                  grep -qx $second $group/tasks && echo followed; \
                  \"$wk\" verify --no-probe > /run/said; echo $?; grep -o 'all tasks (2) are in group pods' /run/said; \
                  \"$wk\" restore > /run/said; echo $?; test -e $group || echo gone; \
                  grep -qx $first /sys/fs/resctrl/tasks && grep -qx $second /sys/fs/resctrl/tasks && echo home";
    let expected = [
        "all tasks (1) are in group pods",
        "moved",
        "1",
        "1",
        "1",
        "0",
        "moved 1 task",
        "followed",
        "0",
        "all tasks (2) are in group pods",
        "0",
        "gone",
        "home",
    ];
    assert_eq!(in_room(script), expected);
}

#[test]
fn who_leaves_a_cgroup_and_keeps_its_ways_is_shown() {
    // A process that has ended and is not waited for is in no cgroup any more.
    let script = "sh -c 'until test -e /run/go; do sleep 0.05; done; sleep 0.1 & exec sleep 1000' & parent=$!; echo $parent >> $cgroups/pods/a/cgroup.threads; \
                  \"$wk\" follow --count 1 > /run/said; touch /run/go; sleep 1; \
                  : > $cgroups/pods/a/cgroup.threads; echo $parent > $cgroups/pods/a/cgroup.threads; \
                  \"$wk\" status > /run/said; echo $?; grep -o 'of none of its cgroups: [0-9, ]*' /run/said | \
                  sed \"s/ $first$/ first/\"; \
                  \"$wk\" verify --no-probe --json | grep -c strays";
    assert_eq!(in_room(script), ["0", "of none of its cgroups: first", "1"]);
}

#[test]
fn a_follower_ends_with_what_it_follows() {
    let script = "\"$wk\" follow --interval 20ms > /run/followed & follower=$!; \
                  echo $second >> $cgroups/pods/cgroup.threads; wait_for $second $group/tasks; \
                  mkdir $cgroups/pods/late; sleep 1000 & third=$!; echo $third > $cgroups/pods/late/cgroup.threads; \
                  wait_for $third $group/tasks; echo $third > /sys/fs/resctrl/tasks; sleep 0.2; \
                  grep -qx $third $group/tasks || echo stays; \
                  \"$wk\" restore > /run/said; echo $?; wait $follower; echo $?; tail -1 /run/followed";
    assert_eq!(in_room(script), ["stays", "0", "0", "nothing is applied any more"]);
}
