//! Hashes of what a run was made from, beside those of another program.

use std::path::Path;
use std::process::Command;

use crate::program::{Desk, PROGRAM, repository};

/// What `sha256sum` prints for a file.
#[track_caller]
fn sha256(file: &Path) -> String {
    let output = Command::new("sha256sum").arg(file).output().unwrap();
    assert!(output.status.success(), "{}", file.display());
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

#[test]
fn a_run_has_the_hashes_of_the_files_that_it_was_made_from() {
    let desk = Desk::new();
    let bundled = |path: &str| repository().join(path);
    std::fs::copy(bundled("platforms/agilex5.toml"), desk.path().join("board.toml")).unwrap();
    std::fs::copy(bundled("policies/agilex5-isolate-core1.toml"), desk.path().join("halves.toml")).unwrap();
    desk.file(
        "mine.toml",
        "title = 'x'\nplatform = 'board.toml'\nrepeats = 1\nsimulated_duration = '1 ms'\nsentinel = false\n\
         targets = [{ workload = 'latency_loop', core = 1 }]\nneighbours = [{ workload = 'own', cores = [2] }]\n\
         mitigations = ['halves.toml']\n[workloads.own]\nkind = 'stream'\noperation = 'read'\nsize = '64 KiB'\n",
    );
    desk.run(&["run", "mine.toml", "--out=kept"]).with(0);
    let run = desk.record("kept");
    let expected = serde_json::json!({
        "experiment": sha256(&desk.path().join("kept/experiment.toml")),
        "platform": sha256(&desk.path().join("board.toml")),
        "workloads": { "latency_loop": sha256(&bundled("workloads/latency_loop.toml")) },
        "policies": { "halves.toml": sha256(&desk.path().join("halves.toml")) },
    });
    assert_eq!(run["provenance"], expected);
    assert_eq!(run["tool"]["sha256"], sha256(Path::new(PROGRAM)).as_str());
    // Only who builds packages names the commit.
    assert_eq!(run["tool"].get("commit").is_some(), option_env!("WAYKEEPER_COMMIT").is_some());

    desk.run(&["report", "kept", "--out=page.html"]).with(0);
    let page = std::fs::read_to_string(desk.path().join("page.html")).unwrap();
    let (_, folded) = page.split_once("<details><summary>Provenance (SHA-256)</summary>").unwrap();
    let (folded, _) = folded.split_once("</details>").unwrap();
    let policy = &expected["policies"]["halves.toml"];
    for shown in ["policy halves.toml", "workload latency_loop", policy.as_str().unwrap()] {
        assert!(folded.contains(shown), "{shown}: {folded}");
    }
}

#[test]
fn a_bundled_platform_has_the_hash_of_its_file() {
    let desk = Desk::new();
    desk.run(&["run", "agilex5-cluster-latency", "--duration=1ms", "--repeats=1", "--out=kept"]).with(0);
    let run = desk.record("kept");
    assert_eq!(run["provenance"]["platform"], sha256(&repository().join("platforms/agilex5.toml")).as_str());
}
