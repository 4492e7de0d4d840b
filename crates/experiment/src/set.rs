//! `--set key=value`: any field of an experiment, from the command line.

use toml::{Table, Value};

use crate::error::InputError;

/// So many parts a key may have: what reads an experiment goes as deep as the key does.
const MAX_PARTS: usize = 32;

/// One override, as typed and as understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    /// The option as typed, for errors: `--set targets.0.core=3`.
    pub option: String,
    /// Path of the key.
    pub path: Vec<String>,
    /// The value: TOML where it parses as TOML, else a list where it has commas, else the text itself.
    pub value: Value,
}

impl Set {
    /// Reads `key=value`.
    ///
    /// # Errors
    /// A text without `=`, or with an empty key.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        let option = format!("--set {text}");
        let bad = |why: &str| {
            InputError::in_option(
                &option,
                format!("{why}; expected key=value, such as `targets.0.core=3` or `neighbours.0.cores=1,2`"),
            )
        };
        let (key, value) = text.split_once('=').ok_or_else(|| bad("there is no `=` in it"))?;
        let path: Vec<String> = key.trim().split('.').map(str::to_owned).collect();
        if path.iter().any(String::is_empty) {
            return Err(bad("a part of the key is empty"));
        }
        if path.len() > MAX_PARTS {
            let parts = path.len();
            return Err(bad(&format!("the key has {parts} parts, and no key has more than {MAX_PARTS}")));
        }
        Ok(Self { path, value: parse_value(value.trim()), option })
    }

    /// An override that another option stands for.
    pub fn from_option(option: String, key: &str, value: Value) -> Self {
        Self { option, path: vec![key.to_owned()], value }
    }

    /// The path as one text.
    pub fn key(&self) -> String {
        self.path.join(".")
    }

    /// This override with places in lists as numbers: an entry that has a `name` can be called by it.
    #[must_use]
    pub fn with_places(mut self, document: &Table) -> Self {
        let mut at = document.get(&self.path[0]);
        for part in &mut self.path[1..] {
            if let Some(Value::Array(list)) = at
                && let Some(place) =
                    list.iter().position(|entry| entry.get("name").and_then(Value::as_str) == Some(part))
                && !is_index(part)
            {
                *part = place.to_string();
            }
            at = at.and_then(|value| child(value, part));
        }
        self
    }

    /// Whether it sets the key of a path: the key itself, a part of it, or a table or list with a value there.
    pub(crate) fn has(&self, path: &[String]) -> bool {
        let below = path.get(self.path.len()..).unwrap_or_default();
        below.iter().try_fold(&self.value, |at, part| child(at, part)).is_some()
    }

    /// Puts the value into a document.
    ///
    /// # Errors
    /// A path that leads through something that is neither a table nor a list, or past the end of a list.
    pub fn apply(&self, document: &mut Table) -> Result<(), InputError> {
        let (first, rest) = self.path.split_first().expect("a path has at least one part");
        let Some((last, between)) = rest.split_last() else {
            document.insert(first.clone(), self.value.clone());
            return Ok(());
        };
        // Where the path makes something new, its next part says what: a number makes a list, a word a table.
        let fresh = |next: &String| if is_index(next) { Value::Array(Vec::new()) } else { Value::Table(Table::new()) };
        let mut at = document.entry(first.clone()).or_insert_with(|| fresh(&rest[0]));
        for (depth, part) in between.iter().enumerate() {
            at = self.step(at, part, fresh(&rest[depth + 1]))?;
        }
        let slot = self.step(at, last, Value::Boolean(false))?;
        *slot = self.value.clone();
        Ok(())
    }

    fn step<'v>(&self, at: &'v mut Value, part: &str, fresh: Value) -> Result<&'v mut Value, InputError> {
        match at {
            Value::Table(table) => Ok(table.entry(part).or_insert(fresh)),
            Value::Array(list) => {
                let length = list.len();
                let index = part.parse::<usize>().ok().filter(|index| *index <= length).ok_or_else(|| {
                    let places =
                        if length == 0 { "0".to_owned() } else { format!("0 to {length}, {length} to add one") };
                    let names: Vec<_> = list.iter().filter_map(|entry| entry.get("name")?.as_str()).collect();
                    if names.is_empty() {
                        return self
                            .refuse(format!("`{part}` is not a place in a list of {length}; expected {places}"));
                    }
                    let names = names.join(", ");
                    self.refuse(format!(
                        "`{part}` is neither a name nor a place in the list; expected {names}; or {places}"
                    ))
                })?;
                if index == length {
                    list.push(fresh);
                }
                Ok(&mut list[index])
            }
            other => {
                Err(self.refuse(format!("`{part}` cannot be reached: what stands before it is a {}", other.type_str())))
            }
        }
    }

    fn refuse(&self, message: String) -> InputError {
        InputError::in_option(&self.option, message)
    }
}

