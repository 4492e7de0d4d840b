//! What an access or a fill has in common with all that it causes in other caches.

use crate::time::Ps;

/// The access or fill that is being worked on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transaction {
    /// The core that it is of.
    pub core: usize,
    /// Its time.
    pub now: Ps,
}
