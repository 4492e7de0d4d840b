//! The way of the registers: tried out by writing, rounding told, every bit put back.

use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use waykeeper_control::{
    ApplyError, ApplyFailure, ApplyRequest, ApplyState, OthersChanges, Restored, apply_with, restore_with, status,
};
use waykeeper_policy::Step;
use waykeeper_resctrl::KernelRelease;

use crate::cut::{Cut, Memory};
use crate::identity::{apply, restore};
use crate::model::{Acting, COARSE, INERT, Model};
use crate::plans::Kind;

/// IA32_PQR_ASSOC: the class in the upper half.
const PQR: u32 = 0xc8f;
const UPPER: u64 = 0xffff_ffff_0000_0000;

fn register(cpu: u32, register: u32, value: u64, mask: u64) -> Step {
    Step::Register { cpu, register, value, mask }
}

/// A machine without resctrl, with twelve-bit masks of two classes and an RMID of 5 in every CPU.
pub fn machine() -> Model {
    let mut model = Kind::Plain.model(KernelRelease::V6_1);
    model.resctrl.unmount();
    for cpu in 0..4 {
        model.registers.extend([((cpu, 0xc90), 0xfff), ((cpu, 0xc91), 0xfff), ((cpu, PQR), 5)]);
        model.registers.extend([((cpu, INERT), 0xfff), ((cpu, COARSE), 0xfff)]);
    }
    model
}

/// The halves of a 13800HRE, as its guide writes them: 0xC90 0x3f, 0xC91 0xfc0, class 1 on CPUs 2 and 3.
fn halves() -> Vec<Step> {
    vec![
        register(0, 0xc90, 0x3f, 0xfff),
        register(0, 0xc91, 0xfc0, 0xfff),
        register(2, PQR, 1 << 32, UPPER),
        register(3, PQR, 1 << 32, UPPER),
    ]
}

#[test]
fn only_the_bits_of_the_mask_are_written_and_all_go_back() {
    let mut before = machine();
    let cut = Cut::default();
    let (mut acting, mut store) = (Acting::on(before.clone(), &cut), Memory::with(&cut));
    let applied = apply(&mut acting, &mut store, &halves()).unwrap();
    assert_eq!((applied.steps, applied.rounded), (4, vec![]));
    let after = acting.model.borrow().registers.clone();
    // Class 1 in bits 63:32, and the RMID stays in bits 9:0.
    assert_eq!((after[&(2, PQR)], after[&(1, PQR)], after[&(0, 0xc91)]), (0x1_0000_0005, 5, 0xfc0));
    // The RMID changes meanwhile: it is none of ours, and stays.
    acting.model.borrow_mut().registers.insert((2, PQR), 0x1_0000_0007);
    before.registers.insert((2, PQR), 7);
    assert!(matches!(restore(&mut acting, &mut store, false), Restored::Back { findings, .. } if findings.is_empty()));
    assert_eq!(acting.model.borrow_mut().everything(), before.everything());
}

/// Requests for performance levels and the ring's ratio are no business of resctrl, which is mounted here.
#[test]
fn clocks_are_written_beside_a_mounted_resctrl_and_put_back() {
    const HWP_REQUEST: u32 = 0x774;
    const RING: u32 = 0x620;
    let mut before = Kind::Plain.model(KernelRelease::V6_1);
    before.registers.extend([((2, HWP_REQUEST), 0x8000_2a04), ((0, RING), 0x8000_0828)]);
    let before = before;
    let cut = Cut::default();
    let (mut acting, mut store) = (Acting::on(before.clone(), &cut), Memory::with(&cut));
    let steps = [register(2, HWP_REQUEST, 0xf000_0000_002e_2e2e, u64::MAX), register(0, RING, 0x2828, 0x7f7f)];
    apply(&mut acting, &mut store, &steps).unwrap();
    let after = acting.model.borrow().registers.clone();
    // Bit 31 of the ring's register is none of ours.
    assert_eq!((after[&(2, HWP_REQUEST)], after[&(0, RING)]), (0xf000_0000_002e_2e2e, 0x8000_2828));
    assert!(matches!(restore(&mut acting, &mut store, false), Restored::Back { findings, .. } if findings.is_empty()));
    assert_eq!(acting.model.borrow_mut().everything(), before.clone().everything());
}

