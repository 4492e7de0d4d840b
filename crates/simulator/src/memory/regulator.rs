//! Bandwidth regulation by class, among the requests that wait in front of the memory.
//!
//! MPAM's schemes are those of Arm's MPAM System Component Specification (IHI 0099); the delay is Intel's Memory
//! Bandwidth Allocation, as the Software Developer's Manual describes it in words.

use crate::observe::label::MOST_CLASSES;
use crate::time::Ps;

/// A scheme and its constants, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Every request of a class waits so long for each step below the full share.
    Delay {
        /// For one step.
        step: Ps,
        /// The full share.
        steps: u64,
    },
    /// Among classes that wait, a request counts its class's stride plus one; the class that is least far goes first.
    Stride,
    /// A class that has had its share of a window waits for the next one. It gets a line in each at least.
    Maximum(Windows),
    /// A class that has not yet had its share of a window goes before the others.
    Minimum(Windows),
    /// A class passes in its own slots of a window only: those whose bits are set in its share. A line takes of them what
    /// the memory needs for it; what one class takes of a slot that another one has too is taken from both.
    Portions(Portions),
}

/// Slots of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Portions {
    /// Length of a slot, at least 1.
    pub slot: Ps,
    /// Slots of a window.
    pub slots: u64,
    /// What the memory needs for a line at best, over all channels.
    pub line: Ps,
}

impl Portions {
    fn is_own(&self, share: u64, slot: u64) -> bool {
        share >> (slot % self.slots) & 1 == 1
    }

    /// The first time from `at` on that is in a slot of a share; `at` where none is.
    fn first(&self, share: u64, at: Ps) -> Ps {
        let slot = at / self.slot;
        (slot..=slot + self.slots).find(|slot| self.is_own(share, *slot)).map_or(at, |own| at.max(self.slot * own))
    }

    /// The end of the slot of a time.
    fn end(&self, at: Ps) -> Ps {
        self.slot * (at / self.slot + 1)
    }

    /// Whole windows further on, as many as so much time of a share's slots takes, and the time that is left then; none for
    /// a share without slots.
    fn skip_windows(&self, share: u64, from: Ps, time: Ps) -> (Ps, Ps) {
        let all = u64::MAX >> (64 - self.slots);
        match self.slot * u64::from((share & all).count_ones()) {
            Ps::ZERO => (from, Ps::ZERO),
            in_window => (from + self.slot * (time / in_window * self.slots), time % in_window),
        }
    }
}

/// Accounting of bandwidth by windows of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// Length of a window.
    pub length: Ps,
    /// The full share.
    pub steps: u64,
    /// What the memory needs for a line at best, over all channels.
    pub line: Ps,
}

