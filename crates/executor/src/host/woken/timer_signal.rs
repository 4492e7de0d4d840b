//! From a timer's programmed expiry to the handler of its signal.

use std::io;
use std::sync::Once;
use std::sync::atomic::{AtomicI64, Ordering};

use super::releases::Releases;
use super::source::{WakeupSource, Woken};
use super::time::{now_ns, timespec};

thread_local! {
    /// When the handler ran on this thread; 0 where it has not. It needs no initialization, so a handler may use it.
    static HANDLED_AT_NS: AtomicI64 = const { AtomicI64::new(0) };
}

extern "C" fn handle(_: libc::c_int) {
    let now = now_ns();
    HANDLED_AT_NS.with(|at| at.store(now, Ordering::Relaxed));
}

/// A POSIX timer that signals the thread that made it.
pub struct TimerSignal {
    timer: libc::timer_t,
    period_ns: i64,
    releases: Option<Releases>,
    /// The signals of this thread while it waits: that of the timer is blocked at other times, so that none is handled unseen.
    while_waiting: libc::sigset_t,
}

fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 1
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl TimerSignal {
    /// For the calling thread, which must be the one that waits.
    ///
    /// # Errors
    /// More timers than RLIMIT_SIGPENDING allows.
    pub fn new(period_ns: i64) -> io::Result<Self> {
        static HANDLER: Once = Once::new();
        // SAFETY: the structures are plain data of this stack; the handler reads a clock and stores a number, both of which
        // a handler may do.
        unsafe {
            HANDLER.call_once(|| {
                libc::signal(signal(), handle as extern "C" fn(libc::c_int) as libc::sighandler_t);
            });
            let mut while_waiting = std::mem::zeroed::<libc::sigset_t>();
            libc::pthread_sigmask(libc::SIG_BLOCK, &own_set(), &mut while_waiting);
            libc::sigdelset(&mut while_waiting, signal());
            let mut event = std::mem::zeroed::<libc::sigevent>();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal();
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer = std::mem::zeroed::<libc::timer_t>();
            checked(libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer))?;
            Ok(Self { timer, period_ns, releases: None, while_waiting })
        }
    }

    /// Expires first at this time, nanoseconds of CLOCK_MONOTONIC, and then once every period; never where it is 0.
    fn arm(&self, first_ns: i64) {
        let of = |ns| {
            let time = timespec(ns);
            libc::timespec { tv_sec: time.tv_sec as libc::time_t, tv_nsec: time.tv_nsec as libc::c_long }
        };
        let times = libc::itimerspec { it_interval: of(self.period_ns), it_value: of(first_ns) };
        // SAFETY: the timer lives as long as this value, and the times outlive the call. Valid times are refused nowhere.
        unsafe { libc::timer_settime(self.timer, libc::TIMER_ABSTIME, &times, std::ptr::null_mut()) };
    }

    /// Stops the timer and takes back a signal that nobody waited for.
    fn disarm(&self) {
        self.arm(0);
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the set and the time outlive the calls.
        unsafe { while libc::sigtimedwait(&own_set(), std::ptr::null_mut(), &at_once) > 0 {} }
    }
}

/// The signal of the timer alone.
fn own_set() -> libc::sigset_t {
    // SAFETY: the set is plain data of this stack.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal());
        set
    }
}

impl WakeupSource for TimerSignal {
    fn begin(&mut self) {
        // Before the timer is armed again: a signal of its first expiry that was taken back here would put every later one a
        // period too late.
        self.disarm();
        let now = now_ns();
        let releases = self.releases.get_or_insert_with(|| Releases::from(now, self.period_ns));
        releases.skip(now);
        let first_ns = releases.next_ns();
        self.arm(first_ns);
    }

    fn next_ns(&self) -> i64 {
        self.releases.map_or(i64::MAX, |releases| releases.next_ns())
    }

    fn wait(&mut self) -> Option<Woken> {
        let releases = self.releases.as_mut()?;
        HANDLED_AT_NS.with(|at| at.store(0, Ordering::Relaxed));
        // SAFETY: the set outlives the call, which returns after any handler.
        unsafe { libc::sigsuspend(&self.while_waiting) };
        let seen_ns = HANDLED_AT_NS.with(|at| at.load(Ordering::Relaxed));
        if seen_ns == 0 {
            return None;
        }
        // SAFETY: the timer lives as long as this value.
        let missed = u64::try_from(unsafe { libc::timer_getoverrun(self.timer) }).unwrap_or(0);
        let since_ns = releases.next_ns();
        releases.advance(1 + missed);
        Some(Woken { since_ns, seen_ns, now_ns: now_ns(), missed })
    }
}

impl Drop for TimerSignal {
    fn drop(&mut self) {
        // SAFETY: nobody uses it afterwards. The signal stays blocked, so that one that is pending is never handled.
        unsafe { libc::timer_delete(self.timer) };
    }
}
