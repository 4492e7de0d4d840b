//! What goes on beside the core: page walks, accesses that waited for one, stores that waited for a slot.

use crate::caches::access::Want;
use crate::core::front::Held;
use crate::core::front::walk::Awaits;
use crate::core::port::{Issued, World};
use crate::core::program::{LastLoad, Program, Waiting};
use crate::time::NEVER;

impl Program {
    /// Does what is due first: one access at most.
    #[inline(never)]
    pub(super) fn run_front(&mut self, world: &mut World) {
        let front = self.front.as_deref_mut().expect("only called with a front");
        let now = self.now;
        let (ended, sent) = if let Some(at) = front.walks.iter().position(|walk| walk.at <= now) {
            (self.walk_on(at, world), false)
        } else if front.ready.front().is_some_and(|held| held.at <= now) {
            self.go_on_with_held(world);
            (true, false)
        } else {
            (false, self.send_put_off(world))
        };
        self.front.as_deref_mut().expect("it is still there").plan();
        if (ended && self.waiting == Waiting::Walk) || (sent && self.waiting == Waiting::Store) || self.is_drained() {
            self.wake_core(world);
        }
    }

    /// Whether the core waits for everything, and everything is there or comes at a known time.
    fn is_drained(&self) -> bool {
        self.waiting == Waiting::AllSlots && self.all_done() != NEVER
    }

    /// What the core waits for may have come: it tries again.
    fn wake_core(&mut self, world: &mut World) {
        let waited = self.now - self.blocked_since;
        match self.waiting {
            Waiting::Walk => self.port.counts.stalled_for_walks_ps += waited,
            _ => world.hierarchy.counts[self.port.core].stalled_for_memory_ps += waited,
        }
        self.waiting = Waiting::Nothing;
        self.core_at = self.now;
    }

    /// A walk reads its next descriptor; or, if it has read the last one, it ends, and true is given.
    fn walk_on(&mut self, at: usize, world: &mut World) -> bool {
        let now = self.now;
        let front = self.front.as_deref_mut().expect("it walks");
        let translation = front.translation.as_mut().expect("it walks");
        let walk = &mut front.walks[at];
        if walk.array == translation.tables.reads() {
            let walk = front.walks.remove(at);
            self.port.counts.walks += 1;
            translation.fill(walk.side, walk.page);
            let of_walk = |held: &mut Held| held.touch.page == walk.page && held.touch.side() == walk.side;
            front.ready.extend(front.held.extract_if(.., of_walk).map(|held| Held { at: now, ..held }));
            return true;
        }
        let line = translation.tables.descriptor(walk.page, walk.array);
        let issued = self.port.issue(world, line, Want::Walk, now);
        (walk.at, walk.awaits) = match issued {
            Issued::Hit => (now + self.port.latencies.l1, Awaits::Nothing),
            Issued::At(arrival) => (arrival.at, Awaits::Nothing),
            Issued::Pending(slot) | Issued::Joined(slot) => (NEVER, Awaits::Slot(slot)),
            Issued::Blocked => (now, Awaits::Nothing),
            Issued::Full(time) => (time, Awaits::AnySlot),
        };
        if !matches!(issued, Issued::Blocked | Issued::Full(_)) {
            walk.array += 1;
            self.port.counts.walk_reads += 1;
        }
        if let Issued::Pending(slot) = issued {
            self.port.counts.walk_memory_reads += 1;
            self.claim(slot);
        }
        false
    }

    /// An access whose translation has come.
    fn go_on_with_held(&mut self, world: &mut World) {
        let now = self.now;
        let front = self.front.as_deref_mut().expect("it holds an access");
        let held = front.ready.pop_front().expect("it is due");
        let touch = held.touch;
        if held.is_answered {
            self.comes(&held, LastLoad::At(now));
            return self.window.release(held.load);
        }
        let issued = self.port.issue(world, touch.line, touch.want, now);
        let issued = self.after_caches(touch, issued, world);
        let slot = match issued {
            Issued::Hit => None,
            Issued::At(arrival) => {
                let slot = self.port.mshrs.keep_until(arrival);
                if slot.is_none() {
                    let answered = Held { at: arrival.at, is_answered: true, ..held };
                    return self.hold_again(answered);
                }
                slot
            }
            Issued::Pending(slot) | Issued::Joined(slot) => Some(slot),
            Issued::Blocked => return self.hold_again(held),
            Issued::Full(time) => return self.hold_again(Held { at: time, ..held }),
        };
        let value_at = now + self.port.latencies.l1;
        self.comes(&held, slot.map_or(LastLoad::At(value_at), |slot| LastLoad::In(slot, value_at)));
        if let Some(slot) = slot {
            let joined = issued == Issued::Joined(slot);
            if !joined {
                self.claim(slot);
            }
            if touch.load {
                self.window.wait_as(held.load, slot, joined);
            }
        }
        self.window.release(held.load);
    }

    /// It is known when the value of an access comes that was held.
    fn comes(&mut self, held: &Held, value: LastLoad) {
        if self.last_load == LastLoad::Held(held.load) {
            self.last_load = value;
        }
    }

    fn hold_again(&mut self, held: Held) {
        self.front.as_deref_mut().expect("it holds an access").ready.push_front(held);
    }

    /// The oldest store that found no slot tries again; true if it has become a request.
    fn send_put_off(&mut self, world: &mut World) -> bool {
        let now = self.now;
        let front = self.front.as_deref_mut().expect("it has a store buffer");
        let Some(line) = front.stores.as_ref().and_then(|stores| stores.first_put_off()) else { return false };
        front.stores_at = now;
        let slot = match self.port.issue(world, line, Want::Write, now) {
            Issued::Hit => None,
            Issued::At(arrival) => self.port.mshrs.keep_until(arrival),
            Issued::Pending(slot) | Issued::Joined(slot) => Some(slot),
            Issued::Blocked => return false,
            Issued::Full(time) => {
                front.stores_at = time;
                return false;
            }
        };
        front.stores.as_mut().expect("it has a store buffer").take_put_off();
        if let Some(slot) = slot {
            self.window.answered(slot);
            self.buffer(slot);
        }
        true
    }

    /// Memory has answered a slot: walks go on, and what found no slot tries again.
    #[inline(never)]
    pub(super) fn front_answered(&mut self, slot: usize, now: u64) {
        let Some(front) = &mut self.front else { return };
        for walk in &mut front.walks {
            if walk.awaits == Awaits::Slot(slot) || walk.awaits == Awaits::AnySlot {
                (walk.at, walk.awaits) = (now, Awaits::Nothing);
            }
        }
        front.forget(slot);
        if let Some(held) = front.ready.front_mut()
            && !held.is_answered
        {
            held.at = now;
        }
        front.stores_at = now;
        front.plan();
    }
}
