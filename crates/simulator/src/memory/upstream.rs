//! What stands before the channels and is not always there: the arbiter and the memory-side cache.

use crate::line::Line;
use crate::memory::arbiter::{Arbiter, QueueSpace, Request};
use crate::memory::channel::Channel;
use crate::memory::parameters::MemoryParameters;
use crate::memory::queue::Queue;
use crate::memory::regulator::Regulator;
use crate::memory::side_cache::SideCache;
use crate::memory::{Handle, Memory};
use crate::observe::counters::MemoryCounters;
use crate::time::Ps;

/// The arbiter and the memory-side cache, as far as a memory has them.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Makes requests wait.
    pub arbiter: Option<Arbiter>,
    /// Answers reads, takes writes.
    pub cache: Option<SideCache>,
    /// Its answers.
    hits: Queue<(Ps, Handle)>,
    /// What was counted here.
    pub counts: MemoryCounters,
}

/// What a request meets behind the arbiter.
struct Inside<'a> {
    channels: &'a [Channel],
    cache: Option<&'a SideCache>,
}

impl QueueSpace for Inside<'_> {
    fn has_room(&self, request: &Request) -> bool {
        let channel = &self.channels[request.channel];
        match request.reader {
            Some(_) => channel.has_room() || self.cache.is_some_and(|cache| cache.holds(request.line)),
            None => channel.has_room_for_write() || self.cache.is_some_and(|cache| cache.takes_write(request.line)),
        }
    }
}

impl Upstream {
    /// What a memory has before its channels; nothing if it has nothing there.
    pub fn new(of: &MemoryParameters) -> Option<Self> {
        let bounded = of.scheduler.write_entries != usize::MAX;
        let has_arbiter = bounded || of.line_time > Ps::ZERO || of.regulation.is_some();
        let regulator = of.regulation.map(|(scheme, entries)| (Regulator::new(scheme), entries));
        let arbiter = has_arbiter.then(|| Arbiter::new(of.layout.channels, of.line_time, regulator));
        let cache = of.cache.map(SideCache::new);
        (has_arbiter || cache.is_some()).then(|| Self {
            arbiter,
            cache,
            hits: Queue::new(),
            counts: MemoryCounters::default(),
        })
    }

    /// Whether it makes any difference.
    fn is_of_use(&self) -> bool {
        self.arbiter.is_some() || self.cache.as_ref().is_some_and(SideCache::is_of_use)
    }

    /// Whether a command may have let somebody go on: it may have made room, and what it fetched may be what another request
    /// looks for.
    #[inline]
    fn has_news(&self, now: Ps) -> bool {
        self.cache.as_ref().is_some_and(SideCache::is_of_use)
            || self.arbiter.as_ref().is_some_and(|arbiter| arbiter.has_news(now))
    }

    /// When something happens here.
    #[inline]
    pub fn next_time(&self) -> Ps {
        let hit = self.hits.front().map_or(Ps::NEVER, |(at, _)| at);
        hit.min(self.arbiter.as_ref().map_or(Ps::NEVER, Arbiter::next_time))
    }
}

impl Memory {
    /// What an access that takes no time does to the memory-side cache, whose changed lines leave it without traffic.
    pub fn forward(&mut self, line: Line, write: bool) {
        let Some(cache) = self.upstream.as_mut().and_then(|upstream| upstream.cache.as_mut()) else { return };
        if write {
            if cache.takes_write(line) {
                cache.write(line);
            }
        } else if !cache.read(line) && cache.takes_reads() {
            cache.fetched(line);
        }
    }

    /// Whether a memory-side cache takes part.
    pub fn caches(&self) -> bool {
        let cache = self.upstream.as_ref().and_then(|upstream| upstream.cache.as_ref());
        cache.is_some_and(SideCache::is_of_use)
    }

