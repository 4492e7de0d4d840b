//! What goes on beside the core: page walks, accesses that waited for one, stores that waited for an MSHR.

use crate::caches::access::Want;
use crate::core::front::Held;
use crate::core::front::walk::Awaits;
use crate::core::port::Issued;
use crate::core::program::{LastLoad, Program, Waiting};
use crate::core::world::World;
use crate::time::Ps;

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
        self.waiting == Waiting::AllMshrs && self.all_done() != Ps::NEVER
    }

    /// What the core waits for may have come: it tries again.
    fn wake_core(&mut self, world: &mut World) {
        let waited = (self.now - self.blocked_since).get();
        match self.waiting {
            Waiting::Walk => self.port.counts.stalled_for_walks_ps += waited,
            _ => world.hierarchy.counts[self.port.core].stalled_for_memory_ps += waited,
        }
        self.waiting = Waiting::Nothing;
        self.core_at = self.now;
    }

    /// A walk reads its next descriptor; or, if it has read the last one, it ends, and true is returned.
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
            Issued::Pending(mshr) | Issued::Joined(mshr) => (Ps::NEVER, Awaits::Mshr(mshr)),
            Issued::Blocked => (now, Awaits::Nothing),
            Issued::Full(time) => (time, Awaits::AnyMshr),
        };
        if !matches!(issued, Issued::Blocked | Issued::Full(_)) {
            walk.array += 1;
            self.port.counts.walk_reads += 1;
        }
        if let Issued::Pending(mshr) = issued {
            self.port.counts.walk_memory_reads += 1;
            self.claim(mshr);
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
        let mshr = match issued {
            Issued::Hit => None,
            Issued::At(arrival) => {
                let mshr = self.port.mshrs.keep_until(arrival);
                if mshr.is_none() {
                    let answered = Held { at: arrival.at, is_answered: true, ..held };
                    return self.hold_again(answered);
                }
                mshr
            }
            Issued::Pending(mshr) | Issued::Joined(mshr) => Some(mshr),
            Issued::Blocked => return self.hold_again(held),
            Issued::Full(time) => return self.hold_again(Held { at: time, ..held }),
        };
        let value_at = now + self.port.latencies.l1;
        self.comes(&held, mshr.map_or(LastLoad::At(value_at), |mshr| LastLoad::In(mshr, value_at)));
        if let Some(mshr) = mshr {
            let joined = issued == Issued::Joined(mshr);
            if !joined {
                self.claim(mshr);
            }
            if touch.load {
                self.window.wait_as(held.load, mshr, joined);
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

    /// The oldest store that found no MSHR tries again; true if it has become a request.
    fn send_put_off(&mut self, world: &mut World) -> bool {
        let now = self.now;
        let front = self.front.as_deref_mut().expect("it has a store buffer");
        let Some(line) = front.stores.as_ref().and_then(|stores| stores.first_put_off()) else { return false };
        front.stores_at = now;
        let mshr = match self.port.issue(world, line, Want::Write, now) {
            Issued::Hit => None,
            Issued::At(arrival) => self.port.mshrs.keep_until(arrival),
            Issued::Pending(mshr) | Issued::Joined(mshr) => Some(mshr),
            Issued::Blocked => return false,
            Issued::Full(time) => {
                front.stores_at = time;
                return false;
            }
        };
        front.stores.as_mut().expect("it has a store buffer").take_put_off();
        if let Some(mshr) = mshr {
            self.window.answered(mshr);
            self.buffer(mshr);
        }
        true
    }

    /// Memory has answered an MSHR: walks go on, and what found no MSHR tries again.
    #[inline(never)]
    pub(super) fn front_answered(&mut self, mshr: usize, now: Ps) {
        let Some(front) = &mut self.front else { return };
        for walk in &mut front.walks {
            if walk.awaits == Awaits::Mshr(mshr) || walk.awaits == Awaits::AnyMshr {
                (walk.at, walk.awaits) = (now, Awaits::Nothing);
            }
        }
        front.forget(mshr);
        if let Some(held) = front.ready.front_mut()
            && !held.is_answered
        {
            held.at = now;
        }
        front.stores_at = now;
        front.plan();
    }
}
