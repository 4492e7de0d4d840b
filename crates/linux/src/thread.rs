//! Threads, where the system may refuse one: `std::thread::spawn` panics there.

use std::fs;
use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// The system refused a thread.
#[derive(Debug, thiserror::Error)]
#[error("no thread can be started ({0}); a higher limit of processes (`ulimit -u`, `pids.max`) would allow it")]
pub struct NoThread(io::Error);

/// Starts a thread. Its name, of at most 15 bytes, is what `ps -L` shows.
///
/// # Errors
/// The system's refusal.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, NoThread> {
    Builder::new().name(name.into()).spawn(work).map_err(NoThread)
}

/// Starts a thread that ends within a scope.
///
/// # Errors
/// The system's refusal.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, NoThread> {
    Builder::new().name(name.into()).spawn_scoped(scope, work).map_err(NoThread)
}

/// Runs something in a thread of its own to its end, so that the caller keeps its core and its scheduling. `None` where it
/// panicked.
///
/// # Errors
/// The system's refusal.
pub fn apart<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> Result<Option<T>, NoThread> {
    std::thread::scope(|scope| Ok(spawn_scoped(scope, name, work)?.join().ok()))
}

/// The number of the calling thread, as in `/proc/self/task`.
pub fn own_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// The core that a thread of this process runs on, or last ran on. Reading it does not interrupt the thread.
pub fn last_core(thread: u32) -> Option<u32> {
    // A thread's name may hold any bytes.
    let stat = fs::read(format!("/proc/self/task/{thread}/stat")).ok()?;
    core_in_stat(&String::from_utf8_lossy(&stat))
}

/// The 39th field, `processor` (proc_pid_stat(5)). The second field, the name, stands in parentheses and may hold any.
fn core_in_stat(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(39 - 3)?.parse().ok()
}

/// How often the calling thread was moved to another core since it began, where the kernel counts that.
pub fn migrations() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/sched").ok()?;
    let line = text.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit_once(':')?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_is_the_39th_field_whatever_the_name() {
        let before: Vec<String> = (4..39).map(|field| format!("{}", 1000 + field)).collect();
        assert_eq!(core_in_stat(&format!("7 (a) S) b) R {} 5 0 0", before.join(" "))), Some(5));
        assert_eq!(core_in_stat("7 (a) R 1 2"), None);
    }

    #[test]
    fn this_thread_is_seen_where_it_is() {
        let core = crate::schedule::allowed()[0];
        let seen = apart("pinned", || {
            crate::schedule::pin(core).unwrap();
            last_core(own_id())
        });
        assert_eq!(seen.unwrap(), Some(Some(core)));
    }
}
