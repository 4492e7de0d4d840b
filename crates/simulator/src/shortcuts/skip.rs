//! The fast path: neighbours skip what cannot affect the target.
//!
//! A way hammer spends nearly all its time in sets in which the target has no line. What happens there changes no state
//! that the target could notice: no set of a cache or filter that holds its lines, and, once things have settled again,
//! not how the neighbours stand to each other. So while the target is quiet and every neighbour is far from the sets of
//! the lines that the target holds, all of them skip ahead together, each as far as its own pace takes it in the same
//! time; the passes that the target makes meanwhile are counted. Around the target's sets everything is simulated.
//! What a neighbour has in caches of its own goes outward when the lines that it skips would evict it.
//! Around sets of lines that it touches seldom (the counts of long passes) it is not: who skips one evicts the line,
//! as so many lines in a set nearly always do. And what the neighbours leave in sets of shared caches without a line
//! of the target goes when they leave, because they may not come by each time: in full nothing of it is there when they
//! come again.
//!
//! Only walks are skipped whose outer loop moves through the sets while the inner loop stays in one, in memory whose sets
//! follow each other; sets are distinguished by as many of the lowest bits as the smallest shared cache or filter has, so that
//! a line meets the target's nowhere where they could meet. What is assumed: the
//! pace of the last windows holds through the skip, and neighbours of the same kind with the same walk keep step with each
//! other, as they do in full where they are served in turns. `docs/simulator.md` compares it with the full path.

use std::collections::BTreeMap;

use waykeeper_workload::Xorshift;

use crate::line::Line;
use crate::shortcuts::back_invalidations::BackInvalidations;
use crate::shortcuts::course::Course;
use crate::time::Ps;

/// The pace is a mean over about so many surveys: windows in which nobody comes near the target's sets, at places that are
/// spread evenly over what is skipped. Where walkers meet in a bank of the memory decides on their pace, and so the
/// places where they do.
const SURVEYS: f64 = 64.0;

/// Steps that are skipped between two surveys, in the mean: at first, while few were made, and later. Their number is
/// drawn, because any that is always the same can keep step with the rounds of a walk.
const TO_SURVEY: [u64; 2] = [32, 256];

/// The same once the pace rests on [`SURVEYS`], where colours keep everybody apart from the target: nobody passes its sets, so
/// that nothing but surveys is simulated.
const TO_SURVEY_APART: u64 = 16_384;

/// Steps of a skip there: what ends it is the next survey, or the time asked for.
const MOST_STEPS_APART: u64 = 1 << 20;

/// The surveys that are few.
const FEW: f64 = 16.0;

/// Steps of a survey.
const SURVEY: f64 = 3.0;

/// A window is at least so long: what a skip changed has settled, and the pace can be measured.
const LEAST_WINDOW: Ps = Ps::new(5_000_000);

/// The time between two looks at whether all may skip.
const LOOK_EVERY: Ps = Ps::new(500_000);

/// A skip is worth its bookkeeping from this length on.
const LEAST_SKIP: Ps = Ps::new(2_000_000);

/// A neighbour that can skip.
#[derive(Debug, Clone)]
pub struct Walker {
    /// Index of its program.
    pub program: usize,
    course: Course,
    /// Number of its pace: the same for those that keep step.
    pace: usize,
    /// Lines of a step are multiples of this power of two apart, in lines: among more sets they are in several.
    apart: u64,
    /// Where this window began.
    landed: u64,
    /// Steps at the beginning of this window.
    began: f64,
    /// The first line of each step that was simulated and whose lines may still be in the walker's own caches, by their
    /// set there: a step leaves nothing of one before in its set.
    kept: BTreeMap<u64, Line>,
}

/// How fast walkers are.
#[derive(Debug, Clone, Default)]
struct Pace {
    /// Steps in the surveys, and the fraction of a step that the last skip left over.
    steps: f64,
    left_over: f64,
}

impl Walker {
    /// A neighbour, its course, the number of its pace, from 0 on, and the distance of the lines of a step.
    pub fn new(program: usize, course: Course, pace: usize, within: u64) -> Self {
        let apart = 1 << within.trailing_zeros().min(63);
        Self { program, course, pace, apart, landed: 0, began: 0.0, kept: BTreeMap::new() }
    }

