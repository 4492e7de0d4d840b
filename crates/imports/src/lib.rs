//! Histograms of other tools as runs, so that budgets, reports and comparisons serve their users too.
//!
//! A histogram has no order in time: a run from one has no excursions, no peaks and no tail.

mod buckets;
mod json;
mod rtla;
mod run;

pub use run::{ImportedRun, conclude};

/// What another tool measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The tool.
    pub tool: String,
    /// Its version, where the file says it.
    pub version: Option<String>,
    /// Its command line, where the file says it.
    pub command_line: Option<String>,
    /// When it began, RFC 3339, where the file says it.
    pub started: Option<String>,
    /// The kernel's release, where the file says it.
    pub kernel: Option<String>,
    /// The instruction set, where the file says it.
    pub architecture: Option<String>,
    /// Its histograms.
    pub histograms: Vec<ImportedHistogram>,
    /// Further remarks on it, as sentences.
    pub remarks: Vec<String>,
}

/// The samples of one thread or one column.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedHistogram {
    /// Its name, such as `core 1` or `IRQ-001`.
    pub name: String,
    /// Its core.
    pub core: u32,
    /// Nanoseconds of a step.
    pub step_ns: f64,
    /// Steps by less than which a sample may be longer than the lower end of its bucket, where it counts.
    pub bucket: u64,
    /// Steps from the lower end of a bucket to the next one, at least: the tool may not say it.
    pub narrowest: u64,
    /// Value in steps, and samples.
    pub counts: Vec<(u64, u64)>,
    /// Samples beyond the histogram, of which the largest alone is known.
    pub beyond: u64,
    /// Samples that the tool counted and that are nowhere in its file.
    pub missing: u64,
    /// Smallest, in steps.
    pub min: Option<u64>,
    /// Largest, in steps.
    pub max: Option<u64>,
    /// Mean in steps, where the tool says it; else it follows from the histogram.
    pub mean: Option<f64>,
    /// Time in which they were taken, seconds, where the file says it.
    pub length_s: Option<f64>,
}

/// What would do in the place of a file that contradicts itself.
pub(crate) const AS_WRITTEN: &str = "expected the file as the tool wrote it: this one was changed or damaged";

