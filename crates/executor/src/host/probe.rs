//! Whether this process may use a measure, found out by using it for a moment.

use waykeeper_linux::memory::{Mapping, Pages};
use waykeeper_linux::schedule;
use waykeeper_linux::thread::apart;
use waykeeper_linux::{FIFO, HUGE_PAGES};

use super::target::FIFO_PRIORITY;

/// Why a mitigation of this machine is unavailable; `None` where it is available.
pub fn refuses(mitigation: &str) -> Option<String> {
    match mitigation {
        FIFO => refuses_fifo(),
        HUGE_PAGES => refuses_huge_pages(),
        _ => None,
    }
}

fn refuses_fifo() -> Option<String> {
    // In a thread of its own: this one must stay an ordinary one.
    let tried = match apart("fifo", || schedule::fifo(FIFO_PRIORITY)) {
        Ok(tried) => tried?,
        Err(error) => return Some(format!("it was not tried: {error}")),
    };
    let error = tried.err()?;
    Some(format!(
        "SCHED_FIFO is not permitted ({error}); it takes root, CAP_SYS_NICE or a limit for rtprio of {FIFO_PRIORITY}"
    ))
}

fn refuses_huge_pages() -> Option<String> {
    let got = Mapping::new(1, Pages::Huge).ok().and_then(|mapping| mapping.huge_bytes());
    (got == Some(0)).then(|| {
        "the kernel gave no huge page; transparent huge pages set to `madvise`, or reserved pages, would do".into()
    })
}