    fn free(&self, iteration: u64, lines: &[Line]) -> u64 {
        match self.course {
            Course::Apart => MOST_STEPS_APART,
            Course::Regular(regular) => regular.free(iteration, lines),
        }
    }
}

/// Where a neighbour is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct At {
    /// Its iteration of the outer loop.
    pub iteration: u64,
    /// Steps of the outer loop that were simulated so far.
    pub steps: f64,
}

/// A skip that all can make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jump {
    /// How far it leads.
    pub length: Ps,
    /// Steps of each walker.
    pub steps: Vec<u64>,
    /// The iterations that each has walked since the skip before, first and last.
    pub walked: Vec<(u64, u64)>,
    /// Whether that was a survey.
    pub surveyed: bool,
}

/// When neighbours skip.
#[derive(Debug, Clone)]
pub struct Skip {
    walkers: Vec<Walker>,
    paces: Vec<Pace>,
    /// Time in the surveys, and how many were made.
    time: f64,
    surveys: f64,
    /// Whether this window is one, and steps that may be skipped until the next.
    is_survey: bool,
    to_survey: u64,
    random: Xorshift,
    /// The beginning of this window.
    window: Ps,
    /// When it is worth a look again.
    pub look_at: Ps,
    /// Accesses that were skipped, by program.
    pub accesses: Vec<u64>,
    /// How often filters have taken lines of the target when they were passed in time.
    pub back_invalidations: BackInvalidations,
}

impl Skip {
    /// Nothing has been skipped by `now`, where each walker has taken so many steps.
    pub fn new(mut walkers: Vec<Walker>, programs: usize, now: Ps, steps: impl Fn(usize) -> f64) -> Self {
        walkers.iter_mut().for_each(|walker| walker.began = steps(walker.program));
        let look_at = now + LEAST_WINDOW;
        let paces = walkers.iter().map(|walker| walker.pace + 1).max().unwrap_or(0);
        let paces = vec![Pace::default(); paces];
        Self {
            walkers,
            paces,
            time: 0.0,
            surveys: 0.0,
            is_survey: true,
            to_survey: TO_SURVEY[0],
            random: Xorshift::new(1),
            window: now,
            look_at,
            accesses: vec![0; programs],
            back_invalidations: BackInvalidations::default(),
        }
    }

    /// How far everybody can skip from `now`, up to `most`, given where each program is and the
    /// target's lines; none if somebody is near their sets.
    pub fn plan(&mut self, now: Ps, most: Ps, at: impl Fn(usize) -> At, lines: &[Line]) -> Option<Jump> {
        self.look_at = now + LOOK_EVERY;
        let at: Vec<At> = self.walkers.iter().map(|walker| at(walker.program)).collect();
        let free: Vec<u64> =
            self.walkers.iter().zip(&at).map(|(walker, at)| walker.free(at.iteration, lines)).collect();
        if free.contains(&0) {
            // The first one shows the pace until there is another.
            self.is_survey &= self.surveys == 0.0;
            return None;
        }
        let walked: Vec<f64> = self.steps_of_paces(&at).collect();
        if self.is_survey && walked.iter().all(|steps| *steps < SURVEY) {
            return None;
        }
        let (mut time, mut steps): (f64, Vec<f64>) = (self.time, self.paces.iter().map(|pace| pace.steps).collect());
        if self.is_survey {
            let fade = 1.0 - 1.0 / SURVEYS;
            time = time * fade + (now - self.window).get() as f64;
            steps.iter_mut().zip(walked).for_each(|(steps, new)| *steps = *steps * fade + new);
        }
        let mut length = most.get() as f64;
        for (walker, free) in self.walkers.iter().zip(&free) {
            // One step less: the walker may be anywhere within the present one.
            length = length.min((free - 1) as f64 * time / steps[walker.pace].max(1e-9));
        }
        if length < LEAST_SKIP.get() as f64 {
            return None;
        }
        if self.is_survey {
            self.surveys += 1.0;
        }
        let step = time / steps.iter().fold(1e-9, |most: f64, steps| most.max(*steps));
        let until_survey = self.to_survey as f64 * step;
        let surveyed = self.is_survey;
        self.is_survey = (LEAST_SKIP.get() as f64..length - SURVEY * step).contains(&until_survey);
        if self.is_survey {
            length = until_survey;
        }
        let mut whole = Vec::with_capacity(self.paces.len());
        for (pace, steps) in self.paces.iter_mut().zip(steps) {
            let skipped = steps / time * length + pace.left_over;
            *pace = Pace { steps, left_over: skipped.fract() };
            whole.push(skipped as u64);
        }
        for (walker, at) in self.walkers.iter_mut().zip(&at) {
            walker.began = at.steps;
        }
        let walked = self.walkers.iter().zip(&at).map(|(walker, at)| (walker.landed, at.iteration)).collect();
        for (walker, at) in self.walkers.iter_mut().zip(&at) {
            walker.landed = at.iteration + whole[walker.pace];
        }
        let most_steps = whole.iter().max().copied().unwrap_or(0);
        self.to_survey = self.to_survey.saturating_sub(most_steps);
        if self.is_survey || self.to_survey == 0 {
            self.to_survey = 1 + self.random.below(2 * self.between_surveys());
        }
        self.time = time;
        self.window = now;
        self.look_at = now + LEAST_WINDOW;
        let steps = self.walkers.iter().map(|walker| whole[walker.pace]).collect();
        Some(Jump { length: Ps::new(length as u64), steps, walked, surveyed })
    }

