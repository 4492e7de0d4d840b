//! Texts of others in HTML and in a script element.

use std::fmt::Write as _;

use serde::Serialize;
use waykeeper_report::shown::one_line;

/// A text as HTML shows it, in an element and in an attribute in double quotes. Control characters, and characters that turn
/// the direction of writing, are shown as escapes.
pub fn text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    for c in one_line(text).chars() {
        match c {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            c => shown.push(c),
        }
    }
    shown
}

/// A sentence as HTML shows it, with what stands in backquotes as code.
pub fn prose(sentence: &str) -> String {
    let mut parts = sentence.split('`');
    let mut shown = text(parts.next().unwrap_or_default());
    while let Some(part) = parts.next() {
        // Between two backquotes, or behind one that has no other.
        shown += &match parts.next() {
            Some(after) => format!("<code>{}</code>{}", text(part), text(after)),
            None => format!("`{}", text(part)),
        };
    }
    shown
}

/// A value as JSON that may stand in a script element: nothing in it ends the element or opens a comment, and it reads as
/// JavaScript too.
pub fn json(value: &impl Serialize) -> String {
    // Maps of the data have texts as keys, and figures that JSON cannot hold become null.
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".into());
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(shown, "\\u{:04x}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(text("<b a='1' c=\"2\">&amp;"), "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;");
        assert_eq!(text("a\u{1b}[2J\u{202e}b\u{2028}"), r"a\u{1b}[2J\u{202e}b\u{2028}");
    }

    #[test]
    fn what_stands_in_backquotes_is_code() {
        assert_eq!(prose("the case `a<b` and `c`."), "the case <code>a&lt;b</code> and <code>c</code>.");
        assert_eq!(prose("`all`"), "<code>all</code>");
        assert_eq!(prose("one ` alone & <b>"), "one ` alone &amp; &lt;b&gt;");
        assert_eq!(prose("plain"), "plain");
    }

    #[test]
    fn nothing_in_json_ends_the_script_element() {
        let hostile = "</script><!--<script>&\u{2028}\u{2029}";
        let shown = json(&[hostile]);
        assert_eq!(shown, r#"["\u003c/script\u003e\u003c!--\u003cscript\u003e\u0026\u2028\u2029"]"#);
        assert_eq!(serde_json::from_str::<Vec<String>>(&shown).unwrap(), [hostile]);
    }
}
