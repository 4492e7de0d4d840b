//! What the numbers of a `run.json` may be, whoever wrote it.

use serde_json::Value;

/// A quantity of a run is a length, a count, a rate, a ratio or a probability, and not negative; only deviations in
/// parts per million (`_ppm`) have a sign.
///
/// # Errors
/// The key of the first number with a wrong sign, such as `cases[0].repeats[1].run_length_s`, and the number.
pub(crate) fn check_numbers(run: &Value) -> Result<(), (String, String)> {
    let mut key = String::new();
    match first_negative(run, &mut key) {
        Some(number) => Err((key, number)),
        None => Ok(()),
    }
}

/// Leaves the path to it in `key`.
fn first_negative(value: &Value, key: &mut String) -> Option<String> {
    let within = |step: String, value: &Value, key: &mut String| {
        let length = key.len();
        key.push_str(&step);
        let found = first_negative(value, key);
        if found.is_none() {
            key.truncate(length);
        }
        found
    };
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|number| number < 0.0).then(|| number.to_string()),
        Value::Array(items) => items.iter().enumerate().find_map(|(i, item)| within(format!("[{i}]"), item, key)),
        Value::Object(members) => {
            members.iter().filter(|(name, _)| !name.ends_with("_ppm")).find_map(|(name, member)| {
                let dot = if key.is_empty() { "" } else { "." };
                within(format!("{dot}{name}"), member, key)
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check_numbers;

    #[test]
    fn the_first_negative_number_is_named_with_its_key() {
        let run =
            json!({ "cases": [{ "run_length_s": 1.0, "repeats": [{ "max_ns": 0.0 }, { "run_length_s": -2.5 }] }] });
        assert_eq!(check_numbers(&run), Err(("cases[0].repeats[1].run_length_s".into(), "-2.5".into())));
        assert_eq!(check_numbers(&json!({ "a": [0, -0.0, 1e300, "-1"], "b": null })), Ok(()));
        assert_eq!(check_numbers(&json!({ "disturbances": { "clock_against_system_ppm": -3.2 } })), Ok(()));
        assert_eq!(check_numbers(&json!(-1)), Err((String::new(), "-1".into())));
    }
}