    /// Steps between two surveys, in the mean.
    fn between_surveys(&self) -> u64 {
        let apart = self.surveys >= SURVEYS && self.walkers.iter().all(|walker| walker.course == Course::Apart);
        if apart { TO_SURVEY_APART } else { TO_SURVEY[usize::from(self.surveys >= FEW)] }
    }

    /// Steps of this window by pace, in the mean over those that keep it.
    fn steps_of_paces<'s>(&'s self, at: &'s [At]) -> impl Iterator<Item = f64> + 's {
        (0..self.paces.len()).map(move |pace| {
            let with = || self.walkers.iter().zip(at).filter(move |(walker, _)| walker.pace == pace);
            with().map(|(walker, at)| at.steps - walker.began).sum::<f64>() / with().count().max(1) as f64
        })
    }

    /// Whether a walker comes to a line's set, of so many sets, within some steps from an iteration on.
    pub fn passes(&self, walker: usize, (iteration, steps): (u64, u64), line: Line, sets: u64) -> bool {
        let Walker { course, apart, .. } = &self.walkers[walker];
        match course {
            Course::Apart => false,
            Course::Regular(regular) => {
                let walk = regular.among(sets.min(*apart));
                walk.is_some_and(|walk| walk.ahead(iteration, line).is_some_and(|ahead| ahead < steps))
            }
        }
    }

    /// A walker has walked steps that began at these lines, and skips more: those after an iteration, until so many on.
    /// Returns the lines of the simulated steps, of now and before, that its own caches lose to those that it skips; the
    /// last of these caches has so many sets.
    pub fn lost(
        &mut self,
        walker: usize,
        walked: impl Iterator<Item = Line>,
        (iteration, steps): (u64, u64),
        own_sets: u64,
    ) -> Vec<Line> {
        let Walker { course: Course::Regular(regular), kept, .. } = &mut self.walkers[walker] else {
            return Vec::new();
        };
        let Some(own) = regular.among(own_sets) else { return Vec::new() };
        kept.extend(walked.map(|line| (u64::from(line.number()) % own_sets, line)));
        let mut lost = Vec::new();
        kept.retain(|_, line| {
            let stays = own.ahead(iteration + 1, *line).is_none_or(|ahead| ahead + 1 >= steps);
            if !stays {
                lost.push(*line);
            }
            stays
        });
        lost
    }

    /// The program of each walker.
    pub fn programs(&self) -> impl Iterator<Item = usize> + '_ {
        self.walkers.iter().map(|walker| walker.program)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::shortcuts::course::Regular;

    fn regular(base: u32, step: u64, sets: u64) -> Regular {
        Regular::new(Line::new(base), step, sets).unwrap()
    }

