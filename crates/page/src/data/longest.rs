//! The longest samples, part by part.

use serde::Serialize;
use waykeeper_report::part_in_words;

use super::Numbered;

/// One of the longest samples of a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Longest {
    /// The case.
    pub case: usize,
    /// The repeat, from 1.
    pub repeat: u32,
    /// When it ended, from the start of the repeat.
    pub at_s: f64,
    /// Its length.
    pub ns: f64,
    /// What the core waited for.
    pub parts: Vec<PartOfSample>,
    /// How many more came after these.
    pub further_parts: u64,
}

/// One thing that the core waited for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartOfSample {
    /// From the start of the sample; below 0 for what was in flight before.
    pub from_ns: f64,
    /// How long it took.
    pub ns: f64,
    /// Where it came from.
    pub from: String,
    /// What it was for.
    pub line: String,
    /// All that is known of it, in words.
    pub text: String,
}

pub(crate) fn longest<'s>(case: &Numbered<'s>) -> impl Iterator<Item = Longest> + use<'s> {
    let number = case.number;
    case.case.longest.iter().filter(|sample| !sample.parts.is_empty()).map(move |sample| Longest {
        case: number,
        repeat: sample.repeat,
        at_s: sample.at_s,
        ns: sample.ns,
        parts: sample
            .parts
            .iter()
            .map(|part| PartOfSample {
                from_ns: part.from_ns,
                ns: part.ns,
                from: part.from.clone(),
                line: part.line.clone(),
                text: part_in_words(part),
            })
            .collect(),
        further_parts: sample.further_parts,
    })
}
