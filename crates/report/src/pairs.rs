//! Which cases of two runs stand side by side.

use waykeeper_run::CaseRecord;

/// A case of each run.
pub type Pair<'r> = (&'r CaseRecord, &'r CaseRecord);

/// Cases of one name; and those that are called alike but for sweeps of which only one of the two names has the point,
/// if no other case of either run could be meant.
pub fn pairs<'r>(a: &'r [CaseRecord], b: &'r [CaseRecord]) -> Vec<Pair<'r>> {
    let of_one_name = |case: &CaseRecord| b.iter().find(|other| other.name == case.name);
    let is_left = |case: &&CaseRecord, others: &[CaseRecord]| others.iter().all(|other| other.name != case.name);
    let left_of_a: Vec<_> = a.iter().filter(|case| is_left(case, b)).collect();
    let left_of_b: Vec<_> = b.iter().filter(|case| is_left(case, a)).collect();
    let alike = |case: &CaseRecord| {
        let other = only(left_of_b.iter().copied().filter(|other| are_alike(case, other)))?;
        only(left_of_a.iter().filter(|case| are_alike(case, other))).is_some().then_some(other)
    };
    a.iter().filter_map(|case| Some((case, of_one_name(case).or_else(|| alike(case))?))).collect()
}

/// The one and only.
fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    all.next().filter(|_| all.next().is_none())
}

fn are_alike(one: &CaseRecord, other: &CaseRecord) -> bool {
    let agree = |(sweep, label): (&String, &String)| other.point.get(sweep).is_none_or(|there| there == label);
    without_point(one) == without_point(other) && one.point.iter().all(agree)
}

/// The name of a case without the point that ends it.
fn without_point(case: &CaseRecord) -> &str {
    match case.name.split_once(" [") {
        Some((name, _)) if !case.point.is_empty() => name,
        _ => &case.name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cases: &[(&str, &[(&str, &str)])]) -> Vec<CaseRecord> {
        let record = |(name, point): &(&str, &[(&str, &str)])| CaseRecord {
            name: (*name).into(),
            point: point.iter().map(|(sweep, label)| ((*sweep).into(), (*label).into())).collect(),
            ..CaseRecord::default()
        };
        cases.iter().map(record).collect()
    }

    fn named(a: &[CaseRecord], b: &[CaseRecord]) -> Vec<[String; 2]> {
        pairs(a, b).into_iter().map(|(a, b)| [a.name.clone(), b.name.clone()]).collect()
    }

    #[test]
    fn a_sweep_that_is_cut_to_one_point_renames_its_cases() {
        let whole = run(&[
            ("idle", &[]),
            ("none [size 1]", &[("size", "1")]),
            ("none [size 2]", &[("size", "2")]),
            ("none [size 3, core 1]", &[("size", "3"), ("core", "1")]),
        ]);
        let cut = run(&[
            ("idle [size 2]", &[("size", "2")]),
            ("none [size 2]", &[("size", "2")]),
            ("none [size 3]", &[("size", "3")]),
        ]);
        let expected = [["idle", "idle [size 2]"], ["none [size 2]"; 2], ["none [size 3, core 1]", "none [size 3]"]];
        assert_eq!(named(&whole, &cut), expected);
        assert_eq!(named(&cut, &whole), expected.map(|[a, b]| [b, a]));
    }

    #[test]
    fn a_case_that_could_be_two_others_is_neither() {
        let two = run(&[("none [size 1]", &[("size", "1")]), ("none [size 2]", &[("size", "2")])]);
        let one = run(&[("none", &[])]);
        assert_eq!(named(&two, &one), Vec::<[String; 2]>::new());
        assert_eq!(named(&one, &two), Vec::<[String; 2]>::new());
        let other = run(&[("split [size 1]", &[("size", "1")]), ("none [size 3]", &[("size", "3")])]);
        assert_eq!(named(&two, &other), Vec::<[String; 2]>::new());
    }
}