    #[test]
    fn a_pace_that_differs_by_place_is_told_in_the_mean_over_what_is_jumped_over() {
        // A step takes 20 us in the quarter of the sets around the target's line, and 5 us elsewhere: 8.75 in the mean.
        let length = |iteration: u64| if (64..192).contains(&(iteration % 512)) { 20 } else { 5 };
        let steps = std::cell::Cell::new(0);
        let walker = Walker::new(0, Course::Regular(regular(0, 1, 512)), 0, 512);
        let mut skip = Skip::new(vec![walker], 1, Ps::ZERO, |_| 0.0);
        let (mut iteration, mut now, mut jumped, mut jumps) = (0, Ps::ZERO, Ps::ZERO, 0);
        while iteration < 512 * 4000 {
            if now >= skip.look_at {
                let at = |_| At { iteration, steps: f64::from(steps.get()) };
                if let Some(jump) = skip.plan(now, Ps::NEVER, at, &[Line::new(128)]) {
                    jumped += jump.length;
                    iteration += jump.steps[0];
                    jumps += jump.steps[0];
                }
            }
            now += Ps::new(length(iteration) * 1_000_000);
            iteration += 1;
            steps.set(steps.get() + 1);
        }
        let mean = (now + jumped).get() as f64 / 1e6 / iteration as f64;
        assert!(jumps as f64 > 0.95 * iteration as f64, "{jumps} of {iteration}");
        assert!((mean - 8.75).abs() < 0.03 * 8.75, "{mean} us a step");
    }

    #[test]
    fn a_step_comes_to_several_sets_where_its_lines_are_nearer_to_each_other_than_the_sets_repeat() {
        // Lines 100, 100 + 1024, ... a step: among 2048 sets they are in those of 100 and of 1124.
        let skip =
            Skip::new(vec![Walker::new(0, Course::Regular(regular(100, 1, 512)), 0, 1024)], 1, Ps::ZERO, |_| 0.0);
        let passes = |line, sets| skip.passes(0, (0, 1), Line::new(line), sets);
        assert_eq!([100, 612, 1124, 2148].map(|line| passes(line, 2048)), [true, false, true, true]);
        assert_eq!([100, 612, 1124, 101].map(|line| passes(line, 512)), [true, true, true, false]);
    }

    #[test]
    fn own_caches_lose_the_lines_whose_sets_are_jumped_over() {
        let walkers = vec![
            Walker::new(0, Course::Regular(regular(100, 1, 1024)), 0, 1024),
            Walker::new(1, Course::Apart, 0, 1024),
        ];
        let mut skip = Skip::new(walkers, 2, Ps::ZERO, |_| 0.0);
        // Steps 10 to 12 began at lines 110 to 112; of 64 sets of its own, step 74 is the first to come to that of 110. The
        // step at which a skip ends is simulated.
        let mut lost = |walker, walked: &[u32], to| -> Vec<u32> {
            let walked = walked.iter().copied().map(Line::new);
            skip.lost(walker, walked, to, 64).into_iter().map(Line::number).collect()
        };
        assert_eq!(lost(0, &[110, 111, 112], (12, 62)), [0; 0]);
        assert_eq!(lost(0, &[], (12, 63)), [110]);
        assert_eq!(lost(0, &[], (12, 500)), [111, 112]);
        // A step in the same set of its own has evicted what an earlier one left there: 174 is 64 behind 110.
        assert_eq!(lost(0, &[110, 174], (12, 62)), [0; 0]);
        assert_eq!(lost(0, &[], (12, 500)), [174]);
        // Where colours keep it apart, nobody meets what leaves.
        assert_eq!(lost(1, &[110, 111, 112], (12, 500)), [0; 0]);
    }

    proptest! {
        #[test]
        fn the_set_is_met_then_and_not_before(
            base in any::<u32>(), step in 1..100u64, log2 in 1..10u32, iteration in 0..1_000u64, line in any::<u32>(),
        ) {
            let sets = 1 << log2;
            let Some(walk) = Regular::new(Line::new(base), step, sets) else {
                prop_assert_eq!(step % sets, 0);
                return Ok(());
            };
            let meets = |ahead: u64| (u64::from(base) + (iteration + ahead) * step) % sets == u64::from(line) % sets;
            prop_assert_eq!(walk.ahead(iteration, Line::new(line)), (0..sets).find(|ahead| meets(*ahead)));
        }
    }
}
