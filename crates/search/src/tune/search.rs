//! The search itself: all ladders side by side, round by round, on anything that measures repeats.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use waykeeper_executor::ExecutorError;
use waykeeper_statistics::{Budget, Judgement, JudgementKind, Metric, samples_to_exclude};

use super::evidence::{CandidateEvidence, RepeatSeen, worst};
use super::ladder::{LadderEnd, Next, RungLadder, RungOutcome};
use super::spending;
use crate::together;

/// Confirmations use repeats from this number on, so that none of them was used to choose the candidate.
pub const FRESH: usize = 100_000;

/// One repeat of one candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CandidateRepeat {
    /// The candidate; 0 is none at all.
    pub candidate: usize,
    /// The setting: the target, its neighbours and the point of the sweeps.
    pub setting: usize,
    /// Alone, without the neighbours of the setting.
    pub alone: bool,
    /// Its number, which decides the placement.
    pub number: usize,
}

/// Anything that measures repeats of candidates.
pub trait Place: Sync {
    /// How many settings a candidate has to hold in.
    fn settings(&self) -> usize;
    /// How many repeats may be measured at the same time.
    fn at_once(&self) -> usize;
    /// Measures one.
    ///
    /// # Errors
    /// What the place cannot do; a stop.
    fn measure(&self, repeat: CandidateRepeat) -> Result<RepeatSeen, ExecutorError>;
    /// A ladder has got somewhere.
    fn progress(&self, progress: TuneProgress<'_>);
}

/// How far a search is.
#[derive(Debug, Clone, Copy)]
pub struct TuneProgress<'a> {
    /// The candidate that was judged last.
    pub candidate: usize,
    /// Whether it was its confirmation.
    pub confirmation: bool,
    /// What was found.
    pub judgement: &'a Judgement,
    /// Ladders that have ended.
    pub ended: usize,
    /// Ladders in all.
    pub ladders: usize,
}

/// How much is measured.
#[derive(Debug, Clone)]
pub struct Effort {
    /// The budgets; all are to hold.
    pub budgets: Vec<Budget>,
    /// Repeats of a candidate while a ladder is halved.
    pub screening: usize,
    /// Fresh repeats of a confirmation, where its budgets do not need more.
    pub confirming: usize,
    /// Length of a repeat, seconds.
    pub repeat_s: f64,
    /// The share of its median that a neighbour has to do in a repeat; 0 where only one that does nothing is none.
    pub least_work: f64,
    /// When to stop.
    pub deadline: Instant,
}

/// The candidates of one kind.
#[derive(Debug, Clone)]
pub struct Rungs {
    /// From the smallest share to the largest, by the candidate's number.
    pub candidates: Vec<usize>,
    /// The rung that computation takes for the smallest that can hold.
    pub hint: Option<usize>,
}

