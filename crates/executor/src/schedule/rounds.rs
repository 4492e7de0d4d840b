//! The repeats of a run: A B C A B C, by as many threads as the place has room for.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use waykeeper_experiment::cases::{Case, Placed, Plan, Purpose};
use waykeeper_linux::thread::spawn_scoped;
use waykeeper_run::ShardRepeats;
use waykeeper_run::measurement::{Measured, Measurement};

use super::settings::{FigureOfRepeat, Finished, Keeper, Progress, RunSettings, bare_repeat, length, repeat_seed};
use crate::measure::{Executor, ExecutorError, PlannedRepeat};

/// What is measured, and who hears of it.
#[derive(Clone, Copy)]
pub struct RoundsOf<'a> {
    pub executor: &'a dyn Executor,
    pub plan: &'a Plan,
    pub settings: &'a RunSettings,
    pub keeper: &'a dyn Keeper,
    pub stop: &'a AtomicBool,
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
}

/// A repeat that was measured, or could not be.
type Slot = Mutex<Option<Result<Measurement, ExecutorError>>>;

/// All repeats of a run, and which come next.
pub struct Rounds<'a> {
    of: RoundsOf<'a>,
    /// What is an excursion in each case, nanoseconds.
    thresholds_ns: Vec<Option<f64>>,
    under_test: Vec<String>,
    /// What is measured here, where it is not all.
    share: Option<ShardRepeats>,
    /// Round by round, the cases of each in the plan's order.
    slots: Vec<Slot>,
    next: AtomicUsize,
    done: AtomicUsize,
    /// The place cannot go on.
    is_broken: AtomicBool,
}

impl<'a> Rounds<'a> {
    pub fn new(
        of: RoundsOf<'a>,
        thresholds_ns: Vec<Option<f64>>,
        under_test: Vec<String>,
        share: Option<ShardRepeats>,
    ) -> Self {
        let all = of.plan.cases.len() * of.settings.repeats as usize;
        Self {
            of,
            thresholds_ns,
            under_test,
            share,
            slots: (0..all).map(|_| Mutex::new(None)).collect(),
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
        }
    }

    /// Measures all that are not there yet.
    pub fn measure_all(&self, there: BTreeMap<(usize, usize), Measurement>) {
        self.done.store(there.len(), Ordering::Relaxed);
        for ((case, repeat), measurement) in there {
            *held(self.slot(case, repeat)) = Some(Ok(measurement));
        }
        std::thread::scope(|scope| {
            let work = || while self.measure_next() {};
            // Where the system refuses a thread, the others do its work.
            let others: Vec<_> =
                (1..self.of.executor.at_once().max(1)).map_while(|_| spawn_scoped(scope, "cases", work).ok()).collect();
            while self.measure_next() {}
            for other in others {
                let _ = other.join();
            }
        });
    }

    fn slot(&self, case: usize, repeat: usize) -> &Slot {
        &self.slots[repeat * self.of.plan.cases.len() + case]
    }

    fn is_mine(&self, case: usize, repeat: usize) -> bool {
        self.share.as_ref().is_none_or(|share| share.contains(case, repeat))
    }

    /// Measures the next repeat that is not there. False where there is none, or nothing more is to be measured.
    fn measure_next(&self) -> bool {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let is_over = self.of.stop.load(Ordering::Relaxed) || self.is_broken.load(Ordering::Relaxed);
        if number >= self.slots.len() || is_over {
            return false;
        }
        let (repeat, index) = (number / self.of.plan.cases.len(), number % self.of.plan.cases.len());
        if self.is_mine(index, repeat) && held(&self.slots[number]).is_none() {
            self.report(index, None);
            self.measure(index, repeat);
            let ended = held(&self.slots[number]).as_ref().and_then(|it| FigureOfRepeat::of(it.as_ref().ok()?));
            self.report(index, ended);
        }
        true
    }

    fn report(&self, case: usize, figure: Option<FigureOfRepeat>) {
        let total = self.share.as_ref().map_or(self.slots.len(), ShardRepeats::len);
        let done = self.done.load(Ordering::Relaxed);
        (self.of.progress)(Progress { case: &self.of.plan.cases[case].name, done, total, figure });
    }

