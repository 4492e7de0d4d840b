//! What a core does before its caches: translation, prefetching, runs of stores, the store buffer.

pub mod prefetch;
pub mod stores;
pub mod streaming;
pub mod tlb;
pub mod translation;
pub mod walk;

use std::collections::VecDeque;

use crate::caches::access::Want;
use crate::core::front::prefetch::Prefetchers;
use crate::core::front::stores::StoreBuffer;
use crate::core::front::streaming::StreamDetector;
use crate::core::front::tlb::Page;
use crate::core::front::translation::{Side, Translation};
use crate::core::front::walk::{Awaits, PageWalk};
use crate::core::placement::MemoryRegion;
use crate::core::program::Touch;
use crate::line::Line;
use crate::time::Ps;

/// The front of a core. Each part may be absent.
#[derive(Debug, Clone)]
pub struct Front {
    /// TLBs and page tables.
    pub translation: Option<Translation>,
    /// Walks that can be in flight at one time.
    pub walkers: usize,
    /// Walks that are.
    pub walks: Vec<PageWalk>,
    /// The page for which no walker was free, and when the look for it has ended.
    looked: Option<(Side, Page, Ps)>,
    /// Accesses that wait for a walk while the core goes on.
    pub held: Vec<Held>,
    /// Accesses that waited for a walk, in the order in which they go on.
    pub ready: VecDeque<Held>,
    /// The store buffer.
    pub stores: Option<StoreBuffer>,
    /// When the next of the stores that were put off tries again.
    pub stores_at: Ps,
    /// Runs of full-line stores.
    pub streaming: Option<StreamDetector>,
    /// Hardware prefetchers.
    pub prefetchers: Option<Prefetchers>,
    /// Lines that a prefetcher has brought nearer and that come at these times.
    pub late: Vec<(Line, Ps)>,
    /// Whether the last access made a prefetcher ask for something.
    pub wished: bool,
    /// Bytes of a line.
    pub line_bytes: u64,
    /// When a walk, an access after one, or a store that was put off is due.
    pub at: Ps,
}

/// An access that waits beside the core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// The access.
    pub touch: Touch,
    /// Its number in the core's window.
    pub load: u64,
    /// When it goes on.
    pub at: Ps,
    /// Whether nothing but the line's arrival is left to come.
    pub is_answered: bool,
}

impl Front {
    /// An idle front, or None if there is nothing in it.
    pub fn new(
        translation: Option<Translation>,
        walkers: usize,
        stores: Option<StoreBuffer>,
        streaming: Option<StreamDetector>,
        prefetchers: Option<Prefetchers>,
        line_bytes: u64,
    ) -> Option<Box<Self>> {
        if translation.is_none() && stores.is_none() && streaming.is_none() && prefetchers.is_none() {
            return None;
        }
        Some(Box::new(Self {
            translation,
            walkers,
            walks: Vec::new(),
            looked: None,
            held: Vec::new(),
            ready: VecDeque::new(),
            stores,
            stores_at: Ps::NEVER,
            streaming,
            prefetchers,
            late: Vec::new(),
            wished: false,
            line_bytes,
            at: Ps::NEVER,
        }))
    }

    /// Adds to an access what the front must know of it.
    #[inline]
    pub fn complete(&self, mut touch: Touch, region: &MemoryRegion, offset: u64) -> Touch {
        if let Some(translation) = &self.translation {
            touch.page = translation.page(region.address(offset));
        }
        if self.streaming.is_some() && touch.want == Want::Write && !touch.load {
            touch.words = 1 << (region.address(offset) % self.line_bytes / 8);
        }
        touch
    }

    /// Begins a walk for an access whose look into the TLBs takes `look`, unless one for its page is in flight; false if no
    /// walker is free. An access that asks again until one is looks once.
    pub fn walk_for(&mut self, touch: &Touch, now: Ps, look: Ps) -> bool {
        let (side, page) = (touch.side(), touch.page);
        if self.walks.iter().any(|walk| walk.page == page && walk.side == side) {
            return true;
        }
        let looked = self.looked.take().filter(|looked| (looked.0, looked.1) == (side, page));
        let at = looked.map_or(now + look, |looked| looked.2.max(now));
        if self.walks.len() == self.walkers {
            self.looked = Some((side, page, at));
            return false;
        }
        self.walks.push(PageWalk { side, page, array: 0, at, awaits: Awaits::Nothing });
        true
    }

    /// An access waits for the walk of its page.
    pub fn hold(&mut self, touch: Touch, load: u64) {
        self.held.push(Held { touch, load, at: Ps::NEVER, is_answered: false });
    }

    /// No store waits for this MSHR any more.
    #[inline]
    pub fn forget(&mut self, mshr: usize) {
        if let Some(stores) = &mut self.stores {
            stores.forget(mshr);
        }
    }

    /// Whether accesses or walks are left that the port does not know of.
    pub fn is_busy(&self) -> bool {
        let put_off = self.stores.as_ref().is_some_and(|stores| stores.first_put_off().is_some());
        put_off || !self.walks.is_empty() || !self.held.is_empty() || !self.ready.is_empty()
    }

    /// What is due before a time goes on then: what the port had to wait for is there.
    pub fn put_off_until(&mut self, at: Ps) {
        for walk in self.walks.iter_mut().filter(|walk| walk.at < at) {
            walk.at = at;
        }
        if let Some(held) = self.ready.front_mut() {
            held.at = held.at.max(at);
        }
        self.stores_at = self.stores_at.max(at);
        self.plan();
    }

    /// Works out when something is due next.
    pub fn plan(&mut self) {
        let walks = self.walks.iter().map(|walk| walk.at).min().unwrap_or(Ps::NEVER);
        let ready = self.ready.front().map_or(Ps::NEVER, |held| held.at);
        let put_off = self.stores.as_ref().is_some_and(|stores| stores.first_put_off().is_some());
        self.at = walks.min(ready).min(if put_off { self.stores_at } else { Ps::NEVER });
    }
}
