//! Free choices of a platform: its assumed parameters, with their ranges, and sets of values drawn from these.

use toml::Value;

use crate::describe::Platform;
use crate::load::PlatformError;
use crate::param::Basis;

/// An assumed parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Knob {
    /// Path of its key in the platform.
    pub key: String,
    /// What it is in the file.
    pub value: Value,
    /// The ends of its range, or the two alternatives of a word.
    pub ends: [Value; 2],
}

/// The assumed parameters of a platform that have a range, in the order of the file's keys.
pub fn knobs(platform: &Platform) -> Vec<Knob> {
    let mut found = Vec::new();
    collect(&as_toml(platform), "", &mut found);
    found
}

impl Platform {
    /// A platform file that reads back to the same platform, its keys in the order of the alphabet.
    pub fn to_toml(&self) -> String {
        written(&as_toml(self))
    }
}

fn as_toml(platform: &Platform) -> Value {
    Value::try_from(platform).expect("a platform is representable as TOML")
}

fn written(platform: &Value) -> String {
    toml::to_string(platform).expect("a platform is representable as TOML")
}

fn collect(value: &Value, path: &str, found: &mut Vec<Knob>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Table(table) => {
            let assumed = table.get("is").and_then(Value::as_str) == Some(&Basis::Assumed.to_string());
            match (assumed, table.get("value"), table.get("range").and_then(Value::as_array)) {
                (true, Some(value), Some(range)) => {
                    if let [low, high] = range.as_slice()
                        && low != high
                    {
                        let ends = [low.clone(), high.clone()];
                        found.push(Knob { key: path.to_owned(), value: value.clone(), ends });
                    }
                }
                _ => table.iter().for_each(|(key, inner)| collect(inner, &below(key), found)),
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, inner)| collect(inner, &below(&at.to_string()), found));
        }
        _ => {}
    }
}

/// The platform with these parameters at other values.
///
/// # Errors
/// A platform that does not fulfil its own rules with them, such as 24 ways under a replacement that forms a binary tree.
pub fn with_values(platform: &Platform, values: &[(&str, Value)]) -> Result<Platform, PlatformError> {
    let mut tree = as_toml(platform);
    for (key, value) in values {
        let mut at = Some(&mut tree);
        for part in key.split('.') {
            at = at.and_then(|inner| match inner {
                Value::Array(items) => part.parse::<usize>().ok().and_then(|index| items.get_mut(index)),
                other => other.get_mut(part),
            });
        }
        if let Some(Value::Table(parameter)) = at {
            parameter.insert("value".into(), value.clone());
        }
    }
    Platform::from_toml(&written(&tree), &format!("a variant of {}", platform.name))
}

impl Knob {
    /// A value from the range: any power of two where value and ends are such, evenly on a logarithmic scale where the
    /// ends are positive and a factor of three or more apart, evenly otherwise; one of two words. `next` returns 64 random bits.
    pub fn draw(&self, next: &mut dyn FnMut() -> u64) -> Value {
        let unit = (next() >> 11) as f64 / (1u64 << 53) as f64;
        let spread = |low: f64, high: f64| {
            if low > 0.0 && high / low >= 3.0 { low * (high / low).powf(unit) } else { low + (high - low) * unit }
        };
        match (&self.ends[0], &self.ends[1], &self.value) {
            (Value::Integer(low), Value::Integer(high), Value::Integer(value)) => {
                let powers = [low, high, value].iter().all(|n| u64::try_from(**n).is_ok_and(u64::is_power_of_two));
                Value::Integer(if powers {
                    low << below(next, u64::from((high / low).ilog2()) + 1)
                } else {
                    (spread(*low as f64 - 0.49, *high as f64 + 0.49).round() as i64).clamp(*low, *high)
                })
            }
            (Value::Float(low), Value::Float(high), _) => Value::Float(spread(*low, *high)),
            (one, other, _) => {
                if below(next, 2) == 0 {
                    one.clone()
                } else {
                    other.clone()
                }
            }
        }
    }
}

/// A number below a bound of at most 2^32, from the upper half of the bits.
fn below(next: &mut dyn FnMut() -> u64, bound: u64) -> u64 {
    ((next() >> 32) * bound) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundled::find_bundled;

    /// Random bits: SplitMix64.
    fn bits(mut state: u64) -> impl FnMut() -> u64 {
        move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        }
    }

    fn agilex() -> Platform {
        Platform::from_toml(find_bundled("agilex5").unwrap().text, "agilex5").unwrap()
    }

    #[test]
    fn every_draw_lies_in_its_range_and_changes_only_its_own_key() {
        let platform = agilex();
        let mut random = bits(7);
        let all = knobs(&platform);
        assert!(all.iter().any(|knob| knob.key == "interconnect.crossing_ns"));
        assert!(!all.iter().any(|knob| knob.key == "memory.trc_ns"), "it is documented");
        for knob in &all {
            for _ in 0..20 {
                let drawn = knob.draw(&mut random);
                match (&drawn, &knob.ends) {
                    (Value::Integer(n), [Value::Integer(low), Value::Integer(high)]) => {
                        assert!((low..=high).contains(&n), "{}: {n}", knob.key);
                    }
                    (Value::Float(x), [Value::Float(low), Value::Float(high)]) => {
                        assert!((low..=high).contains(&x), "{}: {x}", knob.key);
                    }
                    (word, ends) => assert!(ends.contains(word), "{}: {word}", knob.key),
                }
            }
        }
        let changed = with_values(&platform, &[("interconnect.crossing_ns", Value::Float(77.0))]).unwrap();
        assert_eq!(changed.interconnect.as_ref().unwrap().crossing_ns.value, 77.0);
        let back = with_values(&changed, &[("interconnect.crossing_ns", Value::Float(90.0))]).unwrap();
        assert_eq!(back, platform);
    }

    #[test]
    fn powers_of_two_stay_such_and_both_ends_come_up() {
        let knob =
            Knob { key: String::new(), value: Value::Integer(1024), ends: [Value::Integer(512), Value::Integer(2048)] };
        let mut random = bits(1);
        let mut seen: Vec<_> = (0..64).map(|_| knob.draw(&mut random).as_integer().unwrap()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [512, 1024, 2048]);
    }
}
