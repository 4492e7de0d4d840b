//! What a restore leaves stays in the journal until it is put back or accepted, and nothing else does.

use waykeeper_control::{ApplyError, ApplyState, MountSeen, OthersChanges, Restored, restore_with, status};
use waykeeper_policy::Step;
use waykeeper_resctrl::KernelRelease;

use crate::cut::{Cut, Memory};
use crate::identity::{apply, restore};
use crate::model::{Acting, Model};
use crate::plans::{Kind, group, write};

/// The root keeps the upper half, CPUs 0 and 1 and task 1 get the lower one.
fn halves() -> Vec<Step> {
    vec![
        Step::Mounted(Kind::Plain.settings()),
        write("schemata", "L3:0=ffc00;1=ffc00\n"),
        group("x"),
        write("x/schemata", "L3:0=3ff;1=3ff\n"),
        write("x/cpus_list", "0-1\n"),
        write("x/tasks", "1\n"),
    ]
}

/// Before, applied, and then others change a mask, and the groups of a CPU and of a task.
fn changed(cut: &Cut) -> (Model, Acting, Memory) {
    let mut before = Kind::Plain.model(KernelRelease::V6_18);
    before.mkdir("theirs").unwrap();
    let (mut acting, mut store) = (Acting::on(before.clone(), cut), Memory::with(cut));
    apply(&mut acting, &mut store, &halves()).unwrap();
    let model = acting.model.clone();
    model.borrow_mut().write("schemata", "L3:0=ff000\n").unwrap();
    model.borrow_mut().write("theirs/cpus_list", "1\n").unwrap();
    model.borrow_mut().write("theirs/tasks", "1\n").unwrap();
    (before, acting, store)
}

fn left(restored: Restored) -> Vec<String> {
    match restored {
        Restored::Left { left, .. } => left,
        other => panic!("{other:?}"),
    }
}

fn texts() -> [&'static str; 3] {
    [
        "CPU 1 is in group theirs now, where Waykeeper did not put it",
        "task 1 is in group theirs now, where Waykeeper did not put it",
        "L3:0 of the root reads ff000, which is not what was left there",
    ]
}

#[test]
fn what_was_left_is_told_and_put_back_when_it_is_forced() {
    let (mut before, mut acting, mut store) = changed(&Cut::default());
    let stays = texts().map(|text| format!("{text}; it stays so"));
    assert_eq!(left(restore(&mut acting, &mut store, false)), stays);
    let told = status(&mut acting.machine(), &mut store).unwrap().unwrap();
    assert_eq!((told.phase, told.left.as_slice()), (ApplyState::Remains, &texts().map(str::to_owned)[..]));
    let refused = apply(&mut acting, &mut store, &halves()).unwrap_err();
    assert!(matches!(refused, ApplyError::Remains { .. }), "{refused}");
    let Restored::Back { findings, .. } = restore(&mut acting, &mut store, true) else { panic!("not back") };
    assert_eq!(findings, texts().map(|text| format!("{text}; it is put back all the same")));
    assert!(store.is_empty());
    assert_eq!(acting.model.borrow_mut().everything(), before.everything());
}

#[test]
fn a_second_restore_adds_nothing_to_the_journal() {
    let (_, mut acting, mut store) = changed(&Cut::default());
    let first = left(restore(&mut acting, &mut store, false));
    let bytes = store.length();
    assert_eq!(left(restore(&mut acting, &mut store, false)), first);
    assert_eq!(store.length(), bytes);
}

#[test]
fn what_is_accepted_stays_and_the_journal_goes() {
    // At once, and after a restore that left it.
    for before in [false, true] {
        let (_, mut acting, mut store) = changed(&Cut::default());
        if before {
            restore(&mut acting, &mut store, false);
        }
        let restored = restore_with(&mut acting.machine(), &mut store, OthersChanges::Accept).unwrap();
        assert!(matches!(restored, Restored::Back { .. }), "{restored:?}");
        assert!(store.is_empty());
        let mut model = acting.model.borrow_mut();
        assert!(model.read("schemata").contains("L3:0=ff000;1=fffff"));
        assert_eq!((model.read("theirs/cpus_list"), model.read("theirs/tasks")), ("1\n".into(), "1\n".into()));
    }
}

/// One of the three is put back by hand, and one is set to what Waykeeper had left: only the third is still foreign.
#[test]
fn what_others_set_right_drops_out() {
    let (_, mut acting, mut store) = changed(&Cut::default());
    restore(&mut acting, &mut store, false);
    acting.model.borrow_mut().write("tasks", "1\n").unwrap();
    acting.model.borrow_mut().write("schemata", "L3:0=ffc00\n").unwrap();
    assert_eq!(left(restore(&mut acting, &mut store, false)), [format!("{}; it stays so", texts()[0])]);
    assert!(acting.model.borrow_mut().read("schemata").contains("L3:0=fffff;1=fffff"));
    acting.model.borrow_mut().write("cpus_list", "0-3\n").unwrap();
    acting.model.borrow_mut().write("theirs/cpus_list", "\n").unwrap();
    assert!(matches!(restore(&mut acting, &mut store, false), Restored::Back { actions: 0, .. }));
    assert!(store.is_empty());
}

