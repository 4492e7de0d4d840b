//! Searches on machines whose need is known.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use waykeeper_executor::ExecutorError;
use waykeeper_search::tune::{
    CandidateRepeat, Effort, FRESH, Impossible, LadderEnd, Place, RepeatSeen, Rungs, SearchFound, TuneProgress, search,
};
use waykeeper_statistics::Budget;

/// Candidates 1 to `rates.len()` on one ladder; each sample of candidate n is over the limit with the probability `rates[n - 1]`.
struct Machine {
    rates: Vec<f64>,
    /// Without any measure.
    unprotected: f64,
    samples: u64,
    seed: u64,
    refused: Option<usize>,
    measured: Mutex<BTreeMap<CandidateRepeat, u32>>,
}

impl Machine {
    fn new(rates: Vec<f64>, seed: u64) -> Self {
        Self { rates, unprotected: 1.0, samples: 1000, seed, refused: None, measured: Mutex::new(BTreeMap::new()) }
    }

    fn ladder(&self) -> Rungs {
        Rungs { candidates: (1..=self.rates.len()).collect(), hint: None }
    }
}

impl Place for Machine {
    fn settings(&self) -> usize {
        1
    }

    fn at_once(&self) -> usize {
        2
    }

    fn measure(&self, repeat: CandidateRepeat) -> Result<RepeatSeen, ExecutorError> {
        *self.measured.lock().unwrap().entry(repeat).or_default() += 1;
        if self.refused == Some(repeat.candidate) {
            return Err(ExecutorError::Refused("it cannot".into()));
        }
        let rate = if repeat.candidate == 0 { self.unprotected } else { self.rates[repeat.candidate - 1] };
        let mut random = fastrand::Rng::with_seed(
            self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (repeat.candidate * 7_919 + repeat.number) as u64,
        );
        let above = if repeat.alone { 0 } else { (0..self.samples).filter(|_| random.f64() < rate).count() as u64 };
        Ok(RepeatSeen {
            samples: self.samples,
            exposure_s: 1e-3,
            tick_ns: 0.0,
            min_ns: Some(100.0),
            max_ns: Some(if above > 0 { 2000.0 } else { 500.0 }),
            mean_ns: Some(if repeat.alone { 100.0 } else { 100.0 + 100.0 * rate }),
            above: vec![above],
            misses: Some(above),
            neighbours_per_s: Some(1e6),
            work: Vec::new(),
            not_counted: None,
        })
    }

