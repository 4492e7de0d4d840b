//! `--set key=value`: what is set is what is found there, and nothing else moves.

use proptest::prelude::*;
use toml::{Table, Value};
use waykeeper_experiment::{Loaded, Set};

/// Values as a file may hold them.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        any::<bool>().prop_map(Value::Boolean),
        (-1e9..1e9).prop_map(Value::Float),
        "[ -~]{0,12}".prop_map(Value::String),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(Value::Array))
}

/// A value as TOML writes it on one line.
fn written(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(written).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn at<'v>(document: &'v Table, path: &str) -> Option<&'v Value> {
    let mut parts = path.split('.');
    let first = document.get(parts.next()?)?;
    parts.try_fold(first, |value, part| match value {
        Value::Array(list) => list.get(part.parse::<usize>().ok()?),
        other => other.get(part),
    })
}

fn document() -> Table {
    "title = 'x'\n[[targets]]\nworkload = 'a'\ncore = 1\n[[targets]]\nworkload = 'b'\n[excursions]\ngap = '1 ms'\n"
        .parse()
        .unwrap()
}

const PATHS: [&str; 9] = [
    "title",
    "seed",
    "targets.0.core",
    "targets.1.core",
    "targets.2.workload",
    "excursions.gap",
    "excursions.over_min",
    "workloads.own.inner.count",
    "neighbours.0.cores",
];

proptest! {
    #[test]
    fn a_value_comes_back_from_where_it_was_put(path in prop::sample::select(&PATHS[..]), value in values()) {
        let set = Set::parse(&format!("{path}={}", written(&value))).unwrap();
        prop_assert_eq!(&set.value, &value);
        prop_assert_eq!(set.key(), path);
        let (before, mut changed) = (document(), document());
        set.apply(&mut changed).unwrap();
        prop_assert_eq!(at(&changed, path), Some(&value));
        for other in PATHS.iter().filter(|other| **other != path) {
            prop_assert_eq!(at(&changed, other), at(&before, other), "{} moved", other);
        }
    }

    #[test]
    fn setting_twice_is_setting_the_last(path in prop::sample::select(&PATHS[..]), first in values(), second in values()) {
        let set = |value: &Value| Set::parse(&format!("{path} = {}", written(value))).unwrap();
        let (mut twice, mut once) = (document(), document());
        set(&first).apply(&mut twice).unwrap();
        set(&second).apply(&mut twice).unwrap();
        set(&second).apply(&mut once).unwrap();
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn a_bare_word_is_a_text(word in "[a-z][a-z0-9_+@-]{0,20}") {
        prop_assume!(!["true", "false", "inf", "nan"].contains(&word.as_str()));
        prop_assert_eq!(Set::parse(&format!("k={word}")).unwrap().value, Value::String(word));
    }

    #[test]
    fn commas_make_a_list(numbers in prop::collection::vec(any::<u32>(), 2..6)) {
        let text: Vec<_> = numbers.iter().map(u32::to_string).collect();
        let expected: Vec<_> = numbers.iter().map(|n| Value::Integer(i64::from(*n))).collect();
        prop_assert_eq!(Set::parse(&format!("k={}", text.join(","))).unwrap().value, Value::Array(expected));
    }

    #[test]
    fn no_text_makes_an_override_panic(text in "\\PC{0,40}") {
        if let Ok(set) = Set::parse(&text) {
            let mut changed = document();
            if let Err(error) = set.apply(&mut changed) {
                prop_assert!(error.to_string().starts_with("--set "), "{}", error);
            }
        }
    }

    #[test]
    fn a_length_is_kept_as_it_was_read(number in 1_u32..1_000_000, digits in 0_u32..1000, unit in prop::sample::select(&["us", "ms"][..])) {
        let text = format!("title = 'x'\nduration = '{number}.{digits:03} {unit}'\ntargets = [{{ workload = 'latency_loop' }}]\n");
        let read = Loaded::from_text("x", "x.toml", &text, Vec::new()).unwrap();
        let again = Loaded::from_text("x", "x.toml", &read.to_toml(), Vec::new()).unwrap();
        prop_assert_eq!(again.experiment.duration, read.experiment.duration);
    }
}
