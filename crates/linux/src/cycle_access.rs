//! The kernel's leave to read a core's cycle counter: a perf event of the calling thread that programs may read
//! (Documentation/arch/arm64/perf.rst, "Perf Userspace PMU Hardware Counter Access").

use std::io;

/// Why this thread cannot read the cycle counter.
#[derive(Debug, thiserror::Error)]
pub enum NoCycleAccess {
    /// Another architecture.
    #[error(
        "the cycle counter of AArch64 (PMCCNTR) is no counter of this processor ({0}), whose own is used; leaving \
         `clock` out would do"
    )]
    NoCounter(&'static str),
    /// An old kernel, or one without counters.
    #[error(
        "this kernel lets no program read PMCCNTR ({USER_ACCESS} is not there; Linux 5.17 and later have it where the PMU is)"
    )]
    OldKernel,
    /// Off.
    #[error("the kernel lets no program read PMCCNTR; `sysctl -w kernel.perf_user_access=1` as root would")]
    Off,
    /// The kernel's refusal.
    #[error("the kernel refuses a counter of cycles ({0}); `sysctl -w kernel.perf_event_paranoid=1` or root would do")]
    Refused(io::Error),
    /// Something else has the counter.
    #[error(
        "PMCCNTR is in use; the kernel's watchdog for hard lockups may be it (`sysctl -w kernel.nmi_watchdog=0`), or a \
         running `perf`"
    )]
    Busy,
}

/// The switch.
const USER_ACCESS: &str = "/proc/sys/kernel/perf_user_access";

/// While it lives, the thread that opened it may read `PMCCNTR_EL0`. Another thread, or this one without it, gets SIGILL.
#[cfg(target_arch = "aarch64")]
#[derive(Debug)]
pub struct CycleAccess {
    page: *mut std::ffi::c_void,
    /// Dropped after the page.
    _counter: perf_event::Counter,
}

#[cfg(target_arch = "aarch64")]
impl CycleAccess {
    /// Asks for it, for the core that this thread runs on; it must be pinned there. The event counts the kernel's cycles too: what an interrupt takes belongs to a sample.
    ///
    /// # Errors
    /// See [`NoCycleAccess`].
    pub fn open() -> Result<Self, NoCycleAccess> {
        use std::os::fd::{AsRawFd, BorrowedFd};

        use perf_event::{Builder, events::Hardware};
        use rustix::mm::{MapFlags, ProtFlags, mmap};

        use crate::perf::KindOfCounters;
        use crate::root::Root;

        let switch = std::fs::read_to_string(USER_ACCESS).map_err(|_| NoCycleAccess::OldKernel)?;
        if switch.trim() == "0" {
            return Err(NoCycleAccess::Off);
        }
        let mut event = Builder::new(Hardware::CPU_CYCLES);
        event.observe_self().any_cpu().pinned(true).include_kernel().include_hv();
        let attributes = event.attrs_mut();
        attributes.config1 = LONG | READ_BY_PROGRAMS;
        // Where cores are of several kinds each kind has counters of its own, and an event of one kind never counts on another.
        if let Some(kind) = KindOfCounters::of(&Root::default(), crate::schedule::current_core()) {
            attributes.type_ = kind.number;
            attributes.config = CPU_CYCLES;
        }
        let mut counter = event.build().map_err(NoCycleAccess::Refused)?;
        counter.enable().map_err(NoCycleAccess::Refused)?;
        // SAFETY: the descriptor is open as long as `counter`.
        let fd = unsafe { BorrowedFd::borrow_raw(counter.as_raw_fd()) };
        // SAFETY: a fresh mapping of the event's page, for reading alone.
        let page =
            unsafe { mmap(std::ptr::null_mut(), rustix::param::page_size(), ProtFlags::READ, MapFlags::SHARED, fd, 0) };
        let access = Self { page: page.map_err(|error| NoCycleAccess::Refused(error.into()))?, _counter: counter };
        if access.field::<u64>(CAPABILITIES) & CAN_BE_READ == 0 || access.field::<u32>(INDEX) != CYCLE_COUNTER {
            return Err(NoCycleAccess::Busy);
        }
        Ok(access)
    }

    /// A field of `struct perf_event_mmap_page` (linux/perf_event.h).
    fn field<T: Copy>(&self, offset: usize) -> T {
        // SAFETY: the offsets below lie in the page, which is mapped while `self` lives, and are those of fields of this size.
        unsafe { self.page.byte_add(offset).cast::<T>().read_volatile() }
    }
}

#[cfg(target_arch = "aarch64")]
impl Drop for CycleAccess {
    fn drop(&mut self) {
        // SAFETY: mapped by `open`, and used by nobody else.
        let _ = unsafe { rustix::mm::munmap(self.page, rustix::param::page_size()) };
    }
}

/// The number of the event (Arm ARM D13.11.2), for the counters of one kind of core.
#[cfg(target_arch = "aarch64")]
const CPU_CYCLES: u64 = 0x11;

/// Bits of `config1`: the formats `long` and `rdpmc` of `/sys/bus/event_source/devices/armv8_*/format`.
#[cfg(target_arch = "aarch64")]
const LONG: u64 = 1 << 0;
#[cfg(target_arch = "aarch64")]
const READ_BY_PROGRAMS: u64 = 1 << 1;

/// `index` of the page: the counter's number and one; the cycle counter is number 31.
#[cfg(target_arch = "aarch64")]
const INDEX: usize = 12;
#[cfg(target_arch = "aarch64")]
const CYCLE_COUNTER: u32 = 32;
/// `capabilities`, and its bit `cap_user_rdpmc`.
#[cfg(target_arch = "aarch64")]
const CAPABILITIES: usize = 40;
#[cfg(target_arch = "aarch64")]
const CAN_BE_READ: u64 = 1 << 2;

/// Nobody has it here.
#[cfg(not(target_arch = "aarch64"))]
#[derive(Debug)]
pub enum CycleAccess {}

#[cfg(not(target_arch = "aarch64"))]
impl CycleAccess {
    /// Refuses.
    ///
    /// # Errors
    /// Always: the counter is AArch64's.
    pub fn open() -> Result<Self, NoCycleAccess> {
        Err(NoCycleAccess::NoCounter(std::env::consts::ARCH))
    }
}