impl Windows {
    /// Lines that a share allows in a window.
    fn lines(&self, share: u64) -> u64 {
        let [length, line] = [self.length.get(), self.line.get().max(1)].map(u128::from);
        (length * u128::from(share) / (u128::from(self.steps) * line)) as u64
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Class {
    share: u64,
    /// How far it has come, in strides plus one.
    distance: u64,
    /// The window in which it was last served, and how often.
    window: u64,
    served: u64,
    /// When what it sent last has had its time, under portions.
    free: Ps,
}

/// A regulator, which is off until a share is set.
#[derive(Debug, Clone)]
pub struct Regulator {
    scheme: Scheme,
    enabled: bool,
    classes: [Class; MOST_CLASSES],
    /// How far the class had come that was served last.
    distance: u64,
}

impl Regulator {
    /// A regulator that is off.
    pub fn new(scheme: Scheme) -> Self {
        Self { scheme, enabled: false, classes: [Class::default(); MOST_CLASSES], distance: 0 }
    }

    /// Sets the share of a class and whether anything is regulated.
    pub fn set(&mut self, class: u8, share: u64, enabled: bool) {
        self.classes[usize::from(class)].share = share;
        if enabled != self.enabled {
            self.enabled = enabled;
            self.distance = 0;
            self.classes.iter_mut().for_each(|class| class.distance = 0);
        }
    }

    /// Sets the share of one class. Where nothing was regulated before, the others are not bounded.
    pub fn set_one(&mut self, class: u8, share: u64) {
        if !self.enabled {
            let unbounded = self.unbounded();
            self.classes.iter_mut().for_each(|class| class.share = unbounded);
        }
        self.set(class, share, true);
    }

    /// The share of a class that is not regulated, as far as a scheme has one: among strides and minima, the one that all
    /// have alike.
    fn unbounded(&self) -> u64 {
        match self.scheme {
            Scheme::Delay { steps, .. } => steps,
            Scheme::Maximum(windows) => windows.steps,
            Scheme::Stride | Scheme::Minimum(_) => 0,
            Scheme::Portions(portions) => u64::MAX >> (64 - portions.slots),
        }
    }

    /// Whether a class may have to wait while the memory could serve it.
    pub fn holds_back(&self) -> bool {
        self.enabled && matches!(self.scheme, Scheme::Maximum(_) | Scheme::Portions(_))
    }

    /// Whether requests that wait go in another order than without it, or at other times.
    pub fn tells_classes_apart(&self) -> bool {
        self.enabled && !matches!(self.scheme, Scheme::Delay { .. })
    }

    /// How long every request of a class waits before it takes part.
    pub fn delay(&self, class: u8) -> Ps {
        match self.scheme {
            Scheme::Delay { step, steps } if self.enabled => step * steps.saturating_sub(self.share(class)),
            _ => Ps::ZERO,
        }
    }

    /// When a class may pass at the earliest.
    pub fn allowed(&self, class: u8, now: Ps) -> Ps {
        if !self.enabled {
            return now;
        }
        match self.scheme {
            Scheme::Maximum(windows) => {
                let most = windows.lines(self.share(class)).max(1);
                if self.served_in(class, &windows, now) < most {
                    now
                } else {
                    windows.length * (now / windows.length + 1)
                }
            }
            Scheme::Portions(portions) => self.first_free(&portions, class, now),
            Scheme::Delay { .. } | Scheme::Stride | Scheme::Minimum(_) => now,
        }
    }

    /// The first time from `now` on that is in a slot of a class and that nothing takes which was sent before.
    fn first_free(&self, portions: &Portions, class: u8, now: Ps) -> Ps {
        let share = self.share(class);
        let mut at = now.max(self.classes[usize::from(class)].free);
        loop {
            at = portions.first(share, at);
            let taking = self.classes.iter().filter(|other| portions.is_own(other.share, at / portions.slot));
            let taken = taking.map(|other| other.free).max().unwrap_or(Ps::ZERO);
            if taken <= at {
                return at;
            }
            at = taken.min(portions.end(at));
        }
    }

    /// When a line that a class sends has had its time in the slots of the class.
    fn after_line(&self, portions: &Portions, class: u8, now: Ps) -> Ps {
        let taken = self.classes.iter().map(|other| other.free).max().unwrap_or(Ps::ZERO);
        let (mut at, mut left) = (now, portions.line);
        loop {
            if at >= taken {
                (at, left) = portions.skip_windows(self.share(class), at, left);
            }
            at = self.first_free(portions, class, at);
            let room = portions.end(at) - at;
            if left < room {
                return at + left;
            }
            (at, left) = (at + room, left - room);
        }
    }

    /// The place of a class among those that may pass: the least one goes first.
    pub fn place(&self, class: u8, now: Ps) -> u64 {
        if !self.enabled {
            return 0;
        }
        match self.scheme {
            Scheme::Stride => self.classes[usize::from(class)].distance,
            Scheme::Minimum(windows) => {
                u64::from(self.served_in(class, &windows, now) >= windows.lines(self.share(class)))
            }
            Scheme::Delay { .. } | Scheme::Maximum(_) | Scheme::Portions(_) => 0,
        }
    }

    /// A class has a request waiting and had none: it does not make up for the time in which it asked for nothing.
    pub fn begins(&mut self, class: u8) {
        let class = &mut self.classes[usize::from(class)];
        class.distance = class.distance.max(self.distance);
    }

    /// A request of a class has passed.
    pub fn passed(&mut self, class: u8, now: Ps) {
        let window = match self.scheme {
            Scheme::Maximum(windows) | Scheme::Minimum(windows) => now / windows.length,
            _ => 0,
        };
        let free = match self.scheme {
            Scheme::Portions(portions) if self.enabled => Some(self.after_line(&portions, class, now)),
            _ => None,
        };
        let class = &mut self.classes[usize::from(class)];
        class.free = free.unwrap_or(class.free);
        if self.enabled {
            self.distance = class.distance;
            class.distance += class.share + 1;
        }
        if class.window != window {
            (class.window, class.served) = (window, 0);
        }
        class.served += 1;
    }

    fn share(&self, class: u8) -> u64 {
        self.classes[usize::from(class)].share
    }

    fn served_in(&self, class: u8, windows: &Windows, now: Ps) -> u64 {
        let class = &self.classes[usize::from(class)];
        if class.window == now / windows.length { class.served } else { 0 }
    }
}