/// The plan's group went with the restore. Somebody makes one of that name, and it is not Waykeeper's.
#[test]
fn a_later_group_of_the_same_name_is_left_alone() {
    let (_, mut acting, mut store) = changed(&Cut::default());
    restore(&mut acting, &mut store, false);
    acting.model.borrow_mut().mkdir("x").unwrap();
    acting.model.borrow_mut().write("x/cpus_list", "0-1\n").unwrap();
    let told = left(restore(&mut acting, &mut store, false));
    assert!(told[0].starts_with("CPU 1 is in group x now, where Waykeeper did not put it"), "{told:?}");
    restore(&mut acting, &mut store, true);
    // CPU 1 goes back to the root; CPU 0 was not among what was left.
    assert_eq!(acting.model.borrow_mut().read("x/cpus_list"), "0\n");
    assert!(store.is_empty());
}

/// Cut off before every effect of a restore that leaves something, of one that accepts and of one that forces: as long as it is not
/// accepted, a forced restore puts everything back.
#[test]
fn a_crash_anywhere_loses_nothing() {
    for others in [OthersChanges::Leave, OthersChanges::Accept, OthersChanges::Overwrite] {
        for left_before in [false, true] {
            for effect in 0.. {
                let cut = Cut::default();
                let (mut before, mut acting, mut store) = changed(&cut);
                if left_before {
                    restore(&mut acting, &mut store, false);
                }
                cut.again(effect);
                let whole = cut.survive(|| restore_with(&mut acting.machine(), &mut store, others).unwrap()).is_some();
                cut.heal();
                if !(whole && others == OthersChanges::Accept) {
                    restore(&mut acting, &mut store, true);
                    assert_eq!(acting.model.borrow_mut().everything(), before.everything(), "{others:?} {effect}");
                }
                assert!(store.is_empty());
                if whole {
                    assert!(effect > 0 || others == OthersChanges::Leave, "nothing was done");
                    break;
                }
            }
        }
    }
}

/// A plan that mounted resctrl, and what the mount looks like by the time it is restored.
fn mounted(device: &str, number: Option<&str>) -> (Acting, Memory) {
    let seen =
        |device: &str, number: Option<&str>| MountSeen { device: device.into(), number: number.map(str::to_owned) };
    let mut before = Kind::Plain.model(KernelRelease::V6_18);
    before.resctrl.unmount();
    before.mount = Some(seen("0:50", Some("unique 7")));
    let cut = Cut::default();
    let (mut acting, mut store) = (Acting::on(before, &cut), Memory::with(&cut));
    apply(&mut acting, &mut store, &halves()).unwrap();
    acting.model.borrow_mut().mount = Some(seen(device, number));
    (acting, store)
}

#[test]
fn a_mount_that_is_not_known_to_be_its_own_is_not_unmounted() {
    let is_mounted = |acting: &Acting| acting.model.borrow().resctrl.mounted().is_some();
    // The same.
    let (mut acting, mut store) = mounted("0:50", Some("unique 7"));
    assert!(matches!(restore(&mut acting, &mut store, false), Restored::Back { findings, .. } if findings.is_empty()));
    assert!(!is_mounted(&acting) && store.is_empty());
    // Another one on the same file system: everything else is put back.
    for number in [Some("unique 8"), None] {
        let (mut acting, mut store) = mounted("0:50", number);
        let text =
            "the mount of resctrl is another one, or another mount namespace's, than Waykeeper made; it stays so";
        assert_eq!(left(restore(&mut acting, &mut store, false)), [text]);
        assert!(is_mounted(&acting) && acting.model.borrow_mut().read("schemata").contains("L3:0=fffff;1=fffff"));
        assert!(matches!(restore(&mut acting, &mut store, true), Restored::Back { .. }));
        assert!(!is_mounted(&acting) && store.is_empty());
    }
    // Another file system: what is in it is all of somebody else's.
    let (mut acting, mut store) = mounted("0:51", Some("unique 8"));
    let before = acting.model.borrow_mut().everything();
    let Restored::Back { findings, actions: 0, .. } = restore(&mut acting, &mut store, true) else {
        panic!("not back")
    };
    assert!(findings[0].contains("mounted again: that mount stays as it is"), "{findings:?}");
    assert_eq!(acting.model.borrow_mut().everything(), before);
    assert!(store.is_empty());
}
