//! The code that `random` calls into: lines that begin with a return.

use std::ptr;
use std::slice;

use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use crate::ffi;

#[cfg(target_arch = "x86_64")]
const RETURN: &[u8] = &[0xc3];
#[cfg(target_arch = "aarch64")]
const RETURN: &[u8] = &0xd65f_03c0_u32.to_le_bytes();
#[cfg(target_arch = "arm")]
const RETURN: &[u8] = &0xe12f_ff1e_u32.to_le_bytes();

/// Executable memory full of return instructions.
#[derive(Debug)]
pub struct Arena {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: nobody writes to it after `filled_with_returns`.
unsafe impl Send for Arena {}

impl Arena {
    /// Maps and fills it, then takes the right to write away.
    ///
    /// # Errors
    /// What the kernel answered to mmap or mprotect (a security policy may forbid executable anonymous memory).
    pub fn filled_with_returns(bytes: usize) -> Result<Self, Errno> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh private mapping at an address of the kernel's choice; all of it is ours.
        unsafe {
            let start = mmap_anonymous(ptr::null_mut(), bytes, protection, MapFlags::PRIVATE)?.cast::<u8>();
            let arena = Self { start, bytes };
            let code = slice::from_raw_parts_mut(start, bytes);
            for instruction in code.chunks_exact_mut(RETURN.len()) {
                instruction.copy_from_slice(RETURN);
            }
            mprotect(start.cast(), bytes, MprotectFlags::READ | MprotectFlags::EXEC)?;
            ffi::wk_entry_publish_code(start, bytes as u64);
            Ok(arena)
        }
    }

    pub fn start(&self) -> *const u8 {
        self.start
    }

    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: mapped, readable and never written to again while `self` lives.
        unsafe { slice::from_raw_parts(self.start, self.bytes) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: our own mapping. An error would mean that it is not mapped, and then nothing is left to do.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}
