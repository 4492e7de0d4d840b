//! Apply and restore is the identity: whole, cut off anywhere, and cut off again while restoring.

use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use waykeeper_control::{ApplyError, ApplyRequest, OthersChanges, Restored, apply_with, restore_with};
use waykeeper_policy::{MountSettings, Step};
use waykeeper_resctrl::{FileOperation, KernelRelease};

use crate::cut::{Cut, Memory};
use crate::model::{Acting, Model};
use crate::plans::{Kind, history, kind, live, plan};

pub fn apply(
    acting: &mut Acting,
    store: &mut Memory,
    steps: &[Step],
) -> Result<waykeeper_control::Applied, ApplyError> {
    let request = ApplyRequest { policy: "test", version: "0", steps };
    apply_with(&mut acting.machine(), store, &request, &AtomicBool::new(false))
}

pub fn restore(acting: &mut Acting, store: &mut Memory, force: bool) -> Restored {
    restore_with(&mut acting.machine(), store, if force { OthersChanges::Overwrite } else { OthersChanges::Leave })
        .unwrap()
}

/// A machine, what others did on it, and a plan.
fn situation() -> impl Strategy<Value = (Kind, KernelRelease, Vec<FileOperation>, Vec<Step>)> {
    let kernel = prop::sample::select(&KernelRelease::ALL[..]);
    (kind(), kernel).prop_flat_map(|(kind, kernel)| (Just(kind), Just(kernel), history(kind), plan(kind)))
}

fn start(kind: Kind, kernel: KernelRelease, history: &[FileOperation]) -> Model {
    let mut model = kind.model(kernel);
    live(&mut model, history);
    model
}

fn same(acting: &Acting, before: &mut Model) -> Result<(), TestCaseError> {
    let (before, after) = (before.everything(), acting.model.borrow_mut().everything());
    for (path, text) in &before {
        prop_assert_eq!(Some(text), after.get(path), "{}", path);
    }
    prop_assert_eq!(before.len(), after.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn apply_and_restore_is_the_identity((kind, kernel, history, steps) in situation()) {
        let mut before = start(kind, kernel, &history);
        let cut = Cut::default();
        let (mut acting, mut store) = (Acting::on(before.clone(), &cut), Memory::with(&cut));
        match apply(&mut acting, &mut store, &steps) {
            Ok(_) => {
                let restored = restore(&mut acting, &mut store, false);
                let Restored::Back { findings, .. } = restored else { return Err(TestCaseError::fail(format!("{restored:?}"))) };
                prop_assert_eq!(findings, Vec::<String>::new());
            }
            Err(ApplyError::Refused(_) | ApplyError::RolledBack { .. }) => {}
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
        prop_assert!(store.is_empty());
        same(&acting, &mut before)?;
    }

    #[test]
    fn resctrl_that_was_not_mounted_is_not_afterwards(kernel in prop::sample::select(&KernelRelease::ALL[..]), steps in plan(Kind::Plain)) {
        let mut model = Kind::Plain.model(kernel);
        model.resctrl.unmount();
        let cut = Cut::default();
        let (mut acting, mut store) = (Acting::on(model, &cut), Memory::with(&cut));
        if apply(&mut acting, &mut store, &steps).is_ok() {
            prop_assert!(acting.model.borrow().resctrl.mounted().is_some());
            restore(&mut acting, &mut store, false);
        }
        prop_assert!(store.is_empty());
        prop_assert!(acting.model.borrow().resctrl.mounted().is_none());
    }
}

/// A task of the root is moved before its parent, which comes from a group of others: it goes back to the root, not there.
#[test]
fn a_task_of_the_root_does_not_follow_its_parent_home() {
    let history = [
        FileOperation::Mkdir { path: b"c".to_vec(), mode: 0o755 },
        FileOperation::Write { path: b"c/tasks".to_vec(), data: b"3\n".to_vec() },
    ];
    let steps = [
        Step::Mounted(MountSettings { cdp: false, cdp_l2: false, mbps: false }),
        Step::MakeGroup { group: "x".into() },
        Step::Cgroup { group: "x".into(), cgroup: "pods/a".into() },
        Step::MakeGroup { group: "y".into() },
        Step::Cgroup { group: "y".into(), cgroup: "pods".into() },
    ];
    let mut before = start(Kind::ApolloLake, KernelRelease::V6_1, &history);
    let cut = Cut::default();
    let (mut acting, mut store) = (Acting::on(before.clone(), &cut), Memory::with(&cut));
    apply(&mut acting, &mut store, &steps).unwrap();
    assert!(matches!(restore(&mut acting, &mut store, false), Restored::Back { .. }));
    same(&acting, &mut before).unwrap();
}

/// A task of a cgroup comes from a monitoring group, into which two writes lead back: a restore is cut off before each of its
/// effects, between these two among them, and goes on.
#[test]
fn a_task_that_is_half_way_home_comes_into_its_monitoring_group() {
    let history = [
        FileOperation::Mkdir { path: b"mon_groups/m".to_vec(), mode: 0o755 },
        FileOperation::Write { path: b"mon_groups/m/tasks".to_vec(), data: b"2\n".to_vec() },
    ];
    let steps = [
        Step::Mounted(MountSettings { cdp: false, cdp_l2: false, mbps: true }),
        Step::MakeGroup { group: "x".into() },
        Step::Cgroup { group: "x".into(), cgroup: "pods".into() },
    ];
    let mut before = start(Kind::Mbps, KernelRelease::V6_18, &history);
    let mut was_cut = 0;
    for effect in 0..12 {
        let cut = Cut::default();
        let (mut acting, mut store) = (Acting::on(before.clone(), &cut), Memory::with(&cut));
        apply(&mut acting, &mut store, &steps).unwrap();
        cut.again(effect);
        let restored = cut.survive(|| restore(&mut acting, &mut store, false));
        was_cut += usize::from(restored.is_none());
        cut.heal();
        let restored = restored.unwrap_or_else(|| restore(&mut acting, &mut store, false));
        assert!(matches!(restored, Restored::Back { .. } | Restored::Nothing), "{restored:?} at {effect}");
        same(&acting, &mut before).unwrap_or_else(|why| panic!("cut before effect {effect}: {why}"));
    }
    assert!((4..12).contains(&was_cut), "the restore was cut {was_cut} times");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    /// Every plan is cut before every single effect, on the machine or in the journal, and the restore once more.
    #[test]
    fn a_crash_anywhere_is_undone((kind, kernel, history, steps) in situation(), again in 0_usize..12) {
        let mut before = start(kind, kernel, &history);
        let whole = Cut::default();
        let _ = apply(&mut Acting::on(before.clone(), &whole), &mut Memory::with(&whole), &steps);
        for effect in 0..whole.seen() {
            let cut = Cut::at(effect);
            let (mut acting, mut store) = (Acting::on(before.clone(), &cut), Memory::with(&cut));
            prop_assert!(cut.survive(|| apply(&mut acting, &mut store, &steps)).is_none());
            cut.again(again);
            let restored = cut.survive(|| restore(&mut acting, &mut store, false));
            cut.heal();
            let restored = restored.unwrap_or_else(|| restore(&mut acting, &mut store, false));
            prop_assert!(matches!(restored, Restored::Back { .. } | Restored::Nothing), "{restored:?} at {effect}");
            prop_assert!(store.is_empty());
            same(&acting, &mut before)?;
        }
    }
}
