//! One access of a core: translation, runs of stores, the store buffer, then the caches.

use crate::caches::access::Want;
use crate::core::front::streaming::Stored;
use crate::core::front::tlb::{NONE, Page};
use crate::core::front::translation::{Looked, Side};
use crate::core::mshrs::Arrival;
use crate::core::port::Issued;
use crate::core::program::{LastLoad, Op, Program, Waiting};
use crate::core::window::WindowSpace;
use crate::core::world::World;
use crate::line::Line;
use crate::time::Ps;

/// One access: what stops the core until its value is there, and what only delays the next access.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touch {
    /// Where.
    pub line: Line,
    /// What for.
    pub want: Want,
    /// It is a load: until the line is there it stays in the core's window.
    pub load: bool,
    /// The core stops until the line is there.
    pub blocking: bool,
    /// The next access needs its value.
    pub dependent: bool,
    /// The page to translate, or [`NONE`].
    pub page: Page,
    /// The words of the line that a store changes, one bit each, as long as it may be one of a run; 0 otherwise.
    pub words: u64,
}

impl Touch {
    /// A store that needs no translation and is in no run.
    pub fn store(line: Line, blocking: bool) -> Self {
        Self { line, want: Want::Write, load: false, blocking, dependent: false, page: NONE, words: 0 }
    }

    /// A use of a device, which needs its translation only.
    pub fn device(page: Page) -> Self {
        Self { line: Line::EMPTY, want: Want::Read, load: true, blocking: true, dependent: false, page, words: 0 }
    }

    /// Which TLBs translate it.
    pub fn side(&self) -> Side {
        if self.want == Want::Fetch { Side::Instructions } else { Side::Data }
    }

    /// Whether it waits in the store buffer rather than in the core.
    fn is_buffered(&self) -> bool {
        !self.load && !self.blocking && self.want.is_store()
    }
}

impl Program {
    /// One access; false if somebody else may have to act before the next one.
    #[inline(always)]
    pub(super) fn touch(&mut self, touch: Touch, world: &mut World) -> bool {
        let room = self.window.room(&self.port.mshrs, self.now);
        if !matches!(room, WindowSpace::For(_)) {
            return self.wait_for_window(room, Op::Touch(touch));
        }
        match self.front.is_some() {
            true => self.touch_behind_front(touch, world),
            false => self.ask_caches::<false>(touch, world),
        }
    }

    #[inline(never)]
    fn touch_behind_front(&mut self, mut touch: Touch, world: &mut World) -> bool {
        match self.before_caches(&mut touch, world) {
            Some(goes_on) => goes_on,
            None => self.ask_caches::<true>(touch, world),
        }
    }

    /// An access meets the caches; `FRONT` says whether the core has a front, which hears of it.
    #[inline(always)]
    fn ask_caches<const FRONT: bool>(&mut self, touch: Touch, world: &mut World) -> bool {
        let Touch { line, want, load, blocking, dependent, .. } = touch;
        let (l1, pace) = (self.port.latencies.l1, self.port.latencies.pace);
        let mut issued = self.port.issue(world, line, want, self.now);
        if FRONT {
            issued = self.after_caches(touch, issued, world);
        }
        if load {
            self.last_load = LastLoad::At(self.now + l1);
        }
        match issued {
            Issued::Hit => {
                self.window.begin(1);
                // A dependent load waits for its value; everything else goes on at the core's pace.
                self.now += if dependent { l1 } else { pace };
                if want.is_store() && !world.is_settled() {
                    // What it sent to the memory, or took from others, is theirs from now on.
                    self.core_at = self.now;
                    return false;
                }
                return !FRONT || self.wished_nothing();
            }
            Issued::At(arrival) => {
                self.window.begin(1);
                self.core_at = if self.goes_on(arrival, &touch) {
                    self.now + pace
                } else {
                    world.hierarchy.counts[self.port.core].stalled_for_shared_ps += (arrival.at - self.now).get();
                    arrival.at
                };
            }
            Issued::Pending(mshr) | Issued::Joined(mshr) => {
                self.window.begin(1);
                let joined = issued == Issued::Joined(mshr);
                if !joined {
                    self.claim(mshr);
                }
                if blocking {
                    self.blocked_since = self.now;
                    self.waiting = Waiting::Mshr(mshr);
                    self.core_at = Ps::NEVER;
                } else {
                    if load {
                        self.window.wait_for(mshr, joined);
                        self.last_load = LastLoad::In(mshr, self.now + l1);
                    } else if want.is_store() {
                        self.buffer(mshr);
                    }
                    self.core_at = self.now + pace;
                }
            }
            Issued::Blocked if FRONT && self.puts_off(&touch, self.now) => self.core_at = self.now + pace,
            Issued::Blocked => return self.wait(Waiting::Entry, Ps::NEVER, Op::Touch(touch)),
            Issued::Full(time) if FRONT && self.puts_off(&touch, time) => self.core_at = self.now + pace,
            Issued::Full(time) => return self.wait(Waiting::AnyMshr, time, Op::Touch(touch)),
        }
        false
    }