    fn progress(&self, _: TuneProgress<'_>) {}
}

fn effort(budget: &str) -> Effort {
    let budget: Budget = budget.parse().unwrap();
    let deadline = Instant::now() + Duration::from_secs(3600);
    Effort { budgets: vec![budget], screening: 2, confirming: 5, repeat_s: 1e-3, least_work: 0.0, deadline }
}

fn found(machine: &Machine, budget: &str) -> SearchFound {
    let ladders = [Rungs { candidates: vec![0], hint: None }, machine.ladder()];
    search(machine, &ladders, &effort(budget), &AtomicBool::new(false)).unwrap()
}

/// The rung that a search answers with.
fn answer(machine: &Machine, budget: &str) -> Option<usize> {
    match found(machine, budget).ends[1] {
        Some(LadderEnd::Holds { rung }) => Some(rung),
        _ => None,
    }
}

#[test]
fn answers_below_the_need_are_as_rare_as_promised() {
    // The rung below the need exceeds the limit just as often as the budget allows, which is the hardest to tell.
    let (rungs, machines) = (8, 1000);
    let (mut below, mut far_above) = (0, 0);
    for seed in 0..machines {
        let need = (seed as usize * 5) % rungs;
        let rate = |rung: usize| match need.checked_sub(rung + 1) {
            None => 0.0,
            Some(0) => 1e-3,
            Some(further) => (1e-3 * 4f64.powi(further as i32)).min(1.0),
        };
        let machine = Machine::new((0..rungs).map(rate).collect(), seed);
        let answer = answer(&machine, "max<=1us@1e-3").expect("the largest share holds on every machine");
        below += u32::from(answer < need);
        far_above += u32::from(answer > need + 1);
    }
    // 5 % of 1000 and three standard deviations of a binomial.
    assert!(below <= 50 + 21, "{below} of {machines} answers were below the need");
    assert!(far_above <= 50, "{far_above} of {machines} answers were more than one rung above the need");
}

#[test]
fn a_clear_need_is_found_exactly() {
    for need in 0..6 {
        let machine = Machine::new((0..6).map(|rung| if rung < need { 0.05 } else { 0.0 }).collect(), need as u64);
        assert_eq!(answer(&machine, "max<=1us"), Some(need));
        assert_eq!(answer(&machine, "misses==0"), Some(need));
    }
}

#[test]
fn a_mean_is_judged_by_repeats() {
    // Slowdowns 1 + rate: 1.4, 1.2, 1.06, 1.02, 1.
    let machine = Machine::new(vec![0.4, 0.2, 0.06, 0.02, 0.0], 1);
    assert_eq!(answer(&machine, "slowdown<=1.05"), Some(3));
    assert_eq!(answer(&machine, "mean<=125ns"), Some(1));
}

#[test]
fn confirmations_use_fresh_repeats_and_no_repeat_is_measured_twice() {
    let machine = Machine::new(vec![1.0, 1.0, 0.0, 0.0], 3);
    let found = found(&machine, "max<=1us");
    assert_eq!(found.ends[1], Some(LadderEnd::Holds { rung: 2 }));
    let measured = machine.measured.lock().unwrap();
    assert!(measured.values().all(|times| *times == 1));
    let fresh =
        |candidate| measured.keys().filter(move |it| it.candidate == candidate && it.number >= FRESH && !it.alone);
    // The error of the fourth confirmation, so that the first four need no second look: 0.05/4/5/2 = 0.00125;
    // ln(0.00125) / ln(1 - 1e-3) = 6682 samples, 1000 a repeat. The first confirmation is the only one.
    assert_eq!((fresh(3).count(), fresh(4).count()), (7, 0));
    assert_eq!(found.judged[&3].confirmed[0].placements(), 7);
}

#[test]
fn what_holds_without_any_measure_needs_none() {
    let machine = Machine { unprotected: 0.0, ..Machine::new(vec![0.0; 4], 3) };
    let found = found(&machine, "max<=1us");
    assert_eq!(found.ends, [Some(LadderEnd::Holds { rung: 0 }), None]);
    assert!(machine.measured.lock().unwrap().keys().all(|repeat| repeat.candidate == 0));
}

#[test]
fn nothing_holds_and_refusals_are_answers() {
    assert_eq!(found(&Machine::new(vec![1.0; 4], 3), "max<=1us").ends[1], Some(LadderEnd::NoneHolds));
    let machine = Machine { refused: Some(4), ..Machine::new(vec![0.0; 4], 3) };
    let found = found(&machine, "max<=1us");
    assert_eq!((found.ends[1], found.refused[1].as_deref()), (Some(LadderEnd::Refused), Some("it cannot")));
}

#[test]
fn an_exposure_is_measured_or_said_to_take_too_long() {
    // 20 ms in repeats of 1 ms.
    let machine = Machine::new(vec![0.0; 2], 3);
    let found = found(&machine, "max<=1us over 20ms");
    assert_eq!(found.ends[1], Some(LadderEnd::Holds { rung: 0 }));
    assert!((found.judged[&1].confirmed[0].exposure_s() - 0.02).abs() < 1e-9);
    let ladders = [Rungs { candidates: vec![0], hint: None }, machine.ladder()];
    let deadline = Instant::now() + Duration::from_secs(5);
    let effort = Effort { deadline, ..effort("max<=1us over 30000h") };
    let too_short = search(&machine, &ladders, &effort, &AtomicBool::new(false));
    assert!(matches!(too_short, Err(Impossible::TooShort(_))), "{too_short:?}");
}

#[test]
fn a_stopped_search_says_so() {
    let machine = Machine::new(vec![0.0; 2], 3);
    let ladders = [Rungs { candidates: vec![0], hint: None }, machine.ladder()];
    let stopped = search(&machine, &ladders, &effort("max<=1us"), &AtomicBool::new(true));
    assert_eq!(stopped.unwrap_err(), Impossible::Stopped);
}