/// A candidate that was judged.
#[derive(Debug, Clone)]
pub struct Judged {
    /// Repeats while its ladder was halved, by setting.
    pub screened: Vec<CandidateEvidence>,
    /// Fresh repeats, by setting.
    pub confirmed: Vec<CandidateEvidence>,
    /// The last judgement.
    pub judgement: Judgement,
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct SearchFound {
    /// How each ladder ended; none for one that the time did not suffice for.
    pub ends: Vec<Option<LadderEnd>>,
    /// Why a ladder was given up, where the place refused one of its candidates.
    pub refused: Vec<Option<String>>,
    /// What is known of each candidate that was tried, by its number.
    pub judged: BTreeMap<usize, Judged>,
    /// The time ran out, or somebody stopped it.
    pub cut_short: bool,
}

/// Why no search can be made.
#[derive(Debug, Clone, PartialEq)]
pub enum Impossible {
    /// The place cannot measure the target at all, or what was asked for does not exist there.
    Refused(ExecutorError),
    /// The place does not count what the budget at this index is about.
    NotCounted(usize),
    /// The time limit is too short for one confirmation: what it would take.
    TooShort(Duration),
    /// It was stopped before anything was known.
    Stopped,
}

/// Searches all ladders. The first one is that of no measure at all; where it holds, the others are not tried.
///
/// # Errors
/// A place that cannot measure the target; a time limit that no confirmation fits into.
pub fn search(
    place: &dyn Place,
    ladders: &[Rungs],
    effort: &Effort,
    stop: &AtomicBool,
) -> Result<SearchFound, Impossible> {
    let mut search = Search::new(place, ladders, effort, stop);
    let begun = Instant::now();
    // No measure at all is screened first: how long its repeats take says how long a confirmation would.
    search.run(0..1, |next| matches!(next, Next::Screen(_)));
    if let Some(why) = search.refused[0].take() {
        return Err(Impossible::Refused(why));
    }
    let baseline = search.judged.get(&0).filter(|judged| judged.screened.iter().all(|it| it.placements() > 0));
    let Some(baseline) = baseline else { return Err(Impossible::Stopped) };
    let counts_misses = baseline.screened.iter().flat_map(|it| &it.beside).all(|seen| seen.misses.is_some());
    let on_misses = effort.budgets.iter().position(|budget| budget.metric == Metric::Misses);
    if let Some(index) = on_misses.filter(|_| !counts_misses) {
        return Err(Impossible::NotCounted(index));
    }
    let repeats: u64 = baseline.screened.iter().chain(&baseline.confirmed).map(CandidateEvidence::placements).sum();
    let of_one = begun.elapsed() / (repeats.max(1) as u32);
    let needed = search.confirming().saturating_mul(place.settings()) / place.at_once().max(1);
    let takes = of_one.saturating_mul(u32::try_from(needed.max(1)).unwrap_or(u32::MAX));
    if !search.cut_short && takes > effort.deadline.saturating_duration_since(begun) {
        return Err(Impossible::TooShort(takes));
    }
    search.run(0..1, |_| true);
    if !matches!(search.ladders[0].0.end(), Some(LadderEnd::Holds { .. })) {
        search.run(1..ladders.len(), |_| true);
        search.costs();
    }
    Ok(SearchFound {
        ends: search.ladders.iter().map(|(ladder, _)| ladder.end()).collect(),
        refused: search.refused.into_iter().map(|why| why.map(|why| why.to_string())).collect(),
        judged: search.judged,
        cut_short: search.cut_short,
    })
}

struct Search<'a> {
    place: &'a dyn Place,
    effort: &'a Effort,
    stop: &'a AtomicBool,
    ladders: Vec<(RungLadder, &'a Rungs)>,
    refused: Vec<Option<ExecutorError>>,
    /// The confirmation that each ladder is in: its number in the search, and the looks so far.
    confirming: Vec<Option<(u32, u32)>>,
    confirmations: u32,
    judged: BTreeMap<usize, Judged>,
    /// Repeats of the target alone without any measure, by setting and number.
    bare: BTreeMap<(usize, usize), RepeatSeen>,
    cut_short: bool,
}

impl<'a> Search<'a> {
    fn new(place: &'a dyn Place, ladders: &'a [Rungs], effort: &'a Effort, stop: &'a AtomicBool) -> Self {
        let ladder = |rungs: &'a Rungs| (RungLadder::new(rungs.candidates.len(), rungs.hint), rungs);
        Self {
            place,
            effort,
            stop,
            ladders: ladders.iter().map(ladder).collect(),
            refused: vec![None; ladders.len()],
            confirming: vec![None; ladders.len()],
            confirmations: 0,
            judged: BTreeMap::new(),
            bare: BTreeMap::new(),
            cut_short: false,
        }
    }

    fn is_over(&mut self) -> bool {
        self.cut_short |= self.stop.load(Ordering::Relaxed) || Instant::now() >= self.effort.deadline;
        self.cut_short
    }

    /// Runs some of the ladders to their ends, or to where the next step is another one.
    fn run(&mut self, range: std::ops::Range<usize>, steps: impl Fn(Next) -> bool) {
        loop {
            let goes_on = |at: &usize| {
                let next = self.ladders[*at].0.next();
                !matches!(next, Next::Ended(_)) && steps(next)
            };
            let active: Vec<usize> = range.clone().filter(goes_on).collect();
            if active.is_empty() {
                return;
            }
            if self.is_over() {
                active.iter().for_each(|at| self.ladders[*at].0.give_up());
                return;
            }
            let at_once = self.place.at_once().div_ceil(active.len() * self.place.settings());
            let wanted: Vec<(usize, Vec<CandidateRepeat>)> =
                active.into_iter().map(|at| (at, self.wanted(at, at_once.max(1)))).collect();
            let repeats: Vec<CandidateRepeat> = wanted.iter().flat_map(|(_, repeats)| repeats.clone()).collect();
            let seen = measure_all(self.place, &repeats, self.stop);
            let mut seen = repeats.into_iter().zip(seen);
            for (at, repeats) in wanted {
                let of_ladder: Vec<_> = seen.by_ref().take(repeats.len()).collect();
                self.take_in(at, of_ladder);
            }
        }
    }

