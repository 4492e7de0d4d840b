//! `doctor`.

use crate::program::{Desk, list};

/// A machine that shows little: two cores, a kernel without PREEMPT_RT, one parameter that does nothing.
fn recorded() -> Desk {
    let desk = Desk::new();
    for (path, text) in [
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("sys/devices/system/cpu/isolated", "\n"),
        ("proc/version", "Linux version 6.1.0 (b@h) (gcc) #1 SMP PREEMPT_DYNAMIC Debian 6.1.1\n"),
        ("proc/cmdline", "quiet noht\n"),
    ] {
        let place = desk.path().join("tree").join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, text).unwrap();
    }
    desk
}

#[test]
fn something_serious_shows_in_the_exit_status() {
    let desk = recorded();
    let ended = desk.run(&["doctor", "--root", "tree", "--rt-cores", "1"]).with(1);
    for words in ["real-time: 1 (as asked)", "SERIOUS\n  preemption: ", "isolcpus=domain,managed_irq,1", "NOT SEEN"] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    // Isolated, and preemptible: what is left is not serious.
    std::fs::write(desk.path().join("tree/sys/devices/system/cpu/isolated"), "1\n").unwrap();
    std::fs::write(desk.path().join("tree/proc/version"), "Linux version 6.1.0 () #1 SMP PREEMPT_RT\n").unwrap();
    let ended = desk.run(&["doctor", "--root", "tree"]).with(0);
    assert!(ended.stdout.contains("real-time: 1 (the isolated ones"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("SERIOUS") && ended.stdout.contains("`noht` has no effect"), "{}", ended.stdout);
}

#[test]
fn json_follows_the_schema() {
    let desk = recorded();
    let schema = desk.run(&["schema", "doctor"]).with(0).json();
    let examination = desk.run(&["doctor", "--root", "tree", "--json"]).with(1).json();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&examination), "{examination}");
    let ids: Vec<_> = list(&examination, "findings").iter().map(|finding| finding["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"preemption") && ids.contains(&"kernel-parameters"), "{ids:?}");
}

#[test]
fn the_first_line_of_the_advice_is_ready_to_paste() {
    let desk = recorded();
    let text = desk.run(&["doctor", "--cmdline", "--rt-cores", "1", "--root", "tree"]).with(0).stdout;
    let json = desk.run(&["doctor", "--cmdline", "--rt-cores", "1", "--root", "tree", "--json"]).with(0).json();
    assert_eq!(text.lines().next(), json["line"].as_str());
    assert!(text.starts_with("isolcpus=domain,managed_irq,1 ") && text.contains("noht: no kernel from 6.1"), "{text}");
}

#[test]
fn cores_that_are_not_there_are_bad_input() {
    let desk = recorded();
    for (cores, words) in [("2", "core 2 is not online; expected some of 0-1"), ("one", "not a list of cores")] {
        let ended = desk.run(&["doctor", "--root", "tree", "--rt-cores", cores]).with(2);
        assert!(
            ended.stderr.contains(&format!("--rt-cores {cores}: ")) && ended.stderr.contains(words),
            "{}",
            ended.stderr
        );
    }
    let ended = desk.run(&["doctor", "--root", "nowhere"]).with(2);
    assert!(ended.stderr.contains("--root: nowhere: No such file or directory"), "{}", ended.stderr);
}

#[test]
fn this_machine_is_examined_without_a_change() {
    let ended = Desk::new().run(&["doctor", "--seconds", "1", "--json"]);
    assert!(matches!(ended.status, Some(0 | 1)), "{ended:?}");
    let examination = ended.json();
    let serious = list(&examination, "findings").iter().any(|finding| finding["severity"] == "serious");
    assert_eq!(ended.status == Some(1), serious);
}
