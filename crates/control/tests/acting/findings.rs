//! What others did since: it is told, and stays, unless it is forced.

use waykeeper_control::{ApplyState, Restored, status};
use waykeeper_policy::Step;
use waykeeper_resctrl::KernelRelease;

use crate::cut::{Cut, Memory};
use crate::identity::{apply, restore};
use crate::model::Acting;
use crate::plans::{Kind, group, write};

/// The usual plan: the root keeps the upper half, CPUs 0 and 1 and task 1 get the lower one.
fn halves() -> Vec<Step> {
    vec![
        Step::Mounted(Kind::Plain.settings()),
        write("schemata", "L3:0=ffc00;1=ffc00\n"),
        group("x"),
        write("x/schemata", "L3:0=3ff;1=3ff\n"),
        write("x/mode", "exclusive\n"),
        write("x/cpus_list", "0-1\n"),
        write("x/tasks", "1\n"),
    ]
}

fn applied() -> (Acting, Memory) {
    let cut = Cut::default();
    let (mut acting, mut store) = (Acting::on(Kind::Plain.model(KernelRelease::V6_18), &cut), Memory::with(&cut));
    apply(&mut acting, &mut store, &halves()).unwrap();
    (acting, store)
}

fn told(restored: Restored) -> Vec<String> {
    match restored {
        Restored::Back { findings, .. } => findings,
        Restored::Left { findings, left, .. } => [findings, left].concat(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn masks_that_others_changed_stay_unless_forced() {
    for force in [false, true] {
        let (mut acting, mut store) = applied();
        acting.model.borrow_mut().write("schemata", "L3:0=ff000\n").unwrap();
        let findings = told(restore(&mut acting, &mut store, force));
        let then = if force { "it is put back all the same" } else { "it stays so" };
        assert_eq!(findings, [format!("L3:0 of the root reads ff000, which is not what was left there; {then}")]);
        // The other cache was as it was left, and is put back.
        let expected = if force { "L3:0=fffff;1=fffff" } else { "L3:0=ff000;1=fffff" };
        assert!(acting.model.borrow_mut().read("schemata").contains(expected));
    }
}

#[test]
fn cpus_and_tasks_that_others_moved_stay_unless_forced() {
    for force in [false, true] {
        let (mut acting, mut store) = applied();
        let model = acting.model.clone();
        model.borrow_mut().write("x/mode", "shareable\n").unwrap();
        model.borrow_mut().mkdir("theirs").unwrap();
        model.borrow_mut().write("theirs/cpus_list", "1\n").unwrap();
        model.borrow_mut().write("theirs/tasks", "1\n").unwrap();
        let findings = told(restore(&mut acting, &mut store, force));
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with("CPU 1 is in group theirs now"), "{findings:?}");
        assert!(findings[1].starts_with("task 1 is in group theirs now"), "{findings:?}");
        let (cpus, tasks) = if force { ("\n", "") } else { ("1\n", "1\n") };
        assert_eq!(model.borrow_mut().read("theirs/cpus_list"), cpus);
        assert_eq!(model.borrow_mut().read("theirs/tasks"), tasks);
    }
}

#[test]
fn a_group_that_somebody_removed_is_told() {
    let (mut acting, mut store) = applied();
    acting.model.borrow_mut().rmdir("x").unwrap();
    let findings = told(restore(&mut acting, &mut store, false));
    assert_eq!(findings.iter().filter(|finding| finding.contains("somebody has removed the group x")).count(), 1);
    assert!(acting.model.borrow_mut().read("schemata").contains("L3:0=fffff;1=fffff"));
}

#[test]
fn an_unmount_by_somebody_is_told() {
    let (mut acting, mut store) = applied();
    acting.model.borrow_mut().resctrl.unmount();
    let findings = told(restore(&mut acting, &mut store, false));
    assert_eq!(findings, ["resctrl is not mounted any more: whoever unmounted it has reset everything"]);
    assert!(store.is_empty());
}

#[test]
fn groups_of_others_keep_a_mount_that_was_ours() {
    for force in [false, true] {
        let mut model = Kind::Plain.model(KernelRelease::V6_18);
        model.resctrl.unmount();
        let cut = Cut::default();
        let (mut acting, mut store) = (Acting::on(model, &cut), Memory::with(&cut));
        apply(&mut acting, &mut store, &halves()).unwrap();
        acting.model.borrow_mut().mkdir("theirs").unwrap();
        let findings = told(restore(&mut acting, &mut store, force));
        assert!(findings[0].contains("has groups of others: theirs"), "{findings:?}");
        let mut model = acting.model.borrow_mut();
        assert_eq!(model.resctrl.mounted().is_some(), !force);
        if !force {
            assert!(model.read("schemata").contains("L3:0=fffff;1=fffff"));
            assert!(!model.everything().contains_key("x"));
        }
    }
}

#[test]
fn after_a_reboot_the_journal_is_only_told_and_cleared() {
    let (mut acting, mut store) = applied();
    acting.model.borrow_mut().boot = "second".into();
    let before = acting.model.borrow_mut().everything();
    let told = status(&mut acting.machine(), &mut store).unwrap().unwrap();
    assert_eq!(told.phase, ApplyState::Rebooted);
    assert!(matches!(restore(&mut acting, &mut store, false), Restored::Rebooted { policy, .. } if policy == "test"));
    assert_eq!(acting.model.borrow_mut().everything(), before);
    assert_eq!(restore(&mut acting, &mut store, false), Restored::Nothing);
}

#[test]
fn a_task_that_has_the_number_of_one_that_ended_is_left_alone() {
    let (mut acting, mut store) = applied();
    let mut model = acting.model.borrow_mut();
    model.mkdir("theirs").unwrap();
    model.end(1);
    model.start(None, 1);
    model.tasks.get_mut(&1).unwrap().began = 999;
    model.write("theirs/tasks", "1\n").unwrap();
    drop(model);
    assert_eq!(told(restore(&mut acting, &mut store, false)), Vec::<String>::new());
    assert_eq!(acting.model.borrow_mut().read("theirs/tasks"), "1\n");
}

#[test]
fn what_cannot_be_put_back_is_told_and_can_be_tried_again() {
    let (mut acting, mut store) = applied();
    let model = acting.model.clone();
    // Somebody takes, for itself alone, bits that the root gave away and has to get back.
    model.borrow_mut().write("x/schemata", "L3:0=1ff;1=3ff\n").unwrap();
    model.borrow_mut().mkdir("theirs").unwrap();
    model.borrow_mut().write("theirs/schemata", "L3:0=200;1=200\n").unwrap_err();
    model.borrow_mut().write("x/schemata", "L3:1=1ff\n").unwrap();
    model.borrow_mut().write("theirs/schemata", "L3:0=200;1=200\n").unwrap();
    model.borrow_mut().write("theirs/mode", "exclusive\n").unwrap();
    let Restored::Partly { failures, .. } = restore(&mut acting, &mut store, false) else { panic!("it went back") };
    assert!(failures[0].contains("Overlaps with exclusive group"), "{failures:?}");
    assert!(!store.is_empty());
    model.borrow_mut().rmdir("theirs").unwrap();
    assert!(matches!(restore(&mut acting, &mut store, false), Restored::Back { .. }));
    assert!(model.borrow_mut().read("schemata").contains("L3:0=fffff;1=fffff"));
}

#[test]
fn status_tells_what_holds_and_what_does_not() {
    let (mut acting, mut store) = applied();
    let told = status(&mut acting.machine(), &mut store).unwrap().unwrap();
    assert_eq!((told.phase, told.policy.as_str(), told.steps.len(), told.of), (ApplyState::Applied, "test", 7, 7));
    assert_eq!(told.differences, []);
    acting.model.borrow_mut().write("x/schemata", "L3:0=f\n").unwrap();
    acting.model.borrow_mut().write("x/mode", "shareable\n").unwrap();
    acting.model.borrow_mut().end(1);
    let told = status(&mut acting.machine(), &mut store).unwrap().unwrap();
    let differences: Vec<_> = told.differences.iter().map(ToString::to_string).collect();
    assert_eq!(
        differences,
        ["x/mode: exclusive was written, it reads shareable", "x/schemata L3:0: 3ff was written, it reads f"]
    );
}

/// Others make groups of their own, with pqos or by hand. One whose mask takes ways that the policy gave away alone is named, whatever
/// mode the class has now.
#[test]
fn groups_that_others_made_since_are_told_where_they_reach_into_the_classes_ways() {
    let (mut acting, mut store) = applied();
    let model = acting.model.clone();
    model.borrow_mut().mkdir("theirs").unwrap();
    model.borrow_mut().write("theirs/schemata", "L3:0=c00;1=c00\n").unwrap();
    let mut told = || -> Vec<String> {
        let told = status(&mut acting.machine(), &mut store).unwrap().unwrap();
        told.differences.iter().map(ToString::to_string).collect()
    };
    assert_eq!(told(), [""; 0], "it shares the root's ways alone");
    model.borrow_mut().write("x/mode", "shareable\n").unwrap();
    model.borrow_mut().write("theirs/schemata", "L3:1=f00\n").unwrap();
    assert_eq!(
        told(),
        [
            "x/mode: exclusive was written, it reads shareable",
            "x/schemata L3:1: 3ff, which no other group of the policy has, was written, it reads the same, and the group `theirs` of others \
             has 300 of it"
        ]
    );
    model.borrow_mut().rmdir("theirs").unwrap();
    assert_eq!(told(), ["x/mode: exclusive was written, it reads shareable"]);
}

/// What a group had before stays as it was when the policy was applied beside it.
#[test]
fn ways_that_another_group_had_before_are_no_change() {
    let cut = Cut::default();
    let (mut acting, mut store) = (Acting::on(Kind::Plain.model(KernelRelease::V6_18), &cut), Memory::with(&cut));
    let model = acting.model.clone();
    model.borrow_mut().mkdir("theirs").unwrap();
    model.borrow_mut().write("theirs/schemata", "L3:0=300;1=300\n").unwrap();
    let shareable: Vec<_> = halves().into_iter().filter(|step| *step != write("x/mode", "exclusive\n")).collect();
    apply(&mut acting, &mut store, &shareable).unwrap();
    let mut told = || -> Vec<String> {
        let told = status(&mut acting.machine(), &mut store).unwrap().unwrap();
        told.differences.iter().map(ToString::to_string).collect()
    };
    assert_eq!(told(), [""; 0]);
    model.borrow_mut().write("theirs/schemata", "L3:0=380\n").unwrap();
    assert_eq!(
        told(),
        [
            "x/schemata L3:0: 3ff, which no other group of the policy has, was written, it reads the same, and the group `theirs` of others has 380 of it"
        ]
    );
}

/// Nothing is applied to a task that has ended: that is no difference, and no silence either.
#[test]
fn a_named_task_that_has_ended_is_told() {
    let (mut acting, mut store) = applied();
    assert_eq!(status(&mut acting.machine(), &mut store).unwrap().unwrap().ended, []);
    acting.model.borrow_mut().end(1);
    let told = status(&mut acting.machine(), &mut store).unwrap().unwrap();
    let ended: Vec<_> = told.ended.iter().map(ToString::to_string).collect();
    assert_eq!(
        (told.differences, ended),
        (vec![], vec!["task 1, which was put into group x, has ended since".to_owned()])
    );
}

#[test]
fn what_is_gone_is_said_to_be_gone() {
    let (mut acting, mut store) = applied();
    let model = acting.model.clone();
    let mut told = || -> Vec<String> {
        let told = status(&mut acting.machine(), &mut store).unwrap().unwrap();
        told.differences.iter().map(ToString::to_string).collect()
    };
    model.borrow_mut().rmdir("x").unwrap();
    assert_eq!(told()[0], "group x was made, and is not there");
}