    /// Looks at the front only while it makes a difference.
    pub(super) fn use_upstream(&mut self) {
        if self.upstream.is_none() {
            self.upstream = self.idle_upstream.take();
        }
        if self.upstream.as_ref().is_some_and(|upstream| !upstream.is_of_use()) {
            self.idle_upstream = self.upstream.take();
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn arrive(&mut self, request: Request, now: Ps) {
        let Some(Upstream { arbiter: Some(arbiter), cache, .. }) = self.upstream.as_deref_mut() else {
            return self.enter(request, now);
        };
        let inside = Inside { channels: &self.channels, cache: cache.as_ref() };
        if arbiter.lets_through(&request, now, &inside) {
            return self.enter(request, now);
        }
        if arbiter.arrive(request, now) {
            self.pass(now);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn step_with_upstream(&mut self, now: Ps) -> Option<Handle> {
        let upstream = self.upstream.as_mut()?;
        if upstream.hits.front().is_some_and(|(at, _)| at <= now) {
            let answered = upstream.hits.pop_front().map(|(_, handle)| handle);
            self.next_time = self.next_command.min(upstream.next_time());
            return answered;
        }
        if self.next_command > now {
            self.pass(now);
            return None;
        }
        let channel = self.next;
        self.channels[channel].fetched = None;
        let answered = self.channels[channel].step(now);
        if answered.is_some() {
            // An answer makes no room.
            self.plan_alone(channel);
            self.next_time =
                self.next_time.min(self.upstream.as_ref().map_or(Ps::NEVER, |upstream| upstream.next_time()));
            return answered;
        }
        self.allocate_fetched(channel, now);
        self.plan(channel);
        if self.upstream.as_ref().is_some_and(|upstream| upstream.has_news(now)) {
            self.pass(now);
        }
        None
    }

    /// Lets requests through the arbiter.
    pub(super) fn pass(&mut self, now: Ps) {
        loop {
            let Some(upstream) = &mut self.upstream else { return };
            let Some(arbiter) = &mut upstream.arbiter else { break };
            if upstream.cache.as_ref().is_some_and(SideCache::is_of_use) {
                arbiter.look_everywhere();
            }
            let inside = Inside { channels: &self.channels, cache: upstream.cache.as_ref() };
            let Some(request) = arbiter.pass(now, &inside) else { break };
            self.enter(request, now);
        }
        if let Some(upstream) = &self.upstream {
            self.next_time = self.next_command.min(upstream.next_time());
        }
    }

    /// A request is through the arbiter: the cache deals with it, or its channel.
    fn enter(&mut self, request: Request, now: Ps) {
        if !self.enter_cache(&request, now) {
            let Request { channel, in_channel, first, .. } = request;
            let channel = &mut self.channels[channel];
            match request.reader {
                Some(handle) => _ = channel.read(in_channel, handle, first, now),
                None => channel.write(in_channel, now),
            }
        }
        self.plan(request.channel);
    }

    /// Whether the cache has dealt with a request.
    fn enter_cache(&mut self, request: &Request, now: Ps) -> bool {
        let Some(upstream) = &mut self.upstream else { return false };
        let Some(cache) = &mut upstream.cache else { return false };
        match request.reader {
            Some(handle) => {
                let hit = cache.read(request.line);
                if hit {
                    upstream.counts.cache_hits += 1;
                    upstream.hits.push_back((now + cache.hit, handle));
                }
                hit
            }
            None => {
                let takes = cache.takes_write(request.line);
                if takes {
                    upstream.counts.cache_writes += 1;
                    if let Some(evicted) = cache.write(request.line) {
                        self.write_evicted(evicted, now);
                    }
                }
                takes
            }
        }
    }

    /// The line of data that a channel has fetched, if it has, goes into the cache.
    fn allocate_fetched(&mut self, channel: usize, now: Ps) {
        let Some(cache) = self.upstream.as_mut().and_then(|upstream| upstream.cache.as_mut()) else { return };
        let Channel { layout, fetched: Some(in_channel), .. } = self.channels[channel] else { return };
        if u64::from(in_channel.number()) < layout.lines
            && cache.takes_reads()
            && let Some(evicted) = cache.fetched(layout.line(channel, in_channel))
        {
            self.write_evicted(evicted, now);
        }
    }

    fn write_evicted(&mut self, line: Line, now: Ps) {
        if let Some(upstream) = &mut self.upstream {
            upstream.counts.cache_evictions += 1;
        }
        let (channel, in_channel) = self.channels[0].layout.channel(line);
        self.channels[channel].write(in_channel, now);
        self.plan(channel);
    }
}
