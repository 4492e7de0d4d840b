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
fn what_a_policy_lacks_here_is_said_before_anything_runs() {
    let desk = Desk::new();
    let text = desk
        .run(&["run", "agilex5-cluster-latency", "--dry-run", "--set", "mitigations=apollo-lake-pseudo-lock"])
        .with(0)
        .stdout;
    assert!(text.contains("mitigation apollo-lake-pseudo-lock: policies/apollo-lake-pseudo-lock.toml:"), "{text}");
    assert!(desk.names().is_empty(), "{:?}", desk.names());
}
