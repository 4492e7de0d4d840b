//! The candidates of a hunt: halving, changes of the best, and fresh repeats for those that are shown.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use fastrand::Rng;
use waykeeper_executor::ExecutorError;

use super::geometry::Geometry;
use super::mixture::NeighbourMixture;
use super::pattern::NeighbourPattern;
use super::stress_ng::Stressor;
use crate::tune::FRESH;

/// Where a candidate comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum CandidateSource {
    /// A workload by name.
    Named(String),
    /// Patterns of the search.
    Found(NeighbourMixture),
    /// A program of others.
    Program(Stressor),
}

impl CandidateSource {
    /// Whether it accesses the target's buffer.
    pub fn shares_lines(&self) -> bool {
        matches!(self, Self::Found(mixture) if mixture.shares_lines())
    }
}

/// Anything that measures how much a neighbour slows the target.
pub trait MeasureNeighbours {
    /// The figure of the target beside each candidate over that of the target alone, by repeat. Repeats of the same number have the
    /// same placement. A candidate that the place refuses has none.
    ///
    /// # Errors
    /// A place that cannot measure the target; a stop.
    fn measure(
        &mut self,
        candidates: &[CandidateSource],
        repeats: std::ops::Range<usize>,
    ) -> Result<Vec<Vec<RepeatScore>>, ExecutorError>;

    /// From then on no repeat begins, and a measurement that lacks some is stopped; none lifts this.
    fn end_at(&mut self, _: Option<Instant>) {}

    /// So many candidates were tried, and this is the best one so far.
    fn progress(&self, tried: usize, best: &Scored);
}

/// What a repeat says of a candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RepeatScore {
    /// The target's figure beside it over that alone.
    pub ratio: f64,
    /// Whether a sample of the target ended. Where none did, the ratio is that of the repeat's length, which is too little.
    pub ended: bool,
}

impl From<f64> for RepeatScore {
    fn from(ratio: f64) -> Self {
        Self { ratio, ended: true }
    }
}

/// A candidate and what was seen of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// The candidate.
    pub source: CandidateSource,
    /// By repeat.
    pub scores: Vec<RepeatScore>,
}

impl Scored {
    /// The ratios of its scores.
    pub fn ratios(&self) -> Vec<f64> {
        self.scores.iter().map(|score| score.ratio).collect()
    }

    /// The mean of its ratios; 0 where there is none.
    pub fn mean(&self) -> f64 {
        let count = self.scores.len();
        if count == 0 { 0.0 } else { self.scores.iter().map(|score| score.ratio).sum::<f64>() / count as f64 }
    }

    /// Repeats in which no sample of the target ended.
    pub fn unended(&self) -> u64 {
        self.scores.iter().filter(|score| !score.ended).count() as u64
    }
}

/// How much is tried.
#[derive(Debug, Clone, Copy)]
pub struct HuntExtent {
    /// At most so many candidates.
    pub candidates: usize,
    /// Fresh repeats of those that are shown.
    pub confirming: usize,
    /// When to stop looking for new ones.
    pub until: Instant,
    /// When no fresh repeat begins any more.
    pub end: Instant,
}

impl HuntExtent {
    /// Repeats of the target, alone and beside neighbours, that a hunt makes at least: a first round and two turns of fresh repeats.
    /// Of so many kinds the best are shown: one, or two where some access the target's buffer.
    pub fn least_repeats(&self, named: usize, programs: usize, kinds: usize) -> usize {
        let first = 1 + (named + FIRST).min(self.candidates.max(named)) + programs;
        let shown = 1 + named + kinds * SHOWN + programs.min(SHOWN);
        first + shown * self.confirming.min(LEAST_TURNS)
    }
}

