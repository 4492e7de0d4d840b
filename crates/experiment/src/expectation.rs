//! What must show, where a publication has directions or bounds and no figures: statements about cases.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::describe::OneOrMany;
use crate::layout::CaseMetric;
use crate::point::PointLabel;

/// Statements about one figure, each of which a run is found to meet or not. They never change the exit status.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// What is said, in words.
    pub says: String,
    /// Where it is said; as for the published figures where absent.
    pub source: Option<String>,
    /// The statements: cases, named by their mitigation, and numbers, in order: `none > four-segments`,
    /// `pseudo-lock == 0`, `5-1 <= 1.05`, `one-segment >= 0.7 x none`. `, idle` names a case without neighbours, and
    /// square brackets the point of a sweep: `none[size 8 KiB] < none[size 128 MiB]`.
    pub order: OneOrMany<String>,
    /// The figure that they are about; that of the table where absent.
    pub metric: Option<CaseMetric>,
    /// The target's workload; each target's where absent.
    pub target: Option<String>,
    /// The points of sweeps at which they must hold; every point of a sweep that is absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub point: BTreeMap<String, PointLabel>,
}

/// `A > B >= 2 x C`: terms, each compared with the next.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The first term.
    pub first: Term,
    /// What follows: how the term before compares with this one.
    pub rest: Vec<(Relation, Term)>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    /// A number.
    Number(f64),
    /// So many times the figure of a case.
    Case(f64, CaseName),
}

/// A case, as a statement names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseName {
    /// `none`, or the mitigations joined by `+`.
    pub mitigation: String,
    /// Whether its neighbours do not run.
    pub solo: bool,
    /// Points of sweeps that are named, by the sweep's name.
    pub point: BTreeMap<String, String>,
}

/// How two terms compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `>`
    Above,
    /// `>=`
    NotBelow,
    /// `<`
    Below,
    /// `<=`
    NotAbove,
    /// `==`
    Equal,
}

/// The signs of the relations; longer ones before those that they begin with.
const RELATIONS: [(&str, Relation); 5] = [
    (">=", Relation::NotBelow),
    ("<=", Relation::NotAbove),
    ("==", Relation::Equal),
    (">", Relation::Above),
    ("<", Relation::Below),
];

impl Relation {
    /// Whether two figures compare so.
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Above => left > right,
            Self::NotBelow => left >= right,
            Self::Below => left < right,
            Self::NotAbove => left <= right,
            Self::Equal => left == right,
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(RELATIONS.iter().find(|(_, relation)| relation == self).map_or("", |(sign, _)| sign))
    }
}

impl Statement {
    /// All terms.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        std::iter::once(&self.first).chain(self.rest.iter().map(|(_, term)| term))
    }

    /// The cases among the terms.
    pub fn cases(&self) -> impl Iterator<Item = &CaseName> {
        self.terms().filter_map(|term| match term {
            Term::Case(_, case) => Some(case),
            Term::Number(_) => None,
        })
    }
}

impl std::str::FromStr for Statement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut terms = Vec::new();
        let mut relations = Vec::new();
        let mut rest = text;
        loop {
            let sign = RELATIONS.iter().filter_map(|(sign, relation)| Some((rest.find(sign)?, sign, relation)));
            let Some((at, sign, relation)) = sign.min_by_key(|(at, sign, _)| (*at, std::cmp::Reverse(sign.len())))
            else {
                terms.push(term(rest)?);
                break;
            };
            terms.push(term(&rest[..at])?);
            relations.push(*relation);
            rest = &rest[at + sign.len()..];
        }
        if relations.is_empty() {
            return Err("nothing is compared in it".into());
        }
        let mut terms = terms.into_iter();
        let first = terms.next().ok_or("it is empty")?;
        let statement = Self { first, rest: relations.into_iter().zip(terms).collect() };
        if statement.cases().next().is_none() {
            return Err("it names no case".into());
        }
        Ok(statement)
    }
}

