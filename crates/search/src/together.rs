//! Jobs of a search, several at the same time where the place allows.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use waykeeper_linux::thread::spawn_scoped;

/// Does jobs `0..count`, so many at the same time; the results are in the order of the jobs. A set `stop` leaves out those that have
/// not begun.
pub fn all<T: Send>(
    count: usize,
    at_once: usize,
    stop: &AtomicBool,
    job: impl Fn(usize) -> T + Sync,
) -> Vec<Option<T>> {
    let slots: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count || stop.load(Ordering::Relaxed) {
                return;
            }
            let done = job(at);
            *slots[at].lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(done);
        }
    };
    std::thread::scope(|scope| {
        // Where the system refuses a thread, the others do its work.
        let others: Vec<_> = (1..at_once).map_while(|_| spawn_scoped(scope, "search", work).ok()).collect();
        work();
        for other in others {
            let _ = other.join();
        }
    });
    slots.into_iter().map(|slot| slot.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())).collect()
}
