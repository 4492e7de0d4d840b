//! A journal that somebody has changed is refused as a whole: nothing is written, neither to the machine nor to the journal.

use waykeeper_control::{OthersChanges, restore_with, status};

use crate::cut::{Cut, Memory};
use crate::model::Acting;
use crate::versions::{journal, machines};

/// Changes a text of a journal, and expects a refusal that names the record and the reason.
#[track_caller]
fn refused(name: &str, from: &str, to: &str, expected: &[&str]) {
    let good = journal(name);
    assert!(good.contains(from), "{from} is not in {good}");
    let bad = good.replace(from, to);
    let mut acting = Acting::on(machines(name).0, &Cut::default());
    let before = acting.model.borrow_mut().everything();
    let mut store = Memory::holding(bad.as_bytes());
    for others in [OthersChanges::Leave, OthersChanges::Accept, OthersChanges::Overwrite] {
        let error = restore_with(&mut acting.machine(), &mut store, others).unwrap_err().to_string();
        for expected in expected.iter().chain(&["nothing was written"]) {
            assert!(error.contains(expected), "{error}\nis without\n{expected}");
        }
        assert!(!error.contains(char::is_control), "{error:?}");
    }
    assert!(status(&mut acting.machine(), &mut store).is_err());
    assert_eq!(acting.model.borrow_mut().everything(), before);
    assert_eq!(store.bytes().as_deref(), Some(bad.as_bytes()));
}

const RESTORING: &str = "resctrl-restoring";

