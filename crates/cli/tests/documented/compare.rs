//! What a page shows against what was printed.

/// Lines whose numbers are the answer: exit statuses and metrics.
const EXACT: [&str; 2] = ["status ", "waykeeper_"];

/// The first shown line that was not printed in its place; none if all were.
pub fn differs(shown: &[String], printed: &str) -> Option<String> {
    let mut printed = printed.lines().filter(|line| !line.trim().is_empty()).map(plain).peekable();
    let mut may_skip = false;
    for line in shown.iter().filter(|line| !line.trim().is_empty()) {
        if line.trim() == "..." {
            may_skip = true;
            continue;
        }
        let wanted = plain(line);
        let found = if may_skip { printed.any(|it| it == wanted) } else { printed.next_if_eq(&wanted).is_some() };
        if !found {
            return Some(line.clone());
        }
        may_skip = false;
    }
    if may_skip { None } else { printed.next().map(|rest| format!("(the end; there was `{rest}`)")) }
}

/// A line without what varies: numbers become `#`, spaces and rules of tables one character.
fn plain(line: &str) -> String {
    if EXACT.iter().any(|start| line.starts_with(start)) {
        return line.trim().into();
    }
    let mut plain = String::new();
    for character in line.trim().chars() {
        let is_number = character.is_ascii_digit();
        let shown = if is_number { '#' } else { character };
        let repeats = plain.ends_with(shown) && matches!(shown, '#' | ' ' | '-');
        if repeats {
            continue;
        }
        // `1.5` and `15` are one number each.
        if is_number && plain.ends_with("#.") {
            plain.pop();
            continue;
        }
        plain.push(shown);
    }
    plain
}

#[test]
fn numbers_vary_and_words_do_not() {
    let shown = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(differs(&shown("mean 1.75 us  (5 repeats)\nstatus 0"), "mean  12 us (10 repeats)\nstatus 0\n"), None);
    assert!(differs(&shown("mean 1.75 us"), "mean 1.75 ms\n").is_some());
    assert!(differs(&shown("status 0"), "status 1\n").is_some());
    assert!(differs(&shown("waykeeper_policy_holds{} 1"), "waykeeper_policy_holds{} 0\n").is_some());
    assert_eq!(differs(&shown("...\nin force\n..."), "a\nb\nin force\nc\n"), None);
    assert!(differs(&shown("...\nin force\n..."), "a\nnot in force\n").is_some());
    assert!(differs(&shown("a"), "a\nb\n").is_some(), "what is not shown is marked by dots");
    assert!(differs(&shown("a"), "b\na\n").is_some());
}