#[test]
fn a_register_that_sets_nothing_is_found_out_by_writing() {
    let mut before = machine();
    // One plan would change it, the other asks for what it shows already.
    for value in [0x3f, 0xfff] {
        let cut = Cut::default();
        let (mut acting, mut store) = (Acting::on(before.clone(), &cut), Memory::with(&cut));
        let steps = [register(0, 0xc90, 0x3f, 0xfff), register(0, INERT, value, 0xfff)];
        let error = apply(&mut acting, &mut store, &steps).unwrap_err();
        assert!(matches!(&error, ApplyError::RolledBack { cause: ApplyFailure::Inert(_) }), "{error}");
        assert!(error.to_string().contains("it can be read, but sets nothing"), "{error}");
        assert_eq!(acting.model.borrow_mut().everything(), before.everything());
    }
}

#[test]
fn rounding_is_told_and_is_no_difference_later() {
    let cut = Cut::default();
    let (mut acting, mut store) = (Acting::on(machine(), &cut), Memory::with(&cut));
    // One bit where two are the least: 0x400 reads 0x600.
    let applied = apply(&mut acting, &mut store, &[register(0, COARSE, 0x400, 0xfff)]).unwrap();
    assert_eq!((applied.rounded[0].wrote.as_str(), applied.rounded[0].reads.as_str()), ("0x400", "0x600"));
    let told = status(&mut acting.machine(), &mut store).unwrap().unwrap();
    assert_eq!((told.phase, told.differences), (ApplyState::Applied, vec![]));
    assert!(matches!(restore(&mut acting, &mut store, false), Restored::Back { findings, .. } if findings.is_empty()));
}

#[test]
fn a_value_that_faults_rolls_back() {
    let mut before = machine();
    let cut = Cut::default();
    let (mut acting, mut store) = (Acting::on(before.clone(), &cut), Memory::with(&cut));
    let steps = [register(0, 0xc90, 0x3f, 0xfff), register(0, 0xc91, 0xf0f, 0xfff)];
    let error = apply(&mut acting, &mut store, &steps).unwrap_err();
    assert!(matches!(error, ApplyError::RolledBack { .. }), "{error}");
    assert_eq!(acting.model.borrow_mut().everything(), before.everything());
}

#[test]
fn what_another_wrote_since_stays_unless_forced() {
    for force in [false, true] {
        let cut = Cut::default();
        let (mut acting, mut store) = (Acting::on(machine(), &cut), Memory::with(&cut));
        apply(&mut acting, &mut store, &halves()).unwrap();
        acting.model.borrow_mut().registers.insert((0, 0xc90), 0xf);
        let (Restored::Back { findings: told, .. } | Restored::Left { left: told, .. }) =
            restore(&mut acting, &mut store, force)
        else {
            panic!("not back")
        };
        assert!(told[0].starts_with("register 0xc90 of CPU 0 reads 0xf, which is not what was left there"));
        let expected = if force { 0xfff } else { 0xf };
        assert_eq!(acting.model.borrow().registers[&(0, 0xc90)], expected);
        assert_eq!(acting.model.borrow().registers[&(0, 0xc91)], 0xfff);
    }
}

proptest! {
    #[test]
    fn a_crash_anywhere_is_undone(choices in prop::collection::vec((0_u32..4, 0_usize..3, 0_u32..10, 1_u32..=12), 1..5), again in 0_usize..8) {
        let steps: Vec<Step> = choices.into_iter().map(|(cpu, which, start, length)| {
            let mask = (((1_u64 << length) - 1) << start) & 0xfff;
            match which {
                0 => register(cpu, PQR, u64::from(start) << 32, UPPER),
                which => register(cpu, 0xc8f + which as u32, mask, 0xfff),
            }
        }).collect();
        let mut before = machine();
        let whole = Cut::default();
        let request = ApplyRequest { policy: "test", version: "0", steps: &steps };
        let _ = apply_with(&mut Acting::on(before.clone(), &whole).machine(), &mut Memory::with(&whole), &request, &AtomicBool::new(false));
        for effect in 0..whole.seen() {
            let cut = Cut::at(effect);
            let (mut acting, mut store) = (Acting::on(before.clone(), &cut), Memory::with(&cut));
            prop_assert!(cut.survive(|| apply(&mut acting, &mut store, &steps)).is_none());
            cut.again(again);
            let restored = cut.survive(|| restore_with(&mut acting.machine(), &mut store, OthersChanges::Leave).unwrap());
            cut.heal();
            let restored = restored.unwrap_or_else(|| restore(&mut acting, &mut store, false));
            let whole = !matches!(restored, Restored::Partly { .. });
            prop_assert!(whole, "{restored:?}");
            prop_assert!(store.is_empty());
            prop_assert_eq!(acting.model.borrow_mut().everything(), before.everything());
        }
    }
}
