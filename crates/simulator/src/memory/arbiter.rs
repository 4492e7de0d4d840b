//! What stands in front of the channels where more than their own queues decides: a limit of the way to the memory, full
//! write queues, regulated classes.
//!
//! Requests of one class for one channel keep their order, those of higher priority apart: so a write that finds the
//! controller's write queue full makes everything wait that its class sends to that channel after it. A request never
//! passes an older write of its line. A regulator sees so many requests; the others wait behind it in the order in which
//! they came. One that holds classes back sees so many of each: what a class may not send yet takes no entry from the others.

use crate::bits::bits;
use crate::line::Line;
use crate::memory::queue::Queue;
use crate::memory::regulator::Regulator;
use crate::memory::{Handle, Requester};
use crate::observe::label::MOST_CLASSES;
use crate::time::Ps;

/// A request on its way into the memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Request {
    /// The line's number over all channels.
    pub line: Line,
    /// Its channel, and its number there.
    pub channel: usize,
    /// Its number in its channel.
    pub in_channel: Line,
    /// Who asks.
    pub class: u8,
    /// Whether it goes first.
    pub first: bool,
    /// Who waits for the line; nobody for a write.
    pub reader: Option<Handle>,
    /// Its number in the order in which requests were seen.
    order: u64,
}

impl Request {
    /// A line, with its channel and its number there, is to be read.
    pub fn read(line: Line, place: (usize, Line), handle: Handle, source: Requester) -> Self {
        Self { reader: Some(handle), first: source.first, ..Self::write(line, place, source) }
    }

    /// A line, with its channel and its number there, is to be written. Priorities are those of reads.
    pub fn write(line: Line, (channel, in_channel): (usize, Line), source: Requester) -> Self {
        Self { line, channel, in_channel, class: source.class, first: false, reader: None, order: 0 }
    }

    /// Its rank by priority, then by age: the least goes first.
    #[inline]
    fn rank(&self) -> u64 {
        u64::from(!self.first) << 62 | self.order
    }
}

/// The rank of no request: behind all others.
const NO_RANK: u64 = u64::MAX;

/// Queues of a channel: by class and priority.
const QUEUES: usize = 2 * MOST_CLASSES;

/// Lines are distinguished by so many of their lowest bits before they are looked for.
const MARKS: usize = 8192;

/// Requests in front of the channels.
#[derive(Debug, Clone)]
pub struct Arbiter {
    /// Regulates the classes, if anything does.
    pub regulator: Option<Regulator>,
    /// Requests that are seen at one time; of each class, where the regulator holds classes back.
    entries: usize,
    /// From one request to the next.
    line_time: Ps,
    next_free: Ps,
    /// Requests that the regulator delays or holds back, by class, with the time from which they may take part.
    delayed: Vec<Queue<(Ps, Request)>>,
    /// How many those are.
    delayed_count: usize,
    /// Requests that have found no place before the regulator.
    behind: Queue<Request>,
    /// By channel, class and priority.
    seen: Vec<Queue<Request>>,
    /// Queues with requests, one bit each, by channel.
    waiting: Vec<u64>,
    /// Those of them whose first request can go on as far as the memory is concerned, as of the last look.
    ready: Vec<u64>,
    /// The least rank by priority and age among these requests, and its queue; [`NO_RANK`] where none can go on.
    oldest: Vec<(u64, usize)>,
    /// Channels of which something has changed since, one bit each.
    changed: u64,
    /// Whether each channel has room for a read and for a write.
    room: Vec<[bool; 2]>,
    /// Requests that are seen, of all classes and of each.
    count: usize,
    count_of: [usize; MOST_CLASSES],
    arrivals: u64,
    /// Writes that are seen, by the lowest bits of their lines.
    writes: Vec<u16>,
    /// All writes that wait here.
    writes_waiting: u64,
    next_time: Ps,
}

/// What an arbiter needs to know of the memory behind it.
pub trait QueueSpace {
    /// Whether a request can go on.
    fn has_room(&self, request: &Request) -> bool;
}

impl Arbiter {
    /// An arbiter without requests. The regulator, if any, sees `entries` of them.
    pub fn new(channels: usize, line_time: Ps, regulator: Option<(Regulator, usize)>) -> Self {
        let (regulator, entries) =
            regulator.map_or((None, usize::MAX), |(regulator, entries)| (Some(regulator), entries));
        Self {
            regulator,
            entries,
            line_time,
            next_free: Ps::ZERO,
            delayed: vec![Queue::new(); MOST_CLASSES],
            delayed_count: 0,
            behind: Queue::new(),
            seen: vec![Queue::new(); channels * QUEUES],
            waiting: vec![0; channels],
            ready: vec![0; channels],
            oldest: vec![(NO_RANK, 0); channels],
            changed: 0,
            room: vec![[true; 2]; channels],
            count: 0,
            count_of: [0; MOST_CLASSES],
            arrivals: 0,
            writes: vec![0; MARKS],
            writes_waiting: 0,
            next_time: Ps::NEVER,
        }
    }

