//! Text of others as a person sees it: control characters as escapes.
//!
//! What a file, a run, a machine or a trace says may hold terminal escape sequences, characters that turn the direction of
//! writing, invisible ones, and line breaks in what is one line. A terminal would obey them: it would hide text, or show
//! text that Waykeeper did not write.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A text of one line: every control character, tabs and line breaks too, is shown as its escape, such as `\u{1b}` or `\n`.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c.is_control() || is_unseen(c))
}

/// A text of several lines: the same, but line breaks and tabs stay.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| (c.is_control() && c != '\n' && c != '\t') || is_unseen(c))
}

/// A text of TOML: the same characters as in [`lines`], as escapes of TOML's own, so that it still reads.
pub fn toml(text: &str) -> String {
    let is_hostile = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_unseen(c);
    let shown = |c: char| match u32::from(c) {
        _ if !is_hostile(c) => c.to_string(),
        number @ ..=0xffff => format!("\\u{number:04X}"),
        number => format!("\\U{number:08X}"),
    };
    text.chars().map(shown).collect()
}

/// A text of JSON: the same characters as in [`lines`], as escapes of JSON's own, so that it still reads. None of them stands
/// outside of a string of JSON but line breaks and tabs, which stay.
pub fn json(text: &str) -> String {
    let is_hostile = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_unseen(c);
    let mut units = [0; 2];
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hostile(c) {
            true => shown.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"))),
            false => shown.push(c),
        }
    }
    shown
}

/// A copy for showing: each text in it is one line.
///
/// A value that JSON cannot hold (a figure that is not finite) is returned as it is.
pub fn for_showing<T: Serialize + DeserializeOwned + Clone>(value: &T) -> T {
    let copy = serde_json::to_value(value).map(each_in_one_line).and_then(serde_json::from_value);
    copy.unwrap_or_else(|_| value.clone())
}

fn each_in_one_line(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(one_line(&text).into_owned()),
        Value::Array(list) => Value::Array(list.into_iter().map(each_in_one_line).collect()),
        Value::Object(map) => Value::Object(
            map.into_iter().map(|(key, of)| (one_line(&key).into_owned(), each_in_one_line(of))).collect(),
        ),
        other => other,
    }
}

fn escaped(text: &str, is_hostile: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hostile(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// Characters without a shape of their own that change how others look: Unicode's bidirectional controls, separators of
/// lines and paragraphs, invisible operators and tags (general categories Cf, Zl and Zp).
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let hostile = "a\x1b[2Jb\u{9b}31mc\u{202e}d\r\n\te\u{7f}\u{feff}";
        assert_eq!(one_line(hostile), r"a\u{1b}[2Jb\u{9b}31mc\u{202e}d\r\n\te\u{7f}\u{feff}");
        assert_eq!(lines(hostile), "a\\u{1b}[2Jb\\u{9b}31mc\\u{202e}d\\r\n\te\\u{7f}\\u{feff}");
    }

    #[test]
    fn toml_has_escapes_of_its_own() {
        let text = "a = \"x\u{9b}\u{202e}\u{e0001}\"\n";
        assert_eq!(toml(text), "a = \"x\\u009B\\u202E\\U000E0001\"\n");
    }

    #[test]
    fn json_has_escapes_of_its_own() {
        let text = "{\"a\": \"x\u{9b}\u{202e}\u{e0001}\u{1b}\"}\n";
        // U+E0001 is the surrogates DB40 and DC01.
        assert_eq!(json(text), "{\"a\": \"x\\u009b\\u202e\\udb40\\udc01\\u001b\"}\n");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        let text = r"5 µs, 30 °C, Grüße, 中文, C:\x1b";
        assert!(matches!(one_line(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn every_text_of_a_copy_is_one_line() {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        struct Inner {
            texts: Vec<String>,
            figure: f64,
            count: u64,
        }
        let inner = |text: &str| Inner { texts: vec![text.into()], figure: 0.1, count: u64::MAX };
        assert_eq!(for_showing(&inner("a\nb")), inner("a\\nb"));
    }
}