    /// The next few repeats of a ladder.
    fn wanted(&mut self, at: usize, at_once: usize) -> Vec<CandidateRepeat> {
        let (ladder, rungs) = &self.ladders[at];
        let (rung, most, from) = match ladder.next() {
            Next::Screen(rung) => (rung, self.effort.screening, 0),
            Next::Confirm(rung) => {
                if self.confirming[at].is_none() {
                    self.confirmations += 1;
                    self.confirming[at] = Some((self.confirmations, 1));
                }
                let look = self.confirming[at].map_or(1, |(_, look)| look);
                (rung, self.confirming() << (look - 1), FRESH)
            }
            Next::Ended(_) => return Vec::new(),
        };
        let candidate = rungs.candidates[rung];
        let settings = self.place.settings();
        let judged = self.judged.entry(candidate).or_insert_with(|| Judged::nothing(settings));
        let evidence = if from == 0 { &judged.screened } else { &judged.confirmed };
        let done = evidence.first().map_or(0, |evidence| evidence.beside.len());
        let numbers = done..most.min(done + at_once);
        let needs_bare = self.needs_bare();
        let repeats = numbers.flat_map(|number| (0..settings).map(move |setting| (setting, from + number)));
        let with_bare = repeats.flat_map(|(setting, number)| {
            let beside = CandidateRepeat { candidate, setting, alone: false, number };
            let is_missing = needs_bare && !self.bare.contains_key(&(setting, number));
            [Some(beside), is_missing.then_some(CandidateRepeat { candidate: 0, alone: true, ..beside })]
        });
        with_bare.flatten().collect()
    }

    fn needs_bare(&self) -> bool {
        self.effort.budgets.iter().any(|budget| budget.metric == Metric::Slowdown)
    }

    /// Fresh repeats that a first look of a confirmation needs: by the time and the rate of the budgets.
    fn confirming(&self) -> usize {
        let over_s = self.effort.budgets.iter().filter_map(|budget| budget.over_s).fold(0.0, f64::max);
        let by_time = (over_s / self.effort.repeat_s * (1.0 - 1e-9)).ceil() as usize;
        let samples = self.judged.get(&0).map_or(0, |none| {
            let of = |evidence: &CandidateEvidence| evidence.samples() / evidence.placements().max(1);
            none.screened.iter().map(of).min().unwrap_or(0)
        });
        let by_rate = |budget: &Budget| {
            let rate = budget.rate.or((budget.is_on_largest() && budget.over_s.is_none()).then_some(1e-3))?;
            (samples > 0).then(|| samples_to_exclude(rate, spending::confidence(4, 1)).div_ceil(samples) as usize)
        };
        let by_rate = self.effort.budgets.iter().filter_map(by_rate).max().unwrap_or(0);
        self.effort.confirming.max(by_time).max(by_rate)
    }

    fn take_in(&mut self, at: usize, seen: Vec<(CandidateRepeat, Result<RepeatSeen, ExecutorError>)>) {
        // The first one is not one of the target alone without any measure.
        let Some(candidate) = seen.first().map(|(repeat, _)| repeat.candidate) else { return };
        let settings = self.place.settings();
        let judged = self.judged.entry(candidate).or_insert_with(|| Judged::nothing(settings));
        for (repeat, seen) in seen {
            let evidence = if repeat.number < FRESH { &mut judged.screened } else { &mut judged.confirmed };
            match seen {
                Ok(seen) if repeat.alone => drop(self.bare.insert((repeat.setting, repeat.number), seen)),
                Ok(seen) => evidence[repeat.setting].beside.push(seen),
                Err(ExecutorError::Stopped) => return,
                Err(why @ (ExecutorError::Input(_) | ExecutorError::Refused(_))) => {
                    self.refused[at] = Some(why);
                    self.ladders[at].0.refuse();
                    return;
                }
            }
        }
        self.judge(at, candidate);
    }

    /// Judges what is known now, and moves the ladder where that decides it.
    fn judge(&mut self, at: usize, candidate: usize) {
        let (budgets, least_work) = (&self.effort.budgets, self.effort.least_work);
        let confirming = self.confirming[at];
        let first_look = self.confirming();
        let Some(judged) = self.judged.get_mut(&candidate) else { return };
        let (evidence, confidence, enough) = match confirming {
            None => (&judged.screened, spending::confidence(1, 1), self.effort.screening),
            Some((number, look)) => (&judged.confirmed, spending::confidence(number, look), first_look << (look - 1)),
        };
        let done = evidence.first().map_or(0, |evidence| evidence.beside.len());
        // One sample breaks a limit on the largest whenever it is seen; a mean is looked at when its repeats are complete.
        let by_one = |index: usize| budgets[index].is_on_largest() || budgets[index].allows_none();
        let looked_at: Vec<usize> = (0..budgets.len()).filter(|index| done >= enough || by_one(*index)).collect();
        let from = if confirming.is_some() { FRESH } else { 0 };
        let bare_of = |setting: usize| -> Vec<RepeatSeen> {
            (0..done).map_while(|number| self.bare.get(&(setting, from + number)).cloned()).collect()
        };
        let judgements = evidence.iter().enumerate().flat_map(|(setting, evidence)| {
            let bare = bare_of(setting);
            let judge = move |index: &usize| (*index, evidence.judge(budgets, *index, confidence, &bare, least_work));
            looked_at.iter().map(judge)
        });
        let judgements: Vec<(usize, Judgement)> = judgements.collect();
        let thin_mean = judgements.iter().any(|(index, it)| it.kind == JudgementKind::TooThin && !by_one(*index));
        let Some(judgement) = worst(judgements.into_iter().map(|(_, judgement)| judgement)) else { return };
        let kind = judgement.kind;
        if kind != JudgementKind::Broken && done < enough {
            return;
        }
        judged.judgement = judgement;
        let outcome = match (kind, confirming) {
            (JudgementKind::Broken, _) => RungOutcome::Broken,
            (JudgementKind::NotSeenBroken, _) | (JudgementKind::TooThin, None) => RungOutcome::NotSeenBroken,
            (JudgementKind::TooThin, Some((number, look))) if look < MOST_LOOKS => {
                self.confirming[at] = Some((number, look + 1));
                return;
            }
            (JudgementKind::TooThin, Some(_)) => RungOutcome::TooThin { higher: thin_mean },
        };
        self.move_ladder(at, candidate, outcome);
    }