    /// Whether nothing waits here.
    #[inline]
    fn is_empty(&self) -> bool {
        self.count + self.delayed_count == 0 && self.behind.is_empty()
    }

    /// When it can let a request pass, or see another one, without anything happening in the channels.
    #[inline]
    pub fn next_time(&self) -> Ps {
        self.next_time
    }

    /// Writes that wait here.
    #[inline]
    pub fn writes_waiting(&self) -> u64 {
        self.writes_waiting
    }

    /// A channel has acted, or a request went there: whether it has room for a read and for a write.
    #[inline]
    pub fn channel_has(&mut self, channel: usize, room: [bool; 2]) {
        self.changed |= u64::from(self.room[channel] != room) << channel;
        self.room[channel] = room;
    }

    /// What decides on whether requests can go on has changed, besides the room in channels.
    #[inline]
    pub fn look_everywhere(&mut self) {
        self.changed = u64::MAX >> (64 - self.ready.len());
    }

    /// Whether a request may be able to pass at `now`, or another one can be seen, since the last attempt.
    #[inline]
    pub fn has_news(&self, now: Ps) -> bool {
        self.changed != 0 || self.next_time <= now
    }

    /// Whether a request that comes now passes at once; if so, it has.
    #[inline]
    pub fn lets_through(&mut self, request: &Request, now: Ps, room: &impl QueueSpace) -> bool {
        if !self.is_empty() || now < self.next_free || !room.has_room(request) {
            return false;
        }
        if let Some(regulator) = &mut self.regulator {
            if regulator.delay(request.class) > Ps::ZERO || regulator.allowed(request.class, now) > now {
                return false;
            }
            regulator.begins(request.class);
            regulator.passed(request.class, now);
        }
        self.arrivals += 1;
        self.next_free = now + self.line_time;
        true
    }

    /// A request comes; whether that can make a difference to anybody now, rather than when it is seen.
    pub fn arrive(&mut self, request: Request, now: Ps) -> bool {
        self.writes_waiting += u64::from(request.reader.is_none());
        let delay = self.regulator.as_ref().map_or(Ps::ZERO, |regulator| regulator.delay(request.class));
        let holds_back = self.holds_back();
        let delayed = &mut self.delayed[usize::from(request.class)];
        if delay > Ps::ZERO || holds_back || !delayed.is_empty() {
            delayed.push_back((now + delay, request));
            self.delayed_count += 1;
            true
        } else {
            self.behind.push_back(request);
            self.count < self.entries || self.has_news(now)
        }
    }

    /// The next request that passes at `now`, if one can; called until it returns none.
    pub fn pass(&mut self, now: Ps, room: &impl QueueSpace) -> Option<Request> {
        if self.is_empty() {
            self.next_time = Ps::NEVER;
            return None;
        }
        self.see(now);
        let (passes, next_time) = self.look(now, room);
        if let Some(queue) = passes {
            return Some(self.take(queue, now));
        }
        let delayed = if self.delayed_count > 0 { &self.delayed[..] } else { &[] };
        // Those whose time has come wait for an entry.
        let delayed = delayed.iter().filter_map(|queue| queue.first().map(|(at, _)| *at)).filter(|at| *at > now).min();
        self.next_time = next_time.min(delayed.unwrap_or(Ps::NEVER));
        None
    }

    fn holds_back(&self) -> bool {
        self.regulator.as_ref().is_some_and(Regulator::holds_back)
    }

    /// Lets requests take part whose time has come, as many as are seen at one time.
    fn see(&mut self, now: Ps) {
        let holds_back = self.holds_back();
        let classes = if self.delayed_count > 0 { MOST_CLASSES } else { 0 };
        for class in 0..classes {
            while let Some((at, request)) = self.delayed[class].front()
                && at <= now
                && (!holds_back || self.count_of[class] < self.entries)
            {
                self.delayed[class].pop_front();
                self.delayed_count -= 1;
                match holds_back {
                    true => self.line_up(request),
                    false => self.behind.push_back(request),
                }
            }
        }
        while (holds_back || self.count < self.entries)
            && let Some(request) = self.behind.pop_front()
        {
            self.line_up(request);
        }
    }

