//! One duration a line, as many as were asked for.

use std::process::Command;

fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_waykeeper-vision")).args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_pass_a_line() {
    for program in ["disparity", "mser"] {
        let (status, text) = run(&[program, "--size", "sqcif", "--repeats", "3"]);
        let durations: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!((status, durations.len()), (Some(0), 3), "{text}");
        assert!(durations.iter().all(|ns| *ns > 0));
    }
}

#[test]
fn bad_arguments_are_refused() {
    assert_eq!(run(&["mser", "--size", "huge"]).0, Some(2));
    assert_eq!(run(&["disparity", "--shifts", "65"]).0, Some(2));
}
