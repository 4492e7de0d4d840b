//! Model-specific registers, with the reason where one cannot be read.

use std::fs::File;
use std::io::ErrorKind;

use waykeeper_linux::{Root, registers};

/// IA32 MSR_SMI_COUNT: the number of system-management interrupts since reset (Intel SDM vol. 4).
pub(crate) const SMI_COUNT: u32 = 0x34;

/// Reads a register, or says as half a sentence why it cannot.
pub(crate) fn read(root: &Root, cpu: u32, address: u32) -> Result<u64, String> {
    registers::register(root, cpu, address).ok_or_else(|| {
        if !root.is_running() {
            return format!("register {address:#x} of CPU {cpu} was not recorded");
        }
        let device = format!("/dev/cpu/{cpu}/msr");
        match File::open(&device).map_err(|error| error.kind()) {
            Ok(_) => format!("CPU {cpu} has no register {address:#x}"),
            Err(ErrorKind::NotFound) => format!("{device} is not there (`modprobe msr` loads the driver)"),
            Err(_) => format!("{device} may be read by root only"),
        }
    })
}