    /// A request is seen from now on.
    fn line_up(&mut self, mut request: Request) {
        request.order = self.arrivals;
        self.arrivals += 1;
        self.count += 1;
        let of_class = &mut self.count_of[usize::from(request.class)];
        *of_class += 1;
        if *of_class == 1
            && let Some(regulator) = &mut self.regulator
        {
            regulator.begins(request.class);
        }
        self.writes[request.line.index(MARKS)] += u16::from(request.reader.is_none());
        let queue = 2 * usize::from(request.class) + usize::from(!request.first);
        self.seen[request.channel * QUEUES + queue].push_back(request);
        if self.waiting[request.channel] >> queue & 1 == 0 {
            self.waiting[request.channel] |= 1 << queue;
            self.changed |= 1 << request.channel;
        }
    }

    fn allowed(&self, request: &Request, now: Ps) -> Ps {
        self.regulator.as_ref().map_or(now, |regulator| regulator.allowed(request.class, now))
    }

    /// Finds out which of a channel's queues have a first request that can go on.
    fn look_at(&mut self, channel: usize, room: &impl QueueSpace) {
        let (mut ready, mut oldest) = (0, (NO_RANK, 0));
        for queue in bits(self.waiting[channel]) {
            let at = channel * QUEUES + queue;
            let Some(request) = self.seen[at].first() else { continue };
            if room.has_room(request) && !self.is_behind_write(request) {
                ready |= 1 << queue;
                oldest = oldest.min((request.rank(), at));
            }
        }
        (self.ready[channel], self.oldest[channel]) = (ready, oldest);
    }

    /// Among the first requests of all queues, the queue of the one that passes: by priority, then as the regulator has it,
    /// then the oldest. And when the next one can, if no room comes for the others.
    fn look(&mut self, now: Ps, room: &impl QueueSpace) -> (Option<usize>, Ps) {
        for channel in bits(std::mem::take(&mut self.changed)) {
            self.look_at(channel, room);
        }
        if self.regulator.as_ref().is_some_and(Regulator::tells_classes_apart) {
            return self.look_by_class(now);
        }
        let (mut rank, mut queue) = (NO_RANK, 0);
        for oldest in &self.oldest {
            if oldest.0 < rank {
                (rank, queue) = *oldest;
            }
        }
        match rank {
            NO_RANK => (None, Ps::NEVER),
            _ if self.next_free <= now => (Some(queue), now),
            _ => (None, self.next_free),
        }
    }

    /// The same where the regulator lets classes wait or go first.
    fn look_by_class(&self, now: Ps) -> (Option<usize>, Ps) {
        let (mut best, mut next_time) = (None, Ps::NEVER);
        for (channel, ready) in self.ready.iter().enumerate() {
            for queue in bits(*ready) {
                let queue = channel * QUEUES + queue;
                let Some(request) = self.seen[queue].first() else { continue };
                let at = self.allowed(request, now).max(self.next_free);
                next_time = next_time.min(at);
                if at <= now {
                    let place = self.regulator.as_ref().map_or(0, |regulator| regulator.place(request.class, now));
                    let rank = (!request.first, place, request.order);
                    if best.is_none_or(|(least, _)| rank < least) {
                        best = Some((rank, queue));
                    }
                }
            }
        }
        (best.map(|(_, queue)| queue), next_time)
    }

    fn take(&mut self, queue: usize, now: Ps) -> Request {
        let request = self.seen[queue].pop_front().expect("a chosen queue has a request");
        if self.seen[queue].is_empty() {
            self.waiting[queue / QUEUES] &= !(1 << (queue % QUEUES));
        }
        self.changed |= 1 << (queue / QUEUES);
        self.count -= 1;
        self.count_of[usize::from(request.class)] -= 1;
        self.writes_waiting -= u64::from(request.reader.is_none());
        self.writes[request.line.index(MARKS)] -= u16::from(request.reader.is_none());
        if let Some(regulator) = &mut self.regulator {
            regulator.passed(request.class, now);
        }
        self.next_free = now + self.line_time;
        request
    }

    /// Whether an older write of its line is seen. Older ones that a regulator delays are still with their sender.
    fn is_behind_write(&self, request: &Request) -> bool {
        let own = u16::from(request.reader.is_none());
        if self.writes[request.line.index(MARKS)] <= own {
            return false;
        }
        let older =
            |other: &Request| other.reader.is_none() && other.line == request.line && other.order < request.order;
        let channel = &self.seen[request.channel * QUEUES..(request.channel + 1) * QUEUES];
        channel.iter().any(|queue| queue.iter().any(|other| older(&other)))
    }
}
