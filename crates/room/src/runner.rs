//! The thread that owns the backing: it lets simulated time pass, takes changes between slices, and publishes what it
//! counts, so that nobody who reads or writes a file ever waits for it.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use waykeeper_platform::CoreId;

use crate::backing::{Backing, ControlChange, CoreCounts, MonitorCounts, SampleSink, Work};

/// Wall time of a slice: the longest that a change waits.
const SLICE: Duration = Duration::from_millis(1);
/// How long the thread sleeps when nothing runs and nobody asks.
const IDLE: Duration = Duration::from_millis(20);
/// Simulated picoseconds of the first slice.
const FIRST_SLICE_PS: u64 = 1_000_000;
/// Changes that may wait. A writer waits when there are more.
const QUEUE: usize = 4096;

/// What the runner is asked.
pub(crate) enum Ask {
    Set(ControlChange),
    /// Which monitors to publish: the level, a core of each domain, and the monitors in use.
    Watch(Watched),
    Start(Work, SyncSender<Result<u64, String>>),
    Stop(u64, SyncSender<Result<(), String>>),
    Lock {
        level: u8,
        core: CoreId,
        ways: u32,
        answer: SyncSender<Result<u64, String>>,
    },
    Unlock(u64),
    Give {
        core: CoreId,
        bytes: u64,
        answer: SyncSender<Result<u64, String>>,
    },
    TakeBack(u64, SyncSender<Result<(), String>>),
    End,
}

/// The monitors that are published.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Watched {
    pub level: u8,
    /// A core of each domain, by the domain's id.
    pub cores: Vec<CoreId>,
    pub slots: Vec<u8>,
}

/// What was counted up to a time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    /// Goes up with each.
    pub version: u64,
    pub now_ps: u64,
    /// Simulated over wall time of late.
    pub speed: f64,
    /// By domain and number of the monitor.
    pub monitored: BTreeMap<(u32, u8), MonitorCounts>,
    /// The changes that the backing refused, the latest last.
    pub refused: Vec<String>,
}

/// A workload that runs or ran.
#[derive(Debug, Clone)]
pub(crate) struct Collected {
    pub started_ps: u64,
    pub ended_ps: Option<u64>,
    /// Ticks.
    pub samples: Histogram<u64>,
    /// Those since somebody last asked for a summary.
    pub recent: Histogram<u64>,
    pub counts: CoreCounts,
    at_start: CoreCounts,
    /// Samples that are still to be kept, where not all are.
    left: Option<u64>,
}

/// What the runner shares with everyone.
#[derive(Debug, Default)]
pub(crate) struct Published {
    snapshot: Mutex<Snapshot>,
    collected: Mutex<BTreeMap<u64, Collected>>,
    pub tick_ns: f64,
}

impl Published {
    pub fn snapshot(&self) -> MutexGuard<'_, Snapshot> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn collected(&self) -> MutexGuard<'_, BTreeMap<u64, Collected>> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The running thread.
#[derive(Debug)]
pub(crate) struct Runner {
    asks: SyncSender<Ask>,
    pub published: Arc<Published>,
    thread: Option<JoinHandle<()>>,
}

impl Runner {
    /// Starts the thread.
    pub fn start(backing: Box<dyn Backing>) -> std::io::Result<Self> {
        let (asks, asked) = sync_channel(QUEUE);
        let published = Arc::new(Published { tick_ns: backing.tick_ns(), ..Published::default() });
        let own = Arc::clone(&published);
        let work = move || {
            // Clients come first: they ask for little, and the simulation takes all that is left.
            let _ = rustix::process::nice(5);
            Loop::new(backing, own).run(&asked);
        };
        let thread = std::thread::Builder::new().name("simulation".into()).spawn(work)?;
        Ok(Self { asks, published, thread: Some(thread) })
    }

    pub fn ask(&self, ask: Ask) {
        // The thread ends only when this is dropped.
        let _ = self.asks.send(ask);
    }