#[test]
fn paths_that_lead_elsewhere() {
    let no_path = "this is no path of a group";
    for path in ["../../../proc/sys/kernel", "a/../..", "info", "a/mon_data", "a/b/c", "/a", "a\\u0000", "."] {
        let to = format!(r#""cpus":{{"group":"{path}","cpus":[2,3]}}"#);
        refused(
            RESTORING,
            r#""cpus":{"group":"a","cpus":[2,3]}"#,
            &to,
            &["line 17 (undo, action 1: CPUs 2-3", no_path],
        );
    }
    refused(RESTORING, r#""cpus":{"group":"a","#, r#""cpus":{"group":"","#, &[no_path]);
    refused(RESTORING, r#""a":{"mode""#, r#""a/../..":{"mode""#, &["line 1 (before, group `a/../..`)", no_path]);
    refused(RESTORING, r#""path":"x/schemata""#, r#""path":"../x/schemata""#, &["line 1 (the plan)", "step 4"]);
    refused(RESTORING, r#""path":"schemata""#, r#""path":"info/last""#, &["line 1 (the plan)", "step 2"]);
}

#[test]
fn what_the_plan_does_not_set() {
    let action = r#"{"remove_group":{"group":"x"}}"#;
    let and = |more: &str| format!("{action},{more}");
    refused(
        RESTORING,
        action,
        r#"{"remove_group":{"group":"a"}}"#,
        &["action 4: remove group `a`", "does not make this group"],
    );
    refused(RESTORING, action, &and("\"unmount\""), &["action 5: unmount resctrl", "was not mounted for this plan"]);
    // IA32_BIOS_UPDT_TRIG, and a register of the tables that this plan leaves alone.
    for register in [0x79, 0xc90] {
        let register = format!(r#"{{"register":{{"place":{{"cpu":0,"register":{register}}},"value":1,"mask":1}}}}"#);
        refused(
            RESTORING,
            action,
            &and(&register),
            &["action 5: register 0x", "the plan does not write this register"],
        );
    }
    refused(RESTORING, r#""task":{"tid":1,"#, r#""task":{"tid":7,"#, &["action 2: task 7", "does not name this task"]);
    let home = r#""tid":1,"began":1,"home":{"control":""}"#;
    refused(
        RESTORING,
        home,
        &home.replace("\"\"", "\"a\""),
        &["task 1 to group `a`", "it was in another group before"],
    );
    let left = r#""findings":[],"left":[{"setting":{"cpu":9},"text":"x"}]"#;
    refused(RESTORING, r#""findings":[]"#, left, &["line 17 (what is left, CPU 9)"]);
}

#[test]
fn values_that_were_not_there() {
    let old = r#"{"text":"L3:0=fffff;1=fffff\nMB:0=100\n"}"#;
    let to = |new: &str| format!(r#"{{"text":"{new}"}}"#);
    refused(RESTORING, old, &to(r"L3:0=1;1=fffff\nMB:0=100\n"), &["action 5: `L3:0=1", "not what was there before"]);
    refused(RESTORING, old, &to(r"L3:0=fffff;7=fffff\n"), &["the plan does not write all of these shares"]);
    refused(RESTORING, old, &to(r"L3:0=FFFFF\n"), &["not how this program writes shares"]);
    refused(RESTORING, old, &to("nonsense"), &["has no `:`"]);
    refused(RESTORING, r#""group":"a","cpus":[2,3]"#, r#""group":"a","cpus":[4294967295]"#, &["found CPU 4294967295"]);
    refused(
        RESTORING,
        r#""a":{"mode":"shareable","cpus":[2,3]"#,
        r#""a":{"mode":"shareable","cpus":[9000]"#,
        &["CPU 9000"],
    );
    let register = r#"{"place":{"cpu":0,"register":3216},"value":4095}"#;
    for other in
        [r#"{"place":{"cpu":0,"register":121},"value":4095}"#, r#"{"place":{"cpu":1,"register":3216},"value":1}"#]
    {
        refused("registers-applied", register, other, &["line 1 (before, register", "the plan does not write it"]);
    }
    let undo = |value: u64, mask: u64| {
        let place = r#""place":{"cpu":0,"register":3216}"#;
        format!(
            r#""applied"{}{{"undo":{{"actions":[{{"register":{{{place},"value":{value},"mask":{mask}}}}}],"findings":[]}}}}"#,
            "\n"
        )
    };
    let applied = r#""applied""#;
    refused(
        "registers-applied",
        applied,
        &undo(1, 4095),
        &["line 13 (undo, action 1: register 0xc90", "not what was there"],
    );
    refused("registers-applied", applied, &undo(4095, 65535), &["not the bits that the plan writes"]);
}

#[test]
fn lines_that_do_not_follow() {
    refused(RESTORING, r#"{"begin":0}"#, r#"{"begin":5}"#, &["line 2 (begin of step 6)", "0 of 7 steps are done"]);
    refused(RESTORING, r#"{"done":[0,{}]}"#, r#"{"done":[18446744073709551615,{}]}"#, &["line 3 (end of step"]);
    refused(RESTORING, r#"{"done":[0,{}]}"#, r#"{"done":[0,{"register":1}]}"#, &["line 3 (end of step 1)"]);
    refused(RESTORING, "{\"begin\":3}\n", "", &["(end of step 4)"]);
    refused(RESTORING, r#"{"undone":1}"#, r#"{"undone":99}"#, &["line 19 (undone 99)"]);
    refused(RESTORING, r#"{"undone":1}"#, r#"{"undone":0}"#, &["line 19 (undone 0)"]);
    refused(RESTORING, r#"{"undone":1}"#, r#"{"remains":["mount",{"cpu":77}]}"#, &["line 19 (what is left, CPU 77)"]);
    refused("resctrl-applied", r#""applied""#, r#"{"remains":[]}"#, &["line 16 (remains)", "no undo came before it"]);
    refused("resctrl-applied", r#""applied""#, "\"trying\"", &["line 16 (trying)"]);
    refused(
        "resctrl-applied",
        r#"{"begin":1}"#,
        r#"{"before":{"tree":{"groups":{}},"tasks":{},"registers":[]}}"#,
        &["(before)"],
    );
}

#[test]
fn what_is_no_record() {
    refused(
        RESTORING,
        r#"{"group":"x"}}"#,
        r#"{"group":"x","path":"/etc"}}"#,
        &["line 1: steps.2.path", "unknown key `path`"],
    );
    refused(RESTORING, r#"{"undone":1}"#, r#"{"undone":1,"undo":2}"#, &["line 19"]);
    refused(RESTORING, r#"{"undone":1}"#, "{\"un", &["line 19"]);
    let twice = r#""boot":"second","boot":"first""#;
    refused(RESTORING, r#""boot":"first""#, twice, &["line 1", "the key `boot` stands twice"]);
    // What is quoted cannot write to a terminal.
    refused(RESTORING, r#"{"undone":1}"#, r#""\u001b[2J\n""#, &["line 19", r"found `\u{1b}[2J"]);
    refused(
        RESTORING,
        r#""path":"schemata","text":"L3:0"#,
        r#""path":"schemata","text":"L3\u001b[2J"#,
        &["line 1 (the plan)"],
    );
    refused(RESTORING, r#""boot":"first""#, r#""boot":"""#, &["line 1 (the head)", "which boot it belongs to"]);
    refused(RESTORING, r#""tasks":{"1""#, r#""tasks":{"-1""#, &["line 1 (before, task -1)"]);
    refused(RESTORING, r#""version":"0.1.0""#, r#""version":"0.1.0","more":1"#, &["line 1", "unknown key `more`"]);
}

#[test]
fn what_a_later_version_wrote_is_named() {
    let format = ["written by Waykeeper 9.9.9 in format 2", "`waykeeper restore` of that version undoes"];
    refused("resctrl-applied", r#""format":1,"version":"0.1.0""#, r#""format":2,"version":"9.9.9""#, &format);
    let later =
        journal("resctrl-applied").replace(r#""version":"0.1.0""#, r#""version":"9.9.9""#) + "{\"new_kind\":1}\n";
    let mut acting = Acting::on(machines("resctrl-applied").0, &Cut::default());
    let mut store = Memory::holding(later.as_bytes());
    let error = restore_with(&mut acting.machine(), &mut store, OthersChanges::Overwrite).unwrap_err().to_string();
    assert!(error.contains("line 17") && error.contains("Waykeeper 9.9.9 wrote it, and may read it"), "{error}");
    // A later version that wrote nothing else is read.
    let same = journal("resctrl-applied").replace(r#""version":"0.1.0""#, r#""version":"9.9.9""#);
    let mut store = Memory::holding(same.as_bytes());
    restore_with(&mut acting.machine(), &mut store, OthersChanges::Leave).unwrap();
    assert_eq!(acting.model.borrow_mut().everything(), machines("resctrl-applied").1.everything());
}

#[test]
fn tasks_that_are_followed_come_from_groups_of_others_alone() {
    use crate::plans::{Kind, cgroup_step, group};
    let model = || {
        let mut model = Kind::Plain.model(waykeeper_resctrl::KernelRelease::V6_18);
        model.mkdir("theirs").unwrap();
        model.write("theirs/tasks", "1\n").unwrap();
        model
    };
    let cut = Cut::default();
    let (mut acting, mut store) = (Acting::on(model(), &cut), Memory::with(&cut));
    crate::identity::apply(&mut acting, &mut store, &[group("x"), cgroup_step("x", "pods")]).unwrap();
    let good = String::from_utf8(store.bytes().unwrap()).unwrap();
    let line =
        good.lines().find(|line| line.contains("\"moved\"")).expect("a line for where task 1 came from").to_owned();
    let applied = acting.model.borrow_mut().everything();
    let mut refused = |bad: String| {
        assert_ne!(bad, good);
        let mut store = Memory::holding(bad.as_bytes());
        let error = restore_with(&mut acting.machine(), &mut store, OthersChanges::Overwrite).unwrap_err().to_string();
        assert!(error.contains("moved") && error.contains("nothing was written"), "{error}");
        assert_eq!(acting.model.borrow_mut().everything(), applied);
    };
    for home in ["x", "../theirs", "info", "theirs/mon_groups/m", "a/b"] {
        refused(good.replace(&line, &line.replace("theirs", home)));
    }
    refused(good.replace(&line, &line.replace("\"1\"", "\"-1\"")));
    let monitoring = r#""control":"theirs","monitoring":"mon_groups/m""#;
    refused(good.replace(&line, &line.replace(r#""control":"theirs""#, monitoring)));
    // Before the step has begun, and in a plan that names no cgroup.
    let first = r#"{"begin":0}"#;
    refused(good.replace(&format!("{line}\n"), "").replace(first, &format!("{line}\n{first}")));
    refused(journal("resctrl-applied").replace(r#""applied""#, &line));
}
