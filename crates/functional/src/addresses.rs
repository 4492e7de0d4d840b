//! The addresses of a pattern.

use waykeeper_simulator::Refused;
use waykeeper_workload::{Operation, Pattern, Region, Stream};

use crate::access::PackedAccess;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// The endless accesses of a pattern, its data from address 0 and its code from the page after them.
#[derive(Debug, Clone)]
pub struct Addresses {
    stream: Stream,
    code: u64,
}

impl Addresses {
    /// The accesses of a pattern; `seed` decides what is random.
    ///
    /// # Errors
    /// Patterns without accesses: external programs, `tick`, and events that touch nothing.
    pub fn new(pattern: &Pattern, seed: u64) -> Result<Self, Refused> {
        match pattern.accesses_per_pass() {
            None | Some(0) => {
                let why = "it makes no access that is known; a walk, a buffer, a chase or random accesses would do";
                Err(Refused::new("workload", why))
            }
            Some(_) => Ok(Self { stream: pattern.stream(seed), code: pattern.data_bytes().next_multiple_of(PAGE) }),
        }
    }

    /// Replaces what is in `into` by the next `count` accesses. A `modify` is a load and a store, but counts once; a
    /// prefetch is a load. Operations that no simulated core has are refused before.
    pub(crate) fn next_into(&mut self, count: u64, into: &mut Vec<PackedAccess>) {
        into.clear();
        let code = self.code;
        self.stream.accesses(count, |access| {
            let address = access.offset + if access.region == Region::Code { code } else { 0 };
            match access.operation {
                Operation::Read | Operation::Prefetch => into.push(PackedAccess::load(address)),
                Operation::Write | Operation::NonTemporal | Operation::Flush => into.push(PackedAccess::store(address)),
                Operation::Modify | Operation::Atomic | Operation::SplitLock => {
                    into.extend([PackedAccess::load(address), PackedAccess::store(address)])
                }
            }
        });
    }
}