/// The candidates of a hunt.
pub struct Pool<'a> {
    geometry: &'a Geometry,
    random: Rng,
    /// The patterns of named ones, from which others are changed.
    seeds: Vec<(String, NeighbourMixture)>,
    /// All that were tried, in the order in which they came.
    pub tried: Vec<Scored>,
    /// The last round was cut short.
    pub cut_short: bool,
}

/// Candidates of the first round beside the named ones.
const FIRST: usize = 24;

/// Candidates of a later round: changes of the best ones, mixtures of two of them, and new ones.
const CHANGED: usize = 9;
const CROSSED: usize = 3;
const DRAWN: usize = 4;

/// The best so many are changed.
const PARENTS: usize = 5;

/// Repeats that the best candidates get while others are looked for.
const SCREENING: usize = 3;

/// Turns of fresh repeats that a result needs at least: an interval needs two.
const LEAST_TURNS: usize = 2;

/// The best ones of a kind that are confirmed.
const SHOWN: usize = 3;

/// Two kinds of neighbours that are ranked apart. In one ranking those that access the target's buffer could take all places: each kind has its
/// own parents and its own places in the fresh repeats. Where the buffer is not shared, all are of the first kind.
const OWN: usize = 0;
const SHARING: usize = 1;

fn kind_of(source: &CandidateSource) -> usize {
    if source.shares_lines() { SHARING } else { OWN }
}

impl<'a> Pool<'a> {
    /// An empty one.
    pub fn new(geometry: &'a Geometry, seed: u64) -> Self {
        let random = Rng::with_seed(seed);
        Self { geometry, random, seeds: Vec::new(), tried: Vec::new(), cut_short: false }
    }

    /// The same with the patterns of named ones, so that bad ones among them are changed too.
    #[must_use]
    pub fn with_seeds(self, seeds: Vec<(String, NeighbourMixture)>) -> Self {
        Self { seeds, ..self }
    }

