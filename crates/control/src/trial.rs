//! Whether registers take what is written to them. Reading alone proves nothing: some parts show masks that do nothing, and
//! some that cannot be written.

use crate::MachineAccess;
use crate::apply::ApplyFailure;
use crate::journal::RegisterBefore;
use crate::perform::MachineError;
use crate::registers::{Purpose, purpose};
use crate::settings::{Bits, Settings};

/// Writes another value to each register, reads it back, and puts the old one back at once.
pub(crate) fn try_registers(
    machine: &mut MachineAccess<'_>,
    settings: &Settings,
    before: &[RegisterBefore],
) -> Result<(), ApplyFailure> {
    for RegisterBefore { place, value: old } in before {
        let Some(bits) =
            settings.registers.get(place).and_then(|bits| other_bits(*bits, *old, purpose(place.register)))
        else {
            continue;
        };
        let new = old & !bits.mask | bits.value;
        let mut access = |value: Option<u64>| match value {
            Some(value) => machine.registers.write(place.cpu, place.register, value).map(|()| value),
            None => machine.registers.read(place.cpu, place.register),
        };
        access(Some(new)).map_err(MachineError::from)?;
        let read = access(None).map_err(MachineError::from)?;
        access(Some(*old)).map_err(MachineError::from)?;
        let back = access(None).map_err(MachineError::from)?;
        let (cpu, register) = (place.cpu, place.register);
        if read == *old {
            return Err(ApplyFailure::Inert(format!(
                "register {register:#x} of CPU {cpu} was written {new:#x} and still reads {old:#x}: it can be read, but sets nothing"
            )));
        }
        if back != *old {
            return Err(ApplyFailure::Inert(format!(
                "register {register:#x} of CPU {cpu} read {old:#x} before it was tried, and reads {back:#x} after that was put back"
            )));
        }
    }
    Ok(())
}

/// Bits that differ from those that are there: the planned ones, or for a mask that is planned as it is, a neighbouring run.
fn other_bits(planned: Bits, old: u64, purpose: Option<Purpose>) -> Option<Bits> {
    let now = old & planned.mask;
    if planned.value != now {
        return Some(planned);
    }
    if purpose != Some(Purpose::Mask) {
        return None;
    }
    // One bit less where two stay, else one more: a run stays a run.
    let value = if now.count_ones() > 2 { now & (now - 1) } else { (now | now << 1) & planned.mask };
    (value != now && value != 0).then_some(Bits { value, ..planned })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tried_differs_from_what_is_there() {
        let bits = |value| Bits { value, mask: 0xfff };
        let mask = Some(Purpose::Mask);
        assert_eq!(other_bits(bits(0x3f), 0xfff, mask), Some(bits(0x3f)));
        // Planned as it is: the lowest of twelve bits goes.
        assert_eq!(other_bits(bits(0xfff), 0xfff, mask), Some(bits(0xffe)));
        // Of one bit a second one comes.
        assert_eq!(other_bits(bits(1), 1, mask), Some(bits(3)));
        assert_eq!(other_bits(bits(1), 1, Some(Purpose::Other)), None);
    }
}
