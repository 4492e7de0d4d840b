//! Finding a processor by what people and machines call it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CapacityMask, Catalogue, Firmware, MeasuredMachine, Processor, SpeedShift, SpeedShiftRegister, TimedGpio};

/// What the catalogue has of one processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Its number.
    pub sku: String,
    /// Its row among the processors with TCC; absent for one that only other tables name.
    pub processor: Option<Processor>,
    /// Its capacity mask.
    pub mask: Option<CapacityMask>,
    /// The settings of its firmware.
    pub firmware: Option<Firmware>,
    /// Its pins of timed GPIO.
    pub timed_gpio: Vec<TimedGpio>,
    /// Intel's measurements of it.
    pub measurements: Vec<MeasuredMachine>,
    /// Which of its cores may be raised.
    pub speed_shift: Option<SpeedShift>,
    /// Registers of the example for it.
    pub registers: Vec<SpeedShiftRegister>,
}

/// The answer to a search.
#[derive(Debug, Clone, PartialEq)]
pub enum SkuMatch {
    /// The processor.
    One(Box<Entry>),
    /// Several that it may be, or that are spelled much like it; none where nothing is near.
    Near(Vec<String>),
}

/// Letters and digits in lower case: what is left of a name when its spelling does not count.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

impl Catalogue {
    /// The numbers of all processors that some table names, sorted.
    pub fn skus(&self) -> Vec<&str> {
        let processors = self.processors.iter().map(|processor| processor.sku.as_str());
        let masks = self.masks.iter().map(|mask| mask.sku.as_str());
        let measured = self.measurements.iter().map(|measurement| measurement.sku.as_str());
        let mut skus: Vec<_> = processors.chain(masks).chain(measured).collect();
        skus.sort_unstable();
        skus.dedup();
        skus
    }

    /// Finds a processor by its number, spelled in any way (`i7-13800HRE`, `13800hre`), or by a brand string that has it
    /// (`13th Gen Intel(R) Core(TM) i7-13800HRE`).
    pub fn find(&self, name: &str) -> SkuMatch {
        let skus = self.skus();
        let wanted = plain(name);
        let by = |fits: &dyn Fn(&str) -> bool| skus.iter().copied().filter(|sku| fits(&plain(sku))).collect::<Vec<_>>();
        let word =
            |sku: &&str| name.split(|c: char| c.is_whitespace() || c == ',').any(|word| plain(word) == plain(sku));
        let ways = [
            by(&|sku| sku == wanted),
            skus.iter().copied().filter(word).collect(),
            // Without `i7`, `x` or `D` in front.
            by(&|sku| wanted.len() > 3 && sku.ends_with(&wanted)),
            by(&|sku| wanted.len() > 3 && sku.contains(&wanted)),
            // A family, such as `i7`.
            by(&|sku| wanted.len() > 1 && sku.starts_with(&wanted)),
        ];
        let Some(found) = ways.into_iter().find(|found| !found.is_empty()) else {
            return SkuMatch::Near(near(&wanted, &skus));
        };
        match found.as_slice() {
            [sku] => SkuMatch::One(Box::new(self.entry(sku))),
            _ => SkuMatch::Near(found.into_iter().map(str::to_owned).collect()),
        }
    }

    /// The processor that a machine's brand string names; `None` where the catalogue has none of that name.
    pub fn of_brand(&self, brand: &str) -> Option<Entry> {
        let words: Vec<String> = brand.split_whitespace().map(plain).collect();
        let sku = self.skus().into_iter().find(|sku| words.contains(&plain(sku)))?;
        Some(self.entry(sku))
    }

    fn entry(&self, sku: &str) -> Entry {
        let processor = self.processors.iter().find(|processor| processor.sku == sku).cloned();
        let code_name = processor.as_ref().map(|processor| processor.code_name.clone());
        let of_code = |names: &[String]| code_name.as_ref().is_some_and(|name| names.contains(name));
        Entry {
            sku: sku.to_owned(),
            mask: self.masks.iter().find(|mask| mask.sku == sku).cloned(),
            firmware: self.firmware.iter().find(|firmware| of_code(&firmware.code_names)).cloned(),
            timed_gpio: self.timed_gpio.iter().filter(|pins| of_code(&pins.code_names)).cloned().collect(),
            measurements: self.measurements.iter().filter(|measurement| measurement.sku == sku).cloned().collect(),
            speed_shift: self.speed_shift.iter().find(|shift| shift.skus.iter().any(|it| it == sku)).cloned(),
            registers: self.speed_shift_registers.iter().filter(|register| register.sku == sku).cloned().collect(),
            processor,
        }
    }
}

/// At most so many are suggested ...
const MOST_SUGGESTED: usize = 5;
/// ... that differ by at most so many letters.
const MOST_EDITS: usize = 3;

fn near(wanted: &str, skus: &[&str]) -> Vec<String> {
    let distance = |sku: &str| {
        let full = plain(sku);
        // People leave out what stands in front: `i7`, `x`, `D`.
        let digits = full.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
        let short = full.strip_prefix("i3").or(full.strip_prefix("i5")).or(full.strip_prefix("i7")).unwrap_or(&full);
        let short = short.strip_prefix("i9").unwrap_or(short);
        [full.as_str(), short, &full[digits..]].into_iter().map(|name| edits(wanted, name)).min().unwrap_or(usize::MAX)
    };
    let mut ranked: Vec<_> = skus.iter().map(|sku| (distance(sku), *sku)).filter(|(d, _)| *d <= MOST_EDITS).collect();
    ranked.sort_unstable();
    ranked.into_iter().take(MOST_SUGGESTED).map(|(_, sku)| sku.to_owned()).collect()
}

/// Letters to insert, remove or replace (Levenshtein's distance).
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let here = (diagonal + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], here);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (a, b, expected) in
            [("", "", 0), ("abc", "", 3), ("abc", "abc", 0), ("kitten", "sitting", 3), ("ab", "ba", 2)]
        {
            assert_eq!(edits(a, b), expected, "{a} {b}");
            assert_eq!(edits(b, a), expected, "{b} {a}");
        }
    }
}