    /// Looks for bad neighbours, beginning with the named ones.
    ///
    /// # Errors
    /// A place that cannot measure the target.
    pub fn hunt(
        &mut self,
        place: &mut dyn MeasureNeighbours,
        named: &[String],
        extent: &HuntExtent,
        stop: &AtomicBool,
    ) -> Result<(), ExecutorError> {
        let mut next: Vec<CandidateSource> = named.iter().cloned().map(CandidateSource::Named).collect();
        next.extend(self.first());
        while !next.is_empty() {
            place.end_at(Some(if self.tried.is_empty() { extent.end } else { extent.until }));
            next.truncate(extent.candidates.max(named.len()) - self.tried.len());
            match self.round(place, next) {
                Ok(()) => {}
                Err(ExecutorError::Stopped) if !self.tried.is_empty() => {
                    // The time for this is over, or somebody stopped it.
                    self.cut_short = stop.load(Ordering::Relaxed);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
            let is_over = stop.load(Ordering::Relaxed) || Instant::now() >= extent.until;
            if is_over || self.tried.len() >= extent.candidates.max(named.len()) {
                return Ok(());
            }
            next = self.next();
        }
        Ok(())
    }

    /// Those of the first round that have no name: passes with each stride that reaches pages, then drawn ones.
    fn first(&mut self) -> Vec<CandidateSource> {
        let seeds = &self.seeds;
        let mut first: Vec<NeighbourMixture> =
            NeighbourPattern::in_pages(self.geometry).into_iter().map(NeighbourMixture::from).collect();
        first.retain(|pass| seeds.iter().all(|(_, seed)| seed != pass));
        let own = FIRST / self.kinds();
        first.truncate(own / 2);
        while first.len() < own {
            first.push(NeighbourMixture::draw(self.geometry, &mut self.random));
        }
        // By turns, so that few candidates are of both kinds.
        let mut sharing = self.first_sharing(FIRST - own).into_iter();
        let turns = first.into_iter().flat_map(|one| std::iter::once(one).chain(sharing.next()));
        turns.map(CandidateSource::Found).collect()
    }

    /// So many of the first round that access the target's buffer: passes through all of it, then drawn ones.
    fn first_sharing(&mut self, count: usize) -> Vec<NeighbourMixture> {
        let passes = NeighbourPattern::through_target(self.geometry).into_iter().map(NeighbourMixture::from);
        let mut first: Vec<NeighbourMixture> = passes.take(count).collect();
        while first.len() < count {
            first.push(NeighbourMixture::draw_sharing(self.geometry, &mut self.random));
        }
        first
    }

    /// The kinds that are hunted.
    fn kinds(&self) -> usize {
        if self.geometry.target_buffer_bytes().is_some() { 2 } else { 1 }
    }

    /// Measures programs of others once, and the best ones of them once more.
    ///
    /// # Errors
    /// A place that cannot measure the target; a stop.
    pub fn screen(&mut self, place: &mut dyn MeasureNeighbours, stressors: &[Stressor]) -> Result<(), ExecutorError> {
        place.end_at(None);
        let sources: Vec<CandidateSource> = stressors.iter().cloned().map(CandidateSource::Program).collect();
        let scores = place.measure(&sources, 0..1)?;
        let first = self.tried.len();
        self.tried.extend(sources.into_iter().zip(scores).map(|(source, scores)| Scored { source, scores }));
        let all = self.best(self.tried.len()).into_iter();
        let again: Vec<usize> = all.filter(|at| *at >= first).take(2 * SHOWN).collect();
        let sources: Vec<CandidateSource> = again.iter().map(|at| self.tried[*at].source.clone()).collect();
        if sources.is_empty() {
            return Ok(());
        }
        for (at, scores) in again.into_iter().zip(place.measure(&sources, 1..2)?) {
            self.tried[at].scores.extend(scores);
        }
        Ok(())
    }

    /// Measures new candidates once, and the best ones of all again.
    fn round(
        &mut self,
        place: &mut dyn MeasureNeighbours,
        candidates: Vec<CandidateSource>,
    ) -> Result<(), ExecutorError> {
        let scores = place.measure(&candidates, 0..1)?;
        self.tried.extend(candidates.into_iter().zip(scores).map(|(source, scores)| Scored { source, scores }));
        for repeats in 1..SCREENING {
            // Half as many each time.
            let best = (0..self.kinds()).flat_map(|kind| self.best_of(kind, (2 * PARENTS) >> (repeats - 1)));
            let again: Vec<usize> = best.filter(|at| self.tried[*at].scores.len() == repeats).collect();
            let sources: Vec<CandidateSource> = again.iter().map(|at| self.tried[*at].source.clone()).collect();
            if sources.is_empty() {
                continue;
            }
            let scores = place.measure(&sources, repeats..repeats + 1)?;
            for (at, scores) in again.into_iter().zip(scores) {
                self.tried[at].scores.extend(scores);
            }
        }
        if let Some(best) = self.best(1).first() {
            place.progress(self.tried.len(), &self.tried[*best]);
        }
        Ok(())
    }

    /// The best so many of all, the best first. Those that were measured more often come first among equals.
    fn best(&self, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.tried.len()).filter(|at| !self.tried[*at].scores.is_empty()).collect();
        all.sort_by(|a, b| self.tried[*b].mean().total_cmp(&self.tried[*a].mean()));
        all.truncate(count);
        all
    }

    /// The best so many of a kind, the best first.
    fn best_of(&self, kind: usize, count: usize) -> Vec<usize> {
        let own = self.best(self.tried.len()).into_iter().filter(|at| kind_of(&self.tried[*at].source) == kind);
        own.take(count).collect()
    }

    /// The best patterns of a kind, from which others are made.
    fn parents(&self, kind: usize) -> Vec<NeighbourMixture> {
        let patterns = self.best_of(kind, 4 * PARENTS).into_iter().filter_map(|at| match &self.tried[at].source {
            CandidateSource::Found(mixture) => Some(mixture.clone()),
            CandidateSource::Named(name) => Some(self.seeds.iter().find(|(seed, _)| seed == name)?.1.clone()),
            CandidateSource::Program(_) => None,
        });
        patterns.take(PARENTS).collect()
    }

    /// One candidate of a later round: a change of a parent, a mixture of two, or a new one.
    fn child(&mut self, number: usize, kind: usize, parents: &[NeighbourMixture]) -> NeighbourMixture {
        let (geometry, random) = (self.geometry, &mut self.random);
        // The better half more often.
        let one = |random: &mut Rng| random.usize(..parents.len()).min(random.usize(..parents.len()));
        match number {
            _ if parents.is_empty() || number >= CHANGED + CROSSED => match kind {
                SHARING => NeighbourMixture::draw_sharing(geometry, random),
                _ => NeighbourMixture::draw(geometry, random),
            },
            0..CHANGED => parents[one(random)].changed(geometry, random),
            _ => {
                let other = &parents[random.usize(..parents.len())];
                parents[one(random)].crossed(other, geometry, random)
            }
        }
    }

    fn next(&mut self) -> Vec<CandidateSource> {
        let parents: Vec<Vec<NeighbourMixture>> = (0..self.kinds()).map(|kind| self.parents(kind)).collect();
        let mut next: Vec<CandidateSource> = Vec::new();
        for number in 0..CHANGED + CROSSED + DRAWN {
            // The kinds take turns.
            let kind = number % parents.len();
            let source = CandidateSource::Found(self.child(number, kind, &parents[kind]));
            let is_named = |(_, seed): &(String, NeighbourMixture)| CandidateSource::Found(seed.clone()) == source;
            let is_known = self.tried.iter().any(|tried| tried.source == source) || self.seeds.iter().any(is_named);
            if !is_known && !next.contains(&source) {
                next.push(source);
            }
        }
        next
    }

    /// The best ones found of each kind, all named ones and the best programs, the best first, with the scores that chose them.
    pub fn unconfirmed(&self) -> Vec<Scored> {
        let (mut found, mut programs) = ([0; 2], 0);
        let is_shown = |at: &usize| {
            let count = match self.tried[*at].source {
                CandidateSource::Named(_) => return true,
                CandidateSource::Found(_) => &mut found[kind_of(&self.tried[*at].source)],
                CandidateSource::Program(_) => &mut programs,
            };
            *count += 1;
            *count <= SHOWN
        };
        self.best(self.tried.len()).into_iter().filter(is_shown).map(|at| self.tried[at].clone()).collect()
    }

    /// Measures the best ones found and all named ones in fresh repeats, the best first: turn by turn, as many as the time suffices
    /// for.
    ///
    /// # Errors
    /// A place that cannot measure the target; a stop.
    pub fn confirm(
        &self,
        place: &mut dyn MeasureNeighbours,
        extent: &HuntExtent,
        stop: &AtomicBool,
    ) -> Result<Vec<Scored>, ExecutorError> {
        place.end_at(Some(extent.end));
        let shown: Vec<CandidateSource> = self.unconfirmed().into_iter().map(|scored| scored.source).collect();
        let empty = |source: CandidateSource| Scored { source, scores: Vec::new() };
        let mut scored: Vec<Scored> = shown.iter().cloned().map(empty).collect();
        for turn in 0..extent.confirming {
            match place.measure(&shown, FRESH + turn..FRESH + turn + 1) {
                Ok(scores) => {
                    scored.iter_mut().zip(scores).for_each(|(scored, scores)| scored.scores.extend(scores));
                }
                // The time is over: what is complete counts.
                Err(ExecutorError::Stopped) if turn >= LEAST_TURNS && !stop.load(Ordering::Relaxed) => break,
                Err(error) => return Err(error),
            }
        }
        scored.retain(|candidate| !candidate.scores.is_empty());
        scored.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
        Ok(scored)
    }
}
