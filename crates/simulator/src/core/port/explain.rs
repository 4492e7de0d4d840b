//! What a port reports to whoever explains samples, where anybody does.

use crate::caches::access::{Answer, Want};
use crate::core::mshrs::MOST_MSHRS;
use crate::core::port::{Issued, Port};
use crate::core::world::World;
use crate::line::Line;
use crate::memory::Handle;
use crate::observe::explain::{From, LineRole, Part, losses_of};
use crate::time::Ps;

impl Port {
    /// Reports a miss to the world's explainer.
    #[cold]
    #[inline(never)]
    pub(super) fn explain(
        &self,
        world: &mut World,
        (line, want): (Line, Want),
        answer: Answer,
        issued: Issued,
        now: Ps,
    ) {
        let from = match answer {
            Answer::L1 | Answer::Sent => return,
            Answer::L2 => From::SecondLevel,
            Answer::Shared(level) => From::Shared(level),
            Answer::OnChip => From::OnChip,
            Answer::OtherCore => From::OtherCore,
            Answer::Memory => From::Memory,
            Answer::InFlight => From::InFlight,
            Answer::Busy(filter) => From::Filter(filter),
        };
        let what = match want {
            Want::Fetch => LineRole::Code,
            Want::Walk => LineRole::PageTable,
            Want::Read | Want::Write | Want::Update | Want::Prefetch { .. } | Want::Stream => LineRole::Data,
        };
        let losses = &world.hierarchy.losses;
        let (cause, lost) = (losses.cause(line), losses_of(losses, line, now));
        let part = Part { asked_ps: now.get(), came_ps: now.get(), line, what, from, memory: None, cause, lost };
        let Some(explainer) = &mut world.explainer else { return };
        match issued {
            Issued::At(arrival) => explainer.waits_until(arrival.at, part),
            Issued::Pending(mshr) | Issued::Joined(mshr) => explainer.waits_for_mshr(mshr, part),
            Issued::Blocked => explainer.waits_for_entry(part),
            Issued::Hit | Issued::Full(_) => {}
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn tell_of_entry(world: &mut World, at: Ps) {
        if let Some(explainer) = &mut world.explainer {
            explainer.entry_came(at);
        }
    }

    /// Counts an answer of memory at the shared MSHRs that waited for it, and reports it to the explainer.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_of_answer(&self, mshr: usize, world: &mut World, now: Ps) {
        self.limits.iter().for_each(|cache| world.misses[*cache].answered());
        if self.explains
            && let Some(explainer) = &mut world.explainer
        {
            let read_path = world.memory.read_path((self.core * MOST_MSHRS + mshr) as Handle);
            explainer.mshr_came(mshr, read_path, now);
        }
    }
}