    /// Asks and waits for the answer, which comes after the present slice.
    pub fn ask_for<T>(&self, ask: impl FnOnce(SyncSender<Result<T, String>>) -> Ask) -> Result<T, String> {
        let (answer, answered) = sync_channel(1);
        self.ask(ask(answer));
        answered.recv().unwrap_or_else(|_| Err("the simulation has ended".into()))
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.ask(Ask::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The state of the thread.
struct Loop {
    backing: Box<dyn Backing>,
    published: Arc<Published>,
    running: BTreeMap<CoreId, u64>,
    next_id: u64,
    watched: Watched,
    refused: Vec<String>,
    slice_ps: u64,
    /// Since when wall time counts, and the simulated time then: simulated time never gets ahead.
    origin: (Instant, u64),
}

impl Loop {
    fn new(backing: Box<dyn Backing>, published: Arc<Published>) -> Self {
        let origin = (Instant::now(), backing.now_ps());
        Self {
            backing,
            published,
            running: BTreeMap::new(),
            next_id: 1,
            watched: Watched::default(),
            refused: Vec::new(),
            slice_ps: FIRST_SLICE_PS,
            origin,
        }
    }

    fn run(mut self, asked: &Receiver<Ask>) {
        loop {
            loop {
                match asked.try_recv() {
                    Ok(Ask::End) | Err(TryRecvError::Disconnected) => return,
                    Ok(ask) => self.answer(ask),
                    Err(TryRecvError::Empty) => break,
                }
            }
            let began = Instant::now();
            let now = self.backing.now_ps();
            let real_time = self.origin.1 + began.duration_since(self.origin.0).as_nanos() as u64 * 1000;
            let room = real_time.saturating_sub(now);
            let step = if self.running.is_empty() { room } else { room.min(self.slice_ps) };
            self.advance(now + step);
            let took = began.elapsed();
            if !self.running.is_empty() && step == self.slice_ps {
                let target = self.slice_ps as f64 * SLICE.as_secs_f64() / took.as_secs_f64().max(1e-9);
                // Work differs from slice to slice: half the way, and never too far.
                self.slice_ps = ((self.slice_ps as f64 + target.min(self.slice_ps as f64 * 4.0)) / 2.0) as u64;
                self.slice_ps = self.slice_ps.clamp(10_000, 1_000_000_000);
            }
            // Delay behind real time is not caught up with later.
            let behind = Duration::from_millis(100);
            if began.duration_since(self.origin.0) > behind && !self.running.is_empty() {
                self.origin = (Instant::now(), self.backing.now_ps());
            }
            self.publish(step, took);
            let ahead = if self.running.is_empty() { IDLE } else { SLICE };
            if step < self.slice_ps || self.running.is_empty() {
                match asked.recv_timeout(ahead) {
                    Ok(Ask::End) | Err(RecvTimeoutError::Disconnected) => return,
                    Ok(ask) => self.answer(ask),
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        }
    }

    fn advance(&mut self, until_ps: u64) {
        let published = Arc::clone(&self.published);
        let mut collected = published.collected();
        let mut sink = Into { running: &self.running, collected: &mut collected };
        self.backing.advance(until_ps, &mut sink);
        for (core, id) in &self.running {
            if let Some(one) = collected.get_mut(id) {
                one.counts = since(self.backing.counts(*core), one.at_start);
            }
        }
    }

    fn answer(&mut self, ask: Ask) {
        match ask {
            Ask::Set(control) => {
                if let Err(why) = self.backing.set(control) {
                    self.refuse(why);
                }
            }
            Ask::Watch(watched) => self.watched = watched,
            Ask::Start(work, answer) => {
                let _ = answer.send(self.start(work));
            }
            Ask::Stop(id, answer) => {
                let _ = answer.send(self.stop(id));
            }
            Ask::Lock { level, core, ways, answer } => {
                let _ = answer.send(self.backing.lock(level, core, ways));
            }
            Ask::Unlock(region) => {
                if let Err(why) = self.backing.unlock(region) {
                    self.refuse(why);
                }
            }
            Ask::Give { core, bytes, answer } => {
                let _ = answer.send(self.backing.give(core, bytes));
            }
            Ask::TakeBack(memory, answer) => {
                let _ = answer.send(self.backing.take_back(memory));
            }
            Ask::End => {}
        }
    }

    fn refuse(&mut self, why: String) {
        if !self.refused.contains(&why) {
            self.refused.push(why);
        }
    }

    fn start(&mut self, work: Work) -> Result<u64, String> {
        self.backing.start(&work)?;
        let id = self.next_id;
        self.next_id += 1;
        self.running.insert(work.core, id);
        let empty = || Histogram::new(3).expect("three digits are within what a histogram takes");
        let at_start = self.backing.counts(work.core);
        let started_ps = self.backing.now_ps();
        let counts = CoreCounts::default();
        let (samples, recent) = (empty(), empty());
        let one = Collected { started_ps, ended_ps: None, samples, recent, counts, at_start, left: work.samples };
        self.published.collected().insert(id, one);
        self.origin = (Instant::now(), started_ps);
        Ok(id)
    }

    fn stop(&mut self, id: u64) -> Result<(), String> {
        let core = self.running.iter().find(|(_, running)| **running == id).map(|(core, _)| *core);
        let core = core.ok_or_else(|| format!("no workload {id} runs"))?;
        self.backing.stop(core)?;
        self.running.remove(&core);
        if let Some(one) = self.published.collected().get_mut(&id) {
            one.ended_ps = Some(self.backing.now_ps());
        }
        self.origin = (Instant::now(), self.backing.now_ps());
        Ok(())
    }

    fn publish(&mut self, step: u64, took: Duration) {
        let watched = &self.watched;
        let all = watched.cores.iter().enumerate();
        let monitored = all.flat_map(|(domain, core)| {
            let read = |slot: &u8| ((domain as u32, *slot), self.backing.monitored(watched.level, *core, *slot));
            watched.slots.iter().map(read).collect::<Vec<_>>()
        });
        let monitored: BTreeMap<_, _> = monitored.collect();
        let now_ps = self.backing.now_ps();
        let mut snapshot = self.published.snapshot();
        let speed = if self.running.is_empty() { 1.0 } else { step as f64 / 1e12 / took.as_secs_f64().max(1e-9) };
        snapshot.version += 1;
        snapshot.now_ps = now_ps;
        snapshot.speed = 0.9 * snapshot.speed + 0.1 * speed.min(1.0);
        snapshot.monitored = monitored;
        snapshot.refused.clone_from(&self.refused);
    }
}

fn since(now: CoreCounts, start: CoreCounts) -> CoreCounts {
    CoreCounts {
        accesses: now.accesses.saturating_sub(start.accesses),
        memory_reads: now.memory_reads.saturating_sub(start.memory_reads),
        sample_reads: now.sample_reads.saturating_sub(start.sample_reads),
    }
}

/// Puts samples where they belong.
struct Into<'l> {
    running: &'l BTreeMap<CoreId, u64>,
    collected: &'l mut BTreeMap<u64, Collected>,
}

impl SampleSink for Into<'_> {
    fn record(&mut self, core: CoreId, ticks: u64, count: u64) {
        let Some(one) = self.running.get(&core).and_then(|id| self.collected.get_mut(id)) else { return };
        let count = match &mut one.left {
            Some(left) => {
                let kept = count.min(*left);
                *left -= kept;
                kept
            }
            None => count,
        };
        if count == 0 {
            return;
        }
        // A histogram that grows by itself takes every number.
        let _ = one.samples.record_n(ticks, count);
        let _ = one.recent.record_n(ticks, count);
    }
}
