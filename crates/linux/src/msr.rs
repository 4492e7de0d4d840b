//! Model-specific registers, for reading.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::registers::register;
use crate::root::Root;

/// IA32 MSR_SMI_COUNT: the number of system-management interrupts since reset (Intel SDM vol. 4).
pub const SMI_COUNT: u32 = 0x34;

/// Reads a register of a CPU by `/dev/cpu/N/msr`, where its number is its offset. Below another root plain files stand in
/// for the devices (a recording's own list of registers comes first): there register N is the 8 bytes at offset 8 N, so that neighbours do not overlap.
///
/// # Errors
/// Why it cannot be read, as half a sentence: no driver, no permission, no such register.
pub fn read(root: &Root, cpu: u32, register_number: u32) -> Result<u64, String> {
    if let Some(recorded) = register(root, cpu, register_number).filter(|_| !root.is_running()) {
        return Ok(recorded);
    }
    let path = format!("/dev/cpu/{cpu}/msr");
    let place = root.place(&path).ok_or_else(|| format!("the recording has no register {register_number:#x}"))?;
    let device = File::open(place).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("{path} is not there (`modprobe msr` loads the driver)"),
        std::io::ErrorKind::PermissionDenied => format!("{path} may be read by root only"),
        _ => format!("{path} cannot be opened ({error})"),
    })?;
    let stride = if root.is_running() { 1 } else { 8 };
    let mut value = [0; 8];
    device
        .read_exact_at(&mut value, u64::from(register_number) * stride)
        .map_err(|_| format!("CPU {cpu} has no register {register_number:#x}"))?;
    Ok(u64::from_le_bytes(value))
}