    /// Whether the core goes on while a line is on its way from another cache.
    #[inline(never)]
    fn goes_on(&mut self, arrival: Arrival, touch: &Touch) -> bool {
        if touch.blocking {
            return false;
        }
        let Some(mshr) = self.port.mshrs.keep_until(arrival) else { return false };
        self.claim(mshr);
        if touch.load {
            self.window.wait_for(mshr, false);
            self.last_load = LastLoad::In(mshr, self.now + self.port.latencies.l1);
        } else if touch.want.is_store() {
            self.buffer(mshr);
        }
        true
    }

    /// An MSHR was free and is taken: whoever waited for its last line does not wait for this one.
    #[inline]
    pub(super) fn claim(&mut self, mshr: usize) {
        self.window.answered(mshr);
        if let Some(front) = &mut self.front {
            front.forget(mshr);
        }
    }

    /// A store waits for an MSHR in the store buffer.
    #[inline]
    pub(super) fn buffer(&mut self, mshr: usize) {
        if let Some(stores) = self.front.as_mut().and_then(|front| front.stores.as_mut()) {
            stores.wait_for(mshr);
        }
    }

    /// A store that finds no MSHR waits in the store buffer, where there is one: the core goes on.
    fn puts_off(&mut self, touch: &Touch, until: Ps) -> bool {
        let Some(front) = &mut self.front else { return false };
        let Some(stores) = &mut front.stores else { return false };
        if !touch.is_buffered() || touch.want == Want::Stream {
            return false;
        }
        self.window.begin(1);
        stores.put_off(touch.line);
        front.stores_at = until;
        front.plan();
        true
    }

    /// What comes before the caches; returns whether the core goes on if the access has to wait.
    fn before_caches(&mut self, touch: &mut Touch, world: &mut World) -> Option<bool> {
        if let Some(goes_on) = self.translate(touch) {
            return Some(goes_on);
        }
        if touch.line == Line::EMPTY {
            return Some(true);
        }
        if self.port.is_blocked() {
            return Some(self.wait(Waiting::Entry, Ps::NEVER, Op::Touch(*touch)));
        }
        let front = self.front.as_deref_mut().expect("only called with a front");
        if let Some(streaming) = &mut front.streaming {
            let accesses = &mut world.hierarchy.counts[self.port.core].accesses;
            if touch.words != 0 {
                match streaming.store(touch.line, touch.words) {
                    Stored::AsUsual => {}
                    Stored::Full => touch.want = Want::Stream,
                    Stored::Gathered => {
                        *accesses += 1;
                        self.window.begin(1);
                        self.now += self.port.latencies.pace;
                        return Some(true);
                    }
                    Stored::After(incomplete) => {
                        // Its stores were counted, and it is no further one.
                        *accesses = accesses.saturating_sub(1);
                        self.next.push_front(Op::Touch(*touch));
                        *touch = Touch { line: incomplete, page: NONE, ..*touch };
                    }
                }
                touch.words = 0;
            } else if streaming.gathers(touch.line) {
                streaming.leave();
                *accesses = accesses.saturating_sub(1);
                self.next.push_front(Op::Touch(*touch));
                *touch = Touch { want: Want::Write, load: false, blocking: false, dependent: false, ..*touch };
            }
        }
        if touch.is_buffered()
            && let Some(stores) = &mut front.stores
            && stores.is_full(&self.port, self.now)
        {
            let until = stores.next_done(&self.port);
            return Some(self.wait(Waiting::Store, until, Op::Touch(*touch)));
        }
        None
    }

