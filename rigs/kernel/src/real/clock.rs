//! Time that passes at once.

use std::time::Duration;

use super::knob;

/// Lets milliseconds pass on all clocks of the emulated machine.
pub fn jump(milliseconds: u32) {
    knob(0x10, milliseconds);
}

/// Lets a CPU do what fell due: its timers fire before ours, and the work that they start runs while we sleep.
pub fn let_run(cpu: u32) {
    pin(cpu);
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(1));
    }
    pin(0);
}

/// Runs on this CPU alone from now on.
pub fn pin(cpu: u32) {
    // SAFETY: all zeros is a valid set, and the call only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// CPUs that are online; the first few of all that are possible.
pub fn online() -> Vec<u32> {
    // SAFETY: has no memory to read.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    (0..u32::try_from(count).unwrap_or(1)).collect()
}