fn term(text: &str) -> Result<Term, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("one side of a comparison is empty".into());
    }
    if let Some(number) = number(text)? {
        return Ok(Term::Number(number));
    }
    match text.split_once(" x ") {
        Some((factor, case)) => {
            let factor = number(factor)?.ok_or_else(|| format!("`{}` is not a number", factor.trim()))?;
            Ok(Term::Case(factor, case_name(case)?))
        }
        None => Ok(Term::Case(1.0, case_name(text)?)),
    }
}

fn number(text: &str) -> Result<Option<f64>, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Some(number)),
        Ok(_) => Err(format!("`{}` is not a finite number", text.trim())),
        Err(_) => Ok(None),
    }
}

fn case_name(text: &str) -> Result<CaseName, String> {
    let (name, point) = match text.split_once('[') {
        None => (text, ""),
        Some((name, rest)) => {
            let inside = rest.trim().strip_suffix(']').ok_or("a closing `]` is missing")?;
            (name, inside)
        }
    };
    let (mitigation, solo) = match name.trim().strip_suffix("idle").map(str::trim) {
        Some("") => ("none", true),
        Some(before) if before.ends_with(',') => (before[..before.len() - 1].trim(), true),
        _ => (name.trim(), false),
    };
    let legal = !mitigation.is_empty() && !mitigation.contains(char::is_whitespace);
    if !legal || mitigation.contains(|c: char| "],()=".contains(c)) {
        return Err(format!("`{}` is not the name of a case", name.trim()));
    }
    let coordinates = point.split(',').map(str::trim).filter(|part| !part.is_empty());
    let point = coordinates.map(|part| {
        let (sweep, label) = part.split_once(' ').ok_or_else(|| format!("`{part}` is not a sweep and its point"))?;
        Ok((sweep.to_owned(), label.trim().to_owned()))
    });
    Ok(CaseName { mitigation: mitigation.into(), solo, point: point.collect::<Result<_, String>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(mitigation: &str, solo: bool, point: &[(&str, &str)]) -> CaseName {
        let point = point.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        CaseName { mitigation: mitigation.into(), solo, point }
    }

    #[test]
    fn statements_compare_cases_and_numbers() {
        let read = |text: &str| text.parse::<Statement>().unwrap();
        assert_eq!(
            read("none > four-segments"),
            Statement {
                first: Term::Case(1.0, case("none", false, &[])),
                rest: vec![(Relation::Above, Term::Case(1.0, case("four-segments", false, &[])))],
            }
        );
        assert_eq!(
            read("0.7 x none <= nl3a+cp <= 3"),
            Statement {
                first: Term::Case(0.7, case("none", false, &[])),
                rest: vec![
                    (Relation::NotAbove, Term::Case(1.0, case("nl3a+cp", false, &[]))),
                    (Relation::NotAbove, Term::Number(3.0)),
                ],
            }
        );
        assert_eq!(
            read("idle == 5-1, idle[size 8 KiB, cluster A720]"),
            Statement {
                first: Term::Case(1.0, case("none", true, &[])),
                rest: vec![(
                    Relation::Equal,
                    Term::Case(1.0, case("5-1", true, &[("size", "8 KiB"), ("cluster", "A720")]))
                )],
            }
        );
    }

    #[test]
    fn what_is_no_statement_is_refused_with_the_reason() {
        for (text, why) in [
            ("none", "nothing is compared"),
            ("1 < 2", "names no case"),
            ("none >", "empty"),
            ("none > two words", "name of a case"),
            ("none > many x cp", "not a number"),
            ("none[size < cp", "`]`"),
            ("none[size] < cp", "sweep and its point"),
            ("none < inf", "finite"),
        ] {
            let error = text.parse::<Statement>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn relations_are_what_they_say() {
        for (relation, expected) in [
            (Relation::Above, [false, false, true]),
            (Relation::NotBelow, [false, true, true]),
            (Relation::Below, [true, false, false]),
            (Relation::NotAbove, [true, true, false]),
            (Relation::Equal, [false, true, false]),
        ] {
            let seen = [1.0, 2.0, 3.0].map(|left| relation.holds(left, 2.0));
            assert_eq!(seen, expected, "{relation}");
        }
    }
}