    /// Looks for the access's translation; returns whether the core goes on if it is not at hand.
    fn translate(&mut self, touch: &Touch) -> Option<bool> {
        if touch.page == NONE {
            return None;
        }
        let front = self.front.as_mut()?;
        // Stores are translated before they leave the core, in order.
        let hides = self.port.out_of_order && !touch.blocking && !touch.is_buffered();
        match front.translation.as_mut()?.look_up(touch.side(), touch.page) {
            Looked::Found(0) => None,
            // An out-of-order core does other work meanwhile.
            Looked::Found(_) if hides => None,
            Looked::Found(cycles) => {
                self.again = Some(Op::Touch(*touch));
                self.now += self.port.latencies.cycle * cycles;
                Some(true)
            }
            Looked::Missed(cycles) => {
                let walks = front.walk_for(touch, self.now, self.port.latencies.cycle * cycles);
                front.plan();
                if !(hides && walks) {
                    return Some(self.wait(Waiting::Walk, Ps::NEVER, Op::Touch(*touch)));
                }
                let load = self.window.hold();
                front.hold(*touch, load);
                if touch.load {
                    self.last_load = LastLoad::Held(load);
                }
                self.now += self.port.latencies.pace;
                Some(true)
            }
        }
    }

    /// Reports an answer to the prefetchers, and sends what they wish for.
    pub(super) fn after_caches(&mut self, touch: Touch, issued: Issued, world: &mut World) -> Issued {
        let front = self.front.as_deref_mut().expect("only called with a front");
        let Some(prefetchers) = &mut front.prefetchers else { return issued };
        front.wished = false;
        if !matches!(touch.want, Want::Read | Want::Write) || matches!(issued, Issued::Blocked | Issued::Full(_)) {
            return issued;
        }
        let now = self.now;
        let late = front.late.iter().find(|(line, at)| *line == touch.line && *at > now).map(|(_, at)| *at);
        let issued = match (issued, late) {
            (Issued::Hit, Some(at)) => Issued::At(Arrival { at, beyond: true }),
            (Issued::At(arrival), Some(at)) => Issued::At(Arrival { at: at.max(arrival.at), ..arrival }),
            (issued, _) => issued,
        };
        if issued == Issued::Hit && !prefetchers.first_use(touch.line) {
            return issued;
        }
        prefetchers.missed(touch.line);
        front.late.retain(|(_, at)| *at > now);
        front.wished = !prefetchers.wishes.is_empty();
        let mut wishes = std::mem::take(&mut prefetchers.wishes);
        for (line, level) in wishes.drain(..) {
            let Some((mshr, at)) = self.port.prefetch(world, line, level, now) else { continue };
            prefetchers.asked(line);
            self.window.answered(mshr);
            if let Some(stores) = &mut front.stores {
                stores.forget(mshr);
            }
            if at != Ps::NEVER {
                front.late.push((line, at));
            }
        }
        prefetchers.wishes = wishes;
        issued
    }

    /// After a hit: whether no prefetch went out either, of which others would have to hear.
    #[inline]
    fn wished_nothing(&mut self) -> bool {
        match &mut self.front {
            Some(front) if front.wished => {
                front.wished = false;
                self.core_at = self.now;
                false
            }
            _ => true,
        }
    }

    /// Stores that wait for the rest of their line go as usual before `op`; whether there are any.
    #[inline(never)]
    pub(super) fn leaves_line(&mut self, op: Op, world: &mut World) -> bool {
        let streaming = self.front.as_mut().and_then(|front| front.streaming.as_mut());
        let Some(line) = streaming.and_then(|streaming| streaming.leave()) else { return false };
        let accesses = &mut world.hierarchy.counts[self.port.core].accesses;
        *accesses = accesses.saturating_sub(1);
        self.next.push_front(op);
        self.again = Some(Op::Touch(Touch::store(line, false)));
        true
    }
}