fn child<'v>(value: &'v Value, part: &str) -> Option<&'v Value> {
    match value {
        Value::Array(list) => list.get(part.parse::<usize>().ok()?),
        other => other.get(part),
    }
}

fn is_index(part: &str) -> bool {
    part.bytes().all(|b| b.is_ascii_digit())
}

fn parse_value(text: &str) -> Value {
    if let Some(value) = as_toml(text) {
        return value;
    }
    let parts = split_at_outer_commas(text);
    if parts.len() > 1 || parts[0].len() < text.len() {
        return Value::Array(parts.iter().map(|part| parse_value(part.trim())).collect());
    }
    Value::String(text.into())
}

fn as_toml(text: &str) -> Option<Value> {
    // A newline would let a value smuggle in further keys.
    if text.contains('\n') {
        return None;
    }
    format!("v = {text}").parse::<Table>().ok()?.remove("v")
}

/// Splits at commas that stand outside round brackets: `min(L3, 64 MiB)` is one value.
fn split_at_outer_commas(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0i32, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if from < text.len() || parts.is_empty() {
        parts.push(&text[from..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        Set::parse(&format!("k={text}")).unwrap().value
    }

    #[test]
    fn values_are_toml_or_words_or_lists() {
        assert_eq!(value("3"), Value::Integer(3));
        assert_eq!(value("\"3\""), Value::String("3".into()));
        assert_eq!(value("true"), Value::Boolean(true));
        assert_eq!(value("latency_loop_2ki"), Value::String("latency_loop_2ki".into()));
        assert_eq!(value("1,2"), Value::Array(vec![Value::Integer(1), Value::Integer(2)]));
        assert_eq!(value("[1,2]"), value("1,2"));
        assert_eq!(value("nl3a+cp,cp"), Value::Array(vec!["nl3a+cp".into(), "cp".into()]));
        assert_eq!(value("min(L3, 64 MiB)"), Value::String("min(L3, 64 MiB)".into()));
        assert_eq!(value("4 x L3"), Value::String("4 x L3".into()));
        assert_eq!(value("1,"), Value::Array(vec![Value::Integer(1)]));
    }

    #[test]
    fn a_path_reaches_into_lists_and_makes_what_is_missing() {
        let mut table: Table = "[[targets]]\ncore = 1\n".parse().unwrap();
        for text in ["targets.0.core=3", "targets.1.core=2", "excursions.over_min=1us", "workloads.a.inner.count=4"] {
            Set::parse(text).unwrap().apply(&mut table).unwrap();
        }
        let expected: Table =
            "workloads.a.inner.count = 4\nexcursions.over_min = '1us'\n[[targets]]\ncore = 3\n[[targets]]\ncore = 2\n"
                .parse()
                .unwrap();
        assert_eq!(table, expected);
    }

    #[test]
    fn an_entry_of_a_list_can_be_called_by_its_name() {
        let table: Table = "[[sweep]]\nname = 'size'\n[[sweep]]\nname = 'stride'\nvalues = [0]\n".parse().unwrap();
        let path = |text: &str| Set::parse(text).unwrap().with_places(&table).key();
        assert_eq!(path("sweep.stride.values=1"), "sweep.1.values");
        assert_eq!(path("sweep.0.values=1"), "sweep.0.values");
        assert_eq!(path("sweep.width.values=1"), "sweep.width.values");
        assert_eq!(path("stride.values=1"), "stride.values");
    }

    #[test]
    fn names_of_a_list_are_told_where_none_is_meant() {
        let mut table: Table = "[[sweep]]\nname = 'size'\n[[sweep]]\nname = 'stride'\n".parse().unwrap();
        let error = Set::parse("sweep.width.only=1").unwrap().apply(&mut table).unwrap_err().to_string();
        assert!(error.contains("`width`") && error.contains("expected size, stride; or 0 to 2"), "{error}");
    }

    #[test]
    fn what_cannot_be_reached_is_an_error() {
        let mut table: Table = "title = 'x'\n[[targets]]\ncore = 1\n".parse().unwrap();
        for (text, word) in [("targets.5.core=3", "0 to 1"), ("targets.x.core=3", "`x`"), ("title.a=3", "string")] {
            let error = Set::parse(text).unwrap().apply(&mut table).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains(text), "{error}");
        }
        for text in ["novalue", "=3", "a..b=3"] {
            assert!(Set::parse(text).unwrap_err().to_string().contains("expected key=value"));
        }
    }
}
