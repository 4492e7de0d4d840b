//! Policies as mitigations of a run in a room, while somebody else writes to the same resctrl.

use std::fs;

use serde_json::Value;

use crate::waykeeper;

const EXPERIMENT: &str = "title = 'x'\nsentinel = false\nduration = '1 ms'\nrepeats = 2\n\
    targets = [{ workload = 'latency_loop', core = 2 }]\nneighbours = [{ workload = 'way_hammer', cores = [1] }]\n\
    mitigations = ['tcc-halves']\n";

/// Once the policy's group is there, somebody gives it one way more.
const SCRIPT: &str = "waykeeper=$1; $waykeeper run mine.toml --on host --out kept > out & run=$!\n\
    until printf 'L3:0=ff800\\n' > /sys/fs/resctrl/real-time/schemata; do kill -0 $run || exit 9; sleep 0.01; done\n\
    wait $run";

#[test]
fn a_repeat_whose_policy_others_changed_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.toml"), EXPERIMENT).unwrap();
    let program = env!("CARGO_BIN_EXE_waykeeper");
    let room = ["enter", "xeon-d-2752ter", "--", "sh", "-c", SCRIPT, "sh", program];
    let output = waykeeper(&room).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let record = fs::read_to_string(folder.path().join("kept/run.json")).unwrap();
    let run: Value = serde_json::from_str(&record).unwrap();
    let repeats = run["cases"].as_array().unwrap().iter().flat_map(|case| case["repeats"].as_array().unwrap());
    let left_out: Vec<&str> = repeats.filter_map(|repeat| repeat.get("not_counted")?.as_str()).collect();
    let why =
        "the policy `tcc-halves` did not hold to the end: real-time/schemata L3:0: ffc00 was written, it reads ff800";
    assert_eq!(left_out, [why], "one was changed, and the next one was applied anew");
    let report = fs::read_to_string(folder.path().join("out")).unwrap();
    assert!(report.contains("does not count: the policy `tcc-halves` did not hold"), "{report}");
}

/// A policy that is applied, then changed by somebody: the table follows what reads as it was written.
const APPLIED: &str = "set -e; export WAYKEEPER_STATE=$PWD/state; waykeeper=$1\n\
    $waykeeper apply tcc-halves --cores real-time=2,3\n\
    $waykeeper channels --json > applied.json\n\
    printf 'L3:0=ff800\\n' > /sys/fs/resctrl/real-time/schemata\n\
    $waykeeper channels --json > changed.json\n\
    $waykeeper restore --force\n\
    $waykeeper channels --json > restored.json";

#[test]
fn the_table_of_channels_follows_what_is_applied() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_waykeeper");
    let room = ["enter", "xeon-d-2752ter", "--", "sh", "-c", APPLIED, "sh", program];
    let output = waykeeper(&room).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    for (file, standing, of_l3, of_l2) in [
        ("applied.json", "applied", "yes", "no"),
        ("changed.json", "uncertain", "not_seen", "no"),
        ("restored.json", "none", "no", "no"),
    ] {
        let text = fs::read_to_string(folder.path().join(file)).unwrap();
        let table: Value = serde_json::from_str(&text).unwrap();
        let reduced = |id: &str| {
            let row = table["channels"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap();
            row["reduced"]["answer"].as_str().unwrap().to_owned()
        };
        let found = (table["policy"]["standing"].as_str().unwrap(), reduced("l3_ways"), reduced("l2_ways"));
        // The devices in a room are those of the machine below.
        let graphics = table["channels"].as_array().unwrap().iter().find(|row| row["id"] == "graphics").unwrap();
        assert_eq!(graphics["present"]["answer"], "not_seen", "{graphics}");
        assert_eq!(found, (standing, of_l3.to_owned(), of_l2.to_owned()), "{file}: {}", table["policy"]);
    }
}

#[test]
fn a_cache_that_the_policy_leaves_alone_does_not_make_verify_inconclusive() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_waykeeper");
    // Of two caches of the second level the policy divides that of cores 2 and 3.
    let script = "export WAYKEEPER_STATE=$PWD/state; $1 apply apollo-lake-half >&2 && $1 verify --json";
    let room = ["enter", "apollo-lake-e3950", "--", "sh", "-c", script, "sh", program];
    let output = waykeeper(&room).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let verified: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verified["not_probed"].as_array().map_or(0, Vec::len), 0, "{verified}");
    let probes = verified["probes"].as_array().unwrap();
    assert!(probes.iter().all(|probe| probe["cache"] == "L2:1") && !probes.is_empty(), "{verified}");
}

/// What no probe is made for is not in force as far as anybody has seen: exit status 4, not 0. What is gone is said, with 1.
#[test]
fn what_cannot_be_probed_is_inconclusive() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_waykeeper");
    let script = "export WAYKEEPER_STATE=$PWD/state; $1 apply apollo-lake-pseudo-lock >&2 && $1 verify; echo ended with $?; \
                  $1 verify --no-probe; echo ended with $?; $1 restore >&2; \
                  $1 apply apollo-lake-half >&2; umount /sys/fs/resctrl; $1 verify; echo ended with $?; $1 restore";
    let room = ["enter", "apollo-lake-e3950", "--", "sh", "-c", script, "sh", program];
    let output = waykeeper(&room).current_dir(folder.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    for said in [
        "there is no probe for it",
        "ended with 4",
        "ended with 0",
        "resctrl was mounted, and is not mounted",
        "ended with 1",
    ] {
        assert!(told.contains(said), "{said}: {output:?}");
    }
}

/// A run beside what was applied before, one beside a group that somebody else made, and one beside nothing.
const BEFORE: &str = "set -e; waykeeper=$1; run() { $waykeeper run plain.toml --on host --out $1 > $1.out; }\n\
    run nothing\n\
    $waykeeper apply tcc-halves --cores real-time=2,3\n\
    run applied\n\
    $waykeeper restore\n\
    mkdir /sys/fs/resctrl/pods; printf 'L3:0=f\\n' > /sys/fs/resctrl/pods/schemata\n\
    run others\n";

#[test]
fn a_run_records_what_was_in_force_before_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plain.toml"), EXPERIMENT.replace("'tcc-halves'", "")).unwrap();
    let program = env!("CARGO_BIN_EXE_waykeeper");
    let room = ["enter", "xeon-d-2752ter", "--", "sh", "-c", BEFORE, "sh", program];
    let output = waykeeper(&room).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let run = |name: &str| -> (Value, String) {
        let record = fs::read_to_string(folder.path().join(name).join("run.json")).unwrap();
        let run: Value = serde_json::from_str(&record).unwrap();
        (run["machine"].clone(), run["notes"].to_string())
    };
    let (machine, notes) = run("nothing");
    assert!(machine.get("applied_before").is_none() && machine.get("resctrl_groups_before").is_none(), "{machine}");
    assert!(!notes.contains("was measured under"), "{notes}");
    let (machine, notes) = run("applied");
    assert!(machine["applied_before"].as_str().unwrap().starts_with("tcc-halves, since 20"), "{machine}");
    assert!(machine["resctrl_groups_before"].to_string().contains("real-time L3:0=ffc00"), "{machine}");
    assert!(notes.contains("The policy `tcc-halves` was applied before the run began"), "{notes}");
    let (machine, notes) = run("others");
    assert!(machine.get("applied_before").is_none(), "{machine}");
    assert!(machine["resctrl_groups_before"].to_string().contains("pods L3:0=f\""), "{machine}");
    assert!(notes.contains("resctrl had settings when the run began") && !notes.contains("tcc-halves"), "{notes}");
}
