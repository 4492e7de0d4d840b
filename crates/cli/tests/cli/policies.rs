//! Policies as mitigations of a run.

use serde_json::Value;

use crate::program::{Desk, case};

fn tcc(mitigation: &str) -> Value {
    let desk = Desk::new();
    desk.run(&[
        "run",
        "tcc-cache-partition",
        "--json",
        "--duration=1ms",
        "--repeats=1",
        "--set=sweep.size.only=1296 KiB",
        "--set=targets.0.core=4",
        "--set",
        &format!("mitigations={mitigation}"),
    ])
    .with(0)
    .json()
}

#[test]
fn a_policy_does_what_the_platforms_own_masks_do() {
    // The guide's halves: 0xfc0 for the real-time cores 4 and 5, 0x3f for the others, as policy and as mitigation.
    let (policy, own) = (tcc("tcc-halves"), tcc("cat-half"));
    for beside in ["", ", idle"] {
        let figures = |run: &Value, mitigation: &str| {
            let case = case(run, &format!("{mitigation}{beside} [size 1296 KiB]"));
            ["min_ns", "mean_ns", "max_ns"].map(|figure| case[figure].clone())
        };
        assert_eq!(figures(&policy, "tcc-halves"), figures(&own, "cat-half"), "{beside}");
    }
}

#[test]
fn the_ways_that_a_policy_gives_stand_beside_what_is_held() {
    let desk = Desk::new();
    let run = desk.run(&[
        "run",
        "apollo-lake-cat",
        "--json",
        "--duration=15ms",
        "--repeats=1",
        "--set=mitigations=apollo-lake-one-segment",
        "--set=references=[]",
        "--set=expectations=[]",
    ]);
    // One segment of eight is two of 16 ways.
    let run = run.with(0).json();
    for (name, target, others) in [("none", 16, 16), ("apollo-lake-one-segment", 2, 14)] {
        let held = &case(&run, name)["occupancy"];
        assert_eq!(
            (&held["target_ways"], &held["others_ways"]),
            (&Value::from(target), &Value::from(others)),
            "{name}"
        );
    }
}

/// Priorities, the mode without allocation and ways in one policy, and the platform's own three mitigations together.
#[test]
fn a_policy_sets_more_than_ways() {
    let run = |mitigation: &str| {
        let desk = Desk::new();
        let mitigations = format!("mitigations={mitigation}");
        let short =
            ["run", "agilex5-cluster-latency", "--json", "--duration=200us", "--repeats=1", "--set", &mitigations];
        // The published figures belong to mitigations by name, which this list lacks.
        desk.run(&[&short[..], &["--set=references=[]", "--set=expectations=[]"]].concat()).with(0).json()
    };
    let (policy, own) = (run("agilex5-isolate-core1"), run("nl3a+cp+qos"));
    for beside in ["", ", idle"] {
        let figures = |run: &Value, mitigation: &str| {
            let case = case(run, &format!("{mitigation}{beside}"));
            ["samples", "min_ns", "mean_ns", "max_ns"].map(|figure| case[figure].clone())
        };
        assert_eq!(figures(&policy, "agilex5-isolate-core1"), figures(&own, "nl3a+cp+qos"), "{beside}");
    }
}

#[test]
fn what_a_policy_lacks_here_is_said_before_anything_runs() {
    let desk = Desk::new();
    let text = desk
        .run(&["run", "agilex5-cluster-latency", "--dry-run", "--set", "mitigations=apollo-lake-pseudo-lock"])
        .with(0)
        .stdout;
    assert!(text.contains("mitigation apollo-lake-pseudo-lock: policies/apollo-lake-pseudo-lock.toml:"), "{text}");
    assert!(desk.names().is_empty(), "{:?}", desk.names());
}

#[test]
fn a_file_is_a_mitigation_as_a_bundled_policy_is() {
    let desk = Desk::new();
    // A third of 12 ways is 4, the lowest ones: core 4 has them alone.
    desk.file("mine.toml", "title = 'mine'\n[[classes]]\nname = 'rt'\ncores = '4'\nl3 = '4 ways'\n");
    let run = desk
        .run(&[
            "run",
            "tcc-cache-partition",
            "--json",
            "--duration=200us",
            "--repeats=1",
            "--set=sweep.size.only=264 KiB",
            "--set=targets.0.core=4",
            "--set=mitigations=mine.toml",
        ])
        .with(0)
        .json();
    assert_eq!(case(&run, "mine.toml [size 264 KiB]")["mitigation"], "mine.toml");
}

#[test]
fn a_policy_file_that_is_nowhere_or_is_none_is_bad_input() {
    let desk = Desk::new();
    desk.file("thing.toml", "title = 'a thing'\nname = 'thing'\n");
    let run = |file: &str| {
        let mitigations = format!("--set=mitigations={file}");
        desk.run(&["run", "tcc-cache-partition", "--duration=1ms", "--repeats=1", &mitigations]).with(2).stderr
    };
    let told = run("gone.toml");
    let found = "error: --set mitigations=gone.toml: mitigations: found `gone.toml`, a policy file that cannot be read";
    assert!(told.starts_with(found), "{told}");
    assert!(told.contains("or a bundled policy: ") && told.contains("tcc-halves"), "{told}");
    let told = run("thing.toml");
    assert!(told.starts_with("error: thing.toml:2: name: unknown key `name`"), "{told}");
}
