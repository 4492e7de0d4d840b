//! Which counter is read on ARMv7: the generic timer where the core has one and the kernel lets programs read it, the global
//! timer of a Cortex-A9 where it runs and can be mapped, else the kernel's clock.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::mm::{MapFlags, ProtFlags, mmap};

use crate::ffi;

/// The counter that was chosen; the numbers are `wk_counter_kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    GenericTimer = 0,
    GlobalTimer = 1,
    KernelClock = 2,
}

impl Choice {
    pub(super) fn name(self) -> &'static str {
        match self {
            Choice::GenericTimer => "CNTVCT",
            Choice::GlobalTimer => "global timer",
            Choice::KernelClock => "CLOCK_MONOTONIC_RAW",
        }
    }
}

/// Chooses once in a process, and lets the timed loops know.
pub(super) fn chosen() -> Choice {
    static CHOSEN: OnceLock<Choice> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let (choice, timer) = match generic_timer_is_readable() {
            true => (Choice::GenericTimer, None),
            false => global_timer().map_or((Choice::KernelClock, None), |timer| (Choice::GlobalTimer, Some(timer))),
        };
        // SAFETY: nobody reads the counter before the choice: every reading goes through `chosen`. The mapping stays.
        unsafe { ffi::wk_entry_choose_counter(choice as u32, timer.unwrap_or(std::ptr::null()), kernel_clock) };
        choice
    })
}

extern "C" fn kernel_clock() -> u64 {
    super::monotonic_raw_ns() as u64
}

/// Whether a child that reads CNTVCT lives: without the timer, or the kernel's leave, it is killed by SIGILL.
fn generic_timer_is_readable() -> bool {
    // SAFETY: between fork and _exit the child calls nothing that is not async-signal-safe.
    unsafe {
        match libc::fork() {
            0 => {
                let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::setrlimit(libc::RLIMIT_CORE, &none);
                libc::signal(libc::SIGILL, libc::SIG_DFL);
                let (low, high): (u32, u32);
                std::arch::asm!("mrrc p15, 1, {}, {}, c14", out(reg) low, out(reg) high, options(nomem, nostack));
                // A counter that stands at 0 is one that nobody started.
                libc::_exit(i32::from(low | high == 0));
            }
            -1 => false,
            child => {
                let mut status = 0;
                while libc::waitpid(child, &mut status, 0) < 0 && *libc::__errno_location() == libc::EINTR {}
                libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
            }
        }
    }
}

/// The registers of the global timer, from the peripherals' base (Cortex-A9 MPCore TRM 1.5 and 4.4).
const FROM_BASE: u64 = 0x200;
/// Its control register, and the bit that says that it runs.
const CONTROL: usize = 0x08;
const IS_ENABLED: u32 = 1;
const PAGE: u64 = 4096;

/// The global timer's counter, mapped for reading, where it runs.
fn global_timer() -> Option<*const u32> {
    let base = peripherals(Path::new("/sys/firmware/devicetree/base"), 0)?;
    let page = base / PAGE * PAGE;
    let memory = fs::File::open("/dev/mem").ok()?;
    // SAFETY: a fresh mapping at an address of the kernel's choice, for reading alone; reading these registers has no effect.
    let mapped = unsafe {
        mmap(std::ptr::null_mut(), PAGE as usize, ProtFlags::READ, MapFlags::SHARED, memory.as_fd(), page).ok()?
    };
    // SAFETY: the registers lie in the page that was mapped: FROM_BASE + 0x18 is less than a page.
    let timer = unsafe { mapped.cast::<u8>().add((base - page + FROM_BASE) as usize) };
    // SAFETY: as above; both are multiples of 4.
    let control = unsafe { timer.add(CONTROL).cast::<u32>().read_volatile() };
    // A timer that stands still is the kernel's to start, not ours.
    (control & IS_ENABLED != 0).then_some(timer.cast::<u32>())
}

/// The base of a Cortex-A9's private peripherals: its snoop control unit, in the device tree.
fn peripherals(folder: &Path, depth: u32) -> Option<u64> {
    const DEEPEST: u32 = 4;
    let compatible = fs::read(folder.join("compatible")).unwrap_or_default();
    if compatible.split(|byte| *byte == 0).any(|name| name == b"arm,cortex-a9-scu") {
        let cells = fs::read(folder.join("reg")).ok()?;
        // One cell of address: the only form that cores without large physical addresses have.
        return Some(u32::from_be_bytes(cells.get(..4)?.try_into().ok()?).into());
    }
    if depth == DEEPEST {
        return None;
    }
    let mut below: Vec<PathBuf> = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    below.retain(|path| path.is_dir());
    below.sort();
    below.iter().find_map(|path| peripherals(path, depth + 1))
}
