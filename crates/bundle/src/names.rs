//! Names in an archive: what any file system, a shell and `sha256sum` take as it is.

use std::collections::BTreeSet;
use std::path::Path;

/// A name of letters, digits, `-`, `_` and `.` that begins with a letter, a digit or `_`, of at most 80.
pub(crate) fn safe(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(kept).collect();
    let name: String = name.trim_start_matches(['-', '.']).chars().take(80).collect();
    if name.is_empty() { "run".into() } else { name }
}

/// The last name of a folder, also of `.` and of a symbolic link.
pub(crate) fn of_folder(folder: &Path) -> String {
    let whole = folder.file_name().map(ToOwned::to_owned);
    let whole = whole.or_else(|| std::fs::canonicalize(folder).ok()?.file_name().map(ToOwned::to_owned));
    safe(&whole.unwrap_or_default().to_string_lossy())
}

/// The name, with a number where it is taken already.
pub(crate) fn free(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut numbered = (2..).map(|n| numbered(name, n));
    let mut free = name.to_owned();
    while !taken.insert(free.clone()) {
        free = numbered.next().expect("the numbers do not end");
    }
    free
}

/// `a.toml` as `a-2.toml`.
fn numbered(name: &str, n: u32) -> String {
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => format!("{stem}-{n}.{ending}"),
        _ => format!("{name}-{n}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_nothing_that_a_shell_or_a_path_reads() {
        let table = [
            ("this-machine-20261121", "this-machine-20261121"),
            ("a b;$(rm)\n", "a-b---rm--"),
            ("../../etc", "etc"),
            ("-rf", "rf"),
            ("...", "run"),
            ("", "run"),
            ("Größe", "Gr--e"),
        ];
        for (name, expected) in table {
            assert_eq!(safe(name), expected, "{name:?}");
        }
    }

    #[test]
    fn a_second_one_of_a_name_gets_a_number() {
        let mut taken = BTreeSet::new();
        let free: Vec<String> = ["a", "a", "a", "x.toml", "x.toml"].map(|name| free(name, &mut taken)).into();
        assert_eq!(free, ["a", "a-2", "a-3", "x.toml", "x-2.toml"]);
    }
}