    /// Measures a repeat of a case, and keeps it with what was observed beside it.
    fn measure(&self, index: usize, repeat: usize) {
        let RoundsOf { executor, plan, settings, keeper, stop, .. } = self.of;
        let case = &plan.cases[index];
        let with_it = companions(&plan.cases, case);
        let companions_above_ns: Vec<_> =
            with_it.iter().map(|index| index.and_then(|index| self.thresholds_ns[index])).collect();
        let assignment = self.assignment(index, repeat, &companions_above_ns);
        let (mut result, beside) = match executor.measure_all(&assignment, stop) {
            Ok((measurement, beside)) => (Ok(measurement), beside),
            Err(error) => (Err(error), Vec::new()),
        };
        if let Some(simulation) = result.as_mut().ok().and_then(|measured| measured.simulation.as_mut()) {
            simulation.wall_s = simulation.wall_s.filter(|_| !settings.reproducible);
        }
        self.is_broken.fetch_or(result.is_err(), Ordering::Relaxed);
        if let Some(measurement) = result.as_ref().ok().filter(|measurement| !measurement.cut_short) {
            keeper.keep(index, repeat, measurement);
        }
        *held(self.slot(index, repeat)) = Some(result);
        self.done.fetch_add(1, Ordering::Relaxed);
        for (other, measurement) in with_it.into_iter().zip(beside) {
            let Some(other) = other.filter(|other| self.is_mine(*other, repeat)) else { continue };
            let keep = |measurement: &Measurement| keeper.keep(other, repeat, measurement);
            let is_new = settle(self.slot(other, repeat), measurement, keep);
            self.done.fetch_add(usize::from(is_new), Ordering::Relaxed);
        }
    }

    /// What the place is asked for.
    fn assignment<'r>(
        &'r self,
        index: usize,
        repeat: usize,
        companions_above_ns: &'r [Option<f64>],
    ) -> PlannedRepeat<'r> {
        let RoundsOf { executor, plan, settings, .. } = self.of;
        let cases = &plan.cases;
        let case = &cases[index];
        let is_case = case.purpose == Purpose::Case;
        // A round begins where the one before it ended.
        let mut back = (1..=cases.len()).map(|back| (index + cases.len() - back) % cases.len());
        let before = back.find(|before| self.is_mine(*before, repeat)).map(|before| &cases[before]);
        PlannedRepeat {
            duration_s: length(case, settings.duration_s, executor.place().pace),
            simulated_samples: settings.simulated_samples.filter(|_| is_case),
            occupancy: settings.occupancy && repeat == 0,
            explain: if is_case { settings.explain } else { 0 },
            check_fast: settings.fast && repeat == 0 && is_case,
            excursion_above_ns: self.thresholds_ns[index],
            companions_above_ns,
            wash: before.is_none_or(|before| before.mitigation != case.mitigation),
            ..bare_repeat(case, repeat_seed(settings.seed, repeat), settings, &self.under_test)
        }
    }

    /// What there is in the end.
    ///
    /// # Errors
    /// What the place was unable to do before each case was measured once.
    pub fn finish(self) -> Result<Finished, ExecutorError> {
        let cases = self.of.plan.cases.len();
        let mut measured: Vec<Measured> = self
            .thresholds_ns
            .into_iter()
            .map(|excursion_above_ns| Measured { excursion_above_ns, repeats: Vec::new() })
            .collect();
        let mut failed = None;
        for (slot, result) in self.slots.into_iter().enumerate() {
            match result.into_inner().unwrap_or_else(|e| e.into_inner()) {
                Some(Ok(repeat)) => measured[slot % cases].repeats.push(repeat),
                Some(Err(ExecutorError::Stopped)) | None => {}
                Some(Err(error)) => failed = failed.or(Some(error)),
            }
        }
        let cut_short = self.of.stop.load(Ordering::Relaxed) || failed.is_some();
        match failed {
            Some(error) if (0..cases).any(|case| has_case(&self.share, case) && measured[case].repeats.is_empty()) => {
                Err(error)
            }
            failed => Ok(Finished { measured, cut_short, failed }),
        }
    }
}

fn held(slot: &Slot) -> std::sync::MutexGuard<'_, Option<Result<Measurement, ExecutorError>>> {
    slot.lock().unwrap_or_else(|e| e.into_inner())
}

/// Keeps what a target gave that was observed beside another one. False where it is there already, as in a run that goes on.
fn settle(slot: &Slot, measurement: Measurement, keep: impl FnOnce(&Measurement)) -> bool {
    let mut slot = held(slot);
    if slot.is_some() {
        return false;
    }
    if !measurement.cut_short {
        keep(&measurement);
    }
    *slot = Some(Ok(measurement));
    true
}

/// The cases that are measured together with one, in the order of its companions.
fn companions(cases: &[Case], case: &Case) -> Vec<Option<usize>> {
    let of = |target: &Placed| cases.iter().position(|other| other.target == *target && case.is_measured_with(other));
    case.companions.iter().map(of).collect()
}

/// Whether any repeat of a case is measured.
fn has_case(share: &Option<ShardRepeats>, case: usize) -> bool {
    share.as_ref().is_none_or(|share| share.has_case(case))
}
