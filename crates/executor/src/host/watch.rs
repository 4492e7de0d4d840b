//! Where the loops of a repeat run while the target is observed, looked at from another core.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use waykeeper_linux::{format_cpulist, schedule, thread};
use waykeeper_run::PlacementRecord;

/// How often it is looked. A loop that left its core for less may be missed, where the kernel does not count migrations.
const INTERVAL: Duration = Duration::from_millis(100);

/// A loop that is set up.
#[derive(Debug)]
pub struct WatchedLoop {
    /// Its key among the placements.
    pub name: String,
    /// The core that it was asked to run on.
    pub core: u32,
    /// Its thread; `None` where somebody else looks.
    pub thread: Option<u32>,
    /// Where its memory lies, by the key among the placements.
    pub memory: Option<(String, PlacementRecord)>,
}

impl WatchedLoop {
    /// The calling thread as a loop.
    pub fn here(name: String, core: u32, memory: Option<(String, PlacementRecord)>) -> Self {
        Self { name, core, thread: Some(thread::own_id()), memory }
    }

    /// A loop that somebody else looks at.
    pub fn elsewhere(name: String, core: u32) -> Self {
        Self { name, core, thread: None, memory: None }
    }
}

/// The loops of a repeat, and the cores on which each was seen.
#[derive(Debug)]
pub struct Watch {
    loops: Vec<(WatchedLoop, Vec<u32>)>,
    looks: bool,
}

impl Watch {
    /// Leaves the core of the target, so that looking does not interfere with it. Where there is no other core, nobody looks.
    pub fn new(loops: Vec<WatchedLoop>, target_core: u32) -> Self {
        let looks = schedule::leave(target_core).is_ok();
        let mut watch = Self { loops: loops.into_iter().map(|it| (it, Vec::new())).collect(), looks };
        watch.look();
        watch
    }

    /// Looks until the target's thread has ended, or its end of the channel is gone.
    pub fn until_ended(&mut self, ended: &Receiver<()>) {
        while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if self.looks {
                self.look();
            }
        }
    }

    /// Looks, where the last look is long enough ago.
    pub fn look_when_due(&mut self, last: &mut Instant) {
        if self.looks && last.elapsed() >= INTERVAL {
            *last = Instant::now();
            self.look();
        }
    }

    /// The loop of that name was seen on a core.
    pub fn saw(&mut self, name: &str, core: u32) {
        for (_, cores) in self.loops.iter_mut().filter(|(it, _)| it.name == name) {
            cores.push(core);
        }
    }

    fn look(&mut self) {
        for (it, cores) in &mut self.loops {
            let core = it.thread.and_then(thread::last_core);
            cores.extend(core.filter(|core| !cores.contains(core)));
        }
    }

    /// Why the repeat does not count, as far as a loop was seen elsewhere.
    pub fn moved(&self) -> Vec<String> {
        let elsewhere = self.loops.iter().filter(|(it, cores)| cores.iter().any(|core| *core != it.core));
        elsewhere
            .map(|(it, cores)| {
                format!("the {} was asked to run on core {} and ran on {}", it.name, it.core, list(cores))
            })
            .collect()
    }

    /// What was asked, and where everything was seen.
    pub fn placement(self) -> BTreeMap<String, PlacementRecord> {
        let mut found = BTreeMap::new();
        for (it, cores) in self.loops {
            let asked = format!("core {}", it.core);
            found.insert(it.name, PlacementRecord { asked, got: list(&cores) });
            found.extend(it.memory);
        }
        found
    }
}

fn list(cores: &[u32]) -> String {
    let mut cores = cores.to_vec();
    cores.sort_unstable();
    cores.dedup();
    match cores.as_slice() {
        [] => "not seen".into(),
        [core] => format!("core {core}"),
        _ => format!("cores {}", format_cpulist(&cores)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(cores: &[u32]) -> Watch {
        let it = WatchedLoop { name: "target".into(), core: 1, thread: None, memory: None };
        Watch { loops: vec![(it, cores.to_vec())], looks: false }
    }

    #[test]
    fn a_loop_that_was_seen_elsewhere_has_moved() {
        assert_eq!(watch(&[1, 1]).moved(), [""; 0]);
        let mut moved = watch(&[1]);
        moved.saw("target", 0);
        assert_eq!(moved.moved(), ["the target was asked to run on core 1 and ran on cores 0-1"]);
        assert_eq!(moved.placement()["target"].got, "cores 0-1");
        assert_eq!(watch(&[3]).moved(), ["the target was asked to run on core 1 and ran on core 3"]);
    }

    #[test]
    fn what_was_not_seen_has_not_moved_and_is_not_said_to_be_in_place() {
        assert_eq!(watch(&[]).moved(), [""; 0]);
        assert_eq!(watch(&[]).placement()["target"].got, "not seen");
    }
}
