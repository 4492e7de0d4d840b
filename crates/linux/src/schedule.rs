//! Pinning, real-time scheduling and limits of the calling thread and process.

use std::io;

use rustix::process::{Pid, Resource, Rlimit, Signal};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Checks that an affinity mask can hold a core's number.
///
/// # Errors
/// A core beyond the mask.
pub fn fits_mask(core: u32) -> io::Result<()> {
    if core as usize >= CpuSet::MAX_CPU {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("core {core} is beyond the {} that fit an affinity mask", CpuSet::MAX_CPU),
        ));
    }
    Ok(())
}

/// Pins the calling thread to one core. Allocates nothing for a core that [`fits_mask`].
///
/// # Errors
/// A core that does not exist or is not allowed.
pub fn pin(core: u32) -> io::Result<()> {
    fits_mask(core)?;
    let mut set = CpuSet::new();
    set.set(core as usize);
    Ok(sched_setaffinity(None, &set)?)
}

/// Takes a core out of those that the calling thread may use.
///
/// # Errors
/// There is no other core.
pub fn leave(core: u32) -> io::Result<()> {
    let mut set = sched_getaffinity(None)?;
    if (core as usize) < CpuSet::MAX_CPU {
        set.unset(core as usize);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// The cores that the calling thread may use.
pub fn allowed() -> Vec<u32> {
    allowed_to(None)
}

/// The cores that a process's first thread may use; none where the process is gone.
pub fn allowed_of(process: u32) -> Vec<u32> {
    Pid::from_raw(process as i32).map_or_else(Vec::new, |process| allowed_to(Some(process)))
}

fn allowed_to(thread: Option<Pid>) -> Vec<u32> {
    let Ok(set) = sched_getaffinity(thread) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).map(|core| core as u32).collect()
}

/// The core that the calling thread runs on.
pub fn current_core() -> u32 {
    rustix::thread::sched_getcpu() as u32
}

/// Puts the calling thread under SCHED_FIFO.
///
/// # Errors
/// Without CAP_SYS_NICE or a sufficient RLIMIT_RTPRIO: permission denied.
pub fn fifo(priority: i32) -> io::Result<()> {
    set_policy(libc::SCHED_FIFO, priority)
}

/// As [`fifo`], for the calling thread alone: what it forks is under SCHED_OTHER.
///
/// # Errors
/// As of [`fifo`].
pub fn fifo_without_children(priority: i32) -> io::Result<()> {
    set_policy(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority)
}

fn set_policy(policy: libc::c_int, priority: i32) -> io::Result<()> {
    // musl refuses this by itself, because the kernel acts on a thread and POSIX means a process.
    // SAFETY: the kernel's parameter block is one int, which outlives the call; 0 means the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes timers of the calling thread expire as exactly as the kernel can: it may delay those of ordinary threads by 50 us
/// otherwise, to let several expire together. Real-time threads have no such slack.
///
/// # Errors
/// None that Linux documents.
pub fn least_timer_slack() -> io::Result<()> {
    // SAFETY: no memory is passed.
    let result = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The scheduling policy of the calling thread, by its kernel name.
pub fn policy() -> &'static str {
    policy_of(0)
}

/// The scheduling policy of a thread by its number in the kernel; 0 is the calling one. `not seen` where it is gone.
pub fn policy_of(thread: u32) -> &'static str {
    // SAFETY: no memory is passed.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, thread as libc::pid_t) } as libc::c_int;
    match if policy < 0 { policy } else { policy & !libc::SCHED_RESET_ON_FORK } {
        ..=-1 => "not seen",
        libc::SCHED_FIFO => "SCHED_FIFO",
        libc::SCHED_RR => "SCHED_RR",
        libc::SCHED_DEADLINE => "SCHED_DEADLINE",
        libc::SCHED_BATCH => "SCHED_BATCH",
        libc::SCHED_IDLE => "SCHED_IDLE",
        _ => "SCHED_OTHER",
    }
}

/// Makes the kernel end this process when a real-time thread of it has run for that long without ever sleeping, so that
/// a loop that should have ended cannot lock up the machine: SIGXCPU at the limit, SIGKILL one second later.
///
/// # Errors
/// A limit above the one that this process inherited.
pub fn limit_realtime(microseconds: u64) -> io::Result<()> {
    let limit = Rlimit { current: Some(microseconds), maximum: Some(microseconds + 1_000_000) };
    Ok(rustix::process::setrlimit(Resource::Rttime, limit)?)
}

/// Makes the kernel kill this process when its parent ends, however it ends.
///
/// # Errors
/// None that Linux documents for a valid signal.
pub fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Makes the kernel send SIGTERM to this process when its parent ends, however it ends: a process that has others to
/// end first can catch it.
///
/// # Errors
/// None that Linux documents for a valid signal.
pub fn end_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?)
}

/// How often the calling thread has waited since it began: one system call, and no file is read.
pub fn voluntary_switches() -> u64 {
    own_usage().ru_nvcsw as u64
}

fn own_usage() -> libc::rusage {
    // SAFETY: rusage is plain data, and the call fills it.
    unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage
    }
}

/// Context switches and page faults of the calling thread since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Switches because the thread was preempted.
    pub involuntary_switches: u64,
    /// Switches because the thread waited.
    pub voluntary_switches: u64,
    /// Page faults that needed no input or output.
    pub minor_faults: u64,
    /// Page faults that did.
    pub major_faults: u64,
    /// Nanoseconds in which the thread wanted to run and another had the core, where the kernel reports it.
    pub waited_ns: Option<u64>,
    /// Nanoseconds in which the thread ran.
    pub ran_ns: u64,
}

impl ThreadUsage {
    /// Reads the totals of the calling thread.
    pub fn read() -> Self {
        let usage = own_usage();
        Self {
            involuntary_switches: usage.ru_nivcsw as u64,
            voluntary_switches: usage.ru_nvcsw as u64,
            minor_faults: usage.ru_minflt as u64,
            major_faults: usage.ru_majflt as u64,
            waited_ns: waited_ns(),
            ran_ns: ran_ns(),
        }
    }
}

fn ran_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// The second number of `/proc/thread-self/schedstat`: time spent waiting on a run queue.
fn waited_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}
