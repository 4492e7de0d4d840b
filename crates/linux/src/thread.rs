//! Threads, where the system may refuse one: `std::thread::spawn` panics there.

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