    fn move_ladder(&mut self, at: usize, candidate: usize, outcome: RungOutcome) {
        let is_confirmation = self.confirming[at].take().is_some();
        let (ladder, rungs) = &mut self.ladders[at];
        let rung = rungs.candidates.iter().position(|it| *it == candidate).unwrap_or(0);
        if is_confirmation {
            ladder.confirmed(rung, outcome);
        } else {
            ladder.screened(rung, outcome);
        }
        let ended = self.ladders.iter().filter(|(ladder, _)| ladder.end().is_some()).count();
        self.place.progress(TuneProgress {
            candidate,
            confirmation: is_confirmation,
            judgement: &self.judged[&candidate].judgement,
            ended,
            ladders: self.ladders.len(),
        });
    }

    /// Measures what the answers cost: they, and none at all, alone and beside the neighbours, at the same placements.
    fn costs(&mut self) {
        let rung = |end| match end {
            Some(LadderEnd::Holds { rung } | LadderEnd::TooThin { rung }) => Some(rung),
            _ => None,
        };
        let answers = self.ladders.iter().filter_map(|(ladder, rungs)| Some(rungs.candidates[rung(ladder.end())?]));
        let mut candidates: Vec<usize> = std::iter::once(0).chain(answers).collect();
        candidates.dedup();
        let mut wanted = Vec::new();
        for setting in 0..self.place.settings() {
            let known = (FRESH..).map_while(|number| self.bare.get(&(setting, number)).cloned());
            let none = self.judged.get_mut(&0).expect("no measure was judged first");
            none.confirmed[setting].alone = known.collect();
        }
        for candidate in candidates {
            for setting in 0..self.place.settings() {
                let evidence = &self.judged[&candidate].confirmed[setting];
                let missing = |done: usize, alone| {
                    (done..self.effort.confirming.min(COST_REPEATS)).map(move |number| CandidateRepeat {
                        candidate,
                        setting,
                        alone,
                        number: FRESH + number,
                    })
                };
                wanted.extend(missing(evidence.beside.len(), false).chain(missing(evidence.alone.len(), true)));
            }
        }
        if self.is_over() {
            return;
        }
        let seen = measure_all(self.place, &wanted, self.stop);
        for (repeat, seen) in wanted.into_iter().zip(seen) {
            let judged = self.judged.get_mut(&repeat.candidate).expect("answers were judged");
            let evidence = &mut judged.confirmed[repeat.setting];
            match seen {
                Ok(seen) if repeat.alone => evidence.alone.push(seen),
                Ok(seen) => evidence.beside.push(seen),
                Err(_) => self.cut_short = true,
            }
        }
    }
}

/// Looks at a confirmation, each at twice the repeats of the one before.
const MOST_LOOKS: u32 = 3;

/// Repeats from which costs are taken.
const COST_REPEATS: usize = 5;

impl Judged {
    fn nothing(settings: usize) -> Self {
        Self {
            screened: vec![CandidateEvidence::default(); settings],
            confirmed: vec![CandidateEvidence::default(); settings],
            judgement: Judgement { kind: JudgementKind::TooThin, text: "too thin to say: not measured".into() },
        }
    }
}

/// Measures repeats, so many at the same time as the place allows; the results are in the order of the repeats.
fn measure_all(
    place: &dyn Place,
    repeats: &[CandidateRepeat],
    stop: &AtomicBool,
) -> Vec<Result<RepeatSeen, ExecutorError>> {
    let seen = together::all(repeats.len(), place.at_once(), stop, |at| place.measure(repeats[at]));
    seen.into_iter().map(|seen| seen.unwrap_or(Err(ExecutorError::Stopped))).collect()
}
