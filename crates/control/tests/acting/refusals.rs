//! Plans that cannot work end before anything is written.

use std::sync::atomic::AtomicBool;

use waykeeper_control::{ApplyError, ApplyRequest, NotCarriedOut, apply_with, preview};
use waykeeper_policy::{MountSettings, Step};
use waykeeper_resctrl::KernelRelease;

use crate::cut::{Cut, Memory};
use crate::identity::apply;
use crate::model::{Acting, Model};
use crate::plans::{Kind, group, write};

/// The refusal, and that nothing was written before it, nor by a preview.
fn refused(model: &Model, steps: &[Step]) -> NotCarriedOut {
    let cut = Cut::default();
    let (mut acting, mut store) = (Acting::on(model.clone(), &cut), Memory::with(&cut));
    let error = apply(&mut acting, &mut store, steps).unwrap_err();
    assert_eq!(cut.seen(), 0, "{error}");
    let ApplyError::Refused(refusal) = error else { panic!("{error}") };
    assert_eq!(preview(&mut acting.machine(), steps).unwrap_err(), refusal);
    refusal
}

fn model() -> Model {
    Kind::Plain.model(KernelRelease::V6_18)
}

#[track_caller]
fn input(steps: &[Step], expected: &str) {
    let refusal = refused(&model(), steps);
    assert!(matches!(refusal, NotCarriedOut::Input(_) | NotCarriedOut::BadStep(_)), "{refusal:?}");
    assert!(refusal.to_string().contains(expected), "{refusal}");
}

#[test]
fn what_is_not_there() {
    input(&[], "the plan has no steps");
    input(&[group("x"), write("x/cpus_list", "3-5\n")], "no CPU 4-5 is online here; expected some of 0-3");
    input(&[group("x"), write("x/tasks", "77\n")], "there is no task 77");
    input(&[write("schemata", "L3:2=f\n")], "step 1: there is no L3:2; expected some of L3:0, L3:1, MB:0, MB:1");
    input(&[write("schemata", "L2:0=f\n")], "there is no L2:0");
    input(&[write("x/schemata", "L3:0=f\n")], "no earlier step makes the group `x`");
}

#[test]
fn more_than_there_is() {
    // MB has 8 classes, the least of all resources; one is the root's.
    let steps: Vec<Step> = (0..8).map(|number| group(&format!("g{number}"))).collect();
    input(&steps, "the plan makes 8 groups, and of 8 classes 7 are free");
    let cut = Cut::default();
    apply(&mut Acting::on(model(), &cut), &mut Memory::with(&cut), &steps[1..]).unwrap();
}

#[test]
fn groups_of_others() {
    let mut model = model();
    model.mkdir("x").unwrap();
    let refusal = refused(&model, &[group("x")]).to_string();
    assert!(refusal.starts_with("the group x is there already, and Waykeeper did not make it"), "{refusal}");
    // A write to the root's CPUs takes all CPUs from its monitoring groups.
    model.mkdir("mon_groups/m").unwrap();
    model.write("mon_groups/m/cpus_list", "1\n").unwrap();
    model.write("x/cpus_list", "3\n").unwrap();
    let refusal = refused(&model, &[write("cpus_list", "0,2-3\n")]).to_string();
    assert!(refusal.contains("would take CPUs that the plan does not name from mon_groups/m"), "{refusal}");
}

#[test]
fn mounts() {
    let cdp = Step::Mounted(MountSettings { cdp: true, ..MountSettings::default() });
    let refusal = refused(&model(), &[cdp, group("x")]).to_string();
    assert!(refusal.starts_with("resctrl is mounted without options, and the plan needs it with cdp"), "{refusal}");
    let mut unmounted = model();
    unmounted.resctrl.unmount();
    let refusal = refused(&unmounted, &[group("x")]).to_string();
    assert!(refusal.starts_with("resctrl is not mounted"), "{refusal}");
}

#[test]
fn a_pseudo_lock_where_there_is_none() {
    let refusal = refused(&model(), &[group("x"), write("x/mode", "pseudo-locksetup\n")]);
    assert_eq!(refusal, NotCarriedOut::Cannot("this processor cannot pseudo-lock".into()));
}

#[test]
fn registers_that_the_kernel_manages() {
    let register = Step::Register { cpu: 0, register: 0xc90, value: 1, mask: 1 };
    let refusal = refused(&model(), std::slice::from_ref(&register)).to_string();
    assert!(refusal.starts_with("resctrl is mounted: the kernel writes these registers itself"), "{refusal}");
    input(&[group("x"), register], "one of both would do");
}

#[test]
fn a_second_policy_and_a_ctrl_c() {
    let cut = Cut::default();
    let (mut acting, mut store) = (Acting::on(model(), &cut), Memory::with(&cut));
    let before = acting.model.borrow_mut().everything();
    let steps = [write("schemata", "L3:0=f\n")];
    let request = ApplyRequest { policy: "test", version: "0", steps: &steps };
    let stopped = apply_with(&mut acting.machine(), &mut store, &request, &AtomicBool::new(true)).unwrap_err();
    assert!(stopped.to_string().starts_with("interrupted; everything was put back"), "{stopped}");
    assert_eq!(acting.model.borrow_mut().everything(), before);
    apply(&mut acting, &mut store, &steps).unwrap();
    let again = apply(&mut acting, &mut store, &steps).unwrap_err();
    assert!(matches!(again, ApplyError::Already { policy, .. } if policy == "test"));
}

#[test]
fn rounding_and_previews() {
    let cut = Cut::default();
    let (mut acting, mut store) = (Acting::on(model(), &cut), Memory::with(&cut));
    let steps = [
        Step::Mounted(MountSettings::default()),
        write("schemata", "MB:0=33\n"),
        group("x"),
        write("x/cpus_list", "1\n"),
    ];
    let told: Vec<_> =
        preview(&mut acting.machine(), &steps).unwrap().into_iter().map(|it| (it.step, it.now)).collect();
    let expected = [
        ("mount resctrl without options", "mounted without options"),
        ("write `MB:0=33` to schemata", "MB:0=100"),
        ("make group x", "not there"),
        ("write `1` to x/cpus_list", "CPU 1 in the root group"),
    ];
    assert_eq!(told, expected.map(|(step, now)| (step.to_owned(), now.to_owned())));
    // Bandwidth goes in steps of 10 %, upwards.
    let applied = apply(&mut acting, &mut store, &steps).unwrap();
    let rounded: Vec<_> = applied.rounded.iter().map(ToString::to_string).collect();
    assert_eq!(rounded, ["schemata MB:0: 33 was written, it reads 40"]);
}