impl ImportedHistogram {
    /// All samples.
    pub fn samples(&self) -> u64 {
        self.counts.iter().fold(self.beyond, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// The sum of all samples that are in the histogram, in steps; each may be longer by a bucket.
    fn sum_inside(&self) -> u128 {
        self.counts.iter().map(|(value, count)| u128::from(*value) * u128::from(*count)).sum()
    }

    /// Compares the mean that the tool says with its histogram, whose steps round down.
    ///
    /// # Errors
    /// A mean that samples in these steps cannot have.
    fn check_mean(&self) -> Result<(), String> {
        let Some(mean) = self.mean else { return Ok(()) };
        let inside = self.sum_inside() as f64;
        let last = self.counts.last().map_or(0, |(value, _)| *value);
        let most = self.max.unwrap_or(last).max(last) as f64;
        let (samples, outside) = (self.samples() as f64, (self.beyond + self.missing) as f64);
        // What is not in the histogram is anything up to the longest. The tool may cut its mean to whole steps as well.
        let least = inside / (samples + self.missing as f64) - 1.0;
        let most = (inside + outside * most) / samples + self.bucket as f64 + 1.0;
        if (least..=most).contains(&mean) {
            return Ok(());
        }
        Err(format!(
            "{} has a mean of {mean} steps, and its histogram one from {:.1} to {:.1}; {AS_WRITTEN}",
            self.name,
            least.max(0.0),
            most
        ))
    }

    /// Compares the smallest and the largest sample that the tool says with its histogram, to a bucket.
    ///
    /// # Errors
    /// Extremes that samples in these steps cannot have.
    fn check_extremes(&self) -> Result<(), String> {
        let refused = |what: &str, value: u64, histogram: String| {
            Err(format!("{} has a {what} of {value} steps, and {histogram}; {AS_WRITTEN}", self.name))
        };
        if let (Some(min), Some(max)) = (self.min, self.max)
            && min > max
        {
            return refused("minimum", min, format!("a maximum of {max}"));
        }
        let (Some((first, _)), Some((last, _))) = (self.counts.first(), self.counts.last()) else { return Ok(()) };
        let near = |extreme: u64, value: u64| extreme.abs_diff(value) <= self.bucket;
        // What is missing may have been the shortest or the longest.
        let is_whole = self.missing == 0;
        if let Some(min) = self.min
            && !near(min, *first)
            && (min > *first || is_whole)
        {
            return refused("minimum", min, format!("its histogram begins at {first}"));
        }
        if let Some(max) = self.max
            && !near(max, *last)
            && (max < *last || (is_whole && self.beyond == 0))
        {
            return refused("maximum", max, format!("its histogram ends at {last}"));
        }
        Ok(())
    }

    /// Compares the number of samples with how often a thread can wake up in the time of the run, `interval_s` seconds apart.
    ///
    /// # Errors
    /// More samples than wake-ups.
    fn check_interval(&self, interval_s: f64) -> Result<(), String> {
        let Some(length_s) = self.length_s else { return Ok(()) };
        let (samples, most) = (self.samples(), (length_s + SECONDS_AT_THE_ENDS) / interval_s);
        if samples as f64 <= most {
            return Ok(());
        }
        Err(format!(
            "{} has {samples} samples, and {length_s} s have {:.0} wake-ups, one every {} us; {AS_WRITTEN}",
            self.name,
            length_s / interval_s,
            interval_s * 1e6
        ))
    }

    /// Compares the number of samples with the time of a run that nobody cut short, where a thread woke up every `interval_s` seconds, and
    /// after each sample at the latest. A thread without samples is a case that says so.
    ///
    /// # Errors
    /// Samples for less than half of the time.
    fn check_whole(&self, interval_s: f64) -> Result<(), String> {
        let Some(length_s) = self.length_s.filter(|_| self.samples() > 0) else { return Ok(()) };
        let longest_s = self.max.unwrap_or(0) as f64 * self.step_ns / 1e9;
        let outside = (self.beyond + self.missing) as f64 * longest_s;
        let inside = self.sum_inside() as f64;
        let wake_ups = self.samples().saturating_add(self.missing);
        let most_s = wake_ups as f64 * interval_s + inside * self.step_ns / 1e9 + outside;
        if most_s + SECONDS_AT_THE_ENDS >= length_s / 2.0 {
            return Ok(());
        }
        Err(format!(
            "{} has {} samples, one every {} us, which takes {most_s:.0} s, and it is said to have been measured for {length_s} s: its thread \
             was starved, or the file is changed or damaged; expected samples for half of that time at least",
            self.name,
            self.samples(),
            interval_s * 1e6,
        ))
    }

    /// The same samples with one step less each, for a tool that rounds up.
    fn a_step_less(mut self) -> Self {
        for (value, _) in &mut self.counts {
            *value = value.saturating_sub(1);
        }
        for extreme in [&mut self.min, &mut self.max] {
            *extreme = extreme.map(|value| value.saturating_sub(1));
        }
        self.mean = self.mean.map(|mean| (mean - 1.0).max(0.0));
        self
    }

    /// Compares the samples with how many cycles the tool counted. One that is missing may have been measured as the tool ended.
    ///
    /// # Errors
    /// More samples than cycles, or fewer where none lies beyond the histogram.
    fn check_total(&mut self, cycles: Option<u64>) -> Result<(), String> {
        let (samples, Some(cycles)) = (self.samples(), cycles) else { return Ok(()) };
        let name = &self.name;
        if samples > cycles {
            return Err(format!("{name} has {samples} samples in {cycles} cycles; {AS_WRITTEN}"));
        }
        self.missing = cycles - samples;
        let is_inside = self.max.is_some_and(|max| self.counts.last().is_some_and(|(last, _)| *last >= max));
        match self.missing > 1 {
            true if is_inside => Err(format!(
                "{name} has {samples} samples of {cycles} cycles, and its maximum lies inside the histogram; {AS_WRITTEN}"
            )),
            true if samples == 0 => {
                Err(format!("{name} has no sample of {cycles} cycles, and no maximum; {AS_WRITTEN}"))
            }
            _ => Ok(()),
        }
    }

    /// Takes away what a tool writes as extremes and mean of a thread without samples: that with which it began to compare.
    ///
    /// # Errors
    /// A maximum that no sample had.
    fn without_samples(mut self) -> Result<Self, String> {
        if self.samples() > 0 {
            return Ok(self);
        }
        if let Some(max) = self.max.filter(|max| *max > 0) {
            return Err(format!("{} has a maximum of {max} steps, and no sample; {AS_WRITTEN}", self.name));
        }
        (self.min, self.max, self.mean) = (None, None, None);
        Ok(self)
    }
}

/// What is said of a file that holds more than one.
pub(crate) const TWO_RESULTS: &str =
    "the file holds the results of more than one measurement; expected a file for each";

/// Seconds that a tool may wake up before and after the whole seconds that its file names.
const SECONDS_AT_THE_ENDS: f64 = 3.0;

/// Reads what another tool wrote.
///
/// # Errors
/// A text of no tool that is known, or one that contradicts itself; what was found and what would do.
pub fn read(text: &str) -> Result<Imported, String> {
    let imported = match text.trim_start().starts_with('{') {
        true => json::read(text)?,
        false => rtla::read(text)?,
    };
    if imported.histograms.iter().all(|histogram| histogram.samples() == 0) {
        return Err(format!("the file of {} has no sample; expected one with a sample at least", imported.tool));
    }
    for histogram in imported.histograms.iter().filter(|histogram| histogram.samples() > 0) {
        histogram.check_mean()?;
        histogram.check_extremes()?;
    }
    Ok(imported)
}
